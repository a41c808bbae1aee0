"""stored: whole logs at the storage read boundary."""

from engine.errors import EngineError
from engine.session import check_log
from tests.conformance.compare import agree, category_of
from tests.conformance.session.recovery import worded
from tests.conformance.vectors import Vector, decoded


def run(vector: Vector) -> None:
    body = decoded(worded(vector.body))
    expect = body["expect"]
    try:
        check_log(body["header"]["id"], body["header"], body["inheritedEventCount"], body["events"])
    except EngineError as error:
        agree("ok", expect["ok"], False)
        agree("category", expect["error"]["category"], category_of(error))
    else:
        agree("ok", expect["ok"], True)
