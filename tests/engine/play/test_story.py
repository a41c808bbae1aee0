"""A story's life outside its tree: creation, greeting, words and their receipts, selection, end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.errors import NotFound, PlayError, StorageError
from engine.hooks import Next, Scope
from tests.engine.play.table import OWNER, Pause, Table, breaking, fails, utterance

PRESET = b"""{"temperature": 1.3, "openai_max_tokens": 77, "prompts": [
  {"identifier": "main", "name": "Main", "role": "system", "content": "Tell it slowly."}],
  "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main", "enabled": true}]}]}"""
BARE = PRESET.replace(b'"temperature": 1.3, "openai_max_tokens": 77, ', b"")


async def refused(work: Any) -> str:
    with pytest.raises(PlayError) as caught:
        await work
    return caught.value.error_code


# -- creation ------------------------------------------------------------------------------------


async def test_a_new_story_is_numbered_and_empty(table: Table) -> None:
    first, second = await table.begin(), await table.begin()
    play = await table.plays.get(second)
    assert (play.number, play.title, play.owner, play.created_by) == (2, "Rain", OWNER, "ana")
    assert (play.head.node_id, play.head.variant_id, await table.path(second)) == (None, None, [])
    assert (await table.plays.selection(second)).card_id == table.card_id
    # newest first
    assert {story.id for story in await table.plays.stories(OWNER)} == {first, second}


async def test_a_story_needs_a_card(table: Table) -> None:
    assert await refused(table.begin(card_id=None)) == "PLAY_CARD_REQUIRED"


async def test_an_unknown_story_is_not_found(table: Table) -> None:
    with pytest.raises(NotFound) as caught:
        await table.plays.get("p_nothing")
    assert caught.value.error_code == "PLAY_PLAYTHROUGH_NOT_FOUND"


# -- greeting ------------------------------------------------------------------------------------


async def test_the_greeting_can_be_switched_until_the_story_begins(table: Table) -> None:
    play = await table.begin()
    texts, chosen = await table.engine.greetings(play)
    assert (len(texts), chosen) == (4, 0)
    await table.plays.choose_greeting(play, 2)
    assert (await table.engine.greetings(play))[1] == 2
    # then the model is shown the chosen greeting, and only that one
    await table.tell(play, "Hello")
    system = str(table.voice.requests[0].messages[0]["content"][0]["text"])
    assert texts[2][:60] in system
    assert texts[0][:60] not in system
    assert await refused(table.plays.choose_greeting(play, 1)) == "PLAY_GREETING_LOCKED"


async def test_words_that_are_being_answered_have_begun_the_story(table: Table) -> None:
    play = await table.begin()
    # given words that were claimed, and are not in the history yet
    pause = table.hold_assembly()
    await table.say(play, "Hello")
    await pause.reached.wait()
    assert await refused(table.plays.choose_greeting(play, 1)) == "PLAY_GREETING_LOCKED"
    pause.opened.set()
    await table.settle(play)


async def test_a_greeting_beyond_the_last_one_is_the_last_one(table: Table) -> None:
    play = await table.begin()
    await table.plays.choose_greeting(play, 99)
    assert (await table.engine.greetings(play))[1] == 3


async def test_a_story_whose_card_was_deleted_has_no_greeting_and_can_be_played_on(table: Table) -> None:
    play = await table.begin()
    await table.engine.library.delete(table.card_id)
    await table.tell(play, "Hello")
    assert await table.path(play) == [(["Hello"], "Answer 1.")]
    assert (await table.plays.selection(play)).card_id is None


# -- saying --------------------------------------------------------------------------------------


async def test_words_are_labelled_for_the_model_and_kept_raw_for_people(table: Table) -> None:
    play = await table.begin()
    await table.plays.say(play, utterance("Hello", "k1", "Ben", avatarUrl="https://a/b.png"))
    await table.settle(play)
    assert table.voice.heard() == ["Ben: Hello"]
    (node,) = await table.nodes(play)
    (words,) = (await table.plays.text(node.adopted)).inputs
    assert (words.text, words.key, words.author_id, words.persona_name) == ("Hello", "k1", "id-Ben", "Ben")
    assert words.avatar_url == "https://a/b.png"


async def test_accepted_words_are_on_the_disk(table: Table) -> None:
    play = await table.begin()
    # when the process dies right after the receipt
    assert (await table.say(play, "Hello", answer=False)).state == "accepted"
    await table.crash()
    # then the next one has the words
    assert await table.waiting(play) == ["Hello"]
    assert (await table.say(play, "Hello")).state == "duplicate"


async def test_a_second_delivery_is_a_duplicate_whenever_it_comes(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "One."))
    first = await table.say(play, "Hello")
    assert (first.state, first.waiting) == ("accepted", 0)
    # while it is being answered
    await pause.reached.wait()
    assert (await table.say(play, "Hello")).state == "duplicate"
    pause.opened.set()
    await table.settle(play)
    # after it was answered, after a swipe, after a restart
    assert (await table.say(play, "Hello")).state == "duplicate"
    await table.swipe(play)
    assert (await table.say(play, "Hello")).state == "duplicate"
    await table.restart()
    assert (await table.say(play, "Hello")).state == "duplicate"
    # and even when the story went back to before it
    await table.plays.rewind(play, None, await table.head(play))
    assert (await table.say(play, "Hello")).state == "duplicate"
    assert len(table.voice.requests) == 2


async def test_two_deliveries_at_the_same_time_are_one(table: Table) -> None:
    play = await table.begin()
    receipts = await asyncio.gather(*(table.say(play, "Hello") for _ in range(5)))
    await table.settle(play)
    assert sorted(receipt.state for receipt in receipts) == ["accepted", *["duplicate"] * 4]
    assert await table.path(play) == [(["Hello"], "Answer 1.")]


async def test_the_same_words_under_another_key_are_said_again(table: Table) -> None:
    play = await table.begin()
    await table.plays.say(play, utterance("Hello", "a"))
    await table.plays.say(play, utterance("Hello", "b"))
    await table.settle(play)
    assert len(await table.path(play)) == 2


async def test_words_behind_a_running_answer_wait_their_turn(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "One."))
    await table.say(play, "a")
    await pause.reached.wait()
    assert [(await table.say(play, text)).waiting for text in "bc"] == [1, 2]
    pause.opened.set()
    await table.settle(play)
    assert await table.path(play) == [(["a"], "One."), (["b"], "Answer 1."), (["c"], "Answer 2.")]


async def test_a_full_queue_refuses_and_says_so(table: Table) -> None:
    await table.engine.aclose()
    await table.open(max_waiting=2)
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "One."))
    await table.say(play, "a")
    await pause.reached.wait()
    await table.say(play, "b")
    await table.say(play, "c")
    assert await refused(table.say(play, "d")) == "PLAY_QUEUE_FULL"
    # words that only wait are taken in together, and fill no queue
    assert (await table.say(play, "aside", answer=False)).state == "accepted"
    pause.opened.set()
    await table.settle(play)
    # then the refused words can be said again
    assert (await table.say(play, "d")).state == "accepted"
    await table.settle(play)
    assert [said for said, _ in await table.path(play)] == [["a"], ["aside", "b"], ["c"], ["d"]]


async def test_quiet_words_wait_for_the_next_answer(table: Table) -> None:
    play = await table.begin()
    assert (await table.say(play, "aside", answer=False)).state == "accepted"
    await table.settle(play)
    assert table.voice.requests == []
    await table.tell(play, "Hello")
    assert await table.path(play) == [(["aside", "Hello"], "Answer 1.")]


async def test_quiet_words_in_the_middle_of_an_answer_do_not_bring_another_one(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "One."))
    await table.say(play, "Hello")
    await pause.reached.wait()
    # when somebody says something that is not for the model
    await table.say(play, "aside", answer=False)
    pause.opened.set()
    await table.settle(play)
    # then it waits for words that are
    assert (len(table.voice.requests), await table.waiting(play)) == (1, ["aside"])
    await table.tell(play, "Go on")
    assert await table.path(play) == [(["Hello"], "One."), (["aside", "Go on"], "Answer 1.")]


async def test_a_disk_that_fails_at_the_receipt_fails_the_receipt(table: Table) -> None:
    play = await table.begin()
    await table.engine.store.limit_size(0)
    with pytest.raises(StorageError):
        for number in range(200):
            await table.say(play, "x" * 2000 + str(number), answer=False)
    # when there is room again, what was refused is no longer lost
    await table.engine.store.limit_size(None)
    await table.tell(play, "Hello")
    (node,) = await table.nodes(play)
    said = [words.text for words in (await table.plays.text(node.adopted)).inputs]
    assert (said[-1], len(said)) == ("Hello", len(set(said)))


# -- changing words ------------------------------------------------------------------------------


async def test_words_that_wait_can_be_changed_and_taken_back(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "One."))
    await table.say(play, "a")
    await pause.reached.wait()
    await table.plays.say(play, utterance("b", "kb"))
    await table.plays.say(play, utterance("c", "kc"))
    await table.plays.say(play, utterance("d", "kd"), answer=False)
    assert await table.plays.amend(play, "kb", utterance("B!", "kb"))
    assert await table.plays.amend(play, "kc", None)
    assert await table.plays.amend(play, "kd", utterance("D!", "kd"))
    # then what is being answered stays as it was
    assert not await table.plays.amend(play, "discord:1:a", utterance("A!", "discord:1:a"))
    assert not await table.plays.amend(play, "unknown", None)
    pause.opened.set()
    await table.settle(play)
    assert await table.path(play) == [(["a"], "One."), (["D!", "B!"], "Answer 1.")]
    # and what was taken back does not come back by a second delivery
    assert (await table.plays.say(play, utterance("c", "kc"))).state == "duplicate"


async def test_quiet_words_stay_quiet_when_they_are_changed(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "One."))
    await table.say(play, "a")
    await pause.reached.wait()
    await table.plays.say(play, utterance("b", "kb"), answer=False)
    assert await table.plays.amend(play, "kb", utterance("B!", "kb"))
    pause.opened.set()
    await table.settle(play)
    assert (await table.path(play), await table.waiting(play)) == ([(["a"], "One.")], ["B!"])


async def test_a_change_is_durable(table: Table) -> None:
    play = await table.begin()
    await table.plays.say(play, utterance("a", "ka"), answer=False)
    assert await table.plays.amend(play, "ka", utterance("A!", "ka"))
    await table.crash()
    assert await table.waiting(play) == ["A!"]


# -- stopping ------------------------------------------------------------------------------------


async def test_a_stop_keeps_what_was_written_and_what_waits(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "The door opens.", "The door"))
    await table.say(play, "a")
    await pause.reached.wait()
    await table.say(play, "b")
    assert await table.plays.stop(play) == 1
    await table.settle(play)
    (node,) = await table.nodes(play)
    assert (await table.path(play), node.adopted.interrupted) == ([(["a"], "The door")], True)
    assert (table.ended[-1].reason["kind"], table.ended[-1].waiting) == ("aborted", 1)
    assert await table.waiting(play) == ["b"]
    # and it goes on when somebody says so
    assert await table.plays.resume_queue(play) == 1
    await table.settle(play)
    assert await table.path(play) == [(["a"], "The door"), (["b"], "Answer 1.")]
    assert await table.plays.resume_queue(play) == 0


async def test_a_stop_before_any_text_leaves_the_words_to_the_next_answer(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "never"))
    await table.say(play, "a")
    await pause.reached.wait()
    await table.plays.stop(play)
    await table.settle(play)
    assert (await table.path(play), table.ended[-1].variant_id) == ([], None)
    await table.tell(play, "b")
    assert await table.path(play) == [(["a", "b"], "Answer 1.")]


async def test_stopping_what_does_not_run_does_nothing(table: Table) -> None:
    play = await table.begin()
    assert await table.plays.stop(play) == 0
    await table.tell(play, "a")
    assert await table.path(play) == [(["a"], "Answer 1.")]


# -- leaving unanswered --------------------------------------------------------------------------


async def test_what_is_skipped_goes_in_with_the_next_words(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "never"))
    await table.say(play, "a")
    await pause.reached.wait()
    assert await refused(table.plays.skip(play)) == "PLAY_BUSY"
    await table.say(play, "b")
    await table.say(play, "c")
    await table.plays.stop(play)
    await table.settle(play)
    assert await table.plays.skip(play) == 2
    # nothing is answered by that, nor by a restart
    await table.restart()
    assert await table.engine.reconciler.recover(10**9) == []
    assert (await table.waiting(play), len(table.voice.requests)) == (["b", "c"], 1)
    # and they are the same words: a second delivery is a duplicate
    assert (await table.say(play, "b")).state == "duplicate"
    await table.tell(play, "d")
    assert await table.path(play) == [(["a", "b", "c", "d"], "Answer 1.")]


async def test_what_comes_after_a_skip_is_looked_after_again(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    assert await table.plays.skip(play) == 0
    pause = Pause()
    table.voice.will(breaking(pause, "Other.", "Oth"))
    head = await table.head(play)
    await table.plays.swipe(play, head.node_id, head)
    await pause.reached.wait()
    await table.crash()
    (found,) = await table.engine.reconciler.recover(10**9)
    assert (found.swipe_of, found.interrupted) == (head.node_id, True)
    await table.say(play, "b", answer=False)
    await table.crash()
    (found,) = await table.engine.reconciler.recover(10**9)
    assert (found.waiting, found.resumed) == (1, False)


# -- failing -------------------------------------------------------------------------------------


async def test_what_was_said_in_failed_turns_belongs_to_the_next_answered_exchange(table: Table) -> None:
    play = await table.begin()
    table.voice.will(fails("AUTH"), fails("QUOTA", "half a sen"))
    await table.tell(play, "a", "b", "c")
    assert await table.path(play) == [(["a", "b", "c"], "Answer 1.")]
    ended = [(e.reason["kind"], e.node_id is not None) for e in table.ended]
    assert ended == [("error", False), ("error", False), ("completed", True)]


def break_once(table: Table) -> None:
    """The next turn fails before its words are in the history."""
    left = [1]

    async def fail(payload: object, proceed: Next) -> Any:
        if left.pop() if left else 0:
            raise RuntimeError("no lore today")
        return await proceed()

    table.engine.hooks.on("system-prompt/assemble", fail, owner=Scope("test"))


async def test_words_that_a_turn_failed_on_before_its_request_are_answered_with_the_next(
    table: Table,
) -> None:
    play = await table.begin()
    break_once(table)
    await table.tell(play, "a")
    assert (await table.path(play), len(table.voice.requests)) == ([], 0)
    await table.tell(play, "b")
    assert await table.path(play) == [(["a", "b"], "Answer 1.")]
    # a queue behind such a turn is no different
    break_once(table)
    await table.tell(play, "c", "d")
    assert (await table.path(play))[1:] == [(["c", "d"], "Answer 2.")]


async def test_words_that_a_turn_failed_on_before_its_request_can_be_said_again(table: Table) -> None:
    play = await table.begin()
    break_once(table)
    await table.tell(play, "a")
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert await table.path(play) == [(["a"], "Answer 1.")]
    await table.tell(play, "b")
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]


async def test_one_node_an_exchange_however_often_the_tree_is_brought_up_to_date(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b")
    timeline = await table.plays.timeline(play)
    await asyncio.gather(*(table.engine.reconciler.recover(0) for _ in range(3)))
    assert await table.plays.timeline(play) == timeline
    assert [node.parent_variant_id for node in timeline.nodes] == [None, timeline.nodes[0].adopted.id]
    assert [e.node_id for e in table.ended] == [node.id for node in timeline.nodes]


async def test_an_answer_that_the_tree_could_not_take_is_taken_with_the_next_one(table: Table) -> None:
    play = await table.begin()
    # given a database that has no room when the answer is complete
    pause = Pause()
    table.voice.will(breaking(pause, "x" * 60_000))
    await table.say(play, "a")
    await pause.reached.wait()
    await table.engine.store.limit_size(0)
    pause.opened.set()
    await table.settle(play)
    assert (table.ended[-1].reason["kind"], table.ended[-1].node_id) == ("error", None)
    assert await table.path(play) == []
    # when there is room again
    await table.engine.store.limit_size(None)
    await table.tell(play, "b")
    # then each answer has its own exchange
    assert await table.path(play) == [(["a"], "x" * 60_000), (["b"], "Answer 1.")]


# -- selecting -----------------------------------------------------------------------------------


async def test_another_preset_is_used_from_the_next_answer_on(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    preset = await table.engine.library.import_preset(OWNER, PRESET, "slow.json", "ana")
    selection = await table.plays.select(play, lambda old: replace(old, preset_id=preset.id))
    assert selection.preset_id == preset.id
    await table.tell(play, "b")
    last = table.voice.requests[-1]
    assert "Tell it slowly." in last.messages[0]["content"][0]["text"]
    assert (last.config.temperature, last.config.max_tokens) == (1.3, 77)
    # and a fork of the story uses it too
    await table.swipe(play)
    assert table.voice.requests[-1].config == last.config


async def test_what_one_preset_asked_for_does_not_stick_to_the_next(table: Table) -> None:
    play = await table.begin()
    for data in (PRESET, BARE):
        preset = await table.engine.library.import_preset(OWNER, data, "p.json", "ana")
        await table.plays.select(play, lambda old, id=preset.id: replace(old, preset_id=id))
        await table.tell(play, data.decode())
    config = table.voice.requests[-1].config
    assert (config.temperature, config.max_tokens) == (None, None)


async def test_nothing_is_selected_while_an_answer_is_written(table: Table) -> None:
    play, other = await table.begin(), await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "One."))
    await table.say(play, "a")
    await pause.reached.wait()
    assert await refused(table.plays.select(play, lambda old: old)) == "PLAY_BUSY"
    # and other stories are not concerned
    await table.plays.select(other, lambda old: replace(old, prefer_system=False))
    await table.tell(other, "b")
    assert await table.path(other) == [(["b"], "Answer 1.")]
    pause.opened.set()
    await table.settle(play)


# -- the end -------------------------------------------------------------------------------------


async def test_an_ended_story_takes_nothing_and_keeps_everything(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    await table.tell(play, "a")
    table.voice.will(breaking(pause, "The door opens.", "The door"))
    await table.say(play, "b")
    await pause.reached.wait()
    await table.say(play, "c")
    # when it ends in the middle of an answer
    await table.plays.end(play)
    await table.settle(play)
    # then what was written stays, what waited is dropped, and nothing more is taken
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "The door")]
    assert await table.waiting(play) == []
    head = await table.head(play)
    for work in (
        table.say(play, "d"),
        table.plays.end(play),
        table.plays.swipe(play, head.node_id, head),
        table.plays.rewind(play, None, head),
        table.plays.retry(play, head),
        table.plays.resume_queue(play),
        table.plays.amend(play, "x", None),
        table.plays.select(play, lambda old: old),
    ):
        assert await refused(work) == "PLAY_ENDED"
    assert await table.plays.stories(OWNER) == []
    (ended,) = await table.plays.stories(OWNER, include_ended=True)
    assert ended.ended_at is not None
    # and the next story of the card goes on counting
    assert (await table.plays.get(await table.begin())).number == 2


async def test_a_story_that_ended_while_it_wrote_another_answer_stays_as_it_was(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    pause = Pause()
    table.voice.will(breaking(pause, "Other.", "Oth"))
    head = await table.head(play)
    await table.plays.swipe(play, head.node_id, head)
    await pause.reached.wait()
    await table.say(play, "b")
    await table.plays.end(play)
    await table.settle(play)
    assert (await table.head(play), await table.path(play)) == (head, [(["a"], "Answer 1.")])
    assert len(table.voice.requests) == 2


async def test_the_engine_closes_cleanly_in_the_middle_of_an_answer(table: Table, tmp_path: Path) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "The door opens.", "The door"))
    await table.say(play, "a")
    await pause.reached.wait()
    await table.restart()
    assert await table.path(play) == [(["a"], "The door")]


async def test_a_story_that_rests_is_let_go_and_goes_on_with_the_next_words(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    session = (await table.head(play)).session_id
    # when nobody has played for a while
    assert await table.plays.rest(60_000) == 0
    assert await table.plays.rest(0) == 1
    assert table.engine.agents.get(session) is None
    # then it is still there to be read, and goes on
    assert await table.path(play) == [(["a"], "Answer 1.")]
    await table.tell(play, "b")
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]


async def test_a_story_that_is_being_answered_does_not_rest(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "One."))
    await table.say(play, "a")
    await pause.reached.wait()
    assert await table.plays.rest(0) == 0
    pause.opened.set()
    await table.settle(play)
    assert await table.path(play) == [(["a"], "One.")]
