"""Documents and registrations: `normalize`, `validateNative`, `register`."""

from collections.abc import Callable
from typing import Any

from engine.assembler import check_standard, read_policy, read_strategy
from tests.conformance.assembler import given as take
from tests.conformance.assembler.outcome import must_refuse, refused
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector


def normalize(vector: Vector) -> None:
    def run() -> dict[str, Any]:
        strategy = read_strategy(vector.body["input"]["preset"])
        agree("again", strategy.to_wire(), read_strategy(strategy.to_wire()).to_wire())
        return {"preset": strategy.to_wire()}

    settle(vector, run)


def validate_native(vector: Vector) -> None:
    def run() -> dict[str, Any]:
        check_standard(take.strategy(vector.body["input"]["preset"]))
        return {"ok": True}

    settle(vector, run)


def register(vector: Vector) -> None:
    def run() -> dict[str, Any]:
        given = vector.body["input"]
        callbacks = {"callbacks": given["callbacks"]} if "callbacks" in given else {}
        definition = take.definition({**given["definition"], **callbacks})
        registry = take.sources({})
        registry.register(definition)
        return {"descriptor": next(it for it in registry.listing() if it["id"] == definition.id)}

    settle(vector, run)


def normalize_policy(vector: Vector) -> None:
    settle(vector, lambda: {"policy": read_policy(vector.body["input"]["policy"]).to_wire()})


def settle(vector: Vector, run: Callable[[], Any]) -> None:
    """Compare an outcome, or a refusal, with what was recorded."""
    expected = vector.body["expect"]
    try:
        outcome = run()
    except Exception as error:
        if "error" not in expected:
            raise
        refused(expected["error"], error)
        return
    if "error" in expected:
        raise must_refuse(vector.name)
    agree("result", expected, outcome)
