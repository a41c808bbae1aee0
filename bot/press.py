"""Buttons that survive a restart: what one does stands in its custom_id.

A custom_id is `in1:<op>:<id>:…`, ids only, never content, at most 100 characters. `in1` is
the version of the scheme. One pattern serves all buttons, because discord.py tries every
pattern at every click. Handlers are registered by op; they check everything again at the
click, since anybody can press anything at any time.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import discord
from discord.ext import commands

__all__ = ["Handler", "Press", "PressCog", "PressTable", "button", "row"]

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


class Press(
    discord.ui.DynamicItem["discord.ui.Button[Any]"],
    template=_PREFIX + r":(?P<op>[a-z-]+)(?P<args>(?::[\w.-]*)*)",
):
    """Any button of ours that was pressed."""

    def __init__(self, item: discord.ui.Button[Any], op: str, args: tuple[str, ...]) -> None:
        super().__init__(item)
        self.op = op
        self.args = args

    @classmethod
    async def from_custom_id(
        cls, interaction: discord.Interaction, item: discord.ui.Item[Any], match: re.Match[str]
    ) -> Press:
        assert isinstance(item, discord.ui.Button)
        args = match["args"]
        return cls(item, match["op"], tuple(args[1:].split(":")) if args else ())

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
    custom_id = ":".join([_PREFIX, op, *map(str, args)])
    if len(custom_id) > 100:
        raise ValueError(f"the custom_id is {len(custom_id)} characters long")
    return discord.ui.Button(label=label, emoji=emoji, style=style, disabled=disabled, custom_id=custom_id)


def row(*buttons: discord.ui.Button[Any]) -> discord.ui.View:
    """Buttons in one row that never time out."""
    view = discord.ui.View(timeout=None)
    for item in buttons:
        view.add_item(item)
    return view
