"""What can be said of a pattern's parts without running it, and JavaScript's rule of empty repetitions.

JavaScript refuses a repetition that matched nothing and looks for another way; Perl, RE2 and `regex` take
it and leave the loop. `settle` rewrites those loops where the two could be told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

from engine.errors import PatternRefused
from engine.patterns.syntax import (
    EMPTY,
    Backref,
    Chars,
    Choice,
    Edge,
    Group,
    Guarded,
    Look,
    Node,
    Repeat,
    Sequence,
)

__all__ = ["captures", "children", "longest", "may_be_empty", "settle", "surely_set", "walk"]

_MAX_COPIED = 1_000  # parts: a first repetition is written beside the others; nested ones double each time
_MAX_WRITTEN = (
    20_000  # characters that a match surely has: `regex` writes them out, `a{1000}` nested thrice too
)


def children(node: Node) -> tuple[Node, ...]:
    """The parts directly below."""
    if isinstance(node, Sequence):
        return node.items
    if isinstance(node, Choice):
        return node.options
    if isinstance(node, Repeat | Group | Look | Guarded):
        return (node.body,)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """The part and all below it, in order of the source."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def captures(node: Node) -> frozenset[int]:
    """The groups inside."""
    return frozenset(part.index for part in walk(node) if isinstance(part, Group))


def may_be_empty(node: Node) -> bool:
    """Whether it can match the empty text."""
    if isinstance(node, Chars | Guarded):
        return False
    if isinstance(node, Sequence):
        return all(map(may_be_empty, node.items))
    if isinstance(node, Choice):
        return any(map(may_be_empty, node.options))
    if isinstance(node, Repeat):
        return node.low == 0 or may_be_empty(node.body)
    if isinstance(node, Group):
        return may_be_empty(node.body)
    return True  # conditions, places, references


def longest(node: Node) -> int | None:
    """The greatest number of characters that the part can match; None is without end, or not known."""
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Edge | Look):
        return 0
    if isinstance(node, Choice):
        lengths = [longest(option) for option in node.options]
        return None if None in lengths else max(length or 0 for length in lengths)
    if isinstance(node, Repeat):
        body = longest(node.body)
        if body == 0:
            return 0
        return None if body is None or node.high is None else body * node.high
    if isinstance(node, Backref):
        return None
    lengths = [longest(part) for part in children(node)]
    return None if None in lengths else sum(length or 0 for length in lengths)


def surely_set(node: Node) -> frozenset[int]:
    """The groups that have captured whenever the part has matched."""
    if isinstance(node, Sequence):
        return frozenset().union(*map(surely_set, node.items))
    if isinstance(node, Group):
        return surely_set(node.body) | {node.index}
    if isinstance(node, Guarded):
        return surely_set(node.body)
    if isinstance(node, Repeat) and node.low:
        return surely_set(node.body)
    if isinstance(node, Look) and not node.negative:
        return surely_set(node.body)
    return frozenset()


def settle(node: Node) -> Node:
    """The same pattern with loops that mean the same in Perl's way. Raises PATTERN_TOO_LONG."""
    if _least_length(node) > _MAX_WRITTEN:
        _refuse()
    copied = 0

    def inner(node: Node, *, backward: bool) -> Node:
        nonlocal copied
        if isinstance(node, Sequence):
            return Sequence(tuple([inner(item, backward=backward) for item in node.items]))
        if isinstance(node, Choice):
            return Choice(tuple([inner(option, backward=backward) for option in node.options]))
        if isinstance(node, Look):
            return replace(node, body=inner(node.body, backward=not node.ahead))
        if isinstance(node, Group):
            return replace(node, body=inner(node.body, backward=backward))
        if isinstance(node, Repeat):
            body = inner(node.body, backward=backward)
            settled = _settled_loop(replace(node, body=body), backward=backward)
            if isinstance(settled, Sequence):
                copied += sum(1 for _ in walk(settled))
                if copied > _MAX_COPIED:
                    _refuse()
            return settled
        return node

    return inner(node, backward=False)


def _refuse() -> NoReturn:
    raise PatternRefused("This pattern is too complicated.", code="PATTERN_TOO_LONG")


def _least_length(node: Node) -> int:
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Choice):
        return max(map(_least_length, node.options))  # of the longest, since all are written
    length = sum(map(_least_length, children(node)))
    return length * max(1, node.low) if isinstance(node, Repeat) else length


def _settled_loop(loop: Repeat, *, backward: bool) -> Node:
    body = loop.body
    if loop.high == 0:
        return EMPTY
    if loop.low == loop.high or not may_be_empty(body):
        return loop
    if _empty_comes_last(body) and not captures(body):
        return loop
    left = None if loop.high is None else loop.high - loop.low
    rest = Repeat(_not_empty(body), 0, left, loop.greedy, again=loop.again or loop.low > 0)
    if not loop.low:
        return rest
    first = body if loop.low == 1 else Repeat(body, loop.low, loop.low, loop.greedy)
    # in a condition on what precedes, the right end is matched first
    return Sequence((rest, first) if backward else (first, rest))


def _empty_comes_last(node: Node) -> bool:
    """Whether the empty text is the last thing that the part tries: then refusing it changes nothing."""
    if isinstance(node, Chars | Edge | Look | Guarded):
        return True
    if isinstance(node, Sequence):
        return all(map(_empty_comes_last, node.items))
    if isinstance(node, Choice):
        *before, last = node.options
        return not any(map(may_be_empty, before)) and _empty_comes_last(last)
    if isinstance(node, Group):
        return _empty_comes_last(node.body)
    if isinstance(node, Repeat):
        return not may_be_empty(node) or (node.greedy and _empty_comes_last(node.body))
    return False  # a reference may be empty or not


def _not_empty(node: Node) -> Node:
    """The part without its empty match, in the same order of trying."""
    if not may_be_empty(node):
        return node
    if isinstance(node, Group):
        return Group(node.index, _not_empty(node.body))
    if isinstance(node, Choice):
        return Choice(tuple(_not_empty(option) for option in node.options))
    if isinstance(node, Repeat) and node.low == 0 and not may_be_empty(node.body):
        return replace(node, low=1)
    return Guarded(node)
