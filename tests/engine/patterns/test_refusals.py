"""What is no pattern is refused, with the place."""

import pytest

from engine.errors import PatternRefused, ResourceError
from engine.patterns import compile_pattern

INVALID = [
    ("(a", "", 0, "this “(” is never closed"),
    ("a)", "", 1, "there is no “(” for this “)”"),
    ("[a", "", 0, "this “[” is never closed"),
    ("[a\\", "", 0, "this “[” is never closed"),
    ("*", "", 0, "there is nothing to repeat"),
    ("a**", "", 2, "there is nothing to repeat"),
    ("a|{2}", "", 2, "there is nothing to repeat"),
    ("a{2,1}", "", 1, "the numbers of this quantifier are out of order"),
    ("[z-a]", "", 1, "this range is out of order"),
    ("^*", "", 0, "this cannot be repeated"),
    ("a(?<=b)*", "", 1, "this cannot be repeated"),
    ("a\\", "", 1, "a pattern cannot end with a backslash"),
    ("(?>a)", "", 0, "this is no group that JavaScript knows"),
    ("(?i:a)", "", 0, "this is no group that JavaScript knows"),
    ("(?P<a>b)", "", 0, "this is no group that JavaScript knows"),
    ("(?<1>a)", "", 0, "this is no group that JavaScript knows"),
    ("(?<a>b)(?<a>c)", "", 7, "there are two groups named “a”"),
    ("(?<a>b)\\k<c>", "", 7, "there is no group named “c”"),
    ("(?<a>b)\\k", "", 7, "this is no group that JavaScript knows"),
    ("a{", "u", 1, "a lone “{” needs a backslash here"),
    ("]", "u", 0, "a lone “]” needs a backslash here"),
    ("\\-", "u", 0, "“\\-” is no escape here"),
    ("\\1", "u", 0, "there is no group 1"),
    ("\\01", "u", 0, "this number is no escape here"),
    ("\\c1", "u", 0, "“\\c” needs a letter"),
    ("\\u{110000}", "u", 0, "there is no such character"),
    ("\\p{Greek}", "u", 0, "this is no property of characters"),
    ("\\p{Script=Klingonese}", "u", 0, "this is no property of characters"),
    ("\\p{letter}", "u", 0, "this is no property of characters"),
    ("(?=a)*", "u", 0, "this cannot be repeated"),
    ("[\\d-a]", "u", 1, "a range needs a single character at both ends"),
    ("[a&&&b]", "v", 4, "there is one “&” too many"),
    ("[(]", "v", 1, "“(” needs a backslash in a class here"),
    ("[^\\q{ab}]", "v", 0, "a class that holds longer texts cannot be negated"),
]


@pytest.mark.parametrize(("source", "flags", "position", "problem"), INVALID)
def test_an_invalid_pattern_names_the_place(source: str, flags: str, position: int, problem: str) -> None:
    with pytest.raises(PatternRefused) as refused:
        compile_pattern(source, flags)

    assert isinstance(refused.value, ResourceError)
    assert refused.value.error_code == "PATTERN_INVALID"
    assert (refused.value.data["position"], refused.value.data["place"]) == (position, position + 1)
    assert refused.value.data["problem"] == problem
    assert refused.value.message == f"This pattern is not valid: at character {position + 1}, {problem}."


@pytest.mark.parametrize("flags", ["x", "gg", "uv", "G", "gimsuyq"])
def test_flags_that_javascript_does_not_have_are_refused(flags: str) -> None:
    with pytest.raises(PatternRefused) as refused:
        compile_pattern("a", flags)

    assert refused.value.error_code == "PATTERN_FLAGS"


def test_all_flags_are_taken() -> None:
    assert compile_pattern("a", "dgimsuy").matches("A")
    assert compile_pattern("a", "v").matches("a")


@pytest.mark.parametrize(
    "source",
    [
        "a" * 4_097,
        "(?:" * 51 + "a" + ")" * 51,
        "(a)" * 1_001,
        "(?:(?:a{1000}){1000}){1000}",
        "(?:" * 20 + "(a|b?)" + ")+" * 20,
        r"\b" * 2_000 + "(?=x)",
    ],
    ids=["long", "deep", "groups", "counts", "doubling", "edges"],
)
def test_a_pattern_that_costs_too_much_to_make_is_refused(source: str) -> None:
    with pytest.raises(PatternRefused) as refused:
        compile_pattern(source)

    assert refused.value.error_code == "PATTERN_TOO_LONG"


def test_a_pattern_of_just_the_greatest_length_is_taken() -> None:
    assert compile_pattern("a" * 4_096).matches("a" * 4_096)
    assert compile_pattern("(?:" * 49 + "a" + ")" * 49).matches("a")
