"""Who writes at a spot: one at a time, and the newest wish wins.

Somebody who presses ▶ five times wants the fifth answer. Each `claim` makes the ones before it
stale; a stale writer stops at its next request and lets the newest in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType

__all__ = ["Claim", "Spots"]


class Claim:
    """One wish to write at a spot; `async with` it to have the spot alone."""

    def __init__(self, spots: Spots, spot: str, on_stale: Callable[[], None] | None) -> None:
        self._spots = spots
        self._on_stale = on_stale
        self.spot = spot
        self._stale = False

    @property
    def current(self) -> bool:
        """False when somebody else has claimed the spot since."""
        return not self._stale

    def supersede(self) -> None:
        """A newer claim was made."""
        self._stale = True
        if self._on_stale is not None:
            self._on_stale()

    async def __aenter__(self) -> Claim:
        await self._spots.lock(self.spot).acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spots.release(self)


class Spots:
    """The claims of one outbox."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._newest: dict[str, Claim] = {}

    def claim(self, spot: str, on_stale: Callable[[], None] | None = None) -> Claim:
        """Wish to write there. `on_stale` is called when a newer wish comes."""
        before = self._newest.get(spot)
        claim = self._newest[spot] = Claim(self, spot, on_stale)
        if before is not None:
            before.supersede()
        return claim

    def lock(self, spot: str) -> asyncio.Lock:
        """The lock of a spot."""
        return self._locks.setdefault(spot, asyncio.Lock())

    def release(self, claim: Claim) -> None:
        """The writer has left."""
        self.lock(claim.spot).release()
        if self._newest.get(claim.spot) is claim:
            # Nobody came after this one, so nobody waits.
            del self._newest[claim.spot]
            del self._locks[claim.spot]
