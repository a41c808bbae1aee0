"""Rate limits, faults, and the log of requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import discord
import pytest

from bot.sandbox.human import Human
from bot.sandbox.wire import WireDiscord
from tests.bot.sandbox.api import Api
from tests.bot.sandbox.sample import SampleBot, run_sample
from tests.e2e.table import open_wire

_HEADERS = ("Limit", "Remaining", "Reset", "Reset-After", "Bucket")


@pytest.fixture
async def strict() -> AsyncIterator[WireDiscord]:
    async with open_wire(rate_limits=True) as wire:
        yield wire


@pytest.fixture
async def http(strict: WireDiscord) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"Authorization": "Bot sandbox"}) as session:
        yield session


async def answer(
    http: aiohttp.ClientSession, method: str, url: str, body: Any = None
) -> aiohttp.ClientResponse:
    async with http.request(method, url, json=body) as response:
        await response.read()
        return response


async def test_the_sixth_message_of_a_channel_within_five_seconds_is_a_real_429(
    strict: WireDiscord, http: aiohttp.ClientSession
) -> None:
    url = f"{strict.urls.api}/channels/{strict.world.channel('general')['id']}/messages"

    answers = [await answer(http, "POST", url, {"content": str(n)}) for n in range(6)]

    assert [a.status for a in answers] == [200] * 5 + [429]
    assert [a.headers["X-RateLimit-Remaining"] for a in answers] == ["4", "3", "2", "1", "0", "0"]
    assert all(f"X-RateLimit-{name}" in a.headers for a in answers for name in _HEADERS)
    assert len({a.headers["X-RateLimit-Bucket"] for a in answers}) == 1
    late = answers[-1]
    assert late.headers["Via"]
    body = await late.json()
    assert 0 < body["retry_after"] <= 5
    assert body["global"] is False


async def test_channels_have_buckets_of_their_own_and_free_routes_none(
    strict: WireDiscord, http: aiohttp.ClientSession
) -> None:
    for name in ("general", "after-dark"):
        url = f"{strict.urls.api}/channels/{strict.world.channel(name)['id']}/messages"
        for number in range(5):
            assert (await answer(http, "POST", url, {"content": str(number)})).status == 200

    free = await answer(http, "GET", strict.urls.api + "/users/@me")

    assert not [name for name in free.headers if name.startswith("X-RateLimit")]


async def test_more_than_fifty_requests_a_second_hit_the_global_limit(
    strict: WireDiscord, http: aiohttp.ClientSession
) -> None:
    urls = [strict.urls.api + "/users/@me"] * 120

    answers = await asyncio.gather(*(answer(http, "GET", url) for url in urls))

    late = next(a for a in answers if a.status == 429)
    assert late.headers["X-RateLimit-Global"] == "true"
    assert (await late.json())["global"] is True


async def test_a_third_new_name_within_ten_minutes_is_refused(
    strict: WireDiscord, http: aiohttp.ClientSession
) -> None:
    world = strict.world
    world.set_role(world.guilds[next(iter(world.guilds))], bot_role(strict), permissions=8)
    url = f"{strict.urls.api}/channels/{world.channel('general')['id']}"

    statuses = [(await answer(http, "PATCH", url, {"name": f"name-{n}"})).status for n in range(3)]

    assert statuses == [200, 200, 429]


def bot_role(wire: WireDiscord) -> str:
    guild = next(iter(wire.world.guilds.values()))
    return str(next(r["id"] for r in guild["roles"] if r["bot_id"]))


async def test_discord_py_paces_itself_by_the_headers_without_a_429(strict: WireDiscord) -> None:
    async with run_sample(strict) as bot:
        channel = discord.utils.get(bot.guilds[0].text_channels, name="general")
        assert channel is not None
        begun = time.monotonic()

        for number in range(7):
            await channel.send(str(number))

        assert time.monotonic() - begun >= 4.5
    assert strict.log.find("POST", "/messages", 429) == []
    assert [m.text for m in Human(strict, "Ana").screen("general")] == [str(n) for n in range(7)]


async def test_webhook_messages_are_paced_five_each_two_seconds(strict: WireDiscord) -> None:
    async with run_sample(strict) as bot:
        channel = discord.utils.get(bot.guilds[0].text_channels, name="general")
        assert channel is not None
        hook = await channel.create_webhook(name="voices")
        begun = time.monotonic()

        for number in range(6):
            await hook.send(str(number), wait=True)

        assert 1.5 <= time.monotonic() - begun < 4
    assert strict.log.find(status=429) == []


# --- faults --------------------------------------------------------------------------


def general(bot: SampleBot) -> discord.TextChannel:
    channel = discord.utils.get(bot.guilds[0].text_channels, name="general")
    assert channel is not None
    return channel


async def test_a_429_fault_is_waited_out(bot: SampleBot, wire: WireDiscord) -> None:
    wire.faults.fail("POST", r"/messages$", 429, {"retry_after": 0.05})

    await general(bot).send("in the end")

    assert [r.status for r in wire.log.find("POST", r"/messages$")] == [429, 200]


async def test_a_500_fault_is_retried_and_its_request_took_no_effect(
    bot: SampleBot, wire: WireDiscord
) -> None:
    wire.faults.fail("POST", r"/messages$", 500)

    await general(bot).send("once")

    assert [m.text for m in Human(wire, "Ana").screen("general")] == ["once"]


async def test_a_lost_answer_sends_once_with_a_nonce_and_twice_by_webhook(
    bot: SampleBot, wire: WireDiscord
) -> None:
    # discord.py gives every message of the bot a nonce; webhooks know none.
    hook = await general(bot).create_webhook(name="voices")
    wire.faults.fail("POST", r"/messages$", 502, after=True)
    await general(bot).send("bot")
    wire.faults.fail("POST", r"/webhooks/", 502, after=True)
    await hook.send("hook", wait=True)

    assert [m.text for m in Human(wire, "Ana").screen("general")] == ["bot", "hook", "hook"]


async def test_a_dropped_connection_is_an_error_of_the_network(bot: SampleBot, wire: WireDiscord) -> None:
    wire.faults.drop("POST", r"/messages$")

    with pytest.raises(aiohttp.ClientError):
        await general(bot).send("lost")

    assert [r.status for r in wire.log.find("POST", r"/messages$")] == [0]


async def test_a_hanging_request_ends_when_the_faults_are_cleared(bot: SampleBot, wire: WireDiscord) -> None:
    wire.faults.hang("POST", r"/messages$")
    sending = asyncio.create_task(general(bot).send("stuck"))
    await asyncio.sleep(0.1)
    assert not sending.done()

    wire.faults.clear()

    with pytest.raises(aiohttp.ClientError):
        await sending


async def test_latency_and_slowness_delay_the_answer(api: Api) -> None:
    api.wire.faults.latency_ms = 60
    api.wire.faults.slow("GET", "/users/@me", 0.06)
    begun = time.monotonic()

    status, _ = await api("GET", "/users/@me")

    assert status == 200
    assert time.monotonic() - begun >= 0.12


async def test_a_fault_happens_as_often_as_told(api: Api) -> None:
    api.wire.faults.fail("GET", "/users/@me", 503, times=2)

    assert [(await api("GET", "/users/@me"))[0] for _ in range(3)] == [503, 503, 200]
    assert api.wire.faults.show() == []


async def test_the_log_counts_the_edits_of_each_message(api: Api) -> None:
    _, sent = await api.send({"content": "a"})
    _, other = await api.send({"content": "b"})
    for text in ("c", "d", "e"):
        await api("PATCH", f"{api.at('general')}/messages/{sent['id']}", {"content": text})

    log = api.wire.log
    assert len(log.edits(sent["id"])) == 3
    assert log.edits(other["id"]) == []
    assert log.edits_per_second() == {sent["channel_id"]: 0.6}
    assert log.find("POST", "/messages")[0].message_id == sent["id"]
