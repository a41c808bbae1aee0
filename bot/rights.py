"""Who may change what is in a library (`ux` 7). Asked at every click, since panels outlive roles."""

from __future__ import annotations

import discord

from engine.errors import InputError
from engine.library import ResourceRow

__all__ = ["check_manages", "check_may_change", "check_sets_channel", "manages", "may_change"]


def manages(interaction: discord.Interaction) -> bool:
    """Whether somebody looks after the library that is used here: their own, or the server's."""
    return interaction.guild is None or interaction.permissions.manage_guild


def may_change(interaction: discord.Interaction, row: ResourceRow) -> bool:
    """Whoever brought it in, and whoever looks after the library."""
    return str(interaction.user.id) == row.created_by or manages(interaction)


def check_may_change(interaction: discord.Interaction, row: ResourceRow) -> None:
    """Raises InputError IMPORTER_ONLY for others."""
    if not may_change(interaction, row):
        raise InputError("Only whoever brought it in may do that.", code="IMPORTER_ONLY")


def check_manages(interaction: discord.Interaction) -> None:
    """Raises InputError LIBRARY_ONLY for whoever may not manage the server."""
    if not manages(interaction):
        raise InputError("Only people who may manage the server may do that.", code="LIBRARY_ONLY")


def check_sets_channel(interaction: discord.Interaction) -> None:
    """What new stories of a channel start with is for whoever manages the channel, or the server.

    Raises InputError CHANNEL_ONLY for others.
    """
    allowed = interaction.permissions
    if not (allowed.manage_channels or allowed.manage_guild):
        raise InputError("Only people who may manage this channel may do that.", code="CHANNEL_ONLY")
