"""`/pattern/flags` in SillyTavern's two dialects."""

import pytest

from engine.patterns import key_pattern, parse_slashed

KEYS = [
    ("/cat/", ("cat", "")),
    ("/cat/gi", ("cat", "gi")),
    ("/a\\/b/", ("a\\/b", "")),
    ("/a\nb/s", ("a\nb", "s")),
    ("/a/gg", ("a", "gg")),
    ("/cat/v", None),
    ("/cat/x", None),
    ("//", None),
    ("/a/b/", None),
    ("///", None),
    ("cat", None),
    ("/cat", None),
    (" /cat/", None),
    ("/cat/ ", None),
    ("/\\\\/x/", ("\\\\/x", "")),  # its look back sees a backslash, escaped or not
]

SCRIPTS = [
    ("/cat/", ("cat", "")),
    ("/cat/gi", ("cat", "gi")),
    ("/a/b/g", ("a/b", "g")),
    ("/a/x", ("a", "x")),
    ("/a/g and more", ("a", "g")),
    ("/a/g\n", ("a", "g")),
    ("/a/g\n// a remark", ("a", "g")),
    ("/a\nb/g", ("a\nb", "g")),
    ("/a\r\nb/", ("a\r\nb", "")),
    ("/a/zz", None),
    ("/a/gg", None),
    ("/a/y", None),
    ("//", None),
    ("a/b", None),
    ("a", None),
    ("", None),
    ("/a", None),
    (" /a/", None),
]


@pytest.mark.parametrize(("text", "expected"), KEYS)
def test_keys(text: str, expected: tuple[str, str] | None) -> None:
    assert parse_slashed(text) == expected


@pytest.mark.parametrize(("text", "expected"), SCRIPTS)
def test_scripts(text: str, expected: tuple[str, str] | None) -> None:
    assert parse_slashed(text, "script") == expected


def test_a_key_that_is_no_pattern_is_plain_text() -> None:
    pattern = key_pattern("/dra(g|k)on/i")

    assert pattern is not None
    assert pattern.matches("a DRAKON")
    assert key_pattern("/(unclosed/") is None
    assert key_pattern("/a/gg") is None
    assert key_pattern("dragon") is None


def test_an_escaped_slash_is_a_slash() -> None:
    pattern = key_pattern("/and\\/or\\/not/")

    assert pattern is not None
    assert pattern.matches("this and/or/not that")
