"""The library: stored cards, presets and world books of an owner, and people's personas.

Every import keeps the original bytes; limits refuse, nothing is ever evicted. Source:
spec tavern 1, decisions 22, 23 and 32.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from engine.codec import digest, dumps, loads
from engine.errors import Conflict, NotFound, ResourceError
from engine.ids import new_id
from engine.library.drafts import Draft, draft_of_book, draft_of_card, draft_of_preset
from engine.library.rows import Kind, ResourceRow, row_of
from engine.library.selections import Selections
from engine.library.shelf import Shelf
from engine.resources import (
    Card,
    Diagnostics,
    Persona,
    Preset,
    WorldBook,
    make_persona,
    parse_card,
    parse_preset,
    parse_world_book,
)
from engine.storage import Store, Write, blob_write

__all__ = ["Library", "LibraryLimits", "StoredPersona"]

T = TypeVar("T")

_PARSED = 64  # contents kept parsed; a busy server plays about twenty stories at once
_NOUNS: dict[Kind, str] = {"card": "cards", "preset": "presets", "world_book": "world books"}


@dataclass(frozen=True, slots=True)
class LibraryLimits:
    """What one owner (a server) may keep. Reaching a limit refuses the next import, loudly."""

    cards: int = 1000
    presets: int = 200
    world_books: int = 500
    bytes: int = 512 * 1024 * 1024

    def count(self, kind: Kind) -> int:
        """How many resources of a kind."""
        return {"card": self.cards, "preset": self.presets, "world_book": self.world_books}[kind]


@dataclass(frozen=True, slots=True)
class StoredPersona:
    """A person's persona and its id."""

    id: str
    user_id: str
    persona: Persona
    revision: int


class Library:
    """Stored content on a `Store`. One process writes a database, so what it holds in memory is true.

    `selections` is what each session uses.
    """

    def __init__(
        self, store: Store, limits: LibraryLimits | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._limits = limits or LibraryLimits()
        self._clock = clock
        self._shelves: dict[str, Shelf] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._parsed: dict[tuple[str, bytes], Any] = {}
        self.selections = Selections(store, clock)

    # Imports

    async def import_card(self, owner: str, data: bytes, filename: str, by: str) -> ResourceRow:
        """Store a card file; `row.warnings` says what was mended, `row.known` that it was there before.

        The same bytes again are the same resource, also after it was deleted. Raises ResourceError:
        the reader's codes, LIBRARY_LIMIT_REACHED, LIBRARY_STORAGE_LIMIT_REACHED; nothing is stored then.
        """
        return await self._keep(owner, by, await asyncio.to_thread(draft_of_card, data, filename))

    async def import_preset(self, owner: str, data: bytes, filename: str, by: str) -> ResourceRow:
        """Store a preset file without its connection fields and secrets; see `import_card`."""
        return await self._keep(owner, by, await asyncio.to_thread(draft_of_preset, data, filename))

    async def import_book(self, owner: str, data: bytes, filename: str, by: str) -> ResourceRow:
        """Store a stand-alone world book; see `import_card`."""
        return await self._keep(owner, by, await asyncio.to_thread(draft_of_book, data, filename))

    # Reading

    async def get(self, resource_id: str, *, owner: str | None = None) -> ResourceRow:
        """The row. Raises NotFound when it is not there, was deleted, or is another owner's."""
        row = await self._store.fetch_one("resource_get", id=resource_id)
        if row is None or row["deleted_at"] is not None or owner not in (None, row["owner"]):
            raise NotFound("It is not in the library (any more).", id=resource_id)
        return row_of(row)

    async def list(self, owner: str, kind: Kind | None = None) -> Sequence[ResourceRow]:
        """The owner's live rows by name."""
        return (await self._shelf(owner)).list(kind)

    async def search(self, owner: str, kind: Kind, text: str = "", limit: int = 25) -> Sequence[ResourceRow]:
        """Rows by name and tag, best first, then most recently used. 25 is what Discord shows."""
        return (await self._shelf(owner)).search(kind, text, limit)

    def suggest(self, owner: str, kind: Kind, text: str = "", limit: int = 25) -> Sequence[ResourceRow]:
        """As `search`, without waiting: empty until the owner's library was read once."""
        shelf = self._shelves.get(owner)
        return [] if shelf is None else shelf.search(kind, text, limit)

    async def resolve(self, owner: str, kind: Kind, text: str) -> ResourceRow:
        """The row that a person means by an id or a name. Raises NotFound when none or several fit."""
        row = (await self._shelf(owner)).resolve(kind, text)
        if row is None:
            raise NotFound(
                f"There is no one of the {_NOUNS[kind]} called “{text[:80]}” here. Choose it from the list.",
                name=text[:80],
            )
        return row

    # Content can be read by its id also after it was deleted: a story goes on with what it plays.

    async def card(self, resource_id: str) -> Card:
        """The card, deleted or not. Raises NotFound."""
        return await self._load(resource_id, "card", parse_card)

    async def preset(self, resource_id: str) -> Preset:
        """The preset, deleted or not. Raises NotFound."""
        return await self._load(resource_id, "preset", parse_preset)

    async def book(self, resource_id: str) -> WorldBook:
        """The world book, deleted or not. Raises NotFound."""
        return await self._load(resource_id, "world_book", parse_world_book)

    async def avatar(self, resource_id: str) -> bytes | None:
        """The square picture (see `avatar_type` of the row), or None when it has none; of deleted ones
        too. Raises NotFound."""
        row = await self._row(resource_id)
        return None if row.avatar is None else await self._store.get_blob(row.avatar)

    async def original(self, resource_id: str) -> bytes:
        """The file as it was imported. Raises NotFound."""
        return await self._store.get_blob((await self.get(resource_id)).original)

    # Changes

    async def rename(self, resource_id: str, name: str) -> ResourceRow:
        """Another name in lists; the character keeps its own. Raises NotFound, ResourceError NAME_INVALID."""
        label = " ".join(name.split())
        if not 0 < len(label) <= 200:
            raise ResourceError("A name needs 1 to 200 characters.", code="NAME_INVALID")
        return await self._change(
            resource_id, Write("resource_rename", self._stamped(resource_id, name=label))
        )

    async def touch(self, resource_id: str) -> ResourceRow:
        """Remember that it was used just now, for the order of suggestions. Raises NotFound."""
        write = Write("resource_touch", self._stamped(resource_id), expect=1)
        return await self._change(resource_id, write)

    async def delete(self, resource_id: str, *, release: bool = True) -> ResourceRow:
        """Take it out of the library. Raises NotFound. Returns what it was.

        With `release` it is taken out of every session's selection as well (seed 003). Without it,
        sessions that use it go on using it: nothing dangles, since content outlives its deletion.
        """
        row = await self.get(resource_id)
        writes = [Write("resource_delete", self._stamped(resource_id), expect=1)]
        if release:
            writes.append(self.selections.clear_write(row.kind, resource_id))
        await self._change(resource_id, *writes)
        return row

    # Personas

    async def persona_set(self, user_id: str, name: str, description: str = "") -> StoredPersona:
        """Set who a person plays. Raises ResourceError PERSONA_INVALID."""
        persona = make_persona(name, description)
        params = {
            "id": new_id("u"),
            "user_id": user_id,
            "name": persona.name,
            "description": persona.description,
            "at": self._now(),
        }
        await self._store.commit(Write("persona_put", params, expect=1))
        stored = await self.persona_get(user_id)
        assert stored is not None  # committed above, and nothing deletes personas
        return stored

    async def persona_get(self, user_id: str) -> StoredPersona | None:
        """Who a person plays, or None when they never said."""
        return _persona(await self._store.fetch_one("persona_active", user_id=user_id))

    async def persona(self, persona_id: str) -> StoredPersona | None:
        """A persona by its id, as a selection names it."""
        return _persona(await self._store.fetch_one("persona_get", id=persona_id))

    # Inside

    async def _keep(self, owner: str, by: str, draft: Draft) -> ResourceRow:
        known = await self._known(owner, draft)
        if known is None:
            known = await self._insert(owner, by, draft)
        if known.deleted_at is not None:
            known = await self._revive(known, draft)
        (await self._shelf(owner)).put(replace(known, known=False))
        return known

    async def _known(self, owner: str, draft: Draft) -> ResourceRow | None:
        row = await self._store.fetch_one(
            "resource_by_original", owner=owner, kind=draft.kind, original=digest(draft.original)
        )
        return None if row is None else replace(row_of(row), known=True)

    async def _insert(self, owner: str, by: str, draft: Draft) -> ResourceRow:
        resource_id = new_id(draft.kind[0])
        params = self._params(draft, owner) | {
            "id": resource_id,
            "original": digest(draft.original),
            "created_by": by,
        }
        try:
            await self._store.commit(*_blobs(draft), Write("resource_insert", params, expect=1))
        except Conflict:
            known = await self._known(owner, draft)  # another import of the same file was faster
            if known is not None:
                return known
            raise await self._full(owner, draft) from None
        return await self.get(resource_id)

    async def _revive(self, row: ResourceRow, draft: Draft) -> ResourceRow:
        params = self._params(draft, row.owner) | {"id": row.id}
        try:
            await self._store.commit(*_blobs(draft), Write("resource_revive", params, expect=1))
        except Conflict:
            if await self._live(row.id):
                return await self.get(row.id)
            raise await self._full(row.owner, draft) from None
        return replace(await self.get(row.id), known=True)

    async def _row(self, resource_id: str) -> ResourceRow:
        """The row, deleted or not."""
        row = await self._store.fetch_one("resource_get", id=resource_id)
        if row is None:
            raise NotFound("It was never in the library.", id=resource_id)
        return row_of(row)

    async def _live(self, resource_id: str) -> bool:
        row = await self._store.fetch_one("resource_get", id=resource_id)
        return row is not None and row["deleted_at"] is None

    async def _full(self, owner: str, draft: Draft) -> ResourceError:
        use = await self._store.fetch_one("resource_use", owner=owner, kind=draft.kind)
        limit = self._limits.count(draft.kind)
        if use is not None and use["count"] >= limit:
            return ResourceError(
                f"The library is full: it may hold {limit:,} {_NOUNS[draft.kind]}. Delete one first.",
                code="LIBRARY_LIMIT_REACHED",
                limit=limit,
            )
        return ResourceError(
            f"The library is full: its files may have {self._limits.bytes // 1048576} MiB together. "
            "Delete something first.",
            code="LIBRARY_STORAGE_LIMIT_REACHED",
            limit=self._limits.bytes,
        )

    def _params(self, draft: Draft, owner: str) -> dict[str, object]:
        return {
            "owner": owner,
            "kind": draft.kind,
            "name": draft.name,
            "filename": draft.filename,
            "document": digest(draft.document),
            "avatar": None if draft.avatar is None else digest(draft.avatar.body),
            "avatar_type": None if draft.avatar is None else draft.avatar.media_type,
            "size": draft.size,
            "tags": dumps(list(draft.tags)).decode(),
            "nsfw": int(draft.nsfw),
            "summary": dumps(draft.summary).decode(),
            "max_count": self._limits.count(draft.kind),
            "max_bytes": self._limits.bytes,
            "at": self._now(),
        }

    async def _change(self, resource_id: str, *writes: Write) -> ResourceRow:
        try:
            await self._store.commit(*writes)
        except Conflict:
            raise NotFound("It is not in the library (any more).", id=resource_id) from None
        row = await self._store.fetch_one("resource_get", id=resource_id)
        if row is None:
            raise NotFound("It is not in the library (any more).", id=resource_id)
        found = row_of(row)
        (await self._shelf(found.owner)).put(found)
        return found

    async def _load(self, resource_id: str, kind: Kind, parse: Callable[..., T]) -> T:
        row = await self._row(resource_id)
        if row.kind != kind:
            raise NotFound(f"It is not one of the {_NOUNS[kind]}.", id=resource_id)
        key = (resource_id, row.document)
        if key not in self._parsed:
            document = loads(await self._store.get_blob(row.document))
            parsed = await asyncio.to_thread(parse, document, Diagnostics(), filename=row.filename)
            while len(self._parsed) >= _PARSED:
                del self._parsed[next(iter(self._parsed))]
            self._parsed[key] = parsed
        found: T = self._parsed.pop(key)
        self._parsed[key] = found  # most recently used last
        return found

    async def _shelf(self, owner: str) -> Shelf:
        async with self._opening.setdefault(owner, asyncio.Lock()):
            if owner not in self._shelves:
                rows = await self._store.fetch("resource_list", owner=owner)
                self._shelves[owner] = Shelf(row_of(row) for row in rows)
        return self._shelves[owner]

    def _stamped(self, resource_id: str, **more: object) -> dict[str, object]:
        return {"id": resource_id, "at": self._now(), **more}

    def _now(self) -> int:
        return int(self._clock() * 1000)


def _blobs(draft: Draft) -> Sequence[Write]:
    bodies = [draft.original, draft.document, *([draft.avatar.body] if draft.avatar else [])]
    return [blob_write(body) for body in bodies]


def _persona(row: Any) -> StoredPersona | None:
    if row is None:
        return None
    return StoredPersona(row["id"], row["user_id"], Persona(row["name"], row["description"]), row["revision"])
