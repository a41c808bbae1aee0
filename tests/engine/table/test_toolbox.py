"""The tools of the table as a model calls them."""

from __future__ import annotations

import pytest

from tests.engine.agent.harness import says
from tests.engine.table.bench import Table

WEATHER = {"comment": "Weather", "key": ["sky"], "content": "1-3: Rain\n4-6: {{char}} sees the sun"}


# -- turning on --------------------------------------------------------------------------------------


async def test_nothing_is_on_unless_the_selection_says_so(table: Table) -> None:
    agent = await table.world.agents.create("s")
    assert await table.call(agent, "dice", expression="d6") == 'Error: unknown tool "dice"'
    assert table.codes(agent) == ["UNKNOWN_TOOL"]


async def test_only_what_the_selection_names_is_on(table: Table) -> None:
    agent = await table.sit_down("dice", "telepathy")
    assert [tool["name"] for tool in table.world.services.tools.schemas(agent.session)] == []
    table.dice.faces = [4]
    assert await table.call(agent, "dice", expression="d6") == "d6 → [4] = 4"
    assert [tool["name"] for tool in table.world.services.tools.schemas(agent.session)] == ["dice"]
    assert await table.call(agent, "recall", query="key") == 'Error: unknown tool "recall"'


async def test_a_fork_has_on_what_its_parent_has_now(table: Table) -> None:
    agent = await table.sit_down("dice")
    await table.library.selections.copy("s", "t")
    child = await table.world.agents.create("t")
    assert (await table.call(child, "dice", expression="d6")).startswith("d6 → ")
    assert agent.id == "s"


# -- dice --------------------------------------------------------------------------------------------


async def test_a_roll_names_what_it_is_for(table: Table) -> None:
    agent = await table.sit_down("dice")
    table.dice.faces = [4, 2]
    told = await table.call(agent, "dice", expression="2d6+3", reason=" Stealth,\nat the gate ")
    assert told == "Stealth, at the gate: 2d6+3 → [4, 2] + 3 = 9"


async def test_what_is_no_roll_is_told_to_the_model(table: Table) -> None:
    agent = await table.sit_down("dice")
    told = await table.call(agent, "dice", expression="a handful")
    assert told.startswith("Error: Expected dice or a number at character 1")
    assert table.codes(agent) == ["TOOL_FAILED"]


# -- tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Weather", "weather ", "sky", "The North", "weath"])
async def test_a_table_is_found_by_title_key_book_or_a_part_of_its_title(table: Table, name: str) -> None:
    book = await table.book("The North", [WEATHER, {"comment": "Inn", "content": "The inn is warm."}])
    agent = await table.sit_down("roll_table", card_id=await table.card(), book_ids=(book,))
    table.dice.faces = [5]
    assert await table.call(agent, "roll_table", table=name) == "Weather: d6 → [5] Mira sees the sun"


async def test_a_table_in_the_cards_own_book_that_is_switched_off_is_rolled_on(table: Table) -> None:
    card = await table.card([{"comment": "Loot", "content": "- a coin\n- a key", "enabled": False}])
    agent = await table.sit_down("roll_table", card_id=card)
    table.dice.faces = [2, 1, 2]
    told = await table.call(agent, "roll_table", table="Loot", times=3)
    assert told == "Loot: d2 → [2] a key\nLoot: d2 → [1] a coin\nLoot: d2 → [2] a key"


async def test_a_name_that_fits_none_is_answered_with_those_that_there_are(table: Table) -> None:
    book = await table.book("The North", [WEATHER, {"comment": "Loot", "content": "- a\n- b"}])
    agent = await table.sit_down("roll_table", book_ids=(book,))
    told = await table.call(agent, "roll_table", table="Rumours")
    assert told == "Error: There is no table “Rumours”. There are: “Weather”, “Loot”."


async def test_a_name_that_fits_several_is_not_guessed(table: Table) -> None:
    book = await table.book(
        "The North",
        [{"comment": f"Loot of the {who}", "content": "- a\n- b"} for who in ("poor", "rich")],
    )
    agent = await table.sit_down("roll_table", book_ids=(book,))
    told = await table.call(agent, "roll_table", table="loot")
    assert told == "Error: “loot” can mean several tables: “Loot of the poor”, “Loot of the rich”."
    table.dice.faces = [1]
    assert (await table.call(agent, "roll_table", table="loot of the RICH")).endswith("[1] a")


async def test_a_table_that_is_written_wrongly_says_what_is_wrong(table: Table) -> None:
    book = await table.book("The North", [{"comment": "Weather", "content": "1-2: Rain\n4: Sun"}])
    agent = await table.sit_down("roll_table", book_ids=(book,))
    told = await table.call(agent, "roll_table", table="Weather")
    assert told == (
        "Error: The table “Weather” cannot be rolled on. No line is for 3, between “Rain” and “Sun”."
    )


async def test_a_story_without_tables_says_so(table: Table) -> None:
    agent = await table.sit_down("roll_table", card_id=await table.card())
    told = await table.call(agent, "roll_table", table="Weather")
    assert told == "Error: The world books of this story hold no tables."


async def test_a_table_of_another_storys_book_is_not_there(table: Table) -> None:
    await table.book("The North", [WEATHER])
    agent = await table.sit_down("roll_table")
    assert "hold no tables" in await table.call(agent, "roll_table", table="Weather")


# -- memory ------------------------------------------------------------------------------------------


async def test_what_was_said_is_found_with_who_said_it_and_when(table: Table) -> None:
    agent = await table.sit_down("recall", card_id=await table.card())
    await table.say(agent, "I hide the silver key under the well.", answer="*She nods.* Nobody saw you.")
    await table.say(agent, "We ride north.", "Ben", answer="The road is long.")
    told = await table.call(agent, "recall", query="silver key")
    assert told == ("Found for “silver key”:\n- [story, turn 1, Ana] I hide the silver key under the well.")
    assert "[story, turn 2, Mira] The road is long." in await table.call(agent, "recall", query="road")


async def test_the_words_that_are_being_answered_are_not_found(table: Table) -> None:
    agent = await table.sit_down("recall")
    assert await table.call(agent, "recall", query="turn") == "Nothing was found for “turn”."


async def test_what_a_fork_inherited_is_found(table: Table) -> None:
    agent = await table.sit_down("recall")
    await table.say(agent, "I hide the silver key.", answer="Good.")
    await table.library.selections.copy("s", "t")
    child = await table.world.agents.fork("s", agent.session.seq - 1, "t")
    assert "[story, turn 1, Ana] I hide the silver key." in await table.call(child, "recall", query="key")


async def test_lore_is_found_in_what_it_says_and_by_its_keys(table: Table) -> None:
    book = await table.book(
        "The North",
        [
            {"comment": "Cellar", "key": ["vault", "crypt"], "content": "{{char}} keeps the wine here."},
            {"comment": "Secret", "content": "The crypt is empty.", "disable": True},
        ],
    )
    agent = await table.sit_down("recall", card_id=await table.card(), book_ids=(book,))
    told = await table.call(agent, "recall", query="crypt")
    assert told == (
        "Found for “crypt”:\n- [lore, The North, Cellar] (Cellar, vault, crypt) Mira keeps the wine here."
    )


async def test_story_and_lore_can_be_searched_apart(table: Table) -> None:
    book = await table.book("The North", [{"comment": "Key", "content": "The key opens the vault."}])
    agent = await table.sit_down("recall", book_ids=(book,))
    await table.say(agent, "Where is the key?", answer="Who knows.")
    story = await table.call(agent, "recall", query="key", where="story")
    lore = await table.call(agent, "recall", query="key", where="lore")
    assert ("[story" in story, "[lore" in story) == (True, False)
    assert ("[story" in lore, "[lore" in lore) == (False, True)


async def test_what_people_say_is_never_expanded(table: Table) -> None:
    agent = await table.sit_down("recall", card_id=await table.card())
    await table.say(agent, "The key is called {{char}}.", answer="Odd.")
    assert "The key is called {{char}}." in await table.call(agent, "recall", query="key")


async def test_chinese_is_remembered(table: Table) -> None:
    agent = await table.sit_down("recall", card_id=await table.card())
    await table.say(agent, "我把银钥匙藏在井边。", "小安", answer="知道了。")
    told = await table.call(agent, "recall", query="银钥匙")
    assert told == "Found for “银钥匙”:\n- [story, turn 1, 小安] 我把银钥匙藏在井边。"


async def test_a_search_is_bounded(table: Table) -> None:
    agent = await table.sit_down("recall")
    for n in range(12):
        await table.say(agent, f"The key {n}. " + "It lies there and nobody sees it. " * 40, answer="Yes.")
    told = await table.call(agent, "recall", query="key")
    assert told.count("\n- ") == 6
    assert len(told) < 2_000
    assert "turn 12" in told.splitlines()[1]


async def test_a_query_needs_words(table: Table) -> None:
    agent = await table.sit_down("recall")
    assert await table.call(agent, "recall", query="?!") == "Error: The query needs at least one word."
    told = await table.call(agent, "recall", query="")
    assert told.startswith("Error: The arguments do not fit.\n- query: ")


async def test_a_summary_is_not_taken_for_what_was_said(table: Table) -> None:
    agent = await table.sit_down("recall", card_id=await table.card())
    await table.say(agent, "I hide the silver key.", answer="Good.")
    said = [e.seq for e in agent.session.events() if e.type in ("user/message", "assistant/message")]
    table.world.adapter.answers = [says("ok")]
    assert said
    assert (await table.call(agent, "recall", query="silver")).count("\n- ") == 1
