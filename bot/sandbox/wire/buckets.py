"""Discord's rate limits: buckets by route and major parameter, and the global one (spec discord B5).

Discord publishes no numbers; these are what its headers show and what projects report.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass

from bot.sandbox.store import Record

__all__ = [
    "DELETE",
    "EDIT",
    "EXECUTE",
    "HOOK_EDIT",
    "REACT",
    "RENAME",
    "SEND",
    "TYPING",
    "Buckets",
    "Limit",
    "Limited",
]


@dataclass(frozen=True, slots=True)
class Limit:
    """`count` requests each `seconds`, apart for each value of the path parameter `major`."""

    name: str
    count: int
    seconds: float
    major: str

    @property
    def hash(self) -> str:
        """The bucket id in the headers."""
        return hashlib.md5(self.name.encode(), usedforsecurity=False).hexdigest()


SEND = Limit("send", 5, 5.0, "channel")
EDIT = Limit("edit", 5, 5.0, "channel")
DELETE = Limit("delete", 5, 1.0, "channel")
TYPING = Limit("typing", 5, 5.0, "channel")
REACT = Limit("react", 1, 0.25, "channel")
RENAME = Limit("rename", 2, 600.0, "channel")
EXECUTE = Limit("webhook", 5, 2.0, "webhook")
HOOK_EDIT = Limit("webhook-edit", 5, 2.0, "webhook")

GLOBAL = 50  # requests a second of one bot; interaction endpoints are outside of it


class Limited(Exception):
    """The request comes too early: answer 429."""

    def __init__(self, retry_after: float, headers: dict[str, str], *, everywhere: bool = False) -> None:
        super().__init__(f"rate limited for {retry_after:.3f} s")
        self.retry_after = retry_after
        self.everywhere = everywhere
        self.headers = {
            **headers,
            "Retry-After": str(math.ceil(retry_after)),
            "X-RateLimit-Scope": "global" if everywhere else "user",
            # Without Via discord.py takes a 429 for a Cloudflare ban.
            "Via": "1.1 google",
        }
        if everywhere:
            self.headers["X-RateLimit-Global"] = "true"

    def body(self) -> Record:
        """The JSON of a 429."""
        return {
            "message": "You are being rate limited.",
            "retry_after": round(self.retry_after, 3),
            "global": self.everywhere,
        }


@dataclass(slots=True)
class _Window:
    limit: Limit
    major: str
    left: int
    ends: float


class Buckets:
    """The state of all buckets. `on` False lets everything pass and sends no headers."""

    def __init__(self, *, on: bool = True) -> None:
        self.on = on
        self._windows: dict[tuple[str, str], _Window] = {}
        self._second: tuple[int, int] = (0, 0)

    def spend_global(self) -> None:
        """Count a request against the bot's 50 a second. Raises Limited."""
        if not self.on:
            return
        now = time.monotonic()
        second, spent = self._second
        if second != int(now):
            second, spent = int(now), 0
        if spent >= GLOBAL:
            raise Limited(second + 1 - now, {}, everywhere=True)
        self._second = (second, spent + 1)

    def spend(self, limit: Limit, major: str) -> dict[str, str]:
        """Count a request; returns its headers. Raises Limited when the window is used up."""
        if not self.on:
            return {}
        now = time.monotonic()
        window = self._windows.get((limit.name, major))
        if window is None or now >= window.ends:
            window = _Window(limit, major, limit.count, now + limit.seconds)
            self._windows[limit.name, major] = window
        if window.left == 0:
            raise Limited(window.ends - now, self._headers(window, now))
        window.left -= 1
        return self._headers(window, now)

    def _headers(self, window: _Window, now: float) -> dict[str, str]:
        left_s = window.ends - now
        return {
            "X-RateLimit-Limit": str(window.limit.count),
            "X-RateLimit-Remaining": str(window.left),
            "X-RateLimit-Reset": f"{time.time() + left_s:.3f}",
            "X-RateLimit-Reset-After": f"{left_s:.3f}",
            "X-RateLimit-Bucket": window.limit.hash,
        }

    def states(self) -> list[Record]:
        """The windows that are open now, for the page: bucket, major, limit, remaining, reset (seconds)."""
        now = time.monotonic()
        return [
            {
                "bucket": w.limit.name,
                "major": w.major,
                "limit": w.limit.count,
                "remaining": w.left,
                "reset": round(w.ends - now, 2),
            }
            for w in self._windows.values()
            if w.ends > now
        ]
