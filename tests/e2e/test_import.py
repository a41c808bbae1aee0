"""A card comes in as a file and is played; a file that is none does no harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.sandbox.limits import Upload, message_rules
from tests.e2e.scene import Scene, Story, card_json, labels_of

SAMPLES = Path(__file__).parents[2] / "config" / "samples"
MEGABYTE = 1024 * 1024


async def test_a_png_card_is_imported_and_played_by_two(scene: Scene) -> None:
    # given a card as people share it: a picture with the card inside
    ana, ben = scene.human("Ana"), scene.human("Ben")
    picture = (SAMPLES / "maren.png").read_bytes()
    imported = await ana.slash("general", "card import", file=Upload("maren.png", picture))
    assert imported.message.ephemeral
    assert "Maren" in imported.text
    assert "Play" in labels_of(imported.message)
    # when Ana plays it by the button of its panel
    opened = await ana.click(imported.message.id, "Play")
    story = scene.story(opened)
    # then the thread shows the card's picture and greeting, and Maren has that face
    top = story.eyes.screen(story.thread)[0]
    assert top.files == ("portrait.png",)
    greeting = story.messages()[0]
    assert greeting.author == "Maren"
    assert greeting.raw["author"]["avatar"] is not None
    # and two people play under the names of their personas
    await ana.slash(story.thread, "persona set", name="Lady Anaïs", description="A duelist, out of luck.")
    await ben.slash(story.thread, "persona set", name="Old Tom")
    await story.exchange("Ana", "I knock the snow off my boots.", "Shut that door.")
    await story.say("Ben", "I do.")
    call = await scene.model.call()
    assert call.heard == ["Lady Anaïs: I knock the snow off my boots.", "Shut that door.", "Old Tom: I do."]
    assert "A duelist, out of luck." in call.system
    await call.say("Good lad.")
    await story.answered("Good lad.")
    info = await ana.slash(story.thread, "play info")
    assert "Players: Lady Anaïs, Old Tom" in info.text


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (Upload("notes.txt", b"Dear diary"), "This is no character card. A card is a PNG picture, a JSON"),
        (Upload("broken.json", b'{"spec": "chara_card_v2", '), "its JSON breaks off at line 1, column 27"),
        (Upload("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(64)), "This PNG picture is damaged"),
        (Upload("film.png", bytes(100 * MEGABYTE)), "is 100.0 MiB and larger than the 32.0 MiB that"),
    ],
    ids=["text", "broken", "picture", "100MB"],
)
async def test_a_file_that_is_no_card_is_told_to_whoever_sent_it(
    scene: Scene, story: Story, file: Upload, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a server that is boosted, so that people can send large files
    monkeypatch.setattr(message_rules, "FILE_BYTES", 100 * MEGABYTE)
    monkeypatch.setattr(message_rules, "REQUEST_BYTES", 100 * MEGABYTE)
    before = story.lines()
    refused = await scene.human("Ben").slash(story.thread, "card import", file=file, timeout=30)
    # then only Ben is told, and what the table was doing goes on
    assert refused.message.ephemeral
    assert f"**{file.name}**" in refused.text
    assert line in refused.text
    assert story.lines() == before
    await story.exchange("Ana", "Hello.", "Welcome in.")


async def test_a_card_of_another_story_changes_nothing_in_this_one(scene: Scene, story: Story) -> None:
    await story.exchange("Ana", "Hello.", "Welcome in.")
    # when somebody brings in another card of the same name, and deletes the one that is played
    other = Upload("mira.json", card_json("Mira", description="Another Mira."))
    await scene.human("Ana").slash("general", "card import", file=other)
    (first, _) = sorted(await scene.bot.engine.library.list(scene.owner), key=lambda row: row.created_at)
    await scene.bot.engine.library.delete(first.id, release=False)
    # then the story goes on with the one that it began with, also after a restart
    await scene.running.restart()
    await story.say("Ben", "Who are you?")
    call = await scene.model.call()
    assert "Mira keeps the inn at the crossing." in call.system
    assert "Another Mira." not in call.system
    await call.say("Mira.")
    await story.answered("Mira.")
