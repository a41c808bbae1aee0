"""A real store in a file, and a library on it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.library import Library
from engine.storage import Store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "library.db") as opened:
        yield opened


@pytest.fixture
def library(store: Store) -> Library:
    return Library(store)
