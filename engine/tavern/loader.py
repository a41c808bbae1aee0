"""What turns a session's selection into a profile: resources are found, then rendered as one value.

Always in one order: selection, preset, what was said, character, user, books, macros, rendering. What is
missing is a remark; the turn goes on without it. Source: spec tavern 5, seed 003.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from engine.errors import NotFound, ResourceError
from engine.hooks import Scope
from engine.library import Library, Selection
from engine.lore import EFFECTS_RECORD, ActivationContext, TimedEffects
from engine.resources import Diagnostics, Preset
from engine.session import Message, Session
from engine.tavern.adapters import Adapters, CharacterFound, Query, UserFound, WorldBooksFound
from engine.tavern.assembly_input import assembly_input
from engine.tavern.books import library_of
from engine.tavern.compilation import Compilation, resource_uses
from engine.tavern.conversation import Conversation, conversation, scanned_texts
from engine.tavern.library_adapters import library_adapters
from engine.tavern.profile import ProfileRequest
from engine.tavern.renderer import compile_profile
from engine.tavern.script_runner import ScriptRunner
from engine.tavern.story_runner import LoreScripts
from engine.tavern.variables import VARIABLES_RECORD, fold_variables
from engine.tavern.watches import Watches

__all__ = ["ModelFacts", "ProfileLoader", "unwatched"]

_REMEMBERED: Final = 128  # sessions whose last compilation a panel can show; each holds some 50 KB


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of the model that is called: its name, its window and longest answer in tokens, and
    whether it takes instructions, and changes of its tools, inside the conversation."""

    name: str = ""
    window: int | None = None
    max_response: int | None = None
    later_instructions: bool = False
    later_tools: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    """What a session's next step is made of, as far as it had to be looked for."""

    selection: Selection
    preset: Preset
    preset_id: str
    talk: Conversation
    activation: ActivationContext
    character: CharacterFound
    user: UserFound
    books: WorldBooksFound
    notes: Diagnostics


class ProfileLoader:
    """Compiles what sessions use. Registers nothing; see `ProfileSection`."""

    def __init__(
        self,
        library: Library,
        builtin: Preset,
        owner: Scope,
        *,
        adapters: Adapters | None = None,
        watches: Watches | None = None,
        scripts: ScriptRunner | None = None,
        model: Callable[[], ModelFacts] = ModelFacts,
        defaults: Callable[[], Selection] = Selection,
    ) -> None:
        """`adapters` find the resources, without them those of the library do. `builtin` is the preset of
        those who have none; `defaults` the selection of a session that has not settled one; `watches`
        counts patterns that take too long; `scripts` are the regex scripts that act on what is said and
        on lore."""
        self.adapters = adapters or library_adapters(library, owner)
        self._library = library
        self._builtin = builtin
        self._watches = watches
        self._scripts = scripts
        self._model = model
        self._defaults = defaults
        self._last: OrderedDict[str, Compilation] = OrderedDict()

    async def compile(
        self,
        session: Session,
        claimed: Sequence[Message] = (),
        *,
        resolve_only: bool = False,
        tried: bool = False,
    ) -> Compilation:
        """What the session's next step says, `claimed` being said in it. Writes nothing.

        With `resolve_only` nothing is rendered: a strategy places the sources. What is only `tried` is not
        remembered, and patterns that take too long are not held against anybody. Raises ResourceError
        TAVERN_PROFILE_TOO_LARGE (data: actual_bytes, max_bytes).
        """
        stored = await self._library.selections.get(session.id)
        found = await self._found(session, claimed, stored)
        request = await self._request(session, found)
        if tried:
            request = unwatched(request)
        # A long card with many books takes milliseconds to render; the loop has others to serve.
        try:
            profile = await asyncio.to_thread(compile_profile, request, resolve_only=resolve_only)
        finally:
            if isinstance(request.finish, LoreScripts) and not tried:
                request.finish.conclude()
        if self._watches is not None and not tried:
            self._watches.tell_of(request.owner, session.id, profile.diagnostics)
        ids = (request.preset_id, request.card_id, *(book.id for book in request.books))
        made = Compilation(
            session_id=session.id,
            session_selection=stored or found.selection,
            selection=replace(
                found.selection, book_ids=request.order.effective, persona_id=request.persona_id or None
            ),
            request=request,
            profile=profile,
            activation=found.activation,
            resources=resource_uses(request, profile, await self._revisions(ids)),
            assembly_input=assembly_input(
                request, profile, tuple(message["id"] for message in found.talk.claimed)
            ),
        )
        if not tried:
            self.remember(made)
        return made

    async def request(self, session: Session, claimed: Sequence[Message] = ()) -> ProfileRequest:
        """What the profile of the session's next step is made of. Writes nothing and remembers nothing."""
        stored = await self._library.selections.get(session.id)
        return await self._request(session, await self._found(session, claimed, stored))

    def last(self, session_id: str) -> Compilation | None:
        """The session's last compilation, for those who want to see what came of it and why."""
        return self._last.get(session_id)

    # -- finding --------------------------------------------------------------------------------------

    async def _found(self, session: Session, claimed: Sequence[Message], stored: Selection | None) -> _Found:
        selection = stored or self._defaults()
        notes = Diagnostics()
        if self._scripts is not None:  # lore reads what the model will read
            claimed = await self._scripts.admitted(session, claimed)
        preset, preset_id = await self._preset(selection.preset_id, notes)
        talk = conversation(session, claimed)
        query = Query(session.id, selection, talk.activation(), talk.speakers)
        adapters = self.adapters
        if (characters := adapters.character.adapter) is not None:
            query = replace(query, character=await characters.character(query))
        if (users := adapters.user.adapter) is not None:
            query = replace(query, user=await users.user(query))
        world_books = adapters.world_book.adapter
        books = await world_books.world_books(query) if world_books is not None else WorldBooksFound()
        for part in (query.character, query.user, books):
            notes.extend(part.diagnostics)
        return _Found(
            selection, preset, preset_id, talk, query.activation, query.character, query.user, books, notes
        )

    async def _request(self, session: Session, found: _Found) -> ProfileRequest:
        selection, talk, model, now = found.selection, found.talk, self._model(), datetime.now(UTC)
        owner = await library_of(self._library, selection)
        card, books = found.character.card, found.books.books
        asked = found.preset.max_tokens
        return ProfileRequest(
            card=card,
            card_id=found.character.id,
            preset=found.preset,
            preset_id=found.preset_id,
            persona=found.user.user,
            persona_id=found.user.id or "",
            players=found.user.players,
            books=books.books,
            order=books.order,
            missing=books.missing,
            messages=scanned_texts(found.activation, card.speaker if card is not None else ""),
            message_count=talk.count,
            answer_count=talk.answers,
            chat=talk.chat(now),
            greeting_index=selection.greeting_index,
            first_turn=not talk.answers,
            prefer_system=selection.prefer_system,
            prefer_post_history=selection.prefer_post_history,
            seed=selection.seed or session.id,
            turn=talk.turn,
            trigger=talk.trigger,
            now=now,
            effects=TimedEffects.fold(_records(session, EFFECTS_RECORD)),
            local_variables=fold_variables(_records(session, VARIABLES_RECORD)),
            global_variables=await self._library.variables.of(owner) if owner else {},
            model=model.name,
            window=model.window,
            max_response=model.max_response if asked is None else asked,
            owner=owner,
            watch=self._watches.of(owner) if self._watches is not None else None,
            finish=await self._scripts.lore(selection, session.id) if self._scripts is not None else None,
            remarks=found.notes.all(),
        )

    async def _preset(self, preset_id: str | None, notes: Diagnostics) -> tuple[Preset, str]:
        if preset_id is not None:
            try:
                return await self._library.preset(preset_id), preset_id
            except (NotFound, ResourceError):
                notes.warn(
                    "PRESET_NOT_FOUND",
                    "The story's preset is not there any more; the built-in one is used.",
                    preset_id,
                )
        return self._builtin, ""

    async def _revisions(self, ids: Iterable[str]) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for resource_id in ids:
            if resource_id:
                try:
                    found[resource_id] = (await self._library.get(resource_id)).revision
                except NotFound:
                    continue
        return found

    def remember(self, made: Compilation) -> None:
        """Take this as the session's last compilation."""
        self._last[made.session_id] = made
        self._last.move_to_end(made.session_id)
        while len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)


def unwatched(request: ProfileRequest) -> ProfileRequest:
    """The request for a look only: patterns that were stopped stay so, but nobody is given a strike."""
    finish = request.finish.tried() if isinstance(request.finish, LoreScripts) else request.finish
    return replace(request, watch=deepcopy(request.watch), finish=finish)


def _records(session: Session, kind: str) -> list[Mapping[str, object]]:
    """What a branch's log has of a kind of record, the part before the fork included."""
    return [event.data for event in session.events() if event.type == kind]
