"""The place in a pattern's source that is being read."""

from __future__ import annotations

import re
from typing import NoReturn

from engine.errors import PatternRefused
from engine.patterns.syntax import Flags

__all__ = ["Reader"]


class Reader:
    """`names` says whether `\\k` is a reference (else it is a `k`)."""

    def __init__(self, source: str, flags: Flags, *, names: bool) -> None:
        self.source = source
        self.flags = flags
        self.names = names
        self.at = 0

    def more(self) -> bool:
        """Whether anything is left."""
        return self.at < len(self.source)

    def peek(self) -> str:
        """The next sign; empty at the end."""
        return self.source[self.at : self.at + 1]

    def next(self) -> str:
        """The next sign, taken."""
        self.at += 1
        return self.source[self.at - 1]

    def skip(self, count: int) -> None:
        """Go on."""
        self.at += count

    def take(self, mark: str) -> bool:
        """Whether the mark stands here; then it is taken."""
        if not self.source.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def match(self, pattern: re.Pattern[str], at: int | None = None) -> re.Match[str] | None:
        """What stands here, taken; or at another place, not taken."""
        found = pattern.match(self.source, self.at if at is None else at)
        if found is not None and at is None:
            self.at = found.end()
        return found

    def refuse(self, problem: str, at: int | None = None) -> NoReturn:
        """Say what is wrong, and where: from 0 in `position`, from 1 in `place` and the message."""
        position = self.at if at is None else at
        raise PatternRefused(
            f"This pattern is not valid: at character {position + 1}, {problem}.",
            position=position,
            place=position + 1,
            problem=problem,
        )
