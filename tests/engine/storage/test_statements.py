"""Named SQL files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import engine.storage
from engine.errors import StorageError
from engine.storage.connector import GroupConnection, connect_raw
from engine.storage.schema import load_migrations
from engine.storage.statements import Statement, load_statements, split_statements

SHIPPED = Path(engine.storage.__file__).parent


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.sql").write_text(text)
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(StorageError) as caught:
        load_statements(folder)
    assert caught.value.error_code == "SQL_FILE"
    return caught.value.message


def test_a_statement_has_name_comment_text_and_place(tmp_path: Path) -> None:
    write(tmp_path, a="\n-- name: one\n-- The first\n-- number.\nSELECT 1\nWHERE :x = ';';\n\n")
    statement = load_statements(tmp_path)["one"]
    assert (statement.name, statement.comment) == ("one", "The first number.")
    assert statement.text == "SELECT 1\nWHERE :x = ';'"
    assert statement.source == "a.sql:2"


def test_every_file_of_the_folder_is_read_and_other_files_are_not(tmp_path: Path) -> None:
    write(tmp_path, a="-- name: one\n-- First.\nSELECT 1;", b="-- name: two\n-- Second.\nSELECT 2;")
    (tmp_path / "notes.txt").write_text("not SQL")
    assert sorted(load_statements(tmp_path)) == ["one", "two"]


def test_a_name_used_twice_is_refused_and_both_places_are_named(tmp_path: Path) -> None:
    write(tmp_path, a="-- name: one\n-- First.\nSELECT 1;", b="\n-- name: one\n-- Again.\nSELECT 2;")
    assert refusal(tmp_path) == "b.sql:2: one is defined in a.sql:1 already"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("-- name: one\nSELECT 1;", "a.sql:1: one has no comment line that says what it is for"),
        ("-- name: one\n--\nSELECT 1;", "a.sql:1: one has no comment line that says what it is for"),
        ("-- name: one\n-- Empty.\n", "a.sql:1: one must hold one statement, it holds 0"),
        ("-- name: one\n-- Two.\nSELECT 1; \nSELECT 2;", "a.sql:1: one must hold one statement, it holds 2"),
        (
            "-- name: one\n-- Open.\nSELECT 1",
            "a.sql:1: one has a statement without a closing semicolon: SELECT 1",
        ),
        ("-- name: One\n-- Case.\nSELECT 1;", "a.sql:1: a name line reads `-- name: lower_case_words`"),
        ("SELECT 1;", "a.sql:1: text before the first `-- name:` line"),
    ],
)
def test_a_malformed_entry_is_refused_with_its_place(tmp_path: Path, text: str, why: str) -> None:
    assert refusal(write(tmp_path, a=text)) == why


def test_two_statements_on_one_line_are_not_taken_for_one(tmp_path: Path) -> None:
    write(tmp_path, a="-- name: one\n-- Two on a line.\nSELECT 1; SELECT 2;")
    assert refusal(tmp_path) == "a.sql:1: one must hold one statement, it holds 2"


def test_a_script_splits_at_statements_and_keeps_triggers_whole() -> None:
    script = """
    -- A table; with a semicolon in its comment.
    CREATE TABLE t (a);
    CREATE TRIGGER g AFTER INSERT ON t BEGIN
        DELETE FROM t WHERE a = 1;
        DELETE FROM t WHERE a = 2;
    END;
    -- The end.
    """
    parts = list(split_statements(script))
    assert len(parts) == 2
    assert parts[1].startswith("CREATE TRIGGER") and parts[1].endswith("END;")
    db = sqlite3.connect(":memory:")
    for part in parts:
        db.execute(part)
    db.close()


class _AnyValue(dict[str, None]):
    def __missing__(self, name: str) -> None:
        return None


@pytest.mark.parametrize("statement", load_statements(SHIPPED / "sql").values(), ids=lambda s: s.name)
def test_every_shipped_statement_compiles_against_the_shipped_schema(
    statement: Statement, tmp_path: Path
) -> None:
    raw = connect_raw(tmp_path / "schema.db", GroupConnection)
    try:
        for migration in load_migrations(SHIPPED / "migrations"):
            for part in split_statements(migration.text):
                raw.execute(part)
        plan = raw.execute(f"EXPLAIN {statement.text}", _AnyValue()).fetchall()
        assert plan, "SQLite made no program of it"
    finally:
        raw.close()
