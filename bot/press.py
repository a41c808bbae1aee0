"""Buttons and menus that survive a restart: what one does stands in its custom_id.

A custom_id is `in1:<op>:<id>:…`, ids and places only, never content, at most 100 characters. `in1` is
the version of the scheme. Forms (`bot.forms`) have the same ids and the same handlers. One pattern
serves all buttons, because discord.py tries every pattern at every click. Handlers are registered by
op; they check everything again at the click, since anybody can press anything at any time.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import discord
from discord.ext import commands

__all__ = [
    "Handler",
    "Press",
    "PressCog",
    "PressTable",
    "button",
    "chosen",
    "custom_id",
    "menu",
    "parsed",
    "row",
]

Handler: TypeAlias = Callable[..., Awaitable[None]]
"""`handler(interaction, *args)` with the ids of the custom_id as strings."""

Button: TypeAlias = "discord.ui.Button[discord.ui.View]"

_PREFIX = "in1"


class PressTable:
    """Which handler serves which op. A cog adds its own and removes them when it is unloaded."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def on(self, op: str, handler: Handler) -> None:
        if op in self._handlers:
            raise ValueError(f"{op} has a handler already")
        self._handlers[op] = handler

    def off(self, op: str) -> None:
        self._handlers.pop(op, None)

    def get(self, op: str) -> Handler | None:
        return self._handlers.get(op)


class PressCog(commands.Cog):
    """A cog with buttons: what `presses_served` names is served while the cog is loaded."""

    presses: PressTable

    def presses_served(self) -> Mapping[str, Handler]:
        """The ops of this cog and their handlers."""
        raise NotImplementedError

    async def cog_load(self) -> None:
        for op, handler in self.presses_served().items():
            self.presses.on(op, handler)

    async def cog_unload(self) -> None:
        for op in self.presses_served():
            self.presses.off(op)


_TEMPLATE = _PREFIX + r":(?P<op>[a-z-]+)(?P<args>(?::[\w.-]*)*)"


class Press(discord.ui.DynamicItem["discord.ui.Item[Any]"], template=_TEMPLATE):
    """Any button of ours that was pressed, or menu in which something was chosen."""

    def __init__(self, item: discord.ui.Item[Any], op: str, args: tuple[str, ...]) -> None:
        super().__init__(item)
        self.op = op
        self.args = args

    @classmethod
    async def from_custom_id(
        cls, interaction: discord.Interaction, item: discord.ui.Item[Any], match: re.Match[str]
    ) -> Press:
        assert isinstance(item, discord.ui.Button | discord.ui.Select)
        return cls(item, *_parts(match))

    async def callback(self, interaction: discord.Interaction) -> Any:
        await interaction.client.pressed(interaction, self.op, self.args)  # type: ignore[attr-defined]


def button(
    op: str,
    *args: str | int,
    label: str | None = None,
    emoji: str | None = None,
    style: discord.ButtonStyle = discord.ButtonStyle.secondary,
    disabled: bool = False,
) -> discord.ui.Button[Any]:
    """A button for `op`. Raises ValueError when the custom_id would be longer than Discord takes."""
    return discord.ui.Button(
        label=label, emoji=emoji, style=style, disabled=disabled, custom_id=custom_id(op, args)
    )


def menu(
    op: str,
    *args: str | int,
    options: Sequence[discord.SelectOption],
    placeholder: str,
    least: int = 1,
    most: int = 1,
) -> discord.ui.Select[Any]:
    """A menu for `op`, whose handler reads what was taken with `chosen`. Raises as `button`."""
    return discord.ui.Select(
        custom_id=custom_id(op, args),
        options=list(options),
        placeholder=placeholder,
        min_values=least,
        max_values=most,
    )


def chosen(interaction: discord.Interaction) -> tuple[str, ...]:
    """The values that somebody has chosen in a menu."""
    data: Any = interaction.data or {}
    return tuple(data.get("values", ()))


def custom_id(op: str, args: Sequence[str | int]) -> str:
    """What stands under a button. Raises ValueError when it is longer than Discord takes."""
    made = ":".join([_PREFIX, op, *map(str, args)])
    if len(made) > 100:
        raise ValueError(f"the custom_id is {len(made)} characters long")
    return made


def parsed(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The op and the arguments of a custom_id of ours; None for another."""
    match = re.fullmatch(_TEMPLATE, text)
    return None if match is None else _parts(match)


def _parts(match: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    args = match["args"]
    return match["op"], tuple(args[1:].split(":")) if args else ()


def row(*buttons: discord.ui.Button[Any]) -> discord.ui.View:
    """Buttons in one row that never time out."""
    view = discord.ui.View(timeout=None)
    for item in buttons:
        view.add_item(item)
    return view
