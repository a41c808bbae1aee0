"""Waiting for what listeners are doing."""

from __future__ import annotations

import asyncio

from engine.hooks import Hooks, Scope


async def test_settling_waits_for_what_listeners_are_doing() -> None:
    hooks, owner, done = Hooks(), Scope("test"), []

    async def slowly(text: str) -> None:
        await asyncio.sleep(0.02)
        done.append(text)

    hooks.on("said", slowly, owner=owner)
    hooks.emit("said", "one")
    hooks.emit("said", "two")
    await hooks.settle(5)
    assert done == ["one", "two"]
    await hooks.settle(5)  # nothing to wait for


async def test_settling_ends_what_takes_too_long() -> None:
    hooks, owner, ended = Hooks(), Scope("test"), asyncio.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    hooks.on("said", forever, owner=owner)
    hooks.emit("said")
    await hooks.settle(0.05)
    assert ended.is_set()
