"""The durable inbox of one agent: two queues that are a fold over `agent/inbox/spliced` events.

`next-turn` holds ordinary prompts, one of which opens each turn; `next-step` holds
steering and injected context, all of which enters at the next step boundary
(spec agent-loop 1). An entry is the message itself, under its own id, from the
insert through the claim to the `user/message` that admits it.

Nothing here is durable until the session is flushed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from engine.errors import AgentError, SessionCorrupt
from engine.session import Event, Message, Session

__all__ = ["QUIET", "SPLICED", "Inbox", "InboxState", "Notify", "Target", "is_claim"]

Target: TypeAlias = Literal["next-turn", "next-step"]
Notify: TypeAlias = Callable[[str, Message], None]
"""Told `inserted`, `discarded` or `claimed` with the message, after the event is in the log."""

SPLICED = "agent/inbox/spliced"

QUIET = "quiet"
"""In a message's source: it waits for whatever comes, and is no reason by itself for a step or a turn."""


class InboxState:
    """The two queues, and the one rule by which a splice changes them."""

    def __init__(self) -> None:
        self.next_turn: list[Message] = []
        self.next_step: list[Message] = []

    def queue(self, target: str) -> list[Message]:
        return self.next_turn if target == "next-turn" else self.next_step

    def apply(self, splice: Any) -> list[Message]:
        """Apply one splice and return what it removed.

        Raises ValueError, and changes nothing, when the position is outside the queue,
        the target is unknown, or an inserted id is pending already.
        """
        target = splice.get("target")
        if target not in ("next-turn", "next-step"):
            raise ValueError("unknown inbox target")
        queue = self.queue(target)
        start, count = splice.get("start"), splice.get("removedCount", 0)
        if not (_is_index(start) and _is_index(count) and start + count <= len(queue)):
            raise ValueError("the splice lies outside the queue")
        inserted = list(splice.get("inserted", ()))
        removed = queue[start : start + count]
        leaving = {message["id"] for message in removed}
        pending = {m["id"] for m in (*self.next_turn, *self.next_step)} - leaving
        for message in inserted:
            if message["id"] in pending:
                raise ValueError(f"{message['id']} is pending already")
            pending.add(message["id"])
        queue[start : start + count] = inserted
        return removed


class Inbox:
    """The queues of one live session, and every way to change them.

    Each mutation validates, appends its event, updates the queues, and only then tells
    `notify`. When the append is refused nothing has changed.
    """

    def __init__(self, session: Session, notify: Notify) -> None:
        """Fold the session's own events; a fork does not inherit its parent's queue.

        Raises SessionCorrupt, naming the seq, for a splice that cannot be.
        """
        self._session = session
        self._notify = notify
        self._state = InboxState()
        self._seen: set[str] = set()
        for event in session.events():
            self._learn(event)
        for event in session.own_events():
            if event.type == SPLICED:
                self._replay(event)

    # -- reading ---------------------------------------------------------------------------

    @property
    def next_turn(self) -> Sequence[Message]:
        return tuple(self._state.next_turn)

    @property
    def next_step(self) -> Sequence[Message]:
        return tuple(self._state.next_step)

    @property
    def has_pending(self) -> bool:
        return bool(self._state.next_turn or self._state.next_step)

    @property
    def wants_step(self) -> bool:
        """Whether something is pending that the next step is to answer, and not only to take in."""
        return any(message["source"].get(QUIET) is not True for message in self._state.next_step)

    @property
    def wants_turn(self) -> bool:
        """Whether something is pending that wants an answer."""
        return bool(self._state.next_turn) or self.wants_step

    def knows(self, message_id: str) -> bool:
        """Whether this log ever held the message: pending, claimed, admitted or cancelled.

        The fence against a second delivery of the same words (spec agent-loop 1.7).
        """
        return message_id in self._seen

    # -- changing --------------------------------------------------------------------------

    def insert(self, message: Message, target: Target) -> None:
        """Add at the tail of `target`. Raises AgentError INBOX_DUPLICATE for an id that is pending."""
        self.splice(target, len(self._state.queue(target)), 0, [message])

    def prepend(self, target: Target, messages: Iterable[Message]) -> None:
        """Give messages back to the head of `target`, in their order."""
        self.splice(target, 0, 0, messages)

    def replace(self, message_id: str, message: Message) -> bool:
        """Put `message` in the place of a pending one. False when that one is no longer pending."""
        return self._at(message_id, [message])

    def remove(self, message_id: str) -> bool:
        """Cancel a pending message. False when it is no longer pending."""
        return self._at(message_id, [])

    def clear(self) -> list[Message]:
        """Cancel everything, `next-step` first; returns what was dropped."""
        dropped: list[Message] = []
        targets: tuple[Target, ...] = ("next-step", "next-turn")
        for target in targets:
            dropped += self.splice(target, 0, len(self._state.queue(target)), [])
        return dropped

    def splice(self, target: Target, start: int, removed: int, inserted: Iterable[Message]) -> list[Message]:
        """The general change. Positions follow JavaScript's splice; a removal counts as cancelled.

        Returns what was removed. No event is written when nothing changes.
        """
        queue = self._state.queue(target)
        start = max(0, len(queue) + start) if start < 0 else min(start, len(queue))
        removed = max(0, min(removed, len(queue) - start))
        return self._commit(target, start, removed, list(inserted), canceled=removed > 0)

    def claim(self, first: bool) -> list[Message]:
        """Take the batch of a step boundary: all of `next-step`, and at a turn's first boundary one prompt.

        Only the loop calls this, inside an open turn; `claimed` is told once per message
        after both splices are in the log.
        """
        batch = self._commit("next-step", 0, len(self._state.next_step), [], canceled=False)
        if first:
            batch += self._commit("next-turn", 0, min(1, len(self._state.next_turn)), [], canceled=False)
        for message in batch:
            self._notify("claimed", message)
        return batch

    # -- inside ----------------------------------------------------------------------------

    def _at(self, message_id: str, inserted: list[Message]) -> bool:
        targets: tuple[Target, ...] = ("next-turn", "next-step")
        for target in targets:
            for index, pending in enumerate(self._state.queue(target)):
                if pending["id"] == message_id:
                    self.splice(target, index, 1, inserted)
                    return True
        return False

    def _commit(
        self, target: Target, start: int, removed: int, inserted: list[Message], *, canceled: bool
    ) -> list[Message]:
        if not removed and not inserted:
            return []
        splice: dict[str, Any] = {"target": target, "start": start, "inserted": inserted}
        if removed:
            splice["removedCount"] = removed
        if canceled:
            splice["outcome"] = "canceled"
        self._refuse_duplicates(splice)
        event = self._session.append(SPLICED, splice)
        self._learn(event)
        gone = self._state.apply(event.data)
        if canceled:
            for message in gone:
                self._notify("discarded", message)
        for message in event.data["inserted"]:
            self._notify("inserted", message)
        return gone

    def _refuse_duplicates(self, splice: dict[str, Any]) -> None:
        rehearsal = InboxState()
        rehearsal.next_turn = list(self._state.next_turn)
        rehearsal.next_step = list(self._state.next_step)
        try:
            rehearsal.apply(splice)
        except ValueError as error:
            raise AgentError(f"The inbox does not take this: {error}", code="INBOX_DUPLICATE") from error

    def _replay(self, event: Event) -> None:
        try:
            self._state.apply(event.data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SessionCorrupt(
                f"The inbox event at seq {event.seq} of session {self._session.id} cannot be: {error}",
                session=self._session.id,
                seq=event.seq,
            ) from error

    def _learn(self, event: Event) -> None:
        if event.type == SPLICED:
            self._seen.update(m["id"] for m in event.data.get("inserted", ()) if isinstance(m.get("id"), str))
        elif event.type == "user/message":
            self._seen.add(event.data["id"])


def is_claim(splice: Any) -> bool:
    """Whether a splice took messages for a step: a removal that nobody asked for (spec agent-loop 1.2)."""
    return bool(splice.get("removedCount") and not splice["inserted"] and splice.get("outcome") is None)


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
