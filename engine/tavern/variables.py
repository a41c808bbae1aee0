"""What macros remember: a story's own variables, and those of its library.

The story's own (`{{setvar}}`) are never stored. Each step whose texts changed one leaves a record in the
session's log, when it is admitted; the records that stand there, inherited ones included, fold to
the values at that point. So a fork, a swipe or a rewind has what was true where it was cut. The library's
(`{{setglobalvar}}`) are in a table. Source: spec sillytavern 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.macros import Value, Variables
from engine.resources import Diagnostics

__all__ = ["VARIABLES_RECORD", "VariableChanges", "changes_of", "fold_variables"]

VARIABLES_RECORD: Final = "plugin:tavern/variables"
"""`{set: {name: value}, gone: [name]}`: what the texts of an admitted step made of the story's variables."""

MAX_VARIABLES: Final = 1_000  # of one story, and of one library; the most that cards in the wild use is 60
MAX_CHARACTERS: Final = 1024 * 1024  # of their names and values together


@dataclass(frozen=True, slots=True)
class VariableChanges:
    """What a rendering changed, by name; None takes a variable away. `shared` are the library's."""

    local: Mapping[str, Value | None] = field(default_factory=dict)
    shared: Mapping[str, Value | None] = field(default_factory=dict)

    def record(self) -> dict[str, Any] | None:
        """What the log must keep; None when the story's variables are as they were."""
        if not self.local:
            return None
        return {
            "set": {name: value for name, value in self.local.items() if value is not None},
            "gone": sorted(name for name, value in self.local.items() if value is None),
        }


def changes_of(
    variables: Variables, local: Mapping[str, Value], shared: Mapping[str, Value], notes: Diagnostics
) -> VariableChanges:
    """What was written that differs from what there was. Where there is no room, a new value is forgotten."""
    written: dict[str, dict[str, Value | None]] = {"local": {}, "global": {}}
    for (store, name), value in variables.final().items():
        written[store][name] = value
    return VariableChanges(
        _fitting(written["local"], local, notes), _fitting(written["global"], shared, notes)
    )


def fold_variables(records: Iterable[Mapping[str, Any]]) -> dict[str, Value]:
    """The values after the records of one branch, oldest first. What is no record changes nothing."""
    values: dict[str, Value] = {}
    for record in records:
        for name in record.get("gone", ()):
            values.pop(name, None)
        values |= record.get("set", {})
    return values


def _fitting(
    written: Mapping[str, Value | None], given: Mapping[str, Value], notes: Diagnostics
) -> dict[str, Value | None]:
    count = len(given)
    room = MAX_CHARACTERS - sum(_length(name, value) for name, value in given.items())
    kept: dict[str, Value | None] = {}
    for name, value in written.items():
        old = given.get(name)
        if value == old:
            continue
        more = _length(name, value) - _length(name, old)
        if more > max(room, 0) or (old is None and count >= MAX_VARIABLES):
            notes.warn(
                "MACRO_VARIABLES_FULL", "There are too many variables to remember “{name}”.", name=name
            )
            continue
        count += (value is not None) - (old is not None)
        room -= more
        kept[name] = value
    return kept


def _length(name: str, value: Value | None) -> int:
    return 0 if value is None else len(name) + len(str(value))
