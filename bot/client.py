"""The bot: one Discord client over one engine. `setup_hook` builds everything, `close` frees it."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import pkgutil
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import resources
from typing import Any

import discord
import structlog
from discord import app_commands
from discord.ext import commands

from bot import endpoint, failures, press, provider, texts
from bot.attachments import AttachmentReader
from bot.avatars import Avatars
from bot.bindings import Bindings
from bot.faces import Faces
from bot.fetching import Fetcher
from bot.i18n import CommandTranslator, t
from bot.intake import Intake
from bot.moves import Moves
from bot.offers import Offers
from bot.outbox import Outbox
from bot.overtime import Overtime
from bot.pacing import Pace
from bot.press import Press, PressTable
from bot.recovery import Recovery
from bot.settings import Settings
from bot.sight import Sight
from bot.stage import Stage
from bot.stories import Stories
from bot.welcome import Welcome
from engine.codec import canonical
from engine.errors import EngineError, StorageError
from engine.hooks import Scope
from engine.host import Engine, EngineSettings
from engine.library import LibraryLimits
from engine.llm import RetryPolicy
from engine.resources import read_preset
from engine.storage import Write

__all__ = ["Inglenook", "engine_settings", "extensions", "run"]

log = structlog.get_logger(__name__)

DONE, FAILED, WRONG = 0, 1, 2

# discord.py sleeps on a rate limit for as long as Discord says, up to this many seconds;
# beyond it the call fails and the outbox decides. It is the smallest value that it takes.
_LONGEST_RATE_LIMIT = 30.0
# Seconds at the end for showing the answers that the end cut off; a process manager waits about ten.
_LAST_WORDS = 6.0


# A story is opened again in milliseconds; ten minutes is longer than people think about an answer.
_REST_AFTER_MS = 10 * 60_000
_REST_EVERY = 60.0


class _Tree(app_commands.CommandTree["Inglenook"]):
    async def interaction_check(self, interaction: discord.Interaction[Inglenook], /) -> bool:
        if not interaction.client.closing:
            return True
        if interaction.type is not discord.InteractionType.autocomplete:
            await failures.answer(interaction, t(interaction.locale, "error.closing"))
        return False

    async def on_error(
        self, interaction: discord.Interaction[Inglenook], error: app_commands.AppCommandError
    ) -> None:
        await failures.tell(interaction, error)


class Inglenook(commands.Bot):
    """Everything that a cog needs hangs here; nothing is global."""

    engine: Engine
    outbox: Outbox
    bindings: Bindings
    faces: Faces
    stage: Stage
    stories: Stories
    moves: Moves
    intake: Intake
    fetcher: Fetcher
    offers: Offers

    def __init__(
        self, settings: Settings, *, pace: Pace | None = None, retry: RetryPolicy | None = None
    ) -> None:
        """`pace` and `retry` replace the house's numbers for Discord and for the model's server."""
        intents = discord.Intents.none()
        intents.guilds = True
        intents.guild_messages = True
        intents.dm_messages = True
        intents.message_content = settings.discord.message_content
        super().__init__(
            command_prefix=commands.when_mentioned,
            help_command=None,
            intents=intents,
            tree_cls=_Tree,
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=100,  # we read messages from the wire and from our ledger, never from this cache
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            guild_ready_timeout=0.5,  # members are never waited for; the default holds READY for 2 s
            max_ratelimit_timeout=_LONGEST_RATE_LIMIT,
        )
        # We never speak; that its libraries are missing is no news for whoever reads our log.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        self.settings = settings
        self._pace = pace or Pace(mode=settings.play.stream, edit_every=settings.play.edit_interval)
        self._retry = retry
        self.presses = PressTable()
        self.presses.on(texts.TAKE_FILE, texts.take_file)
        self._owner = Scope("bot")
        self._resources = AsyncExitStack()
        self._started = False
        self._catching_up = asyncio.Lock()
        self._ending: asyncio.Future[None] | None = None

    # -- life ------------------------------------------------------------------------------------

    async def setup_hook(self) -> None:
        """Open the engine, build the services, load the cogs, register the commands if they changed."""
        self.engine = await Engine.open(replace(engine_settings(self.settings), retry=self._retry))
        self._resources.push_async_callback(self.engine.aclose)
        engine, clock, store = self.engine, self.engine.clock, self.engine.store
        self.outbox = Outbox(self, store, pace=self._pace)
        self._resources.push_async_callback(self.outbox.aclose)
        # Agents stop first, so that their last words can still be shown by whoever follows them.
        self._resources.push_async_callback(self._owner.aclose)
        resting = asyncio.create_task(self._rest(), name="rest")
        self._resources.callback(resting.cancel)
        self._resources.push_async_callback(engine.hooks.settle, _LAST_WORDS)
        self._resources.push_async_callback(engine.agents.aclose)
        self.bindings = Bindings(store, clock)
        await self.bindings.load()
        self.faces = Faces(engine, Avatars(self, store, clock), self.bindings)
        self.stage = Stage(self, engine, self.outbox, self.bindings, self.faces)
        self.stage.attach(self._owner)
        Sight(engine, store, self.bindings, self.outbox, self.stage).attach(self._owner)
        Overtime(self, engine, self.bindings, self.outbox, self.stage).attach(self._owner)
        self.stories = Stories(engine, store, self.outbox, self.bindings, self.faces, self.stage, clock)
        self.moves = Moves(engine, store, self.outbox, self.bindings, self.stage)
        self.offers = Offers(store, self.bindings, self.settings.limits, clock)
        self.fetcher = Fetcher(self.settings.imports)
        self._resources.push_async_callback(self.fetcher.aclose)
        attachments = AttachmentReader(self.settings.attachments)
        self._resources.push_async_callback(attachments.aclose)
        self.intake = Intake(
            self,
            engine,
            store,
            self.bindings,
            self.outbox,
            self.stage,
            self.settings.play,
            attachments,
            clock,
        )
        self._resources.push_async_callback(self.intake.aclose)
        self.recovery = Recovery(engine, self.bindings, self.outbox, self.stage, self.settings.play)
        self.welcome = Welcome(self, engine, self.stories, self.settings)
        self.add_dynamic_items(Press)
        for extension in extensions():
            await self.load_extension(extension)
        if self.settings.discord.sync_commands:
            await self._sync()

    async def close(self) -> None:
        """Take nothing more, show what can still be shown, close the engine, leave Discord.

        Safe to call again: every caller waits for the same end.
        """
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())
        await asyncio.shield(self._ending)

    @property
    def closing(self) -> bool:
        """True from the moment when the end was asked for."""
        return self._ending is not None

    async def _end(self) -> None:
        try:
            await self._resources.aclose()
        finally:
            await super().close()

    async def _sync(self) -> None:
        """Register the commands with Discord when they differ from what was registered last."""
        await self.tree.set_translator(CommandTranslator())
        described = [command.to_dict(self.tree) for command in self.tree.get_commands()]
        key = f"commands:{self.application_id}"
        wanted = hashlib.sha256(canonical(described)).hexdigest()
        row = await self.engine.store.fetch_one("guild_setting_get", guild_id=0, key=key)
        if row is not None and row["value"] == wanted:
            return
        await self.tree.sync()
        await self.engine.store.commit(
            Write(
                "guild_setting_put",
                {"guild_id": 0, "key": key, "value": wanted, "now": self.engine.clock()},
            )
        )

    async def _rest(self) -> None:
        """Every now and then let go of stories that rest, so that memory follows what is being played."""
        while True:
            await asyncio.sleep(_REST_EVERY)
            try:
                rested = await self.engine.plays.rest(_REST_AFTER_MS)
            except EngineError:
                log.exception("rest.failed")
                continue
            if rested:
                log.debug("rested", sessions=rested)

    # -- what Discord tells us ---------------------------------------------------------------------

    async def on_connect(self) -> None:
        """A session begins, the first one or after a lost one; events come from here on."""
        self.intake.fall_behind()

    async def on_ready(self) -> None:
        """At the start and after every lost session: look after what was missed."""
        log.info("ready", user=str(self.user), guilds=len(self.guilds))
        async with self._catching_up:
            try:
                if not self._started:
                    self._started = True
                    await self.recovery.run()
            finally:
                self.intake.open()
            await self.intake.catch_up()
            await self.welcome.greet_all()

    async def on_resumed(self) -> None:
        """A resumed session replays what was missed; the ledger drops what came twice."""
        log.info("resumed")

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await self.welcome.greet(guild)

    async def on_message(self, message: discord.Message) -> None:
        try:
            await self.intake.take(message)
        except (EngineError, discord.HTTPException) as error:
            line = failures.explain(self.stage.locale(message.channel.id), error)
            await self.outbox.notice(message.channel.id, line, reply_to=message.id, key=f"err:{message.id}")

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        await self.intake.edited(payload)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        await self.intake.deleted(payload.channel_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        await self.intake.deleted(payload.channel_id, sorted(payload.message_ids))

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        await self.stories.channel_gone(payload.thread_id)

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        await self.stories.channel_gone(channel.id)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        if self.closing and isinstance(sys.exc_info()[1], StorageError):
            return  # it came while we were going; whatever it was about, the next start finds it
        log.error("event.failed", handler=event_method, exc_info=sys.exc_info()[1])

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Forms come here, and not to discord.py's memory of open ones, which a restart empties."""
        if interaction.type is discord.InteractionType.modal_submit:
            data: Any = interaction.data
            found = press.parsed(str(data["custom_id"]))
            if found is not None:
                await self.pressed(interaction, *found)

    async def pressed(self, interaction: discord.Interaction, op: str, args: tuple[str, ...]) -> None:
        """A button was pressed, or a form filled in: its handler, or a polite word when there is none.

        What somebody typed into a form that could not be used is given back to them.
        """
        if self.closing:
            await failures.answer(interaction, t(interaction.locale, "error.closing"))
            await failures.give_back(interaction)
            return
        handler = self.presses.get(op)
        if handler is None:
            await failures.answer(interaction, t(interaction.locale, "error.unknown_button"))
            await failures.give_back(interaction)
            return
        try:
            await handler(interaction, *args)
        except Exception as error:
            await failures.tell(interaction, error)
            await failures.give_back(interaction)


def extensions() -> list[str]:
    """Every cog there is: the modules of the package `cogs`, by name.

    Found by name, not imported: the floor above may know this one, not the other way round.
    """
    spec = importlib.util.find_spec("cogs")
    folders = spec.submodule_search_locations if spec is not None else None
    return sorted(f"cogs.{module.name}" for module in pkgutil.iter_modules(folders or []))


def engine_settings(settings: Settings) -> EngineSettings:
    """What the engine needs to know of the bot's settings. Raises InputError when they cannot work."""
    preset = resources.files("config") / "samples" / "fireside.json"
    return EngineSettings(
        database=settings.storage.path,
        adapter=provider.adapter(settings),
        defaults=provider.call_config(settings),
        builtin_preset=read_preset(preset.read_bytes(), "fireside.json"),
        limits=LibraryLimits(
            cards=settings.limits.cards_per_server,
            presets=settings.limits.presets_per_server,
            bytes=settings.limits.bytes_per_server,
        ),
        max_waiting=settings.play.max_waiting,
        max_stories=settings.limits.stories_per_server,
        picture_bytes=settings.attachments.bytes_per_server,
        advanced_assembly=settings.assembly.advanced,
    )


async def run(settings: Settings) -> int:
    """Play until cancelled. Returns the exit code; what a person can mend is one line on stderr."""
    if settings.discord.token is None:
        return _refuse(
            "discord.token is missing: set INGLENOOK_DISCORD__TOKEN or put it into secrets/discord.token"
        )
    endpoint.aim(settings.discord)
    bot = Inglenook(settings)
    try:
        async with bot:
            await bot.start(settings.discord.token.get_secret_value())
    except discord.LoginFailure:
        return _refuse("Discord does not accept the token (discord.token)")
    except discord.PrivilegedIntentsRequired:
        return _refuse(
            "switch on the Message Content intent in the Discord developer portal, "
            "or set discord.message_content = false"
        )
    except StorageError as error:
        return _refuse(f"{error.message} (storage.path = {settings.storage.path})", FAILED)
    return DONE


def _refuse(line: str, code: int = WRONG) -> int:
    print(f"inglenook: {line}", file=sys.stderr)  # noqa: T201 - the answer of a command
    return code
