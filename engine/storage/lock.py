"""One writer process per database: an operating-system lock beside the file.

The system frees the lock when its process ends, however it ends, so a crash leaves nothing to
clean up. The lock file itself stays: removing it would race with the next process's lock.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from engine.errors import StorageError

__all__ = ["FileLock"]


class FileLock:
    """An exclusive lock on `<database>.lock`, held from construction to `release()`.

    Raises StorageError: code DATABASE_IN_USE when another holder has it (also in this process),
    CANNOT_OPEN when the lock file cannot be made.
    """

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + ".lock")
        try:
            self._handle: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageError(
                f"The database's lock file {self.path} cannot be opened: {error.strerror}.",
                code="CANNOT_OPEN",
                path=str(self.path),
            ) from error
        try:
            _lock(self._handle)
        except OSError as error:
            holder = _read_holder(self._handle)
            os.close(self._handle)
            self._handle = None
            raise StorageError(
                f"The database {database} is in use by another process{holder}. Only one bot may run on it.",
                code="DATABASE_IN_USE",
                path=str(database),
            ) from error
        # For the person who meets the refusal; the lock, not this text, is what counts.
        os.ftruncate(self._handle, 0)
        os.write(self._handle, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Gives the lock back. May be called again."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)  # closing the only descriptor frees the lock on every system


def _read_holder(handle: int) -> str:
    if sys.platform == "win32":
        return ""  # the locked byte cannot be read there
    text = os.pread(handle, 20, 0).strip()
    return f" (number {text.decode()})" if text.isdigit() else ""


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
