"""`/template`: all that a story uses, under a name, applied to others as one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.sandbox.limits import Upload
from engine.library import Selection, Template
from tests.cogs.test_card import becomes, promote
from tests.cogs.test_card_import import content_of
from tests.e2e.scene import Scene, Story, labels_of


async def book(scene: Scene, name: str = "Harbour") -> str:
    entry = {"uid": 0, "key": ["harbour"], "content": f"{name} is foggy.", "comment": ""}
    data = json.dumps({"name": name, "entries": {"0": entry}}).encode()
    return (await scene.bot.engine.library.import_book(scene.owner, data, f"{name}.json", "test")).id


async def preset(scene: Scene, name: str = "Rain") -> str:
    prompts = [{"identifier": "main", "name": "Main", "role": "system", "content": f"Write like {name}."}]
    order = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]
    data = json.dumps({"prompts": prompts, "prompt_order": order}).encode()
    return (await scene.bot.engine.library.import_preset(scene.owner, data, f"{name}.json", "test")).id


def play_of(scene: Scene, story: Story) -> str:
    binding = scene.bot.bindings.of_channel(int(story.thread))
    assert binding is not None
    return binding.play_id


async def uses(scene: Scene, story: Story) -> Selection:
    return await scene.bot.engine.plays.selection(play_of(scene, story))


async def change(scene: Scene, story: Story, **chosen: Any) -> None:
    plays = scene.bot.engine.plays
    await plays.select(play_of(scene, story), lambda old: replace(old, **chosen))


async def templates(scene: Scene) -> list[Template]:
    return list(await scene.bot.engine.library.templates.list(scene.owner))


async def furnished(scene: Scene) -> Story:
    """A story with a preset, a book and a tool, and its template, kept by Ana."""
    story = await scene.open_story()
    await change(
        scene,
        story,
        preset_id=await preset(scene),
        book_ids=(await book(scene),),
        tools=("dice",),
        greeting_index=1,
    )
    await scene.human("Ana").slash(story.thread, "template save", name="The inn")
    return story


# --- save, show, list


async def test_what_a_story_uses_is_kept_and_shown_in_words(scene: Scene) -> None:
    story = await furnished(scene)
    await scene.running.restart()
    shown = await scene.human("Ben").slash(story.thread, "template show", template="inn")
    assert shown.text.startswith("No template here is called “inn”.")
    shown = await scene.human("Ben").slash(story.thread, "template show", template="the inn")
    assert shown.message.ephemeral
    assert shown.text.splitlines() == [
        "## The inn",
        "Card: **Mira** · greeting 2",
        "Preset: **Rain**",
        "{{user}}: whoever begins the story",
        "World books: **Harbour**",
        "Regex lists: none",
        "Tools: Dice",
    ]
    # Ben may use it; changing it is for whoever kept it
    assert labels_of(shown.message) == ["Apply here", "Bind here", "Export"]
    hers = await scene.human("Ana").slash(story.thread, "template show", template="The inn")
    assert labels_of(hers.message) == ["Apply here", "Bind here", "Edit", "Export", "Delete"]


async def test_saving_says_what_was_kept_and_a_name_is_taken_once(scene: Scene) -> None:
    story = await scene.open_story()
    done = await scene.human("Ana").slash(story.thread, "template save", name="The inn")
    assert done.text.startswith("✓ Kept. `/template apply` uses it in another story.\n## The inn\n")
    again = await scene.human("Ben").slash(story.thread, "template save", name="The inn")
    assert again.text.startswith("There is a template called “The inn” already.")
    nowhere = await scene.human("Ana").slash("general", "template save", name="Nothing")
    assert nowhere.text == "No story is being played here. `/play new` begins one."
    assert [found.name for found in await templates(scene)] == ["The inn"]


async def test_a_persona_is_kept_only_by_whose_it_is(scene: Scene) -> None:
    story = await scene.open_story()
    ana = scene.human("Ana")
    await ana.slash(story.thread, "persona set", name="Vale")
    await ana.slash(story.thread, "persona bind")
    hers = await ana.slash(story.thread, "template save", name="hers")
    his = await scene.human("Ben").slash(story.thread, "template save", name="his")
    assert "{{user}}: **Vale**" in hers.text
    assert "{{user}}: whoever begins the story" in his.text
    assert "The story's persona is somebody else's, so it was left out." in his.text


async def test_the_list_names_them_and_opens_one(scene: Scene) -> None:
    ana = scene.human("Ana")
    empty = await ana.slash("general", "template list")
    assert empty.text == (
        "## Templates\nThere are no templates yet. `/template save` keeps what a story uses."
    )
    await furnished(scene)
    listed = await ana.slash("general", "template list")
    assert listed.text == "## Templates · 1\n**The inn** · 1 world book · 1 tool"
    (found,) = await templates(scene)
    (menu,) = listed.message.menus
    opened = await ana.select(listed.message, menu.custom_id, found.id)
    assert opened.text.startswith("## The inn\n")
    assert labels_of(opened.message)[0] == "Bind here"  # no story is here to apply it to


async def test_in_chinese(scene: Scene) -> None:
    story = await furnished(scene)
    shown = await scene.human("Chen").slash(story.thread, "template show", template="The inn")
    assert shown.text.splitlines() == [
        "## The inn",
        "角色卡：**Mira** · 第 2 个开场白",
        "预设：**Rain**",
        "{{user}}：开始故事的人",
        "世界书：**Harbour**",
        "正则列表：无",
        "工具：骰子",
    ]


async def test_typing_offers_templates(scene: Scene) -> None:
    await furnished(scene)
    (found,) = await templates(scene)
    ben = scene.human("Ben")
    offered = await ben.autocomplete("general", "template show", "template", "INN")
    assert offered == [{"name": "The inn", "value": found.id}]
    assert await ben.autocomplete("general", "template show", "template", "sea") == []


# --- apply


async def test_a_template_is_applied_to_another_story_with_the_same_card(scene: Scene) -> None:
    # given a template, and another story with the same card that has not begun
    await furnished(scene)
    other = scene.story(await scene.human("Ben").slash("general", "play new", card="Mira"))
    await change(scene, other, book_ids=(await book(scene, "Old"),))
    assert other.lines() == ["Mira: The door is open."]

    # when Ben applies it to his story
    done = await scene.human("Ben").slash(other.thread, "template apply", template="The inn")

    # then all of it holds, and the greeting that stands there is the one that it says
    assert done.text == "From the next answer on this story uses all that **The inn** says."
    (found,) = await templates(scene)
    used = await uses(scene, other)
    assert (used.preset_id, used.book_ids) == (found.selection.preset_id, found.selection.book_ids)
    assert used.tools == ("dice",)
    await other.reads("Mira: It rains. The door is shut.")
    await other.exchange("Ben", "To the harbour.", "Good.")
    assert "Write like Rain." in scene.model.calls[-1].system
    assert "Harbour is foggy." in scene.model.calls[-1].system


async def test_the_button_applies_it_after_a_restart_to_whoever_owns_the_story(scene: Scene) -> None:
    story = await furnished(scene)
    await change(scene, story, tools=())
    panel = await scene.human("Ben").slash(story.thread, "template show", template="The inn")
    hers = await scene.human("Ana").slash(story.thread, "template show", template="The inn")
    await scene.running.restart()
    refused = await scene.human("Ben").click(panel.message, "Apply here")
    assert refused.text == "Only whoever began the story or a moderator may do that."
    assert (await uses(scene, story)).tools == ()
    await scene.human("Ana").click(hers.message, "Apply here")
    assert (await uses(scene, story)).tools == ("dice",)


async def test_a_template_that_misses_something_is_not_applied_at_all(scene: Scene) -> None:
    # given a template whose book was deleted
    story = await furnished(scene)
    (found,) = await templates(scene)
    await scene.bot.engine.library.delete(found.selection.book_ids[0], release=False)
    await change(scene, story, tools=(), preset_id=None)
    before = await uses(scene, story)

    # when it is looked at and applied
    shown = await scene.human("Ana").slash(story.thread, "template show", template="The inn")
    done = await scene.human("Ana").slash(story.thread, "template apply", template="The inn")

    # then what is missing is named, and the story uses exactly what it used
    assert "World books: ~~Harbour~~" in shown.text
    assert shown.text.endswith(
        "One thing that it uses is missing, so it cannot be applied:\n"
        "- ✗ The world book **Harbour**: deleted from the library"
    )
    assert next(b for b in shown.message.buttons if b.label == "Apply here").disabled
    assert done.text == (
        "**The inn** cannot be applied, and nothing was changed. This is missing:\n"
        "- ✗ The world book **Harbour**: deleted from the library"
    )
    assert await uses(scene, story) == before


async def test_the_template_of_another_card_is_offered_without_it(scene: Scene) -> None:
    # given a template for Mira, and a story with Bea
    await furnished(scene)
    other = await scene.open_story("Bea", greetings=("I am Bea.",))
    before = await uses(scene, other)
    done = await scene.human("Ana").slash(other.thread, "template apply", template="The inn")
    assert done.text == (
        "**The inn** is for **Mira**, and a story keeps its character. Everything else of it can be applied."
    )
    assert await uses(scene, other) == before

    # when Ana takes the rest, after a restart
    await scene.running.restart()
    await scene.human("Ana").click(done.message, "Apply rest")
    await becomes(scene.human("Ana"), done.message, "uses all that **The inn** says")

    # then the story has it, and Bea
    used = await uses(scene, other)
    assert (used.card_id, used.tools, used.greeting_index) == (before.card_id, ("dice",), 0)


async def test_nothing_is_applied_while_an_answer_is_written(scene: Scene) -> None:
    story = await furnished(scene)
    await change(scene, story, tools=())
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("The door ")
    done = await scene.human("Ana").slash(story.thread, "template apply", template="The inn")
    assert done.text == "An answer is being written. Stop it or wait a moment."
    assert (await uses(scene, story)).tools == ()
    await call.write("opens.")
    await call.end()
    await story.answered("The door opens.")


# --- edit, delete


async def test_a_template_is_renamed_in_a_form_and_renewed_from_a_story(scene: Scene) -> None:
    story = await furnished(scene)
    ana = scene.human("Ana")
    panel = await ana.slash(story.thread, "template show", template="The inn")
    form = await ana.click(panel.message, "Edit")
    await scene.running.restart()
    await ana.submit(form, {"name": "The old inn"})
    await becomes(ana, panel.message, "✓ Saved.\n## The old inn")
    await change(scene, story, tools=(), book_ids=())
    done = await ana.slash(story.thread, "template edit", template="The old inn", renew=True)
    assert "World books: none" in done.text
    named = await ana.slash("general", "template edit", template="The old inn", name="Inn")
    assert named.text.startswith("✓ Saved.\n## Inn\n")
    nothing = await ana.slash("general", "template edit", template="Inn")
    assert nothing.text.startswith("Say what to change")


async def test_only_whoever_kept_it_or_manages_the_server_changes_it(scene: Scene) -> None:
    # given a template of Chen's
    story = await scene.open_story()
    await scene.human("Chen").slash(story.thread, "template save", name="茶馆")
    ben = scene.human("Ben")
    refusal = "Only whoever brought it in may do that, or somebody who may manage the server."
    for command, more in (("edit", {"name": "Inn"}), ("delete", {})):
        done = await ben.slash("general", f"template {command}", template="茶馆", **more)
        assert done.text == refusal
    # when Ben may manage the server
    promote(scene, "Ben")
    asked = await ben.slash("general", "template delete", template="茶馆")
    assert asked.text == "Delete the template **茶馆**? Stories that it was applied to stay as they are."
    await scene.running.restart()
    await ben.click(asked.message, "Delete")
    await becomes(ben, asked.message, "The template **茶馆** is deleted.")
    assert await templates(scene) == []


# --- import and export


async def test_a_template_goes_out_and_comes_back(scene: Scene) -> None:
    await furnished(scene)
    out = await scene.human("Ben").slash("general", "template export", template="The inn")
    assert out.message.files == ("The_inn.json",)
    body = content_of(scene.wire, out.message.raw)
    file = Upload("inn.json", body.encode())
    taken = await scene.human("Ben").slash("general", "template import", file=file)
    assert taken.text.startswith("There is a template called “The inn” already.")
    done = await scene.human("Ben").slash("general", "template import", file=file, name="Ben's inn")
    assert done.text.startswith("✓ The template is here.\n## Ben's inn\n")
    first, second = await templates(scene)
    assert first.selection == second.selection


@pytest.mark.parametrize(
    ("who", "text"),
    [
        (
            "Ana",
            "I cannot read a template from **x.json**.\n-# There is an unknown field in selection: history",
        ),
        ("Chen", "这不是能读取的模板文件（history）。"),
    ],
)
async def test_a_file_that_is_no_template_is_refused_in_words(scene: Scene, who: str, text: str) -> None:
    data = {"name": "inn", "selection": {"history": []}}
    whole = {"format": "pmp-dsh-tavern", "version": 1, "resourceType": "session-template", "data": data}
    file = Upload("x.json", json.dumps(whole).encode())
    done = await scene.human(who).slash("general", "template import", file=file)
    assert text in done.text
    assert await templates(scene) == []


async def test_a_template_from_elsewhere_says_what_it_misses(scene: Scene) -> None:
    data = {"name": "inn", "selection": {"characterCardId": "c_elsewhere", "worldBookIds": ["w_elsewhere"]}}
    whole = {"format": "pmp-dsh-tavern", "version": 1, "resourceType": "session-template", "data": data}
    file = Upload("x.json", json.dumps(whole).encode())
    done = await scene.human("Ana").slash("general", "template import", file=file)
    assert done.text.endswith(
        "2 things that it uses are missing, so it cannot be applied:\n"
        "- ✗ The card `c_elsewhere`: was never in this library\n"
        "- ✗ The world book `w_elsewhere`: was never in this library"
    )


# --- what new stories in a channel start with


async def test_new_stories_in_a_channel_start_with_its_template(scene: Scene) -> None:
    # given a channel that is bound to a template, from within a story
    story = await furnished(scene)
    general = scene.wire.world.channel("general")["id"]
    done = await scene.human("Ana").slash(story.thread, "template bind", template="The inn")
    assert done.text == (
        f"New stories in <#{general}> start with the template **The inn**. "
        "A story that is being played stays as it is."
    )
    await scene.running.restart()

    # when somebody opens a story there without naming a card
    opened = scene.story(await scene.human("Ben").slash("general", "play new"))

    # then it uses all of the template
    (found,) = await templates(scene)
    used = await uses(scene, opened)
    assert (used.card_id, used.preset_id) == (found.selection.card_id, found.selection.preset_id)
    assert (used.book_ids, used.tools) == (found.selection.book_ids, ("dice",))
    assert opened.lines() == ["Mira: It rains. The door is shut."]
    # and another card gets all but what was said of Mira
    await scene.card("Bea", greetings=("I am Bea.", "Bea, again."))
    other = scene.story(await scene.human("Ben").slash("general", "play new", card="Bea"))
    assert other.lines() == ["Bea: I am Bea."]
    assert (await uses(scene, other)).tools == ("dice",)
    # and elsewhere nothing of it holds
    await scene.human("Ana").slash("general", "template unbind")
    plain = scene.story(await scene.human("Ben").slash("general", "play new", card="Mira"))
    assert (await uses(scene, plain)).tools == ()


async def test_what_is_bound_later_counts_before_the_template(scene: Scene) -> None:
    await furnished(scene)
    ana = scene.human("Ana")
    early = await preset(scene, "Early")
    await ana.slash("general", "preset bind", preset=early)
    await ana.slash("general", "template bind", template="The inn")
    first = scene.story(await ana.slash("general", "play new", card="Mira"))
    (found,) = await templates(scene)
    assert (await uses(scene, first)).preset_id == found.selection.preset_id
    late = await preset(scene, "Late")
    await ana.slash("general", "preset bind", preset=late)
    second = scene.story(await ana.slash("general", "play new", card="Mira"))
    assert (await uses(scene, second)).preset_id == late
    assert (await uses(scene, second)).tools == ("dice",)


async def test_books_and_scripts_of_a_channel_are_added(scene: Scene) -> None:
    await furnished(scene)
    ana = scene.human("Ana")
    await ana.slash("general", "template bind", template="The inn")
    more, gone = await book(scene, "Sea"), await book(scene, "Gone")
    bindings = scene.bot.bindings
    guild, general = int(scene.owner.removeprefix("guild:")), int(scene.wire.world.channel("general")["id"])
    assert await bindings.add(guild, general, "world_book", more)
    assert not await bindings.add(guild, general, "world_book", more)
    await bindings.add(guild, general, "world_book", gone)
    await scene.bot.engine.library.delete(gone)
    (found,) = await templates(scene)
    opened = scene.story(await ana.slash("general", "play new", card="Mira"))
    assert (await uses(scene, opened)).book_ids == (*found.selection.book_ids, more)
    assert await bindings.remove(guild, general, "world_book", more)
    assert not await bindings.remove(guild, general, "world_book", more)
    assert (await bindings.defaults(guild, general)).book_ids == (gone,)


async def test_a_template_that_misses_something_opens_nothing(scene: Scene) -> None:
    await furnished(scene)
    ana = scene.human("Ana")
    await ana.slash("general", "template bind", template="The inn")
    (found,) = await templates(scene)
    await scene.bot.engine.library.delete(found.selection.book_ids[0])
    stories = len(await scene.bot.engine.plays.stories(scene.owner))
    done = await scene.human("Ben").slash("general", "play new", card="Mira")
    assert done.text == (
        "The template **The inn** misses something that it uses: Harbour. `/template show` tells more; "
        "`/template unbind` lets new stories start without it."
    )
    assert len(await scene.bot.engine.plays.stories(scene.owner)) == stories
    # and a template that was itself deleted is passed over
    await scene.bot.engine.library.templates.delete(scene.owner, found.id)
    opened = scene.story(await scene.human("Ben").slash("general", "play new", card="Mira"))
    assert opened.lines() == ["Mira: The door is open."]


async def test_nobody_opens_a_story_as_somebody_elses_persona(scene: Scene) -> None:
    story = await scene.open_story()
    ana = scene.human("Ana")
    await ana.slash(story.thread, "persona set", name="Vale")
    await ana.slash(story.thread, "persona bind")
    await ana.slash(story.thread, "template save", name="hers")
    await ana.slash("general", "template bind", template="hers")
    his = scene.story(await scene.human("Ben").slash("general", "play new", card="Mira"))
    hers = scene.story(await ana.slash("general", "play new", card="Mira"))
    assert (await uses(scene, his)).persona_id is None
    assert (await uses(scene, hers)).persona_id is not None


async def test_a_server_that_is_full_of_stories_says_how_to_make_room(scene: Scene) -> None:
    story = await scene.open_story()
    scene.bot.engine.plays._max_open = 1
    done = await scene.human("Ana").slash("general", "play new", card="Mira")
    assert done.text == (
        "That is more than can be: 1 at most. Nothing was changed. If it was a new story, end an old one "
        "with `/play end` first."
    )
    await story.exchange("Ana", "Hello.", "The open one goes on.")
