"""Prompts and lore that are for some kinds of answers only: a swipe is another kind than the first answer."""

from __future__ import annotations

import pytest

from engine.session import message_text
from tests.engine.play.conftest import table
from tests.engine.play.table import Table, fails
from tests.engine.strategies.test_steps import SPINE, book, sent, story

__all__ = ["table"]

FOR_SWIPES = {"identifier": "other", "content": "SAY IT ANOTHER WAY", "injection_trigger": ["swipe"]}
FOR_FIRST = {"identifier": "first", "content": "SAY IT", "injection_trigger": ["normal"]}
PROMPTS = (*SPINE[:3], FOR_SWIPES, FOR_FIRST, SPINE[3])


def told(table: Table) -> list[str]:
    """The parts of the newest request's system text behind the cast."""
    return sent(table)[0][1].split("\n\n")[1:]


@pytest.mark.parametrize("strategy", ["builtin-native-slots", "builtin-native-roles", None])
async def test_a_swipe_reads_what_is_for_swipes(table: Table, strategy: str | None) -> None:
    lore = await book(table, triggers=["swipe"])
    play = await story(table, *PROMPTS, book_ids=(lore,))
    await table.plays.use_strategy(play, strategy)
    await table.tell(play, "The rain falls")
    assert "SAY IT" in told(table)
    assert "SAY IT ANOTHER WAY" not in told(table) and "WET" not in told(table)
    await table.swipe(play)
    assert {"SAY IT ANOTHER WAY", "WET"} <= set(told(table))
    assert "SAY IT" not in told(table)
    # the words themselves are the same, and what is said next is a normal turn again
    assert sent(table)[1:] == [("user", "Ana: The rain falls")]
    await table.tell(play, "More rain")
    assert "SAY IT" in told(table) and "WET" not in told(table)


async def test_words_that_are_said_again_because_nothing_came_are_a_normal_turn(table: Table) -> None:
    play = await story(table, *PROMPTS)
    table.voice.will(fails("AUTH"))
    await table.tell(play, "One")
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert "SAY IT" in told(table)


async def test_a_swipe_of_a_swipe_is_one_and_a_look_at_the_next_request_is_not(table: Table) -> None:
    play = await story(table, *PROMPTS)
    await table.tell(play, "One")
    await table.swipe(play)
    await table.swipe(play)
    assert "SAY IT ANOTHER WAY" in told(table)
    preview = await table.engine.preview(play)
    assert "SAY IT ANOTHER WAY" not in preview.messages[0].text


async def test_the_kind_stands_in_the_log_beside_the_words(table: Table) -> None:
    play = await story(table, *PROMPTS)
    await table.tell(play, "One")
    await table.swipe(play)
    log = await table.log((await table.head(play)).session_id)
    said = [
        event.data for event in log if event.type == "user/message" and event.data["source"]["kind"] == "user"
    ]
    assert [(message_text(m), m["source"]["generation"]) for m in said] == [("Ana: One", "swipe")]
