"""`/preset`: what a file brings, and where it is used."""

from __future__ import annotations

from typing import Any

import pytest

from bot.sandbox.limits import Upload
from bot.sandbox.screen import InteractionResult
from bot.settings import LimitSettings
from engine.codec import dumps
from tests.cogs.test_card_import import content_of
from tests.e2e.scene import Scene, labels_of


def preset_json(say: str = "Write like rain.", **fields: Any) -> bytes:
    prompts = [{"identifier": "main", "name": "Main", "role": "system", "content": say}]
    order = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]
    return dumps({"prompts": prompts, "prompt_order": order, "temperature": 0.7, **fields})


async def brought(scene: Scene, name: str = "Rain", who: str = "Ana", **fields: Any) -> InteractionResult:
    file = Upload(f"{name}.json", preset_json(**fields))
    return await scene.human(who).slash("general", "preset import", file=file)


async def test_a_preset_comes_in_without_its_secrets(scene: Scene) -> None:
    # when a preset with somebody's key comes in
    done = await brought(scene, openai_max_tokens=400, proxy_password="hunter2-secret")

    # then a panel says what it brings and what was left out
    assert done.message.ephemeral
    lines = done.text.splitlines()
    assert lines[:3] == [
        "### The preset **Rain** is here.",
        "1 prompt · 1 switched on · temperature 0.7 · answers up to 400 tokens",
        "🟢 **Main** · system · Write like rain.",
    ]
    assert lines[3] == "1 thing was put right:"
    assert labels_of(done.message) == ["Bind here", "Edit", "Export", "Details", "Delete"]
    # and no file of ours has the key
    details = await scene.human("Ana").click(done.message, "Details")
    body = content_of(scene.wire, details.message.raw)
    assert "- [x] Main · system · 4" in body
    assert "hunter2-secret" not in body


async def test_a_file_that_is_no_preset_is_refused_with_the_reason(scene: Scene) -> None:
    done = await scene.human("Ana").slash("general", "preset import", file=Upload("p.json", b'{"spec": "x"}'))
    assert done.text.startswith("I cannot read a chat completion preset from **p.json**.\n-# ")
    assert "It looks like a character card: import it as one." in done.text


async def test_a_preset_that_is_too_large_is_refused(scene: Scene) -> None:
    limit = LimitSettings().preset_bytes
    file = Upload("p.json", b" " * (limit + 1))
    done = await scene.human("Ana").slash("general", "preset import", file=file)
    assert done.text == "**p.json** is 2.0 MiB and larger than the 2.0 MiB that can be imported."


async def test_presets_are_listed_in_pages(scene: Scene) -> None:
    for n in range(1, 12):
        await brought(scene, f"P{n:02}", say=f"Say {n}.")
    ana = scene.human("Ana")
    listed = await ana.slash("general", "preset list")
    assert listed.text.startswith("## Presets · 11\n**P01** · 1 prompt\n")
    await ana.click(listed.message, "▶")
    await ana.sees("general", lambda message: message.text == "## Presets · 11\n**P11** · 1 prompt")


async def test_an_empty_list_says_what_is_used(scene: Scene) -> None:
    done = await scene.human("Ana").slash("general", "preset list")
    assert "until then the built-in one is used" in done.text


async def test_inside_a_story_a_preset_is_for_the_story(scene: Scene) -> None:
    # given a story under the built-in preset, and another preset
    story = await scene.open_story()
    await story.exchange("Ana", "Hello.", "Welcome in.")
    assert "Write like rain." not in scene.model.calls[-1].system
    await brought(scene)

    # when whoever began it binds it inside the story's thread, and nobody else can
    refused = await scene.human("Ben").slash(story.thread, "preset bind", preset="rain")
    assert refused.text == "Only whoever began the story or a moderator may do that."
    done = await scene.human("Ana").slash(story.thread, "preset bind", preset="rain")
    await story.exchange("Ana", "And now?", "Drip. Drop.")

    # then the next answer is written under it, and new stories are not
    assert done.text == "This story uses **Rain** from the next answer on."
    assert "Write like rain." in scene.model.calls[-1].system
    assert scene.model.calls[-1].body["temperature"] == 0.7
    another = scene.story(await scene.human("Ana").slash("general", "play new", card="Mira"))
    await another.exchange("Ana", "Hello.", "Hm.")
    assert "Write like rain." not in scene.model.calls[-1].system


async def test_outside_it_is_for_new_stories_in_the_channel(scene: Scene) -> None:
    panel = await brought(scene)
    done = await scene.human("Ana").click(panel.message, "Bind here")
    assert done.text == "New stories here use **Rain**."
    story = await scene.open_story()
    await story.exchange("Ana", "Hello.", "Drip.")
    assert "Write like rain." in scene.model.calls[-1].system


async def test_in_a_thread_without_a_story_it_is_for_the_channel_around_it(scene: Scene) -> None:
    # given a story's thread that stands for nothing any more
    story = await scene.open_story()
    await scene.bot.bindings.unbind(int(story.thread))
    await brought(scene)

    # when a preset is bound there
    done = await scene.human("Ana").slash(story.thread, "preset bind", preset="Rain")

    # then the channel around it uses it
    general = scene.wire.world.channel("general")["id"]
    assert done.text == f"New stories in <#{general}> use **Rain**."


async def test_while_an_answer_is_written_the_preset_stays(scene: Scene) -> None:
    # given a story in which the model is writing
    story = await scene.open_story()
    await brought(scene)
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("Welcome ")

    # when she binds another preset
    done = await scene.human("Ana").slash(story.thread, "preset bind", preset="Rain")

    # then it is refused until the answer stands
    assert done.text == "An answer is being written. Stop it or wait a moment."
    await call.write("in.")
    await call.end()
    await story.answered("Welcome in.")
    again = await scene.human("Ana").slash(story.thread, "preset bind", preset="Rain")
    assert again.text == "This story uses **Rain** from the next answer on."


async def test_an_ended_story_says_so(scene: Scene) -> None:
    story = await scene.open_story()
    await brought(scene)
    await scene.bot.stories.end(int(story.thread))
    done = await scene.human("Ana").slash(story.thread, "preset bind", preset="Rain")
    assert done.text == "This story has ended. `/play new` begins another."


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ("Ana", "No preset here is called “Snow”. `/preset list` shows them all."),
        ("Chen", "这里没有叫「Snow」的预设。`/preset list` 可以看到全部。"),
    ],
)
async def test_an_unknown_preset_is_said_by_its_name(scene: Scene, who: str, text: str) -> None:
    done = await scene.human(who).slash("general", "preset bind", preset="Snow")
    assert done.text == text


async def test_typing_offers_presets_only(scene: Scene) -> None:
    await scene.card("Rainer")
    await brought(scene)
    offered = await scene.human("Ana").autocomplete("general", "preset bind", "preset", "rain")
    assert [choice["name"] for choice in offered] == ["Rain — 1 prompt"]
