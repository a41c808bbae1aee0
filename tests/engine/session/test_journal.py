"""The journal: write-behind, the barrier, cold opening, forks, fencing (session spec 5.1, 7.1 to 7.3)."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from engine.codec import canonical
from engine.errors import (
    Conflict,
    FormatUnsupported,
    HandleClosed,
    NotFound,
    SessionCorrupt,
    SessionError,
    SessionForkError,
    StaleSession,
    StorageError,
)
from engine.session import (
    Journal,
    MemoryEventStore,
    Session,
    Sessions,
    StoredEvent,
    StrictValidator,
    read_log,
)
from tests.engine.session.build import (
    call,
    event,
    exchange,
    header,
    ids,
    open_step,
    reply,
    say,
)


class WatchedStore(MemoryEventStore):
    """Says when an append has ended, well or badly."""

    def __init__(self) -> None:
        super().__init__()
        self.appended = asyncio.Event()

    async def append(self, session_id: str, epoch: int, rows: Sequence[StoredEvent]) -> None:
        try:
            await super().append(session_id, epoch, rows)
        finally:
            self.appended.set()


class Process:
    """One run of the program over a store: it can crash, and another can come after it."""

    def __init__(self, store: MemoryEventStore, drain_after_s: float = 60) -> None:
        self.store = store
        self.sessions = Sessions(validators=[StrictValidator])
        self.lost: list[str] = []
        self.journal = Journal(
            self.sessions,
            store,
            drain_after_s=drain_after_s,
            on_lost=lambda session, error: self.lost.append(session.id),
        )

    def next(self) -> "Process":
        """What starts after this one was killed: nothing but the store is left."""
        return Process(self.store)

    async def stored(self, session_id: str) -> list[str]:
        return [row.type for row in (await self.store.read(session_id)).rows]


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    process = Process(MemoryEventStore())
    yield process
    process.store.faults.clear()
    await process.journal.aclose()


# -- the barrier --------------------------------------------------------------------------------------


async def test_a_created_session_is_durable_and_empty(process: Process) -> None:
    await process.journal.create("s", cwd="/w")

    log = await process.next().journal.read("s")
    assert (log.header.cwd, list(log.events)) == ("/w", [])


async def test_what_was_not_flushed_may_be_lost_and_what_was_is_not() -> None:
    process = Process(MemoryEventStore())
    session = await process.journal.create("s")
    say(session, "durable")
    await process.journal.flush("s")
    say(session, "lost")

    assert ids(await process.next().journal.open("s")) == ["durable"]


async def test_without_a_flush_events_are_written_soon() -> None:
    store = WatchedStore()
    process = Process(store, drain_after_s=0.01)
    session = await process.journal.create("s")
    say(session, "u")
    assert await process.store.head("s") == 0

    async with asyncio.timeout(5):
        await store.appended.wait()

    assert await process.stored("s") == ["user/message"]
    await process.journal.aclose()


async def test_closing_writes_the_rest(process: Process) -> None:
    session = await process.journal.create("s")
    say(session, "u")

    await process.journal.close("s")
    await process.journal.close("s")

    assert await process.stored("s") == ["user/message"]
    assert process.sessions.get("s") is None
    with pytest.raises(NotFound):
        await process.journal.flush("s")


async def test_closing_the_journal_writes_everything_and_takes_no_more(process: Process) -> None:
    for name in ("a", "b"):
        say(await process.journal.create(name), "u")

    await process.journal.aclose()

    assert [await process.store.head(name) for name in ("a", "b")] == [1, 1]
    for late in (
        process.journal.create("c"),
        process.journal.open("a"),
        process.journal.fork("a", None, "c"),
    ):
        with pytest.raises(HandleClosed):
            await late


async def test_a_failed_flush_keeps_the_events_in_order(process: Process) -> None:
    session = await process.journal.create("s")
    say(session, "u1")
    process.store.faults.append(StorageError("the disk is full"))

    with pytest.raises(StorageError):
        await process.journal.flush("s")
    assert await process.stored("s") == []
    session.append("turn/start", {"turn": 1})
    await process.journal.flush("s")

    assert await process.stored("s") == ["user/message", "turn/start"]


async def test_a_write_that_failed_in_the_background_is_said_at_the_next_flush() -> None:
    store = WatchedStore()
    process = Process(store, drain_after_s=0)
    session = await process.journal.create("s")
    process.store.faults.append(StorageError("the disk is full"))
    say(session, "u")
    async with asyncio.timeout(5):
        await store.appended.wait()

    with pytest.raises(StorageError):
        await process.journal.flush("s")
    await process.journal.flush("s")

    assert await process.stored("s") == ["user/message"]
    await process.journal.aclose()


async def test_who_asks_whether_it_is_safe_now_is_not_told_of_the_past() -> None:
    store = WatchedStore()
    process = Process(store, drain_after_s=0)
    session = await process.journal.create("s")
    process.store.faults.append(StorageError("the disk is full"))
    say(session, "u")
    async with asyncio.timeout(5):
        await store.appended.wait()
    await asyncio.sleep(0.01)  # the write has failed, and nobody waited for it

    await process.journal.secure("s")
    assert await process.stored("s") == ["user/message"]

    # but of the present
    say(session, "v")
    process.store.faults.append(StorageError("the disk is full"))
    with pytest.raises(StorageError):
        await process.journal.secure("s")
    await process.journal.secure("s")
    assert await process.stored("s") == ["user/message", "user/message"]
    await process.journal.aclose()


async def test_a_close_that_fails_while_the_journal_is_closed_is_tried_again(process: Process) -> None:
    session = await process.journal.create("s")
    say(session, "u")
    process.store.faults.append(StorageError("the disk is full"))
    closing = asyncio.ensure_future(process.journal.close("s"))
    await asyncio.sleep(0)

    await process.journal.aclose()

    with pytest.raises(StorageError):
        await closing
    assert await process.stored("s") == ["user/message"]


async def test_flushes_at_the_same_time_write_each_event_once(process: Process) -> None:
    session = await process.journal.create("s")
    process.store.delay = 0.001

    async def speak(number: int) -> None:
        say(session, f"u{number}")
        await process.journal.flush("s")

    await asyncio.gather(*(speak(number) for number in range(20)))

    rows = (await process.store.read("s")).rows
    assert [row.event().data["id"] for row in rows] == [f"u{number}" for number in range(20)]


async def test_a_cancelled_flush_neither_loses_nor_repeats_anything(process: Process) -> None:
    session = await process.journal.create("s")
    say(session, "u1")
    process.store.delay = 0.02
    flush = asyncio.ensure_future(process.journal.flush("s"))
    await asyncio.sleep(0.005)

    flush.cancel()
    await asyncio.wait({flush})
    say(session, "u2")
    await process.journal.flush("s")

    assert await process.store.head("s") == 2


async def test_a_flush_of_nothing_new_writes_nothing(process: Process) -> None:
    await process.journal.create("s")
    process.store.faults.append(StorageError("never reached"))

    await process.journal.flush("s")

    assert len(process.store.faults) == 1


async def test_a_long_backlog_is_written_whole(process: Process) -> None:
    session = await process.journal.create("s")
    for number in range(600):
        say(session, f"u{number}")

    await process.journal.flush("s")

    assert await process.store.head("s") == 600


async def test_the_registry_flushes_through_the_journal(process: Process) -> None:
    session = await process.journal.create("s")
    say(session, "u")

    assert await process.sessions.flush(session) is True
    assert await process.store.head("s") == 1


# -- cold opening -------------------------------------------------------------------------------------


async def crashed() -> Process:
    """A turn that was cut off between a tool's start and its result; two calls were advertised."""
    process = Process(MemoryEventStore())
    session = await process.journal.create("s")
    exchange(session)
    open_step(session, turn=2)
    reply(session, "a", turn=2, calls=["c1", "c2"])
    call(session, "c1", turn=2)
    await process.journal.flush("s")
    return process.next()


REPAIRED = ["tool/result", "tool/result", "step/end", "turn/end"]


async def test_opening_repairs_marks_and_publishes() -> None:
    process = await crashed()

    session = await process.journal.open("s")

    assert [e.type for e in session.events(11)] == [*REPAIRED, "session/end-seed"]
    assert await process.stored("s") == [e.type for e in session.events()]
    assert (session.attached, session.first_live_seq) == (True, 15)
    session.append("turn/start", {"turn": 3})
    await process.journal.aclose()


async def test_reading_shows_the_closers_and_writes_nothing() -> None:
    process = await crashed()

    log = await process.journal.read("s")

    assert [e.type for e in log.events[11:]] == REPAIRED
    assert await process.store.head("s") == 11
    assert process.sessions.get("s") is None


async def test_reading_a_live_session_reads_what_is_in_memory(process: Process) -> None:
    session = await process.journal.create("s")
    say(session, "u")

    assert [e.seq for e in (await process.journal.read("s")).events] == [0]


async def test_opening_twice_without_work_marks_once(process: Process) -> None:
    session = await process.journal.create("s")
    say(session, "u")
    await process.journal.close("s")

    for _ in range(3):
        await process.journal.open("s")
        await process.journal.close("s")

    assert await process.stored("s") == ["user/message", "session/end-seed"]


async def test_opening_a_live_session_gives_the_live_one(process: Process) -> None:
    session = await process.journal.create("s")

    assert await process.journal.open("s") is session


async def test_openings_at_the_same_time_share_one_result(process: Process) -> None:
    await process.journal.create("s")
    await process.journal.close("s")
    process.store.delay = 0.005

    opened = await asyncio.gather(*(process.journal.open("s") for _ in range(5)))

    assert len({id(session) for session in opened}) == 1


async def test_one_who_gives_up_takes_nothing_from_the_others(process: Process) -> None:
    await process.journal.create("s")
    await process.journal.close("s")
    process.store.delay = 0.01
    first = asyncio.ensure_future(process.journal.open("s"))
    second = asyncio.ensure_future(process.journal.open("s"))
    await asyncio.sleep(0)

    first.cancel()

    assert (await second).id == "s"


async def test_opening_waits_for_a_closing_that_is_under_way(process: Process) -> None:
    session = await process.journal.create("s")
    say(session, "u")
    process.store.delay = 0.005
    closing = asyncio.ensure_future(process.journal.close("s"))
    await asyncio.sleep(0)

    again = await process.journal.open("s")

    assert closing.done()
    assert again is not session
    assert again.attached


async def test_what_is_not_there_cannot_be_opened(process: Process) -> None:
    for attempt in (process.journal.open("nope"), process.journal.read("nope")):
        with pytest.raises(NotFound):
            await attempt


async def store_raw(store: MemoryEventStore, *bodies: bytes, head: bytes | None = None) -> None:
    rows = [StoredEvent(seq, "x", 1, body) for seq, body in enumerate(bodies)]
    await store.create("s", head or canonical(header().to_wire()), inherited=0, parent=None, rows=rows)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"null",
        b'{"type":"turn/start","seq":0,"time":1}',
        b'{"type":"turn/start","seq":0,"time":1,"data":3}',
        b'{"type":"turn/start","seq":0,"time":1,"data":{"turn":2}}',
        b'{"type":"turn/start","seq":5,"time":1,"data":{"turn":1}}',
        b'{"type":"user/message","seq":0,"time":1,"data":{},"surfaceOp":"append"}',
        b'{"type":"turn/start","seq":0,"time":1,"data":{"turn":1},"extra":1}',
    ],
)
async def test_a_corrupt_log_is_refused_and_left_as_it_is(process: Process, body: bytes) -> None:
    await store_raw(process.store, body)

    with pytest.raises(SessionCorrupt):
        await process.journal.open("s")
    assert await process.store.head("s") == 1
    assert process.sessions.get("s") is None


@pytest.mark.parametrize(
    "head",
    [b"{", b"null", b"{}", canonical(header("other").to_wire())],
)
async def test_a_corrupt_header_is_refused(process: Process, head: bytes) -> None:
    await store_raw(process.store, head=head)

    with pytest.raises(SessionCorrupt):
        await process.journal.open("s")


async def test_another_version_and_an_unknown_event_are_unsupported(process: Process) -> None:
    future = event(0, "future/thing", {})
    await process.store.create(
        "s", canonical(header().to_wire()), inherited=0, parent=None, rows=[StoredEvent.of(future)]
    )
    await process.store.create(
        "t", canonical({**header("t").to_wire(), "version": 5}), inherited=0, parent=None, rows=[]
    )

    for name in ("s", "t"):
        with pytest.raises(FormatUnsupported):
            await process.journal.open(name)


async def test_an_id_is_taken_once_live_or_stored(process: Process) -> None:
    await process.journal.create("s")
    with pytest.raises(SessionError):
        await process.journal.create("s")
    await process.journal.close("s")
    with pytest.raises(SessionError) as error:
        await process.journal.create("s")
    assert error.value.error_code == "SESSION_ALREADY_EXISTS"


async def test_creations_at_the_same_time_make_one(process: Process) -> None:
    process.store.delay = 0.005

    outcomes = await asyncio.gather(*(process.journal.create("s") for _ in range(3)), return_exceptions=True)

    assert sorted(isinstance(outcome, Session) for outcome in outcomes) == [False, False, True]


async def test_opening_while_it_is_created_gives_the_created_one(process: Process) -> None:
    process.store.delay = 0.005
    creating = asyncio.ensure_future(process.journal.create("s"))
    await asyncio.sleep(0)

    opened = await process.journal.open("s")

    assert opened is await creating
    say(opened, "u")
    await process.journal.flush("s")


# -- forks --------------------------------------------------------------------------------------------


async def test_a_fork_is_stored_by_reference(process: Process) -> None:
    source = await process.journal.create("s", cwd="/w")
    exchange(source)

    child = await process.journal.fork("s", 4, "c")

    stored = await process.store.read("c")
    assert (stored.parent, stored.inherited) == (("s", 4), 5)
    assert [row.type for row in stored.rows[5:]] == ["session/end-seed", "step/end", "turn/end"]
    assert (child.header.parent_session, child.header.cwd) == ("s", "/w")
    assert await process.store.head("s") >= 5


async def test_a_fork_is_the_same_after_it_was_opened_again(process: Process) -> None:
    exchange(await process.journal.create("s"))
    child = await process.journal.fork("s", None, "c")
    say(child, "own")
    await process.journal.close("c")

    again = await process.journal.open("c")

    assert again.inherited_event_count == 7
    assert ids(again) == ["sys", "u1", "a1", "own"]
    assert again.header == child.header


async def test_a_fork_of_a_stored_session_leaves_it_asleep() -> None:
    process = await crashed()

    child = await process.journal.fork("s", None, "c")

    assert process.sessions.get("s") is None
    assert await process.store.head("s") == 11
    assert child.event(child.seq - 1).data["reason"] == {"kind": "forked"}
    await process.journal.aclose()


async def test_a_fork_of_an_empty_session_is_a_marker(process: Process) -> None:
    await process.journal.create("s")

    child = await process.journal.fork("s", None, "c")
    await process.journal.close("c")

    assert await process.stored("c") == ["session/end-seed"]
    assert (await process.journal.open("c")).inherited_event_count == 0
    assert child.header.parent_session == "s"


async def test_a_fork_sees_nothing_of_what_its_source_does_later(process: Process) -> None:
    source = await process.journal.create("s")
    exchange(source)
    process.store.delay = 0.005
    forking = asyncio.ensure_future(process.journal.fork("s", None, "c"))
    await asyncio.sleep(0)
    say(source, "later")

    child = await forking

    assert "later" not in ids(child)
    await process.journal.flush("s")
    await process.journal.close("c")
    assert ids(await process.journal.open("c")) == ["sys", "u1", "a1"]


async def test_a_fork_says_what_is_wrong(process: Process) -> None:
    say(await process.journal.create("s"), "u")

    async def code(source: str, boundary: int | None, child: str) -> str:
        with pytest.raises(SessionForkError) as error:
            await process.journal.fork(source, boundary, child)
        return error.value.error_code

    assert await code("s", None, "s") == "SESSION_ALREADY_EXISTS"
    assert await code("nope", None, "c") == "SESSION_NOT_FOUND"
    assert await code("s", 9, "c") == "INVALID_BOUNDARY"
    await process.journal.fork("s", None, "c")
    await process.journal.close("c")
    assert await code("s", None, "c") == "SESSION_ALREADY_EXISTS"


# -- fencing ------------------------------------------------------------------------------------------


async def test_a_session_that_another_took_is_lost(process: Process) -> None:
    session = await process.journal.create("s")
    successor = process.next()
    taken = await successor.journal.open("s")
    say(session, "too late")
    say(taken, "in time")

    for _ in range(2):
        with pytest.raises(StaleSession):
            await process.journal.flush("s")
    await successor.journal.flush("s")

    assert process.lost == ["s"]
    assert ids(await successor.journal.open("s")) == ["in time"]
    assert ids(session) == ["too late"]
    await process.journal.close("s")
    assert process.sessions.get("s") is None
    await successor.journal.aclose()


async def test_a_listener_that_fails_does_not_hide_the_loss() -> None:
    def failing(session: Session, error: StaleSession) -> None:
        raise RuntimeError("listener failed")

    store = MemoryEventStore()
    journal = Journal(Sessions(), store, on_lost=failing)
    session = await journal.create("s")
    await store.take("s")
    say(session, "u")

    with pytest.raises(StaleSession):
        await journal.flush("s")
    await journal.aclose()


async def test_closing_says_what_could_not_be_written() -> None:
    process = Process(MemoryEventStore())
    say(await process.journal.create("s"), "u")
    process.store.faults.append(StorageError("the disk is full"))

    with pytest.raises(StorageError):
        await process.journal.close("s")
    assert process.sessions.get("s") is not None
    process.store.faults.append(StorageError("the disk is full"))
    with pytest.raises(ExceptionGroup):
        await process.journal.aclose()
    assert process.sessions.get("s") is None


# -- the store in memory ------------------------------------------------------------------------------


def rows(*seqs: int) -> list[StoredEvent]:
    return [StoredEvent.of(event(seq, "tavern/x", {"n": seq}, ignorable=True)) for seq in seqs]


async def test_the_store_takes_only_what_continues_it() -> None:
    store = MemoryEventStore()
    epoch = await store.create("s", b"{}", inherited=0, parent=None, rows=rows(0))

    for batch in (rows(0), rows(2), rows(1, 3)):
        with pytest.raises(Conflict):
            await store.append("s", epoch, batch)
    await store.append("s", epoch, rows(1, 2))

    assert [row.seq for row in (await store.read("s", 1, 3)).rows] == [1, 2]


async def test_a_stored_log_says_what_was_written(process: Process) -> None:
    session = await process.journal.create("s")
    exchange(session)
    await process.journal.flush("s")

    log = read_log("s", await process.store.read("s"))

    assert list(log.events) == list(session.events())
