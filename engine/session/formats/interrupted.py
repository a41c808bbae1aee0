"""Turns that early versions left open when they were restarted.

Source: session spec 5.2 (an interrupted turn/end may be inserted).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.session.formats.log import Wire

__all__ = ["interrupted_turns"]


def interrupted_turns(events: Sequence[Wire]) -> Mapping[int, Wire]:
    """The missing `turn/end` events by the seq before which each belongs.

    Recognised by what a restart wrote: something put into the next turn, and then that turn's start,
    while the turn before it was open and had no open step.
    """
    missing: dict[int, Wire] = {}
    turn: Any = None
    step: Any = None
    previous: Wire | None = None
    for event in events:
        kind, data = event["type"], event["data"]
        if kind == "turn/start":
            if turn is not None and step is None and data["turn"] == turn + 1 and _queued_input(previous):
                end = {"turn": turn, "reason": {"kind": "interrupted"}}
                missing[event["seq"]] = {"type": "turn/end", "time": event["time"], "data": end}
            turn, step = data["turn"], None
        elif kind == "turn/end":
            turn = step = None
        elif kind == "step/start":
            step = data["step"]
        elif kind == "step/end":
            step = None
        previous = event
    return missing


def _queued_input(event: Wire | None) -> bool:
    return (
        event is not None
        and event["type"] == "agent/inbox/spliced"
        and event["data"]["target"] == "next-turn"
        and bool(event["data"]["inserted"])
    )
