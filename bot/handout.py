"""Files that the bot hands out: exports, details, long texts; only to the person who asked."""

from __future__ import annotations

import io
from typing import Any

import discord

from bot.excerpts import plain, size
from engine.errors import InputError

__all__ = ["hand_out", "text_file"]

_NAME = 100


def text_file(text: str, name: str) -> discord.File:
    """A text as a file."""
    return discord.File(io.BytesIO(text.encode()), name)


async def hand_out(
    interaction: discord.Interaction,
    body: bytes,
    filename: str,
    note: str | None = None,
    view: discord.ui.View | None = None,
) -> None:
    """Send a file as the answer of an interaction that was deferred.

    Raises InputError EXPORT_TOO_LARGE (data: file, size, limit) when Discord takes no file so large here.
    """
    limit = interaction.filesize_limit
    if len(body) > limit:
        raise InputError(
            "The file is larger than Discord takes here.",
            code="EXPORT_TOO_LARGE",
            file=plain(filename, _NAME),
            size=size(len(body)),
            limit=size(limit),
        )
    more: dict[str, Any] = {} if view is None else {"view": view}
    await interaction.followup.send(
        note or "", file=discord.File(io.BytesIO(body), filename), ephemeral=True, **more
    )
