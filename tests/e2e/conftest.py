"""The fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.sandbox.wire import WireDiscord
from tests.e2e.scene import Scene, Story, set_scene
from tests.e2e.table import human, wire, world

__all__ = ["human", "scene", "story", "wire", "world"]


@pytest.fixture
async def scene(wire: WireDiscord, data_dir: Path) -> AsyncIterator[Scene]:
    """A running bot whose model says what the test tells it."""
    async with set_scene(wire, data_dir) as made:
        yield made


@pytest.fixture
async def story(scene: Scene) -> Story:
    """A story with Mira that Ana has opened in #general."""
    return await scene.open_story()
