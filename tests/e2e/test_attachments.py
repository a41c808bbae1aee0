"""What people attach: pictures and texts reach the model, the rest is named, and nothing is lost."""

from __future__ import annotations

import base64
import io
import random
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bot.sandbox.limits import Refusal, Upload
from bot.sandbox.wire import WireDiscord
from bot.settings import AttachmentSettings
from engine.session import message_text
from tests.e2e.model import REMINDER, Call
from tests.e2e.scene import Scene, Story, labels_of, set_scene, until

EYES = '[[model]]\nmodel = "storyteller"\nmodalities = ["text", "image"]\n'
UNSEEN = "cannot see pictures"
CDN = "/cdn/attachments/"


def picture(width: int = 60, height: int = 40, colour: str = "teal", form: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(buffer, form)
    return buffer.getvalue()


def noise(side: int, form: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.frombytes("RGB", (side, side), random.Random(side).randbytes(side * side * 3)).save(buffer, form)
    return buffer.getvalue()


def bomb(side: int = 50_000) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes(side + 1) * 200, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def shown(call: Call) -> list[Image.Image]:
    """The pictures that a call carries, in their order."""
    found = []
    for message in call.body["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "image_url":
                kind, _, data = part["image_url"]["url"].partition(";base64,")
                image = Image.open(io.BytesIO(base64.b64decode(data)))
                assert kind == f"data:{image.get_format_mimetype()}"
                found.append(image)
    return found


def words(call: Call) -> list[str]:
    """What people said, as the model reads it, with a mark where it sees a picture."""
    said = []
    for message in call.body["messages"]:
        if message["role"] == "user":
            content = message["content"]
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            said.append(" | ".join(part.get("text", "<picture>") for part in parts))
    return [text for text in said if not text.startswith(REMINDER)]


def notices(story: Story) -> list[str]:
    """What the bot itself says in the thread."""
    return [m.text for m in story.messages() if m.author == "Inglenook"]


@asynccontextmanager
async def seeing(
    wire: WireDiscord, folder: Path, catalogue: str = EYES, **limits: Any
) -> AsyncIterator[tuple[Scene, Story]]:
    """A story whose model sees."""
    file = folder / "models.toml"
    file.write_text(catalogue, encoding="utf-8")
    settings = AttachmentSettings(**limits)
    async with set_scene(wire, folder, attachments=settings, catalogue=file) as scene:
        yield scene, await scene.open_story()


# -- what is read ---------------------------------------------------------------------------------------


async def test_a_picture_reaches_a_model_that_sees(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        await story.say("Ana", "Look at this.", Upload("cat.png", picture(3000, 1500)))
        call = await scene.model.call()
        # then it comes after the words, no larger than models look
        assert words(call) == ["Ana: Look at this. | <picture>"]
        assert [image.size for image in shown(call)] == [(1568, 784)]
        await call.say("A cat!")
        await story.answered("A cat!")
        assert notices(story) == []
        # and the log names it by the hash of what was sent
        agent = scene.bot.engine.agents.get((await scene.head()).session_id)
        assert agent is not None
        said = next(m for m in agent.session.derive() if m["source"].get("kind") == "user")
        block = said["content"][1]
        assert block["type"] == "image"
        kept = await scene.bot.engine.store.get_blob(bytes.fromhex(block["attachment"]["attachmentId"]))
        assert block["attachment"] | {"attachmentId": ""} == {
            "attachmentId": "",
            "mediaType": "image/png",
            "bytes": len(kept),
            "width": 1568,
            "height": 784,
            "name": "cat.png",
        }
        assert said["source"]["text"] == "Look at this."
        # and it is still seen in the next turn
        await story.say("Ben", "And now?")
        assert len(shown(await scene.model.call())) == 1


async def test_a_picture_without_words_is_enough(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        await story.say(
            "Ana", "", Upload("a.jpg", picture(form="JPEG")), Upload("b.gif", picture(form="GIF"))
        )
        call = await scene.model.call()
        assert words(call) == ["Ana: | <picture> | <picture>"]
        await call.say("Two of them.")
        await story.answered("Two of them.")


async def test_a_picture_is_told_by_its_content(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        files = (Upload("cat.txt", noise(200)), Upload("note.png", b"\xef\xbb\xbfMeet me\r\nat the quay."))
        await story.say("Ana", "Here.", *files)
        call = await scene.model.call()
        note = "[file: note.png]\nMeet me\nat the quay.\n[end of note.png]"
        assert words(call) == [f"Ana: Here. | <picture> | {note}"]
        assert notices(story) == []


async def test_a_short_text_file_is_read_and_anything_else_is_named(scene: Scene, story: Story) -> None:
    files = (
        Upload("map.md", "# Quay\n海 🌊".encode()),
        Upload("film.zip", b"PK\x03\x04" + bytes(50_000)),
        Upload("little.bin", b"\0\1\2"),
    )
    await story.say("Ana", "See.", *files)
    call = await scene.model.call()
    (said,) = words(call)
    read = "[file: map.md]\n# Quay\n海 🌊\n[end of map.md]"
    assert said == f"Ana: See.\n\n{read}\n\n[file: film.zip]\n\n[file: little.bin]"
    await call.say("I see.")
    await story.answered("I see.")
    assert notices(story) == []


async def test_a_description_is_for_whoever_cannot_see(scene: Scene, story: Story) -> None:
    await story.say("Ana", "Look.", Upload("x.png", picture(), description="A grey cat on a roof"))
    call = await scene.model.call()
    assert words(call) == ["Ana: Look.\n\n[image: x.png (A grey cat on a roof), 60×40]"]


async def test_the_same_picture_twice_is_kept_and_sent_once(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        await story.say("Ana", "One.", Upload("a.png", picture()))
        await (await scene.model.call()).say("First.")
        await story.answered("First.")
        await story.say("Ben", "Two.", Upload("b.png", picture()))
        await scene.model.call()
        rows = await scene.bot.engine.store.fetch_one("attachment_bytes", owner=scene.owner)
        (block,) = [
            b
            for m in (await history(scene))
            for b in m["content"]
            if b["type"] == "image" and b["attachment"]["name"] == "b.png"
        ]
        assert rows is not None
        assert rows["bytes"] == block["attachment"]["bytes"]


async def history(scene: Scene) -> list[Any]:
    agent = scene.bot.engine.agents.get((await scene.head()).session_id)
    assert agent is not None
    return [m for m in agent.session.derive() if m["role"] != "system"]


# -- models that do not see -----------------------------------------------------------------------------


async def test_a_model_without_eyes_gets_the_name_and_the_table_is_told_once(
    scene: Scene, story: Story
) -> None:
    await story.say("Ana", "Look.", Upload("cat.png", picture()))
    call = await scene.model.call()
    assert words(call) == ["Ana: Look.\n\n[image: cat.png, 60×40]"]
    await call.say("I hear of a cat.")
    await story.answered("I hear of a cat.")
    told = await story.sees(UNSEEN)
    # when somebody deletes the line, the bot is restarted, and another picture comes
    await scene.human("Ana").delete(told)
    await scene.running.restart()
    scene.model.will_say("And of a dog.")
    await story.say("Ben", "Look.", Upload("dog.png", picture()))
    await story.answered("And of a dog.")
    # then it is not said again
    assert notices(story) == []


async def test_pictures_beyond_what_a_model_takes_are_named_oldest_first(
    wire: WireDiscord, data_dir: Path
) -> None:
    async with seeing(wire, data_dir, EYES + "images = { max_count = 1 }\n") as (scene, story):
        await story.say("Ana", "One.", Upload("a.png", picture(colour="red")))
        await (await scene.model.call()).say("Red.")
        await story.answered("Red.")
        await story.say("Ana", "Two.", Upload("b.png", picture(colour="blue")))
        call = await scene.model.call()
        assert words(call) == ["Ana: One.\n\n[image: a.png, 60×40]", "Ana: Two. | <picture>"]
        assert shown(call)[0].convert("RGB").getpixel((1, 1)) == (0, 0, 255)


async def test_a_server_that_refuses_a_picture_does_not_end_the_story(
    wire: WireDiscord, data_dir: Path
) -> None:
    async def refuse(call: Call) -> None:
        call.refuse(400, {"error": {"message": "Invalid image data", "type": "invalid_request_error"}})

    async with seeing(wire, data_dir) as (scene, story):
        await story.say("Ana", "One.", Upload("a.png", picture(colour="red")))
        await (await scene.model.call()).say("Red.")
        await story.answered("Red.")
        # when a server does not like the newest picture
        scene.model.will(refuse)
        await story.say("Ana", "Two.", Upload("b.png", picture(colour="blue")))
        await scene.asked(3)
        # then it is asked again with its name, and still shown the older one
        call = scene.model.calls[-1]
        assert words(call) == ["Ana: One. | <picture>", "Ana: Two.\n\n[image: b.png, 60×40]"]
        await call.say("Blue, I am told.")
        await story.answered("Blue, I am told.")
        await story.sees(UNSEEN)
        # and that holds after a restart, and in another answer
        await scene.running.restart()
        await story.press("▶")
        await scene.asked(4)
        await scene.model.calls[-1].say("Blue again.")
        await story.answered("Blue again.", "2/2")


# -- bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("upload", "line"),
    [
        (Upload("cut.png", noise(64)[:6000]), "**cut.png** cannot be read as a picture"),
        (Upload("bomb.png", bomb()), "**bomb.png** has more pixels"),
        (Upload("junk.png", b"\0\1\2junk"), "**junk.png** cannot be read as a picture"),
        (Upload("nothing.png", b""), "There is nothing in **nothing.png**"),
        (Upload("blank.txt", b" \n"), "There is nothing in **blank.txt**"),
        (Upload("latin.txt", b"caf\xe9"), "**latin.txt** is no text in UTF-8"),
        (Upload("book.txt", b"word " * 10_000), "**book.txt** is 48 KiB and longer than the 32 KiB"),
        (Upload("data.json", b'["' + b"a" * 100_000 + b'"]'), "**data.json** is 97 KiB and longer"),
        (Upload("heavy.png", noise(400)), "**heavy.png** is 469 KiB and larger than the 256 KiB"),
    ],
    ids=lambda value: value.name if isinstance(value, Upload) else "",
)
async def test_what_cannot_be_read_costs_no_words(
    wire: WireDiscord, data_dir: Path, upload: Upload, line: str
) -> None:
    async with seeing(wire, data_dir, picture_bytes=256 * 1024) as (scene, story):
        said = await story.say("Ana", "Listen.", upload)
        call = await scene.model.call()
        # then the words are answered, the file is named
        assert words(call) == [f"Ana: Listen.\n\n[file: {upload.name}]"]
        await call.say("Yes?")
        await story.answered("Yes?")
        # and the person is told under their message
        told = await story.sees(line)
        assert told.raw["message_reference"]["message_id"] == said.id
        assert "▶" not in labels_of(told)


async def test_more_files_than_a_message_may_have_are_named_and_told_of_once(
    wire: WireDiscord, data_dir: Path
) -> None:
    files = [Upload(f"{n}.txt", b"text %d" % n) for n in range(11)]
    async with seeing(wire, data_dir, count=2) as (scene, story):
        with pytest.raises(Refusal):  # Discord's own limit
            await story.say("Ana", "All of it.", *files)
        await story.say("Ana", "Four.", *files[:4])
        (said,) = words(await scene.model.call())
        assert "text 1\n[end of 1.txt]" in said
        assert said.endswith("[file: 2.txt]\n\n[file: 3.txt]")
        await story.sees("Of one message 2 files are read")
        assert len(notices(story)) == 1


async def test_a_server_without_room_for_pictures_names_them(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir, bytes_per_server=100) as (scene, story):
        await story.say("Ana", "Look.", Upload("a.png", noise(40)), Upload("note.txt", b"words"))
        call = await scene.model.call()
        assert words(call) == ["Ana: Look.\n\n[file: a.png]\n\n[file: note.txt]\nwords\n[end of note.txt]"]
        await story.sees("take all the room")


@pytest.mark.parametrize("status", [404, 403, 302, 503])
async def test_a_file_that_does_not_come_costs_no_words(scene: Scene, story: Story, status: int) -> None:
    scene.wire.faults.fail("GET", CDN, status, times=None)
    await story.say("Ana", "", Upload("cat.png", picture()))
    call = await scene.model.call()
    assert words(call) == ["Ana:\n\n[file: cat.png]"]
    await call.say("Where?")
    await story.answered("Where?")
    await story.sees("Discord did not hand out **cat.png**")


async def test_a_hiccup_of_the_cdn_is_tried_again(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        scene.wire.faults.drop("GET", CDN)
        await story.say("Ana", "Look.", Upload("cat.png", picture()))
        assert len(shown(await scene.model.call())) == 1


async def test_a_file_that_never_comes_is_given_up(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir, seconds=0.5) as (scene, story):
        scene.wire.faults.hang("GET", CDN)
        await story.say("Ana", "Look.", Upload("cat.png", picture()))
        call = await scene.model.call()
        assert words(call) == ["Ana: Look.\n\n[file: cat.png]"]
        await story.sees("Discord did not hand out **cat.png**")


async def test_files_that_are_slow_get_a_sign_and_keep_the_order(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        scene.wire.faults.slow("GET", CDN, 1.6)
        first = await story.say("Ana", "One.", Upload("cat.png", picture()))
        await story.say("Ben", "Two.")
        await story.eyes.wait_for(lambda: "⏳" in story.eyes.shown(first).reactions, timeout=5)
        assert scene.model.calls == []
        call = await scene.model.call()
        assert words(call) == ["Ana: One. | <picture>"]
        await call.say("First.")
        call = await scene.model.call()
        assert words(call)[-1] == "Ben: Two."


# -- nothing is lost ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["stop", "crash"])
async def test_a_file_that_was_coming_when_the_bot_went_is_read_by_the_next_start(
    wire: WireDiscord, data_dir: Path, end: str
) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        await story.exchange("Ana", "One.", "First.")
        scene.wire.faults.hang("GET", CDN)
        await story.say("Ana", "Look.", Upload("cat.png", picture()))
        await story.say("Ben", "Well?")
        await until(lambda: not scene.wire.faults.show())  # it is being asked for
        await getattr(scene.running, end)()
        scene.wire.faults.clear()
        await scene.running.start(wait=False)
        call = await scene.model.call()
        assert words(call) == ["Ana: One.", "Ana: Look. | <picture>", "Ben: Well?"]


async def test_pictures_that_were_shown_while_the_bot_was_away_are_seen(
    wire: WireDiscord, data_dir: Path
) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        await story.exchange("Ana", "One.", "First.")
        await scene.running.stop()
        await story.say("Ana", "", Upload("cat.png", picture()))
        await scene.running.start(wait=False)
        assert words(await scene.model.call()) == ["Ana: One.", "Ana: | <picture>"]


async def test_swipes_rewinds_and_undo_keep_pictures(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        first = await story.exchange("Ana", "One.", "First.")
        await story.say("Ana", "Look.", Upload("cat.png", picture()), Upload("note.txt", b"Miau."))
        note = "[file: note.txt]\nMiau.\n[end of note.txt]"
        seen = ["Ana: One.", f"Ana: Look. | <picture> | {note}"]
        await (await scene.model.call()).say("A cat.")
        await story.answered("A cat.")
        # another answer is written to the same picture
        await story.press("▶")
        call = await scene.model.call()
        assert words(call) == seen
        await call.say("A grey cat.")
        await story.answered("A grey cat.", "2/2")
        # a rewind takes it out of sight, and undo brings it back
        await story.menu(first, "Rewind")
        await story.press("Undo")
        told = await story.sees("📎 cat.png")
        assert told.text == "Look.\n📎 cat.png\n📎 note.txt"
        await story.answered("A grey cat.", "2/2")
        await story.say("Ben", "Nice.")
        assert words(await scene.model.call()) == [*seen, "Ben: Nice."]


async def test_words_that_failed_are_said_again_with_their_picture(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        scene.model.will_refuse(401)
        await story.say("Ana", "Look.", Upload("cat.png", picture()))
        await story.press("Retry")
        assert words(await scene.model.call()) == ["Ana: Look. | <picture>"]


# -- edits (decision 26) --------------------------------------------------------------------------------


async def test_words_that_wait_change_with_what_they_show(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        await story.say("Ana", "One.")
        call = await scene.model.call()
        said = await story.say("Ben", "Look.", Upload("a.png", picture()), Upload("note.txt", b"Miau."))
        await scene.waits(story, "Look.")
        # when the words change, a file is taken off, and Discord hands out nothing any more
        scene.wire.faults.fail("GET", CDN, 404, times=None)
        kept = [a["id"] for a in said.raw["attachments"] if a["filename"] == "a.png"]
        await scene.human("Ben").edit(said, "Look here.", keep=kept)
        await scene.waits(story, "Look here.")
        await call.say("First.")
        # then the picture that stayed was not fetched again
        call = await scene.model.call()
        assert words(call)[-1] == "Ben: Look here. | <picture>"
        assert notices(story) == []


async def test_a_picture_that_was_answered_stays_in_the_story(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        said = await story.say("Ana", "Look.", Upload("a.png", picture()))
        await (await scene.model.call()).say("A cat.")
        await story.answered("A cat.")
        await scene.human("Ana").edit(said, "Look.", keep=[])
        await story.sees("already used the old words")
        await story.say("Ana", "Still?")
        assert words(await scene.model.call()) == ["Ana: Look. | <picture>", "Ana: Still?"]


# -- the narrator ---------------------------------------------------------------------------------------


async def test_the_narrator_says_the_name_of_what_it_is_shown(wire: WireDiscord, data_dir: Path) -> None:
    async with set_scene(wire, data_dir, narrator=True) as scene:
        story = await scene.open_story()
        await story.say("Ana", "Look what I found.", Upload("old_key.png", picture()))
        answer = await story.eyes.sees(
            story.thread,
            lambda m: m.webhook and "⟳" in labels_of(m) and "old_key.png" in m.text.replace("\\", ""),
        )
        assert answer.author == "Mira"
        await story.sees(UNSEEN)


async def test_lore_and_labels_see_the_words_and_not_the_picture(wire: WireDiscord, data_dir: Path) -> None:
    async with seeing(wire, data_dir) as (scene, story):
        await story.say("Ana", "Look.", Upload("a.png", picture()))
        await (await scene.model.call()).say("Yes.")
        await story.answered("Yes.")
        said = next(m for m in await history(scene) if m["source"].get("kind") == "user")
        assert message_text(said) == "Ana: Look."
