"""Backyard's archives: the card that is made of one, its picture, and its chats as data."""

import json
from typing import Any

import pytest

from engine.errors import ResourceError
from engine.resources import ByafChat, ByafMessage, read_byaf_chats, read_card
from tests.engine.resources.pngs import picture
from tests.engine.resources.test_charx import charx

CHARACTER = "characters/c1/character.json"


def byaf(
    character: dict[str, Any], *scenarios: Any, files: dict[str, bytes] | None = None, **manifest: Any
) -> bytes:
    paths = [f"scenarios/s{index}.json" for index in range(len(scenarios))]
    listed = {"characters": [CHARACTER], "scenarios": paths, **manifest}
    members = {"manifest.json": json.dumps(listed).encode(), CHARACTER: json.dumps(character).encode()}
    members |= {path: json.dumps(scenario).encode() for path, scenario in zip(paths, scenarios, strict=True)}
    return charx(members | (files or {}))


def test_a_character_becomes_a_card() -> None:
    data = byaf(
        {
            "name": "Ada",
            "displayName": "Ada of the Glade",
            "persona": "{character} likes {user}. #{user}: hm",
            "isNSFW": True,
            "loreItems": [{"key": "sword, blade ,", "value": "{character}'s sword"}],
        },
        {
            "narrative": "{user} meets {character}",
            "firstMessages": [{"text": "Hi {user}"}],
            "exampleMessages": [{"text": "#{user}: a"}, {"text": "#{character}: b"}],
            "formattingInstructions": "Be {character}",
        },
        {"firstMessages": [{"text": "Second {{user}}"}]},
        {"firstMessages": [{"text": "Second {user}"}]},
        author={"name": "Auth", "backyardURL": "https://backyard.example/x"},
    )
    card = read_card(data, "ada.byaf")
    assert (card.spec, card.name, card.creator, card.tags) == ("v2", "Ada", "Auth", ("nsfw",))
    assert card.nsfw
    assert card.description == "{{char}} likes {{user}}. {{user}}: hm"
    assert card.scenario == "{{user}} meets {{char}}"
    assert card.mes_example == "<START>\n{{user}}: a\n<START>\n{{char}}: b"
    assert card.system_prompt == "Be {{char}}"
    assert card.greetings == ("Hi {{user}}", "Second {{user}}")
    assert card.creator_notes == "https://backyard.example/x"
    assert card.extensions == {"display_name": "Ada of the Glade"}
    assert card.book is not None
    assert [(entry.keys, entry.content) for entry in card.book.entries] == [
        (("sword", "blade"), "{{char}}'s sword")
    ]
    assert [remark.code for remark in card.warnings] == ["byaf-card"]


def test_the_first_picture_is_the_avatar_and_stands_beside_the_character() -> None:
    image = picture()
    character = {"name": "Ada", "images": [{"path": "images/a.png"}]}
    assert read_card(byaf(character, files={"characters/c1/images/a.png": image}), "a.byaf").image == image
    assert read_card(byaf(character, files={"images/a.png": image}), "a.byaf").image == image
    gone = read_card(byaf(character), "a.byaf")
    assert gone.image is None
    assert "missing-asset" in {remark.code for remark in gone.warnings}
    out = read_card(byaf({"name": "Ada", "images": [{"path": "../../../etc/passwd"}]}), "a.byaf")
    assert "unsafe-asset" in {remark.code for remark in out.warnings}


def test_of_several_characters_the_first_is_read_and_that_is_told() -> None:
    data = byaf({"name": "Ada"}, characters=[CHARACTER, "characters/c2/character.json"])
    assert "byaf-first-character" in {remark.code for remark in read_card(data, "a.byaf").warnings}


def test_a_broken_scenario_costs_only_itself() -> None:
    data = byaf({"name": "Ada"}, {"firstMessages": [{"text": "Hi"}]}, ["no object"])
    card = read_card(data, "a.byaf")
    assert card.greetings == ("Hi",)
    skipped = [remark for remark in card.warnings if remark.code == "byaf-scenario-skipped"]
    assert [remark.where for remark in skipped] == ["scenarios/s1.json"]


def test_chats_are_read_with_their_versions() -> None:
    messages = [
        {"type": "human", "text": "hello", "createdAt": "2025-01-01T00:00:00Z"},
        {
            "type": "ai",
            "outputs": [
                {"text": "old", "activeTimestamp": "2025-01-01T00:00:01Z"},
                {"text": "new", "activeTimestamp": "2025-01-01T00:00:09Z", "createdAt": 1735689602000},
            ],
        },
        {"type": "ai", "outputs": []},
        "noise",
    ]
    data = byaf({"name": "Ada"}, {"title": "One", "messages": messages}, {"title": "Two", "messages": []})
    assert read_byaf_chats(data) == (
        ByafChat(
            "One",
            (
                ByafMessage("user", ("hello",), 0, 1735689600000),
                ByafMessage("character", ("old", "new"), 1, 1735689602000),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"manifest.json": b"{}"}, "no character"),
        ({"manifest.json": b"[]"}, "no object"),
        ({"manifest.json": b'{"characters": ["../c"]}', "../c": b"{}"}, "missing"),
        ({"manifest.json": b'{"characters": ["c"]}'}, "missing"),
    ],
)
def test_what_holds_no_character_is_refused(members: dict[str, bytes], words: str) -> None:
    with pytest.raises(ResourceError) as caught:
        read_card(charx(members), "a.byaf")
    assert caught.value.error_code == "CHARACTER_DOCUMENT_INVALID"
    assert words in caught.value.message
