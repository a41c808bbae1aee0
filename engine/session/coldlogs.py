"""Stored logs that are read without being opened, decoded once and kept for a while.

Source: session spec 7.4.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from engine.session.store import EventStore
from engine.session.stored import StoredLog, read_log, repaired

__all__ = ["ColdLogs"]

KEPT: Final = 5
"""As many stories as a few people look through at the same time; each may be some megabytes."""


@dataclass(slots=True)
class _Kept:
    head: int
    log: StoredLog
    leases: int = 0


class ColdLogs:
    """Logs of stored sessions, with the closers that their next opening will write.

    A kept log is handed out again as long as nothing was appended to it. One that is leased stays, whatever
    else is read meanwhile.
    """

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def get(self, session_id: str) -> StoredLog:
        """Raises NotFound, FormatUnsupported, SessionCorrupt, StorageError."""
        return (await self._entry(session_id)).log

    @asynccontextmanager
    async def lease(self, session_id: str) -> AsyncIterator[StoredLog]:
        """The log, kept until the block ends. Raises what `get` raises."""
        entry = await self._entry(session_id)
        entry.leases += 1
        try:
            yield entry.log
        finally:
            entry.leases -= 1
            self._trim()

    async def _entry(self, session_id: str) -> _Kept:
        head = await self._store.head(session_id)
        kept = self._kept.get(session_id)
        if kept is None or kept.head != head:
            stored = await self._store.read(session_id)
            log = read_log(session_id, stored)
            closed = replace(log, events=[*log.events, *repaired(log)])
            # What was read, not what was counted before: somebody may have appended in between.
            kept = self._kept[session_id] = _Kept(len(stored.rows), closed)
        self._kept.move_to_end(session_id)
        self._trim()
        return kept

    def _trim(self) -> None:
        free = [name for name, kept in self._kept.items() if not kept.leases]
        for name in free[: max(0, len(self._kept) - KEPT)]:
            del self._kept[name]
