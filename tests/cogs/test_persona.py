"""`/persona`: who a person plays, and whom a story calls `{{user}}`."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from PIL import Image

from bot.sandbox.limits import Upload
from bot.sandbox.screen import Shown
from engine.library import StoredPersona
from tests.cogs.test_card import becomes
from tests.cogs.test_card_import import content_of
from tests.e2e.scene import Scene, Story, labels_of


def portrait(colour: str = "teal") -> Upload:
    """A picture as people upload one."""
    buffer = io.BytesIO()
    Image.new("RGB", (90, 60), colour).save(buffer, "PNG")
    return Upload("me.png", buffer.getvalue())


async def mine(scene: Scene, who: str = "Ana") -> list[StoredPersona]:
    return list(await scene.bot.engine.library.personas.list(scene.human(who).id))


async def bound(scene: Scene, story: Story) -> str | None:
    binding = scene.bot.bindings.of_channel(int(story.thread))
    assert binding is not None
    return (await scene.bot.engine.plays.selection(binding.play_id)).persona_id


# --- set, show, use


async def test_without_a_persona_one_plays_oneself(scene: Scene) -> None:
    done = await scene.human("Ana").slash("general", "persona show")
    assert done.message.ephemeral
    assert done.text == "You play under your own name, **Ana**. `/persona set` gives you another."


async def test_a_persona_is_set_and_shown_also_after_a_restart(scene: Scene) -> None:
    ana = scene.human("Ana")
    done = await ana.slash("general", "persona set", name="Captain  Vale", description="Tall, *tired*.")
    assert done.message.ephemeral
    assert done.text == (
        "You play **Captain Vale** now. What you already wrote keeps its name.\n"
        "## Captain Vale\nYou play them now.\nTall, *tired*."
    )
    assert labels_of(done.message) == ["Be myself", "Edit", "Export", "Delete"]
    await scene.running.restart()
    shown = await ana.slash("general", "persona show")
    assert shown.text == "## Captain Vale\nYou play them now.\nTall, *tired*."
    # and it is hers alone
    ben = await scene.human("Ben").slash("general", "persona show")
    assert ben.text.startswith("You play under your own name, **Ben**.")


async def test_the_table_knows_people_by_their_personas(scene: Scene) -> None:
    # given a story, and a persona that is set after the first words
    story = await scene.open_story()
    await story.exchange("Ana", "Hello.", "Welcome in.")
    await scene.human("Ana").slash(story.thread, "persona set", name="Vale", description="A tired captain.")

    # when Ana and Ben go on
    await story.exchange("Ana", "It is me.", "I see.")
    await story.exchange("Ben", "And me.", "And you.")

    # then each message has the name it was said under
    assert [line for line in scene.model.calls[-1].heard if not line.startswith(("Wel", "I see"))] == [
        "Ana: Hello.",
        "Vale: It is me.",
        "Ben: And me.",
    ]
    assert "A tired captain." in scene.model.calls[-1].system


async def test_the_same_name_again_keeps_its_description(scene: Scene) -> None:
    ana = scene.human("Ana")
    await ana.slash("general", "persona set", name="Vale", description="Tall.")
    kept = await ana.slash("general", "persona set", name="Vale")
    other = await ana.slash("general", "persona set", name="Wren")
    assert kept.text.endswith("\nTall.")
    assert other.text.endswith("-# Nothing is said about them yet.")


async def test_a_long_description_goes_along_as_a_file(scene: Scene) -> None:
    # given a description as long as Discord takes one
    ana = scene.human("Ana")
    long = "漫长的故事。" * 1000

    # when it is set
    done = await ana.slash("general", "persona set", name="Vale", description=long)

    # then its beginning is shown and the whole is in a file
    assert len(done.text) < 2000
    file = await ana.sees("general", lambda m: m.ephemeral and m.files == ("persona.md",))
    assert content_of(scene.wire, file.raw) == long


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ("Ana", "A persona needs a name of 1 to 80 characters."),
        ("Chen", "用户设定需要一个 1 到 80 个字符的名字。"),
    ],
)
async def test_a_name_of_nothing_is_refused(scene: Scene, who: str, text: str) -> None:
    done = await scene.human(who).slash("general", "persona set", name="  ")
    assert done.text == text


async def test_a_persona_can_be_set_in_a_direct_message(scene: Scene) -> None:
    ana = scene.human("Ana")
    done = await ana.slash(ana.direct(), "persona set", name="Vale")
    assert done.text.startswith("You play **Vale** now.")


async def test_typing_offers_ones_own_personas_and_nobody(scene: Scene) -> None:
    ana = scene.human("Ana")
    await ana.slash("general", "persona set", name="Captain Vale", description="Tall,\ntired.")
    await ana.slash("general", "persona set", name="Wren")
    await scene.human("Ben").slash("general", "persona set", name="Vala")
    vale, wren = await mine(scene)

    everything = await ana.autocomplete("general", "persona use", "persona", "")
    assert {choice["name"]: choice["value"] for choice in everything} == {
        "Captain Vale — Tall, tired.": vale.id,
        "Wren": wren.id,
        "Nobody: under my own name, Ana": "-",
    }
    some = await ana.autocomplete("general", "persona use", "persona", "VAL")
    assert [choice["value"] for choice in some] == [vale.id]
    # where nobody makes no sense it is not offered
    assert len(await ana.autocomplete("general", "persona show", "persona", "")) == 2


async def test_one_of_several_is_used_and_then_nobody(scene: Scene) -> None:
    ana = scene.human("Ana")
    for name in ("Vale", "Wren"):
        await ana.slash("general", "persona set", name=name)
    used = await ana.slash("general", "persona use", persona="vale")
    assert used.text.startswith("You play **Vale** now.")
    assert [p.persona.name for p in await mine(scene) if p.active] == ["Vale"]
    nobody = await ana.slash("general", "persona use", persona="-")
    assert nobody.text == ("You play under your own name, **Ana**, from now on. Your personas are kept.")
    assert [p.active for p in await mine(scene)] == [False, False]
    unknown = await ana.slash("general", "persona use", persona="Mira")
    assert unknown.text == "You have no persona called “Mira”. `/persona list` shows yours."


async def test_the_panels_button_plays_and_rests_after_a_restart(scene: Scene) -> None:
    ana = scene.human("Ana")
    await ana.slash("general", "persona set", name="Vale")
    panel = await ana.slash("general", "persona show")
    await scene.running.restart()
    await ana.click(panel.message, "Be myself")
    rested = await becomes(ana, panel.message, "under your own name, **Ana**, from now on")
    assert "Play as" in labels_of(rested)
    assert [p.active for p in await mine(scene)] == [False]
    await ana.click(rested, "Play as")
    await becomes(ana, panel.message, "You play **Vale** now.")
    assert [p.active for p in await mine(scene)] == [True]


# --- list


async def test_the_list_shows_ones_own_with_pictures_and_opens_one(scene: Scene) -> None:
    ana = scene.human("Ana")
    empty = await ana.slash("general", "persona list")
    assert empty.text == "## Your personas\nYou have no personas yet. `/persona set` makes one."
    await ana.slash("general", "persona set", name="Vale", description="Tall.", picture=portrait())
    await ana.slash("general", "persona set", name="Wren")
    await scene.human("Ben").slash("general", "persona set", name="Old Tom")

    listed = await ana.slash("general", "persona list")
    assert listed.text.splitlines() == [
        "## Your personas · 2",
        "**Vale**",
        "-# Tall.",
        "**Wren** · you play them",
    ]
    assert len(listed.message.files) == 1
    (menu,) = listed.message.menus
    vale = (await mine(scene))[0]
    opened = await ana.select(listed.message, menu.custom_id, vale.id)
    assert opened.text == "## Vale\nTall."


async def test_a_list_in_chinese(scene: Scene) -> None:
    chen = scene.human("Chen")
    await chen.slash("general", "persona set", name="阿澄", description="爱喝茶。")
    listed = await chen.slash("general", "persona list")
    assert listed.text.splitlines() == ["## 你的用户设定 · 1", "**阿澄** · 正在扮演", "-# 爱喝茶。"]


# --- edit


def fields_of(opened: Any) -> list[str]:
    return [part["component"]["custom_id"] for part in opened.modal["components"]]


async def test_a_form_changes_the_words_from_a_panel_after_a_restart(scene: Scene) -> None:
    ana = scene.human("Ana")
    panel = await ana.slash("general", "persona set", name="Vale", description="Tall.")
    await scene.running.restart()
    form = await ana.click(panel.message, "Edit")
    assert fields_of(form) == ["name", "description", "text", "picture"]
    await scene.running.restart()
    await ana.submit(form, {"name": "Captain Vale", "description": "Tall, tired."})
    await becomes(ana, panel.message, "✓ Saved.\n## Captain Vale\nYou play them now.\nTall, tired.")
    (changed,) = await mine(scene)
    assert (changed.persona.name, changed.persona.description) == ("Captain Vale", "Tall, tired.")


async def test_a_form_opens_by_the_command_and_takes_a_picture(scene: Scene) -> None:
    ana = scene.human("Ana")
    await ana.slash("general", "persona set", name="Vale")
    form = await ana.slash("general", "persona edit")
    done = await ana.submit(form, {"picture": portrait()})
    assert done.text.startswith("✓ Saved.\n## Vale")
    assert done.message.files == ("persona.png",)
    assert "No picture" in labels_of(done.message)
    await ana.click(done.message, "No picture")
    await ana.wait_for(lambda: ana.shown(done.message).files == ())
    assert (await mine(scene))[0].avatar is None


async def test_a_picture_is_given_with_the_command(scene: Scene) -> None:
    ana = scene.human("Ana")
    await ana.slash("general", "persona set", name="Vale")
    done = await ana.slash("general", "persona edit", persona="Vale", picture=portrait())
    assert done.message.files == ("persona.png",)
    broken = await ana.slash(
        "general", "persona edit", persona="Vale", picture=Upload("x.png", b"no picture at all")
    )
    assert broken.text.startswith("This picture is damaged, or none that I can read")
    assert (await mine(scene))[0].avatar is not None


async def test_a_form_that_was_overtaken_gives_back_what_was_written(scene: Scene) -> None:
    ana = scene.human("Ana")
    panel = await ana.slash("general", "persona set", name="Vale", description="Tall.")
    form = await ana.click(panel.message, "Edit")
    await ana.slash("general", "persona set", name="Vale", description="Small.")
    await ana.submit(form, {"description": "Something long and dear."})
    await ana.sees("general", lambda m: m.ephemeral and "It has been changed meanwhile." in m.text)
    back = await ana.sees("general", lambda m: m.ephemeral and "description.txt" in m.files)
    assert "Nothing of it is lost" in back.text
    assert (await mine(scene))[0].persona.description == "Small."


async def test_a_description_that_no_form_takes_is_changed_by_a_file(scene: Scene) -> None:
    ana = scene.human("Ana")
    await scene.bot.engine.library.personas.play(ana.id, "Vale", "long " * 1000)
    form = await ana.slash("general", "persona edit", persona="Vale")
    assert fields_of(form) == ["name", "text", "picture"]
    await ana.submit(form, {"text": Upload("vale.txt", b"Short.")})
    assert (await mine(scene))[0].persona.description == "Short."


async def test_nobody_reaches_anothers_persona_by_its_buttons(scene: Scene) -> None:
    # given Ana's panel, and Ben who knows its id
    ana = scene.human("Ana")
    await ana.slash("general", "persona set", name="Vale")
    (vale,) = await mine(scene)
    await scene.human("Ben").slash("general", "persona set", name="Tom")
    panel = await scene.human("Ben").slash("general", "persona show")
    (tom,) = await mine(scene, "Ben")
    # when he presses buttons with her id
    for op in ("use", "rest", "edit", "bare", "export", "delete", "books", "show", "delete-yes", "bind"):
        before = json.dumps(panel.message.raw["components"])
        custom_id = f"in1:persona-{op}:{vale.id}" + (":1" if op == "bare" else "")
        forged = before.replace(f"in1:persona-export:{tom.id}", custom_id)
        told = await pressed(scene, "Ben", panel.message, forged, custom_id)
        assert told.text == "This is none of your personas, or not any more.", op
    assert await mine(scene) == [vale]


async def pressed(scene: Scene, who: str, message: Shown, components: str, custom_id: str) -> Shown:
    """What somebody is told who presses a button that never stood there."""
    person = scene.human(who)
    place = scene.wire.world.channels[message.channel_id]
    told = {shown.id for shown in person.screen(message.channel_id) if shown.ephemeral}
    record = {**scene.wire.world.ephemeral[message.id], "components": json.loads(components)}
    data = {"component_type": 2, "custom_id": custom_id, "id": 1}
    scene.wire.interactions.open(3, person.id, place, data, message=record)
    return await person.sees(message.channel_id, lambda m: bool(m.ephemeral and m.text and m.id not in told))


# --- import and export


async def test_a_persona_goes_out_and_comes_back_with_its_picture(scene: Scene) -> None:
    ana, chen = scene.human("Ana"), scene.human("Chen")
    await ana.slash("general", "persona set", name="Vale", description="Tall.", picture=portrait())
    out = await ana.slash("general", "persona export")
    assert out.message.ephemeral
    assert out.message.files == ("Vale.json",)
    body = content_of(scene.wire, out.message.raw)
    file = json.loads(body)
    assert (file["format"], file["resourceType"]) == ("pmp-dsh-tavern", "user")
    assert file["data"]["avatar"].startswith("data:image/png;base64,")

    done = await chen.slash("general", "persona import", file=Upload("Vale.json", body.encode()))
    assert done.text == "**Vale** 来了。你扮演的人没有变。\n## Vale\nTall."
    assert done.message.files == ("persona.png",)
    again = await ana.slash("general", "persona import", file=Upload("Vale.json", body.encode()))
    assert again.text.startswith("**Vale (2)** is here. You still play who you played before.")


async def test_a_backup_of_sillytavern_brings_everybody_once(scene: Scene) -> None:
    ana = scene.human("Ana")
    backup = {
        "personas": {"1.png": "Vale", "2.png": "Wren"},
        "persona_descriptions": {"1.png": {"description": "Tall.", "lorebook": "Harbour"}},
        "default_persona": "1.png",
    }
    file = Upload("personas.json", json.dumps(backup).encode())
    done = await ana.slash("general", "persona import", file=file)
    assert done.text == (
        "2 personas are here: Vale, Wren\n"
        "-# “Vale” came with the world book “Harbour”, which is a file of its own."
    )
    again = await ana.slash("general", "persona import", file=file)
    assert again.text.startswith("2 personas of the file were here already.")
    assert len(await mine(scene)) == 2


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ("Ana", "I cannot read a persona from **x.json**.\n-# There is an unknown field in data: mood"),
        ("Chen", "这不是能读取的用户设定文件（mood）。"),
    ],
)
async def test_a_file_that_is_no_persona_is_refused_in_words(scene: Scene, who: str, text: str) -> None:
    data = {"name": "Vale", "mood": 1}
    whole = {"format": "pmp-dsh-tavern", "version": 1, "resourceType": "user", "data": data}
    file = Upload("x.json", json.dumps(whole).encode())
    done = await scene.human(who).slash("general", "persona import", file=file)
    assert text in done.text
    assert await mine(scene, who) == []


# --- delete


async def test_a_persona_is_deleted_after_being_asked(scene: Scene) -> None:
    story = await scene.open_story()
    ana = scene.human("Ana")
    await ana.slash(story.thread, "persona set", name="Vale")
    await ana.slash(story.thread, "persona bind")
    assert await bound(scene, story) is not None
    asked = await ana.slash(story.thread, "persona delete", persona="Vale")
    assert labels_of(asked.message) == ["Delete", "Keep"]
    assert "no story calls them {{user}} any more" in asked.text
    await scene.running.restart()
    await ana.click(asked.message, "Keep")
    await becomes(ana, asked.message, "**Vale** stays.")
    again = await ana.slash(story.thread, "persona delete", persona="Vale")
    await ana.click(again.message, "Delete")
    await becomes(ana, again.message, "**Vale** is deleted.")
    assert await mine(scene) == []
    assert await bound(scene, story) is None


# --- {{user}} of a story


async def test_a_bound_persona_is_whom_the_card_speaks_to(scene: Scene) -> None:
    # given a story whose greeting names {{user}}, begun by Ana
    story = await scene.open_story(
        greetings=("Welcome, {{user}}.",), description="Mira has waited for {{user}}."
    )
    assert story.lines() == ["Mira: Welcome, Ana."]
    ana = scene.human("Ana")
    await ana.slash(story.thread, "persona set", name="Vale", description="A tired captain.")

    # when she binds her persona
    done = await ana.slash(story.thread, "persona bind")

    # then the greeting speaks to it, and so does what the model reads
    assert done.text == (
        "From the next answer on the card's {{user}} is **Vale** in this story. "
        "Everybody still writes under their own name."
    )
    await story.reads("Mira: Welcome, Vale.")
    await story.exchange("Ben", "And me?", "You too.")
    assert "Mira has waited for Vale." in scene.model.calls[-1].system
    assert "A tired captain." in scene.model.calls[-1].system
    assert scene.model.calls[-1].heard[-1] == "Ben: And me?"
    # and once the story has begun, the greeting stays as it was told
    undone = await ana.slash(story.thread, "persona unbind")
    assert undone.text == "From the next answer on the card's {{user}} is whoever began this story."
    await story.exchange("Ben", "Again.", "Yes.")
    assert "Mira has waited for Ana." in scene.model.calls[-1].system
    assert story.lines()[0] == "Mira: Welcome, Vale."
    assert (await ana.slash(story.thread, "persona unbind")).text == "No persona is bound to this story."


async def test_only_whoever_began_the_story_names_its_user(scene: Scene) -> None:
    story = await scene.open_story()
    ben = scene.human("Ben")
    await ben.slash(story.thread, "persona set", name="Tom")
    for command in ("persona bind", "persona unbind"):
        done = await ben.slash(story.thread, command)
        assert done.text == "Only whoever began the story or a moderator may do that."
    panel = await ben.slash(story.thread, "persona show")
    assert "Bind here" in labels_of(panel.message)
    done = await ben.click(panel.message, "Bind here")
    assert done.text == "Only whoever began the story or a moderator may do that."
    assert await bound(scene, story) is None
    nowhere = await scene.human("Ana").slash("general", "persona unbind")
    assert nowhere.text == "No story is being played here. `/play new` begins one."


async def test_nobody_is_bound_while_an_answer_is_written(scene: Scene) -> None:
    story = await scene.open_story()
    ana = scene.human("Ana")
    await ana.slash(story.thread, "persona set", name="Vale")
    await story.say("Ana", "Hello.")
    call = await scene.model.call()
    await call.write("The door ")
    done = await ana.slash(story.thread, "persona bind")
    assert done.text == "An answer is being written. Stop it or wait a moment."
    assert await bound(scene, story) is None
    await call.write("opens.")
    await call.end()
    await story.answered("The door opens.")


async def test_a_name_that_somebody_else_has_is_remarked_kindly(scene: Scene) -> None:
    # given a story with Mira in which Ben has spoken as Tom
    story = await scene.open_story()
    ana, ben = scene.human("Ana"), scene.human("Ben")
    await ben.slash(story.thread, "persona set", name="Tom")
    await story.exchange("Ben", "Hello.", "Welcome.")

    # then both names are remarked for Ana, and nothing is forbidden
    as_tom = await ana.slash(story.thread, "persona set", name="tom")
    assert "Somebody else in this story plays as **tom** too." in as_tom.text
    as_mira = await ana.slash(story.thread, "persona set", name="Mira")
    assert "The character of this story is called **Mira** too." in as_mira.text
    # and nobody is told about their own name, nor where no story is
    assert "⚠" not in (await ben.slash(story.thread, "persona show")).text
    assert "⚠" not in (await ana.slash("general", "persona show")).text


# --- books that come along


async def test_books_come_along_with_a_persona_in_this_server(scene: Scene) -> None:
    # given a world book that knows Vale, and a persona
    entry = {"uid": 0, "key": ["captain"], "content": "Captain Vale lost her ship.", "comment": "Vale"}
    data = json.dumps({"name": "Harbour", "entries": {"0": entry}}).encode()
    library = scene.bot.engine.library
    book = await library.import_book(scene.owner, data, "harbour.json", "test")
    ana = scene.human("Ana")
    panel = await ana.slash("general", "persona set", name="Vale")

    # when she switches it on in the panel
    await ana.click(panel.message, "Books")
    listed = await becomes(ana, panel.message, "Harbour")
    (menu,) = listed.menus
    await ana.select(listed, menu.custom_id, book.id)
    await becomes(ana, panel.message, "✅")
    await ana.click(ana.shown(panel.message), "Back")
    await becomes(ana, panel.message, "they are: Harbour")

    # then it is active in stories whose {{user}} Vale is
    (vale,) = await mine(scene)
    assert await library.relations.books("persona", vale.id) == (book.id,)
    story = await scene.open_story()
    await story.exchange("Ana", "I am the captain.", "I know.")
    assert "Captain Vale lost her ship." in scene.model.calls[-1].system


# --- told again


async def test_words_that_are_told_again_wear_the_personas_face(scene: Scene) -> None:
    # given words of a persona with a picture, and of a person without
    story = await scene.open_story()
    ana = scene.human("Ana")
    await ana.slash(story.thread, "persona set", name="Vale", picture=portrait())
    await story.exchange("Ben", "First.", "One.")
    await story.exchange("Ana", "Second.", "Two.")

    # when they are set aside and brought back
    await story.menu(story.find("One."), "Rewind")
    confirm = [m for m in ana.screen(story.thread) if m.ephemeral and "Do it" in labels_of(m)]
    if confirm:
        await ana.click(confirm[-1], "Do it")
    await story.press("Undo")
    again = await story.eyes.sees(story.thread, lambda m: m.webhook and m.text == "Second.")

    # then hers stand under her persona's own face
    assert again.author == "Vale"
    avatar = scene.wire.world.messages[again.id]["persona"]["avatar"]
    assert avatar is not None


async def test_whoever_began_the_story_is_told_that_the_card_calls_them_otherwise(scene: Scene) -> None:
    # given Ana's story, in which the card speaks to Ana
    story = await scene.open_story()
    ana, ben = scene.human("Ana"), scene.human("Ben")

    # when she plays somebody else, and Ben does
    hers = await ana.slash(story.thread, "persona set", name="Rhea")
    his = await ben.slash(story.thread, "persona set", name="Bran")

    # then only she is told, and binding it is what helps
    hint = "The card of this story still calls {{user}} **Ana**. *Bind here* changes that."
    assert hint in hers.text
    assert "still calls" not in his.text
    await ana.slash(story.thread, "persona bind", persona="Rhea")
    assert "still calls" not in (await ana.slash(story.thread, "persona show")).text
