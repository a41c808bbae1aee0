"""What a story or a channel uses several of: world books and lists of regex scripts, in their order.

In a story's thread it is the story that is changed, from its next answer on, by whoever may; anywhere
else it is what new stories of the channel start with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

import discord

from bot.bindings import ListedKind
from bot.choices import resolve
from bot.client import Inglenook
from bot.excerpts import plain
from bot.i18n import t
from bot.rights import check_sets_channel
from bot.stories import check_owner
from bot.strategy.outlook import with_refusal
from bot.venues import base_channel, server
from engine.errors import InputError, NotFound
from engine.library import ResourceRow, Selection
from engine.library.shelf import fold

__all__ = ["MAX_IN_STORY", "bind", "in_use", "unbind"]

Field: TypeAlias = Literal["book_ids", "regex_ids"]

MAX_IN_STORY = 100  # spec tavern 2

_FIELDS: dict[ListedKind, Field] = {"world_book": "book_ids", "regex": "regex_ids"}


async def bind(bot: Inglenook, interaction: discord.Interaction, found: ResourceRow, noun: str) -> str:
    """Use it here, after what is used already; what was done, in words.

    Raises PlayError PLAY_OWNER_ONLY, PLAY_BUSY, PLAY_ENDED; InputError CHANNEL_ONLY, CHANNEL_LIST_FULL,
    NOT_HERE.
    """
    kind = _kind(found)

    def add(ids: tuple[str, ...]) -> tuple[str, ...]:
        if found.id not in ids and len(ids) >= MAX_IN_STORY:
            raise InputError("A story can use no more.", code="STORY_LIST_FULL", limit=MAX_IN_STORY)
        return (*ids, found.id) if found.id not in ids else ids

    if (changed := await _in_story(bot, interaction, kind, add)) is not None:
        key = "bound_story" if changed else "bound_already"
    else:
        guild, channel = server(interaction), base_channel(interaction)
        check_sets_channel(interaction)
        added = await bot.bindings.add(guild.id, channel, kind, found.id)
        key = ("bound_channel" if channel == interaction.channel_id else "bound_parent") if added else ""
        key = key or "bound_already"
    await bot.engine.library.touch(found.id)
    text = _said(interaction, f"{noun}.{key}", found)
    binding = bot.bindings.of_channel(interaction.channel_id or 0)
    if binding is None:
        return text
    return await with_refusal(text, bot.engine, binding.play_id, str(interaction.locale))


async def unbind(
    bot: Inglenook, interaction: discord.Interaction, kind: ListedKind, text: str, noun: str
) -> str:
    """Use here no more what was named; what was done, in words. Raises as `bind`, NotFound as `resolve`."""
    found = await _meant(bot, interaction, kind, text)
    gone = await _in_story(
        bot, interaction, kind, lambda ids: tuple(each for each in ids if each != found.id)
    )
    if gone is None:
        guild, channel = server(interaction), base_channel(interaction)
        check_sets_channel(interaction)
        gone = await bot.bindings.remove(guild.id, channel, kind, found.id)
    return _said(interaction, f"{noun}.{'unbound' if gone else 'unbound_already'}", found)


async def _meant(
    bot: Inglenook, interaction: discord.Interaction, kind: ListedKind, text: str
) -> ResourceRow:
    """What was named to be used no more, also when it has left the library: a story keeps reading it.

    Raises NotFound as `resolve`.
    """
    used = await in_use(bot, interaction, kind)
    rows = [await bot.engine.library.row(each) for each in used]
    lost = [row for row in rows if row.deleted_at is not None]
    gone = next((row for row in lost if text == row.id or fold(text) == fold(row.name)), None)
    try:
        found = await resolve(interaction, kind, text)
    except NotFound:
        if gone is None:
            raise
        return gone
    return gone if gone is not None and found.id not in used else found


async def in_use(bot: Inglenook, interaction: discord.Interaction, kind: ListedKind) -> tuple[str, ...]:
    """The ids that the story here uses, or else new stories in the channel."""
    binding = bot.bindings.of_channel(interaction.channel_id or 0)
    if binding is not None:
        selection = await bot.engine.plays.selection(binding.play_id)
        return selection.book_ids if kind == "world_book" else selection.regex_ids
    if interaction.guild is None:
        return ()
    defaults = await bot.bindings.defaults(interaction.guild.id, base_channel(interaction))
    return defaults.book_ids if kind == "world_book" else defaults.regex_ids


async def _in_story(
    bot: Inglenook,
    interaction: discord.Interaction,
    kind: ListedKind,
    change: Callable[[tuple[str, ...]], tuple[str, ...]],
) -> bool | None:
    """Change what the story here uses; whether that changed anything, None where no story is."""
    binding = bot.bindings.of_channel(interaction.channel_id or 0)
    if binding is None:
        return None
    check_owner(interaction, await bot.engine.plays.get(binding.play_id))
    field = _FIELDS[kind]
    changed = False

    def select(selection: Selection) -> Selection:
        nonlocal changed
        before = selection.book_ids if field == "book_ids" else selection.regex_ids
        after = change(before)
        changed = after != before
        return (
            replace(selection, book_ids=after) if field == "book_ids" else replace(selection, regex_ids=after)
        )

    await bot.engine.plays.select(binding.play_id, select)
    return changed


def _kind(found: ResourceRow) -> ListedKind:
    assert found.kind in ("world_book", "regex")
    return "world_book" if found.kind == "world_book" else "regex"


def _said(interaction: discord.Interaction, key: str, found: ResourceRow) -> str:
    channel = f"<#{base_channel(interaction)}>" if interaction.guild is not None else ""
    return t(interaction.locale, key, name=plain(found.name, 200), channel=channel)
