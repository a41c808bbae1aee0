"""Discord: the token, the application's switches, and what the bot may do in each channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import aiohttp
import discord

from bot.doctor.finding import Finding, bad, good, note
from bot.endpoint import aim
from bot.i18n import FALLBACK, t
from bot.permissions import Need, invite_url, missing
from bot.settings import Settings

__all__ = ["check"]

# discord.py tries a failing server five times over some 25 seconds; twice that is out of order.
PATIENCE = 60
SERVERS = 20  # more would take minutes of requests and screens of lines


async def check(settings: Settings) -> AsyncIterator[Finding]:
    """Findings about Discord, by the same requests that the bot makes; nothing is sent to any channel."""
    token = settings.discord.token
    if token is None:
        yield bad(
            "Discord: no token is set.",
            "Copy the bot's token from the developer portal into INGLENOOK_DISCORD__TOKEN"
            " or the file secrets/discord.token. (The sandbox needs none.)",
        )
        return
    restore = aim(settings.discord)
    try:
        async with (
            asyncio.timeout(PATIENCE),
            discord.Client(intents=discord.Intents.none(), max_ratelimit_timeout=30) as client,
        ):
            await client.login(token.get_secret_value())
            assert client.user is not None
            yield good(f"Discord: the token is that of {client.user}.")
            async for finding in _application(client, settings):
                yield finding
            async for finding in _servers(client):
                yield finding
    except discord.LoginFailure:
        yield bad(
            "Discord: the token is not accepted.",
            "Make a new one in the developer portal under Bot → Reset Token, and set it as before.",
        )
    except discord.HTTPException as error:
        yield bad(
            f"Discord: it answered {error.status} ({error.text or 'no reason given'}).", "Try again later."
        )
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        yield bad(f"Discord: cannot be reached ({type(error).__name__}).", "Check this machine's network.")
    finally:
        restore()


async def _application(client: discord.Client, settings: Settings) -> AsyncIterator[Finding]:
    application = await client.application_info()
    flags = application.flags
    if not settings.discord.message_content:
        yield note("Message content is switched off: the bot reads only messages that mention it.")
    elif flags.gateway_message_content or flags.gateway_message_content_limited:
        yield good("The bot may read what people write.")
    else:
        yield bad(
            "The bot may not read what people write.",
            "Switch on “Message Content Intent” in the developer portal under Bot,"
            " or set discord.message_content = false.",
        )
    if not await client.http.get_global_commands(application.id):
        yield note("No slash commands are registered yet; the next start registers them.")


async def _servers(client: discord.Client) -> AsyncIterator[Finding]:
    assert client.user is not None and client.application_id is not None
    count = 0
    async for brief in client.fetch_guilds(limit=SERVERS, with_counts=False):
        count += 1
        guild = await client.fetch_guild(brief.id, with_counts=False)
        me = await guild.fetch_member(client.user.id)
        for finding in _channels(guild, me, await guild.fetch_channels()):
            yield finding
    if not count:
        yield note("The bot is in no server yet.", f"Invite it: {invite_url(client.application_id)}")
    elif count == SERVERS:
        yield note(f"Only the first {SERVERS} servers were looked at.")


def _channels(
    guild: discord.Guild, me: discord.Member, channels: Sequence[discord.abc.GuildChannel]
) -> list[Finding]:
    homes = [
        channel for channel in channels if isinstance(channel, discord.TextChannel | discord.ForumChannel)
    ]
    visible = [channel for channel in homes if channel.permissions_for(me).view_channel]
    lacking = {channel: missing(channel.permissions_for(me), "parent") for channel in visible}
    playable = [channel for channel, needs in lacking.items() if not any(need.vital for need in needs)]
    findings = []
    if playable:
        findings.append(
            good(f"{guild.name}: stories can be played in {len(playable)} of {len(homes)} channels.")
        )
    else:
        findings.append(
            bad(
                f"{guild.name}: no channel allows what a story needs.",
                "Give the bot's role the permissions listed here, in one channel or in the whole server.",
            )
        )
    # A channel that is hidden from the bot is meant to be; one that it sees and cannot use may not be.
    findings += [
        note(f"{guild.name} #{channel.name}: lacks {_listed(needs)}")
        for channel, needs in lacking.items()
        if needs
    ]
    return findings


def _listed(needs: Sequence[Need]) -> str:
    return "; ".join(f"{t(FALLBACK, need.text_key)} (to {t(FALLBACK, need.purpose_key)})" for need in needs)
