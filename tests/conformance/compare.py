"""Saying where a recording and our behaviour part."""

from typing import Any

from engine.errors import AppendRefused, EngineError
from engine.session import thaw


class Mismatch(AssertionError):
    """The place, what was recorded there, and what we have."""

    def __init__(self, where: str, expected: Any, actual: Any) -> None:
        super().__init__(f"{where}\n    expected {expected!r}\n    actual   {actual!r}")


def agree(where: str, expected: Any, actual: Any) -> None:
    """Raise Mismatch unless the two are equal as JSON."""
    actual = thaw(actual)
    if expected != actual:
        raise Mismatch(where, expected, actual)


def category_of(error: Exception) -> str | None:
    """The machine slug of a refusal, under the name that the recordings use."""
    if isinstance(error, AppendRefused):
        return error.category
    if isinstance(error, EngineError):
        slug = error.data.get("category")
        return slug if isinstance(slug, str) else None
    # FrozenDict and tuple refuse with TypeError, frozen dataclasses with AttributeError.
    return "frozen" if isinstance(error, (TypeError, AttributeError)) else None
