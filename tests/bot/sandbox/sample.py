"""An unmodified discord.py bot with one of everything, to see that the wire-level Discord carries it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import discord
from discord import app_commands
from discord.ext import commands

from bot.endpoint import aim
from bot.sandbox.wire import WireDiscord
from bot.settings import DiscordSettings

__all__ = ["SampleBot", "counter_view", "run_sample"]

CARDS = ("Mira", "Milo", "Otto")


class Counter(discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]], template=r"count:(?P<n>\d+)"):
    """A button that survives restarts: its state is in its id."""

    def __init__(self, number: int) -> None:
        super().__init__(discord.ui.Button(label=f"{number}", custom_id=f"count:{number}"))
        self.number = number

    @classmethod
    async def from_custom_id(
        cls, interaction: discord.Interaction, item: discord.ui.Item[discord.ui.View], match: re.Match[str], /
    ) -> Counter:
        return cls(int(match["n"]))

    async def callback(self, interaction: discord.Interaction) -> None:
        await interaction.response.edit_message(
            content=f"count {self.number + 1}", view=counter_view(self.number + 1)
        )


def counter_view(number: int) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    view.add_item(Counter(number))
    return view


class NameForm(discord.ui.Modal, title="Your name"):
    """One text, one choice, one file."""

    name = discord.ui.TextInput[discord.ui.Modal](label="Name", custom_id="name", max_length=20)
    mood: discord.ui.Label[discord.ui.Modal] = discord.ui.Label(
        text="Mood",
        component=discord.ui.Select(
            custom_id="mood", options=[discord.SelectOption(label=m, value=m) for m in ("glad", "grim")]
        ),
    )
    picture: discord.ui.Label[discord.ui.Modal] = discord.ui.Label(
        text="Picture", component=discord.ui.FileUpload(custom_id="pic", required=False)
    )

    async def on_submit(self, interaction: discord.Interaction) -> None:
        assert isinstance(self.mood.component, discord.ui.Select)
        assert isinstance(self.picture.component, discord.ui.FileUpload)
        sizes = [len(await a.read()) for a in self.picture.component.values]
        mood = self.mood.component.values[0]
        await interaction.response.send_message(f"{self.name.value} is {mood} {sizes}", ephemeral=True)


class Panel(discord.ui.LayoutView):
    """A Components V2 message."""

    def __init__(self) -> None:
        super().__init__(timeout=None)
        box: discord.ui.Container[Panel] = discord.ui.Container(accent_colour=0xAA5500)
        box.add_item(discord.ui.TextDisplay("# The panel"))
        button: discord.ui.Button[Panel] = discord.ui.Button(label="Press", custom_id="panel-press")
        button.callback = self.pressed  # type: ignore[method-assign]
        box.add_item(discord.ui.Section("a line", accessory=button))
        self.add_item(box)

    async def pressed(self, interaction: discord.Interaction) -> None:
        await interaction.response.send_message("pressed", ephemeral=True)


class SampleBot(commands.Bot):
    """Notes what it hears, and has one command of each kind."""

    def __init__(self, intents: discord.Intents) -> None:
        super().__init__(
            command_prefix="!",
            intents=intents,
            help_command=None,
            chunk_guilds_at_startup=False,
            allowed_mentions=discord.AllowedMentions.none(),
            guild_ready_timeout=0.0,
            max_ratelimit_timeout=30.0,
        )
        self.heard: list[discord.Message] = []
        self.events: list[str] = []
        self._news = asyncio.Event()

    async def setup_hook(self) -> None:
        self.add_dynamic_items(Counter)
        add_commands(self.tree)
        await self.tree.sync()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Identify at once: discord.py waits five seconds before a second time."""

    async def on_message(self, message: discord.Message, /) -> None:
        self.heard.append(message)
        self._news.set()

    async def on_ready(self) -> None:
        self._note("ready")

    async def on_resumed(self) -> None:
        self._note("resumed")

    async def on_raw_reaction_add(self, event: discord.RawReactionActionEvent) -> None:
        self._note(f"reaction {event.emoji}")

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        self._note(f"edit {event.message.content}")

    async def on_raw_message_delete(self, event: discord.RawMessageDeleteEvent) -> None:
        self._note(f"delete {event.message_id}")

    async def on_thread_create(self, thread: discord.Thread) -> None:
        self._note(f"thread {thread.name}")

    async def texts(self, count: int, timeout: float = 5.0) -> list[str]:
        """Wait until it has heard so many people's messages; their texts."""
        await self._wait(lambda: len(self.people()) >= count, timeout)
        return self.people()

    def people(self) -> list[str]:
        return [m.content for m in self.heard if not m.author.bot]

    async def until(self, event: str, timeout: float = 10.0) -> None:
        """Wait until it has noted an event."""
        await self._wait(lambda: event in self.events, timeout)

    async def _wait(self, met: Callable[[], bool], timeout: float) -> None:
        async with asyncio.timeout(timeout):
            while not met():
                self._news.clear()
                await self._news.wait()

    def _note(self, event: str) -> None:
        self.events.append(event)
        self._news.set()


def add_commands(tree: app_commands.CommandTree) -> None:
    card = app_commands.Group(name="card", description="Cards")

    @card.command(name="import", description="Bring a card")
    async def card_import(
        interaction: discord.Interaction, file: discord.Attachment, title: str | None = None
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        body = await file.read()
        await interaction.followup.send(f"{file.filename}: {len(body)} bytes, {title}")

    @card.command(name="show", description="Show a card")
    async def card_show(interaction: discord.Interaction, name: str) -> None:
        await interaction.response.send_message(f"card {name}")

    @card_show.autocomplete("name")
    async def complete(interaction: discord.Interaction, current: str) -> list[app_commands.Choice[str]]:
        found = [c for c in CARDS if c.lower().startswith(current.lower())]
        return [app_commands.Choice(name=f"{c} the card", value=c) for c in found]

    tree.add_command(card)

    @tree.command(name="who", description="Name somebody and a place")
    async def who(
        interaction: discord.Interaction, member: discord.Member, place: discord.TextChannel | None = None
    ) -> None:
        await interaction.response.send_message(f"{member.display_name} in {place and place.name}")

    @tree.command(name="count", description="A counter")
    async def count(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("count 0", view=counter_view(0))

    @tree.command(name="form", description="A form")
    async def form(interaction: discord.Interaction) -> None:
        await interaction.response.send_modal(NameForm())

    @tree.command(name="panel", description="A panel")
    async def panel(interaction: discord.Interaction) -> None:
        await interaction.response.send_message(view=Panel())

    @tree.command(name="silent", description="Never answers")
    async def silent(interaction: discord.Interaction) -> None:
        await asyncio.sleep(30)

    @tree.command(name="pick", description="A menu")
    async def pick(interaction: discord.Interaction) -> None:
        view = discord.ui.View(timeout=None)
        menu: discord.ui.Select[discord.ui.View] = discord.ui.Select(
            custom_id="fruit", options=[discord.SelectOption(label=f, value=f) for f in ("plum", "pear")]
        )

        async def chosen(inner: discord.Interaction) -> None:
            await inner.response.defer()
            await inner.edit_original_response(content=f"chose {menu.values[0]}", view=None)

        menu.callback = chosen  # type: ignore[assignment,method-assign]
        view.add_item(menu)
        await interaction.response.send_message("choose", view=view)

    @tree.context_menu(name="Rewind")
    async def rewind(interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.send_message(f"rewound to {message.content!r}", ephemeral=True)


@asynccontextmanager
async def run_sample(wire: WireDiscord, intents: discord.Intents | None = None) -> AsyncIterator[SampleBot]:
    """Run the bot in this process against the server until the block ends."""
    if intents is None:
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = intents.message_content = True
        intents.guild_reactions = True
    urls = wire.urls
    undo = aim(DiscordSettings(api_base=urls.api, gateway_url=urls.gateway, cdn_base=urls.cdn))
    bot = SampleBot(intents)
    task = asyncio.create_task(bot.start(wire.world.token))
    ready = asyncio.create_task(bot.until("ready"))
    try:
        await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED, timeout=10)
        if task.done():
            task.result()
        yield bot
    finally:
        ready.cancel()
        await bot.close()
        await asyncio.gather(task, ready, return_exceptions=True)
        undo()
