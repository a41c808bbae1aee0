"""An outbox at a table: real discord.py, the wire-level Discord, a real database, and a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import discord

from bot.endpoint import aim
from bot.outbox import Face, Outbox, Pace, Place, Reply
from bot.sandbox.human import Human
from bot.sandbox.screen import Shown
from bot.sandbox.wire import WireDiscord
from bot.settings import DiscordSettings
from engine.storage import Store
from tests.e2e.table import open_wire

__all__ = ["BRISK", "MIRA", "Table", "answer_row", "seated", "stop_row"]

# The house's numbers, made short: the order of things is what the tests are about.
BRISK = Pace(
    first_after=0.05,
    patience=0.3,
    edit_every=0.05,
    channel_size=200,
    channel_seconds=1.0,
    hook_size=200,
    hook_seconds=1.0,
)
MIRA = Face("Mira")


class _Client(discord.Client):
    def __init__(self) -> None:
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.message_content = True
        super().__init__(
            intents=intents,
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.0,
            max_ratelimit_timeout=30.0,
        )
        self.ready = asyncio.Event()

    async def on_ready(self) -> None:
        self.ready.set()


def _row(*labels: str) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    for label in labels:
        view.add_item(discord.ui.Button(label=label, custom_id=f"test:{label}"))
    return view


def stop_row() -> discord.ui.View:
    return _row("stop")


def answer_row() -> discord.ui.View:
    return _row("prev", "1/1", "next")


@dataclass
class Table:
    """What a test works with. `ana` sees what people see."""

    wire: WireDiscord
    client: discord.Client
    store: Store
    outbox: Outbox
    channel: discord.TextChannel
    thread: discord.Thread
    ana: Human
    pace: Pace
    turns: int = field(default=0)

    def place(
        self, *, node_id: str | None = None, channel_id: int | None = None, kind: str = "answer"
    ) -> Place:
        """The place of a new turn."""
        self.turns += 1
        where = channel_id if channel_id is not None else self.thread.id
        return Place(where, "play", "session", self.turns, kind=kind, node_id=node_id)

    def reply(self, place: Place | None = None, face: Face = MIRA) -> Reply:
        return self.outbox.reply(place if place is not None else self.place(), face, stop=stop_row)

    def screen(self, channel_id: int | None = None) -> list[Shown]:
        """What Mira (or the bot) said, oldest first."""
        where = str(channel_id if channel_id is not None else self.thread.id)
        return [shown for shown in self.ana.screen(where) if shown.kind in (0, 19) and shown.author != "Ana"]

    def texts(self, channel_id: int | None = None) -> list[str]:
        return [shown.text for shown in self.screen(channel_id)]

    async def sees(self, text: str, timeout: float = 5.0) -> Shown:
        """Wait until a message in the thread contains the text."""
        return await self.ana.sees(str(self.thread.id), text, timeout=timeout)

    def count(self, method: str, path: str) -> int:
        return len(self.wire.log.find(method, path))

    async def restart(self) -> None:
        """Another process with the same database: nothing in memory survives."""
        await self.outbox.aclose(0.1)
        self.outbox = Outbox(self.client, self.store, pace=self.pace)


@asynccontextmanager
async def seated(path: Path, *, pace: Pace = BRISK, rate_limits: bool = False) -> AsyncIterator[Table]:
    """A table with a logged-in client."""
    async with open_wire(rate_limits=rate_limits) as wire, await Store.open(path / "table.db") as store:
        urls = wire.urls
        undo = aim(DiscordSettings(api_base=urls.api, gateway_url=urls.gateway, cdn_base=urls.cdn))
        client = _Client()
        running = asyncio.create_task(client.start(wire.world.token))
        try:
            await asyncio.wait_for(client.ready.wait(), 10)
            channel = client.get_channel(int(wire.world.channel("general")["id"]))
            assert isinstance(channel, discord.TextChannel)
            thread = await channel.create_thread(name="A story", type=discord.ChannelType.public_thread)
            table = Table(
                wire,
                client,
                store,
                Outbox(client, store, pace=pace),
                channel,
                thread,
                Human(wire, "Ana"),
                pace,
            )
            yield table
            await table.outbox.aclose()
        finally:
            await client.close()
            await asyncio.gather(running, return_exceptions=True)
            undo()
