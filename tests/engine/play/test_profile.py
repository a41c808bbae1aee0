"""What a story's selection makes of the request: card, preset, personas, lore (spec tavern 4 and 5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.agent import Decision
from engine.codec import dumps
from engine.hooks import Next
from engine.host import shelves
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


# -- what is remembered, and what is refused -----------------------------------------------------


def preset(text: str) -> bytes:
    return dumps(
        {
            "prompts": [{"identifier": "main", "content": text}],
            "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}],
        }
    )


async def with_preset(table: Table, text: str, **selection: Any) -> str:
    row = await table.engine.library.import_preset(OWNER, preset(text), "p.json", "ana")
    return await table.begin(preset_id=row.id, **selection)


async def test_variables_go_with_the_branch_through_swipes_rewinds_and_restarts(table: Table) -> None:
    play = await with_preset(table, "It is day {{incvar::day}}.")
    await table.tell(play, "One", "Two")
    assert "day 2." in system(table)
    # another answer to the second exchange is written on the second day again
    nodes = await table.nodes(play)
    await table.swipe(play, nodes[1].id)
    assert "day 2." in system(table)
    # and after a rewind the day after the first comes again
    await table.plays.rewind(play, nodes[0].id, await table.head(play))
    await table.tell(play, "Other")
    assert "day 2." in system(table)
    await table.restart()
    await table.tell(play, "Third")
    assert "day 3." in system(table)


async def test_a_global_variable_is_read_in_the_next_story_and_the_next_process(table: Table) -> None:
    for number in (1, 2):
        play = await with_preset(table, "Visit {{incglobalvar::visits}}.")
        await table.tell(play, f"Hello {number}")
        assert f"Visit {number}." in system(table)
        await table.restart()


async def test_a_turn_that_was_blocked_remembers_nothing(table: Table) -> None:
    play = await with_preset(table, "Day {{incvar::day}}.")

    async def refuse(payload: Any, proceed: Next) -> Decision:
        dispose()
        return Decision("reject")

    dispose = table.engine.hooks.on("agent/pre-step", refuse, owner=table._owner)
    await table.tell(play, "Blocked")
    await table.tell(play, "Hello")
    assert "Day 1." in system(table)


async def test_texts_that_are_too_long_are_refused_before_anything_is_sent(table: Table) -> None:
    play = await with_preset(table, "字" * (512 * 1024 // 3 + 1))
    await table.tell(play, "Hello")
    assert table.ended[-1].reason["error"]["code"] == "ASSEMBLY_TOO_LARGE"
    await table.plays.use_strategy(play, None)
    await table.plays.resume_queue(play)
    await table.tell(play, "Still here")
    assert table.voice.requests == []
    assert table.ended[-1].reason["error"]["code"] == "TAVERN_PROFILE_TOO_LARGE"
    # the words are not lost: with another preset they are answered
    await table.plays.select(play, lambda old: replace(old, preset_id=None))
    await table.tell(play, "Again")
    assert table.voice.heard() == ["Ana: Hello", "Ana: Still here", "Ana: Again"]


async def test_a_compilation_can_be_looked_at_while_its_story_plays(table: Table) -> None:
    play = await table.begin(preset_id="p_unknown")
    await table.plays.use_strategy(play, None)
    await table.tell(play, "Hello")
    session_id = (await table.head(play)).session_id
    made = table.engine.profiles.last(session_id)
    assert made is not None
    assert "PRESET_NOT_FOUND" in {note.code for note in made.diagnostics}
    assert made.system_text == system(table)


async def test_the_tables_tools_read_the_books_of_the_profile(table: Table) -> None:
    library = table.engine.library
    chosen = await book(table)
    await library.relations.set_books("card", table.card_id, [chosen], owner=OWNER)
    play = await table.begin()
    await table.tell(play, "Hello")
    session_id = (await table.head(play)).session_id
    shelf = await shelves(table.engine.profiles, table.engine.journal.sessions)(session_id)
    card = await library.card(table.card_id)
    assert shelf.books == (await library.book(chosen), card.book)
    assert (shelf.user, shelf.char) == ("Ana", card.speaker)


async def test_a_fork_and_a_delegated_agent_settle_what_their_parent_uses(table: Table) -> None:
    play = await table.begin()
    await table.tell(play, "Hello")
    head = (await table.head(play)).session_id
    selections = table.engine.library.selections
    await table.engine.agents.fork(head, None, "child")
    assert await selections.get("child") == await selections.get(head)
