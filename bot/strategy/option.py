"""Naming a strategy in a command: what is offered while typing, and what was meant in the end."""

from __future__ import annotations

from collections import Counter

import discord
from discord import app_commands

from bot.choices import made_apart
from bot.excerpts import one_line
from bot.i18n import LANGUAGES
from bot.naming import LENGTH, Naming, engine_of
from bot.stories import library_owner
from bot.strategy.panel import strategy_name
from engine.assembler import AssemblyStore, KeptStrategy
from engine.errors import NotFound
from engine.library.shelf import fold

__all__ = ["StrategyOption", "strategy_meant"]


class _Strategies(Naming):
    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        kept = await _store(interaction).list(library_owner(interaction))
        named = [(_name(each, str(interaction.locale)), each) for each in kept]
        held = Counter(fold(name) for name, _ in named)
        return [
            app_commands.Choice(name=_offered(name, each, twin=held[fold(name)] > 1), value=each.id)
            for name, each in named
            if fold(text) in fold(name)
        ]


StrategyOption = app_commands.Transform[str, _Strategies]
"""The option of a command that names a strategy."""


async def strategy_meant(interaction: discord.Interaction, text: str) -> KeptStrategy:
    """A strategy by id or name, else the only one whose name begins so. Raises NotFound STRATEGY_UNKNOWN
    (data: name)."""
    kept = await _store(interaction).list(library_owner(interaction))
    wanted = fold(text)
    for fits in (
        lambda each: each.id == text.strip(),
        lambda each: wanted in _names(each),
        lambda each: any(name.startswith(wanted) for name in _names(each)),
    ):
        found = [each for each in kept if fits(each)]
        if len(found) == 1 and wanted:
            return found[0]
    raise NotFound("There is no such strategy.", code="STRATEGY_UNKNOWN", name=one_line(text, LENGTH))


def _offered(name: str, kept: KeptStrategy, *, twin: bool) -> str:
    """A `twin` has the same name as another, and is told apart as other things of the library are."""
    if not twin or kept.built_in:
        return one_line(name, LENGTH)
    apart = made_apart(kept.created_at, kept.id)
    return f"{one_line(name, LENGTH - len(apart) - 3)} — {apart}"


def _names(kept: KeptStrategy) -> set[str]:
    """Built-in ones have a name in each language."""
    return {fold(kept.strategy.name), *(fold(_name(kept, language)) for language in LANGUAGES)}


def _name(kept: KeptStrategy, locale: str) -> str:
    return discord.utils.remove_markdown(strategy_name(kept, locale))


def _store(interaction: discord.Interaction) -> AssemblyStore:
    return engine_of(interaction).strategies.store
