"""Naming a card or preset in a command: what is offered while typing, and what was meant in the end.

Choices come from memory, since every key stroke asks and nothing may take three seconds. A value
can be typed freely, whatever was offered, so commands always `resolve` it, after they deferred.
"""

from __future__ import annotations

from typing import Any, ClassVar

import discord
import structlog
from discord import app_commands

from bot.excerpts import clip, one_line
from bot.i18n import t
from bot.stories import owner_of
from engine.errors import EngineError, NotFound
from engine.host import Engine
from engine.library import Kind, ResourceRow

__all__ = ["CardOption", "PresetOption", "choice_name", "resolve"]

log = structlog.get_logger(__name__)

_CHOICES = 25  # what Discord shows in one list
_LENGTH = 100  # characters of a choice's name and value
_NAME = 55  # of those for the thing's own name, so that whose it is can still be read


class _Choices(app_commands.Transformer):
    kind: ClassVar[Kind]

    @property
    def max_value(self) -> int:
        """Discord's own limit for what a choice stands for; names in a library are longer at times."""
        return 200

    async def transform(self, interaction: discord.Interaction, value: Any, /) -> str:
        """The text as it was typed; looking it up is work, and work comes after deferring."""
        return str(value)

    async def autocomplete(  # type: ignore[override]  # the values are strings
        self, interaction: discord.Interaction, value: str, /
    ) -> list[app_commands.Choice[str]]:
        """At most 25 that fit, best first. An error would leave people with a spinner: none instead."""
        try:
            rows = await _suggest(_engine(interaction), _owner(interaction), self.kind, value)
        except EngineError as error:
            log.warning("choices.failed", code=error.error_code)
            return []
        return [
            app_commands.Choice(name=choice_name(row, interaction.locale), value=row.id)
            for row in rows[:_CHOICES]
        ]


class _Cards(_Choices):
    kind = "card"


class _Presets(_Choices):
    kind = "preset"


CardOption = app_commands.Transform[str, _Cards]
"""The option of a command that names a card: `card: CardOption`."""

PresetOption = app_commands.Transform[str, _Presets]
"""The option of a command that names a preset."""


def choice_name(row: ResourceRow, locale: discord.Locale | str | None) -> str:
    """`Mira — by Alice · 3 greetings`, at most 100 characters, on one line."""
    name = one_line(row.name, _NAME) + (" 🔞" if row.nsfw else "")
    facts = []
    if row.kind == "card":
        if row.summary.get("creator"):
            facts.append(t(locale, "card.by", creator=one_line(row.summary["creator"], 25)))
        facts.append(t(locale, "card.greetings", n=row.summary.get("greetings", 0)))
    elif row.kind == "preset":
        facts.append(t(locale, "preset.prompts", n=row.summary.get("prompts", 0)))
    return clip(" — ".join(filter(None, (name, " · ".join(facts)))), _LENGTH)


async def resolve(interaction: discord.Interaction, kind: Kind, text: str) -> ResourceRow:
    """The card or preset that was meant, by id or name.

    Raises NotFound CARD_UNKNOWN, PRESET_UNKNOWN (data: name) when none fits, or several do.
    """
    try:
        return await _engine(interaction).library.resolve(_owner(interaction), kind, text)
    except NotFound as error:
        raise NotFound(error.message, code=f"{kind.upper()}_UNKNOWN", name=one_line(text, _LENGTH)) from None


async def _suggest(engine: Engine, owner: str, kind: Kind, text: str) -> list[ResourceRow]:
    library = engine.library
    # Until a library was read once, nothing of it is in memory: then, and only then, it is read here.
    return list(library.suggest(owner, kind, text) or await library.search(owner, kind, text))


def _engine(interaction: discord.Interaction) -> Engine:
    engine: Engine = interaction.client.engine  # type: ignore[attr-defined]
    return engine


def _owner(interaction: discord.Interaction) -> str:
    return owner_of(interaction.guild, interaction.user.id)
