"""Stories that were compacted can be gone back in, swiped and resumed like any other (spec agent-loop 6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.errors import AgentError, PlayError
from engine.llm import CallConfig, Narrator
from engine.session import Event, message_text
from engine.session.compaction_prompt import checkpoint_text
from tests.engine.play.table import Pause, Table, fails, says, utterance

NOTES = "Ana and Maren met."
LONG = "It rained on the harbour town, and nobody was on the quay. " * 10


async def compacted(table: Table) -> str:
    """A story of a, b, c, d, whose history was summed up while c was answered."""
    play = await table.begin()
    await table.tell(play, f"a {LONG}", f"b {LONG}")
    table.voice.will(fails("CONTEXT_WINDOW_EXCEEDED"), says(NOTES))
    await table.tell(play, "c", "d")
    return play


def brackets(events: Sequence[Event]) -> list[str]:
    return [event.type for event in events if event.type.startswith("compaction/")]


async def test_a_compaction_leaves_the_timeline_as_it_was(table: Table) -> None:
    play = await compacted(table)
    answers = [answer for _, answer in await table.path(play)]
    assert answers == ["Answer 1.", "Answer 2.", "Answer 3.", "Answer 4."]
    assert [texts[0][0] for texts, _ in await table.path(play)] == ["a", "b", "c", "d"]
    assert await table.history(play) == [checkpoint_text(NOTES), "Answer 3.", "Ana: d", "Answer 4."]


async def test_a_rewind_to_before_the_summary_has_every_word_again(table: Table) -> None:
    play = await compacted(table)
    nodes = await table.nodes(play)
    rewound = await table.plays.rewind(play, nodes[1].id, await table.head(play))
    assert [words.text for words in rewound.words] == ["c", "d"]
    whole = [f"Ana: a {LONG}", "Answer 1.", f"Ana: b {LONG}", "Answer 2."]
    assert await table.history(play) == whole
    await table.tell(play, "e")
    assert table.voice.heard() == [*whole, "Ana: e"]
    assert [answer for _, answer in await table.path(play)] == ["Answer 1.", "Answer 2.", "Answer 5."]


async def test_a_rewind_to_after_the_summary_keeps_it(table: Table) -> None:
    play = await compacted(table)
    nodes = await table.nodes(play)
    await table.plays.rewind(play, nodes[2].id, await table.head(play))
    assert await table.history(play) == [checkpoint_text(NOTES), "Answer 3."]
    await table.tell(play, "e")
    assert table.voice.heard() == [checkpoint_text(NOTES), "Answer 3.", "Ana: e"]
    # a fork of a fork, and past the restart of the process, to before the summary
    await table.restart()
    await table.plays.rewind(play, nodes[0].id, await table.head(play))
    assert await table.history(play) == [f"Ana: a {LONG}", "Answer 1."]


async def test_another_answer_where_it_was_summed_up(table: Table) -> None:
    play = await compacted(table)
    nodes = await table.nodes(play)
    # to the exchange after the summary
    await table.swipe(play)
    assert table.voice.heard() == [checkpoint_text(NOTES), "Answer 3.", "Ana: d"]
    # and to the one in which it came about, which begins with every word and may be summed up anew
    table.voice.will(fails("CONTEXT_WINDOW_EXCEEDED"), says("Other notes."))
    await table.swipe(play, nodes[2].id)
    assert table.voice.heard() == [checkpoint_text("Other notes.")]
    assert [answer for _, answer in await table.path(play)] == ["Answer 1.", "Answer 2.", "Answer 6."]


async def test_a_fork_can_be_compacted_again(table: Table) -> None:
    play = await compacted(table)
    nodes = await table.nodes(play)
    await table.plays.rewind(play, nodes[2].id, await table.head(play))
    await table.tell(play, f"e {LONG}")
    table.voice.will(fails("CONTEXT_WINDOW_EXCEEDED"), says("Notes on notes."))
    await table.tell(play, "f")
    answer = (await table.path(play))[-1][1]
    assert await table.history(play) == [checkpoint_text("Notes on notes."), answer]


async def test_whoever_spoke_before_the_summary_is_still_at_the_table(table: Table) -> None:
    # given a story in which Ben spoke only in what was summed up
    play = await table.begin()
    await table.plays.say(play, utterance(f"a {LONG}", who="Ben"))
    await table.settle(play)
    table.voice.will(fails("CONTEXT_WINDOW_EXCEEDED"), says(NOTES))
    await table.tell(play, "b", "c")
    # then the prompt still names him first, as whom the story is about
    session = (await table.head(play)).session_id
    agent = await table.engine.agents.open(session)
    system = message_text(agent.session.derive()[0])
    assert "Players: Ben, Ana" in system
    # and the greeting, which stood before the first answer, does not come back
    greetings, _ = await table.engine.greetings(play)
    assert greetings[0] not in system


async def test_a_story_longer_than_the_narrators_window_goes_on(tmp_path: Path) -> None:
    # given the narrator, whose window is about 32,000 tokens, and a story of 40,000
    table = Table(tmp_path)
    await table.open(adapter=Narrator(words_per_second=0), defaults=CallConfig("narrator", "offline"))
    try:
        play = await table.begin()
        for number in range(20):
            await table.tell(play, f"I light lamp {number}. " + LONG * 13)
        # then it was summed up before that, once, and every word was answered
        assert len(await table.path(play)) == 20
        session_id = (await table.head(play)).session_id
        events = await table.log(session_id)
        assert brackets(events) == ["compaction/start", "compaction/summary", "compaction/end"]
        notes = (await table.history(play))[0]
        assert "- Ana: I light lamp" in notes
        assert sum(map(len, await table.history(play))) < 4 * 32_768
        summary = next(event for event in events if event.type == "compaction/summary")
        assert message_text({"content": summary.data["summary"]}) in notes
    finally:
        await table.close()


async def test_a_story_is_summed_up_when_somebody_asks(table: Table) -> None:
    play = await table.begin()
    assert await table.engine.sum_up(play) is None
    await table.tell(play, f"a {LONG}", f"b {LONG}")
    table.voice.will(says(NOTES))
    done = await table.engine.sum_up(play)
    assert done is not None
    # the oldest exchange became shorter notes; the newest one stays word for word
    assert done.messages == 2
    assert done.after < done.before
    assert await table.history(play) == [checkpoint_text(NOTES), f"Ana: b {LONG}", "Answer 2."]
    # durably, and the story goes on from there
    await table.restart()
    await table.tell(play, "c")
    assert table.voice.heard() == [checkpoint_text(NOTES), f"Ana: b {LONG}", "Answer 2.", "Ana: c"]


async def test_a_story_that_is_being_summed_up_is_not_let_rest_and_can_be_stopped(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, f"a {LONG}", f"b {LONG}")
    pause = Pause()
    table.voice.will([pause])
    work = asyncio.ensure_future(table.engine.sum_up(play))
    await pause.reached.wait()
    assert await table.plays.rest(-1) == 0
    with pytest.raises(PlayError) as busy:
        await table.engine.sum_up(play)
    assert busy.value.error_code == "COMPACTION_BUSY"
    await table.plays.stop(play)
    with pytest.raises(AgentError) as stopped:
        await work
    assert stopped.value.error_code == "COMPACTION_STOPPED"
    assert len(await table.history(play)) == 4
    assert await table.plays.rest(-1) == 1


async def test_a_story_is_not_summed_up_while_an_answer_is_written(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will([pause, *says("one")])
    await table.plays.say(play, utterance("a"))
    await pause.reached.wait()
    with pytest.raises(PlayError) as busy:
        await table.engine.sum_up(play)
    assert busy.value.error_code == "PLAY_BUSY"
    pause.opened.set()
