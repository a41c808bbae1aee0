"""What the journal needs of a store: events as bytes, one writer at a time, forks by reference.

Source: session spec 7.1 to 7.3; design 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from engine.codec import canonical, loads
from engine.errors import AppendRefused
from engine.session.event import Event
from engine.session.frozen import freeze

__all__ = ["EventStore", "StoredEvent", "StoredHead", "StoredSession"]


class StoredEvent(NamedTuple):
    """One row: the event's canonical JSON, with what a store indexes beside it.

    A tuple, because a long story has ten thousand of them.
    """

    seq: int
    type: str
    time: int
    body: bytes

    @classmethod
    def of(cls, event: Event) -> StoredEvent:
        return cls(event.seq, event.type, event.time, canonical(event.to_wire()))

    def event(self) -> Event:
        """The event, with everything about it checked.

        Raises ValueError for a body that is not JSON, AppendRefused for one that this program cannot have
        written: no event, another than the row says, or in another spelling (a member that is there twice).
        """
        event = Event.from_wire(freeze(loads(self.body)))
        if (event.seq, event.type, event.time) != (self.seq, self.type, self.time):
            raise AppendRefused(f"row {self.seq} holds event {event.seq}", category="envelope", seq=self.seq)
        if canonical(event.to_wire()) != self.body:
            raise AppendRefused(f"event {self.seq} is not canonical", category="envelope", seq=self.seq)
        return event


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A read of one session, its lineage resolved.

    `header` is JSON; the first `inherited` events are the parent's; `parent` is `(id, through_seq)`.
    `rows` are the events of the range that was asked for. `proven` says that the store has shown, by the
    hash chain over the whole log, that they are the very rows that were appended.
    """

    header: bytes
    inherited: int
    parent: tuple[str, int] | None
    rows: Sequence[StoredEvent]
    proven: bool = False


@dataclass(frozen=True, slots=True)
class StoredHead:
    """One session of a list: what is known of it without reading its events.

    `header` is JSON; `parent` is `(id, through_seq)`; `head` is the number of events.
    """

    id: str
    header: bytes
    inherited: int
    parent: tuple[str, int] | None
    head: int


class EventStore(Protocol):
    """Durable event rows. Every method is durable when it returns, and atomic."""

    async def create(
        self,
        session_id: str,
        header: bytes,
        *,
        inherited: int,
        parent: tuple[str, int] | None,
        rows: Sequence[StoredEvent],
    ) -> int:
        """A new session; its first `inherited` events are the parent's, by reference. Returns the epoch.

        `parent` is `(id, inherited - 1)`; without one the rows start at 0. Raises Conflict when the id
        exists, the parent has no such event or the rows have a gap, NotFound when there is no such parent.
        """

    async def take(self, session_id: str) -> int:
        """Become the writer: a new epoch, which fences every earlier one. Raises NotFound."""

    async def append(self, session_id: str, epoch: int, rows: Sequence[StoredEvent]) -> None:
        """Add rows that continue the log. Raises Conflict on a gap, StaleSession on an old epoch."""

    async def supersede(
        self,
        session_id: str,
        epoch: int,
        header: bytes,
        *,
        inherited: int,
        rows: Sequence[StoredEvent],
    ) -> int:
        """A new generation of the session, from seq 0 on; the one before stays beside it, untouched.

        For a log that was migrated to another format: its seqs may differ. Forks keep the events that they
        refer to. Returns the writer's new epoch. Raises StaleSession on an old epoch, Conflict on a gap.
        """

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> StoredSession:
        """The rows from `start` up to but without `stop`. Raises NotFound, SessionCorrupt."""

    async def head(self, session_id: str) -> int:
        """The number of events, inherited ones included. Raises NotFound."""

    async def list(self, *, before: str | None = None, limit: int | None = None) -> Sequence[StoredHead]:
        """The sessions, the one stored last first, without superseded generations.

        `before` goes on after a session of an earlier list. Raises NotFound when it is not there.
        """
