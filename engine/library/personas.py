"""Who people play: each person's personas, one of them active. Source: spec tavern 1.4.

A persona belongs to a person and not to a server. Its picture is shown, never sent to a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace

from engine.codec import digest
from engine.errors import Conflict, NotFound, ResourceError
from engine.ids import new_id
from engine.library.exports import ExportFile
from engine.resources import (
    Avatar,
    Diagnostic,
    Persona,
    PersonaDraft,
    export_filename,
    make_persona,
    read_personas,
    write_persona,
)
from engine.resources.persona import MAX_NAME
from engine.storage import Row, Store, Write, blob_write

__all__ = ["MAX_PERSONAS", "Personas", "PersonasCame", "StoredPersona"]

# Four pages of Discord's select; people who role-play for years keep a few dozen.
MAX_PERSONAS = 100


@dataclass(frozen=True, slots=True)
class StoredPersona:
    """A person's persona and its id. `avatar` is the hash of its picture's bytes."""

    id: str
    user_id: str
    persona: Persona
    revision: int
    active: bool
    avatar: bytes | None = None
    avatar_type: str | None = None


@dataclass(frozen=True, slots=True)
class PersonasCame:
    """What an import brought: new personas, how many of a backup were there already, and remarks."""

    personas: tuple[StoredPersona, ...]
    known: int
    warnings: tuple[Diagnostic, ...]


class Personas:
    """All personas on a `Store`. `clock` gives epoch ms."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock

    async def active(self, user_id: str) -> StoredPersona | None:
        """Who a person plays, or None when they play as themselves."""
        return _persona(await self._store.fetch_one("persona_active", user_id=user_id))

    async def find(self, persona_id: str) -> StoredPersona | None:
        """A persona by its id, as a selection names it."""
        return _persona(await self._store.fetch_one("persona_get", id=persona_id))

    async def get(self, user_id: str, persona_id: str) -> StoredPersona:
        """One of a person's own. Raises NotFound USER_NOT_FOUND."""
        found = await self.find(persona_id)
        if found is None or found.user_id != user_id:
            raise NotFound("This is none of your personas (any more).", code="USER_NOT_FOUND", id=persona_id)
        return found

    async def list(self, user_id: str) -> Sequence[StoredPersona]:
        """A person's personas by name."""
        rows = await self._store.fetch("persona_list", user_id=user_id)
        return [found for row in rows if (found := _persona(row)) is not None]

    async def avatar(self, persona_id: str) -> bytes | None:
        """The picture's bytes, or None when it has none."""
        found = await self.find(persona_id)
        return None if found is None or found.avatar is None else await self._store.get_blob(found.avatar)

    async def create(
        self, user_id: str, name: str, description: str = "", avatar: Avatar | None = None
    ) -> StoredPersona:
        """One more. Does not change who the person plays.

        Raises ResourceError PERSONA_INVALID, PERSONA_LIMIT_REACHED, USER_ID_EXISTS for a name that
        another of the person's personas has.
        """
        persona = make_persona(name, description)
        await self._check_name(user_id, persona.name, None)
        (persona_id,) = await self._insert(user_id, [PersonaDraft(persona, avatar)])
        return await self.get(user_id, persona_id)

    async def import_(self, user_id: str, data: bytes) -> PersonasCame:
        """Bring in the persona of a file, or all of a SillyTavern backup. Does not change who is played.

        Each gets a new id; a name that is taken gets a number. Of a backup, what is there already is
        passed over. All or nothing. Raises ResourceError: USER_BODY_TOO_LARGE, USER_DOCUMENT_INVALID,
        PERSONA_LIMIT_REACHED.
        """
        file = await asyncio.to_thread(read_personas, data)
        own = {found.persona.name: found.persona for found in await self.list(user_id)}
        drafts, known = [], 0
        for draft in file.personas:
            if file.backup and own.get(draft.persona.name) == draft.persona:
                known += 1
                continue
            persona = replace(draft.persona, name=_free_name(draft.persona.name, own))
            own[persona.name] = persona
            drafts.append(replace(draft, persona=persona))
        ids = await self._insert(user_id, drafts)
        came = tuple([await self.get(user_id, persona_id) for persona_id in ids])
        return PersonasCame(came, known, file.warnings)

    async def export(self, user_id: str, persona_id: str) -> ExportFile:
        """One of a person's own as a file, with its picture. Raises NotFound USER_NOT_FOUND."""
        found = await self.get(user_id, persona_id)
        picture = await self.avatar(persona_id)
        body = await asyncio.to_thread(write_persona, found.persona, picture, found.avatar_type)
        filename = export_filename(found.persona.name, "json")
        return ExportFile(filename, "application/json", body)

    async def change(
        self,
        user_id: str,
        persona_id: str,
        *,
        expected_revision: int,
        name: str | None = None,
        description: str | None = None,
        avatar: Avatar | None = None,
        drop_avatar: bool = False,
    ) -> StoredPersona:
        """Change what is given and keep the rest.

        Raises NotFound USER_NOT_FOUND, ResourceError as `create`, Conflict RESOURCE_CHANGED when it has
        been changed since `expected_revision`.
        """
        found = await self.get(user_id, persona_id)
        persona = make_persona(
            found.persona.name if name is None else name,
            found.persona.description if description is None else description,
        )
        await self._check_name(user_id, persona.name, persona_id)
        params = self._params(persona, avatar) | {"id": persona_id, "user_id": user_id}
        if avatar is None and not drop_avatar:
            params |= {"avatar": found.avatar, "avatar_type": found.avatar_type}
        try:
            await self._store.commit(
                *_blobs(avatar),
                Write("persona_change", params | {"expected": expected_revision}, expect=1),
            )
        except Conflict:
            raise Conflict("It has been changed meanwhile.", code="RESOURCE_CHANGED") from None
        return await self.get(user_id, persona_id)

    async def play(self, user_id: str, name: str, description: str | None = None) -> StoredPersona:
        """Play the persona of that name, changed if a description comes; a new one if there is none."""
        wanted = make_persona(name).name
        found = next((p for p in await self.list(user_id) if p.persona.name == wanted), None)
        if found is None:
            found = await self.create(user_id, name, description or "")
        elif description is not None:
            found = await self.change(
                user_id, found.id, expected_revision=found.revision, description=description
            )
        await self.use(user_id, found.id)
        return await self.get(user_id, found.id)

    async def use(self, user_id: str, persona_id: str | None) -> None:
        """Play this one from now on; with None nobody but oneself. Raises NotFound USER_NOT_FOUND."""
        writes = [Write("persona_rest", {"user_id": user_id})]
        if persona_id is not None:
            await self.get(user_id, persona_id)
            writes.append(Write("persona_use", {"id": persona_id, "user_id": user_id}, expect=1))
        try:
            await self._store.commit(*writes)
        except Conflict:
            raise NotFound("This is none of your personas (any more).", code="USER_NOT_FOUND") from None

    async def delete(self, user_id: str, persona_id: str) -> StoredPersona:
        """Gone, with its world books' relations and from every selection. Raises NotFound USER_NOT_FOUND."""
        found = await self.get(user_id, persona_id)
        await self._store.commit(
            Write("persona_delete", {"id": persona_id, "user_id": user_id}),
            Write("relation_drop", {"kind": "persona", "id": persona_id}),
            Write("selection_clear_persona", {"id": persona_id, "at": self._clock()}),
        )
        return found

    async def _insert(self, user_id: str, drafts: Sequence[PersonaDraft]) -> Sequence[str]:
        """All of them as one unit; their ids."""
        if not drafts:
            return ()
        ids = [new_id("user") for _ in drafts]
        writes = []
        for persona_id, draft in zip(ids, drafts, strict=True):
            params = self._params(draft.persona, draft.avatar) | {
                "id": persona_id,
                "user_id": user_id,
                "max_count": MAX_PERSONAS,
            }
            writes += [*_blobs(draft.avatar), Write("persona_insert", params, expect=1)]
        try:
            await self._store.commit(*writes)
        except Conflict:
            raise ResourceError(
                f"A person may have {MAX_PERSONAS} personas. Delete one first.",
                code="PERSONA_LIMIT_REACHED",
                limit=MAX_PERSONAS,
            ) from None
        return ids

    async def _check_name(self, user_id: str, name: str, except_id: str | None) -> None:
        taken = [p for p in await self.list(user_id) if p.persona.name == name and p.id != except_id]
        if taken:
            raise ResourceError(
                f"You have a persona called “{name}” already.", code="USER_ID_EXISTS", name=name
            )

    def _params(self, persona: Persona, avatar: Avatar | None) -> dict[str, object]:
        return {
            "name": persona.name,
            "description": persona.description,
            "avatar": None if avatar is None else digest(avatar.body),
            "avatar_type": None if avatar is None else avatar.media_type,
            "at": self._clock(),
        }


def _free_name(name: str, taken: Container[str]) -> str:
    """The name, or with a number behind it the first that is free; never longer than a name may be."""
    free, number = name, 1
    while free in taken:
        number += 1
        ending = f" ({number})"
        free = name[: MAX_NAME - len(ending)].rstrip() + ending
    return free


def _blobs(avatar: Avatar | None) -> list[Write]:
    return [] if avatar is None else [blob_write(avatar.body)]


def _persona(row: Row | None) -> StoredPersona | None:
    if row is None:
        return None
    return StoredPersona(
        id=row["id"],
        user_id=row["user_id"],
        persona=Persona(row["name"], row["description"]),
        revision=row["revision"],
        active=bool(row["active"]),
        avatar=row["avatar"],
        avatar_type=row["avatar_type"],
    )
