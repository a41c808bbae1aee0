"""A process that writes until it is killed, and says what the store has acknowledged.

`python -m tests.engine.storage.appender DATABASE` prints a line for each acknowledged commit:
`events <session> <head>` or `blob <number>`. What it writes follows from session and seq alone, so
that a reader knows what must be there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from engine.errors import Conflict
from engine.storage import EventTable, Store
from tests.engine.storage.event_stores import HEADER, rows

SESSIONS = [f"s{i}" for i in range(6)]


def blob(number: int) -> bytes:
    return f"blob {number} ".encode() * (50 + number % 3000)


async def write_events(store: Store, id: str) -> None:
    events = EventTable(store)
    with contextlib.suppress(Conflict):  # it is there already, from an earlier life
        await events.create(id, HEADER, inherited=0, parent=None, rows=[])
    epoch = await events.take(id)
    head = await events.head(id)
    while True:
        count = 1 + head % 5
        await events.append(id, epoch, rows(head, head + count, id))
        head += count
        acknowledge(f"events {id} {head}")


async def write_blobs(store: Store) -> None:
    for number in range(1_000_000):
        await store.put_blob(blob(number))
        acknowledge(f"blob {number}")


def acknowledge(line: str) -> None:
    os.write(1, line.encode() + b"\n")


async def main(path: Path) -> None:
    async with await Store.open(path) as store:
        await asyncio.gather(write_blobs(store), *(write_events(store, id) for id in SESSIONS))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
