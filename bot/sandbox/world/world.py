"""What happens on the wire-level Discord: what exists changes, and everybody hears of it.

All changes are synchronous: between two awaits the world is consistent, and each
change is on disk when the call returns (see `store`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import structlog

from bot.sandbox.snowflake import Clock, iso
from bot.sandbox.store import Record
from bot.sandbox.world import payloads
from bot.sandbox.world.permissions import BOT_DEFAULT, EVERYONE_DEFAULT
from bot.sandbox.world.state import State

__all__ = ["CHANNEL_TYPES", "Feed", "World"]

log = structlog.get_logger(__name__)

Feed: TypeAlias = Callable[[str, Record, str | None], None]
"""Called with (event name, payload, id of the only user who may see it or None)."""

CHANNEL_TYPES = {
    "text": 0, "dm": 1, "voice": 2, "category": 4, "announcement": 5,
    "public_thread": 11, "private_thread": 12, "forum": 15,
}  # fmt: skip


class World(State):
    """All that exists, and the news about it; `path` None keeps it in memory."""

    def __init__(self, path: Path | None = None, *, clock: Clock | None = None) -> None:
        super().__init__(path, clock=clock)
        self._views: list[Feed] = []
        self._bots: list[Feed] = []

    # --- the news ---------------------------------------------------------------

    def subscribe(self, feed: Feed) -> Callable[[], None]:
        """Tell `feed` what people may see, ephemeral things with their user. Returns the end of it."""
        self._views.append(feed)
        return lambda: self._views.remove(feed)

    def subscribe_bot(self, feed: Feed) -> Callable[[], None]:
        """Tell `feed` what the bot's gateway may hear."""
        self._bots.append(feed)
        return lambda: self._bots.remove(feed)

    def emit(self, name: str, data: Record, *, only_for: str | None = None) -> None:
        """Something happened. What is for one user only never reaches the bot's gateway."""
        if only_for is None:
            self.to_bot(name, data)
        self.to_view(name, data, only_for=only_for)

    def to_bot(self, name: str, data: Record) -> None:
        """News for the bot alone (its interactions)."""
        for feed in tuple(self._bots):
            feed(name, data, None)

    def to_view(self, name: str, data: Record, *, only_for: str | None = None) -> None:
        """News for the people's screens alone."""
        for feed in tuple(self._views):
            try:
                feed(name, data, only_for)
            except Exception:  # a broken screen must not break the world
                log.exception("sandbox view failed", event_name=name)

    # --- making things -----------------------------------------------------------

    def add_guild(self, name: str, owner: Record) -> Record:
        """A new server with its @everyone role; the owner and the bot are members."""
        guild_id = self.ids.new()
        guild = self.guilds.put(
            {
                "id": guild_id,
                "name": name,
                "owner_id": owner["id"],
                "roles": [_role(guild_id, "@everyone", int(EVERYONE_DEFAULT), position=0)],
                "system_channel_id": None,
            }
        )
        bot_role = self.add_role(guild, self.bot["username"], int(BOT_DEFAULT), managed_by=self.bot["id"])
        self.add_member(guild, owner, announce=False)
        self.add_member(guild, self.bot, [bot_role["id"]], announce=False)
        self.to_bot("GUILD_CREATE", payloads.guild(self, guild, full=True))
        return guild

    def add_role(
        self,
        guild: Record,
        name: str,
        permissions: int = 0,
        *,
        color: int = 0,
        managed_by: str | None = None,
    ) -> Record:
        """A new role above the existing ones."""
        role = _role(
            self.ids.new(), name, permissions, position=len(guild["roles"]), color=color, bot=managed_by
        )
        guild["roles"].append(role)
        self.guilds.put(guild)
        self.emit("GUILD_ROLE_CREATE", {"guild_id": guild["id"], "role": payloads.role(role)})
        return role

    def set_role(self, guild: Record, role_id: str, *, permissions: int) -> None:
        """Change what a role may do."""
        role = next(r for r in guild["roles"] if r["id"] == role_id)
        role["permissions"] = str(permissions)
        self.guilds.put(guild)
        self.emit("GUILD_ROLE_UPDATE", {"guild_id": guild["id"], "role": payloads.role(role)})

    def add_member(
        self, guild: Record, user: Record, roles: Iterable[str] = (), *, announce: bool = True
    ) -> Record:
        """Let a user into a guild."""
        member = self.members.put(
            {
                "key": f"{guild['id']}:{user['id']}",
                "guild_id": guild["id"],
                "user_id": user["id"],
                "nick": None,
                "roles": list(roles),
                "joined_at": iso(self.clock.now_ms()),
            }
        )
        if announce:
            self.emit("GUILD_MEMBER_ADD", {"guild_id": guild["id"], **payloads.member(self, member)})
        return member

    def set_member(self, member: Record, **fields: object) -> None:
        """Change `nick` or `roles` of a member."""
        member.update(fields)
        self.members.put(member)
        self.emit("GUILD_MEMBER_UPDATE", {"guild_id": member["guild_id"], **payloads.member(self, member)})

    def remove_member(self, guild: Record, user: Record) -> None:
        """Let a user go; for the bot the guild disappears."""
        self.members.drop(f"{guild['id']}:{user['id']}")
        if user["id"] == self.bot["id"]:
            self.to_bot("GUILD_DELETE", {"id": guild["id"]})
        self.emit("GUILD_MEMBER_REMOVE", {"guild_id": guild["id"], "user": payloads.user(user)})

    def add_channel(self, guild: Record, name: str, kind: str = "text", **fields: object) -> Record:
        """A new channel; `kind` is a key of CHANNEL_TYPES. Fields: topic, nsfw, parent_id, position,
        permission_overwrites, rate_limit_per_user, available_tags, flags."""
        channel: Record = {
            "id": self.ids.new(),
            "type": CHANNEL_TYPES[kind],
            "guild_id": guild["id"],
            "name": name,
            "position": sum(1 for c in self.channels.values() if c.get("guild_id") == guild["id"]),
            "parent_id": None,
            "topic": None,
            "nsfw": False,
            "rate_limit_per_user": 0,
            "permission_overwrites": [],
            "available_tags": [],
            "flags": 0,
            "last_message_id": None,
            **fields,
        }
        for tag in channel["available_tags"]:
            tag.setdefault("id", self.ids.new())
        self.channels.put(channel)
        self.emit("CHANNEL_CREATE", payloads.channel(self, channel))
        return channel

    def set_channel(self, channel: Record, **fields: object) -> None:
        """Change fields of a channel or thread and tell everybody."""
        channel.update(fields)
        self.channels.put(channel)
        name = "THREAD_UPDATE" if self.is_thread(channel) else "CHANNEL_UPDATE"
        self.emit(name, payloads.channel(self, channel))

    def set_overwrite(self, channel: Record, target_id: str, *, allow: int = 0, deny: int = 0) -> None:
        """Set a role's or member's overwrite in a channel; both zero removes it."""
        kept = [o for o in channel["permission_overwrites"] if o["id"] != target_id]
        if allow or deny:
            kind = 1 if target_id in self.users else 0
            kept.append({"id": target_id, "type": kind, "allow": str(allow), "deny": str(deny)})
        self.set_channel(channel, permission_overwrites=kept)

    def drop_channel(self, channel: Record) -> None:
        """Delete a channel or thread with its threads, webhooks and messages."""
        for thread in self.threads_of(channel["id"]):
            self.drop_channel(thread)
        for hook in self.webhooks.where(channel_id=channel["id"]):
            self.webhooks.drop(hook["id"])
        self.drop_messages(channel["id"])
        self.channels.drop(channel["id"])
        name = "THREAD_DELETE" if self.is_thread(channel) else "CHANNEL_DELETE"
        self.emit(name, payloads.channel(self, channel))

    def direct(self, user: Record) -> Record:
        """The direct channel between a user and the bot, made when missing."""
        pair = sorted([user["id"], self.bot["id"]], key=int)
        for channel in self.channels.values():
            if channel["type"] == 1 and channel["recipients"] == pair:
                return channel
        channel = self.channels.put(
            {"id": self.ids.new(), "type": 1, "recipients": pair, "last_message_id": None, "flags": 0}
        )
        self.emit("CHANNEL_CREATE", payloads.channel(self, channel), only_for=None)
        return channel


def _role(
    role_id: str, name: str, permissions: int, *, position: int, color: int = 0, bot: str | None = None
) -> Record:
    return {
        "id": role_id,
        "name": name,
        "permissions": str(permissions),
        "position": position,
        "color": color,
        "bot_id": bot,
    }
