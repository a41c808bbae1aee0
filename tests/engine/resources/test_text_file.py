"""Text files: told by their content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.resources import read_text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"The sea is calm.\n", "The sea is calm.\n"),
        ("海".encode(), "海"),
        (b"\xef\xbb\xbfA mark before it.", "A mark before it."),
        (b"one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        (b"a\tb\x0cc", "a\tb\x0cc"),
        ('{"name": "Mira 🌊"}'.encode(), '{"name": "Mira 🌊"}'),
        (b"", ""),
    ],
)
def test_utf8_is_read(body: bytes, text: str) -> None:
    assert read_text(body) == text


@pytest.mark.parametrize(
    "body",
    [
        b"caf\xe9",  # Latin-1
        b"half a character \xe6\xb5",
        b"\xed\xa0\x80",  # half a surrogate pair
        "UTF-16".encode("utf-16"),
        b"PK\x03\x04",
        b"a\0b",
        b"\x1b[31mred",
        b"\xff\xd8\xff",
    ],
)
def test_everything_else_is_not(body: bytes) -> None:
    assert read_text(body) is None


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn"))))
def test_any_printable_text_comes_back_as_it_was(text: str) -> None:
    assert read_text(text.encode()) == text.removeprefix("\ufeff")
