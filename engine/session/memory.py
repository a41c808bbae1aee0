"""An event store in memory: the real rules, without a disk. For tests and for play without a database."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.errors import Conflict, NotFound, StaleSession
from engine.session.store import StoredEvent, StoredHead, StoredSession

__all__ = ["MemoryEventStore"]


@dataclass(slots=True)
class _Stored:
    header: bytes
    inherited: int
    parent: tuple[str, int] | None
    rows: list[StoredEvent]
    epoch: int = 1


@dataclass(slots=True)
class MemoryEventStore:
    """An `EventStore` whose contents live as long as the object.

    `faults` are raised by the next writes, one each, before anything is changed. `delay` is slept by
    every write, in seconds, so that tests can look at what is under way.
    """

    faults: deque[Exception] = field(default_factory=deque)
    delay: float = 0.0
    _sessions: dict[str, _Stored] = field(default_factory=dict)
    _superseded: set[str] = field(default_factory=set)

    async def create(
        self,
        session_id: str,
        header: bytes,
        *,
        inherited: int,
        parent: tuple[str, int] | None,
        rows: Sequence[StoredEvent],
    ) -> int:
        await self._write()
        if session_id in self._sessions:
            raise Conflict(f"session {session_id} exists already")
        if parent is not None and (self._count(parent[0]) < inherited or parent[1] != inherited - 1):
            raise Conflict(f"session {parent[0]} has no event {parent[1]}")
        _check_continuous(session_id, inherited if parent is not None else 0, rows)
        self._sessions[session_id] = _Stored(header, inherited, parent, list(rows))
        return self._sessions[session_id].epoch

    async def take(self, session_id: str) -> int:
        await self._write()
        stored = self._get(session_id)
        stored.epoch += 1
        return stored.epoch

    async def append(self, session_id: str, epoch: int, rows: Sequence[StoredEvent]) -> None:
        await self._write()
        stored = self._get(session_id)
        if epoch != stored.epoch:
            raise StaleSession(session=session_id, expected=epoch, actual=stored.epoch)
        _check_continuous(session_id, self._count(session_id), rows)
        stored.rows.extend(rows)

    async def supersede(
        self,
        session_id: str,
        epoch: int,
        header: bytes,
        *,
        inherited: int,
        rows: Sequence[StoredEvent],
    ) -> int:
        await self._write()
        old = self._get(session_id)
        if epoch != old.epoch:
            raise StaleSession(session=session_id, expected=epoch, actual=old.epoch)
        _check_continuous(session_id, 0, rows)
        archived = f"{session_id}#{len(self._sessions)}"
        self._sessions[archived] = old
        self._superseded.add(archived)
        for child in self._sessions.values():
            if child.parent is not None and child.parent[0] == session_id:
                child.parent = (archived, child.parent[1])
        del self._sessions[session_id]
        self._sessions[session_id] = _Stored(header, inherited, None, list(rows), old.epoch + 1)
        return old.epoch + 1

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> StoredSession:
        stored = self._get(session_id)
        stop = self._count(session_id) if stop is None else stop
        rows = self._rows(session_id)[start:stop]
        return StoredSession(stored.header, stored.inherited, stored.parent, rows)

    async def head(self, session_id: str) -> int:
        return self._count(session_id)

    async def list(self, *, before: str | None = None, limit: int | None = None) -> Sequence[StoredHead]:
        if before is not None:
            self._get(before)
        ids = [name for name in reversed(self._sessions) if name not in self._superseded]
        start = 0 if before is None else ids.index(before) + 1
        return [
            StoredHead(name, stored.header, stored.inherited, stored.parent, self._count(name))
            for name in ids[start:][:limit]
            for stored in (self._sessions[name],)
        ]

    async def _write(self) -> None:
        await asyncio.sleep(self.delay)
        if self.faults:
            raise self.faults.popleft()

    def _get(self, session_id: str) -> _Stored:
        stored = self._sessions.get(session_id)
        if stored is None:
            raise NotFound(f"there is no session {session_id}")
        return stored

    def _count(self, session_id: str) -> int:
        stored = self._get(session_id)
        return len(stored.rows) + (stored.inherited if stored.parent is not None else 0)

    def _rows(self, session_id: str) -> Sequence[StoredEvent]:
        stored = self._get(session_id)
        if stored.parent is None:
            return stored.rows
        return [*self._rows(stored.parent[0])[: stored.inherited], *stored.rows]


def _check_continuous(session_id: str, start: int, rows: Sequence[StoredEvent]) -> None:
    for seq, row in enumerate(rows, start):
        if row.seq != seq:
            raise Conflict(f"session {session_id} expects seq {seq}, got {row.seq}")
