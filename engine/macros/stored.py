"""The macros of variables, and the operators of `{{.x}}` and `{{$x}}`. Spec sillytavern 4.2 and 4.3."""

from __future__ import annotations

import math
from collections.abc import Callable

from engine.macros.definition import Definition, Function, Run, Table
from engine.macros.nodes import Macro, Store, Variable
from engine.macros.numerals import number_of
from engine.macros.variables import truthy

__all__ = ["VARIABLES", "operate"]

_LONG = "MACRO_VARIABLE_TOO_LONG"


def _get(store: Store) -> Function:
    return lambda run, macro, args: run.variables.text(store, args[0])


def _set(store: Store) -> Function:
    def set_(run: Run, macro: Macro, args: list[str]) -> str:
        if not run.variables.set(store, args[0], args[1]):
            run.note(_LONG, macro, variable=args[0])
        return ""

    return set_


def _added(run: Run, macro: Macro, store: Store, name: str, text: str) -> str:
    result = run.variables.add(store, name, text)
    if result is None:
        run.note(_LONG, macro, variable=name)
    return result or ""


def _add(store: Store) -> Function:
    def add(run: Run, macro: Macro, args: list[str]) -> str:
        _added(run, macro, store, args[0], args[1])
        return ""

    return add


def _step(store: Store, step: str) -> Function:
    return lambda run, macro, args: _added(run, macro, store, args[0], step)


def _has(store: Store) -> Function:
    return lambda run, macro, args: _truth(run.variables.has(store, args[0]))


def _delete(store: Store) -> Function:
    def delete(run: Run, macro: Macro, args: list[str]) -> str:
        run.variables.delete(store, args[0])
        return ""

    return delete


def _table() -> dict[str, Definition]:
    table: dict[str, Definition] = {}
    stores: tuple[tuple[str, Store], ...] = (("", "local"), ("global", "global"))
    for infix, store in stores:
        table[f"get{infix}var"] = Definition(1, 1, _get(store))
        table[f"set{infix}var"] = Definition(2, 2, _set(store))
        table[f"add{infix}var"] = Definition(2, 2, _add(store))
        table[f"inc{infix}var"] = Definition(1, 1, _step(store, "1"))
        table[f"dec{infix}var"] = Definition(1, 1, _step(store, "-1"))
        for name in (f"has{infix}var", f"{infix}varexists"):
            table[name] = Definition(1, 1, _has(store))
        for name in (f"delete{infix}var", f"flush{infix}var"):
            table[name] = Definition(1, 1, _delete(store))
    return table


VARIABLES: Table = _table()


# Operators


def operate(run: Run, variable: Variable) -> str:
    """What `{{.x}}`, `{{.x = y}}` and their kind say. The right side is evaluated only if it is needed."""
    variables, store, name = run.variables, variable.store, variable.name
    operator = variable.operator
    if not operator:
        return variables.text(store, name)
    if operator in ("++", "--"):
        return _grown(run, variable, "1" if operator == "++" else "-1")
    if operator in ("||", "||=", "??", "??="):
        has = truthy(variables.text(store, name)) if operator[0] == "|" else variables.has(store, name)
        if has:
            return variables.text(store, name)
        right = _right(run, variable)
        if operator[-1] == "=":
            _assign(run, variable, right)
        return right
    right = _right(run, variable)
    if operator == "=":
        _assign(run, variable, right)
    elif operator == "+=":
        _grown(run, variable, right)
    elif operator == "-=":
        variables.subtract(store, name, right)
    else:
        return _truth(_COMPARISONS[operator](variables.text(store, name), right))
    return ""


def _right(run: Run, variable: Variable) -> str:
    return run.value(variable.value) if variable.value else ""


def _assign(run: Run, variable: Variable, text: str) -> None:
    if not run.variables.set(variable.store, variable.name, text):
        run.note(_LONG, variable, variable=variable.name)


def _grown(run: Run, variable: Variable, text: str) -> str:
    result = run.variables.add(variable.store, variable.name, text)
    if result is None:
        run.note(_LONG, variable, variable=variable.name)
    return result or ""


def _equal(left: str, right: str) -> bool:
    """Equal texts, or equal numbers: `7` is `007`."""
    number = number_of(left) if left and right else math.nan
    return left == right or number == number_of(right)


_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    # Comparisons with NaN are false in Python as in JavaScript.
    ">": lambda left, right: number_of(left) > number_of(right),
    ">=": lambda left, right: number_of(left) >= number_of(right),
    "<": lambda left, right: number_of(left) < number_of(right),
    "<=": lambda left, right: number_of(left) <= number_of(right),
}


def _truth(value: bool) -> str:
    return "true" if value else "false"
