"""Reading sessions without taking part in them: the log, its pages, its surface, its history.

Live sessions are read as they are in memory, others from the store; neither is repaired, opened or changed.
Source: session spec 7.4; seed 002, 3.2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from engine.cancel import CancelToken
from engine.codec import canonical
from engine.errors import (
    FormatUnsupported,
    InputError,
    NotFound,
    SessionCorrupt,
    SessionError,
    StorageError,
)
from engine.session.coldlogs import ColdLogs
from engine.session.event import Event, Header
from engine.session.following import Following, FrameSource
from engine.session.frozen import is_seq
from engine.session.lineage import SessionTrace, trace_lineage
from engine.session.messages import Message
from engine.session.paging import MAX_MESSAGES, Page, TurnWindow, page
from engine.session.projections import Projections
from engine.session.registry import Sessions
from engine.session.standing import STANDINGS, Standing, Standings, replayed
from engine.session.store import EventStore, StoredHead
from engine.session.stored import read_header
from engine.session.vocabulary import SURFACE_TYPES

__all__ = [
    "EventTrace",
    "EventWindow",
    "Inspection",
    "Query",
    "SessionEntry",
    "SessionTrace",
    "SurfaceReading",
    "Tagged",
]

WIDEST_WINDOW: Final = 50
"""Events on each side of one: what fits a screen twice."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """A session at one moment: `through_seq` is its last seq, -1 for an empty one. Later reads that name it
    see the same events, whatever is appended meanwhile."""

    header: Header
    inherited: int
    events: Sequence[Event]
    live: bool

    @property
    def through_seq(self) -> int:
        return len(self.events) - 1


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One line of the list. `header` is None when it cannot be read, and `problem` then says why."""

    id: str
    header: Header | None
    length: int
    live: bool
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Tagged:
    """An event and what became of it."""

    event: Event
    standing: Standing


@dataclass(frozen=True, slots=True)
class SurfaceReading:
    """What the model would be sent now: the nodes and their messages, without those that say nothing."""

    captured_through_seq: int
    nodes: Sequence[int]
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class EventWindow:
    """One event between its neighbours."""

    before: Sequence[Tagged]
    event: Tagged
    after: Sequence[Tagged]


@dataclass(frozen=True, slots=True)
class EventTrace:
    """Where an event came from and what came of it.

    `replaced_by` took its place on the surface, and `chain` goes on from there to the current node. `sources`
    are the events that it cites, `derived` those that cite it.
    """

    event: Tagged
    replaced_by: int | None
    chain: Sequence[int]
    sources: Sequence[int]
    derived: Sequence[int]


class Query:
    """Reads over the live sessions of a registry and the stored ones of a store.

    `frames` hands out what a model streams right now; without it `follow` shows events only. Every method
    raises EngineError whose code is SESSION_QUERY_ and one of SESSION_NOT_FOUND, EVENT_NOT_FOUND,
    INVALID_SURFACE, INVALID_LINEAGE, INVALID_WINDOW, INVALID_FILTER, SOURCE_CONFLICT, CORRUPT_SESSION,
    PERSISTENCE_FAILED, ABORTED; `page` says BAD_REQUEST for its own arguments.
    """

    def __init__(self, sessions: Sessions, store: EventStore, *, frames: FrameSource | None = None) -> None:
        self._sessions = sessions
        self._store = store
        self._frames = frames
        self._cold = ColdLogs(store)

    @property
    def _projections(self) -> Projections:
        return self._sessions.projections

    # -- whole sessions ---------------------------------------------------------------------------

    async def inspect(self, session_id: str) -> Inspection:
        """The session as it is now: header, cut and all events, with the closers that a stored one lacks."""
        live = self._sessions.get(session_id)
        if live is not None:
            return Inspection(live.header, live.inherited_event_count, live.events(), live=True)
        with _translated(session_id):
            log = await self._cold.get(session_id)
        return Inspection(log.header, log.inherited, log.events, live=False)

    async def list(
        self, *, before: str | None = None, limit: int | None = None, token: CancelToken | None = None
    ) -> Sequence[SessionEntry]:
        """The sessions, newest first; what is live is described from memory.

        `before` goes on after an entry of an earlier list. A live session that was never stored stands first.
        """
        if limit is not None and (not is_seq(limit) or limit == 0):
            raise _invalid("INVALID_FILTER", "limit must be a positive integer")
        with _translated(before or ""):
            heads = await self._store.list(before=before, limit=limit)
        _check_token(token)
        entries = [self._entry(head) for head in heads]
        if before is None:
            entries = [*await self._unstored({head.id for head in heads}), *entries]
            _check_token(token)
        return entries[:limit]

    async def page(
        self,
        session_id: str,
        *,
        through_seq: int,
        before_seq: int | None = None,
        max_messages: int = MAX_MESSAGES,
        turn_window: TurnWindow | None = None,
    ) -> Page:
        """A page of the log up to a pinned seq (see `paging.page`)."""
        found = await self.inspect(session_id)
        return page(
            found.events,
            through_seq=through_seq,
            before_seq=before_seq,
            max_messages=max_messages,
            turn_window=turn_window,
        )

    async def follow(self, session_id: str, *, frames: bool = False) -> Following:
        """The session as it is now, then every event as it comes, without a gap.

        Use it as `async with await query.follow(id) as following: async for item in following`. With `frames`
        the pieces that a model streams come in between.
        """
        while True:
            found = await self.inspect(session_id)
            live = self._sessions.get(session_id)
            if live is None or found.live:
                break  # else it was opened while it was read: what was read may be behind
        return Following(self._sessions, session_id, found.events, frames=self._frames if frames else None)

    # -- the events of one ------------------------------------------------------------------------

    async def read(self, session_id: str) -> Sequence[Tagged]:
        """Every event with what became of it."""
        found = await self.inspect(session_id)
        standings = self._standings(session_id, found)
        return [Tagged(event, standings.of(event)) for event in found.events]

    async def list_events(
        self,
        session_id: str,
        *,
        types: Collection[str] | None = None,
        standings: Collection[str] | None = None,
        after_seq: int = -1,
        limit: int | None = None,
    ) -> Sequence[Tagged]:
        """The events after a seq that are of these types and of these standings, oldest first."""
        if standings is not None and not STANDINGS.issuperset(standings):
            raise _invalid("INVALID_FILTER", f"an event is one of {sorted(STANDINGS)}")
        if (limit is not None and (not is_seq(limit) or limit == 0)) or after_seq < -1:
            raise _invalid("INVALID_FILTER", "limit and after_seq must be positions")
        tagged = [
            one
            for one in (await self.read(session_id))[after_seq + 1 :]
            if (types is None or one.event.type in types) and (standings is None or one.standing in standings)
        ]
        return tagged[:limit]

    async def read_surface(self, session_id: str) -> SurfaceReading:
        """The model's history as the log makes it now."""
        found = await self.inspect(session_id)
        with _translated(session_id):
            surface = replayed(found.events, self._projections)
            messages = [message for message in surface.node_messages() if message is not None]
        return SurfaceReading(found.through_seq, surface.nodes, messages)

    async def read_event(self, session_id: str, seq: int, *, before: int = 0, after: int = 0) -> EventWindow:
        """One event with up to `before` and `after` neighbours on its sides."""
        if any(not is_seq(side) or side > WIDEST_WINDOW for side in (before, after)):
            raise _invalid("INVALID_WINDOW", f"a window has 0 to {WIDEST_WINDOW} events on each side")
        found = await self.inspect(session_id)
        _check_event(session_id, found, seq)
        standings = self._standings(session_id, found)
        start, stop = max(0, seq - before), seq + after + 1
        tagged = [Tagged(event, standings.of(event)) for event in found.events[start:stop]]
        return EventWindow(tagged[: seq - start], tagged[seq - start], tagged[seq - start + 1 :])

    # -- provenance -------------------------------------------------------------------------------

    async def trace_event(self, session_id: str, seq: int) -> EventTrace:
        """What replaced an event, what it cites and what cites it."""
        found = await self.inspect(session_id)
        _check_event(session_id, found, seq)
        standings = self._standings(session_id, found)
        event = found.events[seq]
        return EventTrace(
            Tagged(event, standings.of(event)),
            standings.replaced_by(seq),
            standings.chain(seq),
            _cited(event),
            [later.seq for later in found.events[seq + 1 :] if seq in _cited(later)],
        )

    async def trace_session(self, session_id: str) -> SessionTrace:
        """The sessions that this one was forked from, and those that were forked from it."""
        headers: dict[str, Header] = {}
        for entry in await self.list():
            if entry.header is not None:
                headers[entry.id] = entry.header
        if session_id not in headers:
            await self.inspect(session_id)  # says what is wrong with it
        return trace_lineage(session_id, headers)

    # -- inside -----------------------------------------------------------------------------------

    async def _unstored(self, listed: Collection[str]) -> Sequence[SessionEntry]:
        """The live sessions that nobody stored, newest first."""
        entries: list[SessionEntry] = []
        for session in reversed(self._sessions.list()):
            if session.id in listed:
                continue
            try:
                await self._store.head(session.id)
            except NotFound:
                entries.append(SessionEntry(session.id, session.header, session.seq, live=True))
        return entries

    def _entry(self, head: StoredHead) -> SessionEntry:
        live = self._sessions.get(head.id)
        if live is not None:
            if canonical(live.header.to_wire()) != head.header:
                raise SessionError(
                    f"session {head.id} is live with another header than the stored one",
                    code="SESSION_QUERY_SOURCE_CONFLICT",
                    session=head.id,
                )
            return SessionEntry(head.id, live.header, live.seq, live=True)
        try:
            return SessionEntry(head.id, read_header(head.id, head.header), head.head, live=False)
        except (SessionCorrupt, FormatUnsupported) as error:
            return SessionEntry(head.id, None, head.head, live=False, problem=error.error_code)

    def _standings(self, session_id: str, found: Inspection) -> Standings:
        with _translated(session_id):
            nodes = replayed(found.events, self._projections).nodes
        return Standings(found.events, nodes)


def _check_event(session_id: str, found: Inspection, seq: int) -> None:
    if not is_seq(seq) or seq > found.through_seq:
        raise NotFound(
            f"session {session_id} has no event {seq}",
            code="SESSION_QUERY_EVENT_NOT_FOUND",
            session=session_id,
            seq=seq,
        )


def _check_token(token: CancelToken | None) -> None:
    if token is not None and token.cancelled:
        raise SessionError("the reading was stopped", code="SESSION_QUERY_ABORTED")


def _cited(event: Event) -> Sequence[int]:
    """The seqs that an event names as its sources. What nobody interprets cites nothing."""
    sources = event.source_event_seqs
    return sources if isinstance(sources, tuple) and event.type in SURFACE_TYPES else ()


def _invalid(code: str, message: str) -> InputError:
    return InputError(message, code=f"SESSION_QUERY_{code}")


@contextmanager
def _translated(session_id: str) -> Iterator[None]:
    """Failures below, in the words of a query."""
    try:
        yield
    except NotFound as error:
        raise NotFound(error.message, code="SESSION_QUERY_SESSION_NOT_FOUND", session=session_id) from error
    except (SessionCorrupt, FormatUnsupported) as error:
        raise type(error)(error.message, code="SESSION_QUERY_CORRUPT_SESSION", **error.data) from error
    except StorageError as error:
        raise StorageError(
            error.message, code="SESSION_QUERY_PERSISTENCE_FAILED", session=session_id
        ) from error
    except SessionError as error:
        raise SessionError(error.message, code="SESSION_QUERY_INVALID_SURFACE", session=session_id) from error
