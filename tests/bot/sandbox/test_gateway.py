"""Lost lines, lost sessions and refused logins."""

from __future__ import annotations

from collections.abc import Callable

import aiohttp
import discord
import pytest

from bot.sandbox.human import Human
from bot.sandbox.wire import WireDiscord
from bot.sandbox.wire.gateway_events import ALL_INTENTS, MESSAGE_CONTENT
from bot.sandbox.world import World, membership, threads
from bot.sandbox.world.permissions import EVERYONE_DEFAULT, in_channel
from engine.codec import dumps
from tests.bot.sandbox.sample import SampleBot, run_sample
from tests.e2e.table import open_wire

People = Callable[[str], Human]


async def test_a_dropped_line_is_resumed_and_the_missed_events_are_replayed(
    bot: SampleBot, wire: WireDiscord, human: People
) -> None:
    ana = human("Ana")
    await ana.say("general", "before")
    await bot.texts(1)

    async with wire.gateway.outage():
        await ana.say("general", "during 1")
        await ana.say("general", "during 2")
    await bot.until("resumed")

    assert await bot.texts(3) == ["before", "during 1", "during 2"]
    assert (wire.gateway.identifies, wire.gateway.resumes) == (1, 1)


@pytest.mark.parametrize("code", [4000, 4008, 1011])
async def test_a_closed_line_is_resumed(bot: SampleBot, wire: WireDiscord, code: int) -> None:
    await wire.gateway.drop(code)

    await wire.gateway.wait_until(resumes=1)
    assert wire.gateway.online


async def test_op_7_makes_the_bot_reconnect_and_resume(bot: SampleBot, wire: WireDiscord) -> None:
    await wire.gateway.reconnect()

    await wire.gateway.wait_until(resumes=1)
    assert wire.gateway.identifies == 1


async def test_an_invalid_session_identifies_anew_and_misses_what_happened(
    bot: SampleBot, wire: WireDiscord, human: People
) -> None:
    ana = human("Ana")

    async with wire.gateway.outage(lose_sessions=True):
        await ana.say("general", "nobody hears this")
    await wire.gateway.wait_until(identifies=2)
    await ana.say("general", "but this")

    assert await bot.texts(1) == ["but this"]
    channel = discord.utils.get(bot.guilds[0].text_channels, name="general")
    assert channel is not None
    assert [m.content async for m in channel.history()] == ["but this", "nobody hears this"]


async def test_op_9_while_connected_identifies_anew(bot: SampleBot, wire: WireDiscord) -> None:
    await wire.gateway.invalidate_session()

    await wire.gateway.wait_until(identifies=2)
    assert wire.gateway.resumes == 0


async def test_a_resumable_op_9_resumes(bot: SampleBot, wire: WireDiscord) -> None:
    await wire.gateway.invalidate_session(resumable=True)

    await wire.gateway.wait_until(resumes=1)
    assert wire.gateway.identifies == 1


async def test_a_privileged_intent_that_is_off_closes_with_4014(wire: WireDiscord) -> None:
    wire.gateway.allowed_intents = ALL_INTENTS & ~MESSAGE_CONTENT

    with pytest.raises(discord.PrivilegedIntentsRequired):
        async with run_sample(wire):
            pass


async def test_a_wrong_token_is_refused(wire: WireDiscord) -> None:
    wire.world.token = "another"
    headers = {"Authorization": "Bot sandbox"}
    async with aiohttp.ClientSession(headers=headers) as http:
        async with http.get(wire.urls.api + "/users/@me") as answer:
            assert answer.status == 401
            assert (await answer.json())["message"] == "401: Unauthorized"
        assert await close_code(http, wire, identify(token="sandbox")) == 4004


def identify(**changes: object) -> dict[str, object]:
    data = {"token": "sandbox", "intents": 1, "properties": {}, **changes}
    return {"op": 2, "d": data}


async def close_code(http: aiohttp.ClientSession, wire: WireDiscord, *frames: object) -> int | None:
    async with http.ws_connect(wire.urls.gateway) as socket:
        for frame in frames:
            await socket.send_bytes(frame if isinstance(frame, bytes) else dumps(frame))  # type: ignore[arg-type]
        while not socket.closed:
            await socket.receive(timeout=5)
        return socket.close_code


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([b"{nonsense"], 4002),
        ([b"[" + b" " * 5000 + b"]"], 4002),
        ([{"op": 99}], 4003),
        ([{"op": 2, "d": "hello"}], 4002),
        ([identify(), {"op": 99}], 4001),
        ([identify(), identify()], 4005),
        ([identify(intents=1 << 40)], 4013),
        ([{"op": 1, "d": None}] * 121, 4008),
    ],
)
async def test_frames_against_the_protocol_close_the_line(
    wire: WireDiscord, frames: list[object], code: int
) -> None:
    async with aiohttp.ClientSession() as http:
        assert await close_code(http, wire, *frames) == code


async def test_without_the_content_intent_text_is_empty_unless_the_bot_is_meant(
    wire: WireDiscord, human: People
) -> None:
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = True
    ana = human("Ana")
    async with run_sample(wire, intents) as bot:
        assert bot.user is not None
        await ana.say("general", "a secret")
        await ana.say("general", f"<@{bot.user.id}> hello")
        await ana.say(ana.direct(), "in private")

        assert await bot.texts(3) == ["", f"<@{bot.user.id}> hello", "in private"]


async def test_what_the_bot_cannot_see_it_does_not_hear(
    bot: SampleBot, wire: WireDiscord, human: People
) -> None:
    world = wire.world
    world.set_overwrite(world.channel("after-dark"), world.bot["id"], deny=1 << 10)

    await human("Ana").say("after-dark", "hidden")
    await human("Ana").say("general", "open")

    assert await bot.texts(1) == ["open"]


async def test_zlib_stream_is_spoken_when_switched_on() -> None:
    async with open_wire(compress=True) as wire, run_sample(wire) as bot:
        await Human(wire, "Ana").say("general", "packed " * 50)

        assert await bot.texts(1) == [("packed " * 50).strip()]


async def test_without_the_members_intent_the_guild_holds_the_bot_alone(
    bot: SampleBot, human: People
) -> None:
    assert [m.display_name for m in bot.guilds[0].members] == ["Inglenook"]

    await human("Ben").say("general", "here I am")
    await bot.texts(1)

    author = bot.heard[0].author
    assert isinstance(author, discord.Member)
    assert author.display_name == "Ben"


async def test_a_private_thread_is_known_to_the_bot_once_it_is_in_it(
    bot: SampleBot, wire: WireDiscord
) -> None:
    world = wire.world
    ben = world.user("Ben")
    thread = threads.standalone(world, world.channel("general"), ben["id"], {"name": "secret", "type": 12})
    world.set_role(next(iter(world.guilds.values())), role_of_bot(world), permissions=int(EVERYONE_DEFAULT))
    assert in_channel(world, thread, world.bot["id"]) == 0

    membership.join(world, thread, world.bot["id"])

    await bot.until("thread secret")


def role_of_bot(world: World) -> str:
    guild = next(iter(world.guilds.values()))
    return str(next(r["id"] for r in guild["roles"] if r["bot_id"]))
