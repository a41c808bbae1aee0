"""Sets of code points, as JavaScript's character classes make them.

Every class, dot and letter of a pattern becomes one of these, with its case already resolved, so that
neither engine's own idea of `\\w`, `\\s` or of upper case ever decides.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["ANY", "DIGITS", "LINE_ENDS", "NEVER", "SPACES", "WORDS", "CharSet"]

LAST = 0x10FFFF


@dataclass(frozen=True, slots=True)
class CharSet:
    """Ascending ranges, both ends included, with a gap between each two. Made by `of`."""

    ranges: tuple[tuple[int, int], ...]

    @staticmethod
    def of(ranges: Iterable[tuple[int, int]]) -> CharSet:
        """The set of all code points in the ranges, which may overlap in any order."""
        merged: list[tuple[int, int]] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                if high > merged[-1][1]:
                    merged[-1] = (merged[-1][0], high)
            else:
                merged.append((low, high))
        return CharSet(tuple(merged))

    @staticmethod
    def only(*points: int) -> CharSet:
        """The set of these code points."""
        return CharSet.of((point, point) for point in points)

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet.of((*self.ranges, *other.ranges))

    def __invert__(self) -> CharSet:
        gaps: list[tuple[int, int]] = []
        start = 0
        for low, high in self.ranges:
            if low > start:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= LAST:
            gaps.append((start, LAST))
        return CharSet(tuple(gaps))

    def __and__(self, other: CharSet) -> CharSet:
        return ~(~self | ~other)

    def __sub__(self, other: CharSet) -> CharSet:
        return self & ~other

    def __contains__(self, point: int) -> bool:
        at = bisect_right(self.ranges, (point, LAST + 1)) - 1
        return at >= 0 and self.ranges[at][1] >= point

    def __len__(self) -> int:
        return sum(high - low + 1 for low, high in self.ranges)

    def points(self) -> Iterator[int]:
        """Its code points in order."""
        for low, high in self.ranges:
            yield from range(low, high + 1)


ANY = CharSet(((0, LAST),))
NEVER = CharSet(())
DIGITS = CharSet.of([(0x30, 0x39)])
WORDS = CharSet.of([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
# ECMAScript's WhiteSpace and LineTerminator
SPACES = CharSet.of(
    [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)
LINE_ENDS = CharSet.only(0x0A, 0x0D, 0x2028, 0x2029)
