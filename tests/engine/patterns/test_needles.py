"""The texts of which one must occur."""

import pytest

from engine.patterns import compile_pattern

CASES = [
    ("dragon", "", ("dragon",)),
    (r"\bdragons?\b", "", ("dragon",)),
    ("Dragon", "i", ("dragon",)),
    ("(?:dragon|wyrm)s?", "", ("dragon", "wyrm")),
    ("(?:dragon|w)", "", ()),
    (r"fire\s+breath", "", ("breath",)),
    ("colou?r", "", ("color", "colour")),
    ("gr[ae]y", "", ("gray", "grey")),
    ("(?:ab){2}", "", ("abab",)),
    ("(?:abc)+", "", ("abc",)),
    ("(?:abc)*", "", ()),
    ("a+b+c+", "", ()),
    ("(?=dragon)...", "", ()),
    ("dra(?=gon)gon", "", ("dragon",)),
    (r"(\w+) bites \1", "", (" bites ",)),
    ("龙", "", ("龙",)),
    ("小?龙", "", ("龙",)),
    ("éa", "", ("éa",)),
    ("ab", "", ()),
    ("straße", "i", ("strasse",)),
    ("[abcdefgh]xyz", "", ("xyz",)),
    ("x" * 100, "", ("x" * 32,)),
    ("", "", ()),
]


@pytest.mark.parametrize(("source", "flags", "expected"), CASES)
def test_needles_are_what_every_match_has(source: str, flags: str, expected: tuple[str, ...]) -> None:
    pattern = compile_pattern(source, flags)

    assert pattern.needles == expected
    assert pattern.literal == (expected[0] if len(expected) == 1 else None)
