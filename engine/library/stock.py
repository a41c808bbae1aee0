"""Putting what was read into the library: within its limits, each file once, nothing ever evicted.

Source: spec tavern 1.0, 1.3; decisions 23 and 32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.codec import digest, dumps
from engine.errors import Conflict, NotFound, ResourceError
from engine.ids import new_id
from engine.library.drafts import Draft
from engine.library.rows import Kind, ResourceRow, row_of
from engine.storage import Store, Write, blob_write

__all__ = ["NOUNS", "LibraryLimits", "Stock"]

NOUNS: dict[Kind, str] = {
    "card": "cards",
    "preset": "presets",
    "world_book": "world books",
    "regex": "regex lists",
}


@dataclass(frozen=True, slots=True)
class LibraryLimits:
    """What one owner (a server) may keep. Reaching a limit refuses the next import, loudly."""

    cards: int = 1000
    presets: int = 200
    world_books: int = 500
    regexes: int = 200
    bytes: int = 512 * 1024 * 1024

    def count(self, kind: Kind) -> int:
        """How many resources of a kind."""
        counts: dict[Kind, int] = {
            "card": self.cards,
            "preset": self.presets,
            "world_book": self.world_books,
            "regex": self.regexes,
        }
        return counts[kind]


class Stock:
    """The rows of all resources. `now` gives epoch ms."""

    def __init__(self, store: Store, limits: LibraryLimits, now: Callable[[], int]) -> None:
        self._store = store
        self._limits = limits
        self._now = now

    async def keep(self, owner: str, by: str, draft: Draft) -> ResourceRow:
        """Store a draft; the same bytes again are the same resource, also after it was deleted.

        Another file of a card that was deleted takes its place when the name leaves no doubt: exactly one
        deleted card and no living one has it. Otherwise nothing is guessed (see `lost` and `relink`).
        Raises ResourceError LIBRARY_LIMIT_REACHED, LIBRARY_STORAGE_LIMIT_REACHED.
        """
        known = await self._known(owner, draft)
        if known is None and (lost := await self._only_lost(owner, draft)) is not None:
            params = self._params(draft, owner) | {"original": digest(draft.original), "created_by": by}
            return await self._relinked(
                lost, draft, *_blobs(draft), Write("resource_relink", params | {"id": lost.id}, expect=1)
            )
        if known is None:
            known = await self._insert(owner, by, draft)
        if known.deleted_at is not None:
            known = await self._revive(known, draft)
        return known

    async def lost(self, owner: str, kind: Kind, name: str) -> Sequence[ResourceRow]:
        """What was deleted under that name, the latest first."""
        rows = await self._store.fetch("resource_lost", owner=owner, kind=kind, name=name)
        return [row_of(row) for row in rows]

    async def relink(self, came: ResourceRow, lost: ResourceRow) -> ResourceRow:
        """Let what `came` just now take the place of what was `lost`; it has that one's id from now on.

        Raises ResourceError RELINK_TOO_LATE when it is used already, or the lost one is back.
        """
        params = {
            "id": lost.id,
            "owner": came.owner,
            "kind": came.kind,
            "original": came.original,
            "filename": came.filename,
            "document": came.document,
            "avatar": came.avatar,
            "avatar_type": came.avatar_type,
            "size": came.size,
            "tags": dumps(list(came.tags)).decode(),
            "nsfw": int(came.nsfw),
            "summary": dumps(dict(came.summary)).decode(),
            "created_by": came.created_by,
            "max_count": self._limits.count(came.kind),
            "max_bytes": self._limits.bytes,
            "at": self._now(),
        }
        withdraw = Write("resource_withdraw", {"id": came.id}, expect=1)
        try:
            await self._store.commit(withdraw, Write("resource_relink", params, expect=1))
        except Conflict:
            raise ResourceError(
                "One of the two has been used or changed meanwhile.", code="RELINK_TOO_LATE"
            ) from None
        return replace(await self.get(lost.id), relinked=True)

    async def row(self, resource_id: str) -> ResourceRow:
        """The row, deleted or not. Raises NotFound."""
        row = await self._store.fetch_one("resource_get", id=resource_id)
        if row is None:
            raise NotFound("It was never in the library.", id=resource_id)
        return row_of(row)

    async def full(self, owner: str, draft: Draft) -> ResourceError:
        """Which limit a draft has met."""
        use = await self._store.fetch_one("resource_use", owner=owner, kind=draft.kind)
        limit = self._limits.count(draft.kind)
        if use is not None and use["count"] >= limit:
            return ResourceError(
                f"The library is full: it may hold {limit:,} {NOUNS[draft.kind]}. Delete one first.",
                code="LIBRARY_LIMIT_REACHED",
                limit=limit,
            )
        return ResourceError(
            f"The library is full: its files may have {self._limits.bytes // 1048576} MiB together. "
            "Delete something first.",
            code="LIBRARY_STORAGE_LIMIT_REACHED",
            limit=self._limits.bytes,
        )

    async def get(self, resource_id: str) -> ResourceRow:
        """The row of what is there. Raises NotFound, also when it was deleted."""
        row = await self._store.fetch_one("resource_get", id=resource_id)
        if row is None or row["deleted_at"] is not None:
            raise NotFound("It is not in the library (any more).", id=resource_id)
        return row_of(row)

    async def _known(self, owner: str, draft: Draft) -> ResourceRow | None:
        row = await self._store.fetch_one(
            "resource_by_original", owner=owner, kind=draft.kind, original=digest(draft.original)
        )
        return None if row is None else replace(row_of(row), known=True)

    async def _only_lost(self, owner: str, draft: Draft) -> ResourceRow | None:
        if draft.kind != "card":
            return None
        named = {"owner": owner, "kind": draft.kind, "name": draft.name}
        living = await self._store.fetch_one("resource_named", **named)
        lost = await self.lost(owner, draft.kind, draft.name)
        return lost[0] if len(lost) == 1 and living is not None and living["count"] == 0 else None

    async def _relinked(self, lost: ResourceRow, draft: Draft, *writes: Write) -> ResourceRow:
        try:
            await self._store.commit(*writes)
        except Conflict:
            raise await self.full(lost.owner, draft) from None
        return replace(await self.get(lost.id), relinked=True)

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
            raise await self.full(owner, draft) from None
        return await self.get(resource_id)

    async def _revive(self, row: ResourceRow, draft: Draft) -> ResourceRow:
        params = self._params(draft, row.owner) | {"id": row.id}
        try:
            await self._store.commit(*_blobs(draft), Write("resource_revive", params, expect=1))
        except Conflict:
            if await self._live(row.id):
                return await self.get(row.id)
            raise await self.full(row.owner, draft) from None
        return replace(await self.get(row.id), known=True)

    async def _live(self, resource_id: str) -> bool:
        row = await self._store.fetch_one("resource_get", id=resource_id)
        return row is not None and row["deleted_at"] is None

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


def _blobs(draft: Draft) -> Sequence[Write]:
    bodies = [draft.original, draft.document, *([draft.avatar.body] if draft.avatar else [])]
    return [blob_write(body) for body in bodies]
