"""A story's request as SillyTavern would send it, on a real engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.errors import NotFound
from engine.strategies import TRUNCATED, Preview
from tests.engine.play.conftest import table
from tests.engine.play.table import OWNER, Table, utterance

__all__ = ["table"]

CARD = {
    "name": "Ada",
    "description": "{{char}} is a smith",
    "personality": "Stern",
    "first_mes": "Come in, {{user}}.",
    "mes_example": "<START>\n{{user}}: Is it hot?\n{{char}}: Very.",
    "post_history_instructions": "Stay {{char}}. {{original}}",
    "extensions": {"depth_prompt": {"prompt": "Ada is tired", "depth": 1, "role": "user"}},
}
PROMPTS: list[dict[str, Any]] = [
    {"identifier": "main", "name": "Head", "role": "system", "content": "{{setvar::tone::calm}}HEAD"},
    {"identifier": "charDescription", "marker": True},
    {"identifier": "charPersonality", "marker": True},
    {"identifier": "dialogueExamples", "marker": True},
    {"identifier": "chatHistory", "marker": True},
    {"identifier": "jailbreak", "name": "Last", "role": "system", "content": "Be {{getvar::tone}}"},
]
BOOK = {
    "0": {"uid": 0, "key": ["rain"], "content": "WET", "position": 0},
    "1": {"uid": 1, "key": ["rain"], "content": "COLD", "position": 4, "depth": 0, "role": 1},
    "2": {"uid": 2, "key": ["rain"], "content": "NOTED", "position": 2},
    "3": {"uid": 3, "key": ["rain"], "content": "Ada: Rain!", "position": 5},
}


async def story(
    table: Table,
    card: dict[str, Any] | None = None,
    *,
    selected: dict[str, Any] | None = None,
    **preset: Any,
) -> str:
    library = table.engine.library
    order = [{"identifier": p["identifier"], "enabled": True} for p in PROMPTS]
    body = {"prompts": PROMPTS, "prompt_order": [{"character_id": 100001, "order": order}], **preset}
    data = {"spec": "chara_card_v2", "spec_version": "2.0", "data": CARD | (card or {})}
    held = await library.import_preset(OWNER, json.dumps(body).encode(), "p.json", "ana")
    ada = await library.import_card(OWNER, json.dumps(data).encode(), "ada.json", "ana")
    lore = json.dumps({"name": "b", "entries": BOOK}).encode()
    book = await library.import_book(OWNER, lore, "b.json", "ana")
    return await table.begin(
        card_id=ada.id, preset_id=held.id, book_ids=(book.id,), user_name="Ana", **(selected or {})
    )


def lines(shown: Preview) -> list[str]:
    return [f"{message.role[0]}: {message.text}" for message in shown.messages]


async def test_it_is_what_sillytavern_would_build_of_the_same_story(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "Does it rain?")

    shown = await table.engine.as_sillytavern(play, utterance("Yes, rain.", who="Ben"))

    assert lines(shown) == [
        "s: HEAD",
        "s: Ada is a smith",
        "s: Stern",
        "s: [Example Chat]", "s: Rain!",
        "s: [Example Chat]", "s: Is it hot?", "s: Very.",
        "s: [Start a new Chat]",
        "s: NOTED",
        "a: Come in, Ana.",
        "u: Does it rain?",
        "a: Answer 1.",
        "u: Ada is tired",
        "u: Ben: Yes, rain.",
        "u: COLD",
        "s: Stay Ada. Be calm",
        "s: WET",  # the preset has no marker for it
    ]  # fmt: skip
    assert [message.source for message in shown.messages[10:]] == [
        "history", "history", "history", "system", "input", "system", "system", "system",
    ]  # fmt: skip
    parts = {block.text: (block.module, block.label) for m in shown.messages for block in m.blocks}
    assert parts["HEAD"] == ("preset", "Head")
    assert parts["Ada is a smith"] == ("character", "description")
    assert parts["[Start a new Chat]"] == ("preset", "new_chat_prompt")
    assert parts["COLD"] == parts["NOTED"] == parts["WET"] == ("worldbook", "")
    assert parts["Ada is tired"] == ("character", "depth_prompt")
    assert shown.strategy is None
    assert shown.tokens == sum(message.tokens for message in shown.messages)


async def test_nothing_is_said_written_or_remembered(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "Does it rain?")
    before = (len(table.voice.requests), await table.path(play), await table.history(play))
    usual = await table.engine.preview(play, utterance("And now?"))

    first = await table.engine.as_sillytavern(play, utterance("And now?"))
    again = await table.engine.as_sillytavern(play, utterance("And now?"))

    assert first == again
    assert (len(table.voice.requests), await table.path(play), await table.history(play)) == before
    assert await table.engine.preview(play, utterance("And now?")) == usual


async def test_before_anybody_spoke_there_is_the_greeting(table: Table) -> None:
    shown = await table.engine.as_sillytavern(await story(table))

    assert lines(shown)[-4:] == [
        "s: [Start a new Chat]",
        "u: Ada is tired",
        "a: Come in, Ana.",
        "s: Stay Ada. Be calm",
    ]


async def test_what_does_not_fit_is_told_as_sillytavern_would(table: Table) -> None:
    play = await story(table, openai_max_context=20, openai_max_tokens=10)
    await table.tell(play, "Hm.")

    shown = await table.engine.as_sillytavern(play)

    assert [note["code"] for note in shown.diagnostics if note["severity"] == "warning"] == [TRUNCATED]
    assert "u: Hm." not in lines(shown)


async def test_older_messages_give_way_to_the_presets_budget(table: Table) -> None:
    play = await story(table, {"mes_example": ""}, openai_max_context=70, openai_max_tokens=10)
    await table.tell(play, "one " * 20, "two " * 30)

    shown = await table.engine.as_sillytavern(play)

    assert lines(shown)[3:] == [
        "s: [Start a new Chat]",
        "a: Answer 1.",
        f"u: {'two ' * 30}",
        "u: Ada is tired",
        "a: Answer 2.",
        "s: Stay Ada. Be calm",
    ]
    assert [(note["code"], note["n"]) for note in shown.diagnostics] == [("history-dropped", 2)]


async def test_the_presets_post_processing_is_done(table: Table) -> None:
    play = await story(table, custom_prompt_post_processing="single")

    shown = await table.engine.as_sillytavern(play, utterance("Hello."))

    assert [message.role for message in shown.messages] == ["user"]
    assert "Ada: Come in, Ana." in shown.messages[0].text
    assert shown.messages[0].text.endswith("Ana: Hello.\n\nStay Ada. Be calm")


async def test_scripts_for_the_prompt_change_answers_and_the_greeting(table: Table) -> None:
    script = {
        "id": "s",
        "scriptName": "soft",
        "findRegex": "/Come|Answer/g",
        "replaceString": "Soft",
        "placement": [2],
        "promptOnly": True,
    }
    row = await table.engine.library.import_regex(OWNER, json.dumps([script]).encode(), "s.json", "ana")
    play = await story(table, selected={"regex_ids": (row.id,)})
    await table.tell(play, "Hm.")

    shown = lines(await table.engine.as_sillytavern(play))

    assert "a: Soft in, Ana." in shown
    assert "a: Soft 1." in shown


async def test_a_story_that_there_is_not_is_refused(table: Table) -> None:
    with pytest.raises(NotFound):
        await table.engine.as_sillytavern("nowhere")
