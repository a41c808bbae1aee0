"""paging: one shared log, many requests.

The recordings leave out events of their shared log, which no log of ours can. Where a turn's grammar says
what stood there (see `completed`), that is put back; what it cannot say becomes a record that nobody counts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from engine.errors import EngineError
from engine.session import Event, TurnWindow, assistant_message, freeze, page
from tests.conformance.compare import agree, category_of
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    events = [Event.from_wire(freeze(event)) for event in completed(vector.document["events"])]
    expect = vector.body["expect"]
    try:
        found = page(events, **_arguments(vector.body["request"]))
    except EngineError as error:
        agree("ok", expect["ok"], False)
        agree("category", expect["error"]["category"], category_of(error))
        return
    agree("ok", expect["ok"], True)
    seqs = [event.seq for event in found.events]
    agree("firstSeq", expect["firstSeq"], seqs[0] if seqs else None)
    agree("lastSeq", expect["lastSeq"], seqs[-1] if seqs else None)
    agree("count", expect["count"], len(seqs))
    agree("hasMore", expect["hasMore"], found.has_more)


def _arguments(request: dict[str, Any]) -> dict[str, Any]:
    names = {"throughSeq": "through_seq", "beforeSeq": "before_seq", "maxMessages": "max_messages"}
    arguments = {names[key]: value for key, value in request.items() if key != "turnWindow"}
    if "turnWindow" in request:
        window = request["turnWindow"]
        arguments["turn_window"] = TurnWindow(window["minMessages"], window["minTurns"])
    return arguments


Wire = Mapping[str, Any]


def completed(recorded: Sequence[Wire]) -> list[Wire]:
    """The log without its holes: each is filled by the event that a turn must have there."""
    by_seq = {event["seq"]: event for event in recorded}
    last = max(by_seq, default=-1)
    events: list[Wire] = []
    for seq in range(last + 1):
        events.append(by_seq.get(seq) or _filler(seq, events, by_seq.get(seq + 1, _NOTHING)))
    return events


_NOTHING: Final[Wire] = {"type": ""}


def _filler(seq: int, before: Sequence[Wire], after: Wire) -> Wire:
    previous = before[-1] if before else _NOTHING
    build = _GRAMMAR.get((previous["type"], after["type"])) or _GRAMMAR.get((previous["type"], "*"))
    return {"seq": seq, "time": seq, **(build(before, after) if build is not None else _RECORD)}


_RECORD: Final[Wire] = {"type": "plugin:recording/left-out", "data": {}, "ignorable": True}


def _turn_of(before: Sequence[Wire]) -> int:
    """The open turn, or the last one."""
    return next((int(e["data"]["turn"]) for e in reversed(before) if e["type"].startswith("turn/")), 0)


def _turn_start(before: Sequence[Wire], after: Wire) -> Wire:
    return {"type": "turn/start", "data": {"turn": after["data"]["turn"]}}


def _step_start(before: Sequence[Wire], after: Wire) -> Wire:
    return {"type": "step/start", "data": {"turn": _turn_of(before), "step": 1}}


def _answer(before: Sequence[Wire], after: Wire) -> Wire:
    message = assistant_message(f"a{len(before)}", "answer", provider="p", model="m")
    data = {"turn": _turn_of(before), "step": after["data"]["step"], "message": message, "stream": []}
    return {"type": "assistant/message", "data": data, "surfaceOp": "append"}


_GRAMMAR: Final[Mapping[tuple[str, str], Callable[[Sequence[Wire], Wire], Wire]]] = {
    ("turn/start", "*"): _step_start,
    ("user/message", "step/end"): _answer,
    ("turn/end", "step/start"): _turn_start,
}
"""What stands between two events, by their types."""
