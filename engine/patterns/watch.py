"""Counting the timeouts of patterns, so that one which costs too much is not run for ever."""

from __future__ import annotations

from collections import OrderedDict

from engine.patterns.pattern import Pattern

__all__ = ["Watch"]

STRIKES = 3  # decision 17: a pattern that times out three times is disabled
_WATCHED = 4_096  # patterns that timed out at least once; the longest unseen is forgotten first


class Watch:
    """Counts timeouts by pattern. One per server, so that nobody's texts disable another's pattern."""

    def __init__(self, strikes: int = STRIKES) -> None:
        self._strikes = strikes
        self._counts: OrderedDict[tuple[str, str], int] = OrderedDict()

    def late(self, pattern: Pattern) -> bool:
        """Note a timeout. True exactly when this one disables the pattern: the moment to tell its owner."""
        key = (pattern.source, pattern.flags)
        self._counts[key] = count = self._counts.get(key, 0) + 1
        self._counts.move_to_end(key)
        if len(self._counts) > _WATCHED:
            self._counts.popitem(last=False)
        return count == self._strikes

    def allows(self, pattern: Pattern) -> bool:
        """Whether the pattern may still be run."""
        return self._counts.get((pattern.source, pattern.flags), 0) < self._strikes

    def disabled(self) -> tuple[tuple[str, str], ...]:
        """Source and flags of the patterns that may not be run any more."""
        return tuple(key for key, count in self._counts.items() if count >= self._strikes)

    def pardon(self, pattern: Pattern) -> None:
        """Forget its timeouts: its owner wants it tried again."""
        self._counts.pop((pattern.source, pattern.flags), None)
