"""What a story's selection makes of the request: card, preset, personas, lore (spec tavern 4 and 5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.agent import Decision
from engine.hooks import Next
from tests.engine.play.table import OWNER, SAMPLES, Table, says, utterance

MARSH = "The Hushmarsh: nine miles of reed"
REEVE = "Reeve Hanne Dorrow: sixty"


def system(table: Table, index: int = -1) -> str:
    message = table.voice.requests[index].messages[0]
    assert message["role"] == "system"
    return str(message["content"][0]["text"])


async def book(table: Table) -> str:
    data = (SAMPLES / "low_reach.json").read_bytes()
    return (await table.engine.library.import_book(OWNER, data, "low_reach.json", "ana")).id


# -- the card ------------------------------------------------------------------------------------


async def test_the_greeting_is_a_reference_until_the_first_answer(table: Table) -> None:
    play = await table.begin()
    (greeting, *_), _ = await table.engine.greetings(play)
    line = next(line for line in greeting.splitlines() if len(line) > 40)
    await table.tell(play, "Hello", "Go on")
    assert line in system(table, 0)
    assert line not in system(table, 1)
    # and it never is in the history (decision 13)
    assert not any(line in text for text in table.voice.heard())
    # a first exchange that is written again is a first exchange
    nodes = await table.nodes(play)
    await table.swipe(play, nodes[0].id)
    assert line in system(table)


async def test_a_deleted_card_leaves_the_story_and_its_greeting_is_gone(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "Hello")
    assert "Maren" in system(table)
    await table.engine.library.delete(table.card_id)
    await table.tell(play, "Go on")
    assert "Maren" not in system(table)
    assert [said for said, _ in await table.path(play)] == [["Hello"], ["Go on"]]


# -- people --------------------------------------------------------------------------------------


async def test_the_first_speaker_is_whom_the_card_means_and_a_persona_is_described(table: Table) -> None:
    play = await table.begin()
    await table.engine.library.personas.play("id-Ben", "Ben", "A tall ferryman.")
    await table.plays.say(play, utterance("Hello", who="Ben"))
    await table.settle(play)
    assert "A tall ferryman." in system(table)
    assert "{{user}}" not in system(table)


async def test_a_bound_persona_stands_above_who_speaks(table: Table) -> None:
    ana = await table.engine.library.personas.play("id-Ana", "Ana", "A small surveyor.")
    play = await table.begin(persona_id=ana.id)
    await table.plays.say(play, utterance("Hello", who="Ben"))
    await table.settle(play)
    assert "A small surveyor." in system(table)


# -- lore ----------------------------------------------------------------------------------------


async def test_words_activate_lore_in_the_very_request_that_they_are_in(table: Table) -> None:
    play = await table.begin(greeting_index=1)
    await table.tell(play, "Hello")
    assert MARSH not in system(table)
    await table.tell(play, "I walk into the hushmarsh")
    assert MARSH in system(table)
    # the swipe of that exchange too
    await table.swipe(play)
    assert MARSH in system(table)


async def test_words_that_were_not_let_in_activate_nothing_later(table: Table) -> None:
    play = await table.begin()

    async def refuse(payload: Any, proceed: Next) -> Decision:
        dispose()
        return Decision("reject")

    dispose = table.engine.hooks.on("agent/pre-step", refuse, owner=table._owner)
    await table.tell(play, "I walk into the hushmarsh")
    assert table.ended[-1].reason == {"kind": "blocked"}
    await table.tell(play, "Hello")
    assert table.voice.heard() == ["Ana: Hello"]
    assert MARSH not in system(table)


async def test_answers_activate_lore_as_well(table: Table) -> None:
    play = await table.begin()
    table.voice.will(says("Beyond lies the hushmarsh."))
    await table.tell(play, "Hello", "And then?")
    assert MARSH not in system(table, 0)
    assert MARSH in system(table, 1)


async def test_a_chosen_book_is_read_until_it_is_let_go_or_deleted(table: Table) -> None:
    chosen = await book(table)
    play = await table.begin(book_ids=(chosen,))
    await table.tell(play, "Who is Hanne?")
    assert REEVE in system(table)
    await table.plays.select(play, lambda old: replace(old, book_ids=()))
    await table.tell(play, "Hanne again?")
    assert REEVE not in system(table)
    await table.plays.select(play, lambda old: replace(old, book_ids=(chosen, "b_unknown")))
    await table.tell(play, "And Hanne?")
    assert REEVE in system(table)
    await table.engine.library.delete(chosen)
    await table.tell(play, "Hanne?")
    assert REEVE not in system(table)


# -- the preset ----------------------------------------------------------------------------------


async def test_without_a_preset_or_with_an_unknown_one_the_built_in_one_is_used(table: Table) -> None:
    configs = []
    for preset_id in (None, "p_unknown"):
        play = await table.begin(preset_id=preset_id)
        await table.tell(play, "Hello")
        configs.append(table.voice.requests[-1].config)
    assert configs[0] == configs[1]
    assert (configs[0].temperature, configs[0].max_tokens) == (0.9, 900)
    assert system(table, 0) == system(table, 1)


async def test_an_unchanged_selection_keeps_the_head_of_the_request_as_it_is(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, *"abc")
    # (the greeting leaves after the first answer, so that the second head is another one)
    assert system(table, 1) == system(table, 2)
    log = await table.log((await table.head(play)).session_id)
    assert [event.type for event in log].count("system/message") == 2


async def test_two_stories_do_not_share_their_parameters(table: Table) -> None:
    data = b'{"temperature": 0.1, "prompts": [], "prompt_order": []}'
    preset = await table.engine.library.import_preset(OWNER, data, "cold.json", "ana")
    cold, warm = await table.begin(preset_id=preset.id), await table.begin()
    for play in (cold, warm, cold):
        await table.tell(play, f"a{len(table.voice.requests)}")
    assert [request.config.temperature for request in table.voice.requests] == [0.1, 0.9, 0.1]
