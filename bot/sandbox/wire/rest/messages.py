"""REST: messages, reactions and pins of a channel."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from bot.sandbox.limits import refuse
from bot.sandbox.snowflake import ms_of
from bot.sandbox.store import Record
from bot.sandbox.wire.buckets import DELETE, EDIT, REACT, SEND, TYPING
from bot.sandbox.wire.rest.call import Call, Reply, Routes
from bot.sandbox.world import payloads, posts
from bot.sandbox.world.permissions import Permission as P
from bot.sandbox.world.permissions import in_channel, require, require_send

__all__ = ["ROUTES"]

ROUTES = Routes()
_TWO_WEEKS_MS = 14 * 24 * 3_600_000
_UNDELETABLE = (1, 2, 3, 4, 5, 21)  # system messages that stay


def _shown(call: Call, record: Record) -> Record:
    return payloads.message(call.world, record)


@ROUTES.add("GET", "/channels/{channel}/messages")
def list_messages(call: Call) -> Reply:
    """History, newest first; `after` returns the messages directly after it, still newest first."""
    channel = call.channel()
    if channel["type"] in (4, 15):
        raise refuse(50008)
    bits = require(call.world, channel, call.me)
    if not bits & P.READ_HISTORY:
        return Reply([])
    limit = call.number("limit", 50, least=1, most=100)
    ids = call.world.history(channel["id"])
    if "before" in call.query:
        end = bisect_left(ids, call.snowflake("before"), key=int)
        chosen = ids[max(0, end - limit) : end]
    elif "after" in call.query:
        start = bisect_right(ids, call.snowflake("after"), key=int)
        chosen = ids[start : start + limit]
    elif "around" in call.query:
        middle = bisect_left(ids, call.snowflake("around"), key=int)
        start = max(0, middle - limit // 2)
        chosen = ids[start : start + limit]
    else:
        chosen = ids[-limit:]
    return Reply([_shown(call, call.world.messages[i]) for i in reversed(chosen)])


@ROUTES.add("POST", "/channels/{channel}/messages", SEND)
def create_message(call: Call) -> Reply:
    """Send a message as the bot."""
    channel = call.channel()
    require_send(call.world, channel, call.me, call.fields, bool(call.files))
    writer = posts.Writer(call.me, application_id=None)
    return Reply(_shown(call, posts.create(call.world, channel, writer, call.fields, call.files)))


@ROUTES.add("POST", "/channels/{channel}/messages/bulk-delete")
def bulk_delete(call: Call) -> Reply:
    """Delete 2 to 100 messages younger than two weeks."""
    channel = call.channel()
    require(call.world, channel, call.me, P.MANAGE_MESSAGES)
    ids = [str(i) for i in call.fields.get("messages") or []]
    if not 2 <= len(ids) <= 100:
        raise refuse(50016)
    if any(call.world.clock.now_ms() - ms_of(i) > _TWO_WEEKS_MS for i in ids):
        raise refuse(50034)
    posts.delete_many(call.world, channel, ids)
    return Reply(status=204)


@ROUTES.add("POST", "/channels/{channel}/typing", TYPING)
def typing(call: Call) -> Reply:
    """Show the bot typing for about ten seconds."""
    channel = call.channel()
    require(
        call.world, channel, call.me, P.SEND_IN_THREADS if call.world.is_thread(channel) else P.SEND_MESSAGES
    )
    news: Record = {
        "channel_id": channel["id"],
        "user_id": call.me,
        "timestamp": call.world.clock.now_ms() // 1000,
    }
    if "guild_id" in channel:
        news["guild_id"] = channel["guild_id"]
        member = call.world.members[f"{channel['guild_id']}:{call.me}"]
        news["member"] = payloads.member(call.world, member)
    call.world.emit("TYPING_START", news)
    return Reply(status=204)


# --- pins (both the present paths and the older ones) ------------------------------


@ROUTES.add("GET", "/channels/{channel}/messages/pins")
def list_pins(call: Call) -> Reply:
    """Pinned messages, latest pin first, with times."""
    limit = call.number("limit", 50, least=1, most=50)
    pinned = [m for m in _pinned(call) if m["pinned_at"] < call.query.get("before", "~")]
    items = [{"pinned_at": m["pinned_at"], "message": _shown(call, m)} for m in pinned[:limit]]
    return Reply({"items": items, "has_more": len(pinned) > limit})


@ROUTES.add("GET", "/channels/{channel}/pins")
def list_pins_plain(call: Call) -> Reply:
    """Pinned messages, latest pin first."""
    return Reply([_shown(call, m) for m in _pinned(call)])


def _pinned(call: Call) -> list[Record]:
    channel = call.channel()
    require(call.world, channel, call.me, P.READ_HISTORY)
    here = (call.world.messages[i] for i in call.world.history(channel["id"]))
    return sorted((m for m in here if m["pinned_at"]), key=lambda m: str(m["pinned_at"]), reverse=True)


def _pin_target(call: Call) -> Record:
    record = call.message()
    bits = require(call.world, call.channel(), call.me)
    if not bits & (P.PIN_MESSAGES | P.MANAGE_MESSAGES):
        raise refuse(50013)
    return record


@ROUTES.add("PUT", "/channels/{channel}/messages/pins/{message}")
@ROUTES.add("PUT", "/channels/{channel}/pins/{message}")
def pin(call: Call) -> Reply:
    """Pin a message."""
    posts.pin(call.world, _pin_target(call), call.me)
    return Reply(status=204)


@ROUTES.add("DELETE", "/channels/{channel}/messages/pins/{message}")
@ROUTES.add("DELETE", "/channels/{channel}/pins/{message}")
def unpin(call: Call) -> Reply:
    """Unpin a message."""
    posts.unpin(call.world, _pin_target(call))
    return Reply(status=204)


# --- one message -------------------------------------------------------------------


@ROUTES.add("GET", "/channels/{channel}/messages/{message}")
def get_message(call: Call) -> Reply:
    """One message."""
    require(call.world, call.channel(), call.me, P.READ_HISTORY)
    return Reply(_shown(call, call.message()))


@ROUTES.add("PATCH", "/channels/{channel}/messages/{message}", EDIT)
def edit_message(call: Call) -> Reply:
    """Edit one of the bot's messages; of others' only the embed-suppressing flag."""
    channel = call.channel()
    record = call.message()
    bits = require(call.world, channel, call.me)
    own = record["author_id"] == call.me and record["persona"] is None
    if not own and (set(call.fields) - {"flags"} or not bits & P.MANAGE_MESSAGES):
        raise refuse(50005)
    if record["type"] not in (0, 19, 20, 23):
        raise refuse(50021)
    posts.spend_old_edit(call.world, call.services.old_edits, record)
    return Reply(_shown(call, posts.edit(call.world, record, call.fields, call.files)))


@ROUTES.add("DELETE", "/channels/{channel}/messages/{message}", DELETE)
def delete_message(call: Call) -> Reply:
    """Delete a message; others' need MANAGE_MESSAGES."""
    channel = call.channel()
    record = call.message()
    own = record["author_id"] == call.me and record["persona"] is None
    require(call.world, channel, call.me, 0 if own else P.MANAGE_MESSAGES)
    if record["type"] in _UNDELETABLE:
        raise refuse(50021)
    if call.world.is_thread(channel) and channel["archived"]:
        raise refuse(50083)
    posts.delete(call.world, record)
    return Reply(status=204)


# --- reactions ---------------------------------------------------------------------

_REACTIONS = "/channels/{channel}/messages/{message}/reactions"


def _reaction_target(call: Call, needed: int = 0) -> Record:
    channel = call.channel()
    record = call.message()
    require(call.world, channel, call.me, needed)
    if call.world.is_thread(channel) and channel["archived"]:
        raise refuse(50083)
    return record


@ROUTES.add("PUT", _REACTIONS + "/{emoji}/@me", REACT)
def add_reaction(call: Call) -> Reply:
    """React as the bot; a new emoji needs ADD_REACTIONS."""
    record = _reaction_target(call, P.READ_HISTORY)
    there = any(r["emoji"] == call.params["emoji"] for r in record["reactions"])
    if not there and not in_channel(call.world, call.channel(), call.me) & P.ADD_REACTIONS:
        raise refuse(50013)
    posts.react(call.world, record, call.me, call.params["emoji"])
    return Reply(status=204)


@ROUTES.add("DELETE", _REACTIONS + "/{emoji}/@me", REACT)
def remove_own_reaction(call: Call) -> Reply:
    """Take the bot's reaction back."""
    posts.unreact(call.world, _reaction_target(call), call.params["emoji"], call.me)
    return Reply(status=204)


@ROUTES.add("DELETE", _REACTIONS + "/{emoji}/{user}", REACT)
def remove_reaction(call: Call) -> Reply:
    """Take somebody's reaction away."""
    record = _reaction_target(call, P.MANAGE_MESSAGES)
    posts.unreact(call.world, record, call.params["emoji"], call.params["user"])
    return Reply(status=204)


@ROUTES.add("GET", _REACTIONS + "/{emoji}")
def list_reactions(call: Call) -> Reply:
    """Who reacted with an emoji."""
    record = call.message()
    require(call.world, call.channel(), call.me, P.READ_HISTORY)
    limit = call.number("limit", 25, least=1, most=100)
    after = call.snowflake("after")
    found = [u for r in record["reactions"] if r["emoji"] == call.params["emoji"] for u in r["users"]]
    users = sorted((u for u in found if int(u) > after), key=int)
    return Reply([payloads.user(call.world.users[u]) for u in users[:limit]])


@ROUTES.add("DELETE", _REACTIONS + "/{emoji}", REACT)
def clear_emoji(call: Call) -> Reply:
    """Take an emoji's reactions away."""
    posts.unreact(call.world, _reaction_target(call, P.MANAGE_MESSAGES), call.params["emoji"])
    return Reply(status=204)


@ROUTES.add("DELETE", _REACTIONS)
def clear_reactions(call: Call) -> Reply:
    """Take all reactions away."""
    posts.unreact(call.world, _reaction_target(call, P.MANAGE_MESSAGES))
    return Reply(status=204)
