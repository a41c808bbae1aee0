"""The three formats of a preset, where a strategy places its texts."""

from __future__ import annotations

import json

from tests.engine.play.conftest import table
from tests.engine.play.table import OWNER, Table
from tests.engine.strategies.test_steps import SPINE, sent

__all__ = ["table"]

CARD = {
    "name": "Ada",
    "description": "A SMITH",
    "personality": "Stern",
    "scenario": "A forge",
    "first_mes": "",
}
PLACES = (
    *SPINE[:3],
    {"identifier": "charPersonality", "marker": True},
    {"identifier": "scenario", "marker": True},
    {"identifier": "worldInfoAfter", "marker": True},
    {"identifier": "chatHistory", "marker": True},
)
BOOK = {
    "0": {"uid": 0, "key": ["rain"], "content": "WET", "position": 0, "order": 1},
    "1": {"uid": 1, "key": ["rain"], "content": "COLD", "position": 0, "order": 2},
    "2": {"uid": 2, "key": ["rain"], "content": "GREY", "position": 1},
}


async def told(table: Table, card: dict[str, str] | None = None, **formats: str) -> list[str]:
    """The parts of the system text behind the cast and the head, in a story in which it rains."""
    library = table.engine.library
    preset = {"prompts": [{"enabled": True, **prompt} for prompt in PLACES], **formats}
    data = {"spec": "chara_card_v2", "spec_version": "2.0", "data": CARD | (card or {})}
    held = await library.import_preset(OWNER, json.dumps(preset).encode(), "p.json", "ana")
    ada = await library.import_card(OWNER, json.dumps(data).encode(), "ada.json", "ana")
    body = json.dumps({"name": "b", "entries": BOOK}).encode()
    book = await library.import_book(OWNER, body, "b.json", "ana")
    play = await table.begin(card_id=ada.id, preset_id=held.id, book_ids=(book.id,))
    await table.tell(play, "The rain falls")
    return sent(table)[0][1].split("\n\n")[2:]


async def test_fields_are_written_in_the_formats_of_the_preset(table: Table) -> None:
    parts = await told(
        table,
        personality_format="{{char}} is: {{ Personality }}.",
        scenario_format="[Where: {{scenario}}]",
    )
    assert parts == ["A SMITH", "WET", "COLD", "Ada is: Stern.", "[Where: A forge]", "GREY"]


async def test_a_format_stands_only_around_a_text(table: Table) -> None:
    parts = await told(
        table,
        {"personality": " ", "scenario": ""},
        personality_format="{{char}} is: {{personality}}.",
        scenario_format="[Where: {{scenario}}]",
    )
    assert parts == ["A SMITH", "WET", "COLD", "GREY"]


async def test_a_blank_format_is_the_text_as_it_is(table: Table) -> None:  # sillytavern spec 10, case 96
    parts = await told(table, personality_format=" ", scenario_format="", wi_format=" ")
    assert parts == ["A SMITH", "WET", "COLD", "Stern", "A forge", "GREY"]


async def test_the_lore_of_each_place_stands_in_the_format_as_one(table: Table) -> None:
    parts = await told(table, wi_format="[{{char}}'s world:\n{0}]")
    assert parts == ["A SMITH", "[Ada's world:\nWET", "COLD]", "Stern", "A forge", "[Ada's world:\nGREY]"]


async def test_a_format_without_a_place_for_the_entries_is_none(table: Table) -> None:
    assert (await told(table, wi_format="The world"))[1:3] == ["WET", "COLD"]
