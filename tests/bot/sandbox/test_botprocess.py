"""The bot's process: started, restarted, killed, started again after a crash, never left behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from bot.sandbox.botprocess import BotProcess

STEADY = "import time\nprint('here', flush=True)\ntime.sleep(60)"
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('no', flush=True)
time.sleep(60)
"""
CRASHING = "print('that was that', flush=True)\nraise SystemExit(3)"


@asynccontextmanager
async def process(program: str, **more: object) -> AsyncIterator[BotProcess]:
    made = BotProcess(dict(os.environ), command=(sys.executable, "-c", program), **more)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        await made.aclose()


async def until(predicate: Callable[[], object]) -> None:
    async with asyncio.timeout(8):
        while not predicate():  # noqa: ASYNC110 - it watches processes, which ring no bell
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def test_it_is_started_and_restarted() -> None:
    heard: list[str] = []
    async with process(STEADY, echo=heard.append) as bot:
        await bot.start()
        await until(lambda: bot.state()["state"] == "running")
        first = bot.state()["pid"]
        await bot.start()  # it runs already
        assert bot.state()["pid"] == first
        await bot.restart()
        await until(lambda: bot.log()[0] == 2)
        assert bot.state()["pid"] != first
        assert not alive(first)
        last = bot.state()["pid"]
    assert not alive(last)
    assert heard == ["here", "here"]
    assert bot.state() == {"pid": None, "state": "stopped", "note": ""}


async def test_a_killed_one_stays_down_until_it_is_started() -> None:
    async with process(STEADY, again_s=(0.01,)) as bot:
        await bot.start()
        await until(lambda: bot.state()["state"] == "running")
        await bot.kill()
        assert bot.state()["pid"] is None
        assert bot.state()["state"] == "stopped"
        assert "killed" in bot.state()["note"]
        await asyncio.sleep(0.1)
        assert bot.state()["pid"] is None
        await bot.start()
        await until(lambda: bot.state()["state"] == "running")
        assert bot.state()["note"] == ""


async def test_one_that_crashes_is_started_again_and_in_the_end_left_down() -> None:
    async with process(CRASHING, again_s=(0.01, 0.02)) as bot:
        await bot.start()
        await until(lambda: "too often" in bot.state()["note"])
        # three times: the first start and two more
        assert bot.log() == (3, ["that was that"] * 3)
        assert bot.state()["state"] == "crashed"
        assert "code 3" in bot.state()["note"]
        assert "that was that" in bot.state()["note"]


async def test_closing_does_not_wait_for_the_next_try() -> None:
    async with process(CRASHING, again_s=(60,)) as bot:
        await bot.start()
        await until(lambda: bot.state()["state"] == "crashed")
    assert bot.state()["state"] == "stopped"


async def test_one_that_does_not_listen_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.sandbox.botprocess._STOP_S", 0.2)
    async with process(STUBBORN) as bot:
        await bot.start()
        await until(lambda: bot.log()[0])
        pid = bot.state()["pid"]
    assert not alive(pid)


async def test_a_line_without_end_does_not_stop_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.sandbox.botprocess._LINE_BYTES", 1000)
    async with process("print('x' * 5000 + '\\nafter', flush=True)\nimport time; time.sleep(60)") as bot:
        await bot.start()
        await until(lambda: bot.log()[1][-1:] == ["after"])
