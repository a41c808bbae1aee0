"""Changing a preset: parameters, prompts one by one, a blank one, export, delete."""

from __future__ import annotations

import json

import pytest

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.screen import Shown
from engine.codec import dumps
from engine.resources import Preset
from tests.cogs.test_card import becomes, promote
from tests.cogs.test_card_edit import bytes_of, choose, fields
from tests.cogs.test_card_import import content_of
from tests.cogs.test_preset import brought, preset_json
from tests.e2e.scene import Scene, labels_of

THREE = [
    {"identifier": "main", "name": "Main", "role": "system", "content": "Write like rain."},
    {"identifier": "chatHistory", "name": "Chat History", "marker": True},
    {"identifier": "note", "name": "Note", "role": "system", "content": "Be brief."},
]
ORDER = [
    {
        "character_id": 100001,
        "order": [{"identifier": p["identifier"], "enabled": p["identifier"] != "note"} for p in THREE],
    }
]


async def editing(scene: Scene, who: str = "Ana") -> Shown:
    """A preset of three prompts that somebody has brought, and its edit panel."""
    file = Upload("Rain.json", dumps({"prompts": THREE, "prompt_order": ORDER, "temperature": 0.7}))
    done = await scene.human(who).slash("general", "preset import", file=file)
    await scene.human(who).click(done.message, done.message.buttons[1].label)
    return await becomes(scene.human(who), done.message, "✏️")


async def stored(scene: Scene, name: str = "Rain") -> Preset:
    library = scene.bot.engine.library
    return await library.preset((await library.resolve(scene.owner, "preset", name)).id)


async def prompts(scene: Scene, who: Human, panel: Shown) -> Shown:
    await choose(who, panel, "prompts")
    return await becomes(who, panel, "## Prompts · 3")


async def opened(who: Human, listed: Shown, name: str) -> Shown:
    """The panel of one prompt."""
    value = next(value for label, value in listed.menus[0].options if label.endswith(name))
    await who.select(listed, "What do you want to change?", value)
    return await becomes(who, listed, f"## {name}\n")


# --- parameters


async def test_parameters_are_changed_in_one_form_also_after_a_restart(scene: Scene) -> None:
    # given a preset and the form of its parameters
    panel = await editing(scene)
    ana = scene.human("Ana")
    form = await choose(ana, panel, "parameters")
    assert fields(form)["temperature"]["value"] == "0.7"

    # when they are changed, with a comma as most of the world writes it, and the bot restarts meanwhile
    await scene.running.restart()
    await ana.submit(
        form,
        {
            "name": "Drizzle",
            "temperature": "0,9",
            "max_tokens": "400",
            "reasoning_effort": "high",
            "stop": "\\n\\n\nUser:",
        },
    )

    # then they hold
    changed = await becomes(ana, panel, "✓ Saved.")
    assert changed.text.startswith("## ✏️ Drizzle\n")
    preset = await stored(scene, "Drizzle")
    assert (preset.temperature, preset.max_tokens, preset.reasoning_effort) == (0.9, 400, "high")
    assert preset.stop == ("\n\n", "User:")
    # and an emptied one is left to the server again
    form = await choose(ana, changed, "parameters")
    assert fields(form)["stop"]["value"] == "\\n\\n\nUser:"
    await ana.submit(form, {"temperature": "", "max_tokens": "", "reasoning_effort": "unset", "stop": ""})
    await ana.wait_for(lambda: "temperature" not in ana.shown(panel).text)
    preset = await stored(scene, "Drizzle")
    assert (preset.temperature, preset.max_tokens, preset.reasoning_effort) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "value", "who", "line"),
    [
        ("temperature", "hot", "Ana", "The temperature is a number from 0 to 2. What was there stays."),
        ("temperature", "2.5", "Chen", "温度是 0 到 2 之间的数字。原来的设置不变。"),
        ("temperature", "nan", "Ana", "The temperature is a number from 0 to 2. What was there stays."),
        ("max_tokens", "many", "Ana", "The longest answer is a whole number. What was there stays."),
        ("max_tokens", "0", "Chen", "回复上限要是整数。原来的设置不变。"),
    ],
)
async def test_a_value_that_does_not_fit_is_refused(
    scene: Scene, field: str, value: str, who: str, line: str
) -> None:
    panel = await editing(scene, who)
    person = scene.human(who)
    form = await person.select(panel, panel.menus[0].custom_id, "parameters")
    await person.submit(form, {field: value})
    await person.sees("general", line)
    assert (await stored(scene)).temperature == 0.7


# --- prompts


async def test_a_prompt_is_changed_switched_moved_and_removed(scene: Scene) -> None:
    # given the prompts of a preset
    ana = scene.human("Ana")
    panel = await editing(scene)
    listed = await prompts(scene, ana, panel)
    assert listed.text.splitlines()[1:] == [
        "🟢 **Main** · system · Write like rain.",
        "🟢 *Chat History* · marks a place",
        "⚪ **Note** · system · Be brief.",
    ]

    # when the note is written anew, switched on, and moved up twice
    note = await opened(ana, listed, "Note")
    await ana.submit(await ana.click(note, "Edit"), {"text": "Be very brief."})
    note = await becomes(ana, panel, "Be very brief.")
    await ana.click(note, "Switch on")
    note = await becomes(ana, panel, "3 of 3 · 🟢 on")
    await ana.click(note, "Up")
    note = await becomes(ana, panel, "2 of 3")
    await ana.click(note, "Up")
    note = await becomes(ana, panel, "1 of 3")
    assert next(b for b in note.buttons if b.label == "Up").disabled

    # then it is so, and Back leads to the list
    preset = await stored(scene)
    assert [(p.identifier, p.enabled) for p in preset.prompts] == [
        ("note", True),
        ("main", True),
        ("chatHistory", True),
    ]
    assert preset.prompts[0].content == "Be very brief."
    await ana.click(note, "Back")
    listed = await becomes(ana, panel, "## Prompts · 3")
    # when it is removed, then the others stay
    note = await opened(ana, listed, "Note")
    await ana.click(note, "Remove")
    await becomes(ana, panel, "## Prompts · 2")
    assert [p.identifier for p in (await stored(scene)).prompts] == ["main", "chatHistory"]


async def test_a_prompt_can_stand_in_the_chat(scene: Scene) -> None:
    ana = scene.human("Ana")
    panel = await editing(scene)
    note = await opened(ana, await prompts(scene, ana, panel), "Note")
    form = await ana.click(note, "Settings")
    assert fields(form)["depth"]["value"] == "4"
    await ana.submit(form, {"name": "Whisper", "role": "user", "in_chat": "1", "depth": "2"})
    await becomes(ana, panel, "## Whisper\n3 of 3 · ⚪ off · user · in the chat, 2 from its end")
    prompt = (await stored(scene)).prompts[2]
    assert (prompt.name, prompt.role, prompt.in_chat, prompt.depth) == ("Whisper", "user", True, 2)


async def test_a_marker_has_no_text_to_change(scene: Scene) -> None:
    ana = scene.human("Ana")
    panel = await editing(scene)
    marker = await opened(ana, await prompts(scene, ana, panel), "Chat History")
    assert labels_of(marker) == ["Switch off", "Up", "Down", "Back"]


async def test_a_prompt_is_added(scene: Scene) -> None:
    ana = scene.human("Ana")
    panel = await editing(scene)
    listed = await prompts(scene, ana, panel)
    form = await ana.click(listed, "Add")
    await ana.submit(form, {"name": "Style", "role": "user", "content": "No adverbs."})
    await becomes(ana, panel, "## Style\n4 of 4 · 🟢 on · user\n✓ Saved.")
    assert (await stored(scene)).prompts[3].content == "No adverbs."


async def test_a_prompt_of_eight_thousand_characters_is_changed_by_a_file(scene: Scene) -> None:
    # given a preset with a long prompt
    long = "Never write for the players. " * 280
    file = Upload("Rain.json", preset_json(long))
    ana = scene.human("Ana")
    done = await ana.slash("general", "preset import", file=file)
    await ana.click(done.message, "Edit")
    panel = await becomes(ana, done.message, "✏️")
    await choose(ana, panel, "prompts")
    main = await opened(ana, await becomes(ana, panel, "## Prompts · 1"), "Main")

    # when it is to be changed
    given = await ana.click(main, "Edit")

    # then the whole of it goes out and comes in
    assert content_of(scene.wire, given.message.raw) == long
    form = await ana.click(given.message, "Upload it")
    await ana.submit(form, {"file": [Upload("main.txt", (long + "Ever.").encode())]})
    await becomes(ana, given.message, "✓ Saved.")
    assert (await stored(scene)).prompts[0].content == long + "Ever."


async def test_a_click_on_a_prompt_that_is_behind_changes_nothing(scene: Scene) -> None:
    # given Ana at a prompt, and Ben who changes another one meanwhile
    ana, ben = scene.human("Ana"), scene.human("Ben")
    promote(scene, "Ben")
    panel = await editing(scene)
    note = await opened(ana, await prompts(scene, ana, panel), "Note")
    row = await scene.bot.engine.library.resolve(scene.owner, "preset", "Rain")
    shown = await ben.slash("general", "preset edit", preset=row.id)
    form = await choose(ben, shown.message, "parameters")
    await ben.submit(form, {"temperature": "1"})
    await becomes(ben, shown.message, "✓ Saved.")

    # when Ana switches hers on
    await ana.click(note, "Switch on")

    # then she is told to look again, and it stays off
    await ana.sees("general", "It has been changed meanwhile.")
    assert not (await stored(scene)).prompts[2].enabled
    # and from the list she sees how it is now
    await ana.click(note, "Back")
    note = await opened(ana, await becomes(ana, panel, "## Prompts · 3"), "Note")
    await ana.click(note, "Switch on")
    await becomes(ana, panel, "🟢 on")


async def test_others_may_not_change_it(scene: Scene) -> None:
    await brought(scene)
    done = await scene.human("Ben").slash("general", "preset edit", preset="Rain")
    assert done.text == "Only whoever brought it in may do that, or somebody who may manage the server."
    shown = await scene.human("Ben").slash("general", "preset show", preset="Rain")
    assert labels_of(shown.message) == ["Bind here", "Export", "Details"]


# --- a blank one, export, unbind, delete


async def test_a_new_preset_begins_empty_and_is_filled(scene: Scene) -> None:
    ana = scene.human("Ana")
    made = await ana.slash("general", "preset create", name="Dew")
    assert made.text.startswith("## ✏️ Dew\n1 prompt · 1 switched on · temperature 1")
    await choose(ana, made.message, "prompts")
    main = await opened(ana, await becomes(ana, made.message, "## Prompts · 1"), "Main")
    await ana.submit(await ana.click(main, "Edit"), {"text": "Write like dew."})
    await becomes(ana, made.message, "Write like dew.")
    await ana.slash("general", "preset bind", preset="Dew")
    story = await scene.open_story()
    await story.exchange("Ana", "Hello.", "Drip.")
    assert "Write like dew." in scene.model.calls[-1].system


async def test_a_preset_goes_out_as_it_came_but_for_what_was_edited(scene: Scene) -> None:
    panel = await editing(scene)
    ana = scene.human("Ana")
    await ana.submit(await choose(ana, panel, "parameters"), {"temperature": "0.3"})
    await becomes(ana, panel, "✓ Saved.")
    given = await scene.human("Ben").slash("general", "preset export", preset="Rain")
    assert given.message.files == ("Rain.json",)
    document = json.loads(bytes_of(scene, given.message))
    assert document["temperature"] == 0.3
    assert document["prompts"] == THREE


async def test_unbinding_leads_back_to_the_built_in_one(scene: Scene) -> None:
    # given a story and a channel that use a preset
    story = await scene.open_story()
    await brought(scene)
    await scene.human("Ana").slash(story.thread, "preset bind", preset="Rain")
    await scene.human("Ana").slash("general", "preset bind", preset="Rain")

    # when both let go of it
    here = await scene.human("Ana").slash(story.thread, "preset unbind")
    channel = await scene.human("Ana").slash("general", "preset unbind")

    # then both say so
    assert here.text == "This story uses the built-in preset from the next answer on."
    assert channel.text == "New stories here use the built-in preset again."
    await story.exchange("Ana", "Hello.", "Hm.")
    assert "Write like rain." not in scene.model.calls[-1].system


async def test_a_preset_is_deleted_after_a_question(scene: Scene) -> None:
    await brought(scene)
    ana = scene.human("Ana")
    asked = await ana.slash("general", "preset delete", preset="Rain")
    assert asked.text.startswith("Delete the preset **Rain** from the library? Stories that use it go on.\n")
    await ana.click(asked.message, "Delete")
    await becomes(ana, asked.message, "The preset **Rain** is out of the library.")
    assert await scene.bot.engine.library.list(scene.owner, "preset") == []
