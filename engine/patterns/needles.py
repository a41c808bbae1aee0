"""Texts of which one must occur wherever a pattern matches: most patterns need not be run at all.

With `i` they are folded, and so must the text be in which they are looked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from engine.patterns.charset import CharSet
from engine.patterns.folding import fold
from engine.patterns.shape import longest
from engine.patterns.syntax import (
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

__all__ = ["MIN_BYTES", "needle_reach", "needles"]

MIN_BYTES = 3  # of UTF-8: three letters, or one Chinese character; shorter ones occur in every text
MAX_LENGTH = 32  # characters: a needle need not be long to be rare
_MAX_TEXTS = 32  # alternatives, above that the automaton pays for more than it saves
_MAX_CLASS = 4  # members of a class that are written out


@dataclass(frozen=True, slots=True)
class _Known:
    """`exact` are all texts that the part matches, if few; `some` are texts of which one must occur."""

    exact: frozenset[str] | None = None
    some: frozenset[str] | None = None

    def required(self) -> frozenset[str] | None:
        return _better(self.some, self.exact)


_TRAILING = 4  # parts without end behind the needle that are looked through
_NOTHING = frozenset({""})


def needles(root: Node, *, ignore_case: bool) -> tuple[str, ...]:
    """The needles, each of `MIN_BYTES` or more and of `MAX_LENGTH` or less; none where none are known."""
    found = _known(root, ignore_case).required()
    if not found or min(map(_size, found)) < MIN_BYTES:
        return ()
    # one that contains another says nothing more
    return tuple(sorted(one for one in found if not any(two in one for two in found if two != one)))


def needle_reach(root: Node, found: tuple[str, ...], *, ignore_case: bool) -> int | None:
    """How far before the end of a needle a match can begin, at most; None when that is not known.

    So no match begins earlier than that before the end of the first needle in a text.
    """
    reach = longest(root)
    items = list(root.items) if isinstance(root, Sequence) else [root]
    # what comes after the needle does not matter, however long it is
    for _ in range(_TRAILING):
        if reach is not None or not items:
            break
        while items and longest(items[-1]) is not None:
            items.pop()
        if items:
            items.pop()
        before = Sequence(tuple(items))
        if needles(before, ignore_case=ignore_case) != found:
            return None
        reach = longest(before)
    return reach


def _known(node: Node, ignore_case: bool) -> _Known:
    if isinstance(node, Chars):
        return _Known(exact=_letters(node.chars, ignore_case))
    if isinstance(node, Sequence):
        return _sequence([_known(item, ignore_case) for item in node.items])
    if isinstance(node, Choice):
        return _choice([_known(option, ignore_case) for option in node.options])
    if isinstance(node, Group | Guarded):
        return _known(node.body, ignore_case)
    if isinstance(node, Repeat):
        return _repeat(node, _known(node.body, ignore_case))
    if isinstance(node, Backref):
        return _Known()
    assert isinstance(node, Edge | Look)  # they take no room
    return _Known(exact=_NOTHING)


@lru_cache(maxsize=1024)
def _letters(chars: CharSet, ignore_case: bool) -> frozenset[str] | None:
    if len(chars) > (2 * _MAX_CLASS if ignore_case else _MAX_CLASS):
        return None
    found = frozenset(fold(chr(point)) if ignore_case else chr(point) for point in chars.points())
    return found if len(found) <= _MAX_CLASS else None


def _sequence(items: Iterable[_Known]) -> _Known:
    some: frozenset[str] | None = None
    run: frozenset[str] = _NOTHING
    whole = True
    for item in items:
        longer = _product(run, item.exact)
        if longer is not None:
            run = longer
            continue
        whole = False
        some = _better(_better(some, run), item.required())
        # what follows may begin anew with this item, if that is known
        run = item.exact if item.exact is not None else _NOTHING
    return _Known(run if whole else None, _better(some, run))


def _choice(options: Iterable[_Known]) -> _Known:
    exact: frozenset[str] | None = frozenset()
    some: frozenset[str] | None = frozenset()
    for option in options:
        required = option.required()
        exact = None if exact is None or option.exact is None else exact | option.exact
        some = None if some is None or required is None else some | required
    if exact is not None and len(exact) > _MAX_TEXTS:
        exact = None
    return _Known(exact, some if some and len(some) <= _MAX_TEXTS else None)


def _repeat(node: Repeat, body: _Known) -> _Known:
    if node.low == 0:
        if node.high == 1 and body.exact is not None:
            return _Known(exact=body.exact | _NOTHING)
        return _Known()
    exact: frozenset[str] | None = _NOTHING
    for _ in range(min(node.low, MAX_LENGTH)):
        longer = None if exact is None else _product(exact, body.exact)
        if longer is None:
            break
        exact = longer
    else:
        if node.low == node.high and node.low <= MAX_LENGTH:
            return _Known(exact=exact)
    return _Known(some=_better(body.required(), exact))


def _product(left: frozenset[str], right: frozenset[str] | None) -> frozenset[str] | None:
    if right is None or len(left) * len(right) > _MAX_TEXTS:
        return None
    both = frozenset(first + second for first in left for second in right)
    return both if all(len(text) <= MAX_LENGTH for text in both) else None


def _better(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    return max(left, right, key=_worth)


def _worth(found: frozenset[str] | None) -> tuple[int, int]:
    shortest = min(map(_size, found)) if found else 0
    if not found or shortest < MIN_BYTES:
        return 0, 0
    return min(shortest, 6), -len(found)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
