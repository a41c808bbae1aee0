"""Who is in a thread, and whether it sleeps."""

from __future__ import annotations

from bot.sandbox.limits import refuse
from bot.sandbox.snowflake import iso
from bot.sandbox.store import Record
from bot.sandbox.world import payloads
from bot.sandbox.world.permissions import Permission, in_channel
from bot.sandbox.world.world import World

__all__ = ["check_open", "count_message", "join", "leave", "uncount_message", "wake"]


def check_open(world: World, thread: Record, user_id: str) -> None:
    """Refuse (160005) a message in a locked thread from whom does not manage threads."""
    if thread["locked"] and not in_channel(world, thread, user_id) & Permission.MANAGE_THREADS:
        raise refuse(160005)


def count_message(world: World, thread: Record, user_id: str | None) -> int:
    """Note a new message in a thread: wakes it and lets its author (None: a webhook) join.

    Returns the message's position in the thread.
    """
    if thread["archived"]:
        wake(world, thread)
    if user_id is not None and user_id not in thread["members"]:
        join(world, thread, user_id)
    position: int = thread["message_count"]
    thread["message_count"] += 1
    thread["total_message_sent"] += 1
    return position


def uncount_message(world: World, thread: Record) -> None:
    """Note a deleted message in a thread."""
    thread["message_count"] = max(0, thread["message_count"] - 1)
    world.channels.put(thread)


def wake(world: World, thread: Record) -> None:
    """Un-archive a thread."""
    world.set_channel(thread, archived=False, archive_timestamp=iso(world.clock.now_ms()))


def join(world: World, thread: Record, user_id: str) -> None:
    """Add a user to a thread."""
    if thread["archived"]:
        raise refuse(50083)
    if user_id in thread["members"]:
        return
    thread["members"][user_id] = iso(world.clock.now_ms())
    world.channels.put(thread)
    if user_id == world.bot["id"] and thread["type"] == 12:
        # A private thread begins to exist for the bot when it is let in.
        world.to_bot("THREAD_CREATE", payloads.channel(world, thread, viewer=user_id))
    _members_changed(world, thread, added=user_id)


def leave(world: World, thread: Record, user_id: str) -> None:
    """Remove a user from a thread."""
    if thread["archived"]:
        raise refuse(50083)
    if thread["members"].pop(user_id, None) is not None:
        world.channels.put(thread)
        _members_changed(world, thread, removed=user_id)


def _members_changed(
    world: World, thread: Record, *, added: str | None = None, removed: str | None = None
) -> None:
    news: Record = {
        "id": thread["id"],
        "guild_id": thread["guild_id"],
        "member_count": len(thread["members"]),
    }
    if added is not None:
        shown = payloads.thread_member(thread, added)
        own = world.members.get(f"{thread['guild_id']}:{added}")
        if own is not None:
            shown |= {"member": payloads.member(world, own), "presence": None}
        news["added_members"] = [shown]
    if removed is not None:
        news["removed_member_ids"] = [removed]
    world.emit("THREAD_MEMBERS_UPDATE", news)
