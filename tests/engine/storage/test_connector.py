"""How a connection is set up: each setting is a promise that no behaviour of a healthy disk shows."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from engine.codec import digest
from engine.errors import Conflict, StorageError
from engine.storage import Store, Write
from engine.storage.connector import connect_raw


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),  # FULL: a power cut loses nothing that was acknowledged
        ("page_size", 8192),
        ("foreign_keys", 1),
        ("busy_timeout", 5000),
    ],
)
def test_every_connection_is_set_up_alike_also_on_an_existing_file(
    tmp_path: Path, pragma: str, value: object
) -> None:
    for _ in range(2):
        raw = connect_raw(tmp_path / "x.db", sqlite3.Connection)
        raw.execute("CREATE TABLE IF NOT EXISTS t (a)")
        assert raw.execute(f"PRAGMA {pragma}").fetchone()[0] == value
        raw.close()


def test_sql_sees_the_links_of_a_chain(tmp_path: Path) -> None:
    raw = connect_raw(tmp_path / "x.db", sqlite3.Connection)
    root, link = digest(b"a"), b"\x00binary\xff"
    assert raw.execute("SELECT chain(?, ?)", (root, link)).fetchone()[0] == digest(root + link)
    raw.close()


def test_a_place_that_cannot_hold_a_write_ahead_log_is_refused() -> None:
    # a database in memory is such a place, as a network share is
    with pytest.raises(StorageError) as caught:
        connect_raw(Path(":memory:"), sqlite3.Connection)
    assert caught.value.error_code == "NO_WAL"


async def test_references_are_checked_also_when_there_was_nothing_to_migrate(
    counters: Store, tmp_path: Path
) -> None:
    await counters.aclose()
    async with await Store.open(counters.path, sources=tmp_path) as store:
        with pytest.raises(Conflict):
            await store.commit(Write("note_add", {"counter": "nobody"}))
