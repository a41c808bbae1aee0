"""Reading without taking part: inspect, pages, standings, traces, lists (session spec 7.4)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine.cancel import CancelCause, CancelToken
from engine.codec import canonical
from engine.errors import EngineError, StorageError
from engine.session import (
    Journal,
    MemoryEventStore,
    Query,
    Session,
    Sessions,
    StoredEvent,
    StrictValidator,
    TurnWindow,
    offload_images,
)
from engine.session.coldlogs import KEPT
from tests.engine.session.build import (
    Ticks,
    exchange,
    header,
    open_step,
    replace,
    say,
)


class Table:
    """A journal over a store in memory, and a query beside it."""

    def __init__(self, store: MemoryEventStore | None = None) -> None:
        self.store = store or CountingStore()
        self.sessions = Sessions(validators=[StrictValidator], clock=Ticks())
        self.journal = Journal(self.sessions, self.store, clock=Ticks())
        self.query = Query(self.sessions, self.store)

    async def story(self, session_id: str = "s", turns: int = 2) -> Session:
        """A live story: nodes 2 (the prompt), 3, 4 and 9, 10, …"""
        session = await self.journal.create(session_id)
        for turn in range(1, turns + 1):
            exchange(session, turn)
        await self.journal.flush(session_id)
        return session


class CountingStore(MemoryEventStore):
    reads = 0

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> Any:
        type(self).reads += 1
        return await super().read(session_id, start, stop)


@pytest.fixture
async def table() -> AsyncIterator[Table]:
    CountingStore.reads = 0
    table = Table()
    yield table
    await table.journal.aclose()


def summarise(session: Session) -> None:
    """Let a summary stand for the first question and its answer."""
    session.append("turn/start", {"turn": 3})
    say(session, "sum", surface_op=replace(3, 4), source_event_seqs=[3, 4])
    session.append("turn/end", {"turn": 3, "reason": {"kind": "completed"}})


class asked:
    """`with asked('EVENT_NOT_FOUND'):` the query inside is refused with that code."""

    def __init__(self, code: str) -> None:
        self._code = f"SESSION_QUERY_{code}"
        self._raises = pytest.raises(EngineError)

    def __enter__(self) -> None:
        self._info = self._raises.__enter__()

    def __exit__(self, *failure: Any) -> bool | None:
        handled = self._raises.__exit__(*failure)
        assert self._info.value.error_code == self._code
        return handled


# -- inspect and page -----------------------------------------------------------------------------------


async def test_a_live_session_is_read_from_memory_and_pinned(table: Table) -> None:
    session = await table.story()

    found = await table.query.inspect("s")
    say(session, "later")

    assert (found.live, found.through_seq, found.header) == (True, session.seq - 2, session.header)
    assert len(found.events) == found.through_seq + 1


async def test_a_stored_session_shows_the_closers_that_it_lacks_and_stays_as_it_is(table: Table) -> None:
    session = await table.journal.create("s")
    open_step(session)
    await table.journal.close("s")

    found = await table.query.inspect("s")

    assert not found.live
    assert [event.type for event in found.events] == ["turn/start", "step/start", "step/end", "turn/end"]
    assert await table.store.head("s") == 2
    assert table.sessions.get("s") is None


async def test_an_empty_session_is_pinned_at_minus_one(table: Table) -> None:
    await table.journal.create("s")

    assert (await table.query.inspect("s")).through_seq == -1
    assert list((await table.query.page("s", through_seq=-1)).events) == []


async def test_pages_of_a_pinned_log_do_not_move(table: Table) -> None:
    session = await table.story(turns=3)
    pinned = (await table.query.inspect("s")).through_seq
    newest = await table.query.page("s", through_seq=pinned, max_messages=2)
    exchange(session, 4)

    earlier = await table.query.page("s", through_seq=pinned, before_seq=newest.events[0].seq, max_messages=2)

    assert [event.data["id"] for event in newest.events if event.type == "user/message"] == ["u3"]
    assert [event.data["id"] for event in earlier.events if event.type == "user/message"] == ["u2"]
    assert earlier.events[-1].seq == newest.events[0].seq - 1
    windowed = await table.query.page("s", through_seq=pinned, turn_window=TurnWindow(2, 1))
    assert windowed.events[0].type == "turn/start"


async def test_what_is_not_there_is_said_to_be(table: Table) -> None:
    with asked("SESSION_NOT_FOUND"):
        await table.query.inspect("nobody")
    with asked("SESSION_NOT_FOUND"):
        await table.query.list(before="nobody")
    with asked("SESSION_NOT_FOUND"):
        await table.query.trace_session("nobody")


async def test_a_log_that_cannot_be_true_is_said_to_be_corrupt(table: Table) -> None:
    rows = [StoredEvent(0, "x", 0, b"no json")]
    await table.store.create("s", canonical(header().to_wire()), inherited=0, parent=None, rows=rows)
    await table.store.create("t", b"no json", inherited=0, parent=None, rows=[])

    for name in ("s", "t"):
        with asked("CORRUPT_SESSION"):
            await table.query.inspect(name)


async def test_a_store_that_fails_is_said_to_fail() -> None:
    class Broken(MemoryEventStore):
        async def head(self, session_id: str) -> int:
            raise StorageError("no disk")

    with asked("PERSISTENCE_FAILED"):
        await Table(Broken()).query.inspect("s")


# -- what is kept of stored logs ------------------------------------------------------------------------


async def test_a_stored_log_is_decoded_again_only_when_something_was_added(table: Table) -> None:
    await table.story()
    await table.journal.close("s")

    first = await table.query.inspect("s")
    second = await table.query.inspect("s")
    assert (first.events is second.events, CountingStore.reads) == (True, 1)

    say(await table.journal.open("s"), "later")
    await table.journal.close("s")
    assert (await table.query.inspect("s")).events[-1].data["id"] == "later"


async def test_few_logs_are_kept_and_leased_ones_stay(table: Table) -> None:
    for number in range(KEPT + 2):
        await table.story(f"s{number}", turns=1)
        await table.journal.close(f"s{number}")
    cold = table.query._cold

    async with cold.lease("s0") as leased:
        for number in range(KEPT + 2):
            await cold.get(f"s{number}")
        assert await cold.get("s0") is leased
        assert len(cold._kept) == KEPT

    CountingStore.reads = 0
    await cold.get("s1")
    assert CountingStore.reads == 1


# -- standings ------------------------------------------------------------------------------------------


async def test_every_event_is_current_shadowed_or_log_only(table: Table) -> None:
    summarise(await table.story())

    tagged = {one.event.seq: one.standing for one in await table.query.read("s")}

    assert [seq for seq, standing in tagged.items() if standing == "current"] == [2, 9, 10, 14]
    assert [seq for seq, standing in tagged.items() if standing == "shadowed"] == [3, 4]
    assert tagged[0] == "log-only"


async def test_events_are_listed_by_type_and_standing(table: Table) -> None:
    summarise(await table.story())

    users = await table.query.list_events("s", types={"user/message"})
    gone = await table.query.list_events("s", standings={"shadowed"}, after_seq=3)
    first = await table.query.list_events("s", limit=1)

    assert [one.event.data["id"] for one in users] == ["u1", "u2", "sum"]
    assert [one.event.seq for one in gone] == [4]
    assert [one.event.seq for one in first] == [0]
    wrong: dict[str, Any]
    for wrong in ({"standings": {"hidden"}}, {"limit": 0}, {"after_seq": -2}):
        with asked("INVALID_FILTER"):
            await table.query.list_events("s", **wrong)
    with asked("INVALID_FILTER"):
        await table.query.list(limit=0)


async def test_the_surface_is_what_the_model_would_be_sent(table: Table) -> None:
    session = await table.story()
    summarise(session)
    live = await table.query.read_surface("s")

    assert live.captured_through_seq == session.seq - 1
    assert list(live.messages) == list(session.derive())
    await table.journal.close("s")
    stored = await table.query.read_surface("s")
    assert (list(stored.nodes), list(stored.messages)) == (list(live.nodes), list(live.messages))


async def test_a_surface_without_its_interpreter_cannot_be_read(table: Table) -> None:
    session = await table.story()
    unload = table.sessions.register_projection("image/offload", offload_images)
    session.append("image/offload", {"targets": []})

    unload()

    with asked("INVALID_SURFACE"):
        await table.query.read_surface("s")


async def test_an_event_is_read_among_its_neighbours(table: Table) -> None:
    await table.story()

    found = await table.query.read_event("s", 3, before=2, after=1)
    first = await table.query.read_event("s", 0, before=50, after=0)

    assert [one.event.seq for one in [*found.before, found.event, *found.after]] == [1, 2, 3, 4]
    assert ([*first.before], first.event.event.seq, [*first.after]) == ([], 0, [])
    with asked("INVALID_WINDOW"):
        await table.query.read_event("s", 3, before=51)
    for nowhere in (-1, 999):
        with asked("EVENT_NOT_FOUND"):
            await table.query.read_event("s", nowhere)


# -- traces ---------------------------------------------------------------------------------------------


async def test_an_event_is_traced_to_what_replaced_it_and_what_it_came_from(table: Table) -> None:
    session = await table.story()
    summarise(session)
    session.append("turn/start", {"turn": 4})
    again = say(session, "sum2", surface_op=replace(14, 9), source_event_seqs=[14, 9, 0])

    question = await table.query.trace_event("s", 3)
    summary = await table.query.trace_event("s", 14)
    newest = await table.query.trace_event("s", again.seq)

    assert (question.replaced_by, list(question.chain), list(question.derived)) == (
        14,
        [14, again.seq],
        [14],
    )
    assert (summary.event.standing, list(summary.sources)) == ("shadowed", [3, 4])
    assert (newest.replaced_by, list(newest.chain), list(newest.sources)) == (None, [], [14, 9, 0])
    with asked("EVENT_NOT_FOUND"):
        await table.query.trace_event("s", 999)


async def test_a_session_is_traced_through_its_family(table: Table) -> None:
    await table.story()
    await table.journal.fork("s", 5, "child")
    await table.journal.fork("child", 5, "grandchild")
    await table.journal.fork("s", 5, "other")
    await table.journal.close("child")

    child = await table.query.trace_session("child")
    root = await table.query.trace_session("s")

    assert (list(child.ancestors), child.unresolved_parent, list(child.descendants)) == (
        ["s"],
        None,
        ["grandchild"],
    )
    assert list(root.ancestors) == []
    assert set(root.descendants) == {"child", "other", "grandchild"}
    assert root.descendants.index("child") < root.descendants.index("grandchild")


async def test_a_parent_that_is_gone_and_one_that_is_its_own_are_said(table: Table) -> None:
    for name, parent in (("orphan", "gone"), ("a", "b"), ("b", "a")):
        wire = header(name, is_seeded=True, parent_session=parent).to_wire()
        await table.store.create(name, canonical(wire), inherited=0, parent=None, rows=[])

    assert (await table.query.trace_session("orphan")).unresolved_parent == "gone"
    with asked("INVALID_LINEAGE"):
        await table.query.trace_session("a")


# -- lists ----------------------------------------------------------------------------------------------


async def test_the_list_has_the_newest_first_and_prefers_what_is_live(table: Table) -> None:
    await table.story("old", turns=1)
    await table.journal.close("old")
    live = await table.story("new", turns=1)
    say(live, "unwritten")
    table.sessions.create("unstored")

    entries = await table.query.list()

    assert [(entry.id, entry.live, entry.length) for entry in entries] == [
        ("unstored", True, 0),
        ("new", True, 8),
        ("old", False, 7),
    ]
    assert [entry.id for entry in await table.query.list(limit=2)] == ["unstored", "new"]
    assert [entry.id for entry in await table.query.list(before="new")] == ["old"]


async def test_a_header_that_cannot_be_read_hides_no_other(table: Table) -> None:
    await table.story()
    await table.store.create("broken", b"no json", inherited=0, parent=None, rows=[])
    newer = canonical({**header("newer").to_wire(), "version": 5})
    await table.store.create("newer", newer, inherited=0, parent=None, rows=[])
    older = {"type": "session", "version": 1, "id": "older", "createdAt": 1, "delegationDepth": 0}
    await table.store.create("older", canonical(older), inherited=0, parent=None, rows=[])

    entries = {entry.id: entry for entry in await table.query.list()}

    assert entries["broken"].problem == "SESSION_CORRUPT"
    assert entries["newer"].problem == "FORMAT_UNSUPPORTED"
    assert entries["older"].header is not None
    assert entries["s"].problem is None


async def test_two_sessions_of_one_id_are_a_conflict(table: Table) -> None:
    stored = canonical(header("s", created_at=1).to_wire())
    await table.store.create("s", stored, inherited=0, parent=None, rows=[])
    table.sessions.create("s", created_at=2)

    with asked("SOURCE_CONFLICT"):
        await table.query.list()


async def test_a_list_that_nobody_waits_for_is_given_up(table: Table) -> None:
    token = CancelToken()
    token.cancel(CancelCause("user"))

    with asked("ABORTED"):
        await table.query.list(token=token)
