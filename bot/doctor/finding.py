"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "bad", "good", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `bad` keeps the bot from working; a `note` is worth knowing."""

    kind: Literal["good", "bad", "note"]
    text: str
    mend: str | None = None

    def __str__(self) -> str:
        sign = {"good": "✓", "bad": "✗", "note": "•"}[self.kind]
        return f"{sign} {self.text}" + (f"\n    → {self.mend}" if self.mend else "")


def good(text: str) -> Finding:
    return Finding("good", text)


def bad(text: str, mend: str) -> Finding:
    """Something is wrong; `mend` says what to do about it."""
    return Finding("bad", text, mend)


def note(text: str, mend: str | None = None) -> Finding:
    return Finding("note", text, mend)
