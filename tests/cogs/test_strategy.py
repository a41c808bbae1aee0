"""`/strategy`: what of a story goes where in a request, chosen, changed and looked at."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.screen import Shown
from engine.assembler import Applied, KeptStrategy, Strategy, built_in_strategies
from engine.assembler.editing import change_strategy
from tests.cogs.test_card import becomes, promote
from tests.cogs.test_card_edit import bytes_of, fields
from tests.cogs.test_card_import import content_of
from tests.cogs.test_template import play_of
from tests.e2e.scene import Scene, Story, labels_of

LORE = "The harbour is foggy."
CHOOSE = "Change a module …"


async def harbour(scene: Scene, **fields: object) -> Story:
    """A story with a world book whose only entry is always on."""
    entry = {"uid": 0, "key": [], "constant": True, "content": LORE, "comment": "Fog", **fields}
    data = json.dumps({"name": "Harbour", "entries": {"0": entry}}).encode()
    book = await scene.bot.engine.library.import_book(scene.owner, data, "Harbour.json", "test")
    story = await scene.open_story()
    await scene.human("Ana").slash(story.thread, "world bind", world=book.id)
    return story


CARD = json.dumps({"spec": "chara_card_v2", "data": {"name": "Mira"}}).encode()


def strategy_file(**changes: object) -> bytes:
    """A file of the first strategy that came with the program, with some of it changed."""
    return json.dumps({**built_in_strategies()["builtin-native-slots"].to_wire(), **changes}).encode()


async def used(scene: Scene, story: Story) -> Applied | None:
    return await scene.bot.engine.plays.strategy(play_of(scene, story))


async def own(scene: Scene) -> list[KeptStrategy]:
    """The strategies of the server's library that did not come with the program."""
    return [kept for kept in await scene.bot.engine.strategies.store.list(scene.owner) if not kept.built_in]


async def kept(scene: Scene, name: str = "Ours", by: str = "Ana", **more: object) -> KeptStrategy:
    """A strategy that somebody has made, like the first of the built-in ones."""
    wire = {**built_in_strategies()["builtin-native-slots"].to_wire(), "name": name, **more}
    file = Upload("ours.json", json.dumps(wire).encode())
    await scene.human(by).slash("general", "strategy import", file=file)
    return next(each for each in await own(scene) if each.strategy.name == name)


async def opened(who: Human, panel: Shown, name: str) -> Shown:
    """The panel of one module, in the place of the editor."""
    (value,) = [value for label, value in panel.menus[0].options if label.endswith(name)]
    await who.select(panel, CHOOSE, value)
    return await becomes(who, panel, f"## {name}\n")


async def pressed(who: Human, panel: Shown, label: str, until_text: str) -> Shown:
    await who.click(panel, label)
    return await becomes(who, panel, until_text)


async def told(who: Human, text: str, where: str = "general") -> None:
    """The line that only this person gets."""
    await who.sees(where, lambda message: message.ephemeral and text in message.text)


def order(strategy: Strategy) -> list[str]:
    return [rule.kind for rule in strategy.rules]


# --- list, show, apply, off


async def test_what_came_with_the_program_is_listed_and_says_what_it_does(scene: Scene) -> None:
    # given a story, which starts on the first of them
    story = await scene.open_story()
    ana = scene.human("Ana")

    # when they are listed, and the one that is used is shown
    listed = await ana.slash(story.thread, "strategy list")
    shown = await ana.slash(story.thread, "strategy show")

    # then each has a name and says where things go
    assert listed.text.splitlines() == [
        "## Strategies · 3",
        "**Preset's slots first**",
        "-# built in · standard · the preset's slots decide · 8 of 8 modules",
        "**Roles first**",
        "-# built in · standard · roles decide · 8 of 8 modules",
        "**Slots and depths (advanced)**",
        "-# built in · for the advanced back end · slots and depths decide · 8 of 8 modules",
    ]
    lines = shown.text.splitlines()
    assert lines[0] == "## Preset's slots first"
    assert lines[2] == "▶ This story uses it."
    assert lines[8] == "5. 🟢 **World books** · where the preset has it"
    assert labels_of(shown.message) == ["Apply here", "Preview", "Edit", "Export"]
    # and Ben, whose story it is not, is not offered what he may not do
    his = await scene.human("Ben").slash(story.thread, "strategy show", strategy="roles")
    assert labels_of(his.message) == ["Edit", "Export"]


async def test_in_chinese(scene: Scene) -> None:
    story = await scene.open_story(who="Chen")
    chen = scene.human("Chen")
    shown = await chen.slash(story.thread, "strategy show", strategy="角色优先")
    assert shown.text.splitlines()[:2] == [
        "## 角色优先",
        "内置 · 标准 · 由角色决定 · 8 个模块中启用 8 个",
    ]
    refused = await chen.slash(story.thread, "strategy apply", strategy="插槽与深度")
    assert refused.text == "这个策略需要高级后端。由运行这个机器人的人开启。"
    preview = await chen.slash(story.thread, "strategy preview")
    assert preview.text.splitlines()[:2] == ["## 会发给模型的内容", "策略 **预设插槽优先**"]


async def test_a_strategy_is_applied_by_whoever_leads_the_story(scene: Scene) -> None:
    # given Ana's story
    story = await scene.open_story()
    ben = scene.human("Ben")

    # when Ben, then Ana, let it use another strategy
    refused = await ben.slash(story.thread, "strategy apply", strategy="Roles first")
    done = await scene.human("Ana").slash(story.thread, "strategy apply", strategy="Roles first")

    # then only she could
    assert refused.text == "Only whoever began the story or a moderator may do that."
    assert done.text == "From the next answer on this story uses the strategy **Roles first**."
    applied = await used(scene, story)
    assert applied is not None and applied.id == "builtin-native-roles"


async def test_without_a_strategy_the_story_goes_on(scene: Scene) -> None:
    story = await scene.open_story()
    ana = scene.human("Ana")
    done = await ana.slash(story.thread, "strategy off")
    assert done.text.startswith("From the next answer on this story uses no strategy")
    assert await used(scene, story) is None
    await story.exchange("Ana", "Hello.", "Welcome.")
    preview = await ana.slash(story.thread, "strategy preview")
    assert "No strategy: all that is no message stands in the system text" in preview.text
    nothing = await ana.slash(story.thread, "strategy edit")
    assert nothing.text == "This story uses no strategy. Say which one you mean."


async def test_while_an_answer_is_written_the_strategy_stays(scene: Scene) -> None:
    # given an answer that is being written
    story = await scene.open_story()
    ana = scene.human("Ana")
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("Welcome ")

    # when another strategy is wanted, or none
    refused = await ana.slash(story.thread, "strategy apply", strategy="Roles first")
    off = await ana.slash(story.thread, "strategy off")

    # then it has to wait
    assert refused.text == off.text == "An answer is being written. Stop it or wait a moment."
    applied = await used(scene, story)
    assert applied is not None and applied.id == "builtin-native-slots"
    await call.write("in.")
    await call.end()
    await story.answered("Welcome in.")


async def test_those_of_one_name_are_told_apart_and_none_is_guessed(scene: Scene) -> None:
    # given two strategies of a name, and others that begin like it
    ana = scene.human("Ana")
    await kept(scene)
    await kept(scene)
    await kept(scene, "Ours again")
    first, second = [each for each in await own(scene) if each.strategy.name == "Ours"]

    # when they are listed, then each has the day it came and the end of its id, in the menu too
    listed = (await ana.slash("general", "strategy list")).message
    named = [label for label, _ in listed.menus[0].options if label.startswith("Ours")]
    assert [label.split(" — ")[0] for label in named] == ["Ours", "Ours", "Ours again"]
    assert {label[-4:] for label in named[:2]} == {first.id[-4:], second.id[-4:]}
    assert listed.text.count(f" · {first.id[-4:]}") == 1

    # when one is meant by the name alone, then people are asked which
    unclear = await ana.slash("general", "strategy export", strategy="ours")
    assert unclear.text.startswith("“ours” could be several: **Ours — ")
    assert unclear.text.endswith("Choose one from the list that Discord shows while you type.")
    begins = await ana.slash("general", "strategy export", strategy="our")
    assert "**Ours again**" in begins.text
    # and the id that the list gives is enough
    assert (await ana.slash("general", "strategy export", strategy=first.id)).message.raw["attachments"]


async def test_a_name_is_shown_as_it_is(scene: Scene) -> None:
    made = await kept(scene, "my_way <@1> @everyone")
    listed = (await scene.human("Ana").slash("general", "strategy list")).message
    assert r"**my\_way \<@1> \@everyone**" in listed.text
    assert (made.strategy.name, made.id) in listed.menus[0].options


async def test_a_copy_takes_what_was_not_saved_and_says_so(scene: Scene) -> None:
    # given changes of Ben's that he has not saved, in a story that he does not lead
    story = await scene.open_story()
    ben = scene.human("Ben")
    editor = (await ben.slash(story.thread, "strategy edit", strategy="Roles first")).message
    form = await ben.click(editor, "Add text")
    await ben.submit(form, {"name": "Mood", "text": "It rains."})
    await becomes(ben, editor, "## Mood\n")

    # when he makes a copy, then he is told, and of no button that he has not
    copy = await ben.slash(story.thread, "strategy save-as", strategy="Roles first", name="Rainy")
    lines = copy.text.splitlines()
    assert lines[0] == "✓ Your copy is kept, with what you had changed and not saved."
    assert "Apply here" not in labels_of(copy.message)
    # and Ana, who may let the story use it, is told how
    hers = await scene.human("Ana").slash(story.thread, "strategy save-as", strategy="Rainy", name="Wet")
    assert hers.text.splitlines()[0] == "✓ Your copy is kept. *Apply here* lets the story use it."


async def test_nothing_fits_or_no_story_is_here(scene: Scene) -> None:
    ana = scene.human("Ana")
    await scene.open_story()
    unknown = await ana.slash("general", "strategy export", strategy="Nobody's")
    assert unknown.text == "No strategy here is called “Nobody's”. `/strategy list` shows them all."
    nowhere = await ana.slash("general", "strategy apply", strategy="Roles first")
    assert nowhere.text == "No story is being played here. `/play new` begins one."
    offered = await ana.autocomplete("general", "strategy apply", "strategy", "first")
    assert [choice["name"] for choice in offered] == ["Preset's slots first", "Roles first"]


async def test_strategies_of_one_name_are_told_apart_where_one_is_chosen(scene: Scene) -> None:
    ana = scene.human("Ana")
    file = built_in_strategies()["builtin-native-roles"].to_wire() | {"name": "Night"}
    for _ in range(2):
        await ana.slash("general", "strategy import", file=Upload("n.json", json.dumps(file).encode()))
    offered = await ana.autocomplete("general", "strategy apply", "strategy", "night")
    names = [choice["name"] for choice in offered]
    assert len(set(names)) == 2
    ends = [choice["value"][-4:] for choice in offered]
    assert [
        name.startswith("Night — 20") and name.endswith(end) for name, end in zip(names, ends, strict=True)
    ] == [
        True,
        True,
    ]


# --- changing one


async def test_the_world_book_is_moved_behind_the_history_saved_applied_and_sent_there(scene: Scene) -> None:
    # given a story whose preset puts the world book before the conversation
    story = await harbour(scene)
    ana = scene.human("Ana")
    await story.exchange("Ana", "Hello.", "Welcome.")
    assert LORE in scene.model.calls[-1].system

    # when Ana moves it behind the conversation, after the bot was restarted in between
    panel = (await ana.slash(story.thread, "strategy edit")).message
    module = await opened(ana, panel, "World books")
    assert "Place: where the preset has it" in module.text
    await scene.running.restart()
    module = await pressed(ana, module, "Down", "6 of 8")
    assert "Place: this list decides" in module.text
    assert "● Changed, not saved." in module.text
    editor = await pressed(ana, module, "Back", "## ✏️")
    assert "5. 🟢 **Conversation** · always sent\n6. 🟢 **World books** · this list decides" in editor.text
    assert editor.button("Apply here").disabled

    # then the story still uses what it used, and its preview too, while that of the draft has it moved
    await story.exchange("Ana", "And now?", "Still here.")
    assert LORE in scene.model.calls[-1].system
    tried = await ana.click(editor, "Preview")
    assert "Strategy **Preset's slots first (your changes, not saved)**" in tried.text
    assert "placed by the strategy" in tried.text.split(f"World books / Fog: {LORE}")[0].splitlines()[-2]

    # and saved it is a copy, since the program's own stay, which can be applied
    saved = await pressed(ana, editor, "Save", "✓ Your copy is kept.")
    (made,) = await own(scene)
    assert made.strategy.name == "Preset's slots first – copy"
    assert order(made.strategy)[4:7] == ["history", "worldbook", "input"]
    done = await ana.click(saved, "Apply here")
    assert "**Preset's slots first – copy**" in done.text
    await story.exchange("Ana", "Which way?", "That way.")
    call = scene.model.calls[-1]
    assert LORE not in call.system
    texts = [message["content"] for message in call.body["messages"]]
    assert texts.index(LORE) > next(at for at, text in enumerate(texts) if "Still here." in str(text))
    assert "Which way?" in str(texts[texts.index(LORE) + 1])


async def test_a_module_can_be_given_back_to_the_preset(scene: Scene) -> None:
    story = await harbour(scene)
    ana = scene.human("Ana")
    panel = (await ana.slash(story.thread, "strategy edit")).message
    module = await opened(ana, panel, "World books")
    module = await pressed(ana, module, "Place by list", "Place: this list decides")
    module = await pressed(ana, module, "Place by preset", "Place: where the preset has it")
    # nothing differs any more
    assert "Changed, not saved" not in module.text
    back = await pressed(ana, module, "Back", "## ✏️")
    assert back.button("Save").disabled


async def test_drafts_are_each_persons_own_and_can_be_thrown_away(scene: Scene) -> None:
    # given a strategy that Ana has made, and what she and Ben change about it
    made = await kept(scene)
    ana, ben = scene.human("Ana"), scene.human("Ben")
    hers = (await ana.slash("general", "strategy edit", strategy="Ours")).message
    his = (await ben.slash("general", "strategy edit", strategy="Ours")).message
    assert "You cannot change this one itself" in his.text
    assert "You cannot change this one itself" not in hers.text
    await pressed(ana, await opened(ana, hers, "Persona"), "Switch off", "3 of 8 · ⚪ off")
    his = await pressed(ben, await opened(ben, his, "Card"), "Switch off", "4 of 8 · ⚪ off")

    # then each finds their own, also after a restart
    await scene.running.restart()
    again = (await ana.slash("general", "strategy edit", strategy="Ours")).message
    assert "3. ⚪ **Persona**" in again.text and "4. 🟢 **Card**" in again.text
    gone = await pressed(ana, again, "Discard", "Your changes are gone.")
    assert "3. 🟢 **Persona**" in gone.text

    # and what Ben saves is his copy
    his = await pressed(ben, his, "Back", "## ✏️ Ours")
    await pressed(ben, his, "Save", "✓ Your copy is kept.")
    names = {each.strategy.name: each.created_by for each in await own(scene)}
    assert names == {"Ours": str(ana.id), "Ours – copy": str(ben.id)}
    assert (await scene.bot.engine.strategies.store.get(scene.owner, made.id)).strategy == made.strategy


async def test_nobodys_version_is_written_over(scene: Scene) -> None:
    # given two people who may change one strategy, and both do
    await kept(scene)
    promote(scene, "Ben")
    ana, ben = scene.human("Ana"), scene.human("Ben")
    hers = (await ana.slash("general", "strategy edit", strategy="Ours")).message
    his = (await ben.slash("general", "strategy edit", strategy="Ours")).message
    hers = await pressed(ana, await opened(ana, hers, "Persona"), "Switch off", "⚪ off")
    his = await pressed(ben, await opened(ben, his, "Card"), "Switch off", "⚪ off")

    # when Ana saves first
    hers = await pressed(ana, hers, "Back", "## ✏️")
    await pressed(ana, hers, "Save", "✓ Saved.")
    his = await pressed(ben, his, "Back", "## ✏️")

    # then Ben is told, and can only keep his as a copy
    assert "⚠️ Another version has been saved since you began." in his.text
    assert "Save" not in labels_of(his)
    await pressed(ben, his, "Save a copy", "✓ Your copy is kept.")
    by_name = {each.strategy.name: each.strategy for each in await own(scene)}
    off = {name: [r.kind for r in s.rules if not r.enabled] for name, s in by_name.items()}
    assert off == {"Ours": ["persona"], "Ours – copy": ["character"]}


async def test_a_panel_that_is_behind_changes_nothing(scene: Scene) -> None:
    await kept(scene)
    ana = scene.human("Ana")
    panel = (await ana.slash("general", "strategy edit", strategy="Ours")).message
    module = await opened(ana, panel, "Persona")
    custom_id = module.button("Down").custom_id
    assert custom_id is not None
    await pressed(ana, module, "Down", "4 of 8")
    answer = await scene.press_stale("Ana", module, custom_id)
    assert answer.text.startswith("It has been changed meanwhile.")


async def test_a_text_of_ones_own_is_added_changed_set_and_removed(scene: Scene) -> None:
    # given a strategy of Ana's
    await kept(scene)
    ana = scene.human("Ana")
    panel = (await ana.slash("general", "strategy edit", strategy="Ours")).message

    # when she adds a text
    form = await ana.click(panel, "Add text")
    await ana.submit(form, {"name": "Reminder", "role": ["user"], "text": "Stay brief, {{char}}."})
    module = await becomes(ana, panel, "## Reminder\n")
    assert "Stay brief, {{char}}." in module.text
    assert "Role: user" in module.text and "9 of 9 · 🟢 on" in module.text

    # then she can change and set it
    form = await ana.click(module, "Text")
    await ana.submit(form, {"text": "Stay very brief."})
    module = await becomes(ana, panel, "Stay very brief.")
    form = await ana.click(module, "Settings")
    assert list(fields(form)) == ["name", "role", "delivery"]
    await ana.submit(form, {"name": "Nudge", "delivery": ["pre-step"]})
    module = await becomes(ana, panel, "## Nudge\n")
    assert "Way: as a message before each answer" in module.text
    saved = await pressed(ana, await pressed(ana, module, "Back", "## ✏️"), "Save", "✓ Saved.")
    assert "9. 🟢 **Nudge** · user · this list decides · as a message before each answer" in saved.text
    (made,) = await own(scene)
    rule = made.strategy.rules[-1]
    assert (rule.kind, rule.text, rule.delivery) == ("custom", "Stay very brief.", "pre-step")

    # and take it out again
    editor = await pressed(ana, saved, "Edit", "## ✏️")
    module = await opened(ana, editor, "Nudge")
    gone = await pressed(ana, module, "Remove", "## ✏️")
    assert "Nudge" not in gone.text


async def test_a_long_text_comes_as_a_file_and_goes_back_as_one(scene: Scene) -> None:
    await kept(scene)
    ana = scene.human("Ana")
    panel = (await ana.slash("general", "strategy edit", strategy="Ours")).message
    form = await ana.click(panel, "Add text")
    await ana.submit(form, {"name": "Long", "text": "x"})
    module = await becomes(ana, panel, "## Long\n")
    form = await ana.click(module, "Text")
    await ana.submit(form, {"file": [Upload("text.txt", b"rain " * 2_000)]})
    module = await becomes(ana, panel, "rain rain")
    handed = await ana.click(module, "Text")
    assert content_of(scene.wire, handed.message.raw).startswith("rain rain")


async def test_what_cannot_be_carried_out_is_refused_when_it_is_applied(scene: Scene) -> None:
    # given a strategy from elsewhere with lore that stands at a depth
    story = await scene.open_story()
    rules = built_in_strategies()["builtin-native-slots"].to_wire()["rules"]
    deep = [{**rule, "depth": 2} if rule["id"] == "worldbook" else rule for rule in rules]
    await kept(scene, rules=deep)
    ana = scene.human("Ana")
    shown = await ana.slash(story.thread, "strategy show", strategy="Ours")

    # when it is applied
    refused = await ana.click(shown.message, "Apply here")

    # then it says why, and the story uses what it used
    assert refused.text == (
        "⚠️ **Nothing could be sent like this**, because of *World books*: This strategy cannot be "
        "carried out here: Depths and texts that stay need the advanced back end."
    )
    applied = await used(scene, story)
    assert applied is not None and applied.id == "builtin-native-slots"

    # and its editor says so beforehand, names the module, and lets the depth be taken away
    editor = await pressed(ana, shown.message, "Edit", "## ✏️ Ours")
    why = "⚠️ **Nothing could be sent like this**, because of *World books*: This strategy cannot be"
    assert why in editor.text
    module = await opened(ana, editor, "World books")
    assert "Depth: 2 messages before the end" in module.text
    wrong = await ana.click(module, "Settings")
    await ana.submit(wrong, {"depth": "deep"})
    await told(ana, "whole number", story.thread)
    form = await ana.click(module, "Settings")
    assert list(fields(form)) == ["role", "delivery", "depth"]
    await ana.submit(form, {"depth": ""})
    mended = await becomes(ana, module, "**The next request here, with this:**")
    assert "Depth" not in mended.text and "⚠️" not in mended.text


# --- files, copies, deleting


async def test_a_file_comes_back_as_it_went(scene: Scene) -> None:
    made = await kept(scene, "Our own")
    out = await scene.human("Ben").slash("general", "strategy export", strategy="our own")
    (attachment,) = out.message.raw["attachments"]
    assert attachment["filename"] == "Our_own.json"
    body = bytes_of(scene, out.message)
    assert json.loads(body) == made.strategy.to_wire()
    again = await scene.human("Ben").slash("general", "strategy import", file=Upload("x.json", body))
    assert again.text.startswith("✓ The strategy is here. No story uses it yet.\n## Our own\n")
    assert [each.strategy for each in await own(scene)] == [made.strategy, made.strategy]


@pytest.mark.parametrize(
    ("body", "who", "reason"),
    [
        (b"{", "Ana", "I cannot read a strategy from **x.json**.\n-# This file is not JSON."),
        (b'{"format": "x"}', "Ana", "-# This is no strategy: it does not say that its format is "),
        (b"{", "Chen", "无法从 **x.json** 里读出策略。\n-# 这个文件不是 JSON。"),
        (strategy_file(version=2), "Chen", "-# 这个策略不是第 1 版。"),
        (strategy_file(rules=[{"id": "a b"}]), "Chen", "-# 规则的 id 只能由字母"),
        (strategy_file(historyPolicy={}), "Chen", "-# 策略里关于历史的部分无法读取。"),
        (CARD, "Ana", "-# It looks like a character card: import it as one."),
        (CARD, "Chen", "-# 它看起来是角色卡：请按角色卡导入。"),
    ],
)
async def test_a_file_that_is_none_is_refused(scene: Scene, body: bytes, who: str, reason: str) -> None:
    done = await scene.human(who).slash("general", "strategy import", file=Upload("x.json", body))
    assert reason in done.text
    assert await own(scene) == []


async def test_an_import_that_cannot_be_carried_out_says_so_at_once(scene: Scene) -> None:
    wire = built_in_strategies()["builtin-st"].to_wire()
    file = Upload("st.json", json.dumps({**wire, "name": "Deep"}).encode())
    done = await scene.human("Ana").slash("general", "strategy import", file=file)
    assert "⚠️ **Nothing could be sent like this.** This strategy needs the advanced back end." in done.text


async def test_a_module_that_cannot_do_what_a_file_asks_is_named_when_it_is_applied(scene: Scene) -> None:
    # given a strategy from a file, in which the persona has a role that the module cannot have
    story = await scene.open_story()
    ana = scene.human("Ana")
    wire = built_in_strategies()["builtin-native-slots"].to_wire()
    rules = [{**rule, "role": "assistant"} if rule["id"] == "persona" else rule for rule in wire["rules"]]
    file = Upload("odd.json", json.dumps({**wire, "name": "Odd", "rules": rules}).encode())
    why = "⚠️ **Nothing could be sent like this**, because of *Persona*: "
    assert why in (await ana.slash("general", "strategy import", file=file)).text
    # when she applies it, then it is refused, and the story has what it had
    assert (await ana.slash(story.thread, "strategy apply", strategy="Odd")).text.startswith(why)
    assert "Strategy **Preset's slots first**" in (await ana.slash(story.thread, "strategy preview")).text


async def test_a_story_that_uses_an_earlier_version_is_told_so(scene: Scene) -> None:
    # given a story that uses a strategy, of which another version is saved then
    story = await scene.open_story()
    await kept(scene)
    ana = scene.human("Ana")
    await ana.slash(story.thread, "strategy apply", strategy="Ours")
    editor = (await ana.slash(story.thread, "strategy edit", strategy="Ours")).message
    form = await ana.click(editor, "Add text")
    await ana.submit(form, {"name": "Mood", "text": "It rains."})
    module = await becomes(ana, editor, "## Mood\n")
    editor = await pressed(ana, module, "Back", "## ✏️ Ours")

    # then it says so, until that one is applied
    saved = await pressed(ana, editor, "Save", "▶ This story uses an earlier version of it.")
    await ana.click(saved, "Apply here")
    shown = await ana.slash(story.thread, "strategy show", strategy="Ours")
    assert "▶ This story uses it." in shown.text.splitlines()


async def test_one_that_is_in_use_and_one_of_the_program_are_not_deleted(scene: Scene) -> None:
    # given a strategy that a story uses
    story = await scene.open_story()
    await kept(scene)
    ana = scene.human("Ana")
    await ana.slash(story.thread, "strategy apply", strategy="Ours")

    # when it is to go, then it stays until the story uses another, and nobody is asked for nothing
    stays = (
        f"This strategy was not deleted, because it is in use in <#{story.thread}>. `/strategy apply` or "
        "`/strategy off` there first."
    )
    assert (await ana.slash("general", "strategy delete", strategy="Ours")).text == stays
    await ana.slash(story.thread, "strategy off")
    asked = await ana.slash("general", "strategy delete", strategy="Ours")
    assert asked.text == "Delete the strategy **Ours**?"
    # and it stays too when a story begins to use it before that is answered
    await ana.slash(story.thread, "strategy apply", strategy="Ours")
    await ana.click(asked.message, "Delete")
    await told(ana, stays)
    await ana.slash(story.thread, "strategy off")
    await ana.click(asked.message, "Delete")
    await becomes(ana, asked.message, "The strategy **Ours** is deleted.")
    assert await own(scene) == []
    # and others', and the program's, are not Ben's to delete
    await kept(scene, "Hers")
    ben = scene.human("Ben")
    assert (await ben.slash("general", "strategy delete", strategy="Hers")).text == (
        "Only whoever brought it in may do that, or somebody who may manage the server."
    )
    program = await ben.slash("general", "strategy delete", strategy="Roles first")
    assert program.text.startswith("This strategy came with the program and stays as it is.")


async def test_what_only_a_story_that_has_ended_used_is_deleted(scene: Scene) -> None:
    story = await scene.open_story()
    await kept(scene)
    ana = scene.human("Ana")
    await ana.slash(story.thread, "strategy apply", strategy="Ours")
    asked = await ana.slash(story.thread, "play end")
    await ana.click(asked.message, "Do it")
    await story.sees("**Mira** has ended.")
    asked = await ana.slash("general", "strategy delete", strategy="Ours")
    await ana.click(asked.message, "Delete")
    await becomes(ana, asked.message, "The strategy **Ours** is deleted.")


async def test_a_deleted_one_that_the_story_comes_back_to_goes_on_and_can_be_brought_back(
    scene: Scene,
) -> None:
    # given a story that was told with one strategy, and has another answer without
    story = await scene.open_story()
    await kept(scene)
    ana = scene.human("Ana")
    await ana.slash(story.thread, "strategy apply", strategy="Ours")
    await story.exchange("Ana", "I knock.", "Who is there?")
    scene.model.will_say("Come in.")
    await story.press("▶")
    await story.answered("Come in.", "2/2")
    await ana.slash(story.thread, "strategy off")

    # when it is deleted, which no answer of another time prevents
    asked = await ana.slash("general", "strategy delete", strategy="Ours")
    await ana.click(asked.message, "Delete")
    await becomes(ana, asked.message, "The strategy **Ours** is deleted.")
    # and the story goes back to where it was used
    await story.press("◀")
    await story.answered("Who is there?", "1/2")
    again = "The story goes on with the strategy **Ours**, as it did here before."
    await told(ana, again, story.thread)

    # then it is used still, and says where it is
    gone = await ana.slash(story.thread, "strategy show")
    assert gone.text.startswith("“Ours” was deleted from the library; this story goes on with its own copy.")
    await story.exchange("Ana", "It is me.", "Then come in.")
    # and a copy brings it back
    back = await ana.slash(story.thread, "strategy save-as", name="Ours again")
    assert back.text.splitlines()[0] == "✓ Your copy is kept. *Apply here* lets the story use it."
    assert [each.strategy.name for each in await own(scene)] == ["Ours again"]


async def test_a_rewind_takes_the_strategy_along_and_an_undone_one_brings_it_back(scene: Scene) -> None:
    # given a story of two exchanges, rewound to the first, that is given another strategy there
    story = await scene.open_story()
    ana = scene.human("Ana")
    await story.exchange("Ana", "I knock.", "Who is there?")
    await story.exchange("Ana", "It is me.", "Then come in.")
    await story.menu(story.find("Who is there?"), "Rewind")
    await story.sees("Rewound to here by Ana")
    assert [m for m in ana.screen(story.thread) if m.ephemeral] == []
    await ana.slash(story.thread, "strategy apply", strategy="Roles first")

    # when the rewind is undone, then what was used there is used again, and Ana is told
    await story.press("Undo")
    again = "The story goes on with the strategy **Preset's slots first**, as it did here before."
    await told(ana, again, story.thread)
    applied = await used(scene, story)
    assert applied is not None and applied.id == "builtin-native-slots"


# --- the preview


async def test_a_preview_of_a_draft_is_made_again_of_the_draft(scene: Scene) -> None:
    # given a preview of what Ana has changed and not saved
    story = await harbour(scene)
    ana = scene.human("Ana")
    panel = (await ana.slash(story.thread, "strategy edit")).message
    module = await pressed(ana, await opened(ana, panel, "World books"), "Switch off", "⚪")
    tried = await ana.click(await pressed(ana, module, "Back", "## ✏️"), "Preview")
    # when she looks again, then it is that one still
    again = await ana.click(tried.message, "Again")
    assert again.text.splitlines()[1] == "Strategy **Preset's slots first (your changes, not saved)**"
    assert again.text == tried.text and LORE not in again.text


async def test_a_preview_says_that_the_story_uses_an_earlier_version(scene: Scene) -> None:
    story = await scene.open_story()
    made = await kept(scene)
    ana = scene.human("Ana")
    await ana.slash(story.thread, "strategy apply", strategy="Ours")
    changed = change_strategy(made.strategy, name="Ours by now")
    await scene.bot.engine.strategies.store.change(
        scene.owner, made.id, changed, expected=made.strategy.revision
    )
    mine = await ana.slash(story.thread, "strategy preview")
    theirs = await ana.slash(story.thread, "strategy preview", strategy="Ours by now")
    assert mine.text.splitlines()[1] == "Strategy **Ours (an earlier version)**"
    assert theirs.text.splitlines()[1] == "Strategy **Ours by now**"


async def test_what_the_program_says_of_facts_is_nobody_s_text(scene: Scene) -> None:
    # given a strategy with two facts, of which one begins like the other
    story = await scene.open_story()
    facts = [
        {
            "id": f"fact{n}",
            "kind": "custom",
            "role": "user",
            "delivery": "context",
            "name": name,
            "text": text,
        }
        for n, (name, text) in enumerate(
            [("Tide", "The tide is high."), ("Rain", "The tide is high. It rains.")]
        )
    ]
    rules = built_in_strategies()["builtin-native-slots"].to_wire()["rules"]
    await kept(scene, rules=[*rules, *facts])
    ana = scene.human("Ana")
    await ana.slash(story.thread, "strategy apply", strategy="Ours")
    await story.exchange("Ana", "Hello.", "Welcome.")
    # then what was sent names both, and what stands around them
    preview = await ana.slash(story.thread, "strategy preview")
    sent = await ana.click(preview.message, "Sent last")
    assert re.findall(r"^-# – (.*?) · \d+ · (?:Current|The tide)", sent.text, re.M) == [
        *("Around facts", "Own text / Tide", "Own text / Rain")
    ]
    # and when they hold no more, that is the program's own word
    await ana.slash(story.thread, "strategy off")
    await story.exchange("Ana", "Goodbye.", "Farewell.")
    preview = await ana.slash(story.thread, "strategy preview")
    sent = await ana.click(preview.message, "Sent last")
    for told in (preview, sent):
        assert "-# Around facts: There are no current facts; earlier lists no longer apply." in told.text
        assert "Not recorded" not in told.text


async def test_the_preview_has_all_of_it_in_its_order(scene: Scene) -> None:
    # given a story that has been played a little
    story = await harbour(scene)
    await story.exchange("Ana", "Hello.", "Welcome.")

    # when Ana looks at what would be sent
    shown = await scene.human("Ana").slash(story.thread, "strategy preview")

    # then the parts have their names and sources, and the file has their whole texts
    assert shown.message.ephemeral
    lines = shown.text.splitlines()
    assert lines[:2] == ["## What the model would be sent", "Strategy **Preset's slots first**"]
    assert any(line.startswith("**1.** ⚙️ system · instructions · ") for line in lines)
    assert any(line.startswith("**2.** 👤 user · said before · ") for line in lines)
    bar = next(line for line in lines if line.startswith("🟦"))
    assert len(bar) == 12
    text = content_of(scene.wire, shown.message.raw)
    assert text.index(LORE) < text.index("Hello.") < text.index("Welcome.")
    assert "### World books / Fog" in text
    # and nothing was said to the model, nor written into the story
    assert len(scene.model.calls) == 1
    assert labels_of(shown.message) == ["Again", "Sent last", "SillyTavern"]


async def test_the_same_story_as_sillytavern_would_send_it(scene: Scene) -> None:
    # given a story that has been played a little
    story = await harbour(scene)
    await story.exchange("Ana", "Hello.", "Welcome.")
    ana = scene.human("Ana")
    preview = (await ana.slash(story.thread, "strategy preview")).message

    # when Ana compares
    compared = await ana.click(preview, "SillyTavern")

    # then its parts stand as messages of their own, and nothing of ours is among them
    lines = compared.text.splitlines()
    assert compared.message.ephemeral
    assert lines[0] == "## What SillyTavern would send"
    assert "This is only for comparing" in lines[1]
    text = content_of(scene.wire, compared.message.raw)
    assert text.index("### World books") < text.index("Hello.") < text.index("Welcome.")
    assert LORE in text
    assert "Players:" not in text
    assert labels_of(compared.message) == ["Again", "Next request"]
    assert len(scene.model.calls) == 1

    # and both ways back lead somewhere
    again = await ana.click(compared.message, "Again")
    assert again.text == compared.text
    usual = await ana.click(compared.message, "Next request")
    assert usual.text.startswith("## What the model would be sent")


async def test_what_was_sent_is_read_from_the_log(scene: Scene) -> None:
    # given a story in which nothing was said yet
    story = await harbour(scene)
    ana = scene.human("Ana")
    preview = (await ana.slash(story.thread, "strategy preview")).message
    nothing = await ana.click(preview, "Sent last")
    assert nothing.text == "Nothing was sent to the model yet on the way to where the story stands now."

    # when it is played, and looks another way afterwards
    await story.exchange("Ana", "Hello.", "Welcome.")
    await ana.slash(story.thread, "strategy off")
    await scene.running.restart()
    sent = await ana.click(preview, "Sent last")

    # then what was sent is what the model got, under the strategy of that time
    lines = sent.text.splitlines()
    assert lines[0] == "## What the model was sent"
    assert lines[2] == "Strategy **Preset's slots first**"
    assert "-# Ana: Hello." in lines
    text = content_of(scene.wire, sent.message.raw)
    assert text.index(LORE) < text.index("Hello.")
    assert "Welcome." not in text
    assert labels_of(sent.message) == ["Next request"]


async def binds_preset(who: Human, story: Story, prompts: list[dict[str, Any]]) -> None:
    """Let a story use a preset of these prompts, in this order and all on."""
    listed = [{"identifier": prompt["identifier"], "enabled": True} for prompt in prompts]
    preset = {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": listed}]}
    await who.slash(story.thread, "preset import", file=Upload("P.json", json.dumps(preset).encode()))
    await who.slash(story.thread, "preset bind", preset="P")


async def test_players_do_not_see_it_and_moderators_not_what_is_private(scene: Scene) -> None:
    # given Ana's story with a preset that tells her persona, and Chen at the table with one of their own
    story = await scene.open_story()
    ana, ben, chen = scene.human("Ana"), scene.human("Ben"), scene.human("Chen")
    await ana.slash(
        story.thread, "persona set", name="Vale", description="Vale hides a silver key from {{char}}."
    )
    await ana.slash(story.thread, "persona bind")
    await chen.slash(story.thread, "persona set", name="Qi", description="Qi fears the sea.")
    prompts: list[dict[str, Any]] = [
        {"identifier": "main", "role": "system", "content": "About {{user}}: {{persona}}"},
        {"identifier": "personaDescription", "marker": True},
        {"identifier": "chatHistory", "marker": True},
    ]
    await binds_preset(ana, story, prompts)
    await story.exchange("Ana", "Hello.", "Welcome.")
    await story.exchange("Chen", "Hello.", "Welcome again.")

    # then she sees what they say, and a player nothing
    hers = content_of(scene.wire, (await ana.slash(story.thread, "strategy preview")).message.raw)
    assert "Vale hides a silver key from Mira." in hers
    assert "Qi fears the sea." in hers
    refused = await ben.slash(story.thread, "strategy preview")
    assert refused.text == "Only whoever began the story or a moderator may do that."

    # and a moderator everything but that, with a strategy and without
    moderate(scene, "Ben")
    last = await ben.slash(story.thread, "strategy preview")
    sent = await ben.click(last.message, "Sent last")
    text = content_of(scene.wire, sent.message.raw) + sent.text
    assert "silver key" not in text and "fears the sea" not in text
    assert "[somebody's persona]" in text
    assert "-# ✓ Checked against the story's log. What others' personas say is left out for you." in text
    compared = await ben.click(last.message, "SillyTavern")
    text = content_of(scene.wire, compared.message.raw) + compared.text
    assert "silver key" not in text and "fears the sea" not in text
    assert "About Vale: [somebody's persona]" in text
    for name in ("Preset's slots first", "Roles first"):
        his = await ben.slash(story.thread, "strategy preview", strategy=name)
        text = content_of(scene.wire, his.message.raw) + his.text
        assert "silver key" not in text and "fears the sea" not in text
        assert "[somebody's persona]" in text
    await ana.slash(story.thread, "strategy off")
    his = await ben.slash(story.thread, "strategy preview")
    text = content_of(scene.wire, his.message.raw) + his.text
    assert "silver key" not in text and "fears the sea" not in text
    assert "[somebody's persona]" in text


async def test_what_a_persona_said_earlier_is_left_out_of_a_preview_too(scene: Scene) -> None:
    # given Ana's story with a preset that says her persona behind the conversation, where it stays
    story = await scene.open_story()
    ana, ben = scene.human("Ana"), scene.human("Ben")
    await ana.slash(story.thread, "persona set", name="Vale", description="Vale hides a silver key.")
    await ana.slash(story.thread, "persona bind")
    prompts: list[dict[str, Any]] = [
        {"identifier": "chatHistory", "marker": True},
        {"identifier": "late", "role": "system", "content": "Mind this: {{persona}}"},
    ]
    await binds_preset(ana, story, prompts)
    await story.exchange("Ana", "Hello.", "Welcome.")

    # when her persona says something else
    await ana.slash(story.thread, "persona set", name="Vale", description="Vale bakes bread.")

    # then she sees both, and a moderator neither
    hers = content_of(scene.wire, (await ana.slash(story.thread, "strategy preview")).message.raw)
    assert hers.index("Mind this: Vale hides a silver key.") < hers.index("Mind this: Vale bakes bread.")
    moderate(scene, "Ben")
    his = await ben.slash(story.thread, "strategy preview")
    text = content_of(scene.wire, his.message.raw)
    assert "silver key" not in text + his.text and "bakes" not in text + his.text
    assert text.count("Mind this: [somebody's persona]") == 2


def moderate(scene: Scene, name: str) -> None:
    """Somebody may manage messages from now on."""
    world = scene.wire.world
    guild = next(iter(world.guilds.values()))
    role = world.add_role(guild, "Moderator", (1 << 10) | (1 << 11) | (1 << 13) | (1 << 31))
    member = world.members[f"{guild['id']}:{world.user(name)['id']}"]
    world.set_member(member, roles=[role["id"]])
