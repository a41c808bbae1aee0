"""Reads the values of a JSON object that people wrote by hand and tools wrote badly.

Each reader returns a value of the promised type, notes the repair it made, and refuses
only what no repair can save. Source: spec sillytavern 1.3, the list of malformed cards.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostics

__all__ = ["Fields", "clean_text", "visible_line"]

# Control characters that no prompt and no Discord message wants; tab and newline stay.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Overrides and isolates reach beyond their own text and would turn a whole chat line around.
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_TRUE = {"true", "1", "yes", "on"}
_FALSE = {"false", "0", "no", "off", ""}


def clean_text(text: str) -> str:
    """The text with one kind of line end and without control characters."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", text)


def visible_line(text: str) -> str:
    """One trimmed line; empty when nothing of it could be seen. Marks that turn writing around are left out.

    Joiners stay: emoji and several scripts are made with them.
    """
    line = " ".join(_DIRECTIONS.sub("", clean_text(text)).split())
    seen = any(unicodedata.category(sign) not in ("Cf", "Mn", "Zs") for sign in line)
    return line if seen else ""


class Fields:
    """One JSON object at a path. `invalid` is the code of a refusal that names the field."""

    def __init__(self, source: JsonObject, path: str, notes: Diagnostics, invalid: str) -> None:
        self.source = source
        self.path = path
        self.notes = notes
        self._invalid = invalid

    def __contains__(self, key: str) -> bool:
        return key in self.source

    def where(self, key: str) -> str:
        """The path of a field, as people read it."""
        return f"{self.path}.{key}" if self.path else key

    def text(self, key: str, default: str = "", *, loose: bool = False) -> str:
        """A text; null is empty. A number or flag becomes text when `loose`, else it is refused."""
        value = self.source.get(key)
        if value is None:
            if key in self.source:
                self.notes.info("null-text", "null was read as empty text.", self.where(key))
            return default
        if isinstance(value, str):
            cleaned = clean_text(value)
            if cleaned != value.replace("\r\n", "\n"):
                self.notes.info("control-characters", "Control characters were left out.", self.where(key))
            return cleaned
        if loose and isinstance(value, int | float):
            self.notes.info("number-as-text", "A number was read as text.", self.where(key))
            return str(value)
        raise self.refusal(key, "must be text", value)

    def texts(self, key: str, *, comma: bool = False) -> tuple[str, ...]:
        """A list of texts. One text is a list of one, or of its comma parts when `comma`."""
        value = self.source.get(key)
        if value is None:
            if key in self.source:
                self.notes.info("null-list", "null was read as an empty list.", self.where(key))
            return ()
        if isinstance(value, str):
            self.notes.warn("text-as-list", "One text stood where a list belongs.", self.where(key))
            parts = value.split(",") if comma else [value]
            return tuple(clean_text(part.strip()) for part in parts if part.strip())
        if isinstance(value, Mapping):
            self.notes.warn("object-as-list", "An object stood where a list belongs.", self.where(key))
            value = list(value.values())
        if not isinstance(value, list):
            raise self.refusal(key, "must be a list of texts", value)
        found = [clean_text(str(item)) for item in value if _is_textual(item)]
        if len(found) != len(value):
            self.notes.warn("list-item-dropped", "Items that are no text were left out.", self.where(key))
        return tuple(found)

    def number(self, key: str, default: float | None = None) -> float | None:
        """A finite number; one written as text is taken, anything else becomes the default with a note."""
        value = self.source.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            self.notes.warn("coerced-number", "A flag stood where a number belongs.", self.where(key))
            return float(value)
        if isinstance(value, int | float):
            return value
        if isinstance(value, str):
            try:
                number = float(value.strip())
            except ValueError:
                number = math.nan
            if math.isfinite(number):
                self.notes.info("coerced-number", "A number was written as text.", self.where(key))
                return number
        self.notes.warn("invalid-number", "This is no number and was ignored.", self.where(key))
        return default

    def integer(self, key: str, default: int | None = None) -> int | None:
        """A whole number, rounded toward zero; see `number`."""
        number = self.number(key)
        return default if number is None else int(number)

    def flag(self, key: str, default: bool) -> bool:
        """A flag; null and what cannot be read are the default."""
        found = self.tristate(key)
        return default if found is None else found

    def tristate(self, key: str) -> bool | None:
        """A flag that may be absent: None then."""
        value = self.source.get(key)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return bool(value)
        word = value.strip().lower() if isinstance(value, str) else None
        if word in _TRUE or word in _FALSE:
            self.notes.info("coerced-flag", "A flag was written as text.", self.where(key))
            return word in _TRUE
        self.notes.warn("invalid-flag", "This is no flag and was ignored.", self.where(key))
        return None

    def object(self, key: str) -> JsonObject:
        """An object; null, absent and what is no object are an empty one."""
        value = self.source.get(key)
        if isinstance(value, Mapping):
            return value
        if value is not None and value != []:
            self.notes.warn("invalid-object", "This is no object and was ignored.", self.where(key))
        return {}

    def child(self, key: str) -> Fields:
        """The readers of the object at `key`."""
        return Fields(self.object(key), self.where(key), self.notes, self._invalid)

    def refusal(self, key: str, rule: str, value: Any) -> ResourceError:
        """The error for a field that cannot be mended; its `field` is the path."""
        found = {dict: "an object", list: "a list", bool: "a flag", int: "a number", float: "a number"}
        name = found.get(type(value), "something else")
        return ResourceError(
            f"The field {self.where(key)} {rule}, but it is {name}.",
            code=self._invalid,
            field=self.where(key),
        )


def _is_textual(item: object) -> bool:
    return isinstance(item, str | int | float) and not isinstance(item, bool)
