"""A token that says "stop", with the first cause that was given.

User stops never use `Task.cancel()`: the loop must still settle what it has
(spec agent-loop 2.5). Whoever awaits something long races it against the token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["CancelCause", "CancelToken", "Cancelled"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CancelCause:
    """Why an activity stops. `kind` is user, parent, hook or disposed; `reason` only with hook."""

    kind: str
    reason: str | None = None

    def to_wire(self) -> dict[str, str]:
        return {"kind": self.kind} if self.reason is None else {"kind": self.kind, "reason": self.reason}


class Cancelled(Exception):
    """The token was cancelled while something waited on it. Not an error: control flow of the loop."""


class CancelToken:
    """One activity's stop signal. The first cause wins; later ones are ignored."""

    __slots__ = ("_cause", "_event")

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._cause: CancelCause | None = None

    @property
    def cause(self) -> CancelCause | None:
        return self._cause

    @property
    def cancelled(self) -> bool:
        return self._cause is not None

    def cancel(self, cause: CancelCause) -> bool:
        """Give the signal. False when it had been given before."""
        if self._cause is not None:
            return False
        self._cause = cause
        self._event.set()
        return True

    def check(self) -> None:
        """Raise Cancelled if the signal was given. Call it after every await."""
        if self._cause is not None:
            raise Cancelled

    async def wait(self) -> None:
        await self._event.wait()

    async def race(self, work: Awaitable[T]) -> T:
        """Await `work`, or raise Cancelled as soon as the signal comes; `work` is then ended first."""
        task = asyncio.ensure_future(work)
        if self._cause is not None:
            await _abandon(task)
            raise Cancelled
        stop = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Cancelled
            return task.result()
        finally:
            stop.cancel()
            await _abandon(task)


async def _abandon(task: asyncio.Future[T]) -> None:
    """End `task` and consume its outcome, so that nothing runs on and no exception goes unread."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.exception()
