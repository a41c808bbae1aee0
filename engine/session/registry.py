"""The live sessions of one process: created, forked, restored, found, let go.

Source: session spec 2 (publication), 5 (create, fork), 7.2 (flush); seed 002, 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from engine.errors import NotFound, SessionError, SessionForkError
from engine.hooks import Disposer
from engine.ids import new_id
from engine.session.event import Event, Header
from engine.session.frozen import freeze
from engine.session.log import Clock, Session, ValidatorFactory, now_ms
from engine.session.projections import Interpreter, Projections
from engine.session.repair import fork_seed

__all__ = ["FlushListener", "Sessions"]

FlushListener: TypeAlias = Callable[[Session], Awaitable[None]]


class Sessions:
    """The registry. Sessions that it makes get its validators, its projections and its clock.

    `mint` makes the ids of sessions that were given none.
    """

    def __init__(
        self,
        *,
        validators: Iterable[ValidatorFactory] = (),
        clock: Clock = now_ms,
        mint: Callable[[], str] = lambda: new_id("s"),
    ) -> None:
        self.projections = Projections()
        self._validators = tuple(validators)
        self._clock = clock
        self._mint = mint
        self._live: dict[str, Session] = {}
        self._created: tuple[Callable[[Session], Any], ...] = ()
        self._flushed: tuple[FlushListener, ...] = ()

    # -- making ---------------------------------------------------------------------------------

    def create(
        self,
        session_id: str | None = None,
        *,
        seed: Sequence[Event | Mapping[str, Any]] | None = None,
        inherited_event_count: int | None = None,
        **header: Any,
    ) -> Session:
        """A new live session. `header` are fields of `Header`; `created_at` is now unless given.

        The events of a seed are copied. Raises SessionError(category='already-exists') when the id is
        live, and what `Header` and `Session` raise.
        """
        session_id = session_id or self._mint()
        self.check_free(session_id)
        events = None if seed is None else [_copied(event) for event in seed]
        session = self.detached(
            Header(session_id, **{"created_at": self._clock(), **header}),
            events,
            inherited_event_count=inherited_event_count,
        )
        return self.attach(session)

    def fork(
        self, source: Session | str, boundary: int | None = None, child_id: str | None = None
    ) -> Session:
        """A live child that starts from the events of `source` up to and with `boundary` (default: all).

        The child copies cwd and names its parent; an open turn at the cut is closed in the child.
        Raises SessionForkError with the code of the first rule that is broken: SESSION_ALREADY_EXISTS,
        SESSION_NOT_FOUND, SESSION_NOT_LIVE, INVALID_BOUNDARY.
        """
        child_id = child_id or self._mint()
        if child_id in self._live:
            raise _fork_error(
                f"session {child_id} exists already", "SESSION_ALREADY_EXISTS", "already-exists"
            )
        source_id = source if isinstance(source, str) else source.id
        live = self._live.get(source_id)
        if live is None:
            raise _fork_error(f"there is no session {source_id}", "SESSION_NOT_FOUND", "not-found")
        if isinstance(source, Session) and source is not live:
            raise _fork_error(
                f"this is not the live session {source_id}", "SESSION_NOT_LIVE", "fork-not-live"
            )
        return self.attach(self.branch(live.header, live.events(), boundary, child_id))

    def restore(self, header: Header, events: Iterable[Event], inherited_event_count: int) -> Session:
        """A live session from its stored log, which is taken over. Raises what `Session` raises."""
        self.check_free(header.id)
        return self.attach(
            self.detached(header, events, inherited_event_count=inherited_event_count, restored=True)
        )

    # -- making without publishing ---------------------------------------------------------------

    def detached(
        self,
        header: Header,
        seed: Iterable[Event] | None = None,
        *,
        inherited_event_count: int | None = None,
        restored: bool = False,
        proven: int = 0,
    ) -> Session:
        """A session that is not live (yet), with this registry's validators, projections and clock."""
        return Session(
            header,
            seed,
            inherited_event_count=inherited_event_count,
            restored=restored,
            proven=proven,
            projections=self.projections,
            validators=self._validators,
            clock=self._clock,
        )

    def branch(
        self,
        parent: Header,
        events: Sequence[Event],
        boundary: object,
        child_id: str,
        *,
        checked: bool = False,
    ) -> Session:
        """A detached fork of a log. Raises SessionForkError(INVALID_BOUNDARY).

        `checked` says that these events passed this registry's validators before, so that they need not
        again: a fork of a long story then costs next to nothing.
        """
        cut = _inherited(parent.id, events, boundary)
        header = Header(child_id, self._clock(), is_seeded=True, parent_session=parent.id, cwd=parent.cwd)
        seed = fork_seed(events, cut - 1) if cut else []
        return self.detached(header, seed, inherited_event_count=cut, proven=cut if checked else 0)

    def attach(self, session: Session) -> Session:
        """Make a detached session live: found by its id, and publishing.

        A listener of `on_created` that raises vetoes it: the session stays detached, the error propagates.
        """
        self.check_free(session.id)
        self._live[session.id] = session
        session._attach()
        try:
            for listener in self._created:
                listener(session)
        except BaseException:
            self.detach(session)
            raise
        return session

    def detach(self, session: Session) -> None:
        """Let a session go. During a publication of it, the rest of that publication comes first."""

        def forget() -> None:
            if self._live.get(session.id) is session:
                del self._live[session.id]

        session._detach(forget)

    # -- finding --------------------------------------------------------------------------------

    def get(self, session_id: str) -> Session | None:
        return self._live.get(session_id)

    def list(self) -> Sequence[Session]:
        """The live sessions, oldest first."""
        return tuple(self._live.values())

    def check_free(self, session_id: str) -> None:
        """Raises SessionError(category='already-exists') when a live session has the id."""
        if session_id in self._live:
            raise SessionError(
                f"session {session_id} exists already",
                code="SESSION_ALREADY_EXISTS",
                category="already-exists",
            )

    # -- listening ------------------------------------------------------------------------------

    def on_created(self, listener: Callable[[Session], Any]) -> Disposer:
        """Be told of every session that becomes live, before anybody else can use it."""
        self._created = (*self._created, listener)

        def dispose() -> None:
            self._created = tuple(other for other in self._created if other is not listener)

        return dispose

    def on_flush(self, listener: FlushListener) -> Disposer:
        """Take part in `flush`: the awaitable ends when everything appended before it is durable."""
        self._flushed = (*self._flushed, listener)

        def dispose() -> None:
            self._flushed = tuple(other for other in self._flushed if other is not listener)

        return dispose

    async def flush(self, session: Session) -> bool:
        """Wait until every durability listener has stored the session's events.

        False when nobody stores anything. Raises the first failure after all listeners have ended, and
        NotFound when the session is not live here.
        """
        if self._live.get(session.id) is not session:
            raise NotFound(f"session {session.id} is not live", category="not-live")
        listeners = self._flushed
        outcomes = await asyncio.gather(
            *(listener(session) for listener in listeners), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return bool(listeners)

    def register_projection(self, event_type: str, interpret: Interpreter) -> Disposer:
        """Put an interpreter of message projections in force (see `Projections.register`)."""
        return self.projections.register(event_type, interpret)


def _copied(event: Event | Mapping[str, Any]) -> Event:
    wire = event.to_wire() if isinstance(event, Event) else event
    return Event.from_wire(freeze(dict(wire) if isinstance(wire, Mapping) else wire))


def _inherited(parent_id: str, events: Sequence[Event], boundary: object) -> int:
    """How many events a fork at `boundary` inherits. As in JSON, 3.0 is an integer and -0 is 0."""
    if boundary is None:
        return len(events)
    if isinstance(boundary, float) and boundary.is_integer():
        boundary = int(boundary)
    if type(boundary) is not int or boundary < 0:
        raise _fork_error(
            f"{boundary!r} is no seq of session {parent_id}", "INVALID_BOUNDARY", "fork-boundary"
        )
    if boundary >= len(events):
        raise _fork_error(f"session {parent_id} has no event {boundary}", "INVALID_BOUNDARY", "fork-boundary")
    return boundary + 1


def _fork_error(message: str, code: str, category: str) -> SessionForkError:
    return SessionForkError(message, code=code, category=category)
