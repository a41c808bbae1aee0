"""A table to play at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.engine.play.table import Table


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    """An open engine over a file of this test's own."""
    opened = Table(tmp_path)
    await opened.open()
    try:
        yield opened
    finally:
        await opened.close()
