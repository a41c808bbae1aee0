"""The real process, `python -m bot run`, killed in the middle of an answer."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from bot.sandbox.wire import WireDiscord
from bot.settings import ENV_PREFIX
from tests.e2e.model import serving
from tests.e2e.scene import Scene, labels_of
from tests.e2e.table import open_wire


class Process:
    """`python -m bot run` as somebody starts it, pointed at the test's Discord and model."""

    def __init__(self, wire: WireDiscord, model_url: str, database: Path) -> None:
        urls = wire.urls
        self._wire = wire
        self._settings = {
            "DISCORD__TOKEN": wire.world.token,
            "DISCORD__API_BASE": urls.api,
            "DISCORD__GATEWAY_URL": urls.gateway,
            "DISCORD__CDN_BASE": urls.cdn,
            "STORAGE__PATH": str(database),
            "MODEL__PROVIDER": "openai",
            "MODEL__BASE_URL": model_url,
            "MODEL__MODEL": "storyteller",
            "PLAY__SAMPLES": "true",
            "PLAY__FIRST_STORY": "general",
            "PLAY__EDIT_INTERVAL": "0.2",
            "LOGS__FORMAT": "json",
        }
        self._log = database.with_name("bot.log")
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it and wait until it is in its session with Discord."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
        env |= {ENV_PREFIX + name: value for name, value in self._settings.items()}
        again = self._wire.gateway.identifies + 1
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", "run", env=env, stdout=log, stderr=log
            )
        await self._wire.gateway.wait_until(identifies=again, timeout=30)

    def errors(self) -> list[str]:
        """What it has logged as an error, or printed although it is no log line."""
        lines = self._log.read_text().splitlines()
        return [
            line for line in lines if not line.startswith("{") or '"level":"error"' in line.replace(" ", "")
        ]

    async def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._process.kill()
        await self._process.wait()
        self._process = None

    async def end(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.terminate()
        code = await self._process.wait()
        self._process = None
        return code

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Process]:
        await self.start()
        try:
            yield self
        finally:
            if self._process is not None:
                await self.kill()


async def test_killed_while_it_writes(data_dir: Path) -> None:
    # given the bot as a process of its own, and the story that it opened for a new server
    async with open_wire() as wire, serving() as model:
        process = Process(wire, model.url, data_dir / "inglenook.db")
        async with process.running():
            scene = Scene(wire, None, model)  # type: ignore[arg-type]
            story = await scene.found_story("general")
            greeting = story.lines()
            assert len(greeting) == 1
            model.will_say("Wipe your feet.")
            await story.say("Ana", "I come in.")
            await story.answered("Wipe your feet.", "1/1", timeout=20)
            # when it is killed while it streams to Ben, and Ana writes while it is down
            await story.say("Ben", "Me too.")
            call = await model.call()
            await call.write("You there, in the back. ")
            await story.sees("You there, in the back.")
            await process.kill()
            assert labels_of(story.find("You there")) == ["Stop"]
            await call.gone.wait()
            await process.start()
            # then one line tells of it; the half answer and its Stop button are gone
            line = await story.sees("The bot was restarted in the middle of this answer.", timeout=20)
            assert labels_of(line) == ["Answer now", "Skip"]
            await story.reads(
                *greeting,
                "Ana: I come in.",
                "Maren: Wipe your feet.",
                "Ben: Me too.",
                "Inglenook: The bot was restarted in the middle of this answer.",
            )
            assert len(model.calls) == 2
            # when somebody wants the answer
            await story.press("Answer now")
            call = await model.call()
            assert call.heard == ["Ana: I come in.", "Wipe your feet.", "Ben: Me too."]
            await call.say("You too.")
            await story.answered("You too.", "1/1", timeout=20)
            await story.reads(
                *greeting,
                "Ana: I come in.",
                "Maren: Wipe your feet.",
                "Ben: Me too.",
                "Maren: You too.",
            )
            # and what is written while it is killed once more is caught up
            await process.kill()
            await story.say("Ana", "I sit down.")
            await process.start()
            call = await model.call(timeout=20)
            assert call.heard[-1] == "Ana: I sit down."
            await call.say("Not on that chair.")
            await story.answered("Not on that chair.", timeout=20)
            assert len(model.calls) == 4
            # and it ends in order when it is asked to
            assert await process.end() == 0
            assert process.errors() == []
