"""Another answer: written beside the standing one, adopted when it is whole.

Spec tavern 6.4, cases 75 to 88.
"""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import PlayError
from engine.play import Head
from engine.session import user_message
from tests.engine.play.table import Pause, Table, breaking, fails, says, utterance


async def refused(work: Any) -> str:
    with pytest.raises(PlayError) as caught:
        await work
    return caught.value.error_code


async def answers(table: Table, play: str) -> list[str]:
    """All answers of the newest exchange, the standing one marked."""
    node = (await table.nodes(play))[-1]
    texts = [(await table.plays.text(variant)).answer for variant in node.variants]
    texts[node.position] = f"*{texts[node.position]}"
    return texts


async def begin_swipe(table: Table, play: str, *plan: Any) -> Pause:
    """A swipe of the newest exchange that waits after "Oth"."""
    pause = Pause()
    table.voice.will(breaking(pause, "Other.", "Oth"))
    head = await table.head(play)
    await table.plays.swipe(play, head.node_id, head)
    await pause.reached.wait()
    return pause


# -- success -------------------------------------------------------------------------------------


async def test_a_swipe_of_the_first_exchange_starts_from_nothing(table: Table) -> None:
    play = await table.begin(greeting_index=2)
    await table.tell(play, "a")
    before = await table.head(play)
    swiped = await table.plays.swipe(play, before.node_id, before)
    assert swiped.state == "writing"
    await table.settle(play)
    # then a new session holds the new answer to the same words, with the same selection
    head = await table.head(play)
    assert head.session_id == swiped.session_id != before.session_id
    assert head.node_id == before.node_id
    assert (await table.engine.journal.read(head.session_id)).inherited == 0
    assert table.voice.heard() == table.voice.heard(0) == ["Ana: a"]
    assert (await table.plays.selection(play)).greeting_index == 2
    assert await answers(table, play) == ["Answer 1.", "*Answer 2."]
    assert len((await table.plays.timeline(play)).nodes) == 1


async def test_a_swipe_of_a_later_exchange_shares_what_came_before_it(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b", "c")
    nodes = await table.nodes(play)
    await table.swipe(play)
    assert table.voice.heard() == ["Ana: a", "Answer 1.", "Ana: b", "Answer 2.", "Ana: c"]
    log = await table.engine.journal.read((await table.head(play)).session_id)
    assert log.inherited == nodes[1].adopted.end_seq + 1
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2."), (["c"], "Answer 4.")]
    after = await table.nodes(play)
    assert after[:2] == nodes[:2]
    # and the story goes on from it
    await table.tell(play, "d")
    assert await table.history(play) == [
        *("Ana: a", "Answer 1.", "Ana: b", "Answer 2."),
        *("Ana: c", "Answer 4.", "Ana: d", "Answer 5."),
    ]


async def test_all_words_of_an_exchange_are_answered_again(table: Table) -> None:
    play = await table.begin()
    table.voice.will(fails("AUTH"))
    await table.tell(play, "a", "b")
    await table.swipe(play)
    assert table.voice.heard() == ["Ana: a", "Ana: b"]
    assert await table.path(play) == [(["a", "b"], "Answer 2.")]
    (node,) = await table.nodes(play)
    # in one turn, so that they are one answer's words
    log = await table.log(node.adopted.session_id)
    assert [event.type for event in log].count("turn/start") == 1
    assert await table.plays.turn_of(node.adopted) == 1


async def test_context_is_nobodys_words_and_is_not_said_again(table: Table) -> None:
    play = await table.begin()
    agent = await table.engine.agents.open((await table.head(play)).session_id)
    agent.inject(user_message("c1", "It is Tuesday.", {"kind": "calendar"}))
    await table.tell(play, "a")
    assert table.voice.heard() == ["It is Tuesday.", "Ana: a"]
    assert await table.path(play) == [(["a"], "Answer 1.")]
    await table.swipe(play)
    assert table.voice.heard() == ["Ana: a"]


async def test_the_old_answer_stands_until_the_new_one_is_whole(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    before = await table.plays.timeline(play)
    pause = await begin_swipe(table, play)
    assert await table.plays.timeline(play) == before
    assert await table.plays.swiping(play) == before.head.node_id
    pause.opened.set()
    await table.settle(play)
    assert await answers(table, play) == ["Answer 1.", "*Other."]
    assert await table.plays.swiping(play) is None
    # and it was told as an answer to that exchange
    started, ended = table.started[-1], table.ended[-1]
    assert started.swipe_of == ended.swipe_of == ended.node_id == before.head.node_id
    assert ended.variant_id == (await table.head(play)).variant_id


async def test_words_that_come_meanwhile_are_answered_after_the_new_answer(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    pause = await begin_swipe(table, play)
    assert (await table.say(play, "b")).waiting == 1
    await table.say(play, "aside", answer=False)
    pause.opened.set()
    await table.settle(play)
    assert await table.path(play) == [(["a"], "Other."), (["aside", "b"], "Answer 2.")]


async def test_an_interrupted_answer_can_be_swiped(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "The door opens.", "The door"))
    await table.say(play, "a")
    await pause.reached.wait()
    await table.plays.stop(play)
    await table.settle(play)
    await table.swipe(play)
    assert await answers(table, play) == ["The door", "*Answer 1."]


async def test_an_answer_at_its_length_limit_is_an_answer(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    table.voice.will(says("Long", finish="max-tokens"))
    await table.swipe(play)
    assert await answers(table, play) == ["Answer 1.", "*Long"]


# -- failure -------------------------------------------------------------------------------------


@pytest.mark.parametrize("partial", ["", "half"])
async def test_a_swipe_that_fails_leaves_the_tree_as_it_was(table: Table, partial: str) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    before = await table.plays.timeline(play)
    table.voice.will(fails("AUTH", *([partial] if partial else [])))
    await table.swipe(play)
    assert await table.plays.timeline(play) == before
    ended = table.ended[-1]
    assert (ended.reason["error"]["code"], ended.node_id, ended.variant_id) == (
        "AUTH",
        before.head.node_id,
        None,
    )
    # and was not tried twice, and can be tried again
    assert len(table.voice.requests) == 2
    await table.swipe(play)
    assert await answers(table, play) == ["Answer 1.", "*Answer 2."]


async def test_a_swipe_that_is_stopped_is_not_adopted_even_with_text(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    before = await table.plays.timeline(play)
    await begin_swipe(table, play)
    assert await table.plays.stop(play) == 0
    await table.settle(play)
    assert await table.plays.timeline(play) == before
    assert await table.plays.swiping(play) is None
    await table.tell(play, "b")
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]


async def test_a_swipe_that_brings_no_text_is_not_adopted(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    before = await table.plays.timeline(play)
    table.voice.will(says("  "))
    await table.swipe(play)
    assert await table.plays.timeline(play) == before


@pytest.mark.parametrize("how", ["stop", "fail"])
async def test_words_that_came_while_a_swipe_failed_go_to_where_the_story_stands(
    table: Table, how: str
) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    pause = Pause()
    table.voice.will([*says("Oth")[:2], pause, *fails("AUTH")])
    head = await table.head(play)
    await table.plays.swipe(play, head.node_id, head)
    await pause.reached.wait()
    await table.plays.say(play, utterance("aside", "k1"), answer=False)
    await table.plays.say(play, utterance("b", "k2"))
    await table.plays.say(play, utterance("c", "k3"))
    if how == "stop":
        await table.plays.stop(play)
    pause.opened.set()
    await table.settle(play)
    # then each is answered there, once, in order
    assert await table.path(play) == [
        (["a"], "Answer 1."),
        (["aside", "b"], "Answer 2."),
        (["c"], "Answer 3."),
    ]
    assert (await table.plays.say(play, utterance("b", "k2"))).state == "duplicate"
    # and the end of the swipe was told before the start of what followed
    told = [("end", e.turn, e.session_id) for e in table.ended]
    assert told[1][2] != head.session_id == told[2][2]


async def test_quiet_words_alone_are_not_answered_after_a_swipe_failed(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    await begin_swipe(table, play)
    await table.say(play, "aside", answer=False)
    await table.plays.stop(play)
    await table.settle(play)
    assert (await table.waiting(play), len(table.voice.requests)) == (["aside"], 2)


async def test_an_answer_that_the_tree_could_not_take_is_taken_with_the_next_words(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    # given a database that has no room when the other answer is complete
    pause = Pause()
    table.voice.will(breaking(pause, "x" * 60_000))
    head = await table.head(play)
    await table.plays.swipe(play, head.node_id, head)
    await pause.reached.wait()
    await table.engine.store.limit_size(0)
    pause.opened.set()
    await table.settle(play)
    assert (table.ended[-1].reason["kind"], table.ended[-1].variant_id) == ("error", None)
    assert await table.path(play) == [(["a"], "Answer 1.")]
    # when there is room again
    await table.engine.store.limit_size(None)
    await table.tell(play, "b")
    # then both answers are in the tree
    assert await table.path(play) == [(["a"], "x" * 60_000), (["b"], "Answer 2.")]
    assert await table.plays.swiping(play) is None


# -- refusals ------------------------------------------------------------------------------------


async def test_nothing_moves_while_an_answer_is_written(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    pause = Pause()
    table.voice.will(breaking(pause, "Two."))
    await table.say(play, "b")
    await pause.reached.wait()
    head = await table.head(play)
    for work in (
        table.plays.swipe(play, head.node_id, head),
        table.plays.adopt(play, head.node_id, 0, head),
        table.plays.rewind(play, None, head),
        table.plays.restore_head(play, head, head),
        table.plays.retry(play, head),
    ):
        assert await refused(work) == "PLAY_BUSY"
    pause.opened.set()
    await table.settle(play)
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Two.")]


async def test_nothing_moves_while_another_answer_is_written(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    pause = await begin_swipe(table, play)
    head = await table.head(play)
    for work in (
        table.plays.swipe(play, head.node_id, head),
        table.plays.rewind(play, None, head),
        table.plays.select(play, lambda old: old),
    ):
        assert await refused(work) == "PLAY_BUSY"
    pause.opened.set()
    await table.settle(play)


async def test_a_click_on_an_old_head_is_refused(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    old = await table.head(play)
    await table.tell(play, "b")
    for work in (
        table.plays.swipe(play, old.node_id, old),
        table.plays.adopt(play, old.node_id, 0, old),
        table.plays.rewind(play, None, old),
        table.plays.restore_head(play, old, old),
        table.plays.retry(play, old),
    ):
        with pytest.raises(PlayError) as caught:
            await work
        assert caught.value.error_code == "PLAY_HEAD_MOVED"
        assert caught.value.data["head"] == await table.head(play)


async def test_what_the_story_does_not_have_is_refused(table: Table) -> None:
    play, other = await table.begin(), await table.begin()
    await table.tell(play, "a")
    await table.tell(other, "b")
    head, foreign = await table.head(play), await table.head(other)
    assert await refused(table.plays.swipe(play, foreign.node_id, head)) == "PLAY_NODE_UNKNOWN"
    assert await refused(table.plays.adopt(play, head.node_id, 1, head)) == "PLAY_VARIANT_UNKNOWN"
    assert await refused(table.plays.adopt(play, head.node_id, -1, head)) == "PLAY_VARIANT_UNKNOWN"
    assert await refused(table.plays.restore_head(play, foreign, head)) == "PLAY_VARIANT_UNKNOWN"
    stranger = Head(foreign.session_id, head.node_id, head.variant_id)
    assert await refused(table.plays.restore_head(play, stranger, head)) == "PLAY_VARIANT_UNKNOWN"


# -- back and forth ------------------------------------------------------------------------------


async def test_adopting_an_older_answer_brings_back_what_followed_it(table: Table) -> None:
    # given an exchange with two answers, and a second exchange after the first of them
    play = await table.begin()
    await table.tell(play, "a", "b")
    first, second = await table.nodes(play)
    at_second = await table.head(play)
    await table.swipe(play, first.id)
    assert await table.path(play) == [(["a"], "Answer 3.")]
    # when the first answer is adopted again
    swiped = await table.plays.adopt(play, first.id, 0, await table.head(play))
    # then the head is back on the second exchange
    assert (swiped.state, swiped.variant_id) == ("adopted", first.adopted.id)
    assert await table.head(play) == at_second
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]
    # and forth: the other answer has nothing after it
    await table.plays.adopt(play, first.id, 1, at_second)
    assert await table.path(play) == [(["a"], "Answer 3.")]
    await table.tell(play, "c")
    await table.plays.adopt(play, first.id, 0, await table.head(play))
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]
    await table.plays.adopt(play, first.id, 1, await table.head(play))
    assert await table.path(play) == [(["a"], "Answer 3."), (["c"], "Answer 4.")]
    assert {node.id for node in (await table.plays.timeline(play)).nodes} >= {first.id, second.id}


async def test_adopting_the_answer_that_stands_changes_nothing(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    (first,) = await table.nodes(play)
    await table.swipe(play)
    # given that the second answer was left once when it was the newest, and then went on
    await table.plays.adopt(play, first.id, 0, await table.head(play))
    await table.plays.adopt(play, first.id, 1, await table.head(play))
    await table.tell(play, "b")
    head = await table.head(play)
    await table.plays.adopt(play, first.id, 1, head)
    assert await table.head(play) == head


async def test_adopting_on_another_branch_brings_the_whole_branch_back(table: Table) -> None:
    # given a second exchange with two answers, under the first answer of the first
    play = await table.begin()
    await table.tell(play, "a", "b")
    first, second = await table.nodes(play)
    await table.swipe(play, second.id)
    # when the story stands elsewhere, and an answer of that branch is adopted
    await table.swipe(play, first.id)
    assert await table.path(play) == [(["a"], "Answer 4.")]
    await table.plays.adopt(play, second.id, 0, await table.head(play))
    # then every answer on the way to it stands
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]
    assert await table.history(play) == ["Ana: a", "Answer 1.", "Ana: b", "Answer 2."]
    # and another answer can be written there too
    await table.plays.adopt(play, first.id, 1, await table.head(play))
    await table.swipe(play, second.id)
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 5.")]
    assert await table.history(play) == ["Ana: a", "Answer 1.", "Ana: b", "Answer 5."]


async def test_the_counter_counts_every_answer(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    for _ in range(3):
        await table.swipe(play)
    assert await answers(table, play) == ["Answer 1.", "Answer 2.", "Answer 3.", "*Answer 4."]
    (node,) = await table.nodes(play)
    await table.plays.adopt(play, node.id, 1, await table.head(play))
    assert await answers(table, play) == ["Answer 1.", "*Answer 2.", "Answer 3.", "Answer 4."]
    # a swipe from an older answer is appended at the end
    await table.swipe(play)
    assert (await answers(table, play))[-1] == "*Answer 5."


async def test_what_waits_follows_the_story_to_another_answer(table: Table) -> None:
    # given words that wait, said where the second answer stands
    play = await table.begin()
    await table.tell(play, "a")
    await table.swipe(play)
    (node,) = await table.nodes(play)
    await table.say(play, "aside", answer=False)
    # when the first answer stands again: nobody has set the words aside, so they wait there
    await table.plays.adopt(play, node.id, 0, await table.head(play))
    assert await table.waiting(play) == ["aside"]
    await table.tell(play, "b")
    assert await table.path(play) == [(["a"], "Answer 1."), (["aside", "b"], "Answer 3.")]
    # and not at the second one any more, where they were never heard
    await table.plays.adopt(play, node.id, 1, await table.head(play))
    assert await table.waiting(play) == []


async def test_words_without_an_answer_follow_the_story_and_come_once(table: Table) -> None:
    # given words whose answer failed behind the second answer
    play = await table.begin()
    await table.tell(play, "a")
    await table.swipe(play)
    (node,) = await table.nodes(play)
    table.voice.will(fails("AUTH"))
    await table.say(play, "lost")
    await table.settle(play)
    # when people turn the pages to and fro
    for index in (0, 1, 0, 1, 0):
        await table.plays.adopt(play, node.id, index, await table.head(play))
    # then the words wait behind the first answer, once, and are answered there
    assert await table.waiting(play) == ["lost"]
    await table.plays.resume_queue(play)
    await table.settle(play)
    assert (await table.path(play))[1][0] == ["lost"]
    assert await table.waiting(play) == []
