"""Naming a strategy in a command: what is offered while typing, and what was meant in the end."""

from __future__ import annotations

from typing import Any

import discord
import structlog
from discord import app_commands

from bot.excerpts import one_line
from bot.i18n import LANGUAGES
from bot.stories import owner_of
from bot.strategypanel import strategy_name
from engine.assembler import AssemblyStore, KeptStrategy
from engine.errors import EngineError, NotFound
from engine.library.shelf import fold

__all__ = ["StrategyOption", "strategy_meant"]

log = structlog.get_logger(__name__)

_CHOICES = 25  # what Discord shows in one list
_LENGTH = 100  # characters of a choice's name


class _Strategies(app_commands.Transformer):
    @property
    def max_value(self) -> int:
        """The longest name of a strategy."""
        return 200

    async def transform(self, interaction: discord.Interaction, value: Any, /) -> str:
        """The text as it was typed; looking it up comes after deferring."""
        return str(value)

    async def autocomplete(  # type: ignore[override]  # the values are strings
        self, interaction: discord.Interaction, value: str, /
    ) -> list[app_commands.Choice[str]]:
        """What fits; nothing instead of an error, which would leave people with a spinner."""
        try:
            kept = await _store(interaction).list(owner_of(interaction.guild, interaction.user.id))
        except EngineError as error:
            log.warning("choices.failed", code=error.error_code)
            return []
        named = [(_name(each, str(interaction.locale)), each) for each in kept]
        return [
            app_commands.Choice(name=one_line(name, _LENGTH), value=each.id)
            for name, each in named
            if fold(value) in fold(name)
        ][:_CHOICES]


StrategyOption = app_commands.Transform[str, _Strategies]
"""The option of a command that names a strategy."""


async def strategy_meant(interaction: discord.Interaction, text: str) -> KeptStrategy:
    """A strategy by id or name, else the only one whose name begins so. Raises NotFound STRATEGY_UNKNOWN
    (data: name)."""
    kept = await _store(interaction).list(owner_of(interaction.guild, interaction.user.id))
    wanted = fold(text)
    for fits in (
        lambda each: each.id == text.strip(),
        lambda each: wanted in _names(each),
        lambda each: any(name.startswith(wanted) for name in _names(each)),
    ):
        found = [each for each in kept if fits(each)]
        if len(found) == 1 and wanted:
            return found[0]
    raise NotFound("There is no such strategy.", code="STRATEGY_UNKNOWN", name=one_line(text, _LENGTH))


def _names(kept: KeptStrategy) -> set[str]:
    """Built-in ones have a name in each language."""
    return {fold(kept.strategy.name), *(fold(_name(kept, language)) for language in LANGUAGES)}


def _name(kept: KeptStrategy, locale: str) -> str:
    return discord.utils.remove_markdown(strategy_name(kept, locale))


def _store(interaction: discord.Interaction) -> AssemblyStore:
    store: AssemblyStore = interaction.client.engine.strategies.store  # type: ignore[attr-defined]
    return store
