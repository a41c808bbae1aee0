"""Records as the wire shows them: REST answers and gateway events."""

from __future__ import annotations

from typing import Any

from bot.sandbox.limits import components
from bot.sandbox.snowflake import iso, ms_of
from bot.sandbox.store import Record
from bot.sandbox.world.permissions import in_channel
from bot.sandbox.world.state import State

__all__ = [
    "application", "attachment", "channel", "emoji", "guild", "member", "message", "partial_channel", "role",
    "thread_member", "user", "webhook",
]  # fmt: skip

FILE_LIMIT = 10 * 1024 * 1024  # an unboosted guild (spec discord B1)

# What every guild here has: no pictures, no community features, no boosts.
_GUILD_CONSTANTS: Record = {
    "icon": None, "splash": None, "discovery_splash": None, "description": None, "banner": None,
    "region": "deprecated", "afk_channel_id": None, "afk_timeout": 300, "verification_level": 0,
    "default_message_notifications": 1, "explicit_content_filter": 0, "emojis": [], "stickers": [],
    "features": [], "mfa_level": 0, "nsfw_level": 0, "application_id": None, "system_channel_flags": 0,
    "rules_channel_id": None, "public_updates_channel_id": None, "safety_alerts_channel_id": None,
    "vanity_url_code": None, "premium_tier": 0, "premium_subscription_count": 0,
    "premium_progress_bar_enabled": False, "max_members": 500_000,
    "max_presences": None, "max_video_channel_users": 25, "incidents_data": None,
}  # fmt: skip


def user(record: Record) -> Record:
    """A user object."""
    shown = {
        "id": record["id"],
        "username": record["username"],
        "global_name": record["global_name"],
        "discriminator": "0",
        "avatar": record["avatar"],
        "public_flags": 0,
    }
    if record["bot"]:
        shown["bot"] = True
    return shown


def member(state: State, record: Record, *, with_user: bool = True) -> Record:
    """A guild member object."""
    shown: Record = {
        "nick": record["nick"],
        "avatar": None,
        "roles": list(record["roles"]),
        "joined_at": record["joined_at"],
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "pending": False,
        "flags": 0,
        "communication_disabled_until": None,
    }
    if with_user:
        shown["user"] = user(state.users[record["user_id"]])
    return shown


def role(record: Record) -> Record:
    """A role object."""
    shown: Record = {
        "id": record["id"],
        "name": record["name"],
        "permissions": record["permissions"],
        "position": record["position"],
        "color": record["color"],
        "colors": {"primary_color": record["color"], "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": record["bot_id"] is not None,
        "mentionable": False,
        "icon": None,
        "unicode_emoji": None,
        "flags": 0,
    }
    if record["bot_id"] is not None:
        shown["tags"] = {"bot_id": record["bot_id"]}
    return shown


def application(state: State) -> Record:
    """The bot's application; its id is the bot's user id, as for every new bot."""
    bot = state.bot
    owner = next((g["owner_id"] for g in state.guilds.values()), bot["id"])
    return {
        "id": bot["id"],
        "name": bot["username"],
        "icon": None,
        "description": "The sandbox's own bot.",
        "summary": "",
        "verify_key": "0" * 64,
        "bot_public": False,
        "bot_require_code_grant": False,
        "owner": user(state.users[owner]),
        # GATEWAY_MESSAGE_CONTENT_LIMITED | GATEWAY_GUILD_MEMBERS_LIMITED: allowed for small bots.
        "flags": 1 << 19 | 1 << 15,
        "bot": user(bot),
        "tags": [],
        "integration_types_config": {"0": {}},
    }


def guild(state: State, record: Record, *, full: bool = False) -> Record:
    """A guild object; `full` adds what GUILD_CREATE brings. Only what the bot can see is in it."""
    guild_id = record["id"]
    members = state.members.where(guild_id=guild_id)
    shown: Record = {
        **_GUILD_CONSTANTS,
        "id": guild_id,
        "name": record["name"],
        "owner_id": record["owner_id"],
        "roles": [role(r) for r in record["roles"]],
        "system_channel_id": record["system_channel_id"],
        "preferred_locale": record.get("preferred_locale", "en-US"),
    }
    if not full:
        return shown
    mine = [c for c in state.channels.values() if c.get("guild_id") == guild_id]
    me = state.bot["id"]
    shown |= {
        "joined_at": state.members[f"{guild_id}:{me}"]["joined_at"],
        "large": False,
        "unavailable": False,
        "member_count": len(members),
        "members": [member(state, m) for m in members],
        "channels": [channel(state, c) for c in mine if not state.is_thread(c)],
        # Archived threads are fetched on demand; private ones come with membership.
        "threads": [
            channel(state, c, viewer=me)
            for c in mine
            if state.is_thread(c) and not c["archived"] and in_channel(state, c, me)
        ],
        "voice_states": [],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }
    return shown


def channel(state: State, record: Record, *, viewer: str | None = None) -> Record:
    """A channel, thread or direct channel object; `viewer` adds their thread membership."""
    if record["type"] == 1:
        others = [user(state.users[u]) for u in record["recipients"] if u != state.bot["id"]]
        return {
            "id": record["id"],
            "type": 1,
            "recipients": others,
            "last_message_id": record["last_message_id"],
            "flags": 0,
        }
    if state.is_thread(record):
        return _thread(record, viewer)
    keys = (
        "id",
        "type",
        "guild_id",
        "name",
        "position",
        "parent_id",
        "nsfw",
        "permission_overwrites",
        "flags",
    )
    shown = {key: record[key] for key in keys}
    if record["type"] != 4:
        shown |= {
            "topic": record["topic"],
            "rate_limit_per_user": record["rate_limit_per_user"],
            "last_message_id": record["last_message_id"],
            "default_auto_archive_duration": record.get("default_auto_archive_duration"),
        }
    if record["type"] == 2:
        shown |= {"bitrate": 64000, "user_limit": 0, "rtc_region": None}
    if record["type"] == 15:
        shown |= {
            "available_tags": [_tag(t) for t in record["available_tags"]],
            "default_reaction_emoji": None,
            "default_sort_order": None,
            "default_forum_layout": 0,
            "default_thread_rate_limit_per_user": 0,
        }
    return shown


def _tag(tag: Record) -> Record:
    return {
        "id": tag["id"],
        "name": tag["name"],
        "moderated": tag.get("moderated", False),
        "emoji_id": tag.get("emoji_id"),
        "emoji_name": tag.get("emoji_name"),
    }


def _thread(record: Record, viewer: str | None) -> Record:
    metadata: Record = {
        "archived": record["archived"],
        "auto_archive_duration": record["auto_archive_duration"],
        "archive_timestamp": record["archive_timestamp"],
        "locked": record["locked"],
        "create_timestamp": iso(record["created_ms"]),
    }
    if record["type"] == 12:
        metadata["invitable"] = record["invitable"]
    keys = (
        "id", "type", "guild_id", "parent_id", "owner_id", "name", "last_message_id", "message_count",
        "total_message_sent", "rate_limit_per_user", "flags", "applied_tags",
    )  # fmt: skip
    shown = {key: record[key] for key in keys}
    shown |= {"member_count": min(len(record["members"]), 50), "thread_metadata": metadata}
    if viewer is not None and viewer in record["members"]:
        shown["member"] = thread_member(record, viewer)
    return shown


def thread_member(record: Record, user_id: str) -> Record:
    """A thread membership; `record` is the thread."""
    return {
        "id": record["id"],
        "user_id": user_id,
        "join_timestamp": record["members"][user_id],
        "flags": 0,
        "muted": False,
    }


def partial_channel(state: State, record: Record, user_id: str) -> Record:
    """The channel object inside interactions, with the invoking user's permissions."""
    shown = channel(state, record)
    shown["permissions"] = str(in_channel(state, record, user_id))
    return shown


def webhook(state: State, record: Record, *, with_token: bool = True) -> Record:
    """A webhook object; the token is shown to whom owns it."""
    shown: Record = {
        "id": record["id"],
        "type": 1,
        "guild_id": record["guild_id"],
        "channel_id": record["channel_id"],
        "name": record["name"],
        "avatar": record["avatar"],
        "application_id": record["application_id"],
        "user": user(state.users[record["creator_id"]]),
    }
    if with_token:
        shown["token"] = record["token"]
    return shown


def attachment(state: State, record: Record) -> Record:
    """An attachment object with a freshly signed link."""
    link = state.link(record["path"])
    shown = {
        "id": record["id"],
        "filename": record["filename"],
        "size": record["size"],
        "url": link,
        "proxy_url": link,
        "content_type": record["content_type"],
    }
    for key in ("width", "height", "description", "ephemeral"):
        if record.get(key) is not None:
            shown[key] = record[key]
    return shown


def emoji(text: str) -> Record:
    """A partial emoji from its path form: a Unicode emoji or `name:id`."""
    name, _, emoji_id = text.partition(":")
    return {"id": emoji_id or None, "name": name, "animated": False}


def _author(state: State, record: Record) -> Record:
    persona = record["persona"]
    if persona is None:
        return user(state.users[record["author_id"]])
    return {
        "id": record["webhook_id"],
        "username": persona["username"],
        "global_name": None,
        "discriminator": "0000",
        "avatar": persona["avatar"],
        "bot": True,
        "public_flags": 0,
    }


def message(state: State, record: Record, *, viewer: str | None = None, news: bool = False) -> Record:
    """A message object as `viewer` (the bot when None) sees it; `news` adds what gateway events carry."""
    me = viewer or state.bot["id"]
    shown: Record = {
        "id": record["id"],
        "channel_id": record["channel_id"],
        "type": record["type"],
        "author": _author(state, record),
        "content": record["content"],
        "timestamp": iso(ms_of(record["id"])),
        "edited_timestamp": record["edited_timestamp"],
        "tts": record["tts"],
        "mention_everyone": record["mention_everyone"],
        "mentions": [_mentioned(state, record, u, news) for u in record["mentions"]],
        "mention_roles": record["mention_roles"],
        "attachments": [attachment(state, a) for a in record["attachments"]],
        "embeds": record["embeds"],
        "components": components.show(record, state.link),
        "pinned": record["pinned_at"] is not None,
        "flags": record["flags"],
    }
    if record["reactions"]:
        shown["reactions"] = [_reaction(r, me) for r in record["reactions"]]
    for key in ("nonce", "webhook_id", "application_id", "position", "poll", "message_snapshots"):
        if record.get(key) is not None:
            shown[key] = record[key]
    _add_reference(state, record, shown)
    _add_interaction(state, record, shown)
    if record["flags"] & 32 and record["id"] in state.channels:
        shown["thread"] = channel(state, state.channels[record["id"]])
    if news and "guild_id" in record:
        shown["guild_id"] = record["guild_id"]
        own = state.members.get(f"{record['guild_id']}:{record['author_id']}")
        if record["persona"] is None and own is not None:
            shown["member"] = member(state, own, with_user=False)
    return shown


def _mentioned(state: State, record: Record, user_id: str, news: bool) -> Record:
    shown = user(state.users[user_id])
    own = state.members.get(f"{record.get('guild_id')}:{user_id}")
    if news and own is not None:
        shown["member"] = member(state, own, with_user=False)
    return shown


def _reaction(reaction: Record, me: str) -> Record:
    return {
        "emoji": emoji(reaction["emoji"]),
        "count": len(reaction["users"]),
        "count_details": {"burst": 0, "normal": len(reaction["users"])},
        "burst_colors": [],
        "me": me in reaction["users"],
        "me_burst": False,
        "burst_me": False,
        "burst_count": 0,
    }


def _add_reference(state: State, record: Record, shown: Record) -> None:
    reference: dict[str, Any] | None = record["reference"]
    if reference is None:
        return
    shown["message_reference"] = reference
    if record["type"] == 19 or record["type"] == 21:
        target = state.messages.get(reference["message_id"])
        # One level only: a reply's own reply is not resolved.
        shown["referenced_message"] = None
        if target is not None:
            shown["referenced_message"] = message(state, {**target, "reference": None})


def _add_interaction(state: State, record: Record, shown: Record) -> None:
    source = record["interaction"]
    if source is None:
        return
    metadata: Record = {
        "id": source["id"],
        "type": source["type"],
        "user": user(state.users[source["user_id"]]),
        "authorizing_integration_owners": source["owners"],
    }
    for key in ("interacted_message_id", "target_message_id", "original_response_message_id"):
        if source.get(key) is not None:
            metadata[key] = source[key]
    shown["interaction_metadata"] = metadata
    if source.get("name") is not None:
        metadata["name"] = source["name"]
        shown["interaction"] = {key: metadata[key] for key in ("id", "type", "name", "user")}
