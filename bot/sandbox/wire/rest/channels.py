"""REST: channels, threads and forum posts."""

from __future__ import annotations

from typing import Any

from bot.sandbox.limits import Form, check_name, refuse
from bot.sandbox.store import Record
from bot.sandbox.wire.buckets import RENAME, SEND
from bot.sandbox.wire.rest.call import Call, Reply, Routes
from bot.sandbox.world import CHANNEL_TYPES, World, membership, payloads, posts, threads
from bot.sandbox.world.permissions import Permission as P
from bot.sandbox.world.permissions import in_channel, require, require_guild

__all__ = ["ROUTES"]

ROUTES = Routes()
_CHANNEL_CAP = 500
_SLOWMODE_MOST_S = 21_600
_TAGS = 20  # of a forum; a tag's name has at most 20 characters too
_MAKEABLE = {number: name for name, number in CHANNEL_TYPES.items() if number in (0, 4, 5, 15)}


def _shown(call: Call, channel: Record) -> Record:
    return payloads.channel(call.world, channel, viewer=call.me)


@ROUTES.add("GET", "/channels/{channel}")
def get_channel(call: Call) -> Reply:
    """One channel or thread."""
    channel = call.channel()
    require(call.world, channel, call.me)
    return Reply(_shown(call, channel))


@ROUTES.add("PATCH", "/channels/{channel}")
def edit_channel(call: Call) -> Reply:
    """Edit a channel or thread. A new name or topic counts against 2 in 10 minutes."""
    channel = call.channel()
    fields = call.fields
    if channel["type"] == 1:
        raise refuse(50003)
    if ("name" in fields and fields["name"] != channel["name"]) or "topic" in fields:
        call.services.buckets.spend(RENAME, channel["id"])
    if call.world.is_thread(channel):
        bits = require(call.world, channel, call.me)
        mine = channel["owner_id"] == call.me and not (set(fields) & {"locked", "rate_limit_per_user"})
        if not mine and not bits & P.MANAGE_THREADS:
            raise refuse(50013)
        threads.change(call.world, channel, call.me, fields)
    else:
        require(call.world, channel, call.me, P.MANAGE_CHANNELS)
        call.world.set_channel(channel, **_channel_fields(call.world, fields))
    return Reply(_shown(call, channel))


@ROUTES.add("DELETE", "/channels/{channel}")
def delete_channel(call: Call) -> Reply:
    """Delete a channel or thread."""
    channel = call.channel()
    if channel["type"] == 1:
        raise refuse(50003)
    needed = P.MANAGE_THREADS if call.world.is_thread(channel) else P.MANAGE_CHANNELS
    require(call.world, channel, call.me, needed)
    shown = _shown(call, channel)
    call.world.drop_channel(channel)
    return Reply(shown)


@ROUTES.add("POST", "/guilds/{guild}/channels")
def create_channel(call: Call) -> Reply:
    """Make a text, announcement, category or forum channel."""
    guild = call.guild()
    require_guild(call.world, guild, call.me, P.MANAGE_CHANNELS)
    if len(call.world.channels.where(guild_id=guild["id"])) >= _CHANNEL_CAP:
        raise refuse(30013)
    kind = _MAKEABLE.get(int(call.fields.get("type") or 0))
    if kind is None:
        raise refuse(50024)
    form = Form()
    check_name(form, "name", call.fields.get("name"))
    form.close()
    fields = _channel_fields(call.world, call.fields)
    channel = call.world.add_channel(guild, fields.pop("name"), kind, **fields)
    return Reply(_shown(call, channel), 201)


def _channel_fields(world: World, body: Record) -> Record:
    form = Form()
    fields: dict[str, Any] = {}
    if "name" in body:
        check_name(form, "name", body["name"])
        fields["name"] = str(body["name"]).strip()
    if body.get("topic") is not None:
        form.text("topic", body["topic"], most=1024)
    if body.get("rate_limit_per_user") is not None:
        form.number("rate_limit_per_user", body["rate_limit_per_user"], least=0, most=_SLOWMODE_MOST_S)
    if body.get("available_tags") is not None:
        if form.items("available_tags", body["available_tags"], most=_TAGS):
            for index, tag in enumerate(body["available_tags"]):
                form.text(f"available_tags.{index}.name", tag.get("name"), least=1, most=20)
        fields["available_tags"] = [
            {**tag, "id": str(tag.get("id") or world.ids.new())} for tag in body["available_tags"]
        ]
    form.close()
    for key in (
        "topic",
        "nsfw",
        "parent_id",
        "position",
        "rate_limit_per_user",
        "default_auto_archive_duration",
    ):
        if key in body:
            fields[key] = body[key]
    if body.get("permission_overwrites") is not None:
        fields["permission_overwrites"] = [
            {"id": str(o["id"]), "type": o["type"], "allow": str(o["allow"]), "deny": str(o["deny"])}
            for o in body["permission_overwrites"]
        ]
    if body.get("flags") is not None:
        fields["flags"] = int(body["flags"])
    return fields


@ROUTES.add("PUT", "/channels/{channel}/permissions/{target}")
def set_overwrite(call: Call) -> Reply:
    """Set an overwrite."""
    channel = call.channel()
    require(call.world, channel, call.me, P.MANAGE_ROLES)
    allow, deny = int(call.fields.get("allow") or 0), int(call.fields.get("deny") or 0)
    call.world.set_overwrite(channel, call.params["target"], allow=allow, deny=deny)
    return Reply(status=204)


@ROUTES.add("DELETE", "/channels/{channel}/permissions/{target}")
def drop_overwrite(call: Call) -> Reply:
    """Remove an overwrite."""
    channel = call.channel()
    require(call.world, channel, call.me, P.MANAGE_ROLES)
    call.world.set_overwrite(channel, call.params["target"])
    return Reply(status=204)


# --- threads -----------------------------------------------------------------------


@ROUTES.add("POST", "/channels/{channel}/messages/{message}/threads")
def thread_from_message(call: Call) -> Reply:
    """Start a thread on a message."""
    message = call.message()
    require(call.world, call.channel(), call.me, P.CREATE_PUBLIC_THREADS)
    return Reply(_shown(call, threads.from_message(call.world, message, call.me, call.fields)), 201)


@ROUTES.add("POST", "/channels/{channel}/threads", SEND)
def start_thread(call: Call) -> Reply:
    """Start a thread without a message, or a post in a forum."""
    channel = call.channel()
    if channel["type"] == 15:
        require(call.world, channel, call.me, P.SEND_MESSAGES | (P.ATTACH_FILES if call.files else 0))
        writer = posts.Writer(call.me)
        thread, message = threads.in_forum(call.world, channel, writer, call.fields, call.files)
        shown = payloads.message(call.world, message)
        return Reply({**_shown(call, thread), "message": shown}, 201)
    private = call.fields.get("type") in (None, 12)
    require(call.world, channel, call.me, P.CREATE_PRIVATE_THREADS if private else P.CREATE_PUBLIC_THREADS)
    return Reply(_shown(call, threads.standalone(call.world, channel, call.me, call.fields)), 201)


def _thread(call: Call) -> Record:
    channel = call.channel()
    if not call.world.is_thread(channel):
        raise refuse(50024)
    return channel


@ROUTES.add("PUT", "/channels/{channel}/thread-members/{user}")
def add_thread_member(call: Call) -> Reply:
    """Join a thread (`@me`) or add somebody."""
    thread = _thread(call)
    require(call.world, thread, call.me)
    user = call.me if call.params["user"] == "@me" else call.world.user(call.params["user"])["id"]
    membership.join(call.world, thread, user)
    return Reply(status=204)


@ROUTES.add("DELETE", "/channels/{channel}/thread-members/{user}")
def drop_thread_member(call: Call) -> Reply:
    """Leave a thread (`@me`) or remove somebody."""
    thread = _thread(call)
    mine = call.params["user"] == "@me"
    require(call.world, thread, call.me, 0 if mine else P.MANAGE_THREADS)
    membership.leave(call.world, thread, call.me if mine else call.params["user"])
    return Reply(status=204)


@ROUTES.add("GET", "/channels/{channel}/thread-members")
def list_thread_members(call: Call) -> Reply:
    """Who is in a thread."""
    thread = _thread(call)
    require(call.world, thread, call.me)
    return Reply([payloads.thread_member(thread, u) for u in thread["members"]])


@ROUTES.add("GET", "/channels/{channel}/thread-members/{user}")
def get_thread_member(call: Call) -> Reply:
    """Whether somebody is in a thread."""
    thread = _thread(call)
    user = call.me if call.params["user"] == "@me" else call.params["user"]
    if user not in thread["members"]:
        raise refuse(10007)
    return Reply(payloads.thread_member(thread, user))


@ROUTES.add("GET", "/guilds/{guild}/threads/active")
def active_threads(call: Call) -> Reply:
    """The guild's active threads that the bot can see."""
    guild = call.guild()
    require_guild(call.world, guild, call.me)
    here = call.world.channels.where(guild_id=guild["id"])
    return Reply(_thread_list(call, [c for c in here if call.world.is_thread(c) and not c["archived"]]))


@ROUTES.add("GET", "/channels/{channel}/threads/archived/{kind}")
def archived_threads(call: Call) -> Reply:
    """Archived threads of a channel: `public` or `private`, latest archived first."""
    parent = call.channel()
    private = call.params["kind"] == "private"
    require(call.world, parent, call.me, P.READ_HISTORY | (P.MANAGE_THREADS if private else 0))
    return _archived(call, parent, 12 if private else 11)


@ROUTES.add("GET", "/channels/{channel}/users/@me/threads/archived/private")
def own_archived_threads(call: Call) -> Reply:
    """Archived private threads that the bot is in."""
    parent = call.channel()
    require(call.world, parent, call.me, P.READ_HISTORY)
    return _archived(call, parent, 12, joined=True)


def _archived(call: Call, parent: Record, kind: int, *, joined: bool = False) -> Reply:
    limit = call.number("limit", 50, least=1, most=100)
    found = [t for t in call.world.threads_of(parent["id"]) if t["archived"] and t["type"] == kind]
    if joined:
        found = [t for t in found if call.me in t["members"]]
    before = call.query.get("before")
    if before is not None:
        found = [t for t in found if str(t["id"] if joined else t["archive_timestamp"]) < before]
    found.sort(key=lambda t: str(t["archive_timestamp"]), reverse=True)
    return Reply({**_thread_list(call, found[:limit]), "has_more": len(found) > limit})


def _thread_list(call: Call, found: list[Record]) -> Record:
    visible = [t for t in found if in_channel(call.world, t, call.me)]
    return {
        "threads": [_shown(call, t) for t in visible],
        "members": [payloads.thread_member(t, call.me) for t in visible if call.me in t["members"]],
    }
