"""Going back, undoing that, and saying again what was never answered (spec tavern 6.4.7, 6.5)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import PlayError
from tests.engine.play.table import Pause, Table, breaking, fails


async def refused(work: Any) -> str:
    with pytest.raises(PlayError) as caught:
        await work
    return caught.value.error_code


# -- rewind --------------------------------------------------------------------------------------


async def test_a_rewind_goes_on_from_an_earlier_exchange_and_keeps_the_rest(table: Table) -> None:
    # given five exchanges
    play = await table.begin()
    await table.tell(play, *"abcde")
    nodes = await table.nodes(play)
    previous = await table.head(play)
    told = await table.plays.after(play, nodes[1].id)
    # when the story goes back to the second
    rewound = await table.plays.rewind(play, nodes[1].id, previous)
    # then it stands there, in a session of its own that holds no exchange yet
    assert rewound.previous == previous
    assert rewound.head == await table.head(play)
    assert (rewound.head.node_id, rewound.head.variant_id) == (nodes[1].id, nodes[1].adopted.id)
    assert rewound.head.session_id != nodes[1].adopted.session_id
    assert rewound.set_aside == tuple(nodes[2:])
    assert [words.text for words in rewound.words] == ["c", "d", "e"]
    assert (list(told[0]), list(told[1])) == (list(rewound.set_aside), list(rewound.words))
    assert len((await table.plays.timeline(play)).nodes) == 5
    assert await table.history(play) == ["Ana: a", "Answer 1.", "Ana: b", "Answer 2."]
    # and what is said next comes after it
    await table.tell(play, "f")
    assert (await table.nodes(play))[-1].parent_variant_id == nodes[1].adopted.id
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2."), (["f"], "Answer 6.")]


async def test_a_rewind_to_before_the_first_exchange_is_a_new_beginning(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b")
    rewound = await table.plays.rewind(play, None, await table.head(play))
    assert (rewound.head.node_id, await table.path(play), await table.history(play)) == (None, [], [])
    assert len(rewound.set_aside) == 2
    # the greeting can be chosen anew
    await table.plays.choose_greeting(play, 1)
    await table.tell(play, "c")
    assert await table.path(play) == [(["c"], "Answer 3.")]
    assert (await table.nodes(play))[0].parent_variant_id is None


async def test_a_rewind_takes_no_waiting_words_along_and_names_them(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b")
    await table.say(play, "aside", answer=False)
    rewound = await table.plays.rewind(play, (await table.nodes(play))[0].id, await table.head(play))
    assert [words.text for words in rewound.words] == ["b", "aside"]
    await table.tell(play, "c")
    assert table.voice.heard() == ["Ana: a", "Answer 1.", "Ana: c"]


async def test_words_whose_turn_was_stopped_before_its_request_are_named_too(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    pause = table.hold_assembly()
    await table.say(play, "b")
    await pause.reached.wait()
    await table.plays.stop(play)
    pause.opened.set()
    await table.settle(play)
    assert await table.history(play) == ["Ana: a", "Answer 1."]
    _, words = await table.plays.after(play, (await table.nodes(play))[0].id)
    assert [word.text for word in words] == ["b"]


async def test_a_rewind_to_where_the_story_stands_sets_failed_words_aside(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    table.voice.will(fails("AUTH"))
    await table.tell(play, "b")
    head = await table.head(play)
    rewound = await table.plays.rewind(play, head.node_id, head)
    assert ([w.text for w in rewound.words], rewound.set_aside) == (["b"], ())
    await table.tell(play, "c")
    assert await table.path(play) == [(["a"], "Answer 1."), (["c"], "Answer 2.")]


async def test_a_rewind_to_another_branch_is_refused(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b")
    first, second = await table.nodes(play)
    await table.swipe(play, first.id)
    assert await refused(table.plays.rewind(play, second.id, await table.head(play))) == "PLAY_NOT_ON_PATH"
    assert await refused(table.plays.after(play, second.id)) == "PLAY_NOT_ON_PATH"
    assert await refused(table.plays.rewind(play, "n_x", await table.head(play))) == "PLAY_NODE_UNKNOWN"


async def test_rewinding_by_an_exchange_of_a_continuation_still_knows_its_words(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b")
    first, second = await table.nodes(play)
    await table.swipe(play, second.id)
    found = await table.plays.node_of_words(play, "discord:1:b")
    assert found is not None
    assert found.id == second.id
    assert (await table.plays.node_of_words(play, "discord:1:a")).id == first.id
    assert await table.plays.node_of_words(play, "discord:1:z") is None
    # words of an exchange that was set aside are nowhere on the path
    await table.plays.rewind(play, first.id, await table.head(play))
    assert await table.plays.node_of_words(play, "discord:1:b") is None


# -- undo ----------------------------------------------------------------------------------------


async def test_an_undone_rewind_is_as_if_it_had_not_been(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, *"abc")
    before = await table.plays.timeline(play)
    rewound = await table.plays.rewind(play, before.nodes[0].id, before.head)
    await table.plays.restore_head(play, rewound.previous, rewound.head)
    assert await table.plays.timeline(play) == before
    await table.tell(play, "d")
    assert await table.history(play) == [
        *("Ana: a", "Answer 1.", "Ana: b", "Answer 2."),
        *("Ana: c", "Answer 3.", "Ana: d", "Answer 4."),
    ]


async def test_an_undo_brings_back_the_answers_that_stood(table: Table) -> None:
    # given a story that went back, and got another answer there
    play = await table.begin()
    await table.tell(play, "a", "b")
    rewound = await table.plays.rewind(play, (await table.nodes(play))[0].id, await table.head(play))
    await table.swipe(play)
    assert await table.path(play) == [(["a"], "Answer 3.")]
    # when the way back is undone
    await table.plays.restore_head(play, rewound.previous, await table.head(play))
    # then the answer stands that its continuation was written to
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]
    assert await table.history(play) == ["Ana: a", "Answer 1.", "Ana: b", "Answer 2."]


async def test_a_place_from_which_the_story_went_on_cannot_be_restored(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    old = await table.head(play)
    await table.tell(play, "b")
    # (its session holds the next exchange already; the way there is a rewind)
    assert await refused(table.plays.restore_head(play, old, await table.head(play))) == "PLAY_CANNOT_UNDO"


async def test_an_undo_after_a_restart(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b")
    rewound = await table.plays.rewind(play, None, await table.head(play))
    await table.restart()
    await table.plays.restore_head(play, rewound.previous, rewound.head)
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]


# -- retry ---------------------------------------------------------------------------------------


async def test_words_that_failed_are_said_again(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    table.voice.will(fails("AUTH"), fails("AUTH"))
    await table.tell(play, "b", "c")
    assert len(await table.nodes(play)) == 1
    swiped = await table.plays.retry(play, await table.head(play))
    assert swiped.state == "writing"
    await table.settle(play)
    # then both are answered by one new exchange, as if they had not failed
    assert table.voice.heard() == ["Ana: a", "Answer 1.", "Ana: b", "Ana: c"]
    assert await table.path(play) == [(["a"], "Answer 1."), (["b", "c"], "Answer 2.")]
    # and a second delivery of them is still one
    assert (await table.say(play, "b")).state == "duplicate"


async def test_words_that_were_stopped_before_any_text_are_said_again(table: Table) -> None:
    play = await table.begin()
    pause = Pause()
    table.voice.will(breaking(pause, "never"))
    await table.say(play, "a")
    await pause.reached.wait()
    await table.say(play, "aside", answer=False)
    await table.say(play, "b")
    await table.plays.stop(play)
    await table.settle(play)
    # what waits comes after what was lost, each as it was said
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert await table.path(play) == [(["aside", "a"], "Answer 1."), (["b"], "Answer 2.")]


async def test_words_that_were_stopped_before_their_request_are_said_again(table: Table) -> None:
    play = await table.begin()
    pause = table.hold_assembly()
    await table.say(play, "a")
    await pause.reached.wait()
    await table.plays.stop(play)
    pause.opened.set()
    await table.settle(play)
    assert await table.history(play) == []
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert await table.path(play) == [(["a"], "Answer 1.")]


async def test_words_that_wait_are_answered_by_a_retry(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    await table.say(play, "b", answer=False)
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert await table.path(play) == [(["a"], "Answer 1."), (["b"], "Answer 2.")]
    # in the session that the story left nothing waits any more
    (first, _) = await table.nodes(play)
    agent = table.engine.agents.get(first.adopted.session_id)
    assert agent is not None
    assert not agent.inbox.has_pending


async def test_a_retry_that_fails_can_be_tried_again(table: Table) -> None:
    play = await table.begin()
    table.voice.will(fails("AUTH"), fails("AUTH"))
    await table.tell(play, "a")
    for _ in range(2):
        await table.plays.retry(play, await table.head(play))
        await table.settle(play)
    assert await table.path(play) == [(["a"], "Answer 1.")]
    assert table.voice.heard() == ["Ana: a"]


async def test_there_is_nothing_to_retry_when_everything_was_answered(table: Table) -> None:
    play = await table.begin()
    assert await refused(table.plays.retry(play, await table.head(play))) == "PLAY_NO_INPUT"
    await table.tell(play, "a")
    assert await refused(table.plays.retry(play, await table.head(play))) == "PLAY_NO_INPUT"


async def test_a_retry_after_a_rewind_says_nothing_of_what_was_set_aside(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a", "b")
    await table.plays.rewind(play, (await table.nodes(play))[0].id, await table.head(play))
    assert await refused(table.plays.retry(play, await table.head(play))) == "PLAY_NO_INPUT"
