"""Where somebody is when they use a command: the server, the channel, and the channel that a thread is in."""

from __future__ import annotations

import discord

from bot.stories import StoryParent
from engine.errors import InputError

__all__ = ["base_channel", "server", "story_parent"]


def server(interaction: discord.Interaction) -> discord.Guild:
    """The server. Raises InputError NOT_HERE in a direct message."""
    if interaction.guild is None:
        raise _not_here()
    return interaction.guild


def base_channel(interaction: discord.Interaction) -> int:
    """The id of the channel whose choices count here: a thread's or forum post's is the one it is in.

    Raises InputError NOT_HERE in a direct message.
    """
    server(interaction)
    channel = interaction.channel
    if isinstance(channel, discord.Thread):
        return channel.parent_id
    if interaction.channel_id is None:
        raise _not_here()
    return interaction.channel_id


def story_parent(interaction: discord.Interaction) -> StoryParent:
    """Where a story can be opened from here. Raises InputError NOT_HERE when it can not."""
    channel = server(interaction).get_channel(base_channel(interaction))
    if not isinstance(channel, discord.TextChannel | discord.ForumChannel):
        raise _not_here()
    return channel


def _not_here() -> InputError:
    return InputError("That needs a text channel or forum of a server.", code="NOT_HERE")
