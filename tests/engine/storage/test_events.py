"""The durable event log: conformance, and what only a disk can do: damage, restarts, lineage caches."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.codec import digest
from engine.errors import SessionCorrupt, StorageError
from engine.session.memory import MemoryEventStore
from engine.storage import EventTable, Store
from engine.storage.events import LINEAGES_KEPT
from tests.engine.storage.event_stores import HEADER, EventStoreConformance, rows


class TestEventTable(EventStoreConformance):
    @pytest.fixture
    async def events(self, store: Store) -> EventTable:
        return EventTable(store)


class TestMemoryEventStore(EventStoreConformance):
    @pytest.fixture
    def events(self) -> MemoryEventStore:
        return MemoryEventStore()


@pytest.fixture
async def table(store: Store) -> AsyncIterator[EventTable]:
    events = EventTable(store)
    await events.create("p", HEADER, inherited=0, parent=None, rows=rows(0, 6, "p"))
    await events.create("c", HEADER, inherited=4, parent=("p", 3), rows=rows(4, 8, "c"))
    yield events


def tamper(store: Store, sql: str, *values: object) -> None:
    """As somebody with another program would."""
    db = sqlite3.connect(store.path)
    assert db.execute(sql, values).rowcount > 0
    db.commit()
    db.close()


def key(store: Store, id: str) -> int:
    db = sqlite3.connect(store.path)
    found: int = db.execute("SELECT key FROM session WHERE id = ?", (id,)).fetchone()[0]
    db.close()
    return found


async def first_false(table: EventTable, id: str, start: int = 0, stop: int | None = None) -> int:
    with pytest.raises(SessionCorrupt) as caught:
        await table.read(id, start, stop)
    assert caught.value.data["session"] == id
    seq: int = caught.value.data["seq"]
    return seq


async def test_a_changed_body_is_found(store: Store, table: EventTable) -> None:
    tamper(store, "UPDATE event SET body = ? WHERE session = ? AND seq = 5", b"{}", key(store, "c"))
    assert await first_false(table, "c") == 5
    assert await first_false(table, "c", 5, 6) == 5
    assert list((await table.read("c", 0, 5)).rows) == rows(0, 4, "p") + rows(4, 5, "c")


async def test_a_changed_body_with_a_matching_hash_is_found_by_the_chain(
    store: Store, table: EventTable
) -> None:
    tamper(
        store,
        "UPDATE event SET body = ?, hash = ? WHERE session = ? AND seq = 2",
        b"{}",
        digest(b"{}"),
        key(store, "p"),
    )
    assert await first_false(table, "p") == 2
    assert await first_false(table, "p", 2) == 2  # also as the first of a range
    assert await first_false(table, "c") == 2  # and by everyone who inherits it


async def test_a_rewritten_parent_is_found_at_the_fork_even_when_its_own_chain_is_whole(
    store: Store, table: EventTable
) -> None:
    # event 3 of the parent, the last one that the child inherits, with hash and root made to fit
    body, link = b"{}", digest(b"{}")
    db = sqlite3.connect(store.path)
    before = db.execute("SELECT root FROM event WHERE session = ? AND seq = 2", (key(store, "p"),)).fetchone()
    db.close()
    tamper(
        store,
        "UPDATE event SET body = ?, hash = ?, root = ? WHERE session = ? AND seq = 3",
        body,
        link,
        digest(before[0] + link),
        key(store, "p"),
    )
    assert len((await table.read("p", 0, 4)).rows) == 4
    assert await first_false(table, "c") == 4


async def test_a_removed_event_is_found(store: Store, table: EventTable) -> None:
    tamper(store, "DELETE FROM event WHERE session = ? AND seq = 1", key(store, "p"))
    assert await first_false(table, "p") == 1
    assert await first_false(table, "c") == 1
    assert await first_false(table, "p", 1, 2) == 1
    assert [row.seq for row in (await table.read("c", 3)).rows] == [3, 4, 5, 6, 7]


async def test_a_removed_end_of_what_is_inherited_is_found(store: Store, table: EventTable) -> None:
    tamper(store, "DELETE FROM event WHERE session = ? AND seq >= 3", key(store, "p"))
    assert await first_false(table, "c") == 3


async def test_a_changed_header_is_found(store: Store, table: EventTable) -> None:
    tamper(store, "UPDATE session SET header = ? WHERE id = 'c'", b"{}")
    with pytest.raises(SessionCorrupt, match="The header of the session c is damaged"):
        await table.read("c")
    await table.read("p")


async def test_events_and_epochs_outlive_the_process_s_end(database: Path) -> None:
    async with await Store.open(database) as store:
        events = EventTable(store)
        await events.create("s", HEADER, inherited=0, parent=None, rows=rows(0, 3))
        old = await events.take("s")
    async with await Store.open(database) as store:
        events = EventTable(store)
        assert list((await events.read("s")).rows) == rows(0, 3)
        assert await events.take("s") == old + 1
        await events.append("s", old + 1, rows(3, 4))
        assert list((await events.read("s")).rows) == rows(0, 4)


async def test_every_cached_lineage_equals_one_that_is_resolved_anew(store: Store, table: EventTable) -> None:
    await table.create("d", HEADER, inherited=2, parent=("c", 1), rows=rows(2, 3, "d"))
    await table.create("e", HEADER, inherited=6, parent=("c", 5), rows=[])
    for id in "pcde":
        await table.read(id)
    epoch = await table.take("p")
    await table.append("p", epoch, rows(6, 9, "p"))
    for id in "pcde":
        assert await table.read(id) == await EventTable(store).read(id)


async def test_more_sessions_than_lineages_are_kept_all_stay_readable(store: Store) -> None:
    table = EventTable(store)
    await table.create("p", HEADER, inherited=0, parent=None, rows=rows(0, 3))
    count = LINEAGES_KEPT + 20
    await asyncio.gather(
        *(table.create(f"c{i}", HEADER, inherited=2, parent=("p", 1), rows=[]) for i in range(count))
    )
    for _ in range(2):
        for i in range(count):
            assert await table.head(f"c{i}") == 2
            assert list((await table.read(f"c{i}")).rows) == rows(0, 2)
    assert len(table._lineages) == LINEAGES_KEPT


async def test_a_batch_that_finds_no_room_can_be_given_again(store: Store, table: EventTable) -> None:
    epoch = await table.take("p")
    large = rows(6, 2000, "large")
    await store.limit_size(0)
    with pytest.raises(StorageError) as caught:
        await table.append("p", epoch, large)
    assert caught.value.error_code == "DISK_FULL"
    assert await table.head("p") == 6
    await store.limit_size(None)
    await table.append("p", epoch, large)
    assert list((await table.read("p")).rows) == rows(0, 6, "p") + large


async def test_a_fork_costs_one_row_however_long_the_story_is(store: Store) -> None:
    table = EventTable(store)
    await table.create("p", HEADER, inherited=0, parent=None, rows=rows(0, 5000))
    await table.create("c", HEADER, inherited=4500, parent=("p", 4499), rows=[])
    db = sqlite3.connect(store.path)
    assert db.execute("SELECT count(*) FROM event").fetchone() == (5000,)
    db.close()
    assert list((await table.read("c", 4490)).rows) == rows(4490, 4500)
