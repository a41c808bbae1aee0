"""No file makes the importer take more than 256 MB or five seconds, whatever was done to it."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ResourceError
from engine.resources import read_card
from tests.engine.resources.bombs import BOMBS
from tests.engine.resources.pngs import SIGNATURE, header

MOST_MIB = 256
MOST_SECONDS = 5.0


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[str, float, float]]]:
    """(outcome, MiB, seconds) of each bomb."""
    folder = tmp_path_factory.mktemp("bombs")
    for name, make in BOMBS.items():
        (folder / name).write_bytes(make())
    run = subprocess.run(
        [sys.executable, "-m", "tests.engine.resources.bombs", str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "0"},
    )
    lines = (line.split() for line in run.stdout.splitlines())
    yield {name: (outcome, float(mib), float(seconds)) for name, outcome, mib, seconds in lines}
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_does_not_go_off(name: str, taken: dict[str, tuple[str, float, float]]) -> None:
    outcome, mib, seconds = taken[name]
    assert outcome
    assert mib < MOST_MIB
    assert seconds < MOST_SECONDS


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("ratio.charx", "ARTIFACT_TOO_LARGE"),
        ("members.charx", "ARTIFACT_TOO_LARGE"),
        ("overlap.charx", "ARTIFACT_TOO_LARGE"),
        ("lying.charx", "CHARACTER_DOCUMENT_INVALID"),
        ("aliases.yaml", "CHARACTER_DOCUMENT_INVALID"),
        ("deep.json", "CHARACTER_DOCUMENT_INVALID"),
        ("chinese.json", "read"),
        ("heavy.png", "read"),
        ("pixels.png", "read"),
        ("pixels.webp.charx", "read"),
    ],
)
def test_what_cannot_be_honest_is_refused_and_what_is_only_large_is_read(
    name: str, outcome: str, taken: dict[str, tuple[str, float, float]]
) -> None:
    assert taken[name][0] == outcome


@settings(max_examples=300)
@given(
    st.sampled_from(
        [b"", b"{", b"PK\x03\x04", SIGNATURE + header(), b"\xff\xd8\xff\xe1", b"RIFF", b"name: "]
    ),
    st.binary(max_size=600),
    st.sampled_from(["a.png", "a.json", "a.yaml", "a.charx", "a.byaf", "a", "../x"]),
)
def test_any_bytes_are_read_or_refused_never_more(head: bytes, tail: bytes, name: str) -> None:
    try:
        read_card(head + tail, name)
    except ResourceError as error:
        assert error.message
