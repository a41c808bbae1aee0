"""What a crash or a shutdown caught between claim and admission, queued again (decision 4).

DSH consumes such messages; at a table that reads as "the bot ignored me". They return to
the head of `next-turn` once per crash, twice at most, each time with a `plugin:` record;
after that they are dead letters and the channel is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from engine.agent.inbox import SPLICED, Inbox, InboxState, is_claim
from engine.hooks import Hooks
from engine.session import Event, Message, Session

__all__ = ["DEAD", "REQUEUED", "requeue_unadmitted", "was_cut_off"]

REQUEUED = "plugin:agent/requeued"
DEAD = "plugin:agent/dead-letter"

# Words that ended two processes in the same place are likelier the cause than the victim.
_MAX_REQUEUES = 2


def was_cut_off(reason: Any) -> bool:
    """Whether a turn ended for no reason of its own: the process died, or was shut down."""
    if reason["kind"] == "aborted":
        return bool(reason["reason"]["kind"] == "disposed")
    return bool(reason["kind"] == "interrupted")


def requeue_unadmitted(session: Session, inbox: Inbox, hooks: Hooks) -> None:
    """Put back what the last turn had claimed and not admitted when it was cut off."""
    lost = unadmitted(session.own_events())
    if not lost:
        return
    tries = Counter(
        message_id
        for event in session.own_events()
        if event.type == REQUEUED
        for message_id in event.data["messageIds"]
    )
    again = [message for message in lost if tries[message["id"]] < _MAX_REQUEUES]
    dead = [message for message in lost if tries[message["id"]] >= _MAX_REQUEUES]
    if again:
        session.append(REQUEUED, {"messageIds": [m["id"] for m in again]}, ignorable=True)
        inbox.prepend("next-turn", again)
    if dead:
        session.append(DEAD, {"messageIds": [m["id"] for m in dead]}, ignorable=True)
        hooks.emit("agent/dead-letter", session.id, tuple(dead))


def unadmitted(events: Sequence[Event]) -> list[Message]:
    """Messages claimed by the last turn, if that was cut off, which have no `user/message`.

    Each is counted once: one that was queued again since, or given up, is not lost.
    """
    state = InboxState()
    claimed: list[Message] = []
    admitted: set[str] = set()
    interrupted = False
    for event in events:
        if event.type == "turn/start":
            claimed, interrupted = [], False
        elif event.type == SPLICED:
            removed = state.apply(event.data)
            returned = {message["id"] for message in event.data["inserted"]}
            if is_claim(event.data):
                claimed += removed
            claimed = [message for message in claimed if message["id"] not in returned]
        elif event.type == "user/message":
            admitted.add(event.data["id"])
        elif event.type == DEAD:
            claimed = [m for m in claimed if m["id"] not in event.data["messageIds"]]
        elif event.type == "turn/end":
            interrupted = was_cut_off(event.data["reason"])
    return [m for m in claimed if interrupted and m["id"] not in admitted]
