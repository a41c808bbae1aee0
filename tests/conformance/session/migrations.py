"""migrations: stored headers and rows of any format, read as the current one."""

from engine.errors import EngineError
from engine.session.formats import migrate
from tests.conformance.compare import agree, category_of
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    expect = vector.body["expect"]
    try:
        log = migrate(vector.body["header"], vector.body["rows"])
    except EngineError as error:
        agree("ok", expect["ok"], False)
        agree("category", expect["error"]["category"], category_of(error))
        return
    agree("ok", expect["ok"], True)
    agree("header", expect["header"], log.header)
    agree("inheritedEventCount", expect["inheritedEventCount"], log.inherited)
    agree("number of events", len(expect["events"]), len(log.events))
    for recorded, event in zip(expect["events"], log.events, strict=True):
        agree(f"event {recorded['seq']}", recorded, event)
