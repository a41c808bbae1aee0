"""What the bot asked of Discord, for assertions and for the page's network panel."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from bot.sandbox.store import Record

__all__ = ["Request", "RequestLog"]

_KEPT = 5000  # enough for any test, and an hour of play on the page
_RATE_WINDOW_S = 5.0  # the window of Discord's own edit bucket


@dataclass(frozen=True, slots=True)
class Request:
    """One request: when (seconds since 1970), what, and how it was answered. Status 0: no answer was sent."""

    at: float
    method: str
    path: str
    route: str
    status: int
    ms: float
    channel_id: str | None
    message_id: str | None

    @property
    def is_edit(self) -> bool:
        """Whether it changed a message."""
        return self.method == "PATCH" and "/messages/" in self.route

    def show(self) -> Record:
        """For the page."""
        return {
            "at": self.at,
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "ms": round(self.ms, 1),
        }


class RequestLog:
    """The latest requests, oldest first."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque(maxlen=_KEPT)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._requests)

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: Request) -> None:
        """Note a request."""
        self._requests.append(request)

    def clear(self) -> None:
        """Forget all."""
        self._requests.clear()

    def find(self, method: str = ".*", path: str = "", status: int | None = None) -> list[Request]:
        """The requests whose method and path match the patterns (and status, when given)."""
        return [
            r
            for r in self._requests
            if re.fullmatch(method, r.method)
            and re.search(path, r.path)
            and (status is None or r.status == status)
        ]

    def edits(self, message_id: str) -> list[Request]:
        """The successful edits of a message."""
        return [r for r in self._requests if r.is_edit and r.message_id == message_id and r.status < 300]

    def edits_per_second(self) -> Record:
        """Channel id → edits a second over the last five seconds."""
        since = time.time() - _RATE_WINDOW_S
        counts = Counter(r.channel_id for r in self._requests if r.is_edit and r.at >= since)
        return {channel: round(n / _RATE_WINDOW_S, 2) for channel, n in counts.items() if channel}
