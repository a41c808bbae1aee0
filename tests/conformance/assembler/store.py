"""The library of strategies and what sessions use."""

from collections.abc import Sequence
from typing import Any

from engine.assembler import (
    Applied,
    Mode,
    Shelf,
    apply_strategy,
    inherit,
    read_strategy,
    remove_strategy,
    save_strategy,
    selection,
    strategy_of,
)
from engine.errors import AssemblyError
from tests.conformance.assembler.outcome import must_refuse, refused
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    given = vector.body["input"]
    stage = _Stage(Shelf(unified=given["unified"]))
    for number, (step, expected) in enumerate(
        zip(given["steps"], vector.body["expect"]["results"], strict=True)
    ):
        where = f"step {number} {step[0]}"
        try:
            outcome = stage.do(step)
        except AssemblyError as error:
            if "error" not in expected:
                raise
            refused(expected["error"], error)
            continue
        if "error" in expected:
            raise must_refuse(where)
        agree(where, expected, outcome)


class _Stage:
    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.mode: Mode = "native"

    def do(self, step: Sequence[Any]) -> dict[str, Any]:
        match step:
            case ["save" | "saveAs" | "update", name, document]:
                self.shelf = save_strategy(self.shelf, _name(name), read_strategy(document))
                return {"name": strategy_of(self.shelf, _name(name)).name}
            case ["get", name]:
                return {"name": strategy_of(self.shelf, _name(name)).name}
            case ["remove", name]:
                self.shelf = remove_strategy(self.shelf, _name(name))
            case ["apply", session, name]:
                chosen = None if name is None else _name(name)
                self.shelf = apply_strategy(self.shelf, session, chosen, mode=self.mode)
                return self._selection(session)
            case ["selection", session]:
                return self._selection(session)
            case ["copy", parent, child]:
                self.shelf = inherit(self.shelf, parent, child, mode=self.mode)
            case ["mode", mode]:
                self.mode = mode or "native"
            case ["list"]:
                return {"ids": [_symbol(name) for name in self.shelf.ids]}
            case ["restart"]:
                self.shelf = _stored(self.shelf)
            case _:
                raise AssertionError(f"an operation that is not known: {step}")
        return {"ok": True}

    def _selection(self, session: str) -> dict[str, Any]:
        applied = selection(self.shelf, session, mode=self.mode)
        told = None if applied is None else {"id": _symbol(applied.id), "name": applied.strategy.name}
        return {"selection": told}


def _stored(shelf: Shelf) -> Shelf:
    """The shelf as it comes back from what is stored: documents."""
    saved = {name: read_strategy(it.to_wire()) for name, it in shelf.saved.items()}
    selections = {
        key: None if it is None else Applied(it.id, read_strategy(it.strategy.to_wire()))
        for key, it in shelf.selections.items()
    }
    return Shelf(saved=saved, selections=selections, unified=shelf.unified)


def _name(symbol: str) -> str:
    """An id for a symbolic one; others as they are."""
    return f"user-{symbol[1:]}" if symbol.startswith("$") else symbol


def _symbol(name: str) -> str:
    return f"${name.removeprefix('user-')}" if name.startswith("user-") else name
