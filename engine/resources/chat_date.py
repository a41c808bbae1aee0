"""When a chat's message was sent, in the five ways in which files say it. Source: spec sillytavern 7."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

__all__ = ["iso_of", "moment_of"]

_MACHINE = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})\s*@\s*(\d{1,2})h\s*(\d{1,2})m\s*(\d{1,2})s(?:\s*(\d{1,3})ms)?$"
)
_SPOKEN = "%B %d, %Y %I:%M%p"  # `June 19, 2023 2:20pm`, which names no zone: taken as UTC
_MONTHS = re.compile(
    r"(January|February|March|April|May|June|July|August|September|October|November|December) ", re.I
)
_LATEST = 253_402_300_799_999  # the last millisecond of the year 9999, the last that Python can say


def moment_of(value: Any) -> int | None:
    """Epoch ms; None for what is no date."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if 0 <= value <= _LATEST else None
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return moment_of(int(text)) if len(text) <= 15 else None
    found = _machine(text) or _spoken(text) or _iso(text)
    return None if found is None else int(found.timestamp() * 1000)


def iso_of(moment: int) -> str:
    """Epoch ms as ISO 8601 in UTC with milliseconds, as files of today have it."""
    seconds, milliseconds = divmod(moment, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"


def _machine(text: str) -> datetime | None:
    found = _MACHINE.match(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, milliseconds = (int(part or 0) for part in found.groups())
    try:
        return datetime(year, month, day, hour, minute, second, milliseconds * 1000, tzinfo=UTC)
    except ValueError:
        return None


def _spoken(text: str) -> datetime | None:
    if not _MONTHS.match(text):
        return None
    try:
        return datetime.strptime(text, _SPOKEN).replace(tzinfo=UTC)
    except ValueError:
        return None


def _iso(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
