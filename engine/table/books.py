"""The world books that a session uses, as the table's tools read them.

Which they are is not decided here: whoever sets the table hands in a source, so that the tools read the
very books that the story's profile is made of.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.macros import Authored, MacroContext, expand
from engine.resources import Entry, WorldBook

__all__ = ["Shelf", "ShelfSource"]


@dataclass(frozen=True, slots=True)
class Shelf:
    """The books, and the names that their texts may speak of."""

    books: tuple[WorldBook, ...]
    user: str = "the player"
    char: str = "the character"

    def entries(self) -> Sequence[tuple[WorldBook, Entry]]:
        """Every entry of every book, in reading order."""
        return [(book, entry) for book in self.books for entry in book.entries]

    def spoken(self, text: str) -> str:
        """A text of a book with its macros expanded, as the prompt would say it."""
        return expand(Authored(text), MacroContext(user=self.user, char=self.char, group=(self.char,)))


ShelfSource: TypeAlias = Callable[[str], Awaitable[Shelf]]
"""The shelf of a session (by its id) as it stands now. A book that is gone is left out."""
