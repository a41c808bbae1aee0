"""Storage rows: our log against bare sqlite3 on the same disk with the same settings."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.codec import canonical
from engine.session.store import StoredEvent
from engine.storage import EventTable, Store
from tests.perf.measure import Row, compare

__all__ = ["measure"]

LONG = 10_000  # events of a long story
TAIL = 60  # events that a timeline view begins with
WRITERS = 128  # sessions that write at the same time
TEXT = "It was a dark and stormy night; the rain fell in torrents. " * 18  # a 1.1 KB event


def event(seq: int) -> StoredEvent:
    body = canonical({"seq": seq, "type": "user/message", "time": seq, "data": {"text": TEXT}})
    return StoredEvent(seq=seq, type="user/message", time=seq, body=body)


@contextmanager
def bare(folder: Path) -> Iterator[sqlite3.Connection]:
    """What the disk and SQLite cost without us: one table, the same settings, on the calling thread."""
    db = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for pragma in ("page_size = 8192", "journal_mode = WAL", "synchronous = FULL"):
        db.execute(f"PRAGMA {pragma}").fetchall()
    db.execute("CREATE TABLE event (session INTEGER, seq INTEGER, type TEXT, at INTEGER, body BLOB,"
               " PRIMARY KEY (session, seq))")  # fmt: skip
    yield db
    db.close()


async def measure() -> list[Row]:
    """All storage rows, in a temporary folder on the default disk."""
    with tempfile.TemporaryDirectory() as name, bare(Path(name)) as db:
        async with await Store.open(Path(name) / "ours.db") as store:
            return [*await _writing(store, db), *await _reading(store, db)]


async def _writing(store: Store, db: sqlite3.Connection) -> list[Row]:
    events = EventTable(store)
    bare_seq, our_seq = itertools.count(), itertools.count()
    epoch = await events.create("one", b"{}", inherited=0, parent=None, rows=[])
    for i in range(WRITERS):
        await events.create(f"w{i}", b"{}", inherited=0, parent=None, rows=[])

    def commit_bare() -> None:
        for _ in range(20):
            row = event(next(bare_seq))
            db.execute("INSERT INTO event VALUES (0, ?, ?, ?, ?)", (row.seq, row.type, row.time, row.body))

    async def append() -> None:
        for _ in range(20):
            await events.append("one", epoch, [event(next(our_seq))])

    heads = itertools.count()

    async def append_together() -> None:
        seq = next(heads)
        await asyncio.gather(*(events.append(f"w{i}", 1, [event(seq)]) for i in range(WRITERS)))

    return [
        await compare(
            "append, durable",
            append,
            "bare commit of one row",
            commit_bare,
            goal=2.0,  # two thread switches beside the sync; 1.6 is the best that was ever measured
            rounds=40,
            ours_does=20,
            yardstick_does=20,
        ),
        await compare(
            f"append, {WRITERS} writers, per event",
            append_together,
            "bare commit of one row",
            commit_bare,
            goal=0.25,  # 30,000 events/s where a bare commit takes 130 µs
            rounds=40,
            ours_does=WRITERS,
            yardstick_does=20,
        ),
    ]


async def _reading(store: Store, db: sqlite3.Connection) -> list[Row]:
    events = EventTable(store)
    story = [event(seq) for seq in range(LONG)]
    await events.create("long", b"{}", inherited=0, parent=None, rows=story)
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO event VALUES (1, ?, ?, ?, ?)", [(e.seq, e.type, e.time, e.body) for e in story]
    )
    db.execute("COMMIT")
    copies, forks = itertools.count(2), itertools.count()
    await _deep(events)

    def copy() -> None:
        db.execute(
            "INSERT INTO event SELECT ?, seq, type, at, body FROM event WHERE session = 1", (next(copies),)
        )

    async def fork() -> None:
        id = f"fork{next(forks)}"
        await events.create(id, b"{}", inherited=LONG, parent=("long", LONG - 1), rows=[])

    def read_bare(start: int) -> None:
        db.execute(
            "SELECT seq, type, at, body FROM event WHERE session = 1 AND seq >= ? ORDER BY seq", (start,)
        ).fetchall()

    return [
        await compare(
            f"fork of {LONG} events, durable",
            fork,
            "bare copy of the rows",
            copy,
            goal=0.05,  # one row: 1 ms where the copy takes 50
            rounds=8,
        ),
        await compare(
            f"load of {LONG} events, proven",
            lambda: events.read("long"),
            "bare read of the rows",
            lambda: read_bare(0),
            goal=4.0,  # two hashes an event beside the read: 60 ms where the read takes 16
            rounds=12,
        ),
        await compare(
            f"newest {TAIL} events, proven",
            lambda: events.read("long", LONG - TAIL),
            f"bare read of {LONG} rows",
            lambda: read_bare(0),
            goal=0.1,  # 2 ms where the whole takes 16
            rounds=12,
        ),
        await compare(
            f"load of {LONG} events, 200 forks deep",
            lambda: events.read("deep200"),
            "bare read of the rows",
            lambda: read_bare(0),
            goal=5.0,  # one query for each ancestor on top
            rounds=12,
        ),
    ]


async def _deep(events: EventTable) -> None:
    """A chain of 200 forks, each of which adds the same share of LONG events."""
    share = LONG // 201
    await events.create(
        "deep0", b"{}", inherited=0, parent=None, rows=[event(s) for s in range(LONG - 200 * share)]
    )
    for depth in range(1, 201):
        cut = LONG - (201 - depth) * share
        own = [event(seq) for seq in range(cut, cut + share)]
        await events.create(
            f"deep{depth}", b"{}", inherited=cut, parent=(f"deep{depth - 1}", cut - 1), rows=own
        )
