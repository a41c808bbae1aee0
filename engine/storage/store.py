"""The store: named statements over one database file. It knows tables, not meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from engine.codec import digest
from engine.errors import HandleClosed, NotFound, StorageError
from engine.storage.connector import PAGE_SIZE, Reader, WriterConnection
from engine.storage.lock import FileLock
from engine.storage.schema import load_migrations, migrate
from engine.storage.statements import Statement, load_statements
from engine.storage.writer import GroupWriter
from engine.storage.writes import Change, Row, Write, blob_write

__all__ = ["Store"]

_UNLIMITED_PAGES = 0xFFFF_FFFE  # SQLite's own largest page count


class Store:
    """One open database. Made by `Store.open`, ended by `aclose` or by `async with`.

    Guarantees: what `commit` returned for is on the disk (WAL, synchronous FULL) and outlives a
    killed process; a unit happens whole or not at all; a read sees every unit that was committed
    before it began. A failing disk surfaces as StorageError, and the store goes on when the disk does.
    """

    def __init__(
        self,
        path: Path,
        statements: Mapping[str, Statement],
        writer: WriterConnection,
        reader: Reader,
        closing: AsyncExitStack,
    ) -> None:
        self.path = path
        self._statements = statements
        self._connection = writer
        self._reader = reader
        self._writer = GroupWriter(writer.run)
        self._closing = closing
        self._closed = False
        self._shut: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, path: Path, *, sources: Traversable | None = None) -> Store:
        """Opens the database, makes it if it is not there, and brings its schema up to date.

        `sources` is a folder with `sql/` and `migrations/`; by default the engine's own. Raises
        StorageError: codes DATABASE_IN_USE (another process has it), CANNOT_OPEN, DATABASE_CORRUPT,
        NO_WAL, MIGRATION_FAILED, SQL_FILE; and MigrationMismatch for a database of another program
        or version. Then nothing stays open and nothing is locked.
        """
        folder = sources if sources is not None else resources.files("engine.storage")
        async with AsyncExitStack() as stack:
            lock = await asyncio.to_thread(_occupy, path)
            stack.callback(lock.release)
            statements = await asyncio.to_thread(load_statements, folder / "sql")
            migrations = await asyncio.to_thread(load_migrations, folder / "migrations")
            writer = await WriterConnection.open(path)
            stack.push_async_callback(writer.aclose)
            await migrate(writer.db, migrations)
            reader = await Reader.open(path)
            stack.push_async_callback(reader.aclose)
            return cls(path, statements, writer, reader, stack.pop_all())

    async def fetch(self, query: str, /, **params: object) -> list[Row]:
        """All rows of the named query. Raises StorageError (code UNKNOWN_QUERY for a wrong name)."""
        if self._closed:
            raise HandleClosed()
        return await self._reader.fetch(self._text(query), params, query=query)

    async def fetch_one(self, query: str, /, **params: object) -> Row | None:
        """The first row of the named query, or None."""
        rows = await self.fetch(query, **params)
        return rows[0] if rows else None

    async def commit(self, *writes: Write) -> list[int]:
        """Carries out the writes as one atomic unit; the row count of each, once they are on disk.

        Units of concurrent callers share a transaction and one sync of the disk, but not their
        fate: a conflict undoes only its own unit. Raises Conflict (an `expect` not met, a key taken,
        a referenced row gone) and StorageError (codes DISK_FULL, READ_ONLY, DISK_IO, …): nothing of
        the unit happened then. A caller that is cancelled does not withdraw its unit.
        """
        unit = [Change(write.query, self._text(write.query), write.params, write.expect) for write in writes]
        return await self._writer.commit(unit)

    async def put_blob(self, body: bytes) -> bytes:
        """Stores bytes under their SHA-256 and gives it back, once they are on disk. Idempotent."""
        await self.commit(blob_write(body))
        return digest(body)

    async def get_blob(self, hash: bytes) -> bytes:
        """The bytes of that hash. Raises NotFound, and StorageError code BLOB_CORRUPT when what is
        stored has another hash."""
        row = await self.fetch_one("blob_get", hash=hash)
        if row is None:
            raise NotFound("The stored file does not exist.", hash=hash.hex())
        body: bytes = row["body"]
        if digest(body) != hash:
            raise StorageError(
                "A stored file is damaged: its content does not match its hash. Import it again.",
                code="BLOB_CORRUPT",
                hash=hash.hex(),
            )
        return body

    async def check(self) -> Sequence[str]:
        """SQLite's own full check of the file; empty when it is sound. Takes time: reads everything."""
        if self._closed:
            raise HandleClosed()
        rows = await self._reader.fetch("PRAGMA integrity_check", {})
        return tuple(row["integrity_check"] for row in rows if row["integrity_check"] != "ok")

    async def limit_size(self, size: int | None) -> None:
        """Lets the file grow to `size` bytes (never below what it has) or, with None, without limit.
        Beyond it every commit that needs room ends as on a full disk: StorageError code DISK_FULL."""
        if self._closed:
            raise HandleClosed()
        await self._connection.limit(_UNLIMITED_PAGES if size is None else max(1, size // PAGE_SIZE))

    async def aclose(self) -> None:
        """Settles the units that wait, folds the log into the file, closes it and frees its lock.
        May be called again, also at the same time: each call returns when all is done."""
        self._closed = True
        if self._shut is None:
            self._shut = asyncio.create_task(self._shut_down(), name="storage-close")
        await asyncio.shield(self._shut)

    async def _shut_down(self) -> None:
        await self._writer.aclose()
        await self._closing.aclose()

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _text(self, query: str) -> str:
        statement = self._statements.get(query)
        if statement is None:
            raise StorageError(f"There is no statement called {query!r}.", code="UNKNOWN_QUERY", query=query)
        return statement.text


def _occupy(path: Path) -> FileLock:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The database's folder {path.parent} cannot be made: {error.strerror}.",
            code="CANNOT_OPEN",
            path=str(path),
        ) from error
    return FileLock(path)
