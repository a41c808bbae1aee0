"""SQLite through aiosqlite: how connections are set up, and how a group of units is committed.

Another engine replaces this module by its own `connect`: a reader that fetches and a writer
that commits groups. The SQL and everything above stay.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar, cast

import aiosqlite

from engine.codec import digest
from engine.errors import Conflict, StorageError
from engine.storage.faults import translate
from engine.storage.writes import Change, Outcome, Params, Row, Unit

__all__ = ["GroupConnection", "Reader", "WriterConnection", "connect_raw"]

PAGE_SIZE = 8192
"""Bytes. A 1.1 KB event costs 1,187 bytes here against 1,383 at 4096, and loads a fifth faster."""

BUSY_TIMEOUT_S = 5.0
"""Only a person's own sqlite3 shell can hold a lock that long: our writer is alone by its file lock."""

_CACHED_STATEMENTS = 512
"""More than all named statements, so that none is compiled twice."""

_ROWS_PER_FETCH = 64  # aiosqlite's own default; we always fetch all at once

_Raw = TypeVar("_Raw", bound=sqlite3.Connection)


def connect_raw(path: Path, factory: type[_Raw]) -> _Raw:
    """A configured SQLite connection: WAL, synchronous FULL, foreign keys, 8 KiB pages.

    Transactions are always explicit. SQL sees `chain(root, hash)`, one link of a hash chain.
    Raises sqlite3.Error, and StorageError (code NO_WAL) where the file system cannot hold a WAL.
    """
    raw = sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        cached_statements=_CACHED_STATEMENTS,
        factory=factory,
    )
    try:
        raw.execute(f"PRAGMA page_size = {PAGE_SIZE}")  # first: WAL mode and the first table fix it
        mode = raw.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise StorageError(
                f"The database's file system cannot hold a write-ahead log (mode {mode}). "
                "Use a local disk, not a network share.",
                code="NO_WAL",
                path=str(path),
            )
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute("PRAGMA foreign_keys = ON")
        raw.create_function("chain", 2, lambda root, link: digest(root + link), deterministic=True)
        raw.row_factory = sqlite3.Row
    except BaseException:
        raw.close()
        raise
    return raw


class _TransactionLost(Exception):
    """SQLite has rolled the transaction back by itself."""

    def __init__(self, fault: StorageError) -> None:
        self.fault = fault


class GroupConnection(sqlite3.Connection):
    """A connection whose `commit()` carries out everything that was staged, as one transaction.

    So a whole group costs one hop to the connection's thread instead of three for each unit, and no
    task switch or cancellation can fall into the middle of a transaction.
    """

    staged: Sequence[Unit] = ()
    outcomes: Sequence[Outcome] = ()

    def commit(self) -> None:
        """Runs the staged units; `outcomes` then holds one outcome for each.

        A unit that fails is undone alone. Raises sqlite3.Error when the transaction as a whole
        failed: nothing of the group happened then.
        """
        units, self.staged, self.outcomes = self.staged, (), ()
        try:
            self.outcomes = self._run_group(units)
        except _TransactionLost:
            # On a full or failing disk SQLite undoes the whole transaction for one statement's sake.
            # A unit that needs less room than its neighbour shall not fail for it.
            self.outcomes = [self._run_alone(unit) for unit in units]

    def _run_group(self, units: Sequence[Unit]) -> Sequence[Outcome]:
        self.execute("BEGIN IMMEDIATE")
        try:
            outcomes = [self._run_unit(unit) for unit in units]
            super().commit()
        except BaseException:
            self.rollback()  # no-op where SQLite has rolled back by itself
            raise
        return outcomes

    def _run_alone(self, unit: Unit) -> Outcome:
        try:
            return self._run_group([unit])[0]
        except _TransactionLost as lost:
            return lost.fault
        except sqlite3.Error as error:
            return translate(error)

    def _run_unit(self, unit: Unit) -> Outcome:
        self.execute("SAVEPOINT unit")
        counts: list[int] = []
        for change in unit:
            try:
                counts.append(self._run_change(change))
            except Exception as error:
                fault = translate(error, query=change.query)
                if not self.in_transaction:
                    raise _TransactionLost(fault) from error
                self.execute("ROLLBACK TO unit")
                self.execute("RELEASE unit")
                return fault
        self.execute("RELEASE unit")
        return counts

    def _run_change(self, change: Change) -> int:
        params = change.params
        many = isinstance(params, Sequence)
        count = (self.executemany if many else self.execute)(change.text, params).rowcount
        if change.expect is not None and count != change.expect:
            raise Conflict(
                f"Somebody else changed it first ({change.query}: {count} rows instead of {change.expect}).",
                query=change.query,
                expected=change.expect,
                actual=count,
            )
        return count


class WriterConnection:
    """The one connection that changes the database."""

    def __init__(self, db: aiosqlite.Connection, raw: GroupConnection) -> None:
        self.db = db
        self._raw = raw

    @classmethod
    async def open(cls, path: Path) -> WriterConnection:
        """Opens or makes the file. Raises StorageError."""
        made: list[GroupConnection] = []

        def connect() -> sqlite3.Connection:
            made.append(connect_raw(path, GroupConnection))
            return made[0]

        return cls(await _connected(path, connect), made[0])

    async def run(self, units: Sequence[Unit]) -> Sequence[Outcome]:
        """Commits the units in one durable transaction; one outcome each. Not to be called again
        before it returned. Raises StorageError when the whole transaction failed."""
        self._raw.staged = units
        try:
            await self.db.commit()
        except Exception as error:
            raise translate(error) from error
        return self._raw.outcomes

    async def limit(self, pages: int) -> None:
        """Lets the file grow to so many pages and no further."""
        await self.db.execute_fetchall(f"PRAGMA max_page_count = {pages:d}")

    async def aclose(self) -> None:
        """Folds the write-ahead log into the file and closes it."""
        try:
            await self.db.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:
            pass  # all commits are durable in the log; the next start folds them in
        finally:
            await self.db.close()


class Reader:
    """A connection that only reads, beside the writer: it always sees the last commit."""

    def __init__(self, db: aiosqlite.Connection) -> None:
        self._db = db

    @classmethod
    async def open(cls, path: Path) -> Reader:
        """Opens an existing file. Raises StorageError."""

        def connect() -> sqlite3.Connection:
            raw = connect_raw(path, sqlite3.Connection)
            raw.execute("PRAGMA query_only = ON")
            return raw

        return cls(await _connected(path, connect))

    async def fetch(self, text: str, params: Params, *, query: str | None = None) -> list[Row]:
        """All rows. Raises StorageError."""
        try:
            return cast(list[Row], await self._db.execute_fetchall(text, params))
        except Exception as error:
            raise translate(error, query=query) from error

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._db.close()


async def _connected(path: Path, connect: Callable[[], sqlite3.Connection]) -> aiosqlite.Connection:
    """The connection in a thread of its own. Raises StorageError; that thread is over then."""
    failures: list[sqlite3.Error | StorageError] = []

    def attempt() -> sqlite3.Connection:
        try:
            return connect()
        except (sqlite3.Error, StorageError) as error:
            failures.append(error)
            # aiosqlite only waits for the end of a thread that has something to close; the other
            # ends some time later, and breaks when the event loop is closed by then.
            return sqlite3.connect(":memory:")

    db = await aiosqlite.Connection(attempt, _ROWS_PER_FETCH)
    if failures:
        await db.close()
        raise _opening(path, failures[0]) from failures[0]
    return db


def _opening(path: Path, error: sqlite3.Error | StorageError) -> StorageError:
    fault = translate(error)
    fault.data["path"] = str(path)
    return StorageError(f"{fault.message} ({path})", code=fault.error_code, **fault.data)
