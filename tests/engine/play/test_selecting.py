"""What a story uses: changed between its turns, never its card, and inherited by what it makes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from engine.errors import PlayError
from engine.library import Selection
from tests.engine.play.table import OWNER, Pause, Table, breaking


async def refused(work: Any) -> PlayError:
    with pytest.raises(PlayError) as caught:
        await work
    return caught.value


async def writing(table: Table) -> tuple[str, Pause]:
    """A story in which an answer is being written, until the pause is opened."""
    play, pause = await table.begin(), Pause()
    table.voice.will(breaking(pause, "One."))
    await table.say(play, "a")
    await pause.reached.wait()
    return play, pause


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"preset_id": "p"}, "PRESET_AGENT_RUNNING"),
        ({"card_id": "c"}, "CHARACTER_AGENT_RUNNING"),
        ({"persona_id": "user_1"}, "USER_AGENT_RUNNING"),
        ({"book_ids": ("w",)}, "WORLD_BOOK_AGENT_RUNNING"),
        ({"book_ids": ("w",), "preset_id": "p"}, "PRESET_AGENT_RUNNING"),
        ({"tools": ("dice",)}, "PLAY_BUSY"),
        ({"regex_ids": ("x",)}, "PLAY_BUSY"),
    ],
)
async def test_while_an_answer_is_written_the_code_says_what_has_to_wait(
    table: Table, change: dict[str, Any], code: str
) -> None:
    play, pause = await writing(table)
    before = await table.plays.selection(play)
    error = await refused(table.plays.select(play, lambda old: replace(old, **change)))
    assert error.error_code == code
    assert await table.plays.selection(play) == before
    # and afterwards it is free again
    pause.opened.set()
    await table.settle(play)
    await table.plays.select(play, lambda old: replace(old, tools=("dice",)))


async def test_a_template_waits_too(table: Table) -> None:
    play, pause = await writing(table)
    before = await table.plays.selection(play)
    error = await refused(table.plays.apply_template(play, Selection(tools=("dice",))))
    assert error.error_code == "SESSION_CONFIGURATION_AGENT_RUNNING"
    assert await table.plays.selection(play) == before
    pause.opened.set()
    await table.settle(play)


async def test_also_while_a_swipe_is_written(table: Table) -> None:
    play, pause = await table.begin(), Pause()
    await table.tell(play, "a")
    table.voice.will(breaking(pause, "Another."))
    head = await table.head(play)
    await table.plays.swipe(play, head.node_id, head)
    await pause.reached.wait()
    error = await refused(table.plays.select(play, lambda old: replace(old, persona_id="user_1")))
    assert error.error_code == "USER_AGENT_RUNNING"
    pause.opened.set()
    await table.settle(play)


async def test_a_story_keeps_its_card_and_says_what_stands_in_the_way(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "a")
    await table.swipe(play)
    before = await table.plays.selection(play)
    for work in (
        table.plays.select(play, lambda old: replace(old, card_id="c_other")),
        table.plays.apply_template(play, Selection(card_id="c_other")),
    ):
        error = await refused(work)
        assert error.error_code == "CHARACTER_PLAYTHROUGH_DETACH_REQUIRED"
        (conflict,) = error.data["conflicts"]
        assert conflict == {
            "playthroughId": play,
            "title": "Rain",
            "sessionId": (await table.head(play)).session_id,
            "expectedCharacterId": table.card_id,
            "requestedCharacterId": "c_other",
            "descendantSessionCount": 1,
        }
    assert await table.plays.selection(play) == before


async def test_a_card_that_was_deleted_can_come_back(table: Table) -> None:
    play = await table.begin()
    await table.engine.library.delete(table.card_id)
    assert (await table.plays.selection(play)).card_id is None
    await table.plays.select(play, lambda old: replace(old, card_id=table.card_id))
    assert (await table.plays.selection(play)).card_id == table.card_id


async def test_a_template_sets_all_that_it_says_and_nothing_of_the_story_itself(table: Table) -> None:
    play = await table.begin(user_name="Ana", preset_id="p_old", persona_id="user_1", tools=("dice",))
    own = await table.plays.selection(play)
    template = Selection(
        card_id=table.card_id,
        preset_id="p_new",
        greeting_index=1,
        prefer_system=False,
        book_ids=("w_1",),
        user_name="somebody",
        seed="another",
    )
    applied = await table.plays.apply_template(play, template)
    assert applied == replace(template, user_name="Ana", seed=own.seed)
    assert await table.plays.selection(play) == applied


async def test_a_template_without_a_card_fits_every_story(table: Table) -> None:
    play = await table.begin(greeting_index=2, prefer_post_history=False)
    applied = await table.plays.apply_template(play, Selection(book_ids=("w_1",)))
    assert (applied.card_id, applied.greeting_index, applied.prefer_post_history) == (table.card_id, 2, False)
    assert applied.book_ids == ("w_1",)


async def test_a_greeting_that_was_answered_stands_whatever_a_template_says(table: Table) -> None:
    play = await table.begin(greeting_index=2)
    await table.tell(play, "a")
    applied = await table.plays.apply_template(play, Selection(card_id=table.card_id, greeting_index=1))
    assert applied.greeting_index == 2


async def test_a_branch_takes_what_is_used_now_and_then_goes_its_own_way(table: Table) -> None:
    play = await table.begin(tools=("dice",))
    await table.tell(play, "a", "b")
    first = (await table.nodes(play))[0]
    before = await table.head(play)
    await table.plays.select(play, lambda old: replace(old, preset_id="p_now"))
    await table.plays.rewind(play, first.id, before)
    forked = await table.plays.selection(play)
    assert (forked.preset_id, forked.tools) == ("p_now", ("dice",))
    # what the fork changes is not for the line that it came from
    await table.plays.select(play, lambda old: replace(old, preset_id="p_later"))
    await table.plays.restore_head(play, before, await table.head(play))
    assert (await table.plays.selection(play)).preset_id == "p_now"


async def test_a_delegated_agent_uses_what_its_parent_uses_at_that_moment(table: Table) -> None:
    play = await table.begin(preset_id="p_then")
    parent = await table.engine.agents.open((await table.head(play)).session_id)
    await table.engine.agents.create("helper", parent=parent)
    await table.plays.select(play, lambda old: replace(old, preset_id="p_later"))
    selections = table.engine.library.selections
    helped = await selections.get("helper")
    assert helped is not None
    assert (helped.card_id, helped.preset_id) == (table.card_id, "p_then")
    # and when it comes back it is not linked again
    await table.engine.agents.close("helper")
    await table.engine.agents.open("helper")
    assert await selections.get("helper") == helped


async def test_a_session_without_a_parent_gets_nothing_from_what_was_played_before(table: Table) -> None:
    await table.begin()
    await table.engine.agents.create("fresh")
    assert await table.engine.library.selections.get("fresh") == Selection()


async def test_a_full_library_refuses_new_stories_and_those_that_are_open_go_on(table: Table) -> None:
    # given a server that may have two stories open, and has
    await table.engine.aclose()
    await table.open(max_stories=2)
    first, second = await table.begin(), await table.begin()

    # then a third is refused
    error = await refused(table.begin())
    assert (error.error_code, error.data["limit"]) == ("SESSION_SELECTION_LIMIT_REACHED", 2)
    assert len(await table.plays.stories(OWNER)) == 2
    # and the two can be changed and played
    await table.plays.select(first, lambda old: replace(old, prefer_system=False))
    await table.tell(second, "a")
    # and one that ends makes room
    await table.plays.end(first)
    await table.begin()


async def test_the_last_place_is_given_away_once(table: Table) -> None:
    await table.engine.aclose()
    await table.open(max_stories=1)
    outcomes = await asyncio.gather(*(table.begin() for _ in range(4)), return_exceptions=True)
    assert [isinstance(outcome, str) for outcome in outcomes].count(True) == 1
    codes = {outcome.error_code for outcome in outcomes if isinstance(outcome, PlayError)}
    assert codes == {"SESSION_SELECTION_LIMIT_REACHED"}
    assert len(await table.plays.stories(OWNER)) == 1


async def test_no_setting_goes_beyond_the_hard_limit(table: Table) -> None:
    await table.engine.aclose()
    await table.open(max_stories=1_000_000)
    assert table.plays._max_open == 4_096


async def test_who_has_spoken_and_whether_anything_was_said(table: Table) -> None:
    play = await table.begin()
    assert (await table.plays.begun(play), await table.plays.speakers(play)) == (False, {})
    await table.tell(play, "a")
    assert (await table.plays.begun(play), await table.plays.speakers(play)) == (True, {"Ana": "id-Ana"})


async def test_a_bound_persona_is_whom_the_greeting_speaks_to(table: Table) -> None:
    vale = await table.engine.library.personas.create("id-Ana", "Vale")
    play = await table.begin(user_name="Ana")
    assert await table.engine.user_name(await table.plays.selection(play)) == "Ana"
    await table.plays.select(play, lambda old: replace(old, persona_id=vale.id))
    assert await table.engine.user_name(await table.plays.selection(play)) == "Vale"
    await table.engine.library.personas.delete("id-Ana", vale.id)
    assert await table.engine.user_name(await table.plays.selection(play)) == "Ana"
