"""RE2's way of matching dozens of patterns in one pass.

A set's automaton can grow by a state with each byte, cannot be stopped, and says nothing when it gives up.
So a set is small, is used only while its size times the text's stays below RE2's own bound, and carries one
pattern that always matches: where that one is missing, the answer is worth nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import re2  # type: ignore[import-untyped]

from engine.patterns.pattern import Pattern
from engine.patterns.runners import RE2_STEPS
from engine.patterns.subject import Subject

__all__ = ["Re2Set"]

_SIZE = 1_000  # instructions of a set: some sixty usual patterns, for texts of up to 6 KB
_MEMORY = 4 << 20


class Re2Set:
    """A few patterns, none sticky. `indices` are their numbers in the greater set."""

    def __init__(self, items: Sequence[tuple[int, Pattern]], size: int) -> None:
        self.indices = tuple(index for index, _ in items)
        self._patterns = tuple(pattern for _, pattern in items)
        self._size = size
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MEMORY
        options.never_capture = True
        self._set = re2.Set.SearchSet(options)
        self._set.Add("")  # the one that always matches
        for pattern in self._patterns:
            self._set.Add(pattern.re2_text)
        self._set.Compile()

    @classmethod
    def chunks(cls, items: Sequence[tuple[int, Pattern]]) -> tuple[Re2Set, ...]:
        """Sets of the patterns that RE2 takes; a single one gains nothing and is left out."""
        groups: list[tuple[list[tuple[int, Pattern]], int]] = []
        for index, pattern in items:
            if pattern.re2_text is None or "y" in pattern.flags or pattern.re2_size > _SIZE:
                continue
            if not groups or groups[-1][1] + pattern.re2_size > _SIZE:
                groups.append(([], 0))
            held, size = groups[-1]
            groups[-1] = ([*held, (index, pattern)], size + pattern.re2_size)
        made = []
        for held, size in groups:
            if len(held) > 1:
                try:
                    made.append(cls(held, size))
                except re2.error:
                    continue
        return tuple(made)

    def match(self, subject: Subject) -> list[int] | None:
        """The indices that match; None when the patterns must be run one by one."""
        data = subject.data
        if data is None or len(data) * self._size > RE2_STEPS:
            return None
        if not all(pattern.re2_takes(subject) for pattern in self._patterns):
            return None
        found = self._set.Match(data) or ()
        if 0 not in found:
            return None
        return [self.indices[place - 1] for place in found if place]
