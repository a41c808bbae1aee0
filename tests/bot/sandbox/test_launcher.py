"""`python -m bot sandbox` as a whole: two processes that start, remember, and end together."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from pydantic import SecretStr

from bot.sandbox.launcher import child_environment, model_in_use
from bot.sandbox.wire import Urls
from bot.settings import ModelSettings, Settings
from tests.bot.sandbox.test_botprocess import alive, until

URLS = Urls(
    "http://127.0.0.1:1", "http://127.0.0.1:1/api/v10", "ws://127.0.0.1:1/gateway", "http://127.0.0.1:1/cdn"
)


class Sandbox:
    """A running sandbox and its page's first words."""

    def __init__(self, process: asyncio.subprocess.Process, base: str) -> None:
        self.process = process
        self.base = base

    async def frame(self, kind: str, **fields: object) -> dict[str, Any]:
        """The next frame of that kind whose `bot` has these fields."""
        async with (
            asyncio.timeout(40),
            aiohttp.ClientSession(headers={"Origin": self.base}) as http,
            http.ws_connect(f"{self.base}/page/ws") as socket,
        ):
            while True:
                frame: dict[str, Any] = await socket.receive_json()
                if frame["t"] == "hello":
                    self.hello = frame
                bot = frame.get("bot", {})
                if frame["t"] in (kind, "hello") and all(bot.get(k) == v for k, v in fields.items()):
                    return frame

    async def online(self) -> int:
        """Wait for the bot; its process id."""
        pid: int = (await self.frame("bot", online=True))["bot"]["pid"]
        return pid

    async def ask(self, op: str, **body: object) -> dict[str, Any]:
        async with (
            aiohttp.ClientSession(headers={"Origin": self.base}) as http,
            http.post(f"{self.base}/page/api/{op}", json=body) as answer,
        ):
            shown: dict[str, Any] = await answer.json()
            return shown

    def channel(self, name: str) -> str:
        return next(str(c["id"]) for c in self.hello["guild"]["channels"] if c["name"] == name)


@asynccontextmanager
async def sandbox(folder: Path) -> AsyncIterator[Sandbox]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("INGLENOOK_")}
    env |= {"INGLENOOK_SANDBOX__PORT": "0", "INGLENOOK_SANDBOX__DATA_DIR": str(folder)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        "sandbox",
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(40):
            while not (found := re.search(r"http://\S+:\d+", (await process.stdout.readline()).decode())):
                assert not process.stdout.at_eof(), "the sandbox ended before it printed its address"
        yield Sandbox(process, found[0])
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
async def test_it_starts_remembers_and_ends_with_its_bot(tmp_path: Path) -> None:
    # given a sandbox whose bot is online
    async with sandbox(tmp_path) as first:
        bot = await first.online()
        tavern = first.channel("tavern")
        assert (await first.ask("say", channel=tavern, content="remember me"))["ok"]
        # when the bot is killed and started from the page
        assert (await first.ask("bot", action="kill"))["ok"]
        assert not alive(bot)
        await first.frame("bot", online=False, pid=None)
        assert (await first.ask("bot", action="start"))["ok"]
        again = await first.online()
        assert again != bot
        # when the sandbox is asked to stop
        first.process.terminate()
        # then it ends well and takes the bot along
        assert await asyncio.wait_for(first.process.wait(), 20) == 0
        assert not alive(again)
    # when it is opened again
    async with sandbox(tmp_path) as second:
        bot = await second.online()
        # then the world is as it was
        said = (await second.ask("history", channel=second.channel("tavern"), limit=100))["messages"]
        assert "remember me" in [m["content"] for m in said]
        # when a second one wants the same folder
        async with asyncio.timeout(30):
            env = {**os.environ, "INGLENOOK_SANDBOX__PORT": "0", "INGLENOOK_SANDBOX__DATA_DIR": str(tmp_path)}
            other = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", "sandbox", env=env, stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            complaint = (await other.communicate())[1].decode()
        # then it says so in one line
        assert other.returncode == 1
        assert "another sandbox is open" in complaint and len(complaint.strip().splitlines()) == 1
        # when the sandbox is killed without a chance to do anything
        os.kill(second.process.pid, signal.SIGKILL)
        await second.process.wait()
        # then the bot does not outlive it
        await until(lambda: not alive(bot))


def test_the_child_gets_every_setting_and_this_discord(tmp_path: Path) -> None:
    # given settings of a real model server, and an environment that says otherwise
    settings = Settings.model_validate(
        {
            "model": {
                "provider": "openai",
                "base_url": "http://127.0.0.1:8080/v1",
                "model": "m",
                "api_key": "k3y",
            },
            "discord": {"token": "real-token"},
            "sandbox": {"data_dir": tmp_path},
        }
    )
    inherited = {"PATH": "/bin", "INGLENOOK_MODEL__MODEL": "other", "INGLENOOK_CONFIG": "/else.toml"}
    env = child_environment(settings, URLS, "sandbox", inherited)
    # then the child reads exactly ours
    assert env["INGLENOOK_MODEL__PROVIDER"] == "openai"
    assert env["INGLENOOK_MODEL__MODEL"] == "m"
    assert env["INGLENOOK_MODEL__API_KEY"] == "k3y"
    assert env["PATH"] == "/bin"
    # and never the real token, nor the real Discord
    assert env["INGLENOOK_DISCORD__TOKEN"] == "sandbox"
    assert env["INGLENOOK_DISCORD__API_BASE"] == URLS.api
    assert "real-token" not in env.values()
    assert env["INGLENOOK_CONFIG"] == str(tmp_path / "no-settings.toml")
    assert env["INGLENOOK_STORAGE__PATH"] == str(tmp_path / "inglenook.db")
    # and everything can be tried
    assert settings.assembly.advanced is False
    assert env["INGLENOOK_ASSEMBLY__ADVANCED"] == "true"


def test_the_page_says_who_writes() -> None:
    assert model_in_use(Settings()).name == "offline narrator"
    model = ModelSettings(
        provider="openai", base_url="https://models.example:9/v1", model="tale-7b", api_key=SecretStr("k3y")
    )
    shown = model_in_use(Settings(model=model))
    assert shown.name == "tale-7b · models.example:9"
    assert shown.offline is False
