"""A panel that grows downward and stays within the limits of one message. Pure, in a running loop.

Panels are Components V2 (spec discord B1): 40 components, 4000 characters, and some 10 000 bytes,
which Chinese reaches first.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import discord

from bot.excerpts import clip

__all__ = ["ACCENT", "DANGER", "MOST_BYTES", "MOST_CHARS", "PRIMARY", "Layout", "Reader", "Sheet"]

Layout: TypeAlias = discord.ui.LayoutView
Item: TypeAlias = "discord.ui.Item[Any]"

MOST_CHARS = 3_900  # of 4000
MOST_BYTES = 9_000  # of about 10 170, with 12 for each text
_TEXT_OVERHEAD = 12
_ENOUGH = 4  # bytes of the longest character: a text that has not even these is left out

ACCENT = 0xE8A355  # lamplight
PRIMARY = discord.ButtonStyle.primary
DANGER = discord.ButtonStyle.danger


class Reader:
    """Who looks at a panel: their language, the name they play under, whether stories can be opened
    from where they are (not in a direct message), and whether they may change what it shows."""

    __slots__ = ("can_change", "can_play", "locale", "name")

    def __init__(self, locale: str, name: str, can_play: bool, can_change: bool = False) -> None:
        self.locale = locale
        self.name = name
        self.can_play = can_play
        self.can_change = can_change


class Sheet:
    """Collects a panel's parts. What does not fit any more is clipped, never refused by Discord."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._rows: list[Item] = []
        self._chars = MOST_CHARS
        self._bytes = MOST_BYTES

    def text(self, text: str, most_bytes: int = MOST_BYTES) -> None:
        """A text of at most `most_bytes`; nothing for an empty one."""
        if fitted := self._fit(text, most_bytes):
            self._items.append(discord.ui.TextDisplay[Any](fitted))

    def section(self, text: str, most_bytes: int, beside: Item) -> None:
        """A text with a picture (or button) beside it."""
        fitted = self._fit(text, most_bytes) or "\u200b"
        self._items.append(discord.ui.Section[Any](fitted, accessory=beside))

    def row(self, *items: discord.ui.Button[Any] | discord.ui.Select[Any]) -> None:
        """A row at the bottom: up to five buttons (four read well on a phone), or one menu."""
        if items:
            self._rows.append(discord.ui.ActionRow[Any](*items))

    def layout(self) -> Layout:
        """The panel as a view that never times out."""
        rows = [discord.ui.Separator[Any](), *self._rows] if self._rows else []
        view = discord.ui.LayoutView(timeout=None)
        view.add_item(discord.ui.Container[Any](*self._items, *rows, accent_colour=ACCENT))
        return view

    def _fit(self, text: str, most_bytes: int) -> str:
        room = min(most_bytes, self._bytes - _TEXT_OVERHEAD)
        if self._chars < 1 or room < _ENOUGH:
            return ""
        fitted = clip(text.strip(), self._chars, room)
        self._chars -= len(fitted)
        self._bytes -= len(fitted.encode()) + _TEXT_OVERHEAD
        return fitted
