"""What a session's log must be, read event by event, as plainly as it can be said.

The ledger knows the rules of the loop and nothing of how the loop keeps them. It is fed a log as
that grows, and refuses what cannot follow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.agent.inbox import SPLICED
from engine.agent.recovery import DEAD
from engine.session import Event, Message, Session

__all__ = ["ENDED", "Fate", "Ledger"]

# How a message can end: its words are in the history, or somebody made them go.
ENDED = frozenset({"admitted", "cancelled", "rejected", "dead"})


@dataclass(slots=True)
class Fate:
    """Where a message is. `turn` is the turn that claimed it."""

    state: str
    target: str = ""
    turn: int = 0


@dataclass
class Ledger:
    """Everything that is known of one log. `inherited` events are the parent's; its queue is not ours."""

    inherited: int = 0
    read: int = 0
    queues: dict[str, list[str]] = field(default_factory=lambda: {"next-turn": [], "next-step": []})
    fates: dict[str, Fate] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    admitted: list[str] = field(default_factory=list)
    last_said: str = ""
    """The newest of the admitted messages that came through a queue."""
    turn: int = 0
    in_turn: bool = False
    step: int = 0
    in_step: bool = False
    nodes: list[int] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Calls of the open step that no result answers yet, in the model's order."""
    results: int = 0
    answered: bool = False
    reasons: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, session: Session) -> Ledger:
        """The ledger of a whole log, from nothing."""
        ledger = cls(session.inherited_event_count)
        ledger.follow(session.events())
        return ledger

    def follow(self, events: Sequence[Event]) -> None:
        """Read on to the end of the log."""
        for event in events[self.read :]:
            assert event.seq == self.read
            self.read += 1
            getattr(self, "_" + re.sub("[:/-]", "_", event.type), self._other)(event)
            self._stand(event)

    def history(self, events: Sequence[Event]) -> list[Message]:
        """What the log says to a model."""
        said = []
        for seq in self.nodes:
            data = events[seq].data
            message = data if events[seq].type == "user/message" else data["message"]
            silent = events[seq].type in ("system/message", "assistant/message") and not message["content"]
            if not silent:
                said.append(message)
        return said

    def states(self) -> dict[str, str]:
        """The state of every message that was ever put into a queue of this session."""
        return {message_id: fate.state for message_id, fate in self.fates.items()}

    # -- events --------------------------------------------------------------------------------------

    def _other(self, event: Event) -> None:
        pass

    def _stand(self, event: Event) -> None:
        op = event.surface_op
        if op == "append":
            self.nodes.append(event.seq)
        elif op is not None:
            start, end = self.nodes.index(op["startSeq"]), self.nodes.index(op["endSeq"])
            self.nodes[start : end + 1] = [event.seq]

    def _turn_start(self, event: Event) -> None:
        assert not self.in_turn, "a turn inside a turn"
        assert event.data["turn"] == self.turn + 1, "turns are numbered on"
        self.turn, self.in_turn, self.step, self.answered = self.turn + 1, True, 0, False

    def _turn_end(self, event: Event) -> None:
        assert self.in_turn, "the end of no turn"
        assert event.data["turn"] == self.turn
        assert not self.in_step, "a turn ends in a step"
        self.in_turn = False
        reason = event.data["reason"]
        self.reasons.append(reason)
        for fate in self.fates.values():
            if fate.state == "claimed":
                fate.state = _end_of_claim(reason)

    def _step_start(self, event: Event) -> None:
        assert self.in_turn, "a step without a turn"
        assert not self.in_step, "a step inside a step"
        assert (event.data["turn"], event.data["step"]) == (self.turn, self.step + 1), "steps are numbered on"
        self.step, self.in_step = self.step + 1, True

    def _step_end(self, event: Event) -> None:
        assert self.in_step, "the end of no step"
        assert not self.waiting, "a step ends with calls unanswered"
        assert (event.data["turn"], event.data["step"]) == (self.turn, self.step)
        self.in_step = False

    def _agent_inbox_spliced(self, event: Event) -> None:
        if event.seq < self.inherited:
            self.known.update(message["id"] for message in event.data["inserted"])
            return
        data = event.data
        queue = self.queues[data["target"]]
        start, count = data["start"], data.get("removedCount", 0)
        assert start + count <= len(queue), "a splice outside of the queue"
        gone = queue[start : start + count]
        fresh = [message["id"] for message in data["inserted"]]
        queue[start : start + count] = fresh
        pending = self.queues["next-turn"] + self.queues["next-step"]
        assert len(pending) == len(set(pending)), "a message waits twice"
        claim = bool(count and not fresh and data.get("outcome") is None)
        if claim:
            assert self.in_turn, "a claim outside of a turn"
            assert not self.in_step, "a claim inside a step"
            if data["target"] == "next-turn":
                assert (count, self.step) == (1, 0), "a turn has one prompt, which opens it"
        for message_id in gone:
            fate = Fate("claimed", data["target"], self.turn) if claim else Fate("cancelled")
            self.fates[message_id] = fate
        for message_id in fresh:
            self.fates[message_id] = Fate("pending", data["target"])
        self.known.update(fresh)

    def _user_message(self, event: Event) -> None:
        if event.surface_op != "append":
            return
        assert self.in_step, "words enter in a step"
        message_id = event.data["id"]
        assert message_id not in self.admitted, f"{message_id} was said twice"
        self.admitted.append(message_id)
        if message_id in self.fates:
            assert self.fates[message_id].state == "claimed", "words that nobody claimed"
            self.fates[message_id].state = "admitted"
            self.last_said = message_id

    def _assistant_message(self, event: Event) -> None:
        assert self.in_step
        assert not self.waiting, "the model speaks on before its calls are answered"
        content = event.data["message"]["content"]
        self.waiting = [block["id"] for block in content if block["type"] == "tool-call"]
        assert not (event.data.get("interrupted") and self.waiting), "an interrupted answer calls nothing"
        self.answered = True

    def _assistant_attempt(self, event: Event) -> None:
        assert self.in_step

    def _tool_result(self, event: Event) -> None:
        if event.surface_op != "append":
            return
        call = event.data["message"]["toolCallId"]
        assert self.waiting, f"a result that nobody waits for: {call}"
        assert self.waiting.pop(0) == call, "results come in the model's order, one for each call"
        self.results += 1

    def _plugin_agent_dead_letter(self, event: Event) -> None:
        for message_id in event.data["messageIds"]:
            self.fates[message_id].state = "dead"

    def _system_message(self, event: Event) -> None:
        assert self.in_step


def _end_of_claim(reason: Any) -> str:
    """What a turn that ended so has made of the words that it took and did not admit."""
    match reason:
        case {"kind": "aborted", "reason": {"kind": "user" | "hook" | "parent"}}:
            return "cancelled"
        case {"kind": "blocked"}:
            return "rejected"
        case {"kind": "error"}:
            return "failed"
        case {"kind": "interrupted"} | {"kind": "aborted"}:
            return "cut off"
    return "dropped"


assert SPLICED == "agent/inbox/spliced"
assert DEAD == "plugin:agent/dead-letter"
