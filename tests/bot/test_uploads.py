"""Reading what people upload: real downloads by discord.py from a server that behaves badly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp
import discord
import pytest
from aiohttp import web

from bot.uploads import Upload, read_upload, refusal
from engine.errors import InputError, ResourceError

Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Cdn:
    """Serves one file; each request is answered by the next of `answers`, the last one for ever."""

    url: str = ""
    client: discord.Client = field(default_factory=lambda: discord.Client(intents=discord.Intents.none()))
    answers: list[Answer] = field(default_factory=list)
    asked: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        answer = self.answers[min(self.asked, len(self.answers)) - 1]
        return await answer(request)

    def attachment(self, size: int, name: str = "ada_lovelace.png") -> discord.Attachment:
        """The file as Discord describes it."""
        data: Any = {"id": "1", "filename": name, "size": size, "url": self.url, "proxy_url": self.url}
        return discord.Attachment(data=data, state=self.client._connection)


@pytest.fixture
async def cdn() -> AsyncIterator[Cdn]:
    made = Cdn()
    app = web.Application()
    app.router.add_get("/file", made.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}/file"
    # What discord.py does at log-in: without it there is nothing to download with.
    session = aiohttp.ClientSession()
    made.client.http._HTTPClient__session = session  # type: ignore[attr-defined]
    yield made
    await session.close()
    await runner.cleanup()


def sends(body: bytes, status: int = 200) -> Answer:
    async def send(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body)

    return send


async def breaks_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b"half of it")
    assert request.transport is not None
    request.transport.abort()
    return response


async def test_a_file_is_read_whole(cdn: Cdn) -> None:
    cdn.answers = [sends(b"the card")]
    assert await read_upload(cdn.attachment(8), 100) == Upload("ada_lovelace.png", b"the card")


async def test_a_large_file_is_not_even_downloaded(cdn: Cdn) -> None:
    with pytest.raises(InputError) as refused:
        await read_upload(cdn.attachment(100 * 1024 * 1024), 32 * 1024 * 1024)
    assert refused.value.error_code == "IMPORT_TOO_LARGE"
    assert refused.value.data == {"file": r"ada\_lovelace.png", "size": "100.0 MiB", "limit": "32.0 MiB"}
    assert cdn.asked == 0


async def test_a_file_that_is_larger_than_it_said_is_refused(cdn: Cdn) -> None:
    cdn.answers = [sends(b"x" * 3000)]
    with pytest.raises(InputError) as refused:
        await read_upload(cdn.attachment(10), 2048)
    assert refused.value.error_code == "IMPORT_TOO_LARGE"


@pytest.mark.parametrize("first", [sends(b"", 503), breaks_off])
async def test_a_hiccup_is_tried_once_more(cdn: Cdn, first: Answer) -> None:
    cdn.answers = [first, sends(b"the card")]
    assert (await read_upload(cdn.attachment(8), 2048)).body == b"the card"
    assert cdn.asked == 2


@pytest.mark.parametrize(("answer", "asked"), [(sends(b"", 404), 1), (sends(b"", 403), 1), (breaks_off, 2)])
async def test_what_does_not_come_is_said_not_to(cdn: Cdn, answer: Answer, asked: int) -> None:
    cdn.answers = [answer]
    with pytest.raises(InputError) as refused:
        await read_upload(cdn.attachment(8), 2048)
    assert refused.value.error_code == "IMPORT_DOWNLOAD_FAILED"
    assert refused.value.data == {"file": r"ada\_lovelace.png"}
    assert cdn.asked == asked


def test_a_refusal_carries_what_its_text_needs() -> None:
    full = ResourceError("Full.", code="LIBRARY_STORAGE_LIMIT_REACHED", limit=512 * 1024 * 1024)
    broken = ResourceError("Its JSON breaks off.", code="PRESET_INVALID")
    assert refusal(full, "a.json", "card").data == {"limit": "512.0 MiB"}
    told = refusal(broken, "a_b.json", "preset")
    assert (told.error_code, told.data) == (
        "IMPORT_NOT_PRESET",
        {"file": r"a\_b.json", "reason": "Its JSON breaks off."},
    )
