"""The fixtures of the cogs' tests: the whole bot over the wire, at a table of three."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.sandbox.wire import WireDiscord
from tests.e2e.scene import Scene, set_scene
from tests.e2e.table import wire

__all__ = ["scene", "wire"]


@pytest.fixture
async def scene(wire: WireDiscord, data_dir: Path) -> AsyncIterator[Scene]:
    """A running bot whose model says what the test tells it."""
    async with set_scene(wire, data_dir) as made:
        yield made
