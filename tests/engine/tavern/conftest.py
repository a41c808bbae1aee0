"""A library in a file, and a stage around it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.library import Library
from engine.storage import Store
from tests.engine.tavern.stage import Stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with await Store.open(tmp_path / "library.db") as store:
        stage = Stage(Library(store))
        yield stage
        await stage.owner.aclose()
