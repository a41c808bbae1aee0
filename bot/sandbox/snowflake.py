"""Time and ids of the wire-level Discord.

A snowflake is a 64-bit number whose upper 42 bits are milliseconds since 2015.
Clients rely on id order being time order (history paging, catch-up), so ours are
strictly increasing even when many are made in one millisecond or the clock steps back.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["EPOCH_MS", "Clock", "Snowflakes", "iso", "ms_of"]

EPOCH_MS = 1_420_070_400_000
_SHIFT = 22  # the low 22 bits are worker and counter; we use them all as counter


class Clock:
    """Wall time that a test can push forward (tokens, link expiry, the one-hour edit rule)."""

    def __init__(self) -> None:
        self._offset_ms = 0

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000 + self._offset_ms

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass at once. Timers of the event loop are not touched."""
        self._offset_ms += int(seconds * 1000)


class Snowflakes:
    """Makes ids that are unique and strictly increasing, also after a restart (see `seen`)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def new(self) -> str:
        """A fresh id, greater than every id made or seen before."""
        at_time = (self._clock.now_ms() - EPOCH_MS) << _SHIFT
        self._last = max(at_time, self._last + 1)
        return str(self._last)

    def seen(self, snowflake: str) -> None:
        """Count a stored id as made, so that new ones come after it."""
        self._last = max(self._last, int(snowflake))


def ms_of(snowflake: str) -> int:
    """When the id was made, in milliseconds since 1970."""
    return (int(snowflake) >> _SHIFT) + EPOCH_MS


def iso(ms: int) -> str:
    """The timestamp format of Discord's payloads."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="microseconds")
