"""Which story a channel stands for, and what a server or channel has chosen for new stories.

Channel → playthrough is all that is stored; the session follows from the story's head
(decision 24). Bindings are kept in memory as well, because every message that any channel
delivers asks for one before anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from engine.codec import Json, canonical, loads
from engine.errors import InputError
from engine.storage import Store, Write

__all__ = ["MAX_LISTED", "Binding", "Bindings", "Defaults", "ListedKind", "OneKind"]

OneKind: TypeAlias = Literal["card", "preset", "template"]
"""Of these a channel has one at most."""
ListedKind: TypeAlias = Literal["world_book", "regex"]
"""Of these a channel may have several, in the order in which they were added."""

MAX_LISTED = 100  # as many as one story can use
_ONE: tuple[OneKind, ...] = ("card", "preset", "template")
_LISTED: tuple[ListedKind, ...] = ("world_book", "regex")


@dataclass(frozen=True, slots=True)
class Binding:
    """A channel or thread that stands for a story. Without `guild_id` it is a direct message."""

    channel_id: int
    play_id: str
    guild_id: int | None


@dataclass(frozen=True, slots=True)
class Defaults:
    """What new stories in a channel start with: a template, and what was chosen one by one, which counts
    before what the template says. There is no persona: who people play is their own."""

    card_id: str | None = None
    preset_id: str | None = None
    template_id: str | None = None
    book_ids: tuple[str, ...] = ()
    regex_ids: tuple[str, ...] = ()


class Bindings:
    """The table of bindings, and its copy in memory. `load` must have run."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock
        self._by_channel: dict[int, Binding] = {}
        self._listing = asyncio.Lock()  # between reading a list and writing what became of it

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
        """What new stories in this channel start with: for each kind the channel's own choice, else the
        server's."""
        one = {kind: await self._chosen(guild_id, channel_id, kind) for kind in _ONE}
        listed = {kind: await self._chosen(guild_id, channel_id, kind) for kind in _LISTED}
        return Defaults(
            card_id=one["card"],
            preset_id=one["preset"],
            template_id=one["template"],
            book_ids=tuple(listed["world_book"] or ()),
            regex_ids=tuple(listed["regex"] or ()),
        )

    async def choose(self, guild_id: int, channel_id: int, kind: OneKind, resource_id: str | None) -> None:
        """Set, or with None drop, what new stories in this channel start with."""
        await self._put(guild_id, channel_id, kind, resource_id)

    async def add(self, guild_id: int, channel_id: int, kind: ListedKind, resource_id: str) -> bool:
        """New stories in this channel use this as well; False when they do already.

        Raises InputError CHANNEL_LIST_FULL (data: limit).
        """
        async with self._listing:
            listed = list(await self._chosen(guild_id, channel_id, kind) or ())
            if resource_id in listed:
                return False
            if len(listed) >= MAX_LISTED:
                raise InputError(
                    f"New stories in a channel can use {MAX_LISTED} of these.",
                    code="CHANNEL_LIST_FULL",
                    limit=MAX_LISTED,
                )
            await self._put(guild_id, channel_id, kind, [*listed, resource_id])
            return True

    async def remove(self, guild_id: int, channel_id: int, kind: ListedKind, resource_id: str) -> bool:
        """New stories in this channel use this no more; False when they did not anyway."""
        async with self._listing:
            listed = list(await self._chosen(guild_id, channel_id, kind) or ())
            if resource_id not in listed:
                return False
            listed.remove(resource_id)
            await self._put(guild_id, channel_id, kind, listed or None)
            return True

    async def _chosen(self, guild_id: int, channel_id: int, kind: str) -> Any:
        for key in (f"{kind}:{channel_id}", kind):
            row = await self._store.fetch_one("guild_setting_get", guild_id=guild_id, key=key)
            if row is not None:
                return loads(row["value"])
        return None

    async def _put(self, guild_id: int, channel_id: int, kind: str, value: Json) -> None:
        params: dict[str, object] = {"guild_id": guild_id, "key": f"{kind}:{channel_id}"}
        if value is None:
            await self._store.commit(Write("guild_setting_drop", params))
            return
        params |= {"value": canonical(value).decode(), "now": self._clock()}
        await self._store.commit(Write("guild_setting_put", params))
