"""Which characters are the same to JavaScript when case is ignored.

Without `u` two characters are the same when `toUpperCase` gives the same single character, except that
nothing outside ASCII becomes ASCII (`ſ` is no `s`). With `u` or `v` simple case folding decides (`ſ` is
`s`, `K` is `k`). Source: ECMA-262, Canonicalize.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from functools import cache, lru_cache

from engine.patterns.charset import CharSet

__all__ = ["close_case", "fold"]

# The planes of letters: no character beyond has a case.
_CASED_PLANES = 0x1FFFF


@lru_cache(maxsize=1024)
def close_case(chars: CharSet, *, unicode: bool) -> CharSet:
    """The set with every other case of its members."""
    table = _variants(unicode)
    order = _order(unicode)
    more: list[tuple[int, int]] = []
    for low, high in chars.ranges:
        for point in order[bisect_left(order, low) : bisect_right(order, high)]:
            more.extend((other, other) for other in table[point])
    return CharSet.of((*chars.ranges, *more)) if more else chars


def fold(text: str) -> str:
    """The form under which needles of case-insensitive patterns are looked up in a text.

    Letter by letter, so a text contains a match only if its folded form contains the folded match.
    """
    return text.casefold()


def canonical(point: int, *, unicode: bool) -> int:
    """The character that stands for all cases of this one."""
    return _folded(point) if unicode else _uppered(point)


@cache
def _variants(unicode: bool) -> Mapping[int, tuple[int, ...]]:
    groups: dict[int, list[int]] = {}
    for point in range(_CASED_PLANES):
        letter = chr(point)
        # most characters have no case at all: this test is the cheap one
        if letter.upper() != letter or letter.lower() != letter or letter.casefold() != letter:
            groups.setdefault(canonical(point, unicode=unicode), []).append(point)
    found: dict[int, tuple[int, ...]] = {}
    for stands, members in groups.items():
        together = tuple(dict.fromkeys((stands, *members)))
        if len(together) > 1:
            found.update(dict.fromkeys(together, together))
    return found


@cache
def _order(unicode: bool) -> list[int]:
    return sorted(_variants(unicode))


def _uppered(point: int) -> int:
    # Without `u` JavaScript sees halves of a character beyond the first plane, which have no case.
    if point > 0xFFFF:
        return point
    upper = chr(point).upper()
    if len(upper) != 1 or ord(upper) > 0xFFFF or (point >= 0x80 > ord(upper)):
        return point
    return ord(upper)


def _folded(point: int) -> int:
    folded = chr(point).casefold()
    if len(folded) != 1:
        # Full folding made several letters; the simple folding is the lower case, where it is one letter.
        folded = chr(point).lower()
    return ord(folded) if len(folded) == 1 else point
