"""Regex scripts at the table: consent, what the thread shows, what the model reads, and what survives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.sandbox.wire import WireDiscord
from tests.e2e.scene import Scene, Story, card_json, labels_of, set_scene

EVIL = r"/^(?:(a|aa)+)\1$/g"  # see tests/engine/tavern/test_scripts.py
EVIL_TEXT = "a" * 1_500 + "!"
BOX = '<div class="box">\n  <h3>Status</h3>\n  <b>HP</b>: $1<br><script>alert(1)</script>\n</div>'


def script(name: str, find: str, put: str = "", *places: int, **fields: Any) -> dict[str, Any]:
    return {
        "scriptName": name,
        "findRegex": find,
        "replaceString": put,
        "placement": list(places or (2,)),
        **fields,
    }


STATUS = (
    script("think", r"/<think>[\s\S]*?<\/think>\s*/g"),
    script("status", r"/<status>HP (\d+)<\/status>/g", BOX, markdownOnly=True),
    script("ooc", r"/\(ooc: (.*?)\)/g", "[Note: $1]", 1),
    script("shout", r"/quiet/g", "QUIET", 1, markdownOnly=True),
)


async def scripted(scene: Scene, *scripts: dict[str, Any], allowed: bool = True, **fields: Any) -> Story:
    """A story with a card that brings scripts along."""
    card_id = await scene.card(extensions={"regex_scripts": list(scripts)}, **fields)
    if allowed:
        await scene.bot.engine.library.consents.give(scene.owner, card_id, True, "test")
    return scene.story(await scene.human("Ana").slash("general", "play new", card="Mira"))


async def test_a_card_s_scripts_act_once_somebody_allows_them(scene: Scene) -> None:
    story = await scripted(scene, *STATUS, allowed=False, greetings=["Come in.<status>HP 9</status>"])
    # given a story whose card brings scripts that nobody has allowed
    await story.reads("Mira: Come in.<status>HP 9</status>")
    raw = "<think>Hm.</think>\nShe nods.\n<status>HP 3</status>"
    await story.exchange("Ana", "Hello (ooc: be kind)", raw)
    # when Ana allows them
    panel = await scene.human("Ana").slash("general", "card show", card="Mira")
    await scene.human("Ana").click(panel.message.id, "Scripts on")
    # then what was shown stands, and the next answer is shown as they make it
    assert story.messages()[-1].text == raw
    scene.model.will_say(raw)
    await story.say("Ana", "And (ooc: be brief)")
    await story.answered("She nods.\nStatus\n**HP**: 3")
    assert story.messages()[-1].text == "She nods.\nStatus\n**HP**: 3"
    # and the model reads what it wrote, and what the scripts for people's words made of the new ones
    assert scene.model.calls[-1].heard == ["Ana: Hello (ooc: be kind)", raw, "Ana: And [Note: be brief]"]
    # while the thread keeps what Ana wrote
    assert "Ana: And (ooc: be brief)" in story.lines()


async def test_swipes_moves_and_restarts_show_the_same(scene: Scene) -> None:
    story = await scripted(scene, *STATUS, greetings=["Come in.<status>HP 9</status>"])
    greeting = "Mira: Come in.\nStatus\n**HP**: 9"
    await story.reads(greeting)
    scene.model.will_say("One.<status>HP 1</status>", "Two.<status>HP 2</status>")
    await story.say("Ana", "A quiet word (ooc: x)")
    one, two = "Mira: One.\nStatus\n**HP**: 1", "Mira: Two.\nStatus\n**HP**: 2"
    await story.answered("One.", "1/1")
    await story.press("▶")
    await story.answered("Two.", "2/2")
    said = "Ana: A quiet word (ooc: x)"
    assert story.lines() == [greeting, said, two]
    # both times the model has read the same words, scripted once
    assert [call.heard for call in scene.model.calls] == [["Ana: A quiet word [Note: x]"]] * 2
    await story.press("◀")
    await story.answered("One.", "1/2")
    await scene.running.restart()
    assert story.lines() == [greeting, said, one]
    await story.press("▶")
    await story.answered("Two.", "2/2")
    # when the exchange is set aside and comes back, the words are told as scripts for display make them
    await story.menu(story.messages()[0], "Rewind")
    await story.sees("Rewound to the beginning by Ana")
    await story.press("Undo")
    await story.answered("Two.", "2/2")
    await story.reads(greeting, "Ana: A QUIET word [Note: x]", two)
    # and the model goes on from what it has read
    scene.model.will_say("Three.")
    await story.say("Ana", "Go on.")
    await story.answered("Three.")
    assert scene.model.calls[-1].heard[:2] == ["Ana: A quiet word [Note: x]", "Two.<status>HP 2</status>"]


async def test_what_is_in_tags_does_not_flicker_while_an_answer_comes(scene: Scene) -> None:
    story = await scripted(scene, *STATUS)
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("<think>She is")
    await call.write(" tired.</think>\nShe yawns. ")
    coming = await story.sees("She yawns.")
    assert "think" not in coming.text and "tired" not in coming.text
    await call.write("<status>HP 7")
    await call.write("</status> Good night.")
    coming = await story.sees("Good night.")
    assert "HP" not in coming.text
    await call.end()
    await story.answered("**HP**: 7")


async def test_an_answer_of_which_nothing_is_left_keeps_its_buttons(scene: Scene) -> None:
    story = await scripted(scene, script("all", "/[^]*/", ""), greetings=["Hi."])
    await story.reads("Mira: -# Scripts leave nothing of this answer to show.")
    scene.model.will_say("A secret.")
    await story.say("Ana", "Hello.")
    answer = await story.answered("Scripts leave nothing")
    assert labels_of(answer) == ["◀", "1/1", "▶", "⟳", "⋯"]
    await story.say("Ana", "Again.")
    assert (await scene.model.call()).heard == ["Ana: Hello.", "A secret.", "Ana: Again."]


async def test_an_edited_message_is_taken_up_as_scripts_for_edits_make_it(scene: Scene) -> None:
    story = await scripted(
        scene, script("made", "/$/", " made", 1), script("edited", "/$/", " edited", 1, runOnEdit=True)
    )
    await story.say("Ana", "One")
    first = await scene.model.call()
    assert first.heard == ["Ana: One made edited"]
    two = await story.say("Ben", "Two")
    await scene.waits(story, "Two")
    await scene.human("Ben").edit(two.id, "Deux")
    await scene.waits(story, "Deux")
    await first.say("Hm.")
    assert (await scene.model.call()).heard[-1] == "Ben: Deux edited"


async def test_depth_is_counted_from_the_newest_message(scene: Scene) -> None:
    story = await scripted(
        scene,
        script("old", "/$/", " (old)", 1, 2, markdownOnly=True, minDepth=2),
        script("new", "/$/", " (new)", 1, 2, markdownOnly=True, maxDepth=1),
    )
    first = await story.exchange("Ana", "One", "Uno.")
    await story.exchange("Ana", "Two", "Dos.")
    # an answer is the newest when it comes, and what stands is not written again
    assert story.lines()[1:] == ["Ana: One", "Mira: Uno. (new)", "Ana: Two", "Mira: Dos. (new)"]
    await story.menu(first, "Rewind")
    await story.press("Undo")
    await story.answered("Dos.")
    await story.reads(
        "Mira: The door is open. (new)", "Ana: One", "Mira: Uno. (old)", "Ana: Two (new)", "Mira: Dos. (new)"
    )


async def test_a_story_in_chinese(wire: WireDiscord, data_dir: Path) -> None:
    next(iter(wire.world.guilds.values()))["preferred_locale"] = "zh-CN"
    async with set_scene(wire, data_dir) as scene:
        data = card_json(
            "小雨",
            ["你好。<状态>体力：9</状态>"],
            extensions={
                "regex_scripts": [
                    script(
                        "状态栏",
                        "/<状态>体力：(.*?)<\\/状态>/gs",
                        "<p>【体力】<b>$1</b></p>",
                        markdownOnly=True,
                    ),
                    script("慢", EVIL, "x"),
                ]
            },
        )
        card = await scene.bot.engine.library.import_card(scene.owner, data, "a.json", "test")
        await scene.bot.engine.library.consents.give(scene.owner, card.id, True, "test")
        story = scene.story(await scene.human("Chen").slash("general", "play new", card="小雨"))
        await story.reads("小雨: 你好。\n【体力】**9**")
        scene.model.will_say("好的。<状态>体力：3</状态>")
        await story.say("Chen", "你好")
        await story.answered("好的。")
        await story.reads("小雨: 你好。\n【体力】**9**", "Chen: 你好", "小雨: 好的。\n【体力】**3**")
        # when a pattern takes too long three times, the table is told once, in its language
        for number in range(4):
            await story.exchange("Chen", f"第{number}次", f"{EVIL_TEXT}{number}")
        await story.sees("**小雨** 里的一个正则三次用时太久")
        assert len([line for line in story.lines() if "三次用时太久" in line]) == 1
        assert scene.model.calls[-1].heard[1] == "好的。<状态>体力：3</状态>"
