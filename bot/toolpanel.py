"""The panel of a story's tools: what there is, and a menu that turns it on and off. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import discord

from bot.excerpts import plain
from bot.i18n import t
from bot.press import menu
from engine.play import Playthrough
from engine.table import TOOLS

__all__ = ["TOOLS_CHOSEN", "tool_panel"]

TOOLS_CHOSEN = "tools"
"""The op of the menu; its argument is the story."""

_SIGNS = {"dice": "🎲", "roll_table": "📜", "recall": "🔎"}
_ACCENT = 0xE8A355  # lamplight, as the other panels
_TITLE = 100


def tool_panel(play: Playthrough, on: Collection[str], locale: str) -> discord.ui.LayoutView:
    """The tools of a story; those in `on` are the chosen ones."""
    options = [
        discord.SelectOption(
            label=t(locale, f"tools.{tool}"),
            value=tool,
            description=t(locale, f"tools.{tool}_about"),
            emoji=_SIGNS[tool],
            default=tool in on,
        )
        for tool in TOOLS
    ]
    chooser = menu(
        TOOLS_CHOSEN,
        play.id,
        options=options,
        placeholder=t(locale, "tools.choose"),
        least=0,
        most=len(TOOLS),
    )
    text = f"## {t(locale, 'tools.title', title=plain(play.title, _TITLE))}\n{t(locale, 'tools.intro')}"
    view = discord.ui.LayoutView(timeout=None)
    view.add_item(
        discord.ui.Container[Any](
            discord.ui.TextDisplay[Any](text), discord.ui.ActionRow[Any](chooser), accent_colour=_ACCENT
        )
    )
    return view
