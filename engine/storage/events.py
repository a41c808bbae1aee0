"""The durable event log: sessions as rows, forks by reference, a fenced append, a hash chain.

Forks cost one row: a child names its parent and how many of the parent's events are its own too.
Rows that exist never change, so what a child refers to stays as it was. Every event carries its
hash and the chain's root, root_n = SHA-256(root_(n-1) || hash_n); a fork goes on from its parent's
root, so the last root pins the whole history, and a read proves it. Storage spec B4, B7.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from engine.codec import digest
from engine.errors import Conflict, NotFound, SessionCorrupt, StaleSession
from engine.session.store import EventStore, StoredEvent, StoredHead, StoredSession
from engine.storage.store import Store
from engine.storage.writes import Row, Write

__all__ = ["EventTable"]

GENESIS = bytes(32)
"""The root before the first event of a session that inherits nothing."""

_LAST_KEY = 2**63 - 1  # SQLite's own largest row key

LINEAGES_KEPT = 512
"""Resolved lineages in memory: some hundred bytes each, up to 20 KB for a fork 200 deep."""


@dataclass(frozen=True, slots=True)
class _Range:
    """The events from `start` to before `stop` stand in the rows of session `key`; without a stop
    the range is the session's own, growing end."""

    key: int
    start: int
    stop: int | None


class EventTable:
    """The engine's `EventStore` over a `Store`. Several may stand over one store: what they cache
    never changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lineages: OrderedDict[int, Sequence[_Range]] = OrderedDict()

    async def create(
        self,
        session_id: str,
        header: bytes,
        *,
        inherited: int,
        parent: tuple[str, int] | None,
        rows: Sequence[StoredEvent],
    ) -> int:
        """A new session with its first events, in one durable unit; its epoch, which is 1.

        `parent` = (id, through_seq) makes the first `inherited` = through_seq + 1 events the parent's,
        by reference, at the cost of one row; `rows` go on after them. Without a parent `rows` begin
        at 0 and `inherited` is kept as it is. Raises Conflict when the id is taken, the parent has no
        such event or the rows have a gap, NotFound when there is no such parent.
        """
        if parent is not None and inherited != parent[1] + 1:
            raise Conflict(
                f"The session {session_id} cannot inherit {inherited} events up to {parent[1]}.",
                session=session_id,
            )
        elder: int | None = None if parent is None else (await self._session(parent[0]))["key"]
        cut = 0 if parent is None else inherited
        root = GENESIS if elder is None or parent is None else await self._root(parent[0], elder, cut)
        row = _row(session_id, header, parent=elder, cut=cut, inherited=inherited, base_root=root)
        try:
            await self._store.commit(row, *_append(session_id, 1, rows))
        except Conflict as conflict:
            if await self._store.fetch_one("session_get", id=session_id) is None:
                raise _gap(session_id, cut, rows) from conflict
            raise Conflict(f"The session {session_id} exists already.", session=session_id) from conflict
        return 1

    async def supersede(
        self,
        session_id: str,
        epoch: int,
        header: bytes,
        *,
        inherited: int,
        rows: Sequence[StoredEvent],
    ) -> int:
        """A new generation of the session with these events; the one before is kept under another id.

        One durable unit. Forks refer to rows, not to the id, and so keep their past. Returns the writer's
        new epoch. Raises StaleSession when `epoch` is over, Conflict when the rows have a gap, NotFound.
        """
        row = _row(session_id, header, epoch=epoch + 1, inherited=inherited)
        archive = Write("session_archive", {"id": session_id, "epoch": epoch}, expect=1)
        try:
            await self._store.commit(archive, row, *_append(session_id, epoch + 1, rows))
        except Conflict as conflict:
            await self._current(session_id, epoch)
            raise _gap(session_id, 0, rows) from conflict
        return epoch + 1

    async def take(self, session_id: str) -> int:
        """A new epoch for a new writer; appends with an earlier one fail from now on. Raises NotFound."""
        while True:
            epoch: int = (await self._session(session_id))["epoch"]
            try:
                await self._store.commit(Write("session_take", {"id": session_id, "epoch": epoch}, expect=1))
            except Conflict:
                continue  # another taker came between; ours comes after it
            return epoch + 1

    async def append(self, session_id: str, epoch: int, rows: Sequence[StoredEvent]) -> None:
        """Durable when it returns; all rows or none. An empty batch changes nothing.

        Raises StaleSession when `epoch` is over, Conflict when the rows do not go on exactly where
        the log ends, NotFound, and what the disk raises (StorageError).
        """
        try:
            await self._store.commit(*_append(session_id, epoch, rows))
        except Conflict as conflict:
            session = await self._current(session_id, epoch)
            raise _gap(session_id, session["head"], rows) from conflict
        if not rows:
            await self._current(session_id, epoch)

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> StoredSession:
        """The session's header and its events from `start` to before `stop`, inherited ones in place.

        Everything handed out is proven: each body against its hash, the chain from event to event
        (from the event before `start`, whose root is taken as it stands), no seq missing. Raises
        SessionCorrupt otherwise, naming the first seq that cannot be true; NotFound.
        """
        session = await self._session(session_id)
        header: bytes = session["header"]
        if digest(header) != session["header_hash"]:
            raise SessionCorrupt(f"The header of the session {session_id} is damaged.", session=session_id)
        stop = session["head"] if stop is None else min(stop, session["head"])
        events: Sequence[StoredEvent] = ()
        if start < stop:
            anchor = max(start - 1, 0)
            proven = _proven(session_id, await self._rows(session["key"], anchor, stop), anchor, stop)
            events = proven[start - anchor :]
        return StoredSession(
            header=header,
            inherited=session["inherited"],
            parent=_parent(session),
            rows=events,
            proven=start == 0,
        )

    async def head(self, session_id: str) -> int:
        """The number of events, inherited ones included. Raises NotFound."""
        head: int = (await self._session(session_id))["head"]
        return head

    async def list(self, *, before: str | None = None, limit: int | None = None) -> Sequence[StoredHead]:
        """The sessions, the one stored last first; `before` goes on after one of them. Raises NotFound."""
        key = _LAST_KEY if before is None else (await self._session(before))["key"]
        rows = await self._store.fetch("session_list", before=key, limit=-1 if limit is None else limit)
        return [
            StoredHead(row["id"], row["header"], row["inherited"], _parent(row), row["head"]) for row in rows
        ]

    async def _session(self, session_id: str) -> Row:
        row = await self._store.fetch_one("session_get", id=session_id)
        if row is None:
            raise NotFound(f"There is no session {session_id}.", session=session_id)
        return row

    async def _current(self, session_id: str, epoch: int) -> Row:
        session = await self._session(session_id)
        if session["epoch"] != epoch:
            raise StaleSession(
                f"Another writer has taken the session {session_id}.",
                session=session_id,
                expected=epoch,
                actual=session["epoch"],
            )
        return session

    async def _root(self, session_id: str, key: int, length: int) -> bytes:
        """The chain's root over the session's first `length` events."""
        if length == 0:
            return GENESIS
        rows = await self._rows(key, length - 1, length)
        if not rows:
            raise Conflict(f"The session {session_id} has no event {length - 1}.", session=session_id)
        root: bytes = rows[0]["root"]
        return root

    async def _lineage(self, key: int) -> Sequence[_Range]:
        """Which session's rows hold which events, oldest first, the session itself last."""
        known = self._lineages.get(key)
        if known is not None:
            self._lineages.move_to_end(key)
            return known
        ranges: list[_Range] = []
        stop: int | None = None
        for row in await self._store.fetch("session_lineage", key=key):
            # an ancestor whose own events all lie behind the cut adds nothing
            if stop is None or row["cut"] < stop:
                ranges.append(_Range(row["key"], row["cut"], stop))
                stop = row["cut"]
        ranges.reverse()
        self._lineages[key] = ranges
        if len(self._lineages) > LINEAGES_KEPT:
            self._lineages.popitem(last=False)
        return ranges

    async def _rows(self, key: int, start: int, stop: int) -> Sequence[Row]:
        """The events from `start` to before `stop`, in order: one query for each ancestor that has some."""
        parts = [
            (part.key, max(part.start, start), stop if part.stop is None else min(part.stop, stop))
            for part in await self._lineage(key)
        ]
        found = await asyncio.gather(
            *(
                self._store.fetch("event_range", session=holder, start=first, stop=end)
                for holder, first, end in parts
                if first < end
            )
        )
        return [row for rows in found for row in rows]


def _row(
    session_id: str,
    header: bytes,
    *,
    inherited: int,
    epoch: int = 1,
    parent: int | None = None,
    cut: int = 0,
    base_root: bytes = GENESIS,
) -> Write:
    values = {"id": session_id, "header": header, "header_hash": digest(header), "inherited": inherited}
    values |= {"epoch": epoch, "parent": parent, "cut": cut, "base_root": base_root}
    return Write("session_create", values, expect=1)


def _parent(row: Row) -> tuple[str, int] | None:
    return None if row["parent"] is None else (row["parent"], row["cut"] - 1)


def _append(session_id: str, epoch: int, rows: Sequence[StoredEvent]) -> Sequence[Write]:
    if not rows:
        return ()
    values = [
        {
            "id": session_id,
            "epoch": epoch,
            "seq": row.seq,
            "type": row.type,
            "at": row.time,
            "body": row.body,
            "hash": digest(row.body),
        }
        for row in rows
    ]
    return (Write("event_append", values, expect=len(values)),)


def _proven(session_id: str, rows: Sequence[Row], anchor: int, stop: int) -> list[StoredEvent]:
    events: list[StoredEvent] = []
    before: bytes | None = GENESIS if anchor == 0 else None
    expected = anchor
    for seq, type_, at, hash_, root, body in rows:  # unpacked: a fifth faster than by name
        if seq != expected:
            break
        # Twenty thousand hashes for a long story: a function call each would cost as much again.
        if sha256(body).digest() != hash_:
            raise _corrupt(session_id, seq, "its content does not match its hash")
        if before is not None and sha256(before + hash_).digest() != root:
            raise _corrupt(session_id, seq, "it does not continue the history before it")
        before = root
        expected += 1
        events.append(StoredEvent(seq, type_, at, body))
    if expected != stop:
        raise _corrupt(session_id, expected, "it is missing")
    return events


def _corrupt(session_id: str, seq: int, why: str) -> SessionCorrupt:
    return SessionCorrupt(
        f"Event {seq} of the session {session_id} cannot be true: {why}.", session=session_id, seq=seq
    )


def _gap(session_id: str, head: int, rows: Sequence[StoredEvent]) -> Conflict:
    first = rows[0].seq if rows else None
    return Conflict(
        f"The {len(rows)} events from {first} on do not continue the log of {session_id}, which ends "
        f"before {head}, one by one.",
        session=session_id,
        expected=head,
        actual=first,
    )


if TYPE_CHECKING:
    _satisfied: type[EventStore] = EventTable  # the table is what the journal asks for
