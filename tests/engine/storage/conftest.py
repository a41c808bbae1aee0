"""Real stores in real files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.storage import Store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "inglenook.db"


@pytest.fixture
async def store(database: Path) -> AsyncIterator[Store]:
    async with await Store.open(database) as opened:
        yield opened


@pytest.fixture
async def counters(tmp_path: Path) -> AsyncIterator[Store]:
    """A store over a schema of its own: named counters, and notes that point at them at commit time."""
    (tmp_path / "sql").mkdir()
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "0001_counters.sql").write_text(
        """
        CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT, checksum BLOB);
        CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL CHECK (value >= 0));
        CREATE TABLE note (
            id INTEGER PRIMARY KEY, counter TEXT REFERENCES counter (name) DEFERRABLE INITIALLY DEFERRED
        );
        """
    )
    (tmp_path / "sql" / "counter.sql").write_text(
        """
-- name: counter_add
-- A new counter.
INSERT INTO counter (name, value) VALUES (:name, :value);

-- name: counter_move
-- Compare and swap.
UPDATE counter SET value = :to WHERE name = :name AND value = :from;

-- name: counter_move_all
-- Every counter that stands at `from`.
UPDATE counter SET value = :to WHERE value = :from;

-- name: counter_all
-- All counters by name.
SELECT name, value FROM counter ORDER BY name;

-- name: note_add
-- A note whose counter is looked for only when the transaction ends.
INSERT INTO note (counter) VALUES (:counter);

-- name: note_count
-- How many notes there are.
SELECT COUNT(*) AS notes FROM note;
"""
    )
    async with await Store.open(tmp_path / "counters.db", sources=tmp_path) as opened:
        yield opened
