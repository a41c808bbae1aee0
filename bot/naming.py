"""What options that name a thing have in common: choices while typing, and the text as it was typed.

Every key stroke asks and nothing may take three seconds, so looking up what was meant comes after
deferring, in the command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import discord
import structlog
from discord import app_commands

from bot.excerpts import one_line, plain
from engine.errors import EngineError, NotFound
from engine.host import Engine

__all__ = ["CHOICES", "LENGTH", "Naming", "engine_of", "the_one"]

log = structlog.get_logger(__name__)

CHOICES = 25  # what Discord shows in one list
LENGTH = 100  # characters of a choice's name
_TOLD = 5  # of several that could be meant: enough to see why

T = TypeVar("T")


class Naming(app_commands.Transformer):
    """An option that names a thing; each says what it offers. `longest` is the longest name to be typed."""

    longest: ClassVar[int] = 200

    @property
    def max_value(self) -> int:
        """Discord's own limit for what is typed."""
        return self.longest

    async def transform(self, interaction: discord.Interaction, value: Any, /) -> str:
        """The text as it was typed."""
        return str(value)

    async def autocomplete(  # type: ignore[override]  # the values are strings
        self, interaction: discord.Interaction, value: str, /
    ) -> list[app_commands.Choice[str]]:
        """At most 25 that fit. An error would leave people with a spinner: none instead."""
        try:
            return (await self.offered(interaction, value))[:CHOICES]
        except EngineError as error:
            log.warning("choices.failed", code=error.error_code)
            return []

    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        """What fits the text, best first."""
        raise NotImplementedError


def the_one(found: Sequence[tuple[str, T]], text: str) -> T | None:
    """What was meant by a text that fits these (name, thing): the only one; None where nothing fits.

    Raises NotFound NAME_SEVERAL (data: name, names) when several do: to take any would be a guess.
    """
    if len(found) > 1:
        names = ", ".join(f"**{plain(name, LENGTH)}**" for name, _ in found[:_TOLD])
        names += " …" if len(found) > _TOLD else ""
        raise NotFound(
            "Several could be meant.", code="NAME_SEVERAL", name=one_line(text, LENGTH), names=names
        )
    return found[0][1] if found else None


def engine_of(interaction: discord.Interaction) -> Engine:
    """The engine of the bot that was asked."""
    engine: Engine = interaction.client.engine  # type: ignore[attr-defined]
    return engine
