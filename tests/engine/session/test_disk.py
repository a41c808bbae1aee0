"""The journal over the real database: what it proves it need not read again (session spec 7.2, 7.3)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.errors import SessionCorrupt, StorageError
from engine.session import Journal, Query, Sessions, StrictValidator, read_log
from engine.storage import EventTable, Store
from tests.engine.session.build import exchange, say


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "stories.db") as opened:
        yield opened


def journal(store: Store) -> Journal:
    return Journal(Sessions(validators=[StrictValidator]), EventTable(store), drain_after_s=60)


async def told(store: Store, turns: int = 3) -> list[str]:
    """A story on the disk; the ids of its messages."""
    teller = journal(store)
    session = await teller.create("s")
    for turn in range(1, turns + 1):
        exchange(session, turn)
    await teller.aclose()
    return [message["id"] for message in session.derive()]


async def test_a_proven_log_is_opened_unread_and_says_the_same(store: Store) -> None:
    ids = await told(store)
    log = read_log("s", await EventTable(store).read("s"))
    assert log.proven
    assert all(event._body for event in log.events)

    reader = journal(store)
    session = await reader.open("s")

    assert [message["id"] for message in session.derive()] == ids
    exchange(session, 4)
    await reader.aclose()
    assert len((await journal(store).read("s")).events) == 26  # 19, the marker, 6


async def test_a_fork_of_a_stored_story_shares_it(store: Store) -> None:
    ids = await told(store)
    teller = journal(store)

    child = await teller.fork("s", 12, "child")
    exchange(child, 3)
    await teller.aclose()

    reopened = await journal(store).open("child")
    assert [message["id"] for message in reopened.derive()][:5] == ids[:5]
    trace = await Query(Sessions(), EventTable(store)).trace_session("child")
    assert trace.ancestors == ["s"]


async def test_a_row_that_was_changed_is_found_before_anything_is_opened(
    store: Store, tmp_path: Path
) -> None:
    await told(store)
    await store.aclose()
    database = tmp_path / "stories.db"
    body = database.read_bytes()
    database.write_bytes(body.replace(b"question 2", b"question 7"))

    async with await Store.open(database) as damaged:
        with pytest.raises(SessionCorrupt):
            await journal(damaged).open("s")


async def test_a_write_that_is_cut_short_leaves_the_log_before_it(store: Store) -> None:
    table = EventTable(store)
    journal = Journal(Sessions(validators=[StrictValidator]), table, drain_after_s=60)
    session = await journal.create("s")
    say(session, "kept")
    await journal.flush("s")
    await store.limit_size(1)
    for number in range(40):
        say(session, f"lost{number}", "x" * 50_000)
    with pytest.raises(StorageError):
        await journal.flush("s")

    after = Journal(Sessions(validators=[StrictValidator]), table, drain_after_s=60)
    assert [event.data["id"] for event in (await after.read("s")).events] == ["kept"]

    await store.limit_size(None)
    resumed = await after.open("s")
    say(resumed, "next")
    await after.aclose()
    assert [row.seq for row in (await table.read("s")).rows] == [0, 1, 2]


async def test_a_stretch_is_what_a_whole_reading_has_there(store: Store) -> None:
    await told(store)
    teller = journal(store)
    child = await teller.fork("s", 8, "child")  # in the middle of a turn: its closers are stored
    exchange(child, 3)
    await teller.flush("child")
    reader = journal(store)
    for name in ("s", "child"):
        whole = (await reader.read(name)).events
        for start in range(len(whole)):
            for stop in range(start, len(whole) + 1):
                assert list(await reader.stretch(name, start, stop)) == list(whole[start:stop])
    assert list(await teller.stretch("child", 3, 11)) == list(child.events(3, 11))
    await teller.aclose()


async def test_a_stretch_reads_nothing_else(store: Store, tmp_path: Path) -> None:
    await told(store, turns=40)
    await store.aclose()
    database = tmp_path / "stories.db"
    body = database.read_bytes()
    database.write_bytes(body.replace(b"question 2", b"question 7"))

    async with await Store.open(database) as damaged:
        events = await journal(damaged).stretch("s", 200, 206)
        assert [event.seq for event in events] == list(range(200, 206))
        with pytest.raises(SessionCorrupt):
            await journal(damaged).stretch("s", 0, 20)


async def test_a_stretch_of_a_turn_that_was_cut_off_has_its_closers(store: Store) -> None:
    teller = journal(store)
    session = await teller.create("s")
    exchange(session, 1)
    session.append("turn/start", {"turn": 2})
    await teller.flush("s")
    reader = journal(store)
    whole = (await reader.read("s")).events
    assert whole[-1].type == "turn/end"
    assert list(await reader.stretch("s", 5, len(whole))) == list(whole[5:])
    await teller.aclose()
