"""A menu of more options than Discord's 25, and what it was asked for. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import discord

from bot.excerpts import clip
from bot.i18n import t

__all__ = ["asked_for", "paged"]

_SHOWN = 23  # of 25: one is *More*, one is left to whoever has an option of their own


def paged(options: Sequence[tuple[str, str]], first: int, locale: str) -> list[discord.SelectOption]:
    """Options (label, value) from `first` on, with one that shows the next ones; after the last come the
    first again."""
    first = first if first < len(options) else 0
    shown = [
        discord.SelectOption(label=clip(label, 100), value=value)
        for label, value in options[first : first + _SHOWN]
    ]
    if len(options) > _SHOWN:
        last = first + _SHOWN >= len(options)
        label = t(locale, "strategy.part.more")
        shown.append(discord.SelectOption(label=label, value=f"+{0 if last else first + _SHOWN}"))
    return shown


def asked_for(value: str) -> int | None:
    """The first option to show, when *More* was chosen; None for a thing of the menu."""
    return int(value[1:]) if value.startswith("+") and value[1:].isdecimal() else None
