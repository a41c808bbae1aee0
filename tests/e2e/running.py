"""The whole bot in the test's own process: unmodified discord.py over the wire, a real database.

    async with running_bot(wire, settings) as running:
        running.bot ...             # bot.client.Inglenook, ready, with nothing left to catch up
        await running.restart()     # ends in order, and begins again on the same database
        await running.crash()       # ends like a killed process; then `start`

Whatever the bot logs as an error fails the test at the end, unless the test expects it:
`running.expected.add("turn.failed")`.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import structlog
from pydantic import SecretStr

from bot.client import Inglenook
from bot.endpoint import aim
from bot.pacing import Pace
from bot.sandbox.wire import WireDiscord
from bot.settings import DiscordSettings, Settings, StorageSettings
from engine.llm import RetryPolicy

__all__ = ["BRISK", "QUICK", "Running", "running_bot"]

BRISK = Pace(
    first_after=0.05,
    patience=0.2,
    edit_every=0.05,
    channel_size=200,
    channel_seconds=1.0,
    hook_size=200,
    hook_seconds=1.0,
)
"""The house's numbers made short: these tests are about the order of things."""
QUICK = RetryPolicy(max_retries=1, base_ms=20, cap_ms=500)
"""One more try after a moment, where the house takes five."""

# discord.py tells every reconnect as an error, and a heartbeat that found its line cut.
_NO_TROUBLE = ("Attempting a reconnect", "Attempting to reconnect")


class _Bot(Inglenook):
    """Says when everything that was missed has been looked after."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connection.guild_ready_timeout = 0.1  # nobody here has so many servers that they come late
        self.looked_after = asyncio.Event()

    async def on_ready(self) -> None:
        self.looked_after.clear()
        await super().on_ready()
        self.looked_after.set()


class Running:
    """One bot after the other on one database; `bot` is the living one."""

    def __init__(self, wire: WireDiscord, settings: Settings, pace: Pace, retry: RetryPolicy) -> None:
        self.wire = wire
        self.settings = settings
        self.errors: list[str] = []
        """What was logged as an error, by event."""
        self.expected: set[str] = set()
        self._pace = pace
        self._retry = retry
        self._bot: _Bot | None = None
        self._task: asyncio.Task[None] | None = None
        self._crashes = 0

    @property
    def bot(self) -> Inglenook:
        """The living bot."""
        assert self._bot is not None, "the bot is down"
        return self._bot

    @property
    def database(self) -> Path:
        """Where its stories are."""
        return self.settings.storage.path

    async def start(self, *, wait: bool = True) -> None:
        """Start it; with `wait` return when it is ready and has caught up."""
        assert self._bot is None
        self._bot = _Bot(self.settings, pace=self._pace, retry=self._retry)
        self._task = asyncio.create_task(self._bot.start(self.wire.world.token), name="bot")
        if wait:
            await self.looked_after()

    async def looked_after(self, timeout: float = 20.0) -> None:
        """Wait until the bot is ready and has looked after what it missed."""
        assert self._bot is not None and self._task is not None
        ready = asyncio.ensure_future(self._bot.looked_after.wait())
        try:
            await asyncio.wait({ready, self._task}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if self._task.done():
                self._task.result()
            assert ready.done(), "the bot did not become ready"
        finally:
            ready.cancel()

    async def missed(self) -> None:
        """Forget that it was ready once: `looked_after` then waits for the next time."""
        assert self._bot is not None
        self._bot.looked_after.clear()

    async def stop(self) -> None:
        """End it in order."""
        bot, task = self._bot, self._task
        self._bot = self._task = None
        if bot is not None and task is not None:
            await bot.close()
            await asyncio.gather(task, return_exceptions=True)

    async def restart(self) -> None:
        """End it in order and start it again."""
        await self.stop()
        await self.start()

    async def crash(self) -> None:
        """End it as SIGKILL would: from this moment on nothing reaches the disk or Discord.

        The next start finds the database as it is on disk now.
        """
        bot, task = self._bot, self._task
        assert bot is not None and task is not None
        self._bot = self._task = None
        self._crashes += 1
        left = self.database.with_name(f"crashed-{self._crashes}.db")
        # A consistent moment of the committed rows: what a killed process leaves.
        with closing(sqlite3.connect(self.database)) as living, closing(sqlite3.connect(left)) as copy:
            living.backup(copy)
        self.settings = self.settings.model_copy(update={"storage": StorageSettings(path=left)})
        with self._deaf():
            await bot.http.close()  # its last words reach nobody
            await bot.close()
            await asyncio.gather(task, return_exceptions=True)

    @contextmanager
    def _deaf(self) -> Any:
        heard = len(self.errors)
        yield
        del self.errors[heard:]

    def heard(self, event: str) -> None:
        """An error was logged."""
        if not event.startswith(_NO_TROUBLE):
            self.errors.append(event)

    @property
    def unexpected(self) -> list[str]:
        """The errors that no test asked for."""
        return [event for event in self.errors if event not in self.expected]


@asynccontextmanager
async def running_bot(
    wire: WireDiscord,
    settings: Settings,
    *,
    pace: Pace = BRISK,
    retry: RetryPolicy = QUICK,
    start: bool = True,
) -> AsyncIterator[Running]:
    """A bot on this wire, ready; `settings` say which model and database. At the end it is closed, and
    nothing may have gone wrong inside that the test does not expect."""
    urls = wire.urls
    address = DiscordSettings(
        token=SecretStr(wire.world.token), api_base=urls.api, gateway_url=urls.gateway, cdn_base=urls.cdn
    )
    running = Running(wire, settings.model_copy(update={"discord": address}), pace, retry)
    undo = aim(address)
    try:
        with _listening(running.heard):
            try:
                if start:
                    await running.start()
                yield running
            finally:
                await running.stop()
    finally:
        undo()
    assert running.unexpected == [], running.unexpected


@contextmanager
def _listening(heard: Callable[[str], None]) -> Any:
    """Tell `heard` of every error that is logged, by structlog or by the libraries."""

    def note(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if method in ("error", "critical", "exception"):
            heard(str(event.get("event")))
        return event

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard(record.getMessage())

    ear = Ear(logging.ERROR)
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    before = structlog.get_config()
    structlog.configure(processors=[note, structlog.processors.add_log_level, plain])
    loggers = [logging.getLogger(name) for name in ("discord", "asyncio", "aiohttp")]
    for logger in loggers:
        logger.addHandler(ear)
    try:
        yield
    finally:
        structlog.configure(**before)
        for logger in loggers:
            logger.removeHandler(ear)
