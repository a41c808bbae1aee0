"""A real discord.py bot that talks to the wire-level Discord."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot.sandbox.wire import WireDiscord
from tests.bot.sandbox.api import Api
from tests.bot.sandbox.sample import SampleBot, run_sample
from tests.e2e.table import human, wire, world

__all__ = ["human", "wire", "world"]


@pytest.fixture
async def bot(wire: WireDiscord) -> AsyncIterator[SampleBot]:
    """The sample bot, logged in and ready."""
    async with run_sample(wire) as sample:
        yield sample


@pytest.fixture
async def api(wire: WireDiscord) -> AsyncIterator[Api]:
    """The REST side, called with the bot's token."""
    async with aiohttp.ClientSession(headers={"Authorization": f"Bot {wire.world.token}"}) as http:
        yield Api(wire, http)
