"""Other sites are kept out of the sandbox, whatever a browser would let them try."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot.sandbox.page import Page
from bot.sandbox.seed import seed_world
from bot.sandbox.wire import WireDiscord
from bot.sandbox.world import World


@pytest.fixture
async def inn() -> AsyncIterator[WireDiscord]:
    world = World()
    seed_world(world)
    server = WireDiscord(world)
    Page(server).install()
    async with server:
        yield server
    world.close()


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def port(inn: WireDiscord) -> str:
    return inn.urls.base.rpartition(":")[2]


@pytest.mark.parametrize(
    "path", ["/", "/static/js/main.js", "/api/v10/users/@me", "/cdn/avatars/1/x.png", "/gateway"]
)
async def test_a_name_that_only_points_here_is_refused(
    inn: WireDiscord, client: aiohttp.ClientSession, path: str
) -> None:
    # given a request that arrives under another site's name (DNS rebinding)
    answer = await client.get(inn.urls.base + path, headers={"Host": f"evil.example:{port(inn)}"})
    assert answer.status == 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
async def test_both_names_of_this_machine_are_fine(
    inn: WireDiscord, client: aiohttp.ClientSession, name: str
) -> None:
    answer = await client.get(inn.urls.base + "/", headers={"Host": f"{name}:{port(inn)}"})
    assert answer.status == 200
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/page/api/say"),
        ("GET", "/page/ws"),
        ("GET", "/gateway"),
        ("POST", "/api/v10/channels/1/messages"),
    ],
)
async def test_another_origin_is_refused_everywhere(
    inn: WireDiscord, client: aiohttp.ClientSession, origin: str, method: str, path: str
) -> None:
    # given the headers with which another site's form, script or websocket would come
    answer = await client.request(method, inn.urls.base + path, headers={"Origin": origin}, json={})
    assert answer.status == 403


async def test_acting_needs_the_page_s_own_origin(inn: WireDiscord, client: aiohttp.ClientSession) -> None:
    tavern = inn.world.channel("tavern")["id"]
    body = {"channel": tavern, "content": "hello"}
    # when it comes without an origin: no browser's page does
    answer = await client.post(inn.urls.base + "/page/api/say", json=body)
    assert answer.status == 403
    # when it comes from the page
    answer = await client.post(inn.urls.base + "/page/api/say", json=body, headers={"Origin": inn.urls.base})
    assert answer.status == 200
    assert len(inn.world.history(tavern)) == 1


@pytest.mark.parametrize("path", ["../seed.py", "js/../../seed.py", "%2e%2e/seed.py", "js", "nothing.js"])
async def test_only_the_page_s_files_are_served(
    inn: WireDiscord, client: aiohttp.ClientSession, path: str
) -> None:
    from yarl import URL

    answer = await client.get(URL(f"{inn.urls.base}/static/{path}", encoded=True))
    assert answer.status == 404
