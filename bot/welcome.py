"""The first minute of a new server, where the settings ask for it: samples, and a story to type into."""

from __future__ import annotations

import asyncio
from importlib import resources

import discord
import structlog

from bot.settings import Settings
from bot.stories import Stories, owner_of
from engine.errors import EngineError
from engine.host import Engine

__all__ = ["Welcome"]

log = structlog.get_logger(__name__)

CARD, PRESET, BOOK = "maren.png", "fireside.json", "low_reach.json"


class Welcome:
    """Fills an empty library with the samples and opens a first story."""

    def __init__(self, client: discord.Client, engine: Engine, stories: Stories, settings: Settings) -> None:
        self._client = client
        self._engine = engine
        self._stories = stories
        self._settings = settings

    async def greet_all(self) -> None:
        for guild in self._client.guilds:
            await self.greet(guild)

    async def greet(self, guild: discord.Guild) -> None:
        """Do it for one server, if it is wanted and the library is empty."""
        if not self._settings.play.samples:
            return
        assert self._client.user is not None  # we are logged in
        owner = owner_of(guild, 0)
        library = self._engine.library
        if await library.list(owner):
            return
        by = str(self._client.user.id)
        try:
            card = await library.import_card(owner, await _sample(CARD), CARD, by)
            await library.import_preset(owner, await _sample(PRESET), PRESET, by)
            book = await library.import_book(owner, await _sample(BOOK), BOOK, by)
            channel = discord.utils.get(guild.text_channels, name=self._settings.play.first_story or "")
            if channel is not None:
                await self._stories.open(
                    channel,
                    card,
                    user_id=self._client.user.id,
                    user_name=self._client.user.display_name,
                    plays=False,
                    book_ids=(book.id,),
                )
        except (EngineError, discord.HTTPException):
            log.exception("welcome.failed", guild=guild.id)


async def _sample(name: str) -> bytes:
    file = resources.files("config") / "samples" / name
    return await asyncio.to_thread(file.read_bytes)
