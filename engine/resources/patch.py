"""Checking what an edit wants to set: known fields only, each of its type, nothing half done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from engine.errors import ResourceError
from engine.resources.fields import clean_text

__all__ = ["Check", "checked", "flag", "number", "one_of", "text", "texts", "whole"]

Check: TypeAlias = Callable[[str, object], Any]
"""`check(field, value)` gives the value to write; raises ResourceError FIELD_INVALID (data: field)."""


def checked(patch: Mapping[str, object], known: Mapping[str, Check]) -> dict[str, Any]:
    """The patch's values, each checked. Raises ResourceError FIELD_UNKNOWN or FIELD_INVALID."""
    for field in patch:
        if field not in known:
            raise ResourceError(
                f"“{field[:80]}” is no field that can be edited.", code="FIELD_UNKNOWN", field=field[:80]
            )
    return {field: known[field](field, value) for field, value in patch.items()}


def text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise _invalid(field, "must be text")
    return clean_text(_storable(field, value))


def texts(field: str, value: object) -> list[str]:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise _invalid(field, "must be a list of texts")
    return [text(field, item) for item in value]


def flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _invalid(field, "is either on or off")
    return value


def one_of(*values: str) -> Check:
    def check(field: str, value: object) -> str:
        if not isinstance(value, str) or value not in values:
            raise _invalid(field, "is one of: " + ", ".join(values))
        return value

    return check


def whole(low: int, high: int, *, optional: bool = False) -> Check:
    def check(field: str, value: object) -> int | None:
        if value is None and optional:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _invalid(field, f"must be a whole number from {low} to {high:,}")
        return value

    return check


def number(low: float, high: float, *, optional: bool = False) -> Check:
    def check(field: str, value: object) -> float | None:
        if value is None and optional:
            return None
        # The comparison is false for NaN, which is no number that a file can hold.
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise _invalid(field, f"must be a number from {low:g} to {high:g}")
        return value

    return check


def _storable(field: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _invalid(field, "holds broken characters") from None
    return value


def _invalid(field: str, rule: str) -> ResourceError:
    return ResourceError(f"The field {field} {rule}.", code="FIELD_INVALID", field=field)
