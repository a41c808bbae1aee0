"""Variables of macros: read from the stores the caller gives, written to an overlay only.

What was written is a list of effects, in order, for the caller to log and apply; the stores
themselves are never touched. One `Variables` may serve many texts in a row, which then see
each other's writes. Source: spec sillytavern 4.2 and 4.3.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from engine.macros.nodes import Store
from engine.macros.numerals import BLANK, number_of, number_text, stored_number

__all__ = ["MAX_NAME", "MAX_VALUE", "Value", "VariableWrite", "Variables", "truthy"]

MAX_VALUE = 64 * 1024  # characters; a longer value is no variable any more, and it doubles at each `+=`
MAX_NAME = 256
MAX_WRITTEN = 4 * 1024 * 1024  # characters of all writes together: each effect keeps its own value

Value: TypeAlias = str | int | float
_FALSY = frozenset({"", "off", "false", "0"})


@dataclass(frozen=True, slots=True)
class VariableWrite:
    """One write: `store` is `local` (the story) or `global`; a value of None deletes."""

    store: Store
    name: str
    value: Value | None


class Variables:
    """The two stores as the macros of a run see them."""

    def __init__(
        self,
        local: Mapping[str, object] | None = None,
        global_: Mapping[str, object] | None = None,
    ) -> None:
        self._given: dict[Store, Mapping[str, object]] = {"local": local or {}, "global": global_ or {}}
        self._written: dict[tuple[Store, str], Value | None] = {}
        self._room = MAX_WRITTEN
        self.effects: list[VariableWrite] = []

    def has(self, store: Store, name: str) -> bool:
        """Whether the variable exists, with whatever value."""
        return self._value(store, name) is not None

    def text(self, store: Store, name: str) -> str:
        """The value as a text: numeric texts in their shortest form (`007` is `7`), missing is empty."""
        text = _text(self._value(store, name))
        number = number_of(text) if text.strip(BLANK) else math.nan
        return text if math.isnan(number) else number_text(number)

    def final(self) -> dict[tuple[Store, str], Value | None]:
        """What the effects come to: the last value of each variable that was written."""
        return dict(self._written)

    def set(self, store: Store, name: str, value: Value) -> bool:
        """Write. False, and nothing happens, when the name, the value or all writes are too long."""
        length = len(value) if isinstance(value, str) else 0
        if len(name) > MAX_NAME or length > min(MAX_VALUE, self._room):
            return False
        self._room -= length
        self._write(VariableWrite(store, name, value))
        return True

    def delete(self, store: Store, name: str) -> None:
        """Remove; nothing happens when there is none."""
        if self.has(store, name):
            self._write(VariableWrite(store, name, None))

    def add(self, store: Store, name: str, text: str) -> str | None:
        """Append to a JSON list, add two numbers, or join two texts.

        Returns the new value as a text, or None when it would be too long.
        """
        current = self.text(store, name)
        if len(current) + len(text) > min(MAX_VALUE, self._room):
            return None  # before a long list is read for nothing
        value = _sum(current, text)
        return _text(value) if self.set(store, name, value) else None

    def subtract(self, store: Store, name: str, text: str) -> None:
        """Subtract; nothing happens unless both are numbers."""
        difference = number_of(_text(self._value(store, name))) - number_of(text)
        if math.isfinite(difference):
            self.set(store, name, stored_number(difference))

    def _value(self, store: Store, name: str) -> object:
        key = (store, name)
        return self._written[key] if key in self._written else self._given[store].get(name)

    def _write(self, write: VariableWrite) -> None:
        self._written[write.store, write.name] = write.value
        self.effects.append(write)


def truthy(text: str) -> bool:
    """Whether a condition holds: anything but nothing, `off`, `false` and `0`."""
    return text.strip(BLANK).lower() not in _FALSY


def _sum(current: str, text: str) -> Value:
    items = _list(current)
    if items is not None:
        return json.dumps([*items, text], ensure_ascii=False, separators=(",", ":"))
    total = number_of(current) + number_of(text)
    if math.isfinite(total):
        return stored_number(total)
    if not math.isnan(total):
        return number_text(total)
    zero = not current.strip(BLANK) or number_of(current) == 0
    return text if zero else current + text


def _list(text: str) -> list[object] | None:
    """The items when the text is a JSON list."""
    if not text.lstrip(BLANK).startswith("["):
        return None
    try:
        value = json.loads(text, parse_constant=_no_json, parse_float=_number)
    except (ValueError, RecursionError):  # no JSON, or deeper than anybody writes
        return None
    return value if isinstance(value, list) else None


def _no_json(name: str) -> NoReturn:
    raise ValueError(name)


def _number(text: str) -> int | float:
    number = float(text)
    if math.isinf(number):
        _no_json(text)
    return stored_number(number)


def _text(value: object) -> str:
    """A stored value as JavaScript would print it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        try:
            return number_text(float(value))
        except OverflowError:
            return number_text(math.inf)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
