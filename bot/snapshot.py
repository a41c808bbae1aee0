"""Looking into the database, also while the bot is running on it."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from engine.errors import NotFound, StorageError
from engine.storage import Store

__all__ = ["opened"]


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Store]:
    """The database at `path`; a copy of what is in it now when another process has it.

    Nothing is made where nothing is: raises NotFound then. Otherwise raises what `Store.open` raises.
    """
    if not await asyncio.to_thread(path.is_file):
        raise NotFound(f"There is no database at {path}.", path=str(path))
    try:
        store = await Store.open(path)
    except StorageError as error:
        if error.error_code != "DATABASE_IN_USE":
            raise
    else:
        async with store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="inglenook-") as folder:
        copy = Path(folder) / path.name
        await asyncio.to_thread(_copy, path, copy)
        async with await Store.open(copy) as store:
            yield store


def _copy(source: Path, target: Path) -> None:
    # SQLite's own backup takes one consistent moment of a database that is being written.
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as living,
        closing(sqlite3.connect(target)) as copy,
    ):
        living.backup(copy)
