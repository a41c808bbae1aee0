"""A table in a small wire-level Discord: the server, and the people who sit at it.

Import the fixtures into a `conftest.py`. `wire` has no rate limits, so that tests are
quick; a test of those makes its own server with `open_wire`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.sandbox.human import Human
from bot.sandbox.wire import WireDiscord
from bot.sandbox.world import World

__all__ = ["furnish", "human", "open_wire", "wire", "world"]


def furnish(world: World) -> World:
    """A server with three people (Ana owns it, Chen's Discord speaks Chinese), two channels and a forum."""
    if world.guilds:
        return world
    ana = world.add_user("Ana")
    guild = world.add_guild("The Table", ana)
    for name, locale in (("Ben", "en-US"), ("Chen", "zh-CN")):
        world.add_member(guild, world.add_user(name, locale=locale))
    world.add_channel(guild, "general")
    world.add_channel(guild, "after-dark", nsfw=True)
    world.add_channel(guild, "stories", "forum", available_tags=[{"name": "ongoing"}])
    return world


@asynccontextmanager
async def open_wire(
    path: Path | None = None, *, rate_limits: bool = False, deadline: float = 3.0, compress: bool = False
) -> AsyncIterator[WireDiscord]:
    """A furnished server; at the end no endpoint may have crashed or been missing."""
    world = furnish(World(path))
    try:
        wire = WireDiscord(world, rate_limits=rate_limits, deadline=deadline, compress=compress)
        async with wire:
            yield wire
        assert wire.crashes == []
        assert wire.unknown == []
    finally:
        world.close()


@pytest.fixture
async def wire() -> AsyncIterator[WireDiscord]:
    """A running server in memory."""
    async with open_wire() as server:
        yield server


@pytest.fixture
def world(wire: WireDiscord) -> World:
    """The server's world."""
    return wire.world


@pytest.fixture
def human(wire: WireDiscord) -> Callable[[str], Human]:
    """`human("Ana")`: a person at the table."""
    return lambda name: Human(wire, name)
