"""The page in a real browser, over a real wire-level Discord, with a real bot on it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

from bot.endpoint import aim
from bot.sandbox.page import Page as SandboxPage
from bot.sandbox.seed import seed_world
from bot.sandbox.wire import WireDiscord
from bot.sandbox.world import World
from bot.settings import DiscordSettings
from tests.browser.smallbot import SmallBot

Open: TypeAlias = Callable[..., Awaitable[Page]]

WIDE, NARROW = (1280, 800), (400, 800)
# Other tests run beside these, and the whole bot is a process of its own: five seconds are too few at times.
expect.set_options(timeout=20_000)
# A browser under test has no business with anybody but the page.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
async def wire() -> AsyncIterator[WireDiscord]:
    """The seeded inn with its page, in memory; no endpoint may crash or be missing."""
    world = World()
    seed_world(world)
    server = WireDiscord(world)
    SandboxPage(server).install()
    try:
        async with server:
            yield server
        assert server.crashes == []
        assert server.unknown == []
    finally:
        world.close()


@pytest.fixture
async def bot(wire: WireDiscord) -> AsyncIterator[SmallBot]:
    """The small bot, online."""
    urls = wire.urls
    undo = aim(DiscordSettings(api_base=urls.api, gateway_url=urls.gateway, cdn_base=urls.cdn))
    small = SmallBot()
    running = asyncio.create_task(small.start(wire.world.token))
    try:
        await wire.gateway.wait_online()
        await small.wait_until_ready()
        yield small
    finally:
        await small.close()
        with suppress(asyncio.CancelledError):
            await running
        undo()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """The system's Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert path, "the browser tests need Chromium: apt-get install chromium, or set CHROMIUM to its path"
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield chromium
        await chromium.close()


@pytest.fixture
async def open_page(wire: WireDiscord, browser: Browser) -> AsyncIterator[Open]:
    """`await open_page("Ana", "tavern")`: a window in which that person looks at that channel.

    No window may report an error or ask anything of another server.
    """
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    async def open_(person: str = "Ana", channel: str = "tavern", size: tuple[int, int] = WIDE) -> Page:
        touch = size == NARROW
        context = await browser.new_context(
            viewport={"width": size[0], "height": size[1]}, has_touch=touch, is_mobile=touch, locale="en-GB"
        )
        page = await context.new_page()
        page.set_default_timeout(8000)
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda r: r.url.startswith((wire.urls.base, "blob:", "data:")) or complaints.append(r.url),
        )
        world = wire.world
        place = f"{wire.urls.base}/?user={world.user(person)['id']}#/{world.channel(channel)['id']}"
        await page.goto(place)
        await page.locator(".channel-title h2", has_text=channel).wait_for()
        return page

    yield open_
    assert complaints == []


@pytest.fixture
def shots() -> Path | None:
    """Where screenshots go: the folder that SHOTS names, or nowhere."""
    folder = os.environ.get("SHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) if folder else None
