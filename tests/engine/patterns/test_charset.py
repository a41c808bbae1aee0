"""Sets of characters, against plain sets and against Python's own tables."""

from hypothesis import given
from hypothesis import strategies as st

from engine.patterns.charset import ANY, NEVER, SPACES, WORDS, CharSet
from engine.patterns.folding import canonical, close_case, fold
from engine.patterns.properties import property_set

POINTS = st.integers(0, 40)
RANGES = st.lists(st.tuples(POINTS, POINTS).map(lambda pair: (min(pair), max(pair))), max_size=6)


def plain(ranges: list[tuple[int, int]]) -> set[int]:
    return {point for low, high in ranges for point in range(low, high + 1)}


@given(RANGES, RANGES)
def test_the_algebra_is_that_of_sets(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    one, two = CharSet.of(left), CharSet.of(right)
    first, second = plain(left), plain(right)

    assert set(one.points()) == first
    assert set((one | two).points()) == first | second
    assert set((one & two).points()) == first & second
    assert set((one - two).points()) == first - second
    assert ~~one == one
    assert len(one) == len(first)
    assert all((point in one) == (point in first) for point in range(42))
    # equal sets have equal ranges
    assert (one == two) == (first == second)


def test_the_ends_are_there() -> None:
    assert ~NEVER == ANY
    assert 0x10FFFF in ANY
    assert ~CharSet.of([(0, 9)]) == CharSet(((10, 0x10FFFF),))


def test_the_named_sets_are_javascripts() -> None:
    assert len(WORDS) == 63
    assert len(SPACES) == 25
    assert 0x85 not in SPACES


def test_no_character_beyond_the_letter_planes_has_a_case() -> None:
    cased = [p for p in range(0x1FFFF, 0x110000) if chr(p).upper() != chr(p) or chr(p).casefold() != chr(p)]

    assert cased == []


@given(st.integers(0, 0x1FFFF), st.booleans())
def test_all_cases_of_a_character_have_the_same_cases(point: int, unicode: bool) -> None:
    cases = close_case(CharSet.only(point), unicode=unicode)

    assert point in cases
    for other in cases.points():
        assert close_case(CharSet.only(other), unicode=unicode) == cases
        assert canonical(other, unicode=unicode) == canonical(point, unicode=unicode)


def test_needles_are_found_in_every_case_of_their_letters() -> None:
    for unicode in (False, True):
        for point in range(0x20000):
            cases = close_case(CharSet.only(point), unicode=unicode)
            if len(cases) > 1:
                # else the folded text would not have the folded needle
                assert len({fold(chr(other)) for other in cases.points()}) == 1, hex(point)


def test_properties_are_whole() -> None:
    assert property_set("Any", None) == ANY
    unassigned, assigned = property_set("Cn", None), property_set("Assigned", None)
    assert unassigned is not None
    assert assigned == ~unassigned
    private = property_set("Co", None)
    assert private is not None
    assert private.ranges[-1] == (0x100000, 0x10FFFD)
    assert 0xE0100 in (property_set("Variation_Selector", None) or NEVER)
    assert property_set("Script", "Klingonese") is None
    assert property_set("gc", "Nonsense") is None
    assert property_set("Age", "5.0") is None
