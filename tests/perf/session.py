"""Session rows: the log in memory and its way back from the disk."""

from __future__ import annotations

import gc
import hashlib
import sqlite3
import tempfile
import tracemalloc
from itertools import count, islice
from pathlib import Path
from typing import Any

from engine.codec import canonical
from engine.session import (
    Journal,
    Session,
    Sessions,
    StrictValidator,
    assistant_message,
    system_message,
    user_message,
)
from engine.session.store import StoredEvent
from engine.storage import EventTable, Store
from tests.perf.measure import Row, compare

__all__ = ["measure"]

LONG = 10_000  # events of a long story
SHORT = 200  # events of one that was begun
PARKED = 2_000  # sessions that wait on the disk
TEXT = "It was a dark and stormy night; the rain fell in torrents. " * 30  # 1.1 KB an event on average
PIECES = 20  # deltas of a streamed answer


async def measure() -> list[Row]:
    """All session rows."""
    return [*await _in_memory(), *await _from_disk()]


def registry() -> Sessions:
    return Sessions(validators=[StrictValidator])


def tell(session: Session, length: int) -> None:
    """Turns of a story until the log has that many events: six events a turn, two of them long."""
    for turn in count(session.seq // 6 + 1):
        for kind, data, op in _turn(turn):
            session.append(kind, data, surface_op=op)
        if session.seq >= length:
            return


def _turn(turn: int) -> list[tuple[str, Any, Any]]:
    step = {"turn": turn, "step": 1}
    answer = assistant_message(f"a{turn}", TEXT, provider="p", model="m")
    width = len(TEXT) // PIECES
    texts = [TEXT[at : at + width] for at in range(0, len(TEXT), width)]
    stream = [{"type": "text-chunks", "time0": 0, "index": 0, "dt": [9] * (len(texts) - 1), "texts": texts}]
    head: list[tuple[str, Any, Any]] = [("turn/start", {"turn": turn}, None), ("step/start", step, None)]
    if turn == 1:
        head.append(("system/message", {**step, "message": system_message("sys", TEXT)}, "append"))
    return [
        *head,
        ("user/message", user_message(f"u{turn}", TEXT), "append"),
        ("assistant/message", {**step, "message": answer, "stream": stream}, "append"),
        ("step/end", step, None),
        ("turn/end", {"turn": turn, "reason": {"kind": "completed"}}, None),
    ]


async def _in_memory() -> list[Row]:
    session = registry().create("long")
    tell(session, LONG)
    session.derive()
    body = StoredEvent.of(session.event(3)).body
    value = session.event(3).to_wire()
    pointers = list(range(LONG))

    def bare() -> None:
        for _ in range(60):
            hashlib.sha256(canonical(value)).digest()

    coming = iter(
        [event for turn in range(session.seq // 6 + 1, session.seq // 6 + 500) for event in _turn(turn)]
    )

    async def append() -> None:
        for kind, data, op in islice(coming, 60):
            session.append(kind, data, surface_op=op)

    async def derive() -> None:
        for _ in range(200):
            session.derive()

    def copy() -> None:
        for _ in range(200):
            pointers.copy()

    async def rebuild() -> None:
        session._derived_generation = -1  # as a replacement leaves it, without one more event each round
        session.derive()

    def build() -> None:
        [message for message in pointers if message is not None]

    assert len(body) > len(TEXT)
    return [
        await compare(
            "append, in memory, all checks",
            append,
            "dump and hash of a message",
            bare,
            goal=6.0,  # 12 µs where a dump and its hash take 2
            rounds=40,
            ours_does=60,
            yardstick_does=60,
        ),
        await compare(
            f"derive, {LONG} events",
            derive,
            f"copy of {LONG} pointers",
            copy,
            goal=0.3,  # 2 µs where the copy takes 7
            rounds=40,
            ours_does=200,
            yardstick_does=200,
        ),
        await compare(
            f"derive again, {LONG} events",
            rebuild,
            f"list of {LONG} made one by one",
            build,
            goal=2.5,  # 1 ms where the list takes 0.4
            rounds=40,
        ),
    ]


async def _from_disk() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        async with await Store.open(Path(folder) / "ours.db") as store:
            table = EventTable(store)
            await _keep(table, "long", LONG)
            await _keep(table, "short", SHORT)
            db = sqlite3.connect(Path(folder) / "ours.db")
            try:
                return [await _load(table, db), await _live(table), await _parked(table)]
            finally:
                db.close()


async def _keep(table: EventTable, session_id: str, length: int) -> None:
    session = registry().create(session_id)
    tell(session, length)
    rows = [StoredEvent.of(event) for event in session.events()]
    await table.create(session_id, canonical(session.header.to_wire()), inherited=0, parent=None, rows=rows)


async def _load(table: EventTable, db: sqlite3.Connection) -> Row:
    def read_bare() -> None:
        db.execute("SELECT seq, type, at, body FROM event WHERE session = 1 ORDER BY seq").fetchall()

    async def load() -> None:
        journal = Journal(registry(), table)
        await journal.open("long")
        await journal.aclose()

    return await compare(
        f"open of {LONG} events, from disk",
        load,
        "bare read of the rows",
        read_bare,
        goal=3.75,  # 60 ms where the read takes 16
        rounds=12,
    )


async def _live(table: EventTable) -> Row:
    """What a story that was opened and not read yet keeps in memory."""
    rows = (await table.read("short")).rows
    payload = sum(len(row.body) for row in rows)
    del rows
    journal = Journal(registry(), table)
    await journal.open("short")  # once before, so that what it imports and compiles is not counted
    await journal.close("short")
    before = _allocated()
    await journal.open("short")
    await table.head("short")  # the database's thread holds on to its last result until the next one
    kept = _allocated() - before
    tracemalloc.stop()
    await journal.aclose()
    return Row(f"live session of {SHORT} events", kept, "its events as bytes", payload, 1.3, unit="B")


async def _parked(table: EventTable) -> Row:
    """What is left in memory of a story that was opened and closed again."""
    ids = [f"parked{number}" for number in range(PARKED)]
    journal = Journal(registry(), table)
    for session_id in ids:
        await journal.create(session_id)
    for session_id in ids:
        await journal.close(session_id)
    before = _allocated()
    for session_id in ids:
        await journal.open(session_id)
        await journal.close(session_id)
    kept = (_allocated() - before) / PARKED
    tracemalloc.stop()
    await journal.aclose()
    return Row("closed session", max(kept, 1.0), "300 bytes", 300, 1.0, unit="B")


def _allocated() -> int:
    gc.collect()
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    return tracemalloc.get_traced_memory()[0]
