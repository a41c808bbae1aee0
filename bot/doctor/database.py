"""The database: there, readable, of this version, whole, and with room to grow."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from bot.doctor.finding import Finding, bad, good, note
from bot.settings import Settings
from bot.snapshot import opened
from engine.errors import EngineError, NotFound

__all__ = ["check"]

# An exchange takes some ten kilobytes, so a gigabyte is 100,000 of them: time enough to act.
# Below a quarter of it a few imported cards can fill the disk.
MiB = 1024 * 1024
PLENTY = 1024 * MiB
LEAST = 256 * MiB

_MEND = {
    "MIGRATION_MISMATCH": "Another version of the bot wrote it: update the bot, or go back to that version.",
    "DATABASE_CORRUPT": "Stop the bot, put the file aside, and restore the last copy that you have.",
    "CANNOT_OPEN": "Check that the file belongs to the user who runs the bot, and may be written.",
}


async def check(settings: Settings) -> AsyncIterator[Finding]:
    """Findings about `storage.path`. A database in use is looked at in a copy."""
    path = settings.storage.path.absolute()
    try:
        async with opened(path) as store:
            faults = await store.check()
        if faults:
            yield bad(f"Database: {path} is damaged: {faults[0]}", _MEND["DATABASE_CORRUPT"])
        else:
            yield good(f"Database: {path} can be opened and is whole.")
    except NotFound:
        yield await asyncio.to_thread(_first_start, path)
    except EngineError as error:
        yield bad(f"Database: {error}", _MEND.get(error.error_code, "Check storage.path in your settings."))
    yield await asyncio.to_thread(_room, _existing(path))


def _first_start(path: Path) -> Finding:
    folder = _existing(path)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return bad(
            f"Database: there is none yet, and {folder} may not be written.",
            "Make the folder writable for the user who runs the bot, or set storage.path.",
        )
    return note(f"Database: there is none yet; the first start makes {path}.")


def _room(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    text = f"Disk: {free // MiB:,} MiB are free where the database is."
    if free < LEAST:
        return bad(text, "Make room, or move the database (storage.path).")
    if free < PLENTY:
        return note(text, "Enough for now; make room soon.")
    return good(text)


def _existing(path: Path) -> Path:
    """The nearest folder above `path` that is there."""
    return next((parent for parent in path.parents if parent.exists()), Path(path.anchor))
