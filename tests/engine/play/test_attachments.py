"""Attachments in the log: blocks by reference, bytes beside it, and both for as long as a story is told."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.codec import digest
from engine.errors import PlayError
from engine.llm import LlmRequest, ModelInfo
from engine.play import Attachment, Kept, Named, ShownImage, TextFile
from engine.play.attachments import refs_of
from engine.play.exchange import spoken_message
from engine.resources import Picture
from engine.session import Sessions, StrictValidator
from tests.engine.play.table import OWNER, Pause, Table, breaking, fails, says, utterance

PNG = b"\x89PNG\r\n\x1a\n"
RED, BLUE = PNG + b"red", PNG + b"blue"


def image(name: str, body: bytes) -> ShownImage:
    return ShownImage(f"ref:{name}", name, Picture(body, "image/png", 64, 48))


def key_of(body: bytes) -> str:
    return digest(body).hex()


async def show(table: Table, play: str, text: str, *attachments: Attachment) -> None:
    await table.plays.say(play, replace(utterance(text), attachments=attachments))


async def told(table: Table, play: str, text: str, *attachments: Attachment) -> None:
    await show(table, play, text, *attachments)
    await table.settle(play)


def give_eyes(table: Table) -> None:
    eyes = frozenset({"text", "image"})
    table.voice.model_info = lambda model: ModelInfo("scripted", model, modalities=eyes)  # type: ignore[method-assign]


def said(request: LlmRequest) -> list[Any]:
    return [message for message in request.messages if message["source"].get("kind") == "user"]


def unseen(table: Table) -> list[str]:
    sessions: list[str] = []
    table.engine.hooks.on("agent/pictures-unseen", sessions.append, owner=table._owner)
    return sessions


# -- the logged form ------------------------------------------------------------------------------------


def test_words_come_first_and_attachments_in_their_order() -> None:
    message = spoken_message(
        replace(
            utterance("Look."),
            attachments=(
                image("cat.png", RED),
                TextFile("ref:t", "note.txt", "Meet me.\n"),
                Named("ref:z", "film.zip", size=7),
                Named("ref:s", "Wave", "sticker"),
            ),
        ),
        "m1",
    )
    assert message["content"] == (
        {"type": "text", "text": "Ana: Look."},
        {
            "type": "image",
            "attachment": {
                "attachmentId": key_of(RED),
                "mediaType": "image/png",
                "bytes": len(RED),
                "width": 64,
                "height": 48,
                "name": "cat.png",
            },
        },
        {"type": "text", "text": "[file: note.txt]\nMeet me.\n[end of note.txt]"},
        {"type": "file", "attachment": {"attachmentId": "ref:z", "name": "film.zip", "bytes": 7}},
        {"type": "text", "text": "[sticker: Wave]"},
    )
    assert message["source"]["text"] == "Look."
    assert message["source"]["attachments"] == (
        {"ref": "ref:cat.png", "kind": "image", "name": "cat.png"},
        {"ref": "ref:t", "kind": "text", "name": "note.txt"},
        {"ref": "ref:z", "kind": "file", "name": "film.zip"},
        {"ref": "ref:s", "kind": "sticker", "name": "Wave"},
    )


def test_without_attachments_the_logged_form_is_what_it_was() -> None:
    message = spoken_message(utterance("Look. "), "m1")
    assert message["content"] == ({"type": "text", "text": "Ana: Look. "},)
    assert "attachments" not in message["source"]


def test_without_words_the_label_stays() -> None:
    message = spoken_message(replace(utterance(""), attachments=(image("a.png", RED),)), "m1")
    assert message["content"][0] == {"type": "text", "text": "Ana:"}


names = st.text(max_size=200)
attachments = st.one_of(
    st.builds(ShownImage, names, names, st.just(Picture(RED, "image/png", 1, 1))),
    st.builds(TextFile, names, names, st.text(max_size=50)),
    st.builds(Named, st.text(min_size=1), names, st.sampled_from(("file", "sticker", "embed", "poll"))),
)


@given(st.lists(attachments, max_size=6, unique_by=lambda each: each.ref))
def test_whatever_is_attached_the_log_takes_it_and_gives_it_back(given_: Sequence[Attachment]) -> None:
    message = spoken_message(replace(utterance("Look."), attachments=tuple(given_)), "m1")
    session = Sessions(validators=[StrictValidator]).create("s")
    session.append("turn/start", {"turn": 1})
    session.append("step/start", {"turn": 1, "step": 1})
    session.append("user/message", message, surface_op="append")
    assert refs_of(message) == {each.ref for each in given_}
    # no name can look like another line or another file
    for block, entry in zip(
        message["content"][1:], message["source"]["attachments"] if given_ else (), strict=True
    ):
        assert "\n" not in entry["name"]
        assert "]" not in entry["name"]
        assert len(entry["name"]) <= 300
        assert block["type"] in ("image", "text", "file")
    # words that change keep what they had
    kept = tuple(Kept(each.ref) for each in given_)
    changed = spoken_message(replace(utterance("Look here."), attachments=kept), "m1", before=message)
    assert changed["content"][1:] == message["content"][1:]
    assert changed["source"].get("attachments") == message["source"].get("attachments")


# -- the request ----------------------------------------------------------------------------------------


async def test_a_model_that_sees_is_handed_the_bytes(table: Table) -> None:
    give_eyes(table)
    blind = unseen(table)
    play = await table.begin()
    await told(table, play, "One.", image("a.png", RED))
    await told(table, play, "Two.", image("b.png", BLUE))
    first, second = table.voice.requests
    assert first.images == {key_of(RED): RED}
    assert second.images == {key_of(RED): RED, key_of(BLUE): BLUE}
    assert blind == []
    # and nothing is added to the messages after they were derived
    agent = await table.engine.agents.open((await table.head(play)).session_id)
    assert list(second.messages) == list(agent.session.derive())[: len(second.messages)]


async def test_a_model_without_eyes_is_handed_nothing_and_that_is_told(table: Table) -> None:
    blind = unseen(table)
    play = await table.begin()
    await table.tell(play, "Hello.")
    assert blind == []
    await told(table, play, "Look.", image("a.png", RED))
    assert table.voice.requests[-1].images == {}
    assert blind == [(await table.head(play)).session_id]
    await table.tell(play, "And?")
    assert len(blind) == 1


async def test_only_what_a_model_takes_is_read_from_the_disk(table: Table) -> None:
    give_eyes(table)
    asked: list[Sequence[str]] = []
    services = table.engine.agents.services
    read = services.pictures

    async def noting(ids: Sequence[str]) -> Any:
        asked.append(ids)
        return await read(ids)

    services.pictures = noting
    play = await table.begin()
    many = [image(f"{n}.png", PNG + bytes([n])) for n in range(25)]
    await told(table, play, "Look.", *many)
    newest = [key_of(PNG + bytes([n])) for n in range(24, 4, -1)]
    assert asked == [tuple(newest)]
    assert list(table.voice.requests[-1].images) == newest


async def test_a_picture_that_is_gone_or_damaged_is_named(table: Table) -> None:
    give_eyes(table)
    play = await table.begin()
    await told(table, play, "Look.", image("a.png", RED), image("b.png", BLUE))
    await table.engine.aclose()
    with closing(sqlite3.connect(table.file)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("DELETE FROM blob WHERE hash = ?", (digest(RED),))
        db.execute("UPDATE blob SET body = x'00' WHERE hash = ?", (digest(BLUE),))
        db.commit()
    await table.open()
    await table.tell(play, "And?")
    assert table.voice.requests[-1].images == {}
    assert (await table.path(play))[-1] == (["And?"], "Answer 2.")


# -- nothing is lost ------------------------------------------------------------------------------------


async def test_a_blob_that_a_story_shows_cannot_be_deleted(table: Table) -> None:
    play = await table.begin()
    await told(table, play, "Look.", image("a.png", RED))
    await table.engine.aclose()
    with closing(sqlite3.connect(table.file)) as db:
        db.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(sqlite3.IntegrityError):
            db.execute("DELETE FROM blob WHERE hash = ?", (digest(RED),))
    await table.open()


async def test_words_that_were_accepted_have_their_picture_after_a_crash(table: Table) -> None:
    give_eyes(table)
    pause = Pause()
    table.voice.will(breaking(pause, "First."))
    play = await table.begin()
    await show(table, play, "One.")
    await pause.reached.wait()
    await show(table, play, "Two.", image("a.png", RED))
    await table.crash()
    give_eyes(table)
    (recovered,) = await table.engine.reconciler.recover(60_000)
    assert recovered.resumed
    await table.settle(play)
    assert table.voice.requests[-1].images == {key_of(RED): RED}


async def test_swipes_rewinds_and_retries_carry_pictures(table: Table) -> None:
    give_eyes(table)
    play = await table.begin()
    await table.tell(play, "One.")
    await told(table, play, "Look.", image("a.png", RED), TextFile("t", "n.txt", "Miau."))
    blocks = said(table.voice.requests[-1])[-1]["content"][1:]

    def still_there() -> None:
        request = table.voice.requests[-1]
        assert request.images == {key_of(RED): RED}
        assert any(message["content"][1:] == blocks for message in said(request))

    still_there()
    await table.swipe(play)
    still_there()
    # the words were set aside by a rewind, and come back
    nodes = await table.nodes(play)
    rewound = await table.plays.rewind(play, nodes[0].id, await table.head(play))
    (words,) = rewound.words
    assert words.attachments == ("a.png", "n.txt")
    await table.tell(play, "Something else.")
    assert table.voice.requests[-1].images == {}
    await table.plays.restore_head(play, rewound.previous, await table.head(play))
    await table.tell(play, "And?")
    still_there()
    # words without an answer are said again
    table.voice.will(fails("AUTH"))
    await told(table, play, "Again.", image("b.png", BLUE))
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert set(table.voice.requests[-1].images) == {key_of(RED), key_of(BLUE)}


async def test_words_that_wait_follow_the_story_with_their_pictures(table: Table) -> None:
    give_eyes(table)
    play = await table.begin()
    await table.tell(play, "One.")
    pause = Pause()
    table.voice.will(breaking(pause, "Other."))
    head = await table.head(play)
    await table.plays.swipe(play, head.node_id, head)
    await pause.reached.wait()
    # said while another answer is written, which then fails: the words go back to where the story stands
    await show(table, play, "Look.", image("a.png", RED))
    await table.plays.stop(play)
    await table.settle(play)
    await table.plays.resume_queue(play)
    await table.settle(play)
    assert table.voice.requests[-1].images == {key_of(RED): RED}


async def test_a_summary_is_asked_for_with_names_and_stands_for_the_pictures(table: Table) -> None:
    give_eyes(table)
    play = await table.begin()
    long = "It rained on the harbour town. " * 20
    await told(table, play, f"a {long}", image("a.png", RED))
    await table.tell(play, f"b {long}")
    table.voice.will(fails("CONTEXT_WINDOW_EXCEEDED"), says("Ana showed a.png."))
    await told(table, play, "c", image("b.png", BLUE))
    refused, asked, answered = table.voice.requests[-3:]
    assert set(refused.images) == {key_of(RED), key_of(BLUE)}
    assert asked.purpose == "compaction"
    assert asked.images == {}
    assert said(asked)[0]["content"][1]["attachment"]["name"] == "a.png"
    assert RED not in answered.images.values()


# -- limits and refusals --------------------------------------------------------------------------------


async def test_a_library_without_room_refuses_before_anything_is_said(table: Table) -> None:
    await table.engine.aclose()
    await table.open(picture_bytes=len(RED))
    play = await table.begin()
    await told(table, play, "One.", image("a.png", RED))
    with pytest.raises(PlayError) as refused:
        await show(table, play, "Two.", image("b.png", BLUE))
    assert (refused.value.error_code, refused.value.data["limit"]) == ("PLAY_PICTURES_FULL", len(RED))
    assert await table.waiting(play) == []
    row = await table.engine.store.fetch_one("attachment_bytes", owner=OWNER)
    assert row is not None
    assert row["bytes"] == len(RED)
    # and the same words without it are taken, under the same key
    await told(table, play, "Two.", Named("ref:b", "b.png"))
    assert (await table.path(play))[-1] == (["Two."], "Answer 2.")


async def test_words_that_wait_change_with_their_attachments(table: Table) -> None:
    give_eyes(table)
    pause = Pause()
    table.voice.will(breaking(pause, "First."))
    play = await table.begin()
    await show(table, play, "One.")
    await pause.reached.wait()
    waiting = replace(utterance("Two.", "k2"), attachments=(image("a.png", RED), Named("ref:z", "z.zip")))
    await table.plays.say(play, waiting)
    assert await table.plays.attached(play, "k2") == {"ref:a.png", "ref:z"}
    changed = replace(
        utterance("Three.", "k2"), attachments=(image("b.png", BLUE), Kept("ref:a.png"), Kept("?"))
    )
    assert await table.plays.amend(play, "k2", changed)
    pause.opened.set()
    await table.settle(play)
    (_, message) = said(table.voice.requests[-1])
    names = [block["attachment"]["name"] for block in message["content"][1:]]
    assert (message["content"][0]["text"], names) == ("Ana: Three.", ["b.png", "a.png"])
    assert set(table.voice.requests[-1].images) == {key_of(RED), key_of(BLUE)}
    # once they were answered nothing changes any more
    assert await table.plays.attached(play, "k2") is None
    assert not await table.plays.amend(play, "k2", changed)


@pytest.mark.parametrize(
    ("failure", "left"),
    [
        ({"code": "UNSUPPORTED_CONTENT", "message": "image input is not supported"}, set()),
        ({"code": "INVALID_REQUEST", "status": 413, "message": "Payload Too Large"}, {RED}),
        ({"code": "INVALID_REQUEST", "status": 400, "message": "Invalid image data"}, {RED}),
        ({"code": "HTTP_422", "status": 422, "message": "messages.1.image_url: bad"}, {RED}),
    ],
)
async def test_pictures_that_a_server_refuses_are_named_from_then_on(
    table: Table, failure: dict[str, Any], left: set[bytes]
) -> None:
    give_eyes(table)
    blind = unseen(table)
    play = await table.begin()
    await told(table, play, "One.", image("a.png", RED))
    table.voice.will([{"type": "finish", "reason": {"kind": "error", "failure": failure}}])
    await told(table, play, "Two.", image("b.png", BLUE))
    assert set(table.voice.requests[-1].images.values()) == left
    assert (await table.path(play))[-1] == (["Two."], "Answer 2.")
    assert len(blind) == 1
    # it stands in the log, for the next process too
    await table.restart()
    give_eyes(table)
    await table.tell(play, "Three.")
    assert set(table.voice.requests[-1].images.values()) == left


async def test_a_server_that_refuses_every_picture_gets_none_at_the_third_try(table: Table) -> None:
    give_eyes(table)
    play = await table.begin()
    await told(table, play, "One.", image("a.png", RED))
    no = {"code": "INVALID_REQUEST", "status": 400, "message": "Could not process image"}
    refuse = [{"type": "finish", "reason": {"kind": "error", "failure": no}}]
    table.voice.will(refuse, refuse)
    await told(table, play, "Two.", image("b.png", BLUE))
    assert [set(request.images.values()) for request in table.voice.requests[1:]] == [
        {RED, BLUE},
        {RED},
        set(),
    ]
    # and a refusal that is about something else is not taken for one of pictures
    table.voice.will([{"type": "finish", "reason": {"kind": "error", "failure": {**no, "message": "no"}}}])
    await told(table, play, "Three.", image("c.png", RED + b"3"))
    assert table.ended[-1].reason["kind"] == "error"
