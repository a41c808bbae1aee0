"""The recorded vectors are part of the suite, and the runner says so when something differs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.report import RUNNERS, run_family

VECTORS = Path(__file__).parent.parent / "vectors"


@pytest.mark.parametrize("family", sorted(RUNNERS))
def test_a_family_agrees_with_its_recording(family: str) -> None:
    report = run_family(VECTORS, family)

    assert report.failures == []
    assert report.passed + sum(report.skips.values()) > 0


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.conformance", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=VECTORS.parent.parent, check=False)


def test_a_difference_is_named_with_both_sides_and_fails_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    shutil.copy(VECTORS / "session" / "streams.json", folder)
    document = json.loads((folder / "streams.json").read_text(encoding="utf-8"))
    document["vectors"][0]["expect"]["joinedText"] = "another text"
    (folder / "streams.json").write_text(json.dumps(document), encoding="utf-8")

    outcome = run("session/streams", "--vectors", str(tmp_path))

    assert outcome.returncode == 1
    assert "session/streams: 4 passed, 1 failed, 0 skipped" in outcome.stdout
    assert "stream-run-compaction: joinedText" in outcome.stdout
    assert "expected 'another text'" in outcome.stdout
    assert "actual   'Hello'" in outcome.stdout


def test_an_unknown_family_fails_the_run() -> None:
    outcome = run("session/nothing")

    assert outcome.returncode == 1
    assert "no vectors for 'session/nothing'" in outcome.stdout


def test_agreement_ends_with_zero() -> None:
    outcome = run("session/streams")

    assert outcome.returncode == 0
    assert outcome.stdout.startswith("session/streams: 5 passed, 0 failed, 0 skipped")
