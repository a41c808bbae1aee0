"""Closers: the events that end what a crash or a fork cut off in the middle.

Pure and deterministic: the same log gives the same closers. Source: session spec 5.1, 11; agent-loop
spec 3.6; seed 002, 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from engine.session.event import Event
from engine.session.frozen import FrozenDict, freeze

__all__ = [
    "NOT_STARTED",
    "OUTCOME_UNKNOWN",
    "RECOVERY_TEXT",
    "Cause",
    "closers",
    "fork_seed",
    "recovery_results",
]

Cause: TypeAlias = Literal["interrupted", "forked"]
"""A process that ended in the middle of a turn, or a fork that was cut there."""

NOT_STARTED: Final = FrozenDict({"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"})
OUTCOME_UNKNOWN: Final = FrozenDict({"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"})

RECOVERY_TEXT: Final[Mapping[tuple[Cause, bool], str]] = {
    (
        "interrupted",
        False,
    ): "This call never ran: the program stopped before it began. Nothing happened; it may be made again.",
    (
        "interrupted",
        True,
    ): "The program stopped while this call was running. Whether it took effect is not known. "
    "Do not repeat it blindly; find out first what happened.",
    (
        "forked",
        False,
    ): "This call never ran: the story was branched before it began. Nothing happened here; it may be "
    "made again.",
    (
        "forked",
        True,
    ): "The story was branched while this call was running. Whether it took effect is not known. "
    "Do not repeat it blindly; find out first what happened.",
}
"""What the model reads in place of a result, by cause and by whether the call had started."""


@dataclass(slots=True)
class _Call:
    """A call that a message advertised and no result answered yet; `started` is the seq of its tool/call."""

    turn: int
    step: int
    started: int | None = None


@dataclass(slots=True)
class _Tail:
    """What is open at the end of a log: a turn, a step, and the calls that wait, in the model's order."""

    turn: int | None = None
    step: int | None = None
    calls: dict[str, _Call] = field(default_factory=dict)


def closers(events: Sequence[Event], cause: Cause = "interrupted") -> list[Event]:
    """The events that close the open turn of a log, ready to be appended; empty when none is open.

    Every call that no closed step holds and no result answers gets an error result; then come step/end, if a
    step is open, and turn/end. Seqs continue and every time is that of the last event.
    """
    tail = _scan(events)
    if tail.turn is None:
        return []
    seq, time = len(events), events[-1].time
    closing = _results(tail, cause, seq, time)
    ends: list[tuple[str, dict[str, Any]]] = []
    if tail.step is not None:
        ends.append(("step/end", {"turn": tail.turn, "step": tail.step}))
    ends.append(("turn/end", {"turn": tail.turn, "reason": {"kind": cause}}))
    for event_type, data in ends:
        closing.append(Event(event_type, seq + len(closing), time, freeze(data)))
    return closing


def recovery_results(events: Sequence[Event], turn: int, step: int) -> list[Event]:
    """The error results for the unanswered calls of the step, when it is the open one.

    What a live loop writes before step/end when a step failed with calls unanswered.
    """
    tail = _scan(events)
    if (tail.turn, tail.step) != (turn, step):
        return []
    return _results(tail, "interrupted", len(events), events[-1].time)


def fork_seed(events: Sequence[Event], boundary: int) -> list[Event]:
    """The seed of a fork: events 0 to `boundary` inclusive, the inherited marker, and what closes the cut."""
    seed = list(events[: boundary + 1])
    marker = freeze({"inherited": True})
    seed.append(Event("session/end-seed", len(seed), seed[-1].time, marker))
    return seed + closers(seed, "forked")


def _scan(events: Sequence[Event]) -> _Tail:
    tail = _Tail()
    last_turn = next((e.seq for e in reversed(events) if e.type == "turn/start"), 0)
    for event in events[last_turn:]:  # nothing from before it can be open
        kind = event.type
        if kind == "turn/start":
            tail = _Tail(turn=event.data["turn"])
        elif kind == "turn/end":
            tail = _Tail()
        elif kind == "step/start" or kind == "step/end":
            tail.step = event.data["step"] if kind == "step/start" else None
            tail.calls = {}  # calls of a closed step are not ours to answer
        elif kind == "assistant/message":
            for block in event.data["message"]["content"]:
                if block.get("type") == "tool-call":
                    tail.calls.setdefault(block["id"], _Call(event.data["turn"], event.data["step"]))
        elif kind == "tool/call":
            call = _waiting(tail, event, event.data["callId"])
            if call is not None:
                call.started = event.seq
        elif kind == "tool/result" and event.surface_op == "append":
            call_id = event.data["message"]["toolCallId"]
            if _waiting(tail, event, call_id) is not None:
                del tail.calls[call_id]
    return tail


def _waiting(tail: _Tail, event: Event, call_id: str) -> _Call | None:
    """The call that an event speaks of: it must name the call's own turn and step."""
    call = tail.calls.get(call_id)
    if call is None or (event.data["turn"], event.data["step"]) != (call.turn, call.step):
        return None
    return call


def _results(tail: _Tail, cause: Cause, seq: int, time: int) -> list[Event]:
    return [
        _result(call_id, call, cause, seq + position, time)
        for position, (call_id, call) in enumerate(tail.calls.items())
    ]


def _result(call_id: str, call: _Call, cause: Cause, seq: int, time: int) -> Event:
    data = {
        "turn": call.turn,
        "step": call.step,
        "message": {
            "id": f"{cause}-tool-result-{call_id}-{seq}",
            "role": "tool",
            "toolCallId": call_id,
            "isError": True,
            "source": {"kind": "tool", "callId": call_id},
            "content": [{"type": "text", "text": RECOVERY_TEXT[cause, call.started is not None]}],
        },
        "error": NOT_STARTED if call.started is None else OUTCOME_UNKNOWN,
    }
    sources = None if call.started is None else (call.started,)
    return Event("tool/result", seq, time, freeze(data), "append", sources)
