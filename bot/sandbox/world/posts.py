"""Messages: written, edited, deleted, pinned and reacted to, by whomever.

Permissions are the caller's business; what is checked here holds for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.sandbox.limits import V2, Form, Upload, check_files, check_message, components, refuse
from bot.sandbox.snowflake import iso, ms_of
from bot.sandbox.store import Record
from bot.sandbox.world import membership, payloads
from bot.sandbox.world.attachments import attach
from bot.sandbox.world.permissions import Permission, in_channel
from bot.sandbox.world.world import World

__all__ = [
    "Writer", "check_draft", "create", "delete", "delete_many", "edit", "pin", "publish", "react",
    "spend_old_edit", "unpin", "unreact",
]  # fmt: skip

EPHEMERAL, LOADING = 1 << 6, 1 << 7
# What a sender may set: SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, IS_VOICE_MESSAGE, IS_COMPONENTS_V2.
_SENDABLE = 1 << 2 | 1 << 12 | 1 << 13 | V2
_EDITABLE = 1 << 2 | V2
_NONCE_LIFE_MS = 5 * 60 * 1000  # "the past few minutes", says Discord
_HOUR_MS = 3_600_000
_REACTIONS = 20
_PINS = 250
_TEXT_TYPES = (0, 1, 2, 5, 10, 11, 12)
_MENTION = re.compile(r"<@(!?|&)(\d+)>")


@dataclass(slots=True)
class Writer:
    """Who a message comes from."""

    user_id: str
    persona: Record | None = None
    """For webhooks: {username, avatar}."""
    webhook_id: str | None = None
    application_id: str | None = None
    interaction: Record | None = None
    only_for: str | None = None
    flags: int = 0
    """Flags that the sender may not set itself (ephemeral, thinking)."""
    extra: Record = field(default_factory=dict)


def create(
    world: World,
    channel: Record,
    writer: Writer,
    body: Mapping[str, Any],
    files: Sequence[Upload] = (),
    *,
    kind: int = 0,
    empty_ok: bool = False,
    message_id: str | None = None,
) -> Record:
    """Write a message (the body as Discord's create-message takes it) and tell everybody.

    The same nonce of the same author within five minutes returns the first message
    when `enforce_nonce` is set. Un-archives a thread. Refuses as `limits` says.
    """
    if channel["type"] not in _TEXT_TYPES:
        raise refuse(50008)
    body = {**body, "components": components.without_nulls(body.get("components") or [])}
    again = _sent_before(world, channel, writer, body)
    if again is not None:
        return again
    reference, snapshots, kind = _reference(world, channel, body, kind)
    flags = check_draft({**body, "message_snapshots": snapshots}, files, empty_ok=empty_ok) | writer.flags
    if world.is_thread(channel):
        membership.check_open(world, channel, writer.user_id)
    record = _draft(writer, body, kind, flags)
    record |= {"id": message_id or world.ids.new(), "channel_id": channel["id"]}
    if "guild_id" in channel:
        record["guild_id"] = channel["guild_id"]
    hidden = writer.only_for is not None
    record["attachments"] = attach(world, channel["id"], files, body.get("attachments"), ephemeral=hidden)
    record |= {"reference": reference, "message_snapshots": snapshots, **writer.extra}
    record |= _mentions(world, channel, writer, record["content"], body, reference)
    components.number(record["components"])
    if writer.only_for is None and world.is_thread(channel):
        record["position"] = membership.count_message(
            world, channel, writer.user_id if writer.persona is None else None
        )
    world.keep_message(record)
    if writer.only_for is None:
        channel["last_message_id"] = record["id"]
        world.channels.put(channel)
    world.emit("MESSAGE_CREATE", payloads.message(world, record, news=True), only_for=writer.only_for)
    return record


def _draft(writer: Writer, body: Mapping[str, Any], kind: int, flags: int) -> Record:
    return {
        "type": kind,
        "author_id": writer.user_id,
        "persona": writer.persona,
        "webhook_id": writer.webhook_id,
        "application_id": writer.application_id,
        "interaction": writer.interaction,
        "only_for": writer.only_for,
        "content": str(body.get("content") or "").strip(),  # Discord trims the edges
        "edited_timestamp": None,
        "tts": bool(body.get("tts")),
        "embeds": [{"type": "rich", **e} for e in body.get("embeds") or []],
        "components": body["components"],
        "flags": flags,
        "pinned_at": None,
        "nonce": body.get("nonce"),
        "reactions": [],
        "poll": body.get("poll"),
    }


def check_draft(body: Mapping[str, Any], files: Sequence[Upload], *, empty_ok: bool = False) -> int:
    """Refuse a new message's body that breaks Discord's limits; returns its flags."""
    check_files(files)
    flags = int(body.get("flags") or 0) & _SENDABLE
    parts = components.without_nulls(body.get("components") or [])
    drafted = {**body, "components": parts, "flags": flags, "attachments": len(files)}
    check_message(drafted, empty_ok=empty_ok)
    return flags


def _sent_before(world: World, channel: Record, writer: Writer, body: Mapping[str, Any]) -> Record | None:
    nonce = body.get("nonce")
    if nonce is None:
        return None
    if len(str(nonce)) > 25:
        form = Form()
        form.flag("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.")
        form.close()
    if not body.get("enforce_nonce"):
        return None
    now = world.clock.now_ms()
    for message_id in reversed(world.history(channel["id"])):
        if now - ms_of(message_id) > _NONCE_LIFE_MS:
            return None
        record = world.messages[message_id]
        if record["nonce"] == nonce and record["author_id"] == writer.user_id and record["persona"] is None:
            return record
    return None


def _reference(
    world: World, channel: Record, body: Mapping[str, Any], kind: int
) -> tuple[Record | None, list[Record] | None, int]:
    given = body.get("message_reference")
    if not given:
        return None, None, kind
    place = str(given.get("channel_id") or channel["id"])
    target = world.messages.get(str(given.get("message_id")))
    good = target is not None and target["channel_id"] == place
    forward = given.get("type") == 1
    if not good or (not forward and place != channel["id"]):
        if not given.get("fail_if_not_exists", True) and not forward:
            return None, None, kind
        form = Form()
        form.flag("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
        form.close()
    assert target is not None
    reference: Record = {"type": int(forward), "message_id": target["id"], "channel_id": place}
    if "guild_id" in target:
        reference["guild_id"] = target["guild_id"]
    if not forward:
        return reference, None, 19
    shown = payloads.message(world, target)
    kept = ("type", "content", "embeds", "attachments", "timestamp", "edited_timestamp", "flags", "mentions")
    snapshot = {key: shown[key] for key in (*kept, "mention_roles", "components")}
    return reference, [{"message": snapshot}], kind


def _mentions(
    world: World,
    channel: Record,
    writer: Writer,
    content: str,
    body: Mapping[str, Any],
    reference: Record | None,
) -> Record:
    # Who is pinged: named in the text, and let through by allowed_mentions (absent: all).
    allowed = body.get("allowed_mentions")
    parse = {"users", "roles", "everyone"} if allowed is None else set(allowed.get("parse") or ())
    users: list[str] = []
    roles: list[str] = []
    for sign, target in _MENTION.findall(content):
        if sign == "&":
            if "roles" in parse or target in ((allowed or {}).get("roles") or ()):
                roles.append(target)
        elif target in world.users and ("users" in parse or target in ((allowed or {}).get("users") or ())):
            users.append(target)
    if reference is not None and reference["type"] == 0:
        target_message = world.messages[reference["message_id"]]
        if target_message["persona"] is None and (allowed is None or allowed.get("replied_user")):
            users.append(target_message["author_id"])
    # Webhooks need no permission to ping everyone: only allowed_mentions stops them.
    may_all = (
        writer.persona is not None or in_channel(world, channel, writer.user_id) & Permission.MENTION_EVERYONE
    )
    everyone = bool(may_all) and "everyone" in parse and ("@everyone" in content or "@here" in content)
    return {
        "mentions": list(dict.fromkeys(users)),
        "mention_roles": list(dict.fromkeys(roles)),
        "mention_everyone": everyone,
    }


def edit(world: World, record: Record, body: Mapping[str, Any], files: Sequence[Upload] = ()) -> Record:
    """Change what the body names, the way Discord's edit-message does, and tell everybody.

    The one-hour rule (30046) is checked by `spend_old_edit`, which not every way of editing needs.
    """
    channel = world.channels[record["channel_id"]]
    if world.is_thread(channel) and channel["archived"]:
        raise refuse(50083)
    attachments = record["attachments"]
    if body.get("attachments") is not None:
        kept = {str(a.get("id")) for a in body["attachments"]}
        attachments = [a for a in attachments if a["id"] in kept]
    check_files(files, kept=len(attachments))
    was_thinking = bool(record["flags"] & LOADING)
    flags = record["flags"] & ~LOADING
    if body.get("flags") is not None:
        # The Components V2 flag can be set but never taken away.
        flags = flags & ~(1 << 2) | int(body["flags"]) & _EDITABLE
    after = {**record, "flags": flags}
    for key in ("content", "embeds", "components"):
        if key in body:
            after[key] = components.without_nulls(body[key]) or ("" if key == "content" else [])
    # A message that turns to V2 with old text left in it is refused by the check.
    check_message({**body, **after, "attachments": len(attachments) + len(files)})
    new = attach(world, channel["id"], files, body.get("attachments"))
    record["content"] = str(after["content"]).strip()
    record["embeds"] = [{"type": "rich", **e} for e in after["embeds"]]
    record["components"] = after["components"]
    components.number(record["components"])
    record["attachments"] = attachments + new
    record["flags"] = flags
    if "content" in body:
        writer = Writer(record["author_id"], persona=record["persona"])
        record |= _mentions(world, channel, writer, record["content"], body, None)
    if not was_thinking:
        record["edited_timestamp"] = iso(world.clock.now_ms())
    return publish(world, record)


def publish(world: World, record: Record) -> Record:
    """Store a changed message and tell everybody who may see it."""
    if record["only_for"] is None:
        world.messages.put(record)
    world.emit("MESSAGE_UPDATE", payloads.message(world, record, news=True), only_for=record["only_for"])
    return record


def spend_old_edit(world: World, spent: dict[str, list[int]], record: Record) -> None:
    """Count an edit of a message older than one hour; refuses with 30046 beyond the channel's allowance."""
    now = world.clock.now_ms()
    if now - ms_of(record["id"]) <= _HOUR_MS:
        return
    recent = [t for t in spent.get(record["channel_id"], []) if now - t < _HOUR_MS]
    if len(recent) >= world.old_edit_allowance:
        raise refuse(30046)
    spent[record["channel_id"]] = [*recent, now]


def _gone(record: Record) -> Record:
    return {k: record[k] for k in ("id", "channel_id", "guild_id") if k in record}


def delete(world: World, record: Record) -> None:
    """Delete a message and tell everybody."""
    _take(world, record)
    world.emit("MESSAGE_DELETE", _gone(record), only_for=record["only_for"])


def delete_many(world: World, channel: Record, message_ids: Sequence[str]) -> None:
    """Delete several messages of a channel at once; unknown ids are ignored, as Discord does."""
    here = [
        i for i in dict.fromkeys(message_ids) if world.messages.get(i, {}).get("channel_id") == channel["id"]
    ]
    for message_id in here:
        _take(world, world.messages[message_id])
    news = {"ids": here, "channel_id": channel["id"]}
    if "guild_id" in channel:
        news["guild_id"] = channel["guild_id"]
    world.emit("MESSAGE_DELETE_BULK", news)


def _take(world: World, record: Record) -> None:
    world.drop_message(record)
    channel = world.channels[record["channel_id"]]
    if record["only_for"] is None and world.is_thread(channel):
        membership.uncount_message(world, channel)


def pin(world: World, record: Record, by: str) -> None:
    """Pin a message; the channel says who did it."""
    channel = world.channels[record["channel_id"]]
    if record["pinned_at"] is not None:
        return
    pinned = [i for i in world.history(channel["id"]) if world.messages[i]["pinned_at"] is not None]
    if len(pinned) >= _PINS:
        raise refuse(30003)
    record["pinned_at"] = iso(world.clock.now_ms())
    publish(world, record)
    _pins_changed(world, channel, record["pinned_at"])
    place = _gone(record)
    reference = {"type": 0, "message_id": place.pop("id"), **place}
    create(world, channel, Writer(by, extra={"reference": reference}), {}, kind=6, empty_ok=True)


def unpin(world: World, record: Record) -> None:
    """Unpin a message."""
    if record["pinned_at"] is not None:
        record["pinned_at"] = None
        publish(world, record)
        _pins_changed(world, world.channels[record["channel_id"]], None)


def _pins_changed(world: World, channel: Record, at: str | None) -> None:
    news = {"channel_id": channel["id"], "last_pin_timestamp": at}
    if "guild_id" in channel:
        news["guild_id"] = channel["guild_id"]
    world.emit("CHANNEL_PINS_UPDATE", news)


def react(world: World, record: Record, user_id: str, emoji: str) -> None:
    """Add a reaction; `emoji` is a Unicode emoji or `name:id`."""
    if not emoji or (emoji.isascii() and ":" not in emoji):
        raise refuse(10014)
    found = next((r for r in record["reactions"] if r["emoji"] == emoji), None)
    if found is None:
        if len(record["reactions"]) >= _REACTIONS:
            raise refuse(30010)
        found = {"emoji": emoji, "users": []}
        record["reactions"].append(found)
    if user_id in found["users"]:
        return
    found["users"].append(user_id)
    world.messages.put(record)
    world.emit("MESSAGE_REACTION_ADD", _reaction_news(world, record, emoji, user_id))


def unreact(world: World, record: Record, emoji: str | None = None, user_id: str | None = None) -> None:
    """Remove one user's reaction, all of an emoji (no user), or all (no emoji)."""
    if emoji is None:
        record["reactions"] = []
        news, name = _reaction_place(record), "MESSAGE_REACTION_REMOVE_ALL"
    else:
        found = next((r for r in record["reactions"] if r["emoji"] == emoji), None)
        if found is None or (user_id is not None and user_id not in found["users"]):
            return
        news, name = _reaction_news(world, record, emoji, user_id), "MESSAGE_REACTION_REMOVE_EMOJI"
        if user_id is not None:
            found["users"].remove(user_id)
            name = "MESSAGE_REACTION_REMOVE"
        if user_id is None or not found["users"]:
            record["reactions"].remove(found)
    world.messages.put(record)
    world.emit(name, news)


def _reaction_place(record: Record) -> Record:
    place = {"message_id": record["id"], "channel_id": record["channel_id"]}
    if "guild_id" in record:
        place["guild_id"] = record["guild_id"]
    return place


def _reaction_news(world: World, record: Record, emoji: str, user_id: str | None) -> Record:
    news: Record = {**_reaction_place(record), "emoji": payloads.emoji(emoji)}
    if user_id is None:
        return news
    news |= {"user_id": user_id, "burst": False, "type": 0}
    if record["persona"] is None:
        news["message_author_id"] = record["author_id"]
    member = world.members.get(f"{record.get('guild_id')}:{user_id}")
    if member is not None:
        news["member"] = payloads.member(world, member)
    return news
