"""What turns a session's selection into its system prompt and its call parameters.

One section, `tavern:profile`, is rendered for each step from the session's selection,
its durable history and the batch that was just claimed; the call parameters of the very
same rendering answer `agent/request`, so that a change of selection in between cannot
mix two presets (seed 003; spec tavern 5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import structlog

from engine.agent import AssembleContext, Section, SystemPrompt
from engine.errors import NotFound
from engine.hooks import Scope
from engine.library import Library, Selection
from engine.lore import Book
from engine.resources import Card, Persona, Preset
from engine.session import Message, Session, message_text, transcript
from engine.tavern.parameters import PresetParameters
from engine.tavern.profile import ProfileRequest
from engine.tavern.renderer import compile_profile

__all__ = ["ProfileLoader"]

log = structlog.get_logger(__name__)

SECTION = "tavern:profile"
_ORDER = 10  # the place that seed 003 gives the profile
# Lore looks at the newest messages only; its own scan depth is far below this cap (spec tavern 4).
_SCANNED_MESSAGES = 128


class ProfileLoader:
    """Registers the profile section for every agent, and hands its call parameters on."""

    def __init__(
        self,
        library: Library,
        prompt: SystemPrompt,
        parameters: PresetParameters,
        builtin: Preset,
        owner: Scope,
    ) -> None:
        self._library = library
        self._builtin = builtin
        self._parameters = parameters
        prompt.section(Section(SECTION, _ORDER, self._section), owner=owner)

    async def _section(self, context: AssembleContext) -> str:
        request = await self._profile_request(context)
        context.token.check()
        # A long card with many books takes milliseconds to render; the loop has others to serve.
        profile = await asyncio.to_thread(compile_profile, request)
        self._parameters.keep(context.session.id, profile.parameters)
        if profile.diagnostics:
            codes = sorted({note.code for note in profile.diagnostics})
            log.debug("profile.diagnostics", session=context.session.id, codes=codes)
        return profile.system_text

    async def _profile_request(self, context: AssembleContext) -> ProfileRequest:
        session = context.session
        selection = await self._library.selections.get(session.id) or Selection()
        card = await self._card(selection.card_id)
        preset = await self._preset(selection.preset_id)
        # Who plays and how far the story is go by what was said, not by what a summary left of it.
        said = [*_said(session), *context.claimed]
        history = [message for message in session.derive() if message["role"] != "system"]
        scanned = [*history, *context.claimed][-_SCANNED_MESSAGES:]
        personas = await self._personas(said)
        bound = await self._bound(selection, personas)
        return ProfileRequest(
            card=card,
            card_id=selection.card_id or "",
            preset=preset,
            persona=bound,
            players=personas,
            books=await self._books(selection.book_ids),
            messages=[_spoken(message, card) for message in scanned],
            greeting_index=selection.greeting_index,
            first_turn=not any(message["role"] == "assistant" for message in said),
            prefer_system=selection.prefer_system,
            prefer_post_history=selection.prefer_post_history,
            seed=selection.seed or session.id,
            turn=sum(1 for message in said[: len(said) - len(context.claimed)] if message["role"] == "user"),
        )

    async def _card(self, card_id: str | None) -> Card | None:
        if card_id is None:
            return None
        try:
            return await self._library.card(card_id)
        except NotFound:
            log.warning("profile.card_missing", card=card_id)
            return None

    async def _preset(self, preset_id: str | None) -> Preset:
        if preset_id is None:
            return self._builtin
        try:
            return await self._library.preset(preset_id)
        except NotFound:
            log.warning("profile.preset_missing", preset=preset_id)
            return self._builtin

    async def _books(self, book_ids: Iterable[str]) -> Sequence[Book]:
        books = []
        for book_id in book_ids:
            try:
                books.append(Book(book_id, await self._library.book(book_id)))
            except NotFound:
                log.warning("profile.book_missing", book=book_id)
        return books

    async def _bound(self, selection: Selection, speakers: Sequence[Persona]) -> Persona | None:
        """The persona that is bound to the session (decision 19); unbound, whoever spoke first."""
        if selection.persona_id is not None:
            stored = await self._library.persona(selection.persona_id)
            if stored is not None:
                return stored.persona
        if selection.user_name:
            known = (speaker for speaker in speakers if speaker.name == selection.user_name)
            return next(known, Persona(selection.user_name))
        return speakers[0] if speakers else None

    async def _personas(self, messages: Iterable[Message]) -> Sequence[Persona]:
        """Who plays, in the order in which they first spoke; each under the name they spoke as."""
        names: dict[str, str] = {}
        for message in messages:
            source = message["source"]
            if source.get("kind") == "user" and source.get("persona"):
                names.setdefault(source["persona"], source.get("authorId", ""))
        personas = []
        for name, author_id in names.items():
            stored = await self._library.persona_get(author_id)
            known = stored is not None and stored.persona.name == name
            personas.append(stored.persona if stored is not None and known else Persona(name))
        return personas


def _said(session: Session) -> list[Message]:
    """The conversation as people saw it: what was said and answered, whatever the model reads of it now."""
    return [
        event.data if event.type == "user/message" else event.data["message"]
        for event in transcript(session.events())
        if event.type == "user/message"
        or (event.type == "assistant/message" and event.data["message"]["content"])
    ]


def _spoken(message: Message, card: Card | None) -> str:
    """`Name: text`, as lore reads it. People's words carry their label already (decision 34)."""
    text = message_text(message)
    if message["role"] == "assistant" and card is not None:
        return f"{card.speaker}: {text}"
    return text
