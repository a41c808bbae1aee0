"""A process that tells stories until it is killed, and says what was promised to be durable.

`python -m tests.engine.session.storyteller DATABASE` prints a line for each promise: `told <session> <head>`,
`forked <session> <child> <inherited>`, `compacted <session> <checkpoint seq>` or `migrated <session>`.
Opening a session of an earlier life repairs it first, so that every life goes on where the last was cut off.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.codec import canonical
from engine.errors import Conflict, NotFound
from engine.session import (
    Journal,
    Message,
    Session,
    Sessions,
    StoredEvent,
    StrictValidator,
    Summary,
    compact,
    select,
)
from engine.storage import EventTable, Store
from tests.engine.session.build import close_turn, open_step, prompt, reply, say
from tests.engine.session.formats.rows import APPEND, END, START, answer, header, log, user
from tests.engine.session.formats.rows import prompt as old_prompt

STORIES = [f"s{number}" for number in range(3)]
LONG = "It rained, and nobody was on the quay. " * 40


def old_story(name: str) -> tuple[bytes, list[StoredEvent]]:
    """A stored log of format 3, with its header."""
    rows = log(
        *START,
        ("system/message", old_prompt("sy"), APPEND),
        ("user/message", user("u", name, kind="plugin", plugin="tavern"), APPEND),
        ("assistant/message", {**answer("a"), "stream": []}, APPEND),
        *END,
    )
    stored = [StoredEvent(row["seq"], row["type"], row["time"], canonical(row)) for row in rows]
    return canonical(header(3, id=name)), stored


async def tell(journal: Journal, name: str) -> None:
    session = await live(journal, name)
    for number in itertools.count(session.seq):
        turn = 1 + sum(event.type == "turn/start" for event in session.events())
        open_step(session, turn)
        if not len(session.surface.nodes):
            prompt(session, turn=turn)
        say(session, f"{name}-u{number}", LONG)
        reply(session, f"{name}-a{number}", LONG, turn=turn)
        await journal.flush(name)  # in the middle of a turn: the next life has to close it
        close_turn(session, turn)
        await journal.flush(name)
        promise(f"told {name} {session.seq}")
        if turn % 7 == 0:
            await fork(journal, session)
        if turn % 5 == 0:
            await sum_up(journal, session)


async def live(journal: Journal, name: str) -> Session:
    try:
        return await journal.open(name)
    except NotFound:
        return await journal.create(name)


async def fork(journal: Journal, session: Session) -> None:
    boundary = session.seq - 2  # inside the last turn, whose closers then belong to the child
    child = await journal.fork(session.id, boundary, f"{session.id}-f{session.seq}-{os.getpid()}")
    promise(f"forked {session.id} {child.id} {child.inherited_event_count}")
    await journal.close(child.id)


async def sum_up(journal: Journal, session: Session) -> None:
    span = select(session, keep_tokens=500)
    if span is not None:
        done = await compact(session, span, summarise, flush=lambda: journal.flush(session.id))
        promise(f"compacted {session.id} {done.checkpoint.seq}")


async def summarise(messages: Sequence[Message]) -> Summary:
    await asyncio.sleep(0.001)  # long enough to be killed inside the bracket now and then
    return Summary("They met on the quay.", "p", "m")


async def migrate(journal: Journal, table: EventTable) -> None:
    for number in itertools.count():
        name = f"old-{os.getpid()}-{number}"
        head, rows = old_story(name)
        try:
            await table.create(name, head, inherited=0, parent=None, rows=rows)
        except Conflict:
            continue
        await journal.open(name)
        promise(f"migrated {name}")
        await journal.close(name)
        await asyncio.sleep(0.05)


def promise(line: str) -> None:
    os.write(1, line.encode() + b"\n")


async def main(path: Path) -> None:
    async with await Store.open(path) as store:
        table = EventTable(store)
        journal = Journal(Sessions(validators=[StrictValidator]), table)
        await asyncio.gather(migrate(journal, table), *(tell(journal, name) for name in STORIES))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
