"""What SQLite raises, provoked for real, in the engine's words."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from engine.errors import Conflict, StorageError
from engine.storage.faults import translate


def test_a_read_only_database(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "x.db").execute("CREATE TABLE t (a)").connection.close()
    db = sqlite3.connect(f"file:{tmp_path / 'x.db'}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError) as caught:
        db.execute("INSERT INTO t VALUES (1)")
    db.close()
    fault = translate(caught.value, query="t_add")
    assert fault.error_code == "READ_ONLY"
    assert fault.data == {"query": "t_add", "reason": "SQLITE_READONLY"}


def test_a_locked_database(tmp_path: Path) -> None:
    holder = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    other = sqlite3.connect(tmp_path / "x.db", timeout=0)
    with pytest.raises(sqlite3.OperationalError) as caught:
        other.execute("CREATE TABLE t (a)")
    holder.close()
    other.close()
    assert translate(caught.value).error_code == "DATABASE_BUSY"


def test_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE t (a)")
    db.executemany("INSERT INTO t VALUES (?)", [("x" * 1000,)] * 100)
    db.commit()
    db.close()
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    file.write_bytes(data)
    db = sqlite3.connect(file)
    with pytest.raises(sqlite3.DatabaseError) as caught:
        db.execute("SELECT count(*) FROM t").fetchall()
    db.close()
    assert translate(caught.value).error_code == "DATABASE_CORRUPT"


def test_a_row_that_is_referred_to_and_gone_is_a_conflict() -> None:
    db = sqlite3.connect(":memory:")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("CREATE TABLE a (k PRIMARY KEY)")
    db.execute("CREATE TABLE b (k REFERENCES a)")
    with pytest.raises(sqlite3.IntegrityError) as caught:
        db.execute("INSERT INTO b VALUES (1)")
    db.close()
    assert isinstance(translate(caught.value), Conflict)


def test_an_error_of_ours_stays_itself() -> None:
    conflict = Conflict("mine")
    assert translate(conflict) is conflict


def test_any_other_error_is_a_statement_s() -> None:
    fault = translate(TypeError("no"))
    assert type(fault) is StorageError
    assert (fault.error_code, fault.message) == ("STATEMENT", "A value cannot be stored: no")
