"""The session: an append-only log, its surface, and the history that is derived from it.

`Session.append` is the one way in. It commits in memory, at once, and either whole or not at all;
it is not durable (see `journal`). Source: session spec 2 to 5; seed 002, 1, 4 and 5.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import structlog

from engine.errors import AppendRefused, SessionError
from engine.hooks import Disposer
from engine.session.consistency import check_payload, check_restored
from engine.session.event import Event, Header
from engine.session.frozen import NULL, FrozenDict, freeze, is_seq
from engine.session.messages import Message
from engine.session.projections import Projections
from engine.session.surface import Surface
from engine.session.view import View
from engine.session.vocabulary import is_plugin_type

__all__ = [
    "Clock",
    "Observer",
    "Session",
    "Validator",
    "ValidatorFactory",
    "is_inherited_marker",
    "last_of",
    "now_ms",
]

log = structlog.get_logger(__name__)

Clock: TypeAlias = Callable[[], int]
"""Milliseconds since the epoch."""

Observer: TypeAlias = Callable[[Event], Any]

END_SEED: Final = "session/end-seed"
INHERITED: Final = FrozenDict({"inherited": True})
_NOTHING: Final = FrozenDict()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Validator(Protocol):
    """Relations between events, enforced before each commit (position 7 of append)."""

    def check(self, event: Event) -> None:
        """Raise AppendRefused to veto the event. Changes nothing."""

    def accept(self, event: Event) -> None:
        """The event was committed. Cannot fail."""

    def resume(self, events: Sequence[Event]) -> None:
        """Take up the state after these first events of the log, each of which was checked when it came."""


ValidatorFactory: TypeAlias = Callable[[Surface, Sequence[Event]], Validator]
"""Makes a session's validator from its surface and the history that is about to be replayed into it."""


class Session:
    """One session in memory.

    A new one is empty. With a `seed` it starts from those events, each checked like an append and for the
    shapes that readers rely on. A seeded header (a fork) needs `inherited_event_count`: how many of them
    belong to the parent. `restored` says that the seed is this session's own stored log; otherwise a
    seeded session is a fresh fork. After a seed, a `session/end-seed` marker separates what was from what
    this lifecycle adds; none is added when the seed ends in one, or already marks a fresh fork's cut.
    The first `proven` events of the seed are taken over unchecked and undecoded: they were checked when this
    program appended them, and a store has shown that they are the same.

    Raises AppendRefused for an event of the seed that cannot be there, SessionError(category='seed-cut')
    when header, seed and count disagree. Events of the constructor are not published.
    """

    def __init__(
        self,
        header: Header,
        seed: Iterable[Event] | None = None,
        *,
        inherited_event_count: int | None = None,
        restored: bool = False,
        proven: int = 0,
        projections: Projections | None = None,
        validators: Iterable[ValidatorFactory] = (),
        clock: Clock = now_ms,
    ) -> None:
        self.header = header
        self._clock = clock
        self._log: list[Event] = []
        self._surface = Surface(self._log, projections or Projections())
        self._derived: list[Message] = []
        self._derived_nodes = 0
        self._derived_generation = 0
        self._request_header: Event | None = None
        self._request_context: Event | None = None
        self._observers: tuple[Observer, ...] = ()
        self._attached = False
        self._publishing = False
        self._on_unwound: list[Callable[[], None]] = []
        self._rejections: set[asyncio.Future[Any]] = set()

        history = None if seed is None else list(seed)
        self._inherited = _inherited_count(header, history, inherited_event_count, restored)
        self._validators: tuple[Validator, ...] = tuple(
            make(self._surface, history or ()) for make in validators
        )
        if history is not None:
            self._take_over(history, proven)
        self._first_live_seq = len(self._log)
        self._first_lifecycle_seq = len(self._log)
        if history is not None:
            self._mark(fresh_fork=header.is_seeded and not restored)

    @classmethod
    def restore(
        cls, header: Header, events: Iterable[Event], inherited_event_count: int, **options: Any
    ) -> Session:
        """A session from its stored log. Takes the events over: no copy is made, they must be frozen.

        An open turn is accepted here; repair comes before (see `repair.closers`).
        """
        return cls(header, events, inherited_event_count=inherited_event_count, restored=True, **options)

    # -- reading --------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def seq(self) -> int:
        """The length of the log, which is the seq of the next event."""
        return len(self._log)

    @property
    def inherited_event_count(self) -> int:
        """How many events at the start belong to the session that this one was forked from."""
        return self._inherited

    @property
    def first_live_seq(self) -> int:
        """Where the seed stops: events from here on were appended to this object."""
        return self._first_live_seq

    @property
    def first_lifecycle_seq(self) -> int:
        """Where this lifecycle starts: the cut of a fresh fork, the end of the seed otherwise."""
        return self._first_lifecycle_seq

    @property
    def surface(self) -> Surface:
        return self._surface

    @property
    def attached(self) -> bool:
        """Whether the session is in a live registry and publishes its events."""
        return self._attached

    def event(self, seq: int) -> Event:
        """The event at a position. Raises TypeError for what is no seq, IndexError beyond the log."""
        if not is_seq(seq):
            raise TypeError(f"not a seq: {seq!r}")
        return self._log[seq]

    def events(self, start: int = 0, stop: int | None = None) -> Sequence[Event]:
        """The events from `start` up to but without `stop`. The view never grows; O(1)."""
        length = len(self._log)
        stop = length if stop is None else min(stop, length)
        return View(self._log, min(start, stop), stop)

    def own_events(self) -> Sequence[Event]:
        """The events after the inherited cut."""
        return self.events(self._inherited)

    def is_own(self, seq: int) -> bool:
        """Whether an event stands at `seq` and is not inherited."""
        return self._inherited <= seq < len(self._log)

    def derive(self) -> Sequence[Message]:
        """The model's history: the messages of the current nodes, in order.

        Costs the new nodes only, unless a replacement or a projection came in between. The view that is
        handed out does not change later; its messages are shared and deep-frozen, and keep their identity
        for as long as they say the same. Raises SessionError while a used projection is not loaded.
        """
        surface = self._surface
        generation = surface.content_generation
        if generation != self._derived_generation:
            self._derived = []
            self._derived_nodes = 0
            self._derived_generation = generation
        fresh = surface.node_messages(self._derived_nodes)
        if fresh:
            self._derived.extend([message for message in fresh if message is not None])
            self._derived_nodes += len(fresh)
        return View(self._derived)

    def derive_event(self, seq: int) -> Message | None:
        """What one event says to the model; None for log-only events and empty messages."""
        return self._surface.message(self.event(seq))

    def request_header(self) -> FrozenDict | None:
        """The data of the last `request/header`."""
        return None if self._request_header is None else self._request_header.data

    def request_context(self) -> FrozenDict | None:
        """The data of the last `request/context`."""
        return None if self._request_context is None else self._request_context.data

    # -- writing --------------------------------------------------------------------------------

    def append(
        self,
        type: str,
        data: object,
        *,
        surface_op: object = None,
        source_event_seqs: object = None,
        ignorable: bool = False,
    ) -> Event:
        """Commit one event and tell the observers. Returns the logged event itself.

        The data is copied and deep-frozen, so what the caller does with it later has no effect. Absent
        metadata is None. Nothing changes when it fails; the checks run in this order, and the first that
        fails raises AppendRefused with its category:

        1. `data` is lossless JSON. 2. So is the surface metadata. 3. The session is not publishing: an
        observer cannot append to the session that it observes. 4. seq and time are assigned. 5. The data
        agrees with itself. 6. The surface takes it. 7. The validators agree. 8. It is in the log.

        An observer that fails is logged and changes nothing. Durability is the journal's: `Journal.flush`.
        """
        frozen = freeze(data)
        if surface_op is not None:
            surface_op = surface_op if surface_op is NULL else freeze(surface_op, category="json-metadata")
        if source_event_seqs is not None and source_event_seqs is not NULL:
            source_event_seqs = freeze(source_event_seqs, category="json-metadata")
        if self._publishing:
            raise AppendRefused(
                f"session {self.id} is publishing; an observer cannot append to it", category="reentrant"
            )
        event = Event(type, len(self._log), self._clock(), frozen, surface_op, source_event_seqs, ignorable)
        self._admit(event)
        if self._attached and self._observers:
            self._publish(event)
        return event

    def append_plugin_record(self, type: str, data: object) -> Event:
        """Commit a `plugin:` record: log-only, ignorable, carried along by fork and resume.

        Raises AppendRefused(category='plugin-record-type') when the type is not in that namespace.
        """
        if not is_plugin_type(type):
            raise AppendRefused(f"{type!r} is not plugin:<segment>/<segment>…", category="plugin-record-type")
        return self.append(type, data, ignorable=True)

    def observe(self, fn: Observer) -> Disposer:
        """Be told of every event after its commit, while the session is attached. Returns how to stop.

        Failures are contained, those of a returned awaitable too.
        """
        self._observers = (*self._observers, fn)

        def dispose() -> None:
            self._observers = tuple(other for other in self._observers if other is not fn)

        return dispose

    # -- inside ---------------------------------------------------------------------------------

    def _admit(self, event: Event) -> None:
        check_payload(event)
        plan = self._surface.plan(event)
        for validator in self._validators:
            validator.check(event)
        self._log.append(event)
        if plan is not None:
            plan()
        for validator in self._validators:
            validator.accept(event)
        self._remember(event)

    def _remember(self, event: Event) -> None:
        if event.type == "request/header":
            self._request_header = event
        elif event.type == "request/context":
            self._request_context = event

    def _take_over(self, history: Sequence[Event], proven: int) -> None:
        """Replay a seed, of which the first `proven` events need no check."""
        known = history[:proven]
        self._surface.take_over(known)
        self._request_header = last_of("request/header", known)
        self._request_context = last_of("request/context", known)
        if known:
            for validator in self._validators:
                validator.resume(known)
        for event in history[proven:]:
            check_restored(event)
            self._admit(event)

    def _mark(self, *, fresh_fork: bool) -> None:
        """Close the seed with its marker, if it needs one."""
        if fresh_fork:
            self._first_lifecycle_seq = self._inherited
            if len(self._log) == self._inherited:
                self._admit(Event(END_SEED, len(self._log), self._clock(), INHERITED))
        elif not self._log or self._log[-1].type != END_SEED:
            self._admit(Event(END_SEED, len(self._log), self._clock(), _NOTHING))

    def _publish(self, event: Event) -> None:
        self._publishing = True
        try:
            for observer in self._observers:
                try:
                    outcome = observer(event)
                except Exception:
                    log.warning("session.observer_failed", session=self.id, seq=event.seq, exc_info=True)
                    continue
                if inspect.isawaitable(outcome):
                    self._watch(outcome, event)
        finally:
            self._publishing = False
        while self._on_unwound:
            self._on_unwound.pop(0)()

    def _watch(self, outcome: Awaitable[Any], event: Event) -> None:
        task = asyncio.ensure_future(outcome)
        self._rejections.add(task)

        def finished(done: asyncio.Future[Any]) -> None:
            self._rejections.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                log.warning("session.observer_failed", session=self.id, seq=event.seq, exc_info=error)

        task.add_done_callback(finished)

    def _attach(self) -> None:
        self._attached = True

    def _detach(self, then: Callable[[], None]) -> None:
        """Stop publishing and do `then`; a publication that is under way is finished first."""

        def detach() -> None:
            self._attached = False
            then()

        if self._publishing:
            self._on_unwound.append(detach)
        else:
            detach()


def _inherited_count(header: Header, seed: Sequence[Event] | None, count: int | None, restored: bool) -> int:
    """The inherited count, once header, seed and count agree."""
    if not header.is_seeded:
        if count:
            raise _cut("a session that is not seeded inherits nothing")
        return 0
    if seed is None:
        raise _cut("a seeded session needs its seed")
    if count is None:
        raise _cut("a seeded session needs its inherited event count")
    if not is_seq(count) or count > len(seed):
        raise _cut("the inherited event count exceeds the log")
    marked = count < len(seed) and is_inherited_marker(seed[count])
    if not restored and not marked and count != len(seed):
        raise _cut("a seed must be exactly the inherited prefix or mark its cut")
    if marked and any(is_inherited_marker(event) for event in seed[count + 1 :]):
        raise _cut("the inherited event count must name the last inherited marker")
    return count


def last_of(event_type: str, events: Sequence[Event]) -> Event | None:
    """The last event of the type."""
    return next((event for event in reversed(events) if event.type == event_type), None)


def is_inherited_marker(event: Event) -> bool:
    """Whether the event marks the cut of a fork: everything before it is inherited."""
    return event.type == END_SEED and event.data == INHERITED


def _cut(message: str) -> SessionError:
    return SessionError(message, code="SESSION_SEED_INVALID", category="seed-cut")
