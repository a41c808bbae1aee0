"""Numbered migrations: how a database gets the program's tables, and how a foreign one is refused."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable

import aiosqlite

from engine.codec import digest
from engine.errors import MigrationMismatch, StorageError
from engine.storage.faults import translate
from engine.storage.statements import split_statements

__all__ = ["Migration", "load_migrations", "migrate"]

_FILE = re.compile(r"^(\d{4})_([a-z0-9_]+)\.sql$")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. `checksum` is over its text with Unix line ends, so that a checkout
    on Windows has the same one."""

    version: int
    name: str
    text: str
    checksum: bytes

    @property
    def label(self) -> str:
        """As the file is called: `0001_sessions`."""
        return f"{self.version:04d}_{self.name}"


def load_migrations(folder: Traversable) -> Sequence[Migration]:
    """The folder's migrations in order. Raises StorageError, code SQL_FILE, for a file name that is
    not NNNN_name.sql and for a number used twice."""
    found: dict[int, Migration] = {}
    for file in folder.iterdir():
        if not file.name.endswith(".sql"):
            continue
        match = _FILE.match(file.name)
        if match is None:
            raise StorageError(f"The migration {file.name} is not called NNNN_name.sql.", code="SQL_FILE")
        version, name = int(match.group(1)), match.group(2)
        if version in found:
            raise StorageError(
                f"Two migrations have the number {version:04d}: {found[version].name} and {name}.",
                code="SQL_FILE",
            )
        text = file.read_bytes().decode("utf-8").replace("\r\n", "\n")
        found[version] = Migration(version, name, text, digest(text.encode()))
    return [found[version] for version in sorted(found)]


async def migrate(db: aiosqlite.Connection, migrations: Sequence[Migration]) -> list[str]:
    """Brings the database to the newest schema; the labels of what was applied now.

    Each migration is one transaction: after a failure or a crash the database stands between two
    of them, and the next start goes on from there. Raises MigrationMismatch when the database has
    a migration that the program does not have or has with another text, and StorageError (code
    MIGRATION_FAILED) when a statement fails.
    """
    applied = await _applied(db)
    _compare(applied, migrations)
    newest = max(applied, default=0)
    pending = [migration for migration in migrations if migration.version > newest]
    for migration in pending:
        await _apply(db, migration)
    return [migration.label for migration in pending]


async def _applied(db: aiosqlite.Connection) -> dict[int, tuple[str, bytes]]:
    tables = {
        row["name"]
        for row in await db.execute_fetchall("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    if "migration" not in tables:
        if tables:
            raise MigrationMismatch(
                "The file is a database of another program: it has tables, but no list of migrations. "
                "Choose another file in the settings.",
                tables=sorted(tables),
            )
        return {}
    rows = await db.execute_fetchall("SELECT version, name, checksum FROM migration")
    return {row["version"]: (row["name"], row["checksum"]) for row in rows}


def _compare(applied: dict[int, tuple[str, bytes]], migrations: Sequence[Migration]) -> None:
    known = {migration.version: migration for migration in migrations}
    highest = max(known, default=0)
    for version, (name, checksum) in sorted(applied.items()):
        label = f"{version:04d}_{name}"
        if version > highest:
            raise MigrationMismatch(
                f"The database was written by a newer version of this program: it has {label}, "
                f"the newest known here is {highest:04d}. Update the program, or restore an older backup.",
                migration=label,
            )
        migration = known.get(version)
        if migration is None or migration.name != name:
            raise MigrationMismatch(
                f"The database has the migration {label}, which this program does not know. "
                "It was made by another branch of the program: run that one, or choose another file.",
                migration=label,
            )
        if migration.checksum != checksum:
            raise MigrationMismatch(
                f"The migration {label} was changed after this database was made with it. "
                "Put the file back as it was, and bring the change in a new migration.",
                migration=label,
            )
    newest = max(applied, default=0)
    for migration in migrations:
        if migration.version < newest and migration.version not in applied:
            raise MigrationMismatch(
                f"The migration {migration.label} is missing in the database, though later ones are there. "
                "Give the new migration a number after the newest one.",
                migration=migration.label,
            )


async def _apply(db: aiosqlite.Connection, migration: Migration) -> None:
    # Rebuilding a table drops it for a moment, so references are checked once, at the end.
    # SQLite ignores this switch inside a transaction: it has to stand outside.
    await db.execute_fetchall("PRAGMA foreign_keys = OFF")
    try:
        await db.execute_fetchall("BEGIN IMMEDIATE")
        for statement in split_statements(migration.text):
            await db.execute_fetchall(statement)
        broken = list(await db.execute_fetchall("PRAGMA foreign_key_check"))
        if broken:
            raise _failed(migration, f"rows of {broken[0]['table']} would point at nothing")
        await db.execute_fetchall(
            "INSERT INTO migration (version, name, checksum) VALUES (?, ?, ?)",
            (migration.version, migration.name, migration.checksum),
        )
        await db.execute_fetchall("COMMIT")
    except (sqlite3.Error, ValueError) as error:
        fault = translate(error)
        if fault.error_code == "STATEMENT":
            raise _failed(migration, str(error)) from error
        raise fault from error
    finally:
        if db.in_transaction:
            await db.execute_fetchall("ROLLBACK")
        await db.execute_fetchall("PRAGMA foreign_keys = ON")


def _failed(migration: Migration, why: str) -> StorageError:
    return StorageError(
        f"The migration {migration.label} failed and was undone: {why}.",
        code="MIGRATION_FAILED",
        migration=migration.label,
    )
