"""What our importer should do with each file: take it, take it with a warning, or refuse it."""

from engine.errors import ResourceError
from engine.resources import read_card
from tests.conformance.compare import Mismatch, agree
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    path, recorded = vector.body["path"], vector.body["recorded"]
    try:
        card = read_card(path.read_bytes(), path.name)
    except ResourceError as error:
        if recorded["ours"] != "reject" or not error.message:
            raise Mismatch("outcome", recorded["ours"], error.message) from error
        return
    if recorded["ours"] == "reject":
        raise Mismatch("outcome", "reject", card.name)
    if recorded["name"] is not None:
        agree("name", recorded["name"], card.name)
    if recorded["ours"] == "accept_with_warning" and not card.warnings:
        raise Mismatch("warnings", "at least one", [])
