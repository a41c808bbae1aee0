"""seqranges: the compact stored form of source lists."""

from engine.errors import EngineError
from engine.session import seqranges
from tests.conformance.compare import agree, category_of
from tests.conformance.vectors import Vector, decoded


def run(vector: Vector) -> None:
    work = {"encode": seqranges.encode, "decode": seqranges.decode}[vector.body["op"]]
    expect = vector.body["expect"]
    try:
        value = work(decoded(vector.body["input"]))
    except EngineError as error:
        agree("ok", expect["ok"], False)
        agree("category", expect["error"]["category"], category_of(error))
    else:
        agree("ok", expect["ok"], True)
        agree("value", expect["value"], value)
