"""What a turn claimed and did not admit: queued again (decision 4).

DSH consumes such messages; at a table that reads as "the bot ignored me". What a crash or a shutdown
caught there returns to the head of `next-turn`. What a turn failed on (no facts could be read, no model
was chosen, the disk was full) enters with the next turn, whoever opens that: it is no reason for
one by itself, since the failure was told and may last. Each is done a few times at most, every time with
a `plugin:` record; after that the messages are dead letters and the channel is told. A disk in trouble
is not counted, as no words cause it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from engine.agent.inbox import SPLICED, Inbox, InboxState, is_claim
from engine.errors import DISK_CODES
from engine.hooks import Hooks
from engine.session import Event, Message, Session

__all__ = ["DEAD", "REQUEUED", "requeue_unadmitted", "take_up_again", "was_cut_off"]

REQUEUED = "plugin:agent/requeued"
DEAD = "plugin:agent/dead-letter"

# Words that ended two processes in the same place are likelier the cause than the victim.
_MAX_REQUEUES = 2
# A failing turn costs less than a process, and three in a row come by themselves before a queue pauses.
_MAX_RETAKES = 5


def was_cut_off(reason: Any) -> bool:
    """Whether a turn ended for no reason of its own: the process died, or was shut down."""
    if reason["kind"] == "aborted":
        return bool(reason["reason"]["kind"] == "disposed")
    return bool(reason["kind"] == "interrupted")


def requeue_unadmitted(session: Session, inbox: Inbox, hooks: Hooks) -> None:
    """Put back what the last turn had claimed and not admitted when it was cut off."""
    lost = unadmitted(session.own_events())
    if lost:
        again = _worth_it(session, hooks, lost, "crash", _MAX_REQUEUES)
        inbox.prepend("next-turn", again)


def take_up_again(session: Session, inbox: Inbox, hooks: Hooks) -> None:
    """Before a turn opens: what the last one failed on goes into its first step, before all else."""
    reason = next((e.data["reason"] for e in reversed(session.own_events()) if e.type == "turn/end"), None)
    if reason is None or reason["kind"] != "error":
        return
    lost = unadmitted(session.own_events(), lambda reason: bool(reason["kind"] == "error"))
    if lost and reason["error"]["code"] not in DISK_CODES:
        lost = _worth_it(session, hooks, lost, "error", _MAX_RETAKES)
    inbox.prepend("next-step", lost)


def _worth_it(
    session: Session, hooks: Hooks, lost: Sequence[Message], after: str, limit: int
) -> list[Message]:
    """Those that have not come back `limit` times after such an end; the others are dead letters now."""
    tries = Counter(
        message_id
        for event in session.own_events()
        if event.type == REQUEUED and event.data.get("after", "crash") == after
        for message_id in event.data["messageIds"]
    )
    again = [message for message in lost if tries[message["id"]] < limit]
    dead = [message for message in lost if tries[message["id"]] >= limit]
    if again:
        record = {"messageIds": [m["id"] for m in again], "after": after}
        session.append(REQUEUED, record, ignorable=True)
    if dead:
        session.append(DEAD, {"messageIds": [m["id"] for m in dead]}, ignorable=True)
        hooks.emit("agent/dead-letter", session.id, tuple(dead))
    return again


def unadmitted(events: Sequence[Event], ended: Callable[[Any], bool] = was_cut_off) -> list[Message]:
    """Messages claimed by the last turn, if it `ended` so, which have no `user/message`.

    Each is counted once: one that was queued again since, or given up, is not lost.
    """
    state = InboxState()
    claimed: list[Message] = []
    admitted: set[str] = set()
    concerned = False
    for event in events:
        if event.type == "turn/start":
            claimed, concerned = [], False
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
            concerned = ended(event.data["reason"])
    return [m for m in claimed if concerned and m["id"] not in admitted]
