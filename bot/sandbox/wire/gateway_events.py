"""Which events the bot hears, and how much of them: intents and visibility (spec discord B7)."""

from __future__ import annotations

from bot.sandbox.store import Record
from bot.sandbox.world import State
from bot.sandbox.world.permissions import Permission, in_channel

__all__ = ["ALL_INTENTS", "MESSAGE_CONTENT", "for_bot"]

GUILDS, MEMBERS, WEBHOOKS = 1 << 0, 1 << 1, 1 << 5
GUILD_MESSAGES, GUILD_REACTIONS, GUILD_TYPING = 1 << 9, 1 << 10, 1 << 11
DIRECT_MESSAGES, DIRECT_REACTIONS, DIRECT_TYPING = 1 << 12, 1 << 13, 1 << 14
MESSAGE_CONTENT = 1 << 15
ALL_INTENTS = (1 << 26) - 1

_PREFIXES = (
    # event name prefix, intent in guilds, intent in direct channels
    ("MESSAGE_REACTION_", GUILD_REACTIONS, DIRECT_REACTIONS),
    ("MESSAGE_", GUILD_MESSAGES, DIRECT_MESSAGES),
    ("TYPING_START", GUILD_TYPING, DIRECT_TYPING),
    ("CHANNEL_PINS_UPDATE", GUILDS, DIRECT_MESSAGES),
    ("CHANNEL_", GUILDS, DIRECT_MESSAGES),
    ("THREAD_", GUILDS, 0),
    ("GUILD_MEMBER_", MEMBERS, 0),
    ("WEBHOOKS_UPDATE", WEBHOOKS, 0),
    ("GUILD_", GUILDS, 0),
)
_BODY = ("content", "embeds", "attachments", "components", "poll")


def for_bot(state: State, intents: int, name: str, data: Record) -> Record | None:
    """The payload as the bot's session hears it; None when it does not hear it at all."""
    if name == "INTERACTION_CREATE":
        return data  # needs no intent, and carries its channel
    direct = "guild_id" not in data and not name.startswith("GUILD_")
    for prefix, in_guild, in_direct in _PREFIXES:
        if name.startswith(prefix):
            if not intents & (in_direct if direct else in_guild):
                return None
            break
    if not _visible(state, name, data):
        return None
    if name == "GUILD_CREATE" and not intents & MEMBERS:
        # Without the members intent a guild's list holds the bot alone; others come with their messages.
        me = state.bot["id"]
        return {**data, "members": [m for m in data["members"] if m["user"]["id"] == me]}
    if name in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and not direct and not intents & MESSAGE_CONTENT:
        return _stripped(state, data)
    return data


def _visible(state: State, name: str, data: Record) -> bool:
    me = state.bot["id"]
    channel_id = data.get("channel_id")
    if channel_id is None and name.startswith("THREAD_"):
        channel_id = data["id"]
    channel = state.channels.get(channel_id) if channel_id is not None else None
    # Channels themselves are told of even when they cannot be seen, as Discord does.
    return channel is None or bool(in_channel(state, channel, me) & Permission.VIEW_CHANNEL)


def _stripped(state: State, data: Record) -> Record:
    # Without the privileged intent: what others wrote is empty, unless it names the bot.
    me = state.bot["id"]
    own = data["author"]["id"] == me or any(u["id"] == me for u in data["mentions"])
    if own:
        return data
    empty: Record = {key: ("" if key == "content" else []) for key in _BODY if key in data and key != "poll"}
    return {key: value for key, value in data.items() if key != "poll"} | empty
