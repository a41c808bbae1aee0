"""The process ends, at once or in order, in every state of a story; the next one finds what there is.

Cases 85, 93, 94 and 100 of spec tavern; 35 to 40 of spec agent-loop; decisions 4 and 5.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from engine.errors import EngineError, SessionCorrupt
from engine.play import Recovered
from tests.engine.play.table import Pause, Table, breaking, fails, utterance

DAY = 24 * 60 * 60 * 1000
LIVES = pytest.mark.parametrize("how", ["crash", "restart"])


async def again(table: Table, how: str, max_age_ms: int = DAY) -> list[Recovered]:
    """The process ends, another one comes up and looks after its stories."""
    await (table.crash() if how == "crash" else table.restart())
    found: list[Recovered] = await table.engine.reconciler.recover(max_age_ms)
    return found


async def writing(table: Table, play: str, text: str, before: str = "") -> Pause:
    """Words whose answer waits after `before`."""
    pause = Pause()
    table.voice.will(breaking(pause, f"{before}…", before))
    await table.say(play, text)
    await pause.reached.wait()
    return pause


# -- at rest -------------------------------------------------------------------------------------


@LIVES
async def test_a_story_at_rest_is_as_it_was_and_nobody_is_told(table: Table, how: str) -> None:
    play = await table.begin(greeting_index=1)
    await table.tell(play, "a", "b")
    await table.swipe(play)
    timeline, path = await table.plays.timeline(play), await table.path(play)
    assert await again(table, how) == []
    assert (await table.plays.timeline(play), await table.path(play)) == (timeline, path)
    assert (await table.plays.selection(play)).greeting_index == 1
    await table.tell(play, "c")
    assert [said for said, _ in await table.path(play)] == [["a"], ["b"], ["c"]]


@LIVES
async def test_a_rewound_story_is_where_it_was_set(table: Table, how: str) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b")
    await table.plays.rewind(play, (await table.nodes(play))[0].id, await table.head(play))
    assert await again(table, how) == []
    await table.tell(play, "c")
    assert [said for said, _ in await table.path(play)] == [["a"], ["c"]]


@LIVES
async def test_turns_are_numbered_on(table: Table, how: str) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b")
    await again(table, how)
    await table.tell(play, "c")
    log = await table.log((await table.head(play)).session_id)
    assert [event.data["turn"] for event in log if event.type == "turn/start"] == [1, 2, 3]
    headers = [event.data["reason"] for event in log if event.type == "request/header"]
    assert headers[0] == "initial"
    assert headers[-1] == "resume"


# -- words that wait -----------------------------------------------------------------------------


@LIVES
async def test_young_words_that_wait_are_answered_and_old_ones_are_told(table: Table, how: str) -> None:
    # given words that wait behind a stop
    table.now = 1_000_000_000_000
    await table.engine.aclose()
    await table.open()
    play = await table.begin()
    await writing(table, play, "a")
    await table.say(play, "b")
    await table.plays.stop(play)
    await table.settle(play)
    # when the process is back after a minute more than it takes
    table.now += 16 * 60_000
    (found,) = await again(table, how, 15 * 60_000)
    # then they wait for a person
    assert (found.waiting, found.resumed, found.age_ms) == (1, False, 16 * 60_000)
    assert (await table.waiting(play), await table.path(play)) == (["b"], [])
    # and also after one more restart: a restart does not make them young
    (found,) = await again(table, how, 15 * 60_000)
    assert (found.resumed, found.age_ms) == (False, 16 * 60_000)
    # when they are young enough they are answered
    (found,) = await again(table, how, 17 * 60_000)
    assert found.resumed
    await table.settle(play)
    assert [said for said, _ in await table.path(play)] == [["a", "b"]]


@LIVES
async def test_quiet_words_go_on_waiting(table: Table, how: str) -> None:
    play = await table.begin()
    await table.say(play, "aside", answer=False)
    (found,) = await again(table, how)
    assert (found.waiting, found.resumed, table.voice.requests) == (1, False, [])
    await table.tell(play, "a")
    assert [said for said, _ in await table.path(play)] == [["aside", "a"]]


async def test_words_that_were_claimed_and_not_admitted_are_answered_once(table: Table) -> None:
    play = await table.begin()
    pause = table.hold_assembly()
    await table.say(play, "a")
    await pause.reached.wait()
    (found,) = await again(table, "crash")
    pause.opened.set()
    assert (found.waiting, found.resumed, found.interrupted) == (1, True, True)
    await table.settle(play)
    assert [said for said, _ in await table.path(play)] == [["a"]]
    assert (await table.say(play, "a")).state == "duplicate"


async def test_words_that_were_claimed_survive_a_shutdown_too(table: Table) -> None:
    play = await table.begin()
    pause = table.hold_assembly()
    await table.say(play, "a")
    await pause.reached.wait()
    closed = asyncio.ensure_future(table.engine.aclose())
    await asyncio.sleep(0.05)  # the turn has been told to stop by then
    pause.opened.set()
    await closed
    await table.open()
    (found,) = await table.engine.reconciler.recover(DAY)
    assert (found.waiting, found.resumed) == (1, True)
    await table.settle(play)
    assert [said for said, _ in await table.path(play)] == [["a"]]


async def test_words_that_end_three_processes_are_given_up_and_can_be_said_again(table: Table) -> None:
    play = await table.begin()
    held = []
    for _ in range(3):
        held.append(table.hold_assembly())
        if len(held) == 1:
            await table.say(play, "a")
        else:
            await table.plays.resume_queue(play)
        await held[-1].reached.wait()
        await table.engine.journal.flush((await table.head(play)).session_id)
        await again(table, "crash", -1)
    for pause in held:
        pause.opened.set()
    # the third time they are not queued again, and the channel is told
    assert (await table.waiting(play), table.dead) == ([], ["discord:1:a"])
    # but a person may insist
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert [said for said, _ in await table.path(play)] == [["a"]]


# -- in the middle of an answer ------------------------------------------------------------------


async def test_an_answer_that_a_crash_cut_off_is_not_in_the_story_and_can_be_had(table: Table) -> None:
    play = await table.begin()
    await writing(table, play, "a", "The door")
    (found,) = await again(table, "crash")
    assert (found.interrupted, found.waiting, found.resumed) == (True, 0, False)
    assert await table.path(play) == []
    # admitted once, and not again
    assert await table.history(play) == ["Ana: a"]
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert await table.path(play) == [(["a"], "Answer 1001.")]


async def test_an_answer_that_a_crash_cut_off_is_not_needed_to_go_on(table: Table) -> None:
    play = await table.begin()
    await writing(table, play, "a", "The door")
    await again(table, "crash")
    await table.tell(play, "b")
    assert await table.path(play) == [(["a", "b"], "Answer 1001.")]


async def test_an_answer_that_a_shutdown_cut_off_stands_as_far_as_it_came(table: Table) -> None:
    play = await table.begin()
    await writing(table, play, "a", "The door")
    assert await again(table, "restart") == []
    (node,) = await table.nodes(play)
    assert (await table.path(play), node.adopted.interrupted) == ([(["a"], "The door")], True)


async def test_a_shutdown_before_any_text_is_told_like_a_crash(table: Table) -> None:
    play = await table.begin()
    await writing(table, play, "a")
    (found,) = await again(table, "restart")
    assert (found.interrupted, found.waiting) == (True, 0)
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert [said for said, _ in await table.path(play)] == [["a"]]


async def test_what_waited_behind_a_cut_off_answer_is_answered_with_it(table: Table) -> None:
    play = await table.begin()
    await writing(table, play, "a")
    await table.say(play, "b")
    (found,) = await again(table, "crash")
    assert (found.interrupted, found.waiting, found.resumed) == (True, 1, True)
    await table.settle(play)
    assert await table.path(play) == [(["a", "b"], "Answer 1001.")]


async def test_an_answer_that_was_complete_but_not_in_the_tree_gets_there_once(table: Table) -> None:
    # given a process that ends between an answer's settlement and the tree
    play = await table.begin()
    copied: list[Any] = []

    async def cut(session_id: str, result: object) -> None:
        await table.crash()
        copied.append(session_id)

    table.engine.hooks.on("agent/turn-ended", cut, owner=table._owner, prepend=True)
    await table.say(play, "a")
    while not copied:
        await table.settle(play)
    assert (await table.plays.timeline(play)).nodes == ()
    # when the next one looks, more than once
    for _ in range(2):
        assert await table.engine.reconciler.recover(DAY) == []
    # then it is there, once
    assert await table.path(play) == [(["a"], "Answer 1.")]
    assert len((await table.plays.timeline(play)).nodes) == 1


# -- in the middle of a swipe --------------------------------------------------------------------


@LIVES
async def test_a_cut_off_swipe_leaves_the_old_answer(table: Table, how: str) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    before = await table.plays.timeline(play)
    pause = Pause()
    table.voice.will(breaking(pause, "Other.", "Oth"))
    await table.plays.swipe(play, before.head.node_id, before.head)
    await pause.reached.wait()
    (found,) = await again(table, how)
    assert (found.swipe_of, found.interrupted, found.waiting) == (before.head.node_id, True, 0)
    assert await table.plays.timeline(play) == before
    assert await table.plays.swiping(play) is None
    # and it is told once, and can be done again
    assert await again(table, how) == []
    await table.swipe(play)
    assert len((await table.nodes(play))[0].variants) == 2


@LIVES
async def test_words_that_came_while_a_swipe_was_cut_off_are_answered_by_the_story(
    table: Table, how: str
) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    pause = Pause()
    table.voice.will(breaking(pause, "Other.", "Oth"))
    head = await table.head(play)
    await table.plays.swipe(play, head.node_id, head)
    await pause.reached.wait()
    await table.plays.say(play, utterance("aside", "k1"), answer=False)
    await table.plays.say(play, utterance("b", "k2"))
    (found,) = await again(table, how)
    assert (found.swipe_of, found.waiting, found.resumed) == (head.node_id, 2, True)
    await table.settle(play)
    assert [said for said, _ in await table.path(play)] == [["a"], ["aside", "b"]]
    assert (await table.path(play))[0] == (["a"], "Answer 1.")
    assert (await table.plays.say(play, utterance("b", "k2"))).state == "duplicate"


async def test_a_swipe_that_was_complete_but_not_in_the_tree_gets_there_once(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    copied: list[Any] = []

    async def cut(session_id: str, result: object) -> None:
        await table.crash()
        copied.append(session_id)

    table.engine.hooks.on("agent/turn-ended", cut, owner=table._owner, prepend=True)
    head = await table.head(play)
    old = table.engine
    await old.plays.swipe(play, head.node_id, head)
    while not copied:
        await old.agents.get(await old.plays.current_session(await old.plays.get(play))).when_idle()
    assert await table.plays.swiping(play) == head.node_id
    for _ in range(2):
        assert await table.engine.reconciler.recover(DAY) == []
    (node,) = await table.nodes(play)
    assert (len(node.variants), await table.path(play)) == (2, [(["a"], "Answer 2.")])
    assert await table.plays.swiping(play) is None


async def test_recovery_leaves_alone_what_somebody_woke_already(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    await table.restart()
    pause = Pause()
    table.voice.will(breaking(pause, "Other.", "Oth"))
    head = await table.head(play)
    await table.plays.swipe(play, head.node_id, head)
    await pause.reached.wait()
    assert await table.engine.reconciler.recover(DAY) == []
    pause.opened.set()
    await table.settle(play)
    assert await table.path(play) == [(["a"], "Other.")]


# -- after a failure -----------------------------------------------------------------------------


@LIVES
async def test_failed_words_can_be_said_again_after_a_restart(table: Table, how: str) -> None:
    play = await table.begin()
    table.voice.will(fails("AUTH"))
    await table.tell(play, "a")
    assert await again(table, how) == []
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert [said for said, _ in await table.path(play)] == [["a"]]


@LIVES
async def test_an_ended_story_is_not_looked_at(table: Table, how: str) -> None:
    play = await table.begin()
    await table.say(play, "a", answer=False)
    await table.plays.end(play)
    assert await again(table, how) == []
    assert table.voice.requests == []


# -- a broken session ----------------------------------------------------------------------------


async def damage(table: Table, session_id: str) -> None:
    """The process ends; the answers that stand in the session's own log change on the disk; it comes up."""
    await table.engine.aclose()
    with closing(sqlite3.connect(table.file)) as db:
        db.execute(
            "UPDATE event SET body = CAST(replace(body, 'Answer', 'Bnswer') AS BLOB) WHERE session = "
            "(SELECT key FROM session WHERE id = ?) AND type = 'assistant/message'",
            (session_id,),
        )
        db.commit()
    await table.open()


async def test_one_broken_log_hurts_its_own_story_only(table: Table) -> None:
    # given three stories with words that wait, one of which has a byte changed on the disk
    plays = [await table.begin() for _ in range(3)]
    for play in plays:
        await table.tell(play, "a")
        await table.say(play, "aside", answer=False)
    broken = await table.head(plays[1])
    await damage(table, broken.session_id)
    # when the process comes up
    found = await table.engine.reconciler.recover(DAY)
    # then the others are found and play on
    assert {recovered.play_id for recovered in found} == {plays[0], plays[2]}
    for play in (plays[0], plays[2]):
        await table.tell(play, "b")
        assert [said for said, _ in await table.path(play)] == [["a"], ["aside", "b"]]
    # the broken one is listed, says what is wrong, and can be ended
    assert len(await table.plays.stories("guild-1")) == 3
    with pytest.raises(SessionCorrupt):
        await table.say(plays[1], "b")
    with pytest.raises(EngineError):
        await table.plays.swipe(plays[1], broken.node_id, broken)
    await table.plays.end(plays[1])
    assert len(await table.plays.stories("guild-1")) == 2


async def test_there_is_a_way_back_from_a_broken_log(table: Table) -> None:
    # given a second exchange whose newest answer stands in a session of its own, and that is broken
    play = await table.begin()
    await table.tell(play, "a", "b")
    await table.swipe(play)
    first, second = await table.nodes(play)
    head = await table.head(play)
    await damage(table, head.session_id)
    with pytest.raises(SessionCorrupt):
        await table.say(play, "c")
    # then the story can go back to the first exchange, and on from there
    rewound = await table.plays.rewind(play, first.id, head)
    assert rewound.set_aside == (second,)
    await table.tell(play, "d")
    assert [said for said, _ in await table.path(play)] == [["a"], ["d"]]
    # or to the answer in the healthy log
    await table.plays.adopt(play, second.id, 0, await table.head(play))
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]
