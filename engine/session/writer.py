"""Write-behind of one live session: a buffer in order, a timer, and a barrier.

Source: session spec 7.2; agent-loop spec 1.6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from engine.errors import StaleSession
from engine.session.event import Event
from engine.session.log import Session
from engine.session.store import EventStore, StoredEvent

__all__ = ["Writer"]

log = structlog.get_logger(__name__)

MAX_BATCH: Final = 256
"""Rows in one unit: beyond it a longer transaction gains nothing and delays the other sessions."""


class Writer:
    """Copies the events of one session into the store, in order, each once.

    Everything in the session when it starts must be durable already. One write is under way at a time; it
    runs in a task of its own, so that no cancelled caller can leave it half done.
    """

    def __init__(
        self,
        session: Session,
        epoch: int,
        store: EventStore,
        *,
        drain_after_s: float,
        on_lost: Callable[[Session, StaleSession], None],
    ) -> None:
        self.session = session
        self.durable = session.seq
        """How many events of the session are stored."""
        self._epoch = epoch
        self._store = store
        self._drain_after_s = drain_after_s
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._drain: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._lost: StaleSession | None = None
        self._stop_observing = session.observe(self._observe)

    async def flush(self) -> None:
        """Return once what the session holds now is stored; raise the failure that stands against it.

        A failure of a write in the background is raised once; the flush after it tries again.
        """
        target = self.session.seq
        while self.durable < target:
            self._check()
            drain = self._drain or self._start()
            await asyncio.wait({drain})
        self._check()

    async def secure(self) -> None:
        """As `flush`, but what failed in the background is not raised: it is tried again now."""
        self._failure = None
        await self.flush()

    async def finish(self) -> None:
        """Store everything, also what is appended meanwhile. Does nothing for a lost session."""
        while self._lost is None and self.durable < self.session.seq:
            self._failure = None
            await self.flush()

    def stop(self) -> None:
        """Take no more events; what is not stored is dropped."""
        self._stop_observing()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        if self._lost is not None:
            raise StaleSession(self._lost.message, **self._lost.data) from self._lost
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _observe(self, event: Event) -> None:
        # The events themselves stay in the log, which is the buffer: all that is kept is how far we are.
        if self._timer is None and self._drain is None and self._failure is None and self._lost is None:
            self._timer = self._loop.call_later(self._drain_after_s, self._start)

    def _start(self) -> asyncio.Task[None]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._drain is None:
            self._drain = self._loop.create_task(self._write_all())
            self._drain.add_done_callback(self._ended)
        return self._drain

    async def _write_all(self) -> None:
        while self.durable < self.session.seq:
            events = self.session.events(self.durable, self.durable + MAX_BATCH)
            await self._store.append(
                self.session.id, self._epoch, [StoredEvent.of(event) for event in events]
            )
            self.durable += len(events)

    def _ended(self, drain: asyncio.Task[None]) -> None:
        self._drain = None
        error = asyncio.CancelledError() if drain.cancelled() else drain.exception()
        if isinstance(error, StaleSession):
            self._lost = error
            self._on_lost(self.session, error)
        elif isinstance(error, Exception):
            # No timer is set: the failure waits for the next flush, and the events with it.
            self._failure = error
            log.warning("session.write_failed", session=self.session.id, durable=self.durable, exc_info=error)
