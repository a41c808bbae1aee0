"""The companion: turns enclose steps, steps enclose what happens in them, results follow calls.

The lighter of the two validators; `relations` is the strict one. Source: session spec 6.1; seed 002, 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from engine.errors import AppendRefused
from engine.session.consistency import message_of
from engine.session.event import Event
from engine.session.surface import Surface, is_append_event

__all__ = ["Companion", "Position"]

_STEP_SCOPED: Final = frozenset(
    {"system/message", "developer/message", "assistant/message", "assistant/attempt", "tool/call"}
)
_TURN_SCOPED: Final = frozenset({"request/header", "request/context"})


class Position:
    """Where a log stands: its open turn and step, and the last numbers that were given.

    Turns count from 1 through the whole log, steps from 1 in each turn.
    """

    __slots__ = ("last_step", "last_turn", "step", "turn")

    def __init__(self) -> None:
        self.turn: int | None = None
        self.step: int | None = None
        self.last_turn = 0
        self.last_step = 0

    def objection(self, event: Event) -> str | None:
        """Why the event cannot stand here; None when it can. Changes nothing."""
        kind, data = event.type, event.data
        turn, step = _numbers(data)
        if kind == "turn/start":
            if self.turn is not None:
                return f"turn {self.turn} is still open"
            return None if turn == self.last_turn + 1 else f"the next turn is {self.last_turn + 1}"
        if kind == "turn/end":
            if turn is None or turn != self.turn:
                return f"the open turn is {self.turn}"
            return None if self.step is None else f"step {self.step} is still open"
        if kind == "step/start":
            if turn is None or turn != self.turn:
                return f"the open turn is {self.turn}"
            if self.step is not None:
                return f"step {self.step} is still open"
            return None if step == self.last_step + 1 else f"the next step is {self.last_step + 1}"
        if kind == "step/end" or kind in _STEP_SCOPED or (kind == "tool/result" and is_append_event(event)):
            if turn is None or step is None or (turn, step) != (self.turn, self.step):
                return f"turn {self.turn} and step {self.step} are open"
        elif self.turn is None and (kind == "tool/result" or kind in _TURN_SCOPED):
            return "no turn is open"
        return None

    def advance(self, event: Event) -> None:
        """Follow an event that was accepted."""
        if event.type == "turn/start":
            self.turn = self.last_turn = event.data["turn"]
            self.step, self.last_step = None, 0
        elif event.type == "turn/end":
            self.turn = None
        elif event.type == "step/start":
            self.step = self.last_step = event.data["step"]
        elif event.type == "step/end":
            self.step = None


class Companion:
    """Execution relations of one session. A factory of validators: `Sessions(validators=[Companion])`."""

    def __init__(self, surface: Surface, history: Sequence[Event]) -> None:
        self._position = Position()
        self._calls: set[str] = set()

    def check(self, event: Event) -> None:
        """Raises AppendRefused(category='invariant')."""
        objection = self._position.objection(event)
        if objection is not None:
            _veto(event, objection)
        if event.type == "tool/call" and type(event.data.get("callId")) is not str:
            _veto(event, "it names no call")
        if event.type == "tool/result" and is_append_event(event):
            call_id = _answered(event)
            if call_id not in self._calls and not _never_started(event):
                _veto(event, f"no call {call_id} waits in this step")

    def accept(self, event: Event) -> None:
        self._position.advance(event)
        if event.type == "tool/call":
            self._calls.add(event.data["callId"])
        elif event.type == "tool/result" and is_append_event(event):
            self._calls.discard(_answered(event))
        elif event.type == "step/end":
            self._calls.clear()

    def resume(self, events: Sequence[Event]) -> None:
        for event in events:
            self.accept(event)


def _answered(event: Event) -> str:
    """The call that a result answers; empty when it names none."""
    message = message_of(event)
    call_id = message.get("toolCallId") if isinstance(message, Mapping) else None
    return call_id if isinstance(call_id, str) else ""


def _never_started(event: Event) -> bool:
    """Whether the result says that its call never ran."""
    message, error = message_of(event), event.data.get("error")
    return (
        isinstance(message, Mapping)
        and message.get("isError") is True
        and isinstance(error, Mapping)
        and error.get("code") == "TOOL_NOT_STARTED"
    )


def _numbers(data: object) -> tuple[int | None, int | None]:
    if not isinstance(data, Mapping):
        return None, None
    turn, step = data.get("turn"), data.get("step")
    return (turn if type(turn) is int else None), (step if type(step) is int else None)


def _veto(event: Event, why: str) -> NoReturn:
    raise AppendRefused(f"{event.type} at seq {event.seq}: {why}", category="invariant", seq=event.seq)
