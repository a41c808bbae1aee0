"""The journal: sessions that survive the process.

`Session.append` commits in memory; the journal copies every event into a buffer and writes it behind.
`flush` is the barrier: when it returns, everything appended before it is on disk.
Source: session spec 5.1 (cold open), 7.1 to 7.3; agent-loop spec 1.6; seed 002, 1.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final

import structlog

from engine.codec import canonical
from engine.errors import (
    AppendRefused,
    Conflict,
    HandleClosed,
    NotFound,
    SessionError,
    SessionForkError,
    StaleSession,
)
from engine.session.event import Event, Header
from engine.session.log import Clock, Session, now_ms
from engine.session.registry import Sessions
from engine.session.store import EventStore, StoredEvent, StoredSession
from engine.session.stored import StoredLog, corrupt, read_log, read_stretch, repaired, uncollected
from engine.session.writer import Writer

__all__ = ["EventStore", "Journal", "Lost", "StoredEvent", "StoredLog", "StoredSession"]

log = structlog.get_logger(__name__)

DRAIN_AFTER_S: Final = 0.2
"""How long an event may wait in memory when nobody flushes: long enough to gather a burst, short enough
that a crash between two barriers loses next to nothing."""

Lost = Callable[[Session, StaleSession], Any]


class Journal:
    """Live sessions over an event store: one writer for each, by epoch.

    Every method that names a session may be called at the same time as any other. The store decides who
    may write: when somebody else took a session, ours is *lost*; it stays readable, its flushes fail with
    StaleSession, and `on_lost` is told once.
    """

    def __init__(
        self,
        sessions: Sessions,
        store: EventStore,
        *,
        clock: Clock = now_ms,
        drain_after_s: float = DRAIN_AFTER_S,
        on_lost: Lost | None = None,
    ) -> None:
        self.sessions = sessions
        self._store = store
        self._clock = clock
        self._drain_after_s = drain_after_s
        self._on_lost = on_lost
        self._writers: dict[str, Writer] = {}
        self._opening: dict[str, asyncio.Task[Session]] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._closed = False
        self._stop_flushing = sessions.on_flush(self._flush_session)

    # -- opening --------------------------------------------------------------------------------

    async def create(self, session_id: str, **header: Any) -> Session:
        """A new, empty, live session whose header is durable. `header` are fields of `Header`.

        Raises SessionError(category='already-exists') when the id is taken, live or stored.
        """
        self._check_open()
        self.sessions.check_free(session_id)
        if session_id in self._opening:
            raise _taken(session_id)
        session = self.sessions.detached(Header(session_id, **{"created_at": self._clock(), **header}))
        return await self._enter(session_id, self._store_new(session, inherited=0, parent=None))

    async def open(self, session_id: str) -> Session:
        """The live session, or the stored one made live: repaired, restored, marked, then published.

        Calls for one id at the same time share one opening. Raises NotFound, FormatUnsupported,
        SessionCorrupt (nothing is written then), StorageError.
        """
        self._check_open()
        if session_id in self._closing:
            await asyncio.wait({self._closing[session_id]})
            self._check_open()
        live = self.sessions.get(session_id)
        if live is not None:
            return live
        if session_id in self._opening:
            return await asyncio.shield(self._opening[session_id])
        return await self._enter(session_id, self._open_cold(session_id))

    async def fork(self, source_id: str, boundary: int | None, child_id: str) -> Session:
        """A live, durable fork of a live or a stored session: its past is the source's, by reference.

        `boundary` is the seq of the last inherited event, by default the last one that the source has. A
        stored source is neither repaired nor opened; one of an older format is copied, not referred to.
        Raises SessionForkError as `Sessions.fork` does.
        """
        self._check_open()
        if self.sessions.get(child_id) is not None or child_id in self._opening:
            raise _exists(child_id)
        live = self.sessions.get(source_id)
        by_reference = True
        if live is not None:
            child = self.sessions.branch(live.header, live.events(), boundary, child_id, checked=True)
            await self._flush_before_fork(source_id, child.inherited_event_count)
        else:
            source = await self._stored(source_id)
            child = self.sessions.branch(
                source.header, source.events, boundary, child_id, checked=source.proven
            )
            by_reference = not source.migrated  # the rows of an older format are not these events
        if child_id in self._opening:
            raise _exists(child_id)
        inherited = child.inherited_event_count
        parent = (source_id, inherited - 1) if by_reference else None
        return await self._enter(child_id, self._store_new(child, inherited=inherited, parent=parent))

    # -- reading --------------------------------------------------------------------------------

    async def read(self, session_id: str) -> StoredLog:
        """A session's events without making it live.

        A stored session that was cut off in a turn shows the closers that its next opening will write,
        though they are not stored. Raises NotFound, FormatUnsupported, SessionCorrupt; HandleClosed.
        """
        self._check_open()
        live = self.sessions.get(session_id)
        if live is not None:
            return StoredLog(live.header, live.inherited_event_count, live.events())
        stored = read_log(session_id, await self._store.read(session_id))
        return replace(stored, events=[*stored.events, *repaired(stored)])

    async def look(self, session_id: str) -> Session:
        """The live session, or a stored one as it stands, which is not opened for this: who looks does not
        write. Raises NotFound, SessionCorrupt."""
        live = self.sessions.get(session_id)
        if live is not None:
            return live
        log = await self.read(session_id)
        return self.sessions.detached(
            log.header, log.events, inherited_event_count=log.inherited, restored=True
        )

    async def stretch(self, session_id: str, start: int, stop: int) -> Sequence[Event]:
        """What `read` has from seq `start` to before `stop`, without reading the rest if that can be.

        Raises as `read`, though only for what it looks at.
        """
        self._check_open()
        live = self.sessions.get(session_id)
        if live is not None:
            return live.events(start, stop)
        events = read_stretch(session_id, await self._store.read(session_id, start, stop))
        if events is None or len(events) < stop - start:  # the end may be a closer that is not stored
            events = (await self.read(session_id)).events[start:stop]
        return events

    # -- durability -----------------------------------------------------------------------------

    async def flush(self, session_id: str) -> None:
        """Return once everything appended to the session before this call is durable.

        Raises what the store raised, also when the failed write happened in the background since the
        last flush; what was not written is kept in order and goes with the next write. Raises NotFound
        when the session is not live here, HandleClosed when the journal is closed.
        """
        await self._writer(session_id).flush()

    async def secure(self, session_id: str) -> None:
        """As `flush`, but a failure in the background is no answer: what failed then is tried again now.

        For those who ask whether it is safe to go on. A disk that was full an hour ago, while nobody
        waited for it, must not fail them today.
        """
        await self._writer(session_id).secure()

    async def close(self, session_id: str) -> None:
        """Write the rest and let the session go. Nothing happens when it is not live.

        Raises what the store raised; the session then stays live. A lost session is let go as it is.
        """
        if session_id not in self._writers:
            return
        closing = self._closing.get(session_id)
        if closing is None:
            closing = asyncio.ensure_future(self._close(self._writers[session_id]))
            self._closing[session_id] = closing
            closing.add_done_callback(lambda _: self._closing.pop(session_id, None))
        await asyncio.shield(closing)

    async def aclose(self) -> None:
        """Close every session and take no more. Raises an ExceptionGroup of what could not be written."""
        self._closed = True
        if self._opening:
            await asyncio.wait(set(self._opening.values()))
        if self._closing:
            # One that has begun already may fail of a trouble that is over by now; it is tried again below.
            await asyncio.wait(set(self._closing.values()))
        failures: list[Exception] = []
        for session_id in list(self._writers):
            try:
                await self.close(session_id)
            except Exception as error:
                failures.append(error)
                self._release(self._writers[session_id])
        self._stop_flushing()
        if failures:
            raise ExceptionGroup("sessions could not be written to the end", failures)

    # -- inside ---------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise HandleClosed("the journal is closed")

    async def _enter(self, session_id: str, work: Coroutine[Any, Any, Session]) -> Session:
        """Make a session live, once: whoever asks for the id meanwhile waits for the same result.

        Shielded from the caller's cancellation: others may wait, and half of it would be durable.
        """
        entering = asyncio.ensure_future(work)
        self._opening[session_id] = entering
        entering.add_done_callback(lambda _: self._opening.pop(session_id, None))
        return await asyncio.shield(entering)

    async def _store_new(
        self, session: Session, *, inherited: int, parent: tuple[str, int] | None
    ) -> Session:
        """Store what a detached session consists of, then publish it."""
        header = canonical(session.header.to_wire())
        rows = [StoredEvent.of(event) for event in session.events(inherited if parent is not None else 0)]
        try:
            epoch = await self._store.create(
                session.id, header, inherited=inherited, parent=parent, rows=rows
            )
        except Conflict as error:
            raise (_exists(session.id) if session.header.is_seeded else _taken(session.id)) from error
        self._publish(session, epoch)
        return session

    async def _open_cold(self, session_id: str) -> Session:
        epoch = await self._store.take(session_id)
        stored = read_log(session_id, await self._store.read(session_id))
        closing = repaired(stored)
        # Restored before anything is written: a log that cannot be true is left as it is.
        try:
            with uncollected():
                session = self.sessions.detached(
                    stored.header,
                    [*stored.events, *closing],
                    inherited_event_count=stored.inherited,
                    restored=True,
                    proven=len(stored.events) if stored.proven else 0,
                )
        except (AppendRefused, SessionError) as error:
            raise corrupt(session_id, error) from error
        # One unit: a crash never leaves closers without the marker that ends what they closed.
        if stored.migrated:
            epoch = await self._store.supersede(
                session_id,
                epoch,
                canonical(session.header.to_wire()),
                inherited=session.inherited_event_count,
                rows=[StoredEvent.of(event) for event in session.events()],
            )
            log.info("session.migrated", session=session_id, stored_format=stored.stored_format)
        elif session.seq > len(stored.events):
            fresh = [StoredEvent.of(event) for event in session.events(len(stored.events))]
            await self._store.append(session_id, epoch, fresh)
        self._publish(session, epoch)
        if closing:
            log.info("session.repaired", session=session_id, closers=len(closing))
        return session

    def _publish(self, session: Session, epoch: int) -> None:
        """Route the session's events into its buffer, then make it live."""
        writer = Writer(
            session, epoch, self._store, drain_after_s=self._drain_after_s, on_lost=self._report_lost
        )
        self._writers[session.id] = writer
        try:
            self.sessions.attach(session)
        except BaseException:
            writer.stop()
            del self._writers[session.id]
            raise

    async def _stored(self, session_id: str) -> StoredLog:
        try:
            return read_log(session_id, await self._store.read(session_id))
        except NotFound as error:
            raise SessionForkError(
                f"there is no session {session_id}", code="SESSION_NOT_FOUND", category="not-found"
            ) from error

    async def _flush_before_fork(self, source_id: str, inherited: int) -> None:
        writer = self._writers.get(source_id)
        if writer is None:
            raise SessionForkError(
                f"session {source_id} is not kept by this journal",
                code="SESSION_NOT_LIVE",
                category="fork-not-live",
            )
        if writer.durable < inherited:
            await writer.flush()

    def _writer(self, session_id: str) -> Writer:
        writer = self._writers.get(session_id)
        if writer is None:
            self._check_open()
            raise NotFound(f"session {session_id} is not live", category="not-live")
        return writer

    async def _flush_session(self, session: Session) -> None:
        await self._writer(session.id).flush()

    async def _close(self, writer: Writer) -> None:
        await writer.finish()
        self._release(writer)

    def _release(self, writer: Writer) -> None:
        writer.stop()
        self._writers.pop(writer.session.id, None)
        self.sessions.detach(writer.session)

    def _report_lost(self, session: Session, error: StaleSession) -> None:
        log.error("session.lost", session=session.id)
        if self._on_lost is None:
            return
        try:
            self._on_lost(session, error)
        except Exception:
            log.exception("session.lost_listener_failed", session=session.id)


def _exists(session_id: str) -> SessionForkError:
    return SessionForkError(
        f"session {session_id} exists already", code="SESSION_ALREADY_EXISTS", category="already-exists"
    )


def _taken(session_id: str) -> SessionError:
    return SessionError(
        f"session {session_id} exists already", code="SESSION_ALREADY_EXISTS", category="already-exists"
    )
