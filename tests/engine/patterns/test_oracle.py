"""Both engines find what ECMAScript's description finds, on small patterns and texts of all shapes."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.patterns import compile_pattern
from engine.patterns.parser import parse, parse_flags
from engine.patterns.pattern import Pattern
from engine.patterns.runners import Re2Runner, RegexRunner
from engine.patterns.shape import settle
from engine.patterns.subject import Subject
from tests.engine.patterns.oracle import Node, find, source

PLENTY = 20.0  # seconds: the answer is the subject here, not the time

LETTERS = st.one_of(
    st.tuples(st.just("char"), st.sampled_from(["a", "b", "é", "ab", "aé"])),
    st.tuples(st.just("not"), st.sampled_from(["a", "b"])),
    st.just(("any",)),
)
EDGES = st.sampled_from([("start",), ("end",), ("word",), ("noword",)])
COUNTS = st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (1, 2), (0, 2), (2, None), (0, 0)])
TEXTS = st.text(alphabet="aabbc é\n_", min_size=1, max_size=7)


def loops(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.tuples(parts, COUNTS, st.booleans()).map(lambda t: ("rep", t[0], t[1][0], t[1][1], t[2]))


def joined(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        several.map(lambda items: ("seq", *items)),
        several.map(lambda items: ("alt", *items)),
        parts.map(lambda part: ("alt", part, ("seq",))),
        parts.map(lambda part: ("alt", ("seq",), part)),
        parts.map(lambda part: ("group", 0, part)),
        loops(parts),
        loops(parts.map(lambda part: ("group", 0, part))),
    )


def numbered(node: Node, count: list[int]) -> Node:
    """The tree with its captures numbered from 1, as their brackets open."""
    if node[0] != "group":
        return tuple(numbered(part, count) if isinstance(part, tuple) else part for part in node)
    count[0] += 1
    number = count[0]
    return ("group", number, numbered(node[2], count))


PLAIN = st.recursive(st.one_of(LETTERS, LETTERS, EDGES), joined, max_leaves=7)
FULL = st.recursive(
    st.one_of(LETTERS, LETTERS, EDGES, st.tuples(st.just("ref"), st.sampled_from([1, 2]))),
    lambda parts: st.one_of(joined(parts), st.tuples(st.just("look"), st.booleans(), parts)),
    max_leaves=7,
)


def both(pattern: str) -> tuple[Re2Runner | None, RegexRunner]:
    parsed = parse(pattern, parse_flags(""))
    root = settle(parsed.root)
    return Re2Runner.made(parsed, root), RegexRunner(pattern, parsed, root)


@given(PLAIN, TEXTS)
@settings(max_examples=400, deadline=None)
def test_both_engines_agree_with_the_standard(tree: Node, text: str) -> None:
    count = [0]
    tree = numbered(tree, count)
    expected = find(tree, text, count[0])
    linear, backtracking = both(source(tree))
    subject = Subject(text)

    assert backtracking.find(subject, 0, False, PLENTY) == expected
    assert backtracking.test(subject, 0, False, PLENTY) == (expected is not None)
    if linear is not None and linear.takes(subject) and linear.captures():
        assert linear.find(subject, 0, False, PLENTY) == expected
        assert linear.test(subject, 0, False, PLENTY) == (expected is not None)


@given(FULL, TEXTS)
@example(("group", 0, ("seq", ("ref", 2), ("rep", ("group", 0, ("any",)), 0, 0, False))), "_")
@settings(max_examples=400, deadline=None)
def test_references_and_conditions_agree_with_the_standard(tree: Node, text: str) -> None:
    count = [0]
    tree = numbered(("seq", tree, ("alt", ("seq",), ("group", 0, ("seq",)), ("group", 0, ("seq",)))), count)
    expected = find(tree, text, count[0])
    _, backtracking = both(source(tree))

    assert backtracking.find(Subject(text), 0, False, PLENTY) == expected


@given(PLAIN, TEXTS)
@settings(max_examples=300, deadline=None)
def test_all_matches_are_found_as_with_g(tree: Node, text: str) -> None:
    count = [0]
    tree = numbered(tree, count)
    pattern: Pattern = compile_pattern(source(tree), "g", timeout_s=PLENTY)
    expected: list[Any] = []
    at = 0
    while at <= len(text):
        match = pattern.search(text, at)
        if match is None:
            break
        expected.append(match)
        at = match.end + (match.end == match.start)

    assert list(pattern.finditer(text)) == expected


@given(PLAIN, TEXTS, st.sampled_from(["", "i"]))
@settings(max_examples=300, deadline=None)
def test_every_match_has_a_needle(tree: Node, text: str, flags: str) -> None:
    pattern = compile_pattern(source(numbered(tree, [0])), flags, timeout_s=PLENTY)
    where = text.casefold() if pattern.folded else text

    if pattern.needles and pattern.matches(text):
        assert any(needle in where for needle in pattern.needles)
