"""World books that come along: with a persona, a preset or a card. Source: spec tavern 3.

Relations are live: a change counts from the next request on, in every story. They are never
part of an export.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

from engine.errors import Conflict, NotFound, ResourceError
from engine.storage import Store, Write

__all__ = ["MAX_RELATED", "Holder", "Relations"]

Holder: TypeAlias = Literal["persona", "preset", "card"]

MAX_RELATED = 100  # books of one holder (spec tavern 3)


class Relations:
    """Which books come with what."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def books(
        self, kind: Holder, holder_id: str | None, *, within: Collection[str] | None = None
    ) -> Sequence[str]:
        """The books' ids in order; none for nobody.

        `within` are the libraries that count: a persona is played in several servers, and what it brings
        along in one is not for the others.
        """
        if holder_id is None:
            return ()
        if within is None:
            rows = await self._store.fetch("relation_books", kind=kind, id=holder_id)
            return tuple(row["book_id"] for row in rows)
        return tuple(book for book, owner in await self._owned(kind, holder_id) if owner in within)

    async def set_books(self, kind: Holder, holder_id: str, book_ids: Sequence[str], *, owner: str) -> None:
        """Replace the list of `owner`'s books; those of other libraries stay (a persona has such).

        The holder is the caller's to check.
        Raises ResourceError WORLD_BOOK_BINDING_LIMIT_REACHED above 100, NotFound WORLD_BOOK_NOT_FOUND
        when one is not there: then the old list stays.
        """
        books = [(book, owner) for book in dict.fromkeys(book_ids)]
        listed = set(book_ids)
        others = await self._owned(kind, holder_id)
        books += [(book, whose) for book, whose in others if whose != owner and book not in listed]
        if len(books) > MAX_RELATED:
            raise ResourceError(
                f"At most {MAX_RELATED} world books can come along; these are {len(books)}.",
                code="RESOURCE_WORLD_BOOK_BINDING_LIMIT_REACHED",
                limit=MAX_RELATED,
            )
        held = {"kind": kind, "id": holder_id}
        writes = [Write("relation_drop", held)]
        writes += [
            Write("relation_put", held | {"place": place, "book_id": book, "owner": whose}, expect=1)
            for place, (book, whose) in enumerate(books)
        ]
        try:
            await self._store.commit(*writes)
        except Conflict:
            raise NotFound(
                "One of these world books is not in the library (any more).", code="WORLD_BOOK_NOT_FOUND"
            ) from None

    async def _owned(self, kind: Holder, holder_id: str) -> Sequence[tuple[str, str]]:
        rows = await self._store.fetch("relation_owned_books", kind=kind, id=holder_id)
        return [(row["book_id"], row["owner"]) for row in rows]
