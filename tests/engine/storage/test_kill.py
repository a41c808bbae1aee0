"""kill -9 at any moment: nothing that was acknowledged is lost, and the file stays sound."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engine.codec import digest
from engine.errors import NotFound
from engine.storage import EventTable, Store
from tests.engine.storage.appender import SESSIONS, blob
from tests.engine.storage.event_stores import rows


def write_until_killed(database: Path, after_s: float) -> list[str]:
    """The complete lines of a writer that is killed so long after its start."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.storage.appender", str(database)], stdout=subprocess.PIPE
    )
    timer = threading.Timer(after_s, child.kill)
    timer.start()
    try:
        output, _ = child.communicate()
    finally:
        timer.cancel()
        child.kill()
    assert child.returncode == -9, "the writer ended by itself"
    return [line.decode() for line in output.splitlines(keepends=True) if line.endswith(b"\n")]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL to be seen in the exit code")
async def test_nothing_acknowledged_is_lost_when_the_process_is_killed(database: Path) -> None:
    # given a writer of many sessions and blobs, killed in start-up, early, late, over and over
    chance = random.Random(20_261)
    delays = [0.15, 0.4, *(chance.uniform(0.3, 1.3) for _ in range(6))]
    promised = dict.fromkeys(SESSIONS, 0)
    blobs = 0
    for delay in delays:
        for line in write_until_killed(database, delay):
            match line.split():
                case ["events", id, head]:
                    promised[id] = max(promised[id], int(head))
                case ["blob", stored_number]:
                    blobs = max(blobs, int(stored_number) + 1)

        # then the next process may have the file at once, and finds every promise kept
        async with await Store.open(database) as store:
            assert await store.check() == ()
            events = EventTable(store)
            for id in SESSIONS:
                try:
                    stored = list((await events.read(id)).rows)
                except NotFound:
                    stored = []
                assert len(stored) >= promised[id]
                assert stored == rows(0, len(stored), id)
            for number in range(blobs):
                assert await store.get_blob(digest(blob(number))) == blob(number)
    # and the rounds were worth something
    assert min(promised.values()) > 20
    assert blobs > 20
