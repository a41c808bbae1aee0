"""Things that go wrong on purpose: error answers, lost answers, dropped and hanging connections."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bot.sandbox.store import Record

__all__ = ["Fault", "Faults", "Kind"]

Kind: TypeAlias = Literal["status", "drop", "hang", "slow"]


@dataclass(slots=True)
class Fault:
    """One planned fault for requests whose method and path (without `/api/v10`) match the patterns."""

    kind: Kind
    method: str
    path: str
    status: int = 500
    body: Record | None = None
    seconds: float = 0.0
    left: int | None = 1
    """How often it still happens; None for ever."""
    after: bool = False
    """Let the request take effect first: only its answer is lost."""

    def matches(self, method: str, path: str) -> bool:
        """Whether it concerns this request."""
        return re.fullmatch(self.method, method) is not None and re.search(self.path, path) is not None

    def show(self) -> Record:
        """For the page."""
        keys = ("kind", "method", "path", "status", "seconds", "left", "after")
        return {key: getattr(self, key) for key in keys}


class Faults:
    """The planned faults, oldest first, and a latency for everything."""

    def __init__(self) -> None:
        self.latency_ms = 0.0
        self._planned: list[Fault] = []
        self._over = asyncio.Event()

    def fail(
        self,
        method: str,
        path: str,
        status: int,
        body: Record | None = None,
        times: int | None = 1,
        *,
        after: bool = False,
    ) -> Fault:
        """Answer matching requests with a status; a 429 gets its headers and `retry_after` by itself."""
        return self._plan(Fault("status", method, path, status, body, left=times, after=after))

    def drop(self, method: str, path: str, times: int | None = 1, *, after: bool = False) -> Fault:
        """Cut the connection; with `after` the request has taken effect."""
        return self._plan(Fault("drop", method, path, left=times, after=after))

    def hang(self, method: str, path: str, times: int | None = 1, *, after: bool = False) -> Fault:
        """Never answer, until `clear`; then the connection is cut."""
        return self._plan(Fault("hang", method, path, left=times, after=after))

    def slow(self, method: str, path: str, seconds: float, times: int | None = 1) -> Fault:
        """Answer late."""
        return self._plan(Fault("slow", method, path, seconds=seconds, left=times))

    def _plan(self, fault: Fault) -> Fault:
        self._planned.append(fault)
        return fault

    def take(self, method: str, path: str) -> Fault | None:
        """The fault for this request, counted."""
        for fault in self._planned:
            if fault.matches(method, path):
                if fault.left is not None:
                    fault.left -= 1
                    if fault.left <= 0:
                        self._planned.remove(fault)
                return fault
        return None

    async def until_cleared(self) -> None:
        """Wait until `clear` (what a hanging request does)."""
        await self._over.wait()

    def clear(self) -> None:
        """Forget all faults and release what hangs."""
        self._planned.clear()
        self.latency_ms = 0.0
        self._over.set()
        self._over = asyncio.Event()

    def show(self) -> list[Record]:
        """The planned faults, for the page."""
        return [fault.show() for fault in self._planned]
