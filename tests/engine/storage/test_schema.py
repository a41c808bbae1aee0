"""Migrations: applied once, in order, whole; a database that is not ours is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from engine.errors import MigrationMismatch, StorageError
from engine.storage import Store
from engine.storage.schema import load_migrations

FIRST = (
    "CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT, checksum BLOB);\nCREATE TABLE a (x);\n"
)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "sql").mkdir()
    (tmp_path / "migrations").mkdir()
    add(tmp_path, "0001_first", FIRST)
    return tmp_path


def add(sources: Path, label: str, text: str) -> Path:
    file = sources / "migrations" / f"{label}.sql"
    file.write_text(text)
    return file


async def open_and_close(sources: Path) -> None:
    await (await Store.open(sources / "x.db", sources=sources)).aclose()


async def refused(sources: Path) -> str:
    with pytest.raises(MigrationMismatch) as caught:
        await open_and_close(sources)
    assert caught.value.error_code == "MIGRATION_MISMATCH"
    return caught.value.message


def ask(sources: Path, sql: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(sources / "x.db")
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


async def test_migrations_are_applied_in_order_and_only_once(sources: Path) -> None:
    add(sources, "0002_second", "INSERT INTO a VALUES (2);")
    add(sources, "0010_third", "INSERT INTO a VALUES (10);")
    await open_and_close(sources)
    await open_and_close(sources)
    assert ask(sources, "SELECT x FROM a ORDER BY rowid") == [(2,), (10,)]
    assert ask(sources, "SELECT version, name FROM migration") == [(1, "first"), (2, "second"), (10, "third")]


async def test_a_later_program_adds_what_is_new(sources: Path) -> None:
    await open_and_close(sources)
    add(sources, "0002_second", "INSERT INTO a VALUES (2);")
    await open_and_close(sources)
    assert ask(sources, "SELECT x FROM a") == [(2,)]


async def test_a_failing_migration_leaves_nothing_of_itself_and_keeps_the_ones_before(sources: Path) -> None:
    add(sources, "0002_second", "INSERT INTO a VALUES (2);")
    broken = add(sources, "0003_third", "INSERT INTO a VALUES (3);\nINSERT INTO nowhere VALUES (3);")
    with pytest.raises(
        StorageError, match=r"^The migration 0003_third failed and was undone: no such table"
    ) as e:
        await open_and_close(sources)
    assert e.value.error_code == "MIGRATION_FAILED"
    assert ask(sources, "SELECT x FROM a") == [(2,)]
    # mended before anybody could have applied it: the next start goes on
    broken.write_text("INSERT INTO a VALUES (3);")
    await open_and_close(sources)
    assert ask(sources, "SELECT x FROM a") == [(2,), (3,)]


async def test_a_migration_that_leaves_rows_pointing_at_nothing_is_undone(sources: Path) -> None:
    add(sources, "0002_two", "CREATE TABLE b (k INTEGER PRIMARY KEY);\nCREATE TABLE c (k REFERENCES b);")
    add(sources, "0003_rows", "INSERT INTO c VALUES (7);")
    with pytest.raises(StorageError, match="rows of c would point at nothing"):
        await open_and_close(sources)
    assert ask(sources, "SELECT count(*) FROM c") == [(0,)]


async def test_a_table_that_others_refer_to_can_be_rebuilt(sources: Path) -> None:
    add(
        sources,
        "0002_two",
        "CREATE TABLE b (k INTEGER PRIMARY KEY);\nINSERT INTO b VALUES (1);\n"
        "CREATE TABLE c (k REFERENCES b);\nINSERT INTO c VALUES (1);",
    )
    add(
        sources,
        "0003_rebuild",
        "CREATE TABLE b2 (k INTEGER PRIMARY KEY, extra TEXT);\nINSERT INTO b2 (k) SELECT k FROM b;\n"
        "DROP TABLE b;\nALTER TABLE b2 RENAME TO b;",
    )
    await open_and_close(sources)
    assert ask(sources, "SELECT b.k, extra FROM b JOIN c ON c.k = b.k") == [(1, None)]


async def test_a_migration_without_a_last_semicolon_is_refused(sources: Path) -> None:
    add(sources, "0002_open", "INSERT INTO a VALUES (2)")
    with pytest.raises(
        StorageError, match="0002_open failed and was undone: a statement without a closing semi"
    ):
        await open_and_close(sources)


async def test_a_changed_migration_is_refused_in_words(sources: Path) -> None:
    await open_and_close(sources)
    add(sources, "0001_first", FIRST + "-- changed\n")
    assert await refused(sources) == (
        "The migration 0001_first was changed after this database was made with it. "
        "Put the file back as it was, and bring the change in a new migration."
    )


async def test_line_ends_of_a_windows_checkout_are_no_change(sources: Path) -> None:
    await open_and_close(sources)
    (sources / "migrations" / "0001_first.sql").write_bytes(FIRST.replace("\n", "\r\n").encode())
    await open_and_close(sources)


async def test_a_database_of_a_newer_program_is_refused(sources: Path) -> None:
    later = add(sources, "0002_second", "INSERT INTO a VALUES (2);")
    await open_and_close(sources)
    later.unlink()
    assert await refused(sources) == (
        "The database was written by a newer version of this program: it has 0002_second, "
        "the newest known here is 0001. Update the program, or restore an older backup."
    )


async def test_a_database_of_another_branch_is_refused(sources: Path) -> None:
    mine = add(sources, "0002_second", "INSERT INTO a VALUES (2);")
    await open_and_close(sources)
    mine.rename(sources / "migrations" / "0002_other.sql")
    assert "has the migration 0002_second, which this program does not know" in await refused(sources)


async def test_a_migration_that_comes_late_is_refused(sources: Path) -> None:
    add(sources, "0003_third", "INSERT INTO a VALUES (3);")
    await open_and_close(sources)
    add(sources, "0002_second", "INSERT INTO a VALUES (2);")
    assert "Give the new migration a number after the newest one." in await refused(sources)


async def test_a_database_of_another_program_is_refused_and_left_as_it_was(sources: Path) -> None:
    db = sqlite3.connect(sources / "x.db")
    db.execute("CREATE TABLE diary (day)")
    db.close()
    assert "The file is a database of another program" in await refused(sources)
    assert ask(sources, "SELECT name FROM sqlite_master") == [("diary",)]


async def test_after_a_refusal_the_file_is_free_again(sources: Path) -> None:
    await open_and_close(sources)
    changed = add(sources, "0001_first", FIRST + "-- changed\n")
    await refused(sources)
    changed.write_text(FIRST)
    await open_and_close(sources)


def test_two_migrations_with_one_number_are_refused(sources: Path) -> None:
    add(sources, "0001_again", "SELECT 1;")
    with pytest.raises(StorageError, match="Two migrations have the number 0001") as caught:
        load_migrations(sources / "migrations")
    assert caught.value.error_code == "SQL_FILE"


def test_a_migration_with_another_kind_of_name_is_refused(sources: Path) -> None:
    add(sources, "2_second", "SELECT 1;")
    with pytest.raises(StorageError, match=r"The migration 2_second\.sql is not called NNNN_name\.sql\."):
        load_migrations(sources / "migrations")
