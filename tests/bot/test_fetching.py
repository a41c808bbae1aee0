"""Fetching by address: a real server on this machine, and everything that it may try."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
from aiohttp import web

from bot.fetching import Fetcher, is_public
from bot.settings import ImportSettings
from engine.errors import InputError

Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
LIMIT = 100_000


@dataclass
class Host:
    """A server that answers as the test wants."""

    base: str = ""
    asked: list[str] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        return await self.answers[request.path](request)

    def gives(self, path: str, body: bytes = b"{}", kind: str = "application/json", status: int = 200) -> str:
        async def give(request: web.Request) -> web.StreamResponse:
            return web.Response(body=body, content_type=kind, status=status)

        self.answers[path] = give
        return self.base + path

    def leads(self, path: str, to: str, status: int = 302) -> str:
        async def lead(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": to})

        self.answers[path] = lead
        return self.base + path


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    made = Host()
    app = web.Application()
    app.router.add_get("/{name:.*}", made.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.base = f"http://localhost:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    """One that may ask this machine, as only tests may."""
    made = Fetcher(ImportSettings(hosts=("localhost",), loopback=True, seconds=1.0))
    yield made
    await made.aclose()


async def refused(fetcher: Fetcher, address: str, limit: int = LIMIT) -> InputError:
    with pytest.raises(InputError) as caught:
        await fetcher.fetch(address, limit)
    return caught.value


# --- what comes


async def test_a_file_comes_under_the_last_part_of_its_address(host: Host, fetcher: Fetcher) -> None:
    address = host.gives("/cards/Mira%20of%20the%20inn.png", b"\x89PNG...", "image/png")
    host.answers["/cards/Mira of the inn.png"] = host.answers["/cards/Mira%20of%20the%20inn.png"]
    upload = await fetcher.fetch(f"  {address}?size=full#top ", LIMIT)
    assert (upload.filename, upload.body) == ("Mira of the inn.png", b"\x89PNG...")


@pytest.mark.parametrize("kind", ["image/png", "text/plain", "application/octet-stream", "application/zip"])
async def test_every_kind_in_which_cards_are_handed_out_is_taken(
    host: Host, fetcher: Fetcher, kind: str
) -> None:
    assert (await fetcher.fetch(host.gives("/a", b"x", kind), LIMIT)).body == b"x"


async def test_a_redirect_is_followed(host: Host, fetcher: Fetcher) -> None:
    host.gives("/there.json", b'{"a": 1}')
    upload = await fetcher.fetch(host.leads("/here", "/there.json"), LIMIT)
    assert (upload.filename, upload.body) == ("there.json", b'{"a": 1}')


async def test_what_is_packed_on_the_way_is_not_unpacked(host: Host, fetcher: Fetcher) -> None:
    # a few bytes that would become a hundred million
    async def bomb(request: web.Request) -> web.StreamResponse:
        assert request.headers["Accept-Encoding"] == "identity"
        return web.Response(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}, content_type="text/plain")

    host.answers["/bomb"] = bomb
    assert (await fetcher.fetch(host.base + "/bomb", LIMIT)).body == b"\x1f\x8b"


async def test_no_cookie_is_kept(host: Host, fetcher: Fetcher) -> None:
    seen = []

    async def bake(request: web.Request) -> web.StreamResponse:
        seen.append(dict(request.cookies))
        response = web.Response(body=b"x", content_type="text/plain")
        response.set_cookie("who", "me")
        return response

    host.answers["/a"] = bake
    for _ in range(2):
        await fetcher.fetch(host.base + "/a", LIMIT)
    assert seen == [{}, {}]


# --- what is refused before anything is asked


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("http://files.catbox.moe/a.png", "IMPORT_URL_INVALID"),
        ("ftp://files.catbox.moe/a.png", "IMPORT_URL_INVALID"),
        ("file:///etc/passwd", "IMPORT_URL_INVALID"),
        ("a.png", "IMPORT_URL_INVALID"),
        ("https://", "IMPORT_URL_INVALID"),
        ("https://files.catbox.moe:99999/a", "IMPORT_URL_INVALID"),
        ("https://files.catbox.moe:22/a.png", "IMPORT_URL_INVALID"),
        ("https://me@files.catbox.moe/a.png", "IMPORT_URL_INVALID"),
        ("https://files.catbox.moe@127.0.0.1/a.png", "IMPORT_URL_INVALID"),
        ("https://127.0.0.1/a.png", "IMPORT_URL_HOST"),
        ("https://[::1]/a.png", "IMPORT_URL_HOST"),
        ("https://2130706433/a.png", "IMPORT_URL_HOST"),
        ("https://evil.example/files.catbox.moe", "IMPORT_URL_HOST"),
        ("https://files.catbox.moe.evil.example/a", "IMPORT_URL_HOST"),
        ("https://evilfiles.catbox.moe/a", "IMPORT_URL_HOST"),
    ],
)
async def test_only_https_and_only_the_hosts_of_the_settings(address: str, code: str) -> None:
    fetcher = Fetcher(ImportSettings())
    try:
        error = await refused(fetcher, address)
        assert error.error_code == code
        if code == "IMPORT_URL_HOST":
            assert "files.catbox.moe" in error.data["hosts"]
    finally:
        await fetcher.aclose()


async def test_without_hosts_it_is_switched_off() -> None:
    fetcher = Fetcher(ImportSettings(hosts=()))
    assert (await refused(fetcher, "https://files.catbox.moe/a.png")).error_code == "IMPORT_URL_OFF"


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.7", "169.254.169.254"])
async def test_a_host_that_is_a_private_address_is_not_asked_although_it_is_allowed(address: str) -> None:
    fetcher = Fetcher(ImportSettings(hosts=(address,)))
    assert (await refused(fetcher, f"https://{address}/a")).error_code == "IMPORT_URL_PRIVATE"


async def test_a_name_that_points_into_a_house_is_not_asked() -> None:
    """`localhost` is looked up for real, and found to be this machine."""
    fetcher = Fetcher(ImportSettings(hosts=("localhost",)))
    try:
        error = await refused(fetcher, "https://localhost/a.png")
        assert (error.error_code, error.data["host"]) == ("IMPORT_URL_PRIVATE", "localhost")
    finally:
        await fetcher.aclose()


async def test_a_name_is_looked_up_once_and_exactly_that_is_asked(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a name that points to this machine when it is checked, and elsewhere a moment later
    loop = asyncio.get_running_loop()
    port = int(host.base.rpartition(":")[2])
    answers = [("127.0.0.1", port), ("10.1.1.1", port)]
    asked = []

    async def lookup(name: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", answers[len(asked) - 1])]

    monkeypatch.setattr(loop, "getaddrinfo", lookup)
    fetcher = Fetcher(ImportSettings(hosts=("rebind.example",), loopback=True))
    host.gives("/a", b"here")

    # when a file of it is fetched
    try:
        upload = await fetcher.fetch(f"http://rebind.example:{port}/a", LIMIT)
        assert (upload.body, asked) == (b"here", ["rebind.example"])
        # then the next time, when it points into a house, nothing is asked
        await fetcher.aclose()
        fetcher = Fetcher(ImportSettings(hosts=("rebind.example",), loopback=True))
        error = await refused(fetcher, f"http://rebind.example:{port}/a")
        assert error.error_code == "IMPORT_URL_PRIVATE"
    finally:
        await fetcher.aclose()


async def test_one_bad_address_spoils_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()

    async def lookup(*_: object, **__: object) -> list[tuple[object, ...]]:
        places = ("93.184.216.34", 443), ("192.168.1.1", 443)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]

    monkeypatch.setattr(loop, "getaddrinfo", lookup)
    fetcher = Fetcher(ImportSettings(hosts=("mixed.example",)))
    try:
        assert (await refused(fetcher, "https://mixed.example/a")).error_code == "IMPORT_URL_PRIVATE"
    finally:
        await fetcher.aclose()


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.0.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("224.0.0.1", False),
        ("224.0.1.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("2002:7f00:0001::1", False),  # 6to4 around 127.0.0.1
        ("64:ff9b::7f00:1", False),  # NAT64 around 127.0.0.1
        ("64:ff9b::a00:1", False),
    ],
)
def test_what_counts_as_the_open_internet(address: str, public: bool) -> None:
    assert is_public(address) is public


# --- what is refused while it is asked


@pytest.mark.parametrize(
    ("to", "code"),
    [
        ("http://127.0.0.1:1/a", "IMPORT_URL_HOST"),
        ("https://evil.example/a.png", "IMPORT_URL_HOST"),
        ("file:///etc/passwd", "IMPORT_URL_INVALID"),
        ("", "IMPORT_URL_FAILED"),
    ],
)
async def test_where_a_redirect_leads_is_checked_too(
    host: Host, fetcher: Fetcher, to: str, code: str
) -> None:
    address = host.leads("/a", to)
    assert (await refused(fetcher, address)).error_code == code
    assert set(host.asked) == {"/a"}


async def test_redirects_in_a_circle_end(host: Host, fetcher: Fetcher) -> None:
    address = host.leads("/a", "/a")
    assert (await refused(fetcher, address)).error_code == "IMPORT_URL_FAILED"
    assert len(host.asked) == 4


async def test_a_web_page_is_told_as_one(host: Host, fetcher: Fetcher) -> None:
    address = host.gives("/a", b"<html>", "text/html")
    assert (await refused(fetcher, address)).error_code == "IMPORT_URL_PAGE"


async def test_a_film_is_not_fetched(host: Host, fetcher: Fetcher) -> None:
    error = await refused(fetcher, host.gives("/a.mp4", b"x", "video/mp4"))
    assert (error.error_code, error.data["type"]) == ("IMPORT_URL_TYPE", "video/mp4")


@pytest.mark.parametrize("status", [403, 404, 500])
async def test_a_refusal_of_the_host_is_told(host: Host, fetcher: Fetcher, status: int) -> None:
    error = await refused(fetcher, host.gives("/a", status=status))
    assert (error.error_code, error.data["status"]) == ("IMPORT_URL_STATUS", status)


async def test_what_says_that_it_is_too_large_is_not_fetched(host: Host, fetcher: Fetcher) -> None:
    error = await refused(fetcher, host.gives("/a.png", b"x" * 5000, "image/png"), limit=4096)
    assert error.error_code == "IMPORT_TOO_LARGE"
    assert (error.data["file"], error.data["limit"]) == ("a.png", "4 KiB")


async def test_what_does_not_say_its_size_is_cut_off_when_it_is_too_large(
    host: Host, fetcher: Fetcher
) -> None:
    sent = 0

    async def pour(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Type": "image/png"})
        await response.prepare(request)
        try:
            for _ in range(10_000):
                await response.write(b"x" * 10_000)
                sent += 10_000
        except ConnectionError:
            pass
        return response

    host.answers["/a"] = pour
    assert (await refused(fetcher, host.base + "/a")).error_code == "IMPORT_TOO_LARGE"
    await asyncio.sleep(0.1)
    assert sent < 50_000_000


async def test_what_takes_too_long_ends(host: Host, fetcher: Fetcher) -> None:
    async def dawdle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "image/png"})
        await response.prepare(request)
        for _ in range(100):
            await response.write(b"x")
            await asyncio.sleep(0.1)
        return response

    host.answers["/a"] = dawdle
    assert (await refused(fetcher, host.base + "/a")).error_code == "IMPORT_URL_TIMEOUT"


async def test_a_host_that_is_down_is_told(fetcher: Fetcher) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = await refused(fetcher, f"http://localhost:{port}/a")
    assert (error.error_code, error.data["host"]) == ("IMPORT_URL_FAILED", "localhost")
