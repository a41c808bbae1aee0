"""paging: one shared log, many requests."""

from typing import Any

from engine.errors import EngineError
from engine.session import Event, TurnWindow, freeze, page
from tests.conformance.compare import agree, category_of
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    events = [Event.from_wire(freeze(event)) for event in vector.document["events"]]
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
