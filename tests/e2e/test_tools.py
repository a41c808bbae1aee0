"""Tools at the table: turning them on, a roll that everybody sees, another answer with another roll."""

from __future__ import annotations

import re
from pathlib import Path

from bot.sandbox.screen import Shown
from bot.sandbox.wire import WireDiscord
from tests.e2e.model import Call
from tests.e2e.scene import Scene, Story, set_scene

MENU = "Nothing is on"


async def panel(scene: Scene, story: Story, who: str = "Ana", command: str = "settings tools") -> Shown:
    """The panel that somebody asked for."""
    answered = await scene.human(who).slash(story.thread, command)
    (shown,) = answered.ephemeral
    return shown


async def choose(scene: Scene, shown: Shown, *tools: str, who: str = "Ana") -> None:
    """Choose in a panel, and wait until it shows exactly that."""
    person = scene.human(who)
    await person.select(shown.id, MENU, *tools)
    await person.wait_for(lambda: sorted(chosen(person.shown(shown.id))) == sorted(tools))


async def turn_on(scene: Scene, story: Story, *tools: str) -> None:
    await choose(scene, await panel(scene, story), *tools)


def chosen(message: Shown) -> list[str]:
    """The options that the panel's menu shows as chosen."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            found.extend(o["value"] for o in value.get("options", ()) if o.get("default"))
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    walk(message.raw["components"])
    return found


def small_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("-# ")]


async def test_a_roll_is_shown_where_it_happened_and_a_swipe_rolls_again(scene: Scene, story: Story) -> None:
    # given a table at which nothing is on
    await story.exchange("Ana", "I listen at the door.", "Silence.")
    assert scene.model.calls[-1].tools == []
    # when Ana turns the dice on, and Ben asks for a roll
    await turn_on(scene, story, "dice")
    scene.model.will_use("dice", "Let us see. ", expression="2d6+3", reason="Stealth")
    scene.model.will_say("You slip past.")
    await story.say("Ben", "I sneak. Roll for me.")
    first = await story.answered("You slip past.")
    # then everybody sees the dice between the words, as the model read them
    assert [call.tools for call in scene.model.calls[-2:]] == [["dice"]] * 2
    (result,) = scene.model.calls[-1].results
    assert re.fullmatch(r"Stealth: 2d6\+3 → \[[1-6], [1-6]\] \+ 3 = \d+", result)
    assert first.text == f"Let us see. \n\n-# 🎲 {result}\n\nYou slip past."
    assert scene.model.calls[-1].heard[-1] == "Let us see. "
    # when Ben wants another answer
    scene.model.will_use("dice", expression="2d6+3")
    scene.model.will_say("A twig snaps.")
    await story.press("▶", who="Ben")
    second = await story.answered("A twig snaps.", "2/2")
    (again,) = scene.model.calls[-1].results
    assert second.text == f"-# 🎲 {again}\n\nA twig snaps."
    # then going back brings back the first roll, not a new one
    await story.press("◀")
    assert (await story.answered("You slip past.", "1/2")).text == first.text
    # and the line is no part of what the model reads of its own answer
    call = await scene_hears(scene, story, "What now?")
    assert [line for line in call.heard if "🎲" in line] == []


async def scene_hears(scene: Scene, story: Story, text: str) -> Call:
    """What the model is told when Ana says something more."""
    await story.say("Ana", text)
    call = await scene.model.call()
    await call.say("On we go.")
    await story.answered("On we go.")
    return call


async def test_a_roll_is_there_again_after_a_rewind_is_undone(scene: Scene, story: Story) -> None:
    await turn_on(scene, story, "dice")
    answer = await story.exchange("Ana", "I listen.", "Silence.")
    scene.model.will_use("dice", expression="d20")
    scene.model.will_say("You slip past.")
    await story.say("Ana", "I sneak.")
    rolled = (await story.answered("You slip past.")).text
    await story.menu(answer, "Rewind")
    await story.sees("Rewound to here by Ana")
    await story.press("Undo")
    assert (await story.answered("You slip past.")).text == rolled


async def test_only_whoever_began_the_story_or_a_moderator_turns_tools_on(scene: Scene) -> None:
    story = await scene.open_story(who="Ben")
    told = await scene.human("Chen").slash(story.thread, "设置 工具")
    assert told.text == "只有开始这个故事的人或管理员可以这样做。"
    # Ana owns the server
    assert "Tools of Mira" in (await panel(scene, story, "Ana")).everything
    mine = await panel(scene, story, "Ben")
    await choose(scene, mine, "dice", "recall", who="Ben")


async def test_a_panel_outlives_a_restart_and_can_turn_everything_off(scene: Scene, story: Story) -> None:
    shown = await panel(scene, story)
    assert chosen(shown) == []
    await scene.running.restart()
    await choose(scene, shown, "recall", "dice")
    await story.exchange("Ana", "Hello.", "Welcome.")
    assert scene.model.calls[-1].tools == ["dice", "recall"]
    await choose(scene, shown)
    await story.exchange("Ana", "And now?", "Nothing.")
    assert scene.model.calls[-1].tools == []


async def test_a_panel_in_chinese(scene: Scene) -> None:
    story = await scene.open_story(who="Chen")
    answered = await scene.human("Chen").slash(story.thread, "设置 工具")
    (shown,) = answered.ephemeral
    assert "Mira 的工具" in shown.everything


async def test_nothing_changes_while_an_answer_is_written(scene: Scene, story: Story) -> None:
    shown = await panel(scene, story)
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    ana = scene.human("Ana")
    await ana.select(shown.id, MENU, "dice")
    told = await ana.sees(story.thread, "An answer is being written. Stop it or wait a moment.")
    assert told.ephemeral
    # and the menu shows what holds, not what was chosen
    assert chosen(ana.shown(shown.id)) == []
    await call.say("Welcome.")
    await story.answered("Welcome.")


async def test_there_is_nothing_to_set_where_no_story_is_played(scene: Scene, story: Story) -> None:
    ana = scene.human("Ana")
    told = await ana.slash("general", "settings tools")
    assert told.text == "No story is being played here. `/play new` begins one."
    shown = await panel(scene, story)
    (asked,) = (await ana.slash(story.thread, "play end")).ephemeral
    await ana.click(asked.id, "Do it")
    await story.sees("has ended")
    # nor in one that is over
    told = await ana.slash(story.thread, "settings tools")
    assert told.text == "This story has ended. `/play new` begins another."
    await ana.select(shown.id, MENU, "dice")
    await ana.wait_for(lambda: [m.text for m in ana.screen(story.thread)].count(told.text) == 2)


async def test_a_drawn_line_is_shown_and_what_is_recalled_is_not(scene: Scene) -> None:
    loot = {"keys": [], "comment": "Loot", "content": "- a *bent* key\n- a *bent* key"}
    entries = [{**loot, "insertion_order": 1, "enabled": True, "extensions": {}}]
    story = await scene.open_story(character_book={"name": "B", "entries": entries})
    await turn_on(scene, story, "roll_table", "recall")
    await story.exchange("Ana", "I hide the coin in the well.", "Nobody sees you.")
    scene.model.will_use("recall", query="coin")
    scene.model.will_use("roll_table", table="Loot")
    scene.model.will_say("You find a key.")
    await story.say("Ana", "I search.")
    answer = await story.answered("You find a key.")
    recalled, drawn = scene.model.calls[-1].results
    assert recalled == "Found for “coin”:\n- [story, turn 1, Ana] I hide the coin in the well."
    assert re.fullmatch(r"Loot: d2 → \[[12]\] a \*bent\* key", drawn)
    # what stands in the book is shown as it is, without its markup at work
    assert small_lines(answer.text) == ["-# 🎲 " + drawn.replace("*", "\\*")]


async def test_what_breaks_after_a_roll_keeps_the_roll(scene: Scene, story: Story) -> None:
    await turn_on(scene, story, "dice")
    scene.model.will_use("dice", "I roll. ", expression="d20")
    scene.model.will_refuse(401)
    await story.say("Ana", "I sneak.")
    shown = await story.answered("I roll.")
    lines = small_lines(shown.text)
    assert re.fullmatch(r"-# 🎲 d20 → \[\d+\] = \d+", lines[0])
    assert "does not accept the key" in lines[1]
    scene.running.expected.add("turn.failed")


async def test_a_stop_after_a_roll_keeps_the_roll(scene: Scene, story: Story) -> None:
    await turn_on(scene, story, "dice")
    scene.model.will_use("dice", "I roll. ", expression="d20")
    await story.say("Ana", "I sneak.")
    call = await scene.model.call()
    await story.sees("🎲")
    await story.press("Stop")
    await call.gone.wait()
    shown = await story.answered("I roll.")
    assert [line[:6] for line in small_lines(shown.text)] == ["-# 🎲 d", "-# — s"]


async def test_the_narrator_rolls_when_it_is_asked_to(wire: WireDiscord, data_dir: Path) -> None:
    async with set_scene(wire, data_dir, narrator=True) as scene:
        story = await scene.open_story()
        await turn_on(scene, story, "dice")
        await story.say("Ana", "I try the lock, 2d6+1.")
        shown = await story.answered("🎲")
        (line,) = small_lines(shown.text)
        found = re.fullmatch(r"-# 🎲 (2d6\+1 → \[[1-6], [1-6]\] \+ 1 = \d+)", line)
        # and it says what the dice say
        assert found is not None
        assert found[1] in shown.text.replace(line, "")
        # but not when nobody asks
        await story.say("Ana", "I open the door.")
        await story.answered("", "1/1")
        assert "🎲" not in story.messages()[-1].text
