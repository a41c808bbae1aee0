"""The table of these tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.outbox.table import Table, seated


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    """A table without rate limits and with quick edits."""
    async with seated(tmp_path) as seat:
        yield seat
