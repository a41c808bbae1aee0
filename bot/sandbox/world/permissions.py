"""What a member may do in a channel: roles, then overwrites, as Discord computes it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag
from typing import Any

from bot.sandbox.limits import refuse
from bot.sandbox.store import Record
from bot.sandbox.world.state import State

__all__ = [
    "BOT_DEFAULT", "EVERYONE_DEFAULT", "Permission", "in_channel", "in_guild", "require", "require_guild",
    "require_send",
]  # fmt: skip


class Permission(IntFlag):
    """The permission bits that matter to text channels."""

    CREATE_INVITE = 1 << 0
    KICK_MEMBERS = 1 << 1
    BAN_MEMBERS = 1 << 2
    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    MANAGE_GUILD = 1 << 5
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    SEND_TTS = 1 << 12
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    EXTERNAL_EMOJI = 1 << 18
    CHANGE_NICKNAME = 1 << 26
    MANAGE_NICKNAMES = 1 << 27
    MANAGE_ROLES = 1 << 28
    MANAGE_WEBHOOKS = 1 << 29
    USE_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    EXTERNAL_STICKERS = 1 << 37
    SEND_IN_THREADS = 1 << 38
    SEND_POLLS = 1 << 49
    USE_EXTERNAL_APPS = 1 << 50
    PIN_MESSAGES = 1 << 51


P = Permission
ALL = (1 << 52) - 1

EVERYONE_DEFAULT = (
    P.CREATE_INVITE | P.ADD_REACTIONS | P.VIEW_CHANNEL | P.SEND_MESSAGES | P.EMBED_LINKS | P.ATTACH_FILES
    | P.READ_HISTORY | P.EXTERNAL_EMOJI | P.CHANGE_NICKNAME | P.USE_COMMANDS | P.CREATE_PUBLIC_THREADS
    | P.CREATE_PRIVATE_THREADS | P.SEND_IN_THREADS | P.SEND_POLLS | P.USE_EXTERNAL_APPS
)  # fmt: skip
# What an invitation link of a role-play bot asks for (spec discord B8), nothing more.
BOT_DEFAULT = (
    P.VIEW_CHANNEL | P.SEND_MESSAGES | P.SEND_IN_THREADS | P.CREATE_PUBLIC_THREADS | P.CREATE_PRIVATE_THREADS
    | P.MANAGE_THREADS | P.EMBED_LINKS | P.ATTACH_FILES | P.READ_HISTORY | P.ADD_REACTIONS | P.MANAGE_WEBHOOKS
    | P.MANAGE_MESSAGES | P.PIN_MESSAGES | P.EXTERNAL_EMOJI | P.USE_COMMANDS
)  # fmt: skip
_DIRECT = EVERYONE_DEFAULT | P.PIN_MESSAGES


def in_guild(state: State, guild: Record, user_id: str) -> int:
    """The member's permissions from roles alone; 0 when the user is no member."""
    member = state.members.get(f"{guild['id']}:{user_id}")
    if member is None:
        return 0
    if guild["owner_id"] == user_id:
        return ALL
    mine = {guild["id"], *member["roles"]}
    bits = 0
    for role in guild["roles"]:
        if role["id"] in mine:
            bits |= int(role["permissions"])
    return ALL if bits & P.ADMINISTRATOR else bits


def in_channel(state: State, channel: Record, user_id: str) -> int:
    """The user's permissions in a channel, thread or DM. A thread has its parent's."""
    if channel["type"] == 1:
        return int(_DIRECT) if user_id in channel["recipients"] else 0
    guild = state.guilds[channel["guild_id"]]
    bits = in_guild(state, guild, user_id)
    if bits == ALL or not bits:
        return bits
    if channel["type"] == 12 and not bits & P.MANAGE_THREADS and user_id not in channel["members"]:
        return 0
    holder = state.channels[channel["parent_id"]] if state.is_thread(channel) else channel
    overwrites = {o["id"]: o for o in holder["permission_overwrites"]}
    bits = _apply(bits, [overwrites.get(guild["id"])])
    roles = state.members[f"{guild['id']}:{user_id}"]["roles"]
    bits = _apply(bits, [overwrites.get(role) for role in roles])
    bits = _apply(bits, [overwrites.get(user_id)])
    # A channel that cannot be seen allows nothing at all.
    return bits if bits & P.VIEW_CHANNEL else 0


def _apply(bits: int, overwrites: list[Record | None]) -> int:
    deny = allow = 0
    for overwrite in overwrites:
        if overwrite is not None:
            deny |= int(overwrite["deny"])
            allow |= int(overwrite["allow"])
    return bits & ~deny | allow


def require(state: State, channel: Record, user_id: str, needed: int = 0) -> int:
    """The user's permissions in the channel, or the 403 that Discord gives: 50001 blind, 50013 otherwise."""
    bits = in_channel(state, channel, user_id)
    if not bits & P.VIEW_CHANNEL:
        raise refuse(50001)
    if bits & needed != needed:
        raise refuse(50013)
    return bits


def require_send(state: State, channel: Record, user_id: str, body: Mapping[str, Any], files: bool) -> None:
    """Refuse a message whose author may not send it there, or not with what is in it."""
    needed = P.SEND_IN_THREADS if state.is_thread(channel) else P.SEND_MESSAGES
    if files:
        needed |= P.ATTACH_FILES
    if body.get("embeds"):
        needed |= P.EMBED_LINKS
    if body.get("poll"):
        needed |= P.SEND_POLLS
    bits = require(state, channel, user_id, needed)
    if body.get("message_reference") and not bits & P.READ_HISTORY:
        raise refuse(160002)


def require_guild(state: State, guild: Record, user_id: str, needed: int = 0) -> int:
    """The same for what belongs to the whole guild. A guild without the user is unknown to them."""
    bits = in_guild(state, guild, user_id)
    if not bits:
        raise refuse(10004)
    if bits & needed != needed:
        raise refuse(50013)
    return bits
