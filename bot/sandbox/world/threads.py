"""Threads and forum posts (spec discord B8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.sandbox.limits import Form, Upload, check_name, refuse
from bot.sandbox.snowflake import iso
from bot.sandbox.store import Record
from bot.sandbox.world import payloads, posts
from bot.sandbox.world.posts import Writer
from bot.sandbox.world.world import World

__all__ = ["change", "from_message", "in_forum", "standalone"]

DURATIONS = (60, 1440, 4320, 10080)  # minutes
ACTIVE_CAP = 1000  # active threads of a guild
_HAS_THREAD = 1 << 5
_REQUIRE_TAG = 1 << 4
_TAGS_PER_POST = 5
CREATED, STARTER, RENAMED = 18, 21, 4  # system message types


def from_message(world: World, message: Record, user_id: str, body: Mapping[str, Any]) -> Record:
    """A public thread on a message; it has the message's id. One per message (160004)."""
    parent = world.channels[message["channel_id"]]
    if parent["type"] not in (0, 5):
        raise refuse(50024)
    if message["id"] in world.channels or message["flags"] & _HAS_THREAD:
        raise refuse(160004)
    thread = _make(world, parent, user_id, body, thread_id=message["id"])
    message["flags"] |= _HAS_THREAD
    posts.publish(world, message)
    reference = {
        "type": 0,
        "message_id": message["id"],
        **{k: message[k] for k in ("channel_id", "guild_id")},
    }
    writer = posts.Writer(user_id, extra={"reference": reference})
    posts.create(world, thread, writer, {}, kind=STARTER, empty_ok=True)
    return thread


def standalone(world: World, parent: Record, user_id: str, body: Mapping[str, Any]) -> Record:
    """A thread without a message; a public one is announced in its parent."""
    if parent["type"] not in (0, 5):
        raise refuse(50024)
    kind = int(body.get("type") or 12)
    if kind not in (11, 12):
        raise refuse(50024)
    thread = _make(world, parent, user_id, body, kind=kind)
    if kind == 11:
        reference = {"type": 0, "channel_id": thread["id"], "guild_id": thread["guild_id"]}
        writer = posts.Writer(user_id, extra={"reference": reference})
        posts.create(world, parent, writer, {"content": thread["name"]}, kind=CREATED)
    return thread


def in_forum(
    world: World, forum: Record, writer: Writer, body: Mapping[str, Any], files: Sequence[Upload] = ()
) -> tuple[Record, Record]:
    """A forum post with its first message, which has the post's id: (thread, message)."""
    tags = [str(t) for t in body.get("applied_tags") or []]
    form = Form()
    known = {t["id"] for t in forum["available_tags"]}
    form.items("applied_tags", tags, most=_TAGS_PER_POST)
    if not set(tags) <= known:
        form.flag("applied_tags", "INVALID_TAG", "Unknown tag.")
    if forum["flags"] & _REQUIRE_TAG and not tags:
        form.flag("applied_tags", "TAG_REQUIRED", "A tag is required to create a forum post in this channel")
    form.close()
    # The message is checked before the thread exists: a refused post leaves nothing behind.
    first = body.get("message") or {}
    posts.check_draft(first, files)
    thread = _make(world, forum, writer.user_id, body, tags=tags)
    message = posts.create(world, thread, writer, first, files, message_id=thread["id"])
    return thread, message


def _make(
    world: World,
    parent: Record,
    user_id: str,
    body: Mapping[str, Any],
    *,
    thread_id: str | None = None,
    kind: int = 11,
    tags: Sequence[str] = (),
) -> Record:
    form = Form()
    check_name(form, "name", body.get("name"))
    duration = body.get("auto_archive_duration") or 4320
    if duration not in DURATIONS:
        form.flag("auto_archive_duration", "BASE_TYPE_CHOICES", f"Value must be one of {DURATIONS}.")
    form.close()
    guild_id = parent["guild_id"]
    active = [c for c in world.channels.where(guild_id=guild_id) if world.is_thread(c) and not c["archived"]]
    if len(active) >= ACTIVE_CAP:
        raise refuse(160006)
    now = world.clock.now_ms()
    thread: Record = {
        "id": thread_id or world.ids.new(),
        "type": kind,
        "guild_id": guild_id,
        "parent_id": parent["id"],
        "owner_id": user_id,
        "name": str(body["name"]).strip(),
        "last_message_id": None,
        "message_count": 0,
        "total_message_sent": 0,
        "rate_limit_per_user": body.get("rate_limit_per_user") or 0,
        "flags": 0,
        "applied_tags": list(tags),
        "archived": False,
        "locked": False,
        "invitable": body.get("invitable", True),
        "auto_archive_duration": duration,
        "archive_timestamp": iso(now),
        "created_ms": now,
        "members": {},
    }
    if user_id in world.users:
        thread["members"][user_id] = iso(now)
    world.channels.put(thread)
    if parent["type"] == 15:
        parent["last_message_id"] = thread["id"]
        world.channels.put(parent)
    shown = payloads.channel(world, thread, viewer=world.bot["id"])
    world.emit("THREAD_CREATE", {**shown, "newly_created": True})
    return thread


def change(world: World, thread: Record, user_id: str, body: Mapping[str, Any]) -> None:
    """Edit a thread: name, archived, locked, duration, slow mode, tags. An archived one must wake first."""
    waking = body.get("archived") is False
    if thread["archived"] and not waking and set(body) - {"locked"}:
        raise refuse(50083)
    form = Form()
    fields: Record = {}
    if "name" in body:
        check_name(form, "name", body["name"])
        fields["name"] = body["name"]
    if "auto_archive_duration" in body and body["auto_archive_duration"] not in DURATIONS:
        form.flag("auto_archive_duration", "BASE_TYPE_CHOICES", f"Value must be one of {DURATIONS}.")
    if "applied_tags" in body:
        form.items("applied_tags", body["applied_tags"], most=_TAGS_PER_POST)
    form.close()
    for key in (
        "auto_archive_duration",
        "rate_limit_per_user",
        "applied_tags",
        "locked",
        "invitable",
        "flags",
    ):
        if body.get(key) is not None:
            fields[key] = body[key]
    if "archived" in body:
        fields |= {"archived": bool(body["archived"]), "archive_timestamp": iso(world.clock.now_ms())}
    renamed = fields.get("name", thread["name"]) != thread["name"]
    world.set_channel(thread, **fields)
    if renamed and not thread["archived"]:
        posts.create(world, thread, posts.Writer(user_id), {"content": thread["name"]}, kind=RENAMED)
