"""The world books that a session uses, as the table's tools read them.

Those that the session's selection names, in its order, and the card's own book last (decision 15).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from engine.errors import NotFound
from engine.library import Library, Selection
from engine.macros import Authored, MacroContext, expand
from engine.resources import Card, Entry, WorldBook

__all__ = ["Shelf", "ShelfReader"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The books, and the names that their texts may speak of."""

    books: tuple[WorldBook, ...]
    user: str
    char: str

    def entries(self) -> Sequence[tuple[WorldBook, Entry]]:
        """Every entry of every book, in reading order."""
        return [(book, entry) for book in self.books for entry in book.entries]

    def spoken(self, text: str) -> str:
        """A text of a book with its macros expanded, as the prompt would say it."""
        return expand(Authored(text), MacroContext(user=self.user, char=self.char, group=(self.char,)))


class ShelfReader:
    """Reads shelves out of a library."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def read(self, session_id: str) -> Shelf:
        """The session's books as they stand now. One that is gone is left out."""
        selection = await self._library.selections.get(session_id) or Selection()
        books: list[WorldBook] = []
        for book_id in selection.book_ids:
            try:
                books.append(await self._library.book(book_id))
            except NotFound:
                log.warning("shelf.book_missing", book=book_id, session=session_id)
        card = await self._card(selection.card_id)
        if card is not None and card.book is not None:
            books.append(card.book)
        char = card.speaker if card is not None else "the character"
        return Shelf(tuple(books), selection.user_name or "the player", char)

    async def _card(self, card_id: str | None) -> Card | None:
        if card_id is None:
            return None
        try:
            return await self._library.card(card_id)
        except NotFound:
            return None
