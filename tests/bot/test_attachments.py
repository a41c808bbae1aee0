"""Reading what messages bring: downloads from a server that behaves badly, and what is never asked for."""

from __future__ import annotations

import asyncio
import gzip
import io
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeAlias

import discord
import pytest
from aiohttp import web
from PIL import Image

from bot.attachments import (
    AttachmentReader,
    Brought,
    Problem,
    has_more_than_words,
    is_discords,
    without_pictures,
)
from bot.settings import AttachmentSettings
from engine.play import Kept, Named, ShownImage, TextFile

Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
KIB = 1024


def png(side: int = 20) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (side, side), "teal").save(buffer, "PNG")
    return buffer.getvalue()


@dataclass
class Cdn:
    """Serves `/files/NAME` with the answer of that name; counts who was asked for, and what was sent."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    sent: int = 0
    base: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        self.asked.append(name)
        return await self.answers[name](request)

    def message(self, *names: str, **fields: Any) -> Any:
        """A message with these files; `size` and `content_type` may be claimed for all of them."""
        claims = {key: fields.pop(key) for key in ("size", "content_type", "description") if key in fields}
        files = [self.attachment(name, number, **claims) for number, name in enumerate(names)]
        return SimpleNamespace(**{"attachments": files, "stickers": [], "embeds": [], "poll": None, **fields})

    def attachment(self, name: str, number: int = 0, **claims: Any) -> discord.Attachment:
        url = claims.pop("url", f"{self.base}/files/{name}")
        data: Any = {"id": str(number), "filename": name, "size": 100, "url": url, "proxy_url": url, **claims}
        return discord.Attachment(data=data, state=SimpleNamespace(http=None))  # type: ignore[arg-type]


@pytest.fixture
async def cdn(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cdn]:
    made = Cdn()
    app = web.Application()
    app.router.add_get("/files/{name}", made.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    made.base = f"http://{host}:{port}"
    monkeypatch.setattr(discord.Asset, "BASE", f"{made.base}/cdn")
    yield made
    await runner.cleanup()


@pytest.fixture
async def reader() -> AsyncIterator[Callable[..., AttachmentReader]]:
    made: list[AttachmentReader] = []

    def make(**settings: Any) -> AttachmentReader:
        made.append(AttachmentReader(AttachmentSettings(**settings)))
        return made[-1]

    yield make
    for each in made:
        await each.aclose()


def sends(body: bytes, status: int = 200, **headers: str) -> Answer:
    async def send(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body, headers=headers)

    return send


def drips(body: bytes, every: float) -> Answer:
    """One byte after the other: a slow loris."""

    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for byte in body:
            await response.write(bytes([byte]))
            await asyncio.sleep(every)
        return response

    return drip


async def test_pictures_texts_and_the_rest_keep_their_order(cdn: Cdn, reader: Any) -> None:
    cdn.answers = {
        "a.png": sends(png()),
        "b.txt": sends(b"words"),
        "c.bin": sends(b"\0\1\2\3" * 10),
    }
    brought = await reader().read(cdn.message("a.png", "b.txt", "c.bin"))
    picture, text, named = brought.attachments
    assert isinstance(picture, ShownImage)
    assert (picture.ref, picture.name) == ("discord:0", "a.png")
    assert (picture.picture.width, picture.picture.media_type) == (20, "image/png")
    assert text == TextFile("discord:1", "b.txt", "words")
    assert named == Named("discord:2", "c.bin", size=100)
    assert brought.problems == ()


async def test_what_is_known_is_not_asked_for(cdn: Cdn, reader: Any) -> None:
    brought = await reader().read(cdn.message("a.png"), known=frozenset({"discord:0"}))
    assert brought == Brought((Kept("discord:0"),))
    assert cdn.asked == []


async def test_what_is_said_to_be_too_large_is_not_asked_for(cdn: Cdn, reader: Any) -> None:
    message = cdn.message("film.mp4", size=100 * KIB * KIB, content_type="video/mp4")
    assert (await reader().read(message)).problems == ()
    message = cdn.message("photo.png", size=100 * KIB * KIB, content_type="image/png")
    (problem,) = (await reader().read(message)).problems
    assert problem == Problem.of("picture_heavy", file="photo.png", size="100.0 MiB", limit="16.0 MiB")
    assert cdn.asked == []


@pytest.mark.parametrize("claimed", [10, 15_000])
async def test_a_picture_that_is_larger_than_it_said_is_left_in_the_middle(
    cdn: Cdn, reader: Any, claimed: int
) -> None:
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(png())
        while sent < 64 * KIB * KIB:
            await response.write(bytes(64 * KIB))
            sent += 64 * KIB
        return response

    cdn.answers = {"a.png": endless}
    message = cdn.message("a.png", size=claimed, content_type="image/png")
    brought = await reader(picture_bytes=256 * KIB).read(message)
    assert [problem.text for problem in brought.problems] == ["attachment.picture_heavy"]
    assert sent < 32 * KIB * KIB


async def test_of_a_long_file_that_is_no_picture_only_the_beginning_is_read(cdn: Cdn, reader: Any) -> None:
    reached_the_end = False

    async def long(request: web.Request) -> web.StreamResponse:
        nonlocal reached_the_end
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(200):
            await response.write(bytes(64 * KIB))
            await asyncio.sleep(0.001)
        reached_the_end = True
        return response

    cdn.answers = {"a.zip": long}
    brought = await reader().read(cdn.message("a.zip", size=12 * KIB * KIB))
    assert brought == Brought((Named("discord:0", "a.zip", size=12 * KIB * KIB),))
    await asyncio.sleep(0.05)
    assert not reached_the_end


async def test_a_slow_loris_is_left_when_the_time_is_over(cdn: Cdn, reader: Any) -> None:
    cdn.answers = {"a.png": drips(png(), 0.05), "b.txt": sends(b"words")}
    begun = time.monotonic()
    brought = await reader(seconds=0.3).read(cdn.message("a.png", "b.txt"))
    assert time.monotonic() - begun < 2
    # the time is for all files of a message: what comes after has none left
    assert [type(each) for each in brought.attachments] == [Named, Named]
    assert [problem.text for problem in brought.problems] == ["attachment.not_got"] * 2


async def test_a_redirect_is_not_followed(cdn: Cdn, reader: Any) -> None:
    cdn.answers = {"a.txt": sends(b"", 302, Location=f"{cdn.base}/files/b.txt"), "b.txt": sends(b"secret")}
    brought = await reader().read(cdn.message("a.txt"))
    assert [problem.text for problem in brought.problems] == ["attachment.not_got"]
    assert cdn.asked == ["a.txt"]


async def test_nothing_is_unpacked_on_the_way(cdn: Cdn, reader: Any) -> None:
    cdn.answers = {"a.txt": sends(gzip.compress(bytes(8 * KIB * KIB)), **{"Content-Encoding": "gzip"})}
    brought = await reader().read(cdn.message("a.txt", content_type="text/plain"))
    assert [problem.text for problem in brought.problems] == ["attachment.text_broken"]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/files/a.png",
        "http://localhost:{port}/files/a.png",
        "https://127.0.0.1:{port}/files/a.png",
        "https://cdn.discordapp.com/attachments/1/2/a.png",
        "file:///etc/passwd",
        "http://[::1/files/a.png",
        "",
    ],
)
async def test_no_other_address_is_ever_asked(cdn: Cdn, reader: Any, url: str) -> None:
    address = url.format(port=cdn.base.rpartition(":")[2])
    message = cdn.message()
    message.attachments = [cdn.attachment("a.png", url=address)]
    assert [p.text for p in (await reader().read(message)).problems] == ["attachment.not_got"]
    assert cdn.asked == []


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://cdn.discordapp.com/attachments/1/2/a.png?ex=1&is=2&hm=3", True),
        ("https://media.discordapp.net/attachments/1/2/a.png", True),
        ("http://cdn.discordapp.com/attachments/1/2/a.png", False),
        ("https://cdn.discordapp.com:8443/attachments/1/2/a.png", False),
        ("https://cdn.discordapp.com.example.org/a.png", False),
        ("https://example.org/cdn.discordapp.com/a.png", False),
        ("https://cdn.discordapp.com@example.org/a.png", False),
    ],
)
def test_with_discord_itself_only_its_own_hosts_are_asked(url: str, asked: bool) -> None:
    assert is_discords(url) is asked


async def test_things_without_bytes_are_named(cdn: Cdn, reader: Any) -> None:
    blank = discord.Embed()
    message = cdn.message(
        stickers=[SimpleNamespace(id=7, name="Wave")],
        embeds=[discord.Embed(title="A page"), discord.Embed().set_author(name="Somebody"), blank],
        poll=SimpleNamespace(question="Who goes?"),
    )
    assert (await reader().read(message)).attachments == (
        Named("discord:7", "Wave", "sticker"),
        Named("embed:0", "A page", "embed"),
        Named("embed:1", "Somebody", "embed"),
        Named("poll", "Who goes?", "poll"),
    )


def test_a_preview_of_a_link_alone_says_nothing(cdn: Cdn) -> None:
    assert not has_more_than_words(cdn.message(embeds=[discord.Embed(title="A page")]))
    assert has_more_than_words(cdn.message("a.png"))
    assert has_more_than_words(cdn.message(stickers=[SimpleNamespace(id=7, name="Wave")]))


async def test_a_description_and_a_spoiler_belong_to_the_name(cdn: Cdn, reader: Any) -> None:
    cdn.answers = {"SPOILER_a.txt": sends(b"words")}
    brought = await reader().read(cdn.message("SPOILER_a.txt", description="A letter"))
    assert brought.attachments == (TextFile("discord:0", "a.txt (A letter)", "words"),)


async def test_without_room_pictures_are_named_and_texts_stay(cdn: Cdn, reader: Any) -> None:
    cdn.answers = {"a.png": sends(png()), "b.txt": sends(b"words")}
    brought = without_pictures(await reader().read(cdn.message("a.png", "b.txt")), 2048)
    named, text = brought.attachments
    assert isinstance(named, Named)
    assert (named.ref, named.name) == ("discord:0", "a.png")
    assert text == TextFile("discord:1", "b.txt", "words")
    assert brought.problems == (Problem.of("full", limit="2 KiB"),)


async def test_many_messages_at_once_are_read_a_few_at_a_time(cdn: Cdn, reader: Any) -> None:
    now = most = 0

    async def counted(request: web.Request) -> web.StreamResponse:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.05)
        now -= 1
        return web.Response(body=png())

    cdn.answers = {"a.png": counted}
    one = reader(seconds=0.5)
    found = await asyncio.gather(*(one.read(cdn.message("a.png")) for _ in range(30)))
    assert most <= 4
    # and waiting for others is not counted against anybody's time
    assert all(isinstance(brought.attachments[0], ShownImage) for brought in found)
