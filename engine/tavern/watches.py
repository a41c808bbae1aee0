"""Patterns that take too long: counted for each library, and told to those who brought them in.

Decision 17: a pattern that times out three times is not run any more. The counts are kept in
memory, so that after a restart a pattern gets three more tries; `pardon` gives them at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from engine.errors import PatternRefused
from engine.hooks import Hooks
from engine.lore import embedded_id
from engine.patterns import Watch, compile_pattern
from engine.resources import Diagnostic

__all__ = ["PATTERN_STOPPED", "PatternStopped", "Watches"]

PATTERN_STOPPED: Final = "tavern/pattern-stopped"
"""The hook that a pattern was stopped; listeners get a `PatternStopped`."""

_CODE = "WORLD_BOOK_REGEX_STOPPED"


@dataclass(frozen=True, slots=True)
class PatternStopped:
    """A pattern took too long three times. `owner` is the library, `resource_id` the world book, the regex
    list, or the card or preset that brings it along; `session_id` where it happened last. `script`: it is
    that of a regex script, not a key of lore."""

    owner: str
    resource_id: str
    pattern: str
    session_id: str
    script: bool = False


class Watches:
    """One `Watch` a library, so that nobody's texts stop another's pattern."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._watches: dict[str, Watch] = {}

    def of(self, owner: str) -> Watch:
        """The counts of a library. Safe to give to a thread."""
        return self._watches.setdefault(owner, Watch())

    def stopped(self, owner: str) -> tuple[str, ...]:
        """The patterns of a library that are not run any more, as `/source/flags`."""
        watch = self._watches.get(owner)
        return () if watch is None else tuple(f"/{source}/{flags}" for source, flags in watch.disabled())

    def pardon(self, owner: str, patterns: Iterable[tuple[str, str]]) -> None:
        """Let patterns (source, flags) be tried again."""
        for source, flags in patterns:
            try:
                self.of(owner).pardon(compile_pattern(source, flags))
            except PatternRefused:
                continue  # what cannot be run was never stopped

    def tell(self, stopped: PatternStopped) -> None:
        """Say that a pattern was stopped: for whoever applied it, at the moment when it happened."""
        self._hooks.emit(PATTERN_STOPPED, stopped)

    def tell_of(self, owner: str, session_id: str, remarks: Iterable[Diagnostic]) -> None:
        """`tell` of each pattern key that the remarks of an activation say was stopped."""
        for remark in remarks:
            if remark.code == _CODE:
                book, _, pattern = remark.where.partition(":/")
                self.tell(PatternStopped(owner, _holder(book), f"/{pattern}", session_id))


def _holder(book_id: str) -> str:
    """The resource in which a book stands: itself, or the card that has it embedded."""
    before, after = embedded_id("\0").split("\0")
    if book_id.startswith(before) and book_id.endswith(after):
        return book_id[len(before) : len(book_id) - len(after)]
    return book_id
