"""Stored logs of older formats: read as they are, written anew when they are opened."""

from typing import Any

import pytest

from engine.codec import canonical
from engine.errors import FormatUnsupported, SessionCorrupt, StaleSession
from engine.session import Journal, MemoryEventStore, Sessions, StoredEvent, StrictValidator
from tests.engine.session.build import say
from tests.engine.session.formats.rows import APPEND, END, START, answer, header, log, prompt, user


def journal(store: MemoryEventStore) -> Journal:
    return Journal(Sessions(validators=[StrictValidator]), store)


def story() -> list[dict[str, Any]]:
    said = user("u", "hi", kind="plugin", plugin="tavern")
    return log(
        *START,
        ("system/message", prompt("sy"), APPEND),
        ("user/message", said, APPEND),
        ("assistant/message", {**answer("a"), "stream": []}, APPEND),
        *END,
        ("tavern/mvu", {"hp": 1}, {"ignorable": True}),
    )


async def stored(
    version: int = 3, rows: list[dict[str, Any]] | None = None, **fields: Any
) -> MemoryEventStore:
    store = MemoryEventStore()
    stored = [
        StoredEvent(seq, row["type"], row["time"], canonical(row)) for seq, row in enumerate(rows or story())
    ]
    await store.create("s", canonical(header(version)), inherited=0, parent=None, rows=stored)
    return store


async def test_reading_migrates_in_memory_and_writes_nothing() -> None:
    store = await stored()
    before = await store.read("s")

    found = await journal(store).read("s")

    assert (found.stored_format, found.migrated, found.header.version) == (3, True, 4)
    assert [found.events[seq].type for seq in (2, 7)] == ["system/message", "plugin:tavern/mvu"]
    assert found.events[3].data["source"] == {"kind": "plugin:tavern"}
    assert await store.read("s") == before


async def test_a_stretch_of_an_older_log_is_one_of_what_it_became() -> None:
    reader = journal(await stored())
    whole = (await reader.read("s")).events
    assert list(await reader.stretch("s", 2, 5)) == list(whole[2:5])
    assert whole[3].data["source"] == {"kind": "plugin:tavern"}


async def test_opening_writes_a_new_generation_beside_the_old_one() -> None:
    store = await stored()
    before = (await store.read("s")).rows

    keeper = journal(store)
    session = await keeper.open("s")
    say(session, "later")
    await keeper.aclose()

    found = await journal(store).read("s")
    assert (found.migrated, len(found.events)) == (False, 10)
    assert [message["id"] for message in session.derive()] == ["sy", "u", "a", "later"]
    assert [head.id for head in await store.list()] == ["s"]
    assert (await store.read("s#1")).rows == before


async def test_opening_fences_whoever_had_the_old_generation() -> None:
    store = await stored()

    await journal(store).open("s")

    with pytest.raises(StaleSession):
        await store.append("s", 1, [])


async def test_a_fork_of_an_old_log_is_stored_whole_and_leaves_it_as_it_is() -> None:
    store = await stored()
    keeper = journal(store)

    child = await keeper.fork("s", 6, "child")

    assert child.inherited_event_count == 7
    kept = await store.read("child")
    assert (kept.parent, kept.inherited, len(kept.rows)) == (None, 7, 8)
    assert (await keeper.read("s")).migrated
    await keeper.aclose()
    assert (await journal(store).open("child")).header.parent_session == "s"


async def test_a_fork_keeps_its_past_when_its_parent_is_migrated_later() -> None:
    store = await stored(rows=story()[:7])
    forked = canonical(header(3, id="child", isSeeded=True, parentSession="s"))
    marker = canonical({"type": "session/end-seed", "seq": 7, "time": 107, "data": {"inherited": True}})
    own = [StoredEvent(7, "session/end-seed", 107, marker)]
    await store.create("child", forked, inherited=7, parent=("s", 6), rows=own)
    await journal(store).open("s")

    child = await journal(store).open("child")

    assert child.inherited_event_count == 7
    assert [message["id"] for message in child.derive()] == ["sy", "u", "a"]


async def test_a_newer_format_is_unsupported_and_a_broken_log_is_corrupt() -> None:
    with pytest.raises(FormatUnsupported):
        await journal(await stored(version=5)).read("s")
    with pytest.raises(SessionCorrupt):
        await journal(await stored(rows=story()[1:])).read("s")
    with pytest.raises(SessionCorrupt):
        await journal(await stored(rows=[*story()[:2], *log(*START)[:1]])).read("s")


async def test_an_old_log_that_was_cut_off_is_closed_when_it_is_opened() -> None:
    store = await stored(rows=story()[:4])

    session = await journal(store).open("s")

    assert [event.type for event in session.events(4)] == ["step/end", "turn/end", "session/end-seed"]
