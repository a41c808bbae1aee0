"""`/regex`: lists of scripts, what they do and make of a text; and the scripts of presets and cards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.screen import Shown
from engine.resources import RegexScript
from tests.cogs.books import becomes, brought_scripts, fields, row, script
from tests.cogs.test_card import promote
from tests.cogs.test_card_import import content_of
from tests.e2e.scene import Scene, card_json, labels_of

OOC = script("No OOC", r"/\(OOC:.*?\)/gs")
BOLD = script("Loud", "/shout(ed)?/gi", "**SHOUT$1**", placement=[1, 2], promptOnly=True)
PRUNE = script("Prune", "/<think>.*?<\\/think>/gs", "", markdownOnly=False, promptOnly=True, minDepth=2)
BROKEN = script("Broken", "/(/g", "x", disabled=True)


async def stored(scene: Scene, name: str = "Tidy") -> tuple[RegexScript, ...]:
    return await scene.bot.engine.library.scripts((await row(scene, name, "regex")).id)


async def opened(who: Human, panel: Shown, place: int) -> Shown:
    """The panel of a script, in the place of the list's."""
    await who.select(panel, panel.menus[0].custom_id, str(place))
    return await becomes(who, panel, f"· {place + 1}/")


# --- bringing in and looking


async def test_scripts_show_what_they_do(scene: Scene) -> None:
    done = await brought_scripts(scene, OOC, BOLD, PRUNE, BROKEN)
    assert done.message.ephemeral
    assert done.text == (
        "### The scripts **Tidy** are here.\n"
        "4 scripts · 3 switched on\n"
        "🟢 1. **No OOC** · answers · only as shown\n"
        "-# `/\\(OOC:.*?\\)/gs` → *nothing*\n"
        "🟢 2. **Loud** · answers, what people write · as shown and as sent\n"
        "-# `/shout(ed)?/gi` → `**SHOUT$1**`\n"
        "🟢 3. **Prune** · answers · only as sent to the model\n"
        "-# `/<think>.*?<\\/think>/gs` → *nothing*\n"
        "⚪ 4. **Broken** ⚠ · answers · only as shown\n"
        "-# `/(/g` → `x`"
    )
    assert labels_of(done.message) == ["Bind here", "Test", "Edit", "Details"]
    details = content_of(scene.wire, (await scene.human("Ana").click(done.message, "Details")).message.raw)
    assert "## 3. 🟢 Prune" in details
    assert "from message 2 to the first" in details


async def test_a_script_opens_also_after_a_restart_and_in_chinese(scene: Scene) -> None:
    panel = (await brought_scripts(scene, OOC, BROKEN, who="Chen")).message
    assert panel.text.startswith("### 脚本 **Tidy** 来了。\n2 个脚本 · 启用 1 条")
    await scene.running.restart()
    chen = scene.human("Chen")
    shown = await opened(chen, panel, 1)
    assert shown.text.startswith(
        "## ⚪ Broken\n-# Tidy · 2/2\n回复 · 只改显示\n**查找**\n```\n/(/g\n```\n**替换为**"
    )
    assert "⚠ 这个正则无效。" in shown.text
    assert labels_of(shown) == ["正则", "文字", "范围", "启用", "🔼", "🔽", "移除", "返回"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"[]x", "breaks off"), (b'{"name": "x"}', "no regex scripts"), (card_json(), "no regex scripts")],
    ids=["broken", "other", "card"],
)
async def test_what_has_no_scripts_is_refused_with_the_reason(scene: Scene, body: bytes, reason: str) -> None:
    done = await scene.human("Ana").slash("general", "regex import", file=Upload("x.json", body))
    assert done.text.startswith("I cannot read regex scripts from **x.json**.\n-# ")
    assert reason in done.text


async def test_lists_are_found_exported_and_deleted(scene: Scene) -> None:
    await brought_scripts(scene, OOC)
    await brought_scripts(scene, BOLD, name="Voices")
    ana = scene.human("Ana")
    listed = await ana.slash("general", "regex list")
    assert listed.text.splitlines()[0] == "## Regex scripts · 2"
    offered = await ana.autocomplete("general", "regex show", "scripts", "voi")
    assert [choice["name"] for choice in offered] == ["Voices — 1 script"]
    exported = await ana.slash("general", "regex export", scripts="Tidy")
    assert json.loads(content_of(scene.wire, exported.message.raw)) == [OOC]
    assert (await scene.human("Ben").slash("general", "regex delete", scripts="Tidy")).text == (
        "Only whoever brought it in may do that, or somebody who may manage the server."
    )
    asked = await ana.slash("general", "regex delete", scripts="Tidy")
    await ana.click(asked.message, "Delete")
    await becomes(ana, asked.message, "**Tidy** is out of the library.")
    gone = await ana.slash("general", "regex show", scripts="Tidy")
    assert gone.text == "No regex scripts here are called “Tidy”. `/regex list` shows them all."


# --- editing


async def test_a_script_is_written_and_changed_in_forms(scene: Scene) -> None:
    # given a new list with a script of Ana's
    ana = scene.human("Ana")
    made = await ana.slash("general", "regex create", name="Mine")
    assert made.text.startswith("✓ Here it is, still empty. *New script* adds the first one.\n## 🧩 Mine\n")
    panel = made.message
    form = await ana.click(panel, "New script")
    assert fields(form)["find"]["placeholder"] == r"/\(OOC:.*?\)/gs"
    await ana.submit(form, {"name": "Stars", "find": "/[*]/g"})
    shown = await becomes(ana, panel, "✓ The script is here.")
    assert "**Puts in its place**\n*nothing*" in shown.text

    # when she changes what it looks for, what it puts there, and where and when
    form = await ana.click(shown, "Pattern")
    await ana.submit(form, {"name": "Stars out", "find": "/([*_])(x)/g", "trim": "y\nz"})
    shown = await becomes(ana, panel, "## 🟢 Stars out")
    form = await ana.click(shown, "Text")
    assert fields(form)["text"].get("value") is None
    await ana.submit(form, {"text": "$2!"})
    shown = await becomes(ana, panel, "$2!")
    form = await ana.click(shown, "Where")
    await ana.submit(
        form,
        {"places": ["1", "5"], "when": "both", "depths": "1–4", "macros": "2", "edits": ["edit"]},
    )
    shown = await becomes(ana, panel, "what people write, world books · as shown and as sent")
    assert "-# from message 1 to 4 (0 is the last) · also when a message is edited · " in shown.text
    await ana.click(shown, "Switch off")
    await becomes(ana, panel, "## ⚪ Stars out")

    # then that is how it stands
    (found,) = await stored(scene, "Mine")
    assert (found.name, found.find, found.replacement) == ("Stars out", "/([*_])(x)/g", "$2!")
    assert found.trim == ("y", "z")
    assert found.placements == {1, 5}
    assert (found.display_only, found.prompt_only, found.run_on_edit) == (True, True, True)
    assert (found.min_depth, found.max_depth, found.substitute, found.disabled) == (1, 4, 2, True)


async def test_scripts_are_ordered_and_taken_out(scene: Scene) -> None:
    ana = scene.human("Ana")
    panel = (await brought_scripts(scene, OOC, BOLD, PRUNE)).message
    shown = await opened(ana, panel, 2)
    await ana.click(shown, "🔼")
    shown = await becomes(ana, panel, "· 2/3")
    await ana.click(shown, "🔼")
    shown = await becomes(ana, panel, "· 1/3")
    assert shown.button("🔼").disabled
    assert [each.name for each in await stored(scene)] == ["Prune", "No OOC", "Loud"]
    await ana.click(shown, "🔽")
    shown = await becomes(ana, panel, "· 2/3")
    await ana.click(shown, "Remove")
    asked = await becomes(ana, panel, "Take **Prune** out of **Tidy**?")
    await ana.click(asked, "Keep")
    await ana.click(await becomes(ana, panel, "· 2/3"), "Remove")
    await ana.click(await becomes(ana, panel, "Take **Prune** out of **Tidy**?"), "Remove")
    await becomes(ana, panel, "✓ **Prune** is out of the list.")
    assert [each.name for each in await stored(scene)] == ["No OOC", "Loud"]


@pytest.mark.parametrize(
    ("button", "typed", "told"),
    [
        ("Pattern", {"find": "/(/g"}, "This pattern is not valid"),
        ("Pattern", {"find": "(?<n>a"}, "This pattern is not valid"),
        ("Where", {"depths": "all"}, "“all” is no number that fits there."),
    ],
)
async def test_what_cannot_work_is_said_and_given_back(
    scene: Scene, button: str, typed: dict[str, Any], told: str
) -> None:
    ana = scene.human("Ana")
    panel = (await brought_scripts(scene, OOC)).message
    before = await stored(scene)
    await ana.submit(await ana.click(await opened(ana, panel, 0), button), typed)
    await ana.sees("general", told)
    await ana.sees("general", "This is what you wrote.")
    assert await stored(scene) == before


async def test_who_was_faster_wins(scene: Scene) -> None:
    # given one list on two screens
    ana = scene.human("Ana")
    one = (await brought_scripts(scene, OOC, BOLD)).message
    two = (await ana.slash("general", "regex show", scripts="Tidy")).message
    first, second = await opened(ana, one, 0), await opened(ana, two, 0)
    form = await ana.click(second, "Text")

    # when it is changed on one, and then on the other, across a restart
    await ana.click(first, "🔽")
    await becomes(ana, one, "· 2/2")
    await scene.running.restart()
    await ana.submit(form, {"text": "lost?"})

    # then the second changes nothing, shows what is there now, and gives the words back
    await ana.sees("general", "It has been changed meanwhile.")
    assert content_of(scene.wire, (await ana.sees("general", "This is what you wrote.")).raw) == "lost?"
    await becomes(ana, two, "## 🟢 Loud")
    assert [(each.name, each.replacement) for each in await stored(scene)] == [
        ("Loud", "**SHOUT$1**"),
        ("No OOC", ""),
    ]


async def test_others_may_look_and_not_change(scene: Scene) -> None:
    await brought_scripts(scene, OOC)
    ben = scene.human("Ben")
    panel = (await ben.slash("general", "regex show", scripts="Tidy")).message
    assert labels_of(panel) == ["Bind here", "Test", "Details"]
    assert labels_of(await opened(ben, panel, 0)) == ["Back"]
    done = await ben.slash("general", "regex edit", scripts="Tidy")
    assert done.text.startswith("Only whoever brought it in")


async def test_a_right_that_was_lost_meanwhile_counts_at_the_click(scene: Scene) -> None:
    # given a steward before a script of Ana's
    promote(scene, "Ben")
    await brought_scripts(scene, OOC)
    ben = scene.human("Ben")
    shown = await opened(ben, (await ben.slash("general", "regex show", scripts="Tidy")).message, 0)

    # when he is one no longer
    world = scene.wire.world
    guild = next(iter(world.guilds.values()))
    world.set_member(world.members[f"{guild['id']}:{world.user('Ben')['id']}"], roles=[])
    for label in ("Pattern", "Text", "Where", "Switch off", "Remove"):
        assert (await ben.click(shown, label)).modal is None

    # then nothing has changed
    await ben.sees("general", "Only whoever brought it in may do that")
    assert not (await stored(scene))[0].disabled


# --- using and trying


async def test_scripts_are_bound_to_a_story_or_to_new_ones(scene: Scene) -> None:
    story = await scene.open_story()
    panel = await brought_scripts(scene, OOC)
    ana = scene.human("Ana")
    assert (await ana.click(panel.message, "Bind here")).text == "New stories here use the scripts **Tidy**."
    assert (await scene.human("Ben").slash(story.thread, "regex bind", scripts="Tidy")).text == (
        "Only whoever began the story or a moderator may do that."
    )
    bound = await ana.slash(story.thread, "regex bind", scripts="Tidy")
    assert bound.text == "This story uses the scripts **Tidy** from the next answer on."
    (binding,) = scene.bot.bindings.all()
    tidy = (await row(scene, "Tidy", "regex")).id
    assert (await scene.bot.engine.plays.selection(binding.play_id)).regex_ids == (tidy,)
    gone = await ana.slash(story.thread, "regex unbind", scripts="Tidy")
    assert gone.text == "**Tidy** is not used here any more."
    assert (await scene.bot.engine.plays.selection(binding.play_id)).regex_ids == ()


async def test_a_text_is_tried_as_an_answer_and_as_peoples_words(scene: Scene) -> None:
    await brought_scripts(scene, OOC, BOLD)
    done = await scene.human("Ana").slash(
        "general", "regex test", text="She shouted. (OOC: brb)", scripts="Tidy"
    )
    assert done.message.ephemeral
    assert done.text == (
        "## What the scripts make of it\n"
        "-# The list “Tidy” by itself\n"
        "**Before**\n```\nShe shouted. (OOC: brb)\n```\n"
        "**As an answer**\n"
        "People see\n```\nShe **SHOUTed**.\n```\n"
        "The model reads\n```\nShe **SHOUTed**. (OOC: brb)\n```\n"
        "-# Changed by: No OOC, Loud\n"
        "-# ⚠ It changes earlier answers in the request to the model. That needs an advanced strategy; "
        "under any other the model reads its answers as it wrote them.\n"
        "**As a person's words**\n"
        "People see, and the model reads\n```\nShe **SHOUTed**. (OOC: brb)\n```\n"
        "-# Changed by: Loud\n"
        "-# ⚠ It changes earlier answers in the request to the model. That needs an advanced strategy; "
        "under any other the model reads its answers as it wrote them."
    )
    assert labels_of(done.message) == ["Another text"]
    await scene.running.restart()
    form = await scene.human("Ana").click(done.message, "Another text")
    again = await scene.human("Ana").submit(form, {"text": "Nothing here."})
    assert again.text.count("Nothing changes.") == 2


async def test_the_storys_scripts_are_tried_in_its_thread(scene: Scene) -> None:
    # given a story with a list, whose card brings scripts that nobody has allowed
    hers = script("Her own", "/Mira/g", "MIRA, {{user}}")
    story = await scene.open_story(extensions={"regex_scripts": [hers]})
    await brought_scripts(scene, OOC)
    ana, chen = scene.human("Ana"), scene.human("Chen")
    await ana.slash(story.thread, "regex bind", scripts="Tidy")

    # when a text is tried before and after somebody allows them
    before = await chen.slash(story.thread, "regex test", text="Mira nods. (OOC: brb)")
    assert "-# 这个故事的 1 个脚本\n-# 角色卡或预设的脚本没有运行：还没有人允许。" in before.text
    assert "```\nMira nods.\n```" in before.text
    card = await scene.bot.engine.library.resolve(scene.owner, "card", "Mira")
    await scene.bot.engine.library.consents.give(scene.owner, card.id, True, ana.id)
    after = await ana.slash(story.thread, "regex test", text="Mira nods. (OOC: brb)")

    # then they count
    assert "-# 2 scripts of this story" in after.text
    assert "```\nMIRA, Ana nods.\n```" in after.text


async def test_outside_a_story_a_list_must_be_named(scene: Scene) -> None:
    done = await scene.human("Ana").slash("general", "regex test", text="x")
    assert done.text == (
        "No story is being played here. Name a list of scripts, or use this in the thread of a story."
    )


async def test_what_takes_too_long_is_said_and_the_rest_is_done(scene: Scene) -> None:
    evil = script("Evil", "/(a|aa)+$(?=b)|^(?:(a|aa)+)\\1$/g", "x")
    await brought_scripts(scene, evil, script("Good", "/!/g", "?"))
    done = await scene.human("Ana").slash("general", "regex test", text="a" * 3_000 + "!", scripts="Tidy")
    assert "⚠ **Evil** takes too long on this text and was left out." in done.text
    assert "-# Changed by: Good" in done.text
    assert scene.bot.engine.watches.stopped(scene.owner) == ()


# --- scripts that presets and cards bring along


async def test_scripts_of_a_card_are_looked_at_changed_and_allowed(scene: Scene) -> None:
    # given a card with a script, and its panel
    hers = script("Her own", "/x/g", "y")
    card = await scene.card("Mira", extensions={"regex_scripts": [hers]})
    consents = scene.bot.engine.library.consents
    ana = scene.human("Ana")
    panel = (await ana.slash("general", "card show", card="Mira")).message
    shown = (await ana.click(panel, "🧩")).message
    assert shown.text.startswith(
        "## 🧩 The scripts of Mira\n1 script\n🔒 They do not run: nobody has allowed them yet."
    )
    assert labels_of(shown) == ["Scripts on", "Test", "New script", "Details"]

    # when whoever looks after the library allows them, forbids them and allows them again
    await ana.click(shown, "Scripts on")
    allowed = await becomes(ana, shown, "🔓 They run in stories.")
    assert await consents.given(scene.owner, card) is True
    await ana.click(allowed, "Scripts off")
    refused = await becomes(ana, shown, "🔒 They do not run.")
    assert await consents.given(scene.owner, card) is False
    await ana.click(refused, "Scripts on")
    allowed = await becomes(ana, shown, "🔓 They run in stories.")

    # then they may run, and can be changed like any other
    script_shown = await opened(ana, allowed, 0)
    await ana.submit(await ana.click(script_shown, "Text"), {"text": "z"})
    await becomes(ana, shown, "✓ Saved.")
    assert (await scene.bot.engine.library.scripts(card))[0].replacement == "z"
    assert (await scene.bot.engine.library.card(card)).description == "Mira keeps the inn at the crossing."


async def test_whoever_lost_the_right_cannot_let_scripts_run(scene: Scene) -> None:
    promote(scene, "Ben")
    card = await scene.card("Mira", extensions={"regex_scripts": [script("Her own", "/x/g", "y")]})
    ben = scene.human("Ben")
    panel = (await ben.slash("general", "card show", card="Mira")).message
    shown = (await ben.click(panel, "🧩")).message
    world = scene.wire.world
    guild = next(iter(world.guilds.values()))
    world.set_member(world.members[f"{guild['id']}:{world.user('Ben')['id']}"], roles=[])
    await ben.click(shown, "Scripts on")
    await ben.sees("general", "Only whoever brought it in may do that")
    assert await scene.bot.engine.library.consents.given(scene.owner, card) is None
