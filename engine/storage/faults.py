"""What SQLite says went wrong, in the engine's words."""

from __future__ import annotations

import sqlite3

from engine.errors import Conflict, StorageError

__all__ = ["translate"]

# SQLite's primary result codes (the extended ones begin with them) -> our code and text.
_FAULTS = {
    "SQLITE_FULL": (
        "DISK_FULL",
        "The disk is full: the database cannot grow. The change was not kept.",
    ),
    "SQLITE_READONLY": ("READ_ONLY", "The database cannot be written: its file or folder is read-only."),
    "SQLITE_IOERR": ("DISK_IO", "The disk failed while the database was read or written."),
    "SQLITE_BUSY": ("DATABASE_BUSY", "Another program keeps the database locked."),
    "SQLITE_LOCKED": ("DATABASE_BUSY", "Another program keeps the database locked."),
    "SQLITE_CORRUPT": ("DATABASE_CORRUPT", "The database file is damaged. Restore it from a backup."),
    "SQLITE_NOTADB": ("DATABASE_CORRUPT", "The file is not a database."),
    "SQLITE_CANTOPEN": ("CANNOT_OPEN", "The database file cannot be opened or made."),
}

# A key that is taken or a row that is gone: the world changed, the statement is right.
_RACES = ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_FOREIGNKEY")


def translate(error: Exception, *, query: str | None = None) -> StorageError:
    """The typed error for a driver's one; `query` names the statement that failed.

    A taken key and a missing foreign row become `Conflict`; a full, failing or read-only disk, a
    lock held by another program and a damaged file become `StorageError` with a code of their own;
    everything else (a wrong statement, a value that no column can hold) is code STATEMENT.
    """
    if isinstance(error, StorageError):
        return error
    reason = getattr(error, "sqlite_errorname", None)
    if reason in _RACES:
        return Conflict(f"Somebody else changed it first ({error}).", query=query, reason=reason)
    if isinstance(reason, str):
        primary = "_".join(reason.split("_")[:2])
        if primary in _FAULTS:
            code, text = _FAULTS[primary]
            return StorageError(text, code=code, query=query, reason=reason)
    if isinstance(error, sqlite3.Error) or reason is not None:
        where = f" in {query}" if query else ""
        return StorageError(
            f"The database refused a statement{where}: {error}", code="STATEMENT", query=query
        )
    return StorageError(f"A value cannot be stored: {error}", code="STATEMENT", query=query)
