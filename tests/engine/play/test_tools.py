"""Tools inside stories: on by the story's selection, along with it through swipes, and nowhere else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from engine.agent.tools import CONTEXT
from engine.errors import PlayError
from engine.play import Piece
from engine.session import user_message
from tests.engine.agent.toolbench import asks
from tests.engine.play.table import Pause, Table, says

ROLL = asks(("c1", "dice", '{"expression":"d20"}'))


def told(table: Table, index: int = -1) -> list[str]:
    """The tools of which the model was told."""
    return [tool["name"] for tool in table.voice.requests[index].tools]


async def test_a_storys_tools_are_offered_rolled_and_kept_with_the_answer(table: Table) -> None:
    play_id = await table.begin(tools=("dice",))
    table.voice.will(ROLL, says("You slip past."))
    await table.tell(play_id, "I sneak")
    assert told(table) == ["dice"]
    (node,) = await table.nodes(play_id)
    rolled, prose = (await table.plays.text(node.adopted)).pieces
    assert prose == Piece("You slip past.")
    assert rolled.tool == "dice"
    assert re.fullmatch(r"d20 → \[\d+\] = \d+", rolled.text)
    # another answer has them on too, and each keeps its own roll
    table.voice.will(ROLL, says("A twig snaps."))
    await table.swipe(play_id)
    assert told(table) == ["dice"]
    (node,) = await table.nodes(play_id)
    first, second = [(await table.plays.text(variant)).pieces for variant in node.variants]
    assert first == (rolled, prose)
    assert [piece.tool for piece in second] == ["dice", None]


async def test_tools_turned_on_or_off_hold_from_the_next_answer_on(table: Table) -> None:
    play_id = await table.begin()
    await table.tell(play_id, "Hello")
    assert told(table) == []
    await table.plays.select(play_id, lambda chosen: replace(chosen, tools=("recall", "dice")))
    await table.tell(play_id, "Again")
    assert told(table) == ["dice", "recall"]
    await table.restart()
    await table.tell(play_id, "Still there?")
    assert told(table) == ["dice", "recall"]
    await table.plays.select(play_id, lambda chosen: replace(chosen, tools=()))
    await table.tell(play_id, "And now?")
    assert told(table) == []


async def test_nothing_is_turned_on_while_an_answer_is_written(table: Table) -> None:
    play_id = await table.begin()
    pause = Pause()
    table.voice.will([pause, *says("Yes.")])
    await table.say(play_id, "Hello")
    await pause.reached.wait()
    with pytest.raises(PlayError) as caught:
        await table.plays.select(play_id, lambda chosen: replace(chosen, tools=("dice",)))
    assert caught.value.error_code == "PLAY_BUSY"
    pause.opened.set()
    await table.settle(play_id)


async def test_what_a_stopped_call_left_behind_neither_waits_nor_follows(table: Table) -> None:
    # given a story that was stopped while something that a tool had left waited for the next step
    play_id = await table.begin()
    agent = await table.engine.agents.open((await table.head(play_id)).session_id)
    agent.inject(
        user_message("ctx", "it is ajar", {"kind": CONTEXT, "tool": "look", "callId": "c0", "quiet": True})
    )
    pause = Pause()
    hold = table.hold_assembly()
    table.voice.will([pause, *says("Yes.")])
    await table.say(play_id, "I look")
    await hold.reached.wait()
    await table.plays.stop(play_id)
    hold.opened.set()
    await table.settle(play_id)
    agent.inject(
        user_message("ctx2", "it is shut", {"kind": CONTEXT, "tool": "look", "callId": "c1", "quiet": True})
    )
    await table.engine.journal.flush(agent.id)
    # then it is no message that waits
    assert await table.plays.resume_queue(play_id) == 0
    # and the words are said again without it
    await table.plays.retry(play_id, await table.head(play_id))
    await pause.reached.wait()
    assert table.voice.heard()[-1] == "Ana: I look"
    assert not [line for line in table.voice.heard() if "ajar" in line or "shut" in line]
    pause.opened.set()
    await table.settle(play_id)
