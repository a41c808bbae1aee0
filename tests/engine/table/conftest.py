"""An agent with the table's tools, over a real library."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.library import Library
from engine.storage import Store
from tests.engine.table.bench import Table


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    async with await Store.open(tmp_path / "library.db") as store:
        yield Table(Library(store))
