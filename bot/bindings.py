"""Which story a channel stands for, and what a server or channel has chosen for new stories.

Channel → playthrough is all that is stored; the session follows from the story's head
(decision 24). Bindings are kept in memory as well, because every message that any channel
delivers asks for one before anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.codec import canonical, loads
from engine.storage import Store, Write

__all__ = ["Binding", "Bindings", "Defaults"]


@dataclass(frozen=True, slots=True)
class Binding:
    """A channel or thread that stands for a story. Without `guild_id` it is a direct message."""

    channel_id: int
    play_id: str
    guild_id: int | None


@dataclass(frozen=True, slots=True)
class Defaults:
    """What new stories in a channel start with."""

    card_id: str | None = None
    preset_id: str | None = None


class Bindings:
    """The table of bindings, and its copy in memory. `load` must have run."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock
        self._by_channel: dict[int, Binding] = {}

    async def load(self) -> None:
        """Read all bindings."""
        rows = await self._store.fetch("binding_all")
        self._by_channel = {
            row["channel_id"]: Binding(row["channel_id"], row["play_id"], row["guild_id"]) for row in rows
        }

    def of_channel(self, channel_id: int) -> Binding | None:
        return self._by_channel.get(channel_id)

    def of_play(self, play_id: str) -> Binding | None:
        """The channel where the story is told; the first when there are several."""
        return next((b for b in self._by_channel.values() if b.play_id == play_id), None)

    def all(self) -> tuple[Binding, ...]:
        return tuple(self._by_channel.values())

    async def bind(self, channel_id: int, play_id: str, guild_id: int | None) -> None:
        """From now on the channel stands for this story."""
        await self._store.commit(
            Write(
                "binding_put",
                {
                    "channel_id": channel_id,
                    "play_id": play_id,
                    "guild_id": guild_id,
                    "now": self._clock(),
                },
            )
        )
        self._by_channel[channel_id] = Binding(channel_id, play_id, guild_id)

    async def unbind(self, channel_id: int) -> None:
        """The channel stands for nothing any more; the story is kept."""
        await self._store.commit(Write("binding_drop", {"channel_id": channel_id}))
        self._by_channel.pop(channel_id, None)

    async def defaults(self, guild_id: int, channel_id: int) -> Defaults:
        """What new stories in this channel start with: the channel's own choice, else the server's."""
        chosen: dict[str, str] = {}
        for kind in ("card", "preset"):
            for scope in (f"{kind}:{channel_id}", kind):
                row = await self._store.fetch_one("guild_setting_get", guild_id=guild_id, key=scope)
                if row is not None:
                    chosen[kind] = loads(row["value"])
                    break
        return Defaults(chosen.get("card"), chosen.get("preset"))

    async def choose(self, guild_id: int, channel_id: int, kind: str, resource_id: str | None) -> None:
        """Set, or with None drop, the `card` or `preset` that new stories in this channel start with."""
        key = f"{kind}:{channel_id}"
        if resource_id is None:
            write = Write("guild_setting_drop", {"guild_id": guild_id, "key": key})
        else:
            write = Write(
                "guild_setting_put",
                {
                    "guild_id": guild_id,
                    "key": key,
                    "value": canonical(resource_id).decode(),
                    "now": self._clock(),
                },
            )
        await self._store.commit(write)
