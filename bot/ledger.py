"""The intake ledger: which messages were delivered, what became of them, how far a channel was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from engine.storage import Row, Store, Write

__all__ = ["Ledger"]


class Ledger:
    """`clock` gives milliseconds since 1970. Raises StorageError."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock

    async def get(self, message_id: int) -> Row | None:
        """One delivered message."""
        return await self._store.fetch_one("intake_get", message_id=message_id)

    async def has_taken(self, message_id: int) -> bool:
        """Whether a story has taken it, or has refused it for good."""
        row = await self.get(message_id)
        return row is not None and row["state"] != "pending"

    async def take(self, message_id: int, channel_id: int, play_id: str, key: str) -> None:
        """It was delivered; a second delivery changes nothing."""
        params = {"message_id": message_id, "channel_id": channel_id, "play_id": play_id, "key": key}
        await self._store.commit(Write("intake_take", {**params, "session_id": None, "now": self._clock()}))

    async def mark(
        self, message_id: int, state: Literal["accepted", "done"], session_id: str | None = None
    ) -> None:
        """Where it stands now."""
        params = {"message_id": message_id, "state": state, "session_id": session_id}
        await self._store.commit(Write("intake_state", {**params, "now": self._clock()}))

    async def seen(self, channel_id: int, message_id: int) -> None:
        """Everything up to this message is safe; the mark never goes back."""
        params = {"channel_id": channel_id, "last_seen": message_id, "now": self._clock()}
        await self._store.commit(Write("cursor_advance", params))

    async def last_seen(self, channel_id: int) -> int | None:
        """The last message that is safe, None for a channel that was never read."""
        row = await self._store.fetch_one("cursor_get", channel_id=channel_id)
        return None if row is None else int(row["last_seen"])
