"""Following a session: every event once and in order, whatever happens to it (session spec 7.4)."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from engine.errors import SessionError
from engine.session import Event, LiveFrame, MemoryEventStore, Query, following
from tests.engine.session.build import say
from tests.engine.session.test_query import Table


async def take(following: Any, count: int) -> list[Any]:
    return [await asyncio.wait_for(anext(following), 1) for _ in range(count)]


async def test_a_follower_gets_the_snapshot_and_then_what_comes() -> None:
    table = Table()
    session = await table.story(turns=1)
    async with await table.query.follow("s") as following:
        say(session, "one")
        say(session, "two")
        coming = await take(following, 2)

        assert len(following.snapshot) == 7
        assert [event.data["id"] for event in coming] == ["one", "two"]
        assert following.cursor == 8


async def test_a_follower_waits() -> None:
    table = Table()
    session = await table.story(turns=1)
    async with await table.query.follow("s") as following:
        waiting = asyncio.ensure_future(anext(following))
        await asyncio.sleep(0)
        assert not waiting.done()

        say(session, "one")

        found = await asyncio.wait_for(waiting, 1)
        assert isinstance(found, Event)


async def test_a_follower_of_a_stored_session_goes_on_when_it_is_opened_closed_and_opened_again() -> None:
    table = Table()
    session = await table.story(turns=1)
    await table.journal.close("s")
    async with await table.query.follow("s") as following:
        for name in ("one", "two"):
            session = await table.journal.open("s")
            say(session, name)
            await table.journal.close("s")

        seqs = [event.seq for event in await take(following, 4)]

        assert [*range(len(following.snapshot)), *seqs] == list(range(11))


async def test_an_open_turn_is_followed_through_its_repair() -> None:
    table = Table()
    session = await table.journal.create("s")
    session.append("turn/start", {"turn": 1})
    await table.journal.close("s")
    async with await table.query.follow("s") as following:
        await table.journal.open("s")

        [marker] = await take(following, 1)

        assert [event.type for event in following.snapshot] == ["turn/start", "turn/end"]
        assert (marker.seq, marker.type) == (2, "session/end-seed")


async def test_a_log_that_came_back_shorter_is_said() -> None:
    store = MemoryEventStore()
    crashed = Table(store)
    session = await crashed.story(turns=1)
    after = Table(store)
    for name in ("one", "two", "three"):
        say(session, name)
    follower = await crashed.query.follow("s")
    crashed.sessions.detach(session)
    opened = await after.journal.open("s")
    after.sessions.detach(opened)

    crashed.sessions.attach(opened)

    with pytest.raises(SessionError) as caught:
        await take(follower, 1)
    assert caught.value.error_code == "SESSION_QUERY_SOURCE_CONFLICT"


async def test_frames_come_between_the_events_when_they_are_wanted() -> None:
    table = Table()
    session = await table.story(turns=1)
    listeners: dict[str, Callable[[Mapping[str, Any]], None]] = {}

    def frames(session_id: str, listener: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        listeners[session_id] = listener

        def dispose() -> None:
            del listeners[session_id]

        return dispose

    query = Query(table.sessions, table.store, frames=frames)
    async with await query.follow("s", frames=True) as following, await query.follow("s") as plain:
        listeners["s"]({"kind": "start"})
        say(session, "one")
        listeners["s"]({"kind": "end"})

        items = await take(following, 3)

        assert [item.frame["kind"] if isinstance(item, LiveFrame) else item.seq for item in items] == [
            "start",
            7,
            "end",
        ]
        assert [event.seq for event in await take(plain, 1)] == [7]
    assert listeners == {}


async def test_a_follower_that_has_stopped_reading_keeps_the_events_and_loses_old_frames(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "FRAMES_BEHIND", 3)
    table = Table()
    session = await table.story(turns=1)
    listeners: list[Callable[[Mapping[str, Any]], None]] = []

    def frames(session_id: str, listener: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        listeners.append(listener)
        return listeners.clear

    query = Query(table.sessions, table.store, frames=frames)
    async with await query.follow("s", frames=True) as slow:
        for number in range(3):
            listeners[0]({"index": number})
        say(session, "one")
        for number in range(3, 5):
            listeners[0]({"index": number})

        items = await take(slow, 3)

        said = [item.frame["index"] if isinstance(item, LiveFrame) else item.data["id"] for item in items]
        assert said == ["one", 3, 4]
        # and who reads on in time loses nothing
        for number in range(5, 15):
            listeners[0]({"index": number})
            assert [item.frame["index"] for item in await take(slow, 1)] == [number]


async def test_a_follower_that_is_closed_hears_nothing_more_and_ends() -> None:
    table = Table()
    session = await table.story(turns=1)
    following = await table.query.follow("s")
    await following.aclose()

    say(session, "one")

    assert [item async for item in following] == []
