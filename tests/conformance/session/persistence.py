"""persistence: prose steps and what was observed, played on our journal over a store in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from structlog.testing import capture_logs

from engine.errors import EngineError, NotFound
from engine.session import (
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
from tests.conformance.compare import Mismatch, agree, category_of
from tests.conformance.vectors import Vector

DONE = object()
"""Said of a step that only has to succeed: the recording has no value for it."""


def run(vector: Vector) -> None:
    with capture_logs():
        observed = asyncio.run(PLAYS[vector.name]())
    steps = vector.body["steps"]
    agree("number of steps", len(steps), len(observed))
    for step, actual in zip(steps, observed, strict=True):
        expect = step["expect"]
        if isinstance(actual, Exception):
            if expect["ok"]:
                raise Mismatch(step["do"], expect, actual)
            agree(step["do"], expect["error"]["category"], category_of(actual) or _kind(actual))
        else:
            agree(step["do"], expect, {"ok": True} if actual is DONE else {"ok": True, "value": actual})


def _kind(error: Exception) -> str:
    return "not-found" if isinstance(error, NotFound) else type(error).__name__


async def _attempt(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except EngineError as error:
        return error


class _Table:
    """A journal over a fresh store."""

    def __init__(self) -> None:
        self.store = MemoryEventStore()
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

    after = _Table()
    after.store = table.store
    after.journal = Journal(after.sessions, after.store)
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


PLAYS: dict[str, Callable[[], Coroutine[Any, Any, list[Any]]]] = {
    "persist-append-read": _append_read,
    "persist-not-found": _not_found,
    "persist-live-write-behind": _write_behind,
    "persist-flush-without-backend": _no_backend,
    "persist-crash-mid-turn-resume": _crash_mid_turn,
    "persist-fork-child": _fork_child,
}
