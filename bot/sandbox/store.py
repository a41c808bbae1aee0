"""Where the sandbox keeps its world: one SQLite file, or memory for tests.

Records are JSON under (kind, id); files are blobs under a path. Every call is
committed when it returns, so a killed sandbox continues where it stopped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from engine.codec import dumps, loads

__all__ = ["Record", "Store", "Table"]

Record: TypeAlias = dict[str, Any]
"""One stored thing as JSON; ids are strings, as on the wire."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS record (
  kind TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, body BLOB NOT NULL);
"""


class Store:
    """The file. `path` None keeps everything in memory."""

    def __init__(self, path: Path | None = None) -> None:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # Autocommit: a request is answered only after its effect is on disk.
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        # NORMAL survives a killed process; only a power cut may lose the last moments of a sandbox.
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_SCHEMA)

    def put(self, kind: str, key: str, record: Record) -> None:
        """Store or replace a record."""
        self._db.execute("INSERT OR REPLACE INTO record VALUES (?, ?, ?)", (kind, key, dumps(record)))

    def drop(self, kind: str, key: str) -> None:
        """Forget a record; unknown keys are ignored."""
        self._db.execute("DELETE FROM record WHERE kind = ? AND id = ?", (kind, key))

    def load(self, kind: str) -> dict[str, Record]:
        """Every record of a kind, by key."""
        rows = self._db.execute("SELECT id, body FROM record WHERE kind = ?", (kind,))
        return {key: loads(body) for key, body in rows}

    def put_file(self, path: str, body: bytes) -> None:
        """Store or replace a file."""
        self._db.execute("INSERT OR REPLACE INTO file VALUES (?, ?)", (path, body))

    def get_file(self, path: str) -> bytes | None:
        """The bytes of a file, or None."""
        row = self._db.execute("SELECT body FROM file WHERE path = ?", (path,)).fetchone()
        return None if row is None else bytes(row[0])

    def close(self) -> None:
        """Close the file. Later calls fail."""
        self._db.close()


class Table(Mapping[str, Record]):
    """All records of one kind, held in memory and written through.

    Change a record in place and call `put` with it: that is the commit.
    """

    def __init__(self, store: Store, kind: str, *, key: str = "id") -> None:
        self._store = store
        self._kind = kind
        self._key = key
        self._records = store.load(kind)

    def __getitem__(self, key: str) -> Record:
        return self._records[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def put(self, record: Record) -> Record:
        """Store the record under its own key and hand it back."""
        key = record[self._key]
        self._records[key] = record
        self._store.put(self._kind, key, record)
        return record

    def drop(self, key: str) -> Record | None:
        """Remove and return the record, None when there is none."""
        self._store.drop(self._kind, key)
        return self._records.pop(key, None)

    def where(self, **fields: object) -> list[Record]:
        """The records whose fields have these values, oldest stored first."""
        return [r for r in self._records.values() if all(r.get(k) == v for k, v in fields.items())]
