"""kill -9 while stories are told, branched, summed up and migrated: every promise is kept, and every log is
one that can be told on (session spec 5.1, 7.2, 7.5)."""

import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from engine.session import (
    Journal,
    Query,
    Sessions,
    StrictValidator,
    check_log,
    is_compacting,
    read_log,
)
from engine.storage import EventTable, Store
from tests.engine.session.build import exchange
from tests.engine.session.storyteller import STORIES, old_story

LIVES = 4


def promises_until_killed(database: Path, after_s: float) -> list[list[str]]:
    """The complete lines of a storyteller that is killed so long after its start."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.session.storyteller", str(database)], stdout=subprocess.PIPE
    )
    timer = threading.Timer(after_s, child.kill)
    timer.start()
    try:
        output, _ = child.communicate()
    finally:
        timer.cancel()
        child.kill()
    assert child.returncode == -9, "the storyteller ended by itself"
    lines = output.splitlines(keepends=True)
    return [line.decode().split() for line in lines if line.endswith(b"\n") and b"session." not in line]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL to be seen in the exit code")
async def test_no_promise_is_broken_however_the_process_ends(tmp_path: Path) -> None:
    database = tmp_path / "stories.db"
    chance = random.Random(20_262)
    heads = dict.fromkeys(STORIES, 0)
    made: set[str] = set()
    for _ in range(LIVES):
        # given a storyteller that is killed somewhere
        promises = promises_until_killed(database, chance.uniform(0.9, 1.8))

        async with await Store.open(database) as store:
            assert await store.check() == ()
            table = EventTable(store)
            seen: Counter[str] = Counter()
            for promised in reversed(promises):  # the newest are those that a kill could have broken
                made.add(promised[0])
                seen[promised[0]] += 1
                if promised[0] != "told" and seen[promised[0]] > 12:
                    continue
                match promised:
                    case ["told", name, head]:
                        heads[name] = max(heads[name], int(head))
                    case ["forked", name, child, inherited]:
                        # then a fork is there whole, and its past is its parent's
                        fork = read_log(child, await table.read(child))
                        parent = read_log(name, await table.read(name))
                        assert fork.inherited == int(inherited)
                        assert fork.events[: fork.inherited] == parent.events[: fork.inherited]
                        assert fork.events[-1].type == "turn/end"
                    case ["compacted", name, seq]:
                        # and a summary stands with its whole bracket
                        events = read_log(name, await table.read(name)).events
                        assert events[int(seq)].data["source"]["kind"] == "compact-checkpoint"
                        assert events[int(seq) + 1].type == "compaction/end"
                    case ["migrated", name]:
                        # and a migrated log is there in the format of today, beside the old one
                        log = read_log(name, await table.read(name))
                        assert not log.migrated
                        assert log.events[3].data["source"] == {"kind": "plugin:tavern"}
            await every_log_is_sound(table, heads, chance)
    assert made == {"told", "forked", "compacted", "migrated"}, "the lives were too short to see everything"


async def every_log_is_sound(table: EventTable, heads: dict[str, int], chance: random.Random) -> None:
    """Each log passes the strict check as it lies there, and each story can be told on.

    Of the many forks and old logs a handful is looked at.
    """
    entries = await Query(Sessions(), table).list()
    told = [entry for entry in entries if entry.id in heads]
    for entry in [*told, *chance.sample(entries, min(8, len(entries)))]:
        assert entry.header is not None
        stored = await table.read(entry.id)
        log = read_log(entry.id, stored)
        if log.migrated:  # killed between its making and its opening: it is as it was
            assert list(stored.rows) == old_story(entry.id)[1]
            continue
        read = await Journal(Sessions(), table).read(entry.id)
        check_log(entry.id, log.header.to_wire(), log.inherited, [event.to_wire() for event in read.events])
    journal = Journal(Sessions(validators=[StrictValidator]), table)
    for name, head in heads.items():
        if head:
            assert await table.head(name) >= head
            session = await journal.open(name)
            assert not is_compacting(session)
            exchange(session, 1 + sum(event.type == "turn/start" for event in session.events()))
    await journal.aclose()
