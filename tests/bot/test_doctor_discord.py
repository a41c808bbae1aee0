"""The doctor's look at Discord, through discord.py and a server that speaks Discord's protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator

import discord
import orjson
import pytest
from aiohttp import web
from discord.http import Route

from bot.doctor import Finding, good, server
from bot.permissions import invite_url
from bot.sandbox.wire import WireDiscord
from bot.sandbox.world import World
from bot.sandbox.world.permissions import Permission
from bot.settings import Settings


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    world.close()


@pytest.fixture
async def wire(world: World) -> AsyncIterator[WireDiscord]:
    async with WireDiscord(world) as wire:
        yield wire


def pointed(settings: Settings, base: str, **more: object) -> Settings:
    """The settings of a bot whose Discord is the server at `base`."""
    values = {
        "token": "sandbox",
        "api_base": f"{base}/api/v10",
        "gateway_url": f"{base.replace('http', 'ws')}/gateway",
        "cdn_base": f"{base}/cdn",
        **more,
    }
    return Settings.model_validate(settings.model_dump() | {"discord": values})


async def found(settings: Settings) -> list[Finding]:
    return [finding async for finding in server.check(settings)]


async def test_a_bot_that_may_do_everything_is_well(
    settings: Settings, world: World, wire: WireDiscord
) -> None:
    owner = world.add_user("Ana")
    guild = world.add_guild("The Inn", owner)
    for channel in ("tavern", "cellar"):
        world.add_channel(guild, channel)
    world.add_channel(guild, "shelf", "forum")

    findings = await found(pointed(settings, wire.urls.base))

    assert good("The bot may read what people write.") in findings
    assert good("The Inn: stories can be played in 3 of 3 channels.") in findings
    assert [finding for finding in findings if finding.kind == "bad"] == []
    assert wire.unknown == []
    assert list(world.messages) == []


async def test_what_lacks_in_a_channel_is_named_with_its_purpose(
    settings: Settings, world: World, wire: WireDiscord
) -> None:
    owner = world.add_user("Ana")
    guild = world.add_guild("The Inn", owner)
    world.add_channel(guild, "tavern")
    rules = world.add_channel(guild, "rules")
    world.set_overwrite(rules, guild["id"], deny=int(Permission.MANAGE_WEBHOOKS | Permission.ADD_REACTIONS))
    world.set_overwrite(
        rules, world.bot["id"], deny=int(Permission.MANAGE_WEBHOOKS | Permission.ADD_REACTIONS)
    )

    findings = await found(pointed(settings, wire.urls.base))

    assert good("The Inn: stories can be played in 1 of 2 channels.") in findings
    assert (
        "• The Inn #rules: lacks Manage Webhooks (to let characters speak under their own name and face); "
        in [str(finding).split("Add Reactions")[0] for finding in findings]
    )


async def test_a_server_without_a_usable_channel_is_bad(
    settings: Settings, world: World, wire: WireDiscord
) -> None:
    owner = world.add_user("Ana")
    guild = world.add_guild("The Inn", owner)
    tavern = world.add_channel(guild, "tavern")
    world.set_overwrite(tavern, world.bot["id"], deny=int(Permission.VIEW_CHANNEL))

    findings = await found(pointed(settings, wire.urls.base))

    assert [finding.text for finding in findings if finding.kind == "bad"] == [
        "The Inn: no channel allows what a story needs."
    ]


async def test_a_bot_that_is_nowhere_gets_its_invitation(
    settings: Settings, world: World, wire: WireDiscord
) -> None:
    findings = await found(pointed(settings, wire.urls.base))

    nowhere = next(finding for finding in findings if finding.text == "The bot is in no server yet.")
    assert nowhere.mend == f"Invite it: {invite_url(int(world.bot['id']))}"


async def test_a_wrong_token_is_bad(settings: Settings, wire: WireDiscord) -> None:
    (only,) = await found(pointed(settings, wire.urls.base, token="someone-elses"))

    assert only.kind == "bad"
    assert only.text == "Discord: the token is not accepted."
    assert "someone-elses" not in str(only)


async def test_a_discord_that_cannot_be_reached_is_bad(settings: Settings) -> None:
    async with WireDiscord(World()) as wire:
        base = wire.urls.base

    (only,) = await found(pointed(settings, base))

    assert only.kind == "bad"
    assert only.text.startswith("Discord: cannot be reached")


async def test_discord_py_is_pointed_back_afterwards(settings: Settings, wire: WireDiscord) -> None:
    route, asset = Route.BASE, discord.Asset.BASE

    await found(pointed(settings, wire.urls.base))

    assert route == Route.BASE
    assert asset == discord.Asset.BASE


@pytest.mark.parametrize(("wanted", "kind"), [(True, "bad"), (False, "note")])
async def test_the_switch_for_message_content_is_looked_at(
    settings: Settings, wanted: bool, kind: str
) -> None:
    # A server that knows only what the application looks like: with that switch off.
    me = {"id": "42", "username": "Inglenook", "discriminator": "0", "avatar": None}
    application = {"id": "42", "name": "Inglenook", "flags": 0, "bot_public": True, "owner": me}
    application |= {"description": "", "icon": None, "verify_key": "", "bot_require_code_grant": False}
    answers = {"/users/@me": me, "/oauth2/applications/@me": application}

    async def answer(request: web.Request) -> web.Response:
        known = answers.get(request.path.removeprefix("/api/v10"), [])
        return web.Response(body=orjson.dumps(known), headers={"Content-Type": "application/json"})

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"

    findings = await found(pointed(settings, base, message_content=wanted))
    await runner.cleanup()

    assert findings[1].kind == kind
    assert (findings[1].mend is not None and "Message Content Intent" in findings[1].mend) is wanted
