"""The library: stored cards, presets and world books of an owner, and people's personas.

Every import keeps the original bytes; limits refuse, nothing is ever evicted. Source:
spec tavern 1, decisions 22, 23 and 32.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from engine.codec import JsonObject, digest, dumps, loads
from engine.errors import Conflict, NotFound, ResourceError
from engine.ids import new_id
from engine.library.consents import Consents
from engine.library.drafts import DRAFTS, Draft, blank_document, draft_of_document, kind_of, name_of, parsed
from engine.library.exports import ExportFile, export_file
from engine.library.personas import Personas
from engine.library.relations import Relations
from engine.library.rows import Kind, ResourceRow, row_of
from engine.library.selections import Selections
from engine.library.shelf import Shelf, Sort
from engine.library.stock import NOUNS, LibraryLimits, Stock
from engine.library.templates import Templates
from engine.library.variables import GlobalVariables
from engine.resources import (
    Card,
    Diagnostics,
    Preset,
    RegexScript,
    RegexScripts,
    WorldBook,
    parse_scripts,
    scripts_within,
)
from engine.storage import Store, Write, blob_write

__all__ = ["Library"]

_PARSED = 64  # contents kept parsed, and their scripts; a busy server plays about twenty stories at once
_ORDERED = 4096  # ids of an own order: spec tavern 1.3


class Library:
    """Stored content on a `Store`. One process writes a database, so what it holds in memory is true.

    `selections` is what each session uses, `personas` who people play, `relations` which books come
    along with what, `consents` which scripts may run, `templates` selections under a name,
    `variables` what macros remember beyond one story.
    """

    def __init__(
        self, store: Store, limits: LibraryLimits | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._limits = limits or LibraryLimits()
        self._clock = clock
        self._stock = Stock(store, self._limits, self._now)
        self._shelves: dict[str, Shelf] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._parsed: dict[tuple[str, bytes], Any] = {}
        self.selections = Selections(store, clock)
        self.personas = Personas(store, self._now)
        self.relations = Relations(store)
        self.consents = Consents(store, self._now)
        self.templates = Templates(store, self._now)
        self.variables = GlobalVariables(store)

    # Imports

    async def import_card(self, owner: str, data: bytes, filename: str, by: str) -> ResourceRow:
        """Store a card file; `row.warnings` says what was mended, `row.known` that it was there before.

        The same bytes again are the same resource, also after it was deleted. Raises ResourceError:
        the reader's codes, LIBRARY_LIMIT_REACHED, LIBRARY_STORAGE_LIMIT_REACHED; nothing is stored then.
        """
        return await self._import("card", owner, data, filename, by)

    async def import_preset(self, owner: str, data: bytes, filename: str, by: str) -> ResourceRow:
        """Store a preset file without its connection fields and secrets; see `import_card`."""
        return await self._import("preset", owner, data, filename, by)

    async def import_book(self, owner: str, data: bytes, filename: str, by: str) -> ResourceRow:
        """Store a stand-alone world book; see `import_card`."""
        return await self._import("world_book", owner, data, filename, by)

    async def import_regex(self, owner: str, data: bytes, filename: str, by: str) -> ResourceRow:
        """Store regex scripts, one or a list, or those of a preset or card; see `import_card`."""
        return await self._import("regex", owner, data, filename, by)

    async def import_file(self, owner: str, data: bytes, filename: str, by: str) -> ResourceRow:
        """Store a file of whatever kind; see `import_card`. Raises ResourceError FILE_UNKNOWN for none."""
        return await self._import(kind_of(data, filename), owner, data, filename, by)

    async def create(self, owner: str, kind: Kind, name: str, by: str) -> ResourceRow:
        """An empty preset, world book or regex list.

        Raises ResourceError KIND_NOT_CREATED for a card, NAME_INVALID, and the limits' codes.
        """
        label = _label(name)
        document = blank_document(kind, label)
        draft = replace(
            draft_of_document(kind, document, label),
            name=label,
            filename=f"{label}.json",
            # Two empty ones of one name are two: what tells them apart stands where a file would.
            original=dumps({"created": new_id("n")}),
        )
        return await self._keep(owner, by, draft)

    # Reading

    async def get(self, resource_id: str, *, owner: str | None = None) -> ResourceRow:
        """The row. Raises NotFound when it is not there, was deleted, or is another owner's."""
        row = await self._stock.get(resource_id)
        if owner not in (None, row.owner):
            raise NotFound("It is not in the library (any more).", id=resource_id)
        return row

    async def row(self, resource_id: str) -> ResourceRow:
        """The row, deleted or not. Raises NotFound when it was never there."""
        return await self._stock.row(resource_id)

    async def list(self, owner: str, kind: Kind | None = None, sort: Sort = "name") -> Sequence[ResourceRow]:
        """The owner's live rows in an order; see `Shelf.list`."""
        return (await self._shelf(owner)).list(kind, sort)

    async def set_order(self, owner: str, kind: Kind, ids: Sequence[str]) -> None:
        """The owner's own order of a kind: every live id exactly once.

        Raises ResourceError ORDER_INVALID; the old order stays then.
        """
        shelf = await self._shelf(owner)
        live = {row.id for row in shelf.list(kind)}
        if len(ids) > _ORDERED or len(ids) != len(live) or set(ids) != live:
            raise ResourceError("The order must name everything that is there once.", code="ORDER_INVALID")
        await self._store.commit(
            *(Write("resource_place", {"id": id, "place": place}) for place, id in enumerate(ids))
        )
        shelf.place(ids)

    async def search(self, owner: str, kind: Kind, text: str = "", limit: int = 25) -> Sequence[ResourceRow]:
        """Rows by name and tag, best first, then most recently used. 25 is what Discord shows."""
        return (await self._shelf(owner)).search(kind, text, limit)

    def suggest(self, owner: str, kind: Kind, text: str = "", limit: int = 25) -> Sequence[ResourceRow]:
        """As `search`, without waiting: empty until the owner's library was read once."""
        shelf = self._shelves.get(owner)
        return [] if shelf is None else shelf.search(kind, text, limit)

    async def resolve(self, owner: str, kind: Kind, text: str) -> ResourceRow:
        """The row that a person means by an id or a name. Raises NotFound when none or several fit (data:
        `fitting`, the names of these)."""
        rows = (await self._shelf(owner)).meant(kind, text)
        if len(rows) != 1:
            raise NotFound(
                f"There is no one of the {NOUNS[kind]} called “{text[:80]}” here. Choose it from the list.",
                name=text[:80],
                fitting=tuple(row.name for row in rows),
            )
        return rows[0]

    # Content can be read by its id also after it was deleted: a story goes on with what it plays.

    async def card(self, resource_id: str) -> Card:
        """The card, deleted or not. Raises NotFound."""
        found: Card = await self._load(resource_id, "card")
        return found

    async def preset(self, resource_id: str) -> Preset:
        """The preset, deleted or not. Raises NotFound."""
        found: Preset = await self._load(resource_id, "preset")
        return found

    async def book(self, resource_id: str) -> WorldBook:
        """The world book, deleted or not. Raises NotFound."""
        found: WorldBook = await self._load(resource_id, "world_book")
        return found

    async def scripts(self, resource_id: str) -> tuple[RegexScript, ...]:
        """The scripts of a regex list, or those within a preset or card; deleted or not. Raises NotFound."""
        row = await self._stock.row(resource_id)
        if row.kind == "regex":
            listed: RegexScripts = await self._load(resource_id, "regex")
            return listed.scripts
        content: Card | Preset = await self._load(resource_id, row.kind)
        held: tuple[RegexScript, ...] = self._held(
            (f"{resource_id} scripts", row.document),
            lambda: parse_scripts(scripts_within(content.raw) or [], Diagnostics()),
        )
        return held

    async def owner_of(self, resource_id: str) -> str:
        """Whose library holds it, deleted or not. Raises NotFound."""
        return (await self._stock.row(resource_id)).owner

    async def document(self, resource_id: str) -> JsonObject:
        """What is edited: the resource's JSON object. Raises NotFound, also for a deleted one."""
        row = await self.get(resource_id)
        document: JsonObject = loads(await self._store.get_blob(row.document))
        return document

    async def avatar(self, resource_id: str) -> bytes | None:
        """The square picture (see `avatar_type` of the row), or None when it has none; of deleted ones
        too. Raises NotFound."""
        row = await self._stock.row(resource_id)
        return None if row.avatar is None else await self._store.get_blob(row.avatar)

    async def original(self, resource_id: str) -> bytes:
        """The file as it was imported. Raises NotFound."""
        return await self._store.get_blob((await self.get(resource_id)).original)

    async def export(self, resource_id: str, form: str | None = None) -> ExportFile:
        """A file that can be imported again, here or in SillyTavern; see `export_file`. Raises NotFound."""
        row = await self.get(resource_id)
        document = await self.document(resource_id)
        original = await self._store.get_blob(row.original)
        return await asyncio.to_thread(export_file, row, document, original, form)

    # Changes

    async def edit(
        self,
        resource_id: str,
        change: Callable[[JsonObject], JsonObject],
        *,
        expected_revision: int,
    ) -> ResourceRow:
        """Replace the document by what `change` makes of it; the guard of the import looks at it again.

        A name that the library shows because the content has it changes along. Raises NotFound,
        Conflict RESOURCE_CHANGED when somebody has changed it since `expected_revision`, what
        `change` raises, and the reader's codes.
        """
        row = await self.get(resource_id)
        before = await self._store.get_blob(row.document)
        if row.revision != expected_revision:
            raise Conflict("It has been changed meanwhile.", code="RESOURCE_CHANGED")
        own_name = name_of(await self._load(row.id, row.kind)) != row.name
        draft = await asyncio.to_thread(_edited, row, before, change)
        params = {
            "id": row.id,
            "expected": expected_revision,
            "name": row.name if own_name else draft.name,
            "document": digest(draft.document),
            "tags": dumps(list(draft.tags)).decode(),
            "nsfw": int(draft.nsfw),
            "summary": dumps(draft.summary).decode(),
            "size": row.size + len(draft.document) - len(before),
            "max_bytes": self._limits.bytes,
            "at": self._now(),
        }
        try:
            await self._store.commit(blob_write(draft.document), Write("resource_edit", params, expect=1))
        except Conflict:
            raise await self._not_edited(row, draft, expected_revision) from None
        changed = await self.get(resource_id)
        (await self._shelf(changed.owner)).put(changed)
        return changed

    async def rename(self, resource_id: str, name: str) -> ResourceRow:
        """Another name in lists; the character keeps its own. Raises NotFound, ResourceError NAME_INVALID."""
        write = Write("resource_rename", self._stamped(resource_id, name=_label(name)))
        return await self._change(resource_id, write)

    async def touch(self, resource_id: str) -> ResourceRow:
        """Remember that it was used just now, for the order of suggestions. Raises NotFound."""
        write = Write("resource_touch", self._stamped(resource_id), expect=1)
        return await self._change(resource_id, write)

    async def lost(self, row: ResourceRow) -> Sequence[ResourceRow]:
        """Deleted ones with the name of a card that came in: it may be one of them, and nobody but a
        person can say which."""
        return await self._stock.lost(row.owner, row.kind, row.name)

    async def relink(self, resource_id: str, lost_id: str) -> ResourceRow:
        """Let a card that came in just now take the place of a deleted one: stories that play it go on
        with the new file. Raises NotFound, ResourceError RELINK_TOO_LATE."""
        came = await self.get(resource_id)
        lost = next((each for each in await self.lost(came) if each.id == lost_id), None)
        if lost is None:
            raise ResourceError("One of the two has been changed meanwhile.", code="RELINK_TOO_LATE")
        row = await self._stock.relink(came, lost)
        shelf = await self._shelf(row.owner)
        shelf.drop(came.id)
        shelf.put(replace(row, relinked=False))
        return row

    async def delete(self, resource_id: str, *, release: bool = True) -> ResourceRow:
        """Take it out of the library. Raises NotFound. Returns what it was.

        With `release` it is taken out of every session's selection as well (seed 003). Without it,
        sessions that use it go on using it: nothing dangles, since content outlives its deletion.
        """
        row = await self.get(resource_id)
        writes = [Write("resource_delete", self._stamped(resource_id), expect=1)]
        if release:
            writes += [self.selections.clear_write(row.kind, resource_id), *_forget(row)]
        await self._change(resource_id, *writes)
        return row

    # Inside

    async def _keep(self, owner: str, by: str, draft: Draft) -> ResourceRow:
        kept = await self._stock.keep(owner, by, draft)
        (await self._shelf(owner)).put(replace(kept, known=False, relinked=False))
        return kept

    async def _import(self, kind: Kind, owner: str, data: bytes, filename: str, by: str) -> ResourceRow:
        return await self._keep(owner, by, await asyncio.to_thread(DRAFTS[kind], data, filename))

    async def _not_edited(self, row: ResourceRow, draft: Draft, expected: int) -> Exception:
        now = await self.get(row.id)
        if now.revision != expected:
            return Conflict("It has been changed meanwhile.", code="RESOURCE_CHANGED")
        return await self._stock.full(row.owner, draft)

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

    async def _load(self, resource_id: str, kind: Kind) -> Any:
        row = await self._stock.row(resource_id)
        if row.kind != kind:
            raise NotFound(f"It is not one of the {NOUNS[kind]}.", id=resource_id)
        key = (resource_id, row.document)
        content = self._parsed.get(key)
        if content is None:
            document = loads(await self._store.get_blob(row.document))
            content = await asyncio.to_thread(parsed, kind, document, row.filename)
        return self._held(key, lambda: content)

    def _held(self, key: tuple[str, bytes], make: Callable[[], Any]) -> Any:
        """What was made of a document, made once: a changed one has another hash."""
        found = self._parsed.pop(key) if key in self._parsed else make()
        while len(self._parsed) >= _PARSED:
            del self._parsed[next(iter(self._parsed))]
        self._parsed[key] = found  # most recently used last
        return found

    async def _shelf(self, owner: str) -> Shelf:
        async with self._opening.setdefault(owner, asyncio.Lock()):
            if owner not in self._shelves:
                rows = await self._store.fetch("resource_list", owner=owner)
                shelf = Shelf(row_of(row) for row in rows)
                placed = await self._store.fetch("resource_places", owner=owner)
                shelf.place([row["resource_id"] for row in placed])
                self._shelves[owner] = shelf
        return self._shelves[owner]

    def _stamped(self, resource_id: str, **more: object) -> dict[str, object]:
        return {"id": resource_id, "at": self._now(), **more}

    def _now(self) -> int:
        return int(self._clock() * 1000)


def _edited(row: ResourceRow, before: bytes, change: Callable[[JsonObject], JsonObject]) -> Draft:
    """What the changed document is stored as."""
    draft = draft_of_document(row.kind, change(loads(before)), row.filename)
    kept = {key: row.summary[key] for key in ("single",) if key in row.summary}
    return replace(draft, summary={**draft.summary, **kept})


def _label(name: str) -> str:
    label = " ".join(name.split())
    if not 0 < len(label) <= 200:
        raise ResourceError("A name needs 1 to 200 characters.", code="NAME_INVALID")
    return label


def _forget(row: ResourceRow) -> Sequence[Write]:
    """What the library remembers about a resource beside the resource itself."""
    writes = [Write("consent_drop", {"resource_id": row.id})]
    if row.kind == "world_book":
        writes.append(Write("relation_forget_book", {"book_id": row.id}))
    if row.kind in ("card", "preset"):
        writes.append(Write("relation_drop", {"kind": row.kind, "id": row.id}))
    return writes
