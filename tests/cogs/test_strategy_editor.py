"""The editor of a strategy beyond its list: parts with places of their own, the automatic order, back ends,
what the history keeps, and what would come of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.screen import Shown
from engine.assembler import Anchor, Definition, Position, SavedPosition
from tests.cogs.test_card import becomes, promote
from tests.cogs.test_card_edit import fields
from tests.cogs.test_strategy import LORE, harbour, kept, opened, own, pressed, told, used
from tests.e2e.scene import Scene, labels_of

PART = "A part of it …"
WHERE = "Put it …"


def labels(panel: Shown, placeholder: str) -> list[str]:
    """The options of a menu."""
    return [label for label, _ in next(it for it in panel.menus if it.placeholder == placeholder).options]


def chosen_in(panel: Shown, placeholder: str) -> list[str]:
    """What a menu shows as taken."""

    def menus(parts: list[Any]) -> Any:
        for part in parts:
            yield part
            yield from menus(part.get("components", []))

    (menu,) = [it for it in menus(panel.raw["components"]) if it.get("placeholder") == placeholder]
    return [option["label"] for option in menu["options"] if option.get("default")]


async def shows(who: Human, panel: Shown, placeholder: str, option: str) -> Shown:
    """The panel once its menu shows that as taken."""

    def taken(message: Shown) -> bool:
        return message.id == panel.id and option in chosen_in(message, placeholder)

    return await who.sees(panel.channel_id, taken)


async def without(who: Human, panel: Shown, text: str) -> Shown:
    """The panel once it does not say that any more."""
    return await who.sees(panel.channel_id, lambda it: it.id == panel.id and text not in it.text)


async def editor(scene: Scene, who: Human, where: str = "general", **names: str) -> Shown:
    return (await who.slash(where, "strategy edit", **names)).message


async def picked(who: Human, panel: Shown, placeholder: str, option: str | list[str], until: str) -> Shown:
    options = [option] if isinstance(option, str) else option
    await who.select(panel, placeholder, *options)
    return await becomes(who, panel, until)


async def saved_of(scene: Scene, who: Human, panel: Shown) -> dict[tuple[str, str], SavedPosition]:
    """What is said of positions, once the panel was saved."""
    await pressed(who, await pressed(who, panel, "Back", "## ✏️"), "Save", "✓ Saved.")
    (made,) = await own(scene)
    assert made.strategy.layout is not None
    return {position.key: position for position in made.strategy.layout.positions or ()}


# --- parts


async def test_one_part_of_the_lore_is_put_behind_the_conversation(scene: Scene) -> None:
    # given a story whose preset has the world book before the conversation
    story = await harbour(scene)
    ana = scene.human("Ana")
    await story.exchange("Ana", "Hello.", "Welcome.")

    # when Ana looks at the world book's parts
    module = await opened(ana, await editor(scene, ana, story.thread), "World books")
    assert "**Parts**\n🟢 Before the character\n🟢 After the character\n" in module.text
    assert labels(module, PART)[-1] == "🟢 At a depth"
    part = await picked(ana, module, PART, "🟢 Before the character", "## World books / Before the character")
    assert "Place: where its resource has it, before: Card / Description, Personality, Scenario" in part.text
    assert labels_of(part) == ["Switch off", "Back"]

    # and puts one of them behind the conversation, after the bot was restarted
    await scene.running.restart()
    assert labels(part, WHERE)[0] == "At the very end"
    part = await picked(ana, part, WHERE, "Next to: Conversation", "before or behind **Conversation**?")
    assert labels_of(part) == ["Before", "Behind", "Back"]
    part = await pressed(ana, part, "Behind", "wins over everything automatic")
    assert "Place: behind *Conversation*. You put it there" in part.text
    assert labels_of(part) == ["Switch off", "Follow the resource", "Back"]
    module = await pressed(ana, part, "Back", "## World books\n")
    assert "1 part placed by you" in module.text
    assert "🟢 Before the character · behind *Conversation*" in module.text
    assert "Place: where the preset has it" in module.text

    # then it is sent there
    back = await pressed(ana, module, "Back", "## ✏️")
    assert "5. 🟢 **World books** · where the preset has it · 1 part placed by you" in back.text
    saved = await pressed(ana, back, "Save", "✓ Your copy is kept.")
    await ana.click(saved, "Apply here")
    await story.exchange("Ana", "Which way?", "That way.")
    call = scene.model.calls[-1]
    assert LORE not in call.system
    texts = [str(message["content"]) for message in call.body["messages"]]
    at = next(at for at, text in enumerate(texts) if LORE in text)
    assert "Welcome." in texts[at - 1] and "Which way?" in texts[at + 1]

    # and following the resource gives it back
    edit = await pressed(ana, saved, "Edit", "## ✏️")
    module = await opened(ana, edit, "World books")
    part = await picked(ana, module, PART, "🟢 Before the character", "## World books / Before the character")
    part = await pressed(ana, part, "Follow the resource", "Place: where its resource has it")
    assert await saved_of(scene, ana, await pressed(ana, part, "Back", "## World books\n")) == {}


async def test_a_part_is_left_out_and_another_goes_to_the_end(scene: Scene) -> None:
    await kept(scene)
    ana = scene.human("Ana")
    module = await opened(ana, await editor(scene, ana, strategy="Ours"), "Card")
    part = await picked(ana, module, PART, "🟢 Scenario", "## Card / Scenario")
    part = await pressed(ana, part, "Switch off", "⚪ left out")
    module = await pressed(ana, part, "Back", "## Card\n")
    assert "⚪ Scenario" in module.text
    part = await picked(ana, module, PART, "🟢 Personality", "## Card / Personality")
    # what is off is nothing to stand next to
    assert "Next to: Card / Scenario" not in labels(part, WHERE)
    part = await picked(ana, part, WHERE, "At the very end", "Place: at the very end. You put it there")
    assert await saved_of(scene, ana, await pressed(ana, part, "Back", "## Card\n")) == {
        ("character", "scenario"): SavedPosition("character", "scenario", False),
        ("character", "personality"): SavedPosition("character", "personality", True, True, "end"),
    }


async def test_nothing_is_offered_that_would_go_round_in_a_circle(scene: Scene) -> None:
    await kept(scene)
    ana = scene.human("Ana")
    module = await opened(ana, await editor(scene, ana, strategy="Ours"), "Persona")
    part = await picked(ana, module, PART, "🟢 Persona", "## Persona\n🟢 on")
    part = await picked(ana, part, WHERE, "Next to: Card / Description", "before or behind")
    part = await pressed(ana, part, "Before", "Place: before *Card / Description*")
    panel = await pressed(ana, await pressed(ana, part, "Back", "3 of 8"), "Back", "## ✏️")
    module = await opened(ana, panel, "Card")
    part = await picked(ana, module, PART, "🟢 Description", "## Card / Description")
    offered = labels(part, WHERE)
    assert "Next to: Persona" not in offered and "Next to: Card / Scenario" in offered
    saved = await saved_of(scene, ana, await pressed(ana, part, "Back", "## Card\n"))
    anchor = Anchor("character", "description", "before")
    assert saved == {("persona", "persona"): SavedPosition("persona", "persona", True, True, anchor)}


async def test_a_part_of_nothing_here_is_said_and_forgotten(scene: Scene) -> None:
    gone = {"sourceId": "character", "positionId": "voice", "enabled": False, "placement": "source"}
    base = {
        "version": 1,
        "source": "preset-slots",
        "identity": "position",
        "fallback": "error",
        "overrides": [],
    }
    await kept(scene, layout={**base, "positions": [gone]})
    ana = scene.human("Ana")
    module = await opened(ana, await editor(scene, ana, strategy="Ours"), "Card")
    assert "⚠️ `voice` is not a part of this module here." in module.text
    part = await picked(ana, module, PART, "⚠️ voice", "## Card / voice")
    module = await pressed(ana, part, "Forget", "## Card\n")
    assert "voice" not in module.text
    assert await saved_of(scene, ana, module) == {}


async def test_where_a_strategy_has_no_places_it_says_so_and_can_get_some(scene: Scene) -> None:
    # given the strategy that goes by roles
    ana = scene.human("Ana")
    panel = await editor(scene, ana, strategy="Roles first")
    module = await opened(ana, panel, "World books")
    assert "Its parts have no places of their own in this strategy." in module.text
    assert PART not in [menu.placeholder for menu in module.menus]

    # when the list is to decide
    panel = await pressed(ana, module, "Back", "## ✏️")
    whole = await pressed(ana, panel, "Settings", "## ⚙️ Roles first")
    assert [menu.placeholder for menu in whole.menus] == ["Back end …", "Who decides …"]
    assert chosen_in(whole, "Who decides …") == ["Who decides: each part's role"]
    whole = await picked(
        ana, whole, "Who decides …", "Who decides: this list", "**Automatic order**: preset › resource › list"
    )

    # then it has them
    module = await opened(ana, await pressed(ana, whole, "Back", "## ✏️"), "World books")
    assert labels(module, PART)[0] == "🟢 Before the character"


async def test_in_chinese(scene: Scene) -> None:
    story = await scene.open_story(who="Chen")
    chen = scene.human("Chen")
    panel = await editor(scene, chen, story.thread)
    assert "**这样的话，这里的下一次请求：**" in panel.text
    (value,) = [value for label, value in panel.menus[0].options if label.endswith("世界书")]
    await chen.select(panel, "修改一个模块……", value)
    module = await becomes(chen, panel, "**组成部分**\n🟢 角色前\n🟢 角色后")
    part = await picked(chen, module, "它的一个部分……", "🟢 角色前", "## 世界书 / 角色前")
    assert "位置: 跟随资源位置，在这之前：角色卡 / 角色描述, 性格, 场景" in part.text
    part = await picked(chen, part, "把它放到……", "最末尾", "这是你的自定义定位，始终优先于一切自动规则")
    assert labels_of(part) == ["停用", "跟随资源位置", "返回"]


# --- the whole


async def test_the_settings_of_the_whole_are_menus_that_show_what_holds(scene: Scene) -> None:
    # given a strategy of Ana's
    await kept(scene)
    ana = scene.human("Ana")
    panel = await editor(scene, ana, strategy="Ours")
    whole = await pressed(ana, panel, "Settings", "## ⚙️ Ours")
    now = [chosen_in(whole, menu.placeholder) for menu in whole.menus]
    assert now == [
        ["Back end: standard"],
        ["Who decides: the preset"],
        ["Order: preset › resource › list"],
        ["Roles: as the place needs"],
        ["A missing place: keep the list's order"],
    ]
    assert len(labels(whole, "Automatic order …")) == 7

    # when she changes each of them
    for placeholder, option in (
        ("Automatic order …", "Order: list › preset › resource"),
        ("Roles …", "Roles: each part keeps its own"),
        ("A missing place …", "A missing place: refuse to send"),
        ("Who decides …", "Who decides: this list"),
    ):
        await ana.select(whole, placeholder, option)
        whole = await shows(ana, whole, placeholder, option)
    form = await ana.click(whole, "Name")
    assert list(fields(form)) == ["name"]
    await ana.submit(form, {"name": "Listed"})
    whole = await becomes(ana, whole, "## ⚙️ Listed")

    # then it is saved so
    panel = await pressed(ana, whole, "Back", "## ✏️ Listed")
    await pressed(ana, panel, "Save", "✓ Saved.")
    (made,) = await own(scene)
    layout = made.strategy.layout
    assert layout is not None
    assert (layout.source, layout.identity, layout.fallback) == ("manual", "preserve", "error")
    assert layout.priority == ("default", "preset", "resource")


async def test_the_automatic_order_can_be_switched_off(scene: Scene) -> None:
    await kept(scene)
    ana = scene.human("Ana")
    whole = await pressed(ana, await editor(scene, ana, strategy="Ours"), "Settings", "## ⚙️")
    off = "Order: none, only this list"
    whole = await picked(ana, whole, "Automatic order …", off, "**Automatic order**: off.")
    assert chosen_in(whole, "Automatic order …") == [off]
    usual = "Order: preset › resource › list"
    whole = await picked(ana, whole, "Automatic order …", usual, "order**: preset")
    # and nothing differs any more
    panel = await pressed(ana, whole, "Back", "## ✏️")
    assert panel.button("Save").disabled


async def test_the_advanced_back_end_offers_more_and_says_that_it_is_off_here(scene: Scene) -> None:
    # given a strategy of the standard back end
    story = await scene.open_story()
    await kept(scene)
    ana = scene.human("Ana")
    panel = await editor(scene, ana, story.thread, strategy="Ours")
    whole = await pressed(ana, panel, "Settings", "**Standard**: texts stand before or behind")

    # when it is to be advanced
    whole = await picked(ana, whole, "Back end …", "Back end: advanced", "**It is not switched on here**")

    # then the panel says what comes of it, and its modules can have more
    needs = "⚠️ **Nothing could be sent like this.** This strategy needs the advanced back end."
    assert needs in whole.text
    module = await opened(ana, await pressed(ana, whole, "Back", "## ✏️"), "World books")
    form = await ana.click(module, "Settings")
    assert list(fields(form)) == ["role", "lifetime", "depth"]
    assert [option["value"] for option in fields(form)["role"]["options"]] == [
        "preserve",
        "system",
        "user",
        "assistant",
    ]
    await ana.submit(form, {"role": ["assistant"], "depth": "2"})
    module = await becomes(ana, module, "Depth: 2 messages before the end")

    # and going back it tells what does not fit
    whole = await pressed(ana, await pressed(ana, module, "Back", "## ✏️"), "Settings", "## ⚙️")
    whole = await picked(ana, whole, "Back end …", "Back end: standard", "because of *World books*")
    assert "need the advanced back end" in whole.text


# --- the history


async def test_which_old_texts_go_is_chosen(scene: Scene) -> None:
    await kept(scene)
    ana = scene.human("Ana")
    whole = await pressed(ana, await editor(scene, ana, strategy="Ours"), "Settings", "everything stays")
    history = await pressed(ana, whole, "History", "⚪ Nothing is taken out.")
    assert "✂️ Texts that a strategy added\n✂️ Facts that were told" in history.text
    kinds = "What is taken out …"
    assert chosen_in(history, kinds) == ["✂️ Texts that a strategy added", "✂️ Facts that were told"]
    history = await pressed(ana, history, "Switch on", "🟢 Old texts of the kinds marked")
    history = await picked(ana, history, kinds, "✂️ Texts that a strategy added", "📌 Facts that were told")
    assert chosen_in(history, kinds) == ["✂️ Texts that a strategy added"]

    # what only the advanced back end can do is said to be missing, and is not offered
    assert "is not available: a standard strategy only takes out whole texts" in history.text
    assert [menu.placeholder for menu in history.menus] == [kinds]
    assert labels_of(history) == ["Switch off", "Back"]

    # none at all is possible too
    none = await picked(ana, history, kinds, [], "📌 Texts that a strategy added")
    whole = await pressed(ana, none, "Back", "switched on, but no kind is chosen")
    history = await pressed(ana, whole, "History", "🧹")
    history = await picked(ana, history, kinds, "✂️ Texts that a strategy added", "✂️ Texts that a")
    whole = await pressed(ana, history, "Back", "old added texts go: Texts that a strategy added")
    panel = await pressed(ana, whole, "Back", "tidies the history")
    await pressed(ana, panel, "Save", "✓ Saved.")
    (made,) = await own(scene)
    policy = made.strategy.history_policy
    assert policy is not None and policy.enabled
    assert policy.excludes("dsh-prompt-assembler") and not policy.excludes("runtime-context")
    # of what was not asked about nothing was changed
    assert policy.sources["tool"] is False


async def test_with_the_advanced_back_end_passages_and_kinds_of_content_go(scene: Scene) -> None:
    # given an advanced strategy
    await kept(scene, backend="core")
    ana = scene.human("Ana")
    whole = await pressed(ana, await editor(scene, ana, strategy="Ours"), "Settings", "## ⚙️")
    history = await pressed(ana, whole, "History", "**Old messages lose**: Reasoning")
    assert "No passage is cut out of old answers." in history.text

    # when pictures go, and a passage is added
    content = "What old messages lose …"
    both = ["Old messages without pictures", "Old messages without reasoning"]
    history = await picked(ana, history, content, both, "**Old messages lose**: Pictures, Reasoning")
    form = await ana.click(history, "Add passage")
    assert list(fields(form)) == ["start", "end", "mode", "source_kind"]
    await ana.submit(form, {"start": "<status>", "end": "</status>", "mode": ["lines"]})
    passage = await becomes(ana, history, "Begins with: `<status>`\nEnds with: `</status>`")
    assert "Whose old texts: What the model said" in passage.text

    # then it can be changed, switched off and removed
    form = await ana.click(passage, "Change")
    await ana.submit(form, {"start": "[[", "end": "]]", "mode": ["literal"]})
    passage = await becomes(ana, passage, "How it is found: anywhere in the text")
    passage = await pressed(ana, passage, "Switch off", "⚪ off")
    history = await pressed(
        ana, passage, "Back", "⚪ `[[` … `]]` · anywhere in the text · What the model said"
    )
    passage = await picked(ana, history, "A passage …", "[[ … ]]", "## A passage")
    passage = await pressed(ana, passage, "Switch on", "🟢 on")
    wrong = await ana.click(passage, "Change")
    await ana.submit(wrong, {"start": "same", "end": "same"})
    await told(ana, "What the strategy says about the history cannot be read.")
    history = await pressed(ana, passage, "Back", "✂️ `[[` … `]]`")
    await pressed(ana, await pressed(ana, await pressed(ana, history, "Back", "⚙️"), "Back", "✏️"), "Save", "✓")
    (made,) = await own(scene)
    policy = made.strategy.history_policy
    assert policy is not None
    assert (policy.text, policy.image, policy.reasoning) == (True, False, False)
    assert [(it.start, it.mode, it.enabled) for it in policy.fragments] == [("[[", "literal", True)]


async def test_a_standard_strategy_that_asks_for_more_is_mended_with_one_button(scene: Scene) -> None:
    # given a file from elsewhere
    policy = {
        "version": 1,
        "enabled": True,
        "sources": [{"kind": "example.memory", "include": False}],
        "contentTypes": {"text": True, "image": False, "reasoning": False},
        "fragments": [
            {
                "id": "a",
                "sourceKind": "model",
                "start": "<a>",
                "end": "</a>",
                "mode": "lines",
                "enabled": True,
            }
        ],
    }
    await kept(scene, historyPolicy=policy)
    ana = scene.human("Ana")
    whole = await pressed(ana, await editor(scene, ana, strategy="Ours"), "Settings", "## ⚙️")

    # when its history is looked at
    history = await pressed(ana, whole, "History", "⚠️ It does ask for some of that")
    assert "✂️ `<a>` … `</a>`" in history.text and "✂️ example.memory" in history.text

    # then what cannot be done is taken out of it, and the passage is not lost
    await ana.click(history, "Leave out")
    history = await without(ana, history, "⚠️")
    assert "is not available: a standard strategy" in history.text
    whole = await pressed(ana, history, "Back", "old added texts go: example.memory")
    await pressed(ana, await pressed(ana, whole, "Back", "## ✏️"), "Save", "✓ Saved.")
    (made,) = await own(scene)
    after = made.strategy.history_policy
    assert after is not None and after.image
    assert [(it.id, it.enabled) for it in after.fragments] == [("a", False)]


# --- what would come of it


async def test_every_panel_says_what_the_next_request_would_be(scene: Scene) -> None:
    # given Ana's story, with lore before the conversation
    story = await harbour(scene)
    ana = scene.human("Ana")
    await story.exchange("Ana", "Hello.", "Welcome.")
    ahead = "**The next request here, with this:**"
    panel = await editor(scene, ana, story.thread)
    assert ahead in panel.text and "World books" in panel.text.split(ahead)[1]

    # when the world book is switched off
    module = await opened(ana, panel, "World books")
    off = await pressed(ana, module, "Switch off", "⚪ off")

    # then the bar has none of it any more, although the story still does
    assert "World books" not in off.text.split(ahead)[1]
    back = await pressed(ana, off, "Back", "## ✏️")
    assert "World books" not in back.text.split(ahead)[1]
    await story.exchange("Ana", "And now?", "Still here.")
    assert LORE in scene.model.calls[-1].system

    # and nobody else, and nowhere else, sees a bar
    ben = scene.human("Ben")
    assert ahead not in (await editor(scene, ben, story.thread)).text
    assert ahead not in (await editor(scene, ana, "general")).text


# --- two at once


async def test_two_who_save_at_the_same_moment_lose_nothing(scene: Scene) -> None:
    # given two people with changes of their own to one strategy
    made = await kept(scene)
    promote(scene, "Ben")
    ana, ben = scene.human("Ana"), scene.human("Ben")
    hers = await editor(scene, ana, strategy="Ours")
    his = await editor(scene, ben, strategy="Ours")
    hers = await pressed(ana, await opened(ana, hers, "Persona"), "Switch off", "⚪ off")
    his = await pressed(ben, await opened(ben, his, "Card"), "Switch off", "⚪ off")
    hers = await pressed(ana, hers, "Back", "## ✏️")
    his = await pressed(ben, his, "Back", "## ✏️")

    # when both press Save
    await asyncio.gather(ana.click(hers, "Save"), ben.click(his, "Save"))
    saved = "✓ Saved."
    await ana.wait_for(lambda: saved in ana.shown(hers).text or saved in ben.shown(his).text)

    # then one has saved, and the other is told and has their draft still
    strategy = (await scene.bot.engine.strategies.store.get(scene.owner, made.id)).strategy
    off = [rule.kind for rule in strategy.rules if not rule.enabled]
    assert off in (["persona"], ["character"])
    late, panel, theirs = ben, his, "4. ⚪ **Card**"
    if off == ["character"]:
        late, panel, theirs = ana, hers, "3. ⚪ **Persona**"
    await told(late, "Another version has been saved meanwhile. Nothing of it was written over")
    panel = await becomes(late, panel, "Another version has been saved since you began")
    assert theirs in panel.text
    await pressed(late, panel, "Save a copy", "✓ Your copy is kept.")
    switched = {
        each.strategy.name: [rule.kind for rule in each.strategy.rules if not rule.enabled]
        for each in await own(scene)
    }
    assert sorted(switched) == ["Ours", "Ours – copy"]
    assert sorted(kind for kinds in switched.values() for kind in kinds) == ["character", "persona"]


async def test_what_was_deleted_meanwhile_is_kept_as_a_copy(scene: Scene) -> None:
    # given Ben, who changes what Ana has made, when she deletes it
    await kept(scene)
    promote(scene, "Ben")
    ana, ben = scene.human("Ana"), scene.human("Ben")
    his = await editor(scene, ben, strategy="Ours")
    his = await pressed(ben, await opened(ben, his, "Card"), "Switch off", "⚪ off")
    asked = await ana.slash("general", "strategy delete", strategy="Ours")
    await pressed(ana, asked.message, "Delete", "is deleted.")
    assert await own(scene) == []

    # then he is told, and has lost nothing
    his = await pressed(ben, his, "Back", "Somebody has deleted this strategy since you began.")
    assert labels_of(his) == ["Save a copy", "Add text", "Settings"]
    await pressed(ben, his, "Save a copy", "✓ Your copy is kept.")
    (copy,) = await own(scene)
    assert (copy.strategy.name, copy.created_by) == ("Ours", str(ben.id))
    assert [rule.kind for rule in copy.strategy.rules if not rule.enabled] == ["character"]


async def test_only_the_version_on_the_panel_is_applied_or_deleted(scene: Scene) -> None:
    # given Ana, who looks at a strategy, and Ben, who saves another version of it
    story = await scene.open_story()
    await kept(scene)
    promote(scene, "Ben")
    ana, ben = scene.human("Ana"), scene.human("Ben")
    shown = await ana.slash(story.thread, "strategy show", strategy="Ours")
    asked = await ana.slash("general", "strategy delete", strategy="Ours")
    his = await editor(scene, ben, strategy="Ours")
    his = await pressed(ben, await opened(ben, his, "Card"), "Switch off", "⚪ off")
    await pressed(ben, await pressed(ben, his, "Back", "## ✏️"), "Save", "✓ Saved.")

    # when she applies, and then deletes what she has seen
    refused = await ana.click(shown.message, "Apply here")
    await ana.click(asked.message, "Delete")

    # then she is told to look again, and neither has happened
    assert refused.text.startswith("Another version has been saved meanwhile.")
    await told(ana, "Another version has been saved meanwhile.")
    applied = await used(scene, story)
    assert applied is not None and applied.id == "builtin-native-slots"
    assert len(await own(scene)) == 1


async def test_a_file_with_everything_goes_through_the_editor_unharmed(scene: Scene) -> None:
    """What the editor shows and does not touch is saved as it was."""
    layout = {
        "version": 1,
        "source": "manual",
        "identity": "position",
        "fallback": "source-order",
        "overrides": [{"target": "rule:phi", "anchor": "rule:persona", "side": "after", "detach": False}],
        "priority": ["example.first", "resource", "preset", "default"],
        "positions": [
            {"sourceId": "worldbook", "positionId": "after", "enabled": True, "placement": "list"},
            {"sourceId": "example", "positionId": "x", "enabled": True, "placement": "list", "anchor": "end"},
        ],
    }
    made = await kept(scene, layout=layout)
    ana = scene.human("Ana")
    panel = await editor(scene, ana, strategy="Ours")
    whole = await pressed(ana, panel, "Settings", "order**: example.first › resource › preset › list")
    assert "**Single blocks**: 1 is placed apart, by the file that this strategy came from." in whole.text
    panel = await pressed(ana, whole, "Back", "## ✏️")
    module = await pressed(ana, await opened(ana, panel, "Persona"), "Switch off", "⚪ off")
    await pressed(ana, await pressed(ana, module, "Back", "## ✏️"), "Save", "✓ Saved.")
    (after,) = await own(scene)
    wire, before = after.strategy.to_wire(), made.strategy.to_wire()
    persona = next(rule for rule in wire["rules"] if rule["id"] == "persona")
    assert persona.pop("enabled") is False
    next(rule for rule in before["rules"] if rule["id"] == "persona").pop("enabled")
    assert json.dumps(wire) == json.dumps(before)


async def test_a_source_with_many_parts_is_shown_in_pages(scene: Scene) -> None:
    # given a plug-in whose source has thirty parts

    engine = scene.bot.engine
    parts = tuple(Position(f"p{n}", (f"部分 {n}", f"Part {n}"), field=f"p{n}") for n in range(30))
    engine.strategies.sources.register(
        Definition(
            id="example.many", plugin_id="example", name="Many", resolve=lambda *_: None, positions=parts
        )
    )
    await kept(scene)
    (made,) = await own(scene)
    wire = made.strategy.to_wire()
    wire["rules"].append({"id": "many", "kind": "example.many"})
    file = Upload("many.json", json.dumps({**wire, "name": "Many"}).encode())
    ana = scene.human("Ana")
    await ana.slash("general", "strategy import", file=file)

    # when somebody looks for the last one
    module = await opened(ana, await editor(scene, ana, strategy="Many"), "example.many")
    assert "🟢 Part 9\n… and 20 more parts" in module.text
    assert len(labels(module, PART)) == 24
    await ana.select(module, PART, "More …")
    for _ in range(50):
        module = await becomes(ana, module, "## example.many\n")
        if "🟢 Part 29" in labels(module, PART):
            break
        await asyncio.sleep(0.1)
    part = await picked(ana, module, PART, "🟢 Part 29", "## example.many / Part 29")

    # then it can be put next to anything, of which there are pages too
    assert len(labels(part, WHERE)) == 25
    part = await picked(ana, part, WHERE, "Next to: Conversation", "before or behind")
    part = await pressed(ana, part, "Before", "Place: before *Conversation*")
