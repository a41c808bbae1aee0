"""Which books a conversation reads: one answer for the loader, for tests of lore and for whoever lists them.

Its own, those of the persona, of the preset and of the card, each at its first occurrence; after
all of them the book that is embedded in the card. Source: spec tavern 3, seed 003, decision 15.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from engine.errors import NotFound, ResourceError
from engine.library import Library, Selection
from engine.lore import Book, BookOrder, Origin, compose, embedded_id, tier_of
from engine.resources import Card

__all__ = ["StoryBooks", "library_of", "own_book", "story_books"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StoryBooks:
    """`books` are the stand-alone ones in the order in which they are read, with their tiers; `embedded` is
    the card's own, which comes last. `order` says by which way each came. `missing` are ids of books that
    cannot be read: a story goes on without them.
    """

    books: tuple[Book, ...] = ()
    embedded: Book | None = None
    order: BookOrder = field(default_factory=compose)
    missing: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[Book, ...]:
        """Every book in order."""
        return self.books if self.embedded is None else (*self.books, self.embedded)

    @property
    def origins(self) -> Mapping[str, tuple[Origin, ...]]:
        """By which ways each of `all` came."""
        if self.embedded is None:
            return self.order.origins
        return {**self.order.origins, self.embedded.id: ("character",)}


async def story_books(
    library: Library, selection: Selection, *, persona_id: str | None = None, card: Card | None = None
) -> StoryBooks:
    """The books of a selection. `persona_id` is the persona that `{{user}}` names, if it is a stored one;
    `card` the selection's card, whose own book comes along."""
    relations = library.relations
    owner = await library_of(library, selection)
    order = compose(
        session=selection.book_ids,
        # A persona is played in several servers: what comes along with it in one is not for the others.
        user=await relations.books("persona", persona_id, within={owner}),
        preset=await relations.books("preset", selection.preset_id),
        character=await relations.books("card", selection.card_id),
    )
    books: list[Book] = []
    missing: list[str] = []
    for book_id in order.effective:
        try:
            book = await library.book(book_id)
        except (NotFound, ResourceError) as error:  # gone, or planted where the reader refuses it
            log.warning("books.unreadable", book=book_id, code=error.error_code)
            missing.append(book_id)
            continue
        books.append(Book(book_id, book, tier=tier_of(order.origins[book_id])))
    return StoryBooks(tuple(books), own_book(selection.card_id or "", card), order, tuple(missing))


async def library_of(library: Library, selection: Selection) -> str:
    """Whose library a story plays from: its card's, or that of the first thing that it uses; empty for
    nobody's."""
    for resource_id in (selection.card_id, selection.preset_id, *selection.book_ids):
        if resource_id is not None:
            try:
                return await library.owner_of(resource_id)
            except NotFound:
                continue
    return ""


def own_book(card_id: str, card: Card | None) -> Book | None:
    """The book that is embedded in a card."""
    if card is None or card.book is None:
        return None
    return Book(embedded_id(card_id), card.book, tier=tier_of(("character",)))
