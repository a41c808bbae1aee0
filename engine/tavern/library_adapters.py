"""The adapters of the library: the card, the personas and the books that a selection names."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import NotFound, ResourceError
from engine.hooks import Scope
from engine.library import Library, Selection
from engine.resources import Diagnostics, Persona
from engine.tavern.adapters import (
    Adapters,
    CharacterFound,
    Query,
    Speaker,
    UserFound,
    WorldBooksFound,
)
from engine.tavern.books import story_books

__all__ = ["LibraryAdapter", "library_adapters"]


class LibraryAdapter:
    """All three in one: they read from the same place."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def character(self, query: Query) -> CharacterFound:
        """The selection's card; of one that is gone or unreadable a remark."""
        card_id = query.selection.card_id
        if card_id is None:
            return CharacterFound()
        try:
            return CharacterFound(await self._library.card(card_id), card_id)
        except (NotFound, ResourceError):
            notes = Diagnostics()
            notes.warn("CHARACTER_NOT_FOUND", "The story's character card is not there any more.", card_id)
            return CharacterFound(None, "", notes.all())

    async def user(self, query: Query) -> UserFound:
        """The persona that is bound to the session (decision 19); unbound, whoever spoke first. Each player
        has the persona whose name they spoke as, if they still play it."""
        notes = Diagnostics()
        played = [(await self._played(speaker)) for speaker in query.speakers]
        players = tuple(persona for persona, _ in played)
        bound, bound_id = await self._bound(query.selection, played, notes)
        return UserFound(bound, bound_id, players, notes.all())

    async def world_books(self, query: Query) -> WorldBooksFound:
        """The selection's books, and those that come along with persona, preset and card."""
        found = await story_books(
            self._library, query.selection, persona_id=query.user.id, card=query.character.card
        )
        notes = Diagnostics()
        for book_id in found.missing:
            notes.warn("WORLD_BOOK_NOT_FOUND", "A world book of the story cannot be read.", book_id)
        return WorldBooksFound(found, notes.all())

    async def _bound(
        self, selection: Selection, played: Sequence[tuple[Persona, str | None]], notes: Diagnostics
    ) -> tuple[Persona | None, str | None]:
        if selection.persona_id is not None:
            stored = await self._library.personas.find(selection.persona_id)
            if stored is not None:
                return stored.persona, stored.id
            notes.warn("USER_NOT_FOUND", "The story's persona is not there any more.", selection.persona_id)
        if selection.user_name:
            named = (each for each in played if each[0].name == selection.user_name)
            return next(named, (Persona(selection.user_name), None))
        return played[0] if played else (None, None)

    async def _played(self, speaker: Speaker) -> tuple[Persona, str | None]:
        stored = await self._library.personas.active(speaker.author_id)
        if stored is not None and stored.persona.name == speaker.name:
            return stored.persona, stored.id
        return Persona(speaker.name), None


def library_adapters(library: Library, owner: Scope) -> Adapters:
    """Places with the library's adapters in them."""
    adapters, adapter = Adapters(), LibraryAdapter(library)
    adapters.character.register(adapter, owner=owner)
    adapters.user.register(adapter, owner=owner)
    adapters.world_book.register(adapter, owner=owner)
    return adapters
