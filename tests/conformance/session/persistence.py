"""persistence: prose steps and what was observed, played on our journal.

Where the recording holds a handle, ours is a journal over a store; its lock is our epoch (who takes a session
fences the writer before); its torn file is a transaction that was cut short.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from engine.errors import EngineError, HandleClosed, NotFound, StaleSession, StorageError
from engine.session import (
    EventStore,
    Journal,
    MemoryEventStore,
    Sessions,
    StoredEvent,
    StrictValidator,
    assistant_message,
    closers,
    system_message,
    tool_call_block,
    user_message,
)
from engine.storage import EventTable, Store
from tests.conformance.compare import Mismatch, agree, category_of
from tests.conformance.skips import reason_to_skip_step
from tests.conformance.vectors import Vector

DONE = object()
"""Said of a step that only has to succeed: the recording has no value for it."""

LEFT_OUT = object()
"""Said of a step that the table of skips gives a reason for."""


def run(vector: Vector) -> None:
    with capture_logs():
        observed = asyncio.run(PLAYS[vector.name]())
    steps = vector.body["steps"]
    agree("number of steps", len(steps), len(observed))
    for step, actual in zip(steps, observed, strict=True):
        expect = step["expect"]
        if actual is LEFT_OUT:
            if reason_to_skip_step(vector, step["do"]) is None:
                raise Mismatch(step["do"], "a reason to leave it out", None)
        elif isinstance(actual, Exception):
            if expect["ok"]:
                raise Mismatch(step["do"], expect, actual)
            agree(step["do"], expect["error"]["category"], category_of(actual) or _kind(actual))
        else:
            agree(step["do"], expect, {"ok": True} if actual is DONE else {"ok": True, "value": actual})


_SLUGS: dict[type[Exception], str] = {
    NotFound: "not-found",
    StaleSession: "already-owned",
    HandleClosed: "handle-closed",
}


def _kind(error: Exception) -> str:
    return _SLUGS.get(type(error), type(error).__name__)


async def _attempt(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except EngineError as error:
        return error


class _Table:
    """A journal over a fresh store."""

    def __init__(self, store: EventStore | None = None) -> None:
        self.store = store or MemoryEventStore()
        self.sessions = Sessions(validators=[StrictValidator])
        self.journal = Journal(self.sessions, self.store)

    async def seqs(self, session_id: str, start: int = 0, stop: int | None = None) -> list[int]:
        return [row.seq for row in (await self.store.read(session_id, start, stop)).rows]


def _rows(start: int, stop: int) -> list[StoredEvent]:
    session = Sessions(clock=lambda: 100).create("s")
    for turn in range(1, stop // 2 + 1):
        session.append("turn/start", {"turn": turn})
        session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})
    return [StoredEvent.of(event) for event in session.events(start, stop)]


async def _append_read() -> list[Any]:
    table = _Table()
    epoch = await table.store.create("s", b"{}", inherited=0, parent=None, rows=[])
    observed: list[Any] = [{"access": "write"}, await table.store.head("s")]
    await table.store.append("s", epoch, _rows(0, 4))
    observed += [DONE, await table.seqs("s"), await table.seqs("s", 1, 3)]
    await table.store.append("s", epoch, _rows(4, 8))
    observed += [DONE, await table.store.head("s")]
    await table.store.append("s", epoch, [])
    return [*observed, DONE]


async def _not_found() -> list[Any]:
    table = _Table()
    read = await _attempt(table.journal.read("nope"))
    opened = await _attempt(table.journal.open("nope"))
    stat = await _attempt(table.store.head("nope"))
    return [read, opened, None if isinstance(stat, NotFound) else stat]


async def _write_behind() -> list[Any]:
    table = _Table()
    session = await table.journal.create("s")
    session.append("turn/start", {"turn": 1})
    session.append("step/start", {"turn": 1, "step": 1})
    observed: list[Any] = [await table.store.head("s"), await table.sessions.flush(session)]
    observed.append(await table.store.head("s"))
    session.append("step/end", {"turn": 1, "step": 1})
    await asyncio.sleep(0.4)
    observed.append(await table.store.head("s"))
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    await table.journal.close("s")
    return [*observed, await table.store.head("s")]


async def _no_backend() -> list[Any]:
    sessions = Sessions()
    session = sessions.create("z")
    participated = await sessions.flush(session)
    sessions.detach(session)
    return [participated, await _attempt(sessions.flush(session))]


async def _crash_mid_turn() -> list[Any]:
    table = _Table()
    session = await table.journal.create("s")
    step = {"turn": 1, "step": 1}
    session.append("turn/start", {"turn": 1})
    session.append("step/start", step)
    session.append("system/message", {**step, "message": system_message("sy", "P")}, surface_op="append")
    session.append("user/message", user_message("u", "roll"), surface_op="append")
    calls = [tool_call_block("c1", "dice", "{}"), tool_call_block("c2", "dice", "{}")]
    message = assistant_message("a", calls, provider="p", model="m")
    session.append("assistant/message", {**step, "message": message, "stream": []}, surface_op="append")
    session.append("tool/call", {**step, "callId": "c1", "name": "dice", "arguments": "{}"})
    await table.journal.flush("s")

    after = _Table(table.store)
    pending = closers((await table.journal.read("s")).events)
    resumed = await after.journal.open("s")
    stored = (await table.store.read("s")).rows
    return [
        [[event.type, event.seq] for event in pending],
        [row.type for row in stored],
        [message["role"] for message in resumed.derive()],
    ]


async def _fork_child() -> list[Any]:
    table = _Table()
    source = await table.journal.create("s")
    source.append("turn/start", {"turn": 1})
    source.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    await table.journal.fork("s", None, "c")
    await table.journal.close("c")
    child = await table.journal.open("c")
    return [
        {
            "inherited": child.inherited_event_count,
            "types": [event.type for event in child.events()],
            "parent": child.header.parent_session,
            "isSeeded": child.header.is_seeded,
        }
    ]


async def _ownership() -> list[Any]:
    first = _Table()
    session = await first.journal.create("s")
    observed: list[Any] = [await _attempt(first.journal.create("s"))]
    session.append("turn/start", {"turn": 1})
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    await first.journal.flush("s")

    # One writer at a time: here the second one wins, and the first is told at its next write.
    second = _Table(first.store)
    await second.store.take("s")
    session.append("turn/start", {"turn": 2})
    observed.append(await _attempt(first.journal.flush("s")))
    observed += [len((await second.journal.read("s")).events), LEFT_OUT, LEFT_OUT]
    observed.append(await _attempt(second.journal.create("s")))
    await first.journal.aclose()
    observed += [await _attempt(first.journal.flush("s")), await _attempt(first.journal.read("s"))]
    await first.journal.aclose()
    observed.append(DONE)
    return [*observed, (await second.journal.open("s")).first_live_seq]


async def _unmaterialized() -> list[Any]:
    table = _Table()
    await table.journal.create("a")
    observed: list[Any] = [await _ids(table.store), LEFT_OUT, LEFT_OUT]
    other = _Table()
    await other.journal.create("b")
    await other.journal.flush("b")
    await other.journal.close("b")
    return [*observed, DONE, await _ids(other.store), len((await other.journal.read("b")).events)]


async def _ids(store: EventStore) -> list[str]:
    return [stored.id for stored in await store.list()]


async def _torn_tail() -> list[Any]:
    async with _small_disk() as (store, events):
        epoch = await events.create("s", b"{}", inherited=0, parent=None, rows=_rows(0, 4))
        await store.limit_size(1)  # what the file has already: the next rows find no room half-way
        long = [StoredEvent(seq, "plugin:x", 0, b'"%s"' % (b"x" * 50_000)) for seq in range(4, 40)]
        torn = await _attempt(events.append("s", epoch, long))
        if not isinstance(torn, StorageError):
            raise Mismatch("a write that is cut short", "a failed transaction", torn)
        observed: list[Any] = [len((await events.read("s")).rows)]
        await store.limit_size(None)
        await events.append("s", await events.take("s"), _rows(4, 6)[:1])
        rows = (await events.read("s")).rows
        return [*observed, [row.seq for row in rows], len(await events.list()) + len(rows)]


@asynccontextmanager
async def _small_disk() -> AsyncIterator[tuple[Store, EventTable]]:
    with tempfile.TemporaryDirectory() as folder:
        async with await Store.open(Path(folder) / "torn.db") as store:
            yield store, EventTable(store)


PLAYS: dict[str, Callable[[], Coroutine[Any, Any, list[Any]]]] = {
    "persist-append-read": _append_read,
    "persist-not-found": _not_found,
    "persist-live-write-behind": _write_behind,
    "persist-flush-without-backend": _no_backend,
    "persist-crash-mid-turn-resume": _crash_mid_turn,
    "persist-fork-child": _fork_child,
    "persist-ownership": _ownership,
    "persist-unmaterialized-session": _unmaterialized,
    "persist-torn-tail": _torn_tail,
}
