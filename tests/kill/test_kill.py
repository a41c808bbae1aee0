"""kill -9 in the middle of playing, over and over: no promise is broken, and the stories go on."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.agent.inbox import SPLICED, InboxState
from engine.agent.recovery import DEAD, unadmitted
from engine.host import Engine
from engine.play import Timeline, Utterance
from engine.play.exchange import is_human
from engine.session import Event
from tests.engine.play.test_machine import check_sound
from tests.kill.player import HOUR, OWNER, settings

LIVES = 10


@dataclass
class Promises:
    """What the processes said before they were killed, by story."""

    said: list[tuple[str, str]] = field(default_factory=list)
    answered: list[tuple[str, str]] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    ready: int = 0

    def take(self, line: str) -> None:
        match line.split():
            case ["ready"]:
                self.ready += 1
            case [kind, play_id, what]:
                getattr(self, kind).append((play_id, what))


def play_until_killed(database: Path, life: int, after_s: float, errors: Path) -> Sequence[str]:
    """The complete lines of a player that is killed so long after it was ready to play."""
    with errors.open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.kill.player", str(database), f"life{life}"],
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert child.stdout is not None
    lines: list[bytes] = []
    timer = threading.Timer(after_s + 30, child.kill)  # in case it never gets ready
    timer.start()
    for line in child.stdout:
        lines.append(line)
        if line == b"ready\n":
            timer.cancel()
            timer = threading.Timer(after_s, child.kill)
            timer.start()
    timer.cancel()
    child.stdout.close()
    assert child.wait() == -9, errors.read_text()[-2000:]
    return [line.decode() for line in lines if line.endswith(b"\n")]


def sessions_of(database: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(database)) as db:
        found: dict[str, list[str]] = {}
        for play_id, session_id in db.execute("SELECT play_id, session_id FROM play_session"):
            found.setdefault(play_id, []).append(session_id)
        return found


@dataclass
class Fate:
    """What a session's log says of the words in it, by the key of their delivery."""

    admitted: Counter[str] = field(default_factory=Counter)
    pending: set[str] = field(default_factory=set)
    to_be_queued: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, events: Sequence[Event], inherited: int) -> Fate:
        fate, queues = cls(), InboxState()
        for event in events:
            if event.type == "user/message" and event.surface_op == "append" and is_human(event.data):
                fate.admitted[event.data["source"]["key"]] += 1
            elif event.type == SPLICED and event.seq >= inherited:
                queues.apply(event.data)
            elif event.type == DEAD:
                fate.dead.update(event.data["messageIds"])
        fate.pending = {m["source"]["key"] for m in (*queues.next_step, *queues.next_turn)}
        fate.to_be_queued = {m["source"]["key"] for m in unadmitted(events[inherited:])}
        return fate

    @property
    def known(self) -> set[str]:
        return set(self.admitted) | self.pending | self.to_be_queued | self.dead


async def check_promises(engine: Engine, promises: Promises) -> None:
    """Nothing here writes: what is looked at is what the next process will find."""
    assert await engine.store.check() == ()
    owned = sessions_of(engine.store.path)
    for play in await engine.plays.stories(OWNER):
        known: set[str] = set()
        timeline = await engine.plays.timeline(play.id)
        for session_id in owned[play.id]:
            stored = await engine.journal.read(session_id)
            check_sound(stored.events)
            fate = Fate.read(stored.events, stored.inherited)
            assert all(count == 1 for count in fate.admitted.values()), fate.admitted
            assert not set(fate.admitted) & fate.pending
            known |= fate.known
            check_ranges(timeline, session_id, stored.events)
        said = {key for play_id, key in promises.said if play_id == play.id}
        assert said <= known, f"lost: {said - known}"
        await check_tree(engine, play.id, timeline)
        variants = {variant.id for node in timeline.nodes for variant in node.variants}
        assert {what for play_id, what in promises.answered if play_id == play.id} <= variants
        assert {what for play_id, what in promises.moved if play_id == play.id} <= set(owned[play.id])


def check_ranges(timeline: Timeline, session_id: str, events: Sequence[Event]) -> None:
    for node in timeline.nodes:
        for variant in node.variants:
            if variant.session_id == session_id:
                assert 0 <= variant.start_seq < variant.end_seq < len(events)
                assert events[variant.start_seq].type == "turn/start"
                assert events[variant.end_seq].type == "turn/end"


async def check_tree(engine: Engine, play_id: str, timeline: Timeline) -> None:
    path = timeline.path()
    assert all(any(v.id == node.adopted_variant_id for v in node.variants) for node in timeline.nodes)
    parents = [None, *(node.adopted_variant_id for node in path)]
    assert [node.parent_variant_id for node in path] == parents[:-1]
    assert timeline.head.variant_id == parents[-1]
    keys: list[str] = []
    for node in path:
        text = await engine.plays.text(node.adopted)
        assert text.inputs
        assert text.answer
        keys += [words.key for words in text.inputs]
    assert len(keys) == len(set(keys))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL to be seen in the exit code")
async def test_no_promise_is_broken_when_the_process_is_killed(tmp_path: Path) -> None:
    # given processes that play, killed early, late, in the middle of answers, one after the other
    database, errors = tmp_path / "story.db", tmp_path / "errors.log"
    chance = random.Random(20_262)
    promises = Promises()
    for life in range(LIVES):
        for line in play_until_killed(database, life, chance.uniform(0.05, 1.5), errors):
            promises.take(line)
        # then each time every promise was kept
        async with await Engine.open(settings(database, words_per_second=0)) as engine:
            await check_promises(engine, promises)

    # and at the end all logs open, what waited is answered, and each story goes on
    async with await Engine.open(settings(database, words_per_second=0)) as engine:
        await engine.reconciler.recover(HOUR)
        for session_ids in sessions_of(database).values():
            for session_id in session_ids:
                await engine.agents.open(session_id)
        for play in await engine.plays.stories(OWNER):
            words = Utterance("the-end", "I close the door.", "1", "Ana", "Ana")
            assert (await engine.plays.say(play.id, words)).state == "accepted"
            agent = engine.agents.get(await engine.plays.current_session(await engine.plays.get(play.id)))
            assert agent is not None
            await agent.when_idle()
            assert not agent.inbox.has_pending
            last = (await engine.plays.timeline(play.id)).path()[-1]
            assert "the-end" in [said.key for said in (await engine.plays.text(last.adopted)).inputs]
        await check_promises(engine, promises)

    # and the rounds were worth something
    assert promises.ready == LIVES
    assert len(promises.said) > 60
    assert len(promises.answered) > 30
    assert len(promises.moved) > 10
