"""Naming a strategy in a command: what is offered while typing, and what was meant in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import discord
from discord import app_commands

from bot.choices import made_apart
from bot.excerpts import bare, one_line
from bot.i18n import LANGUAGES
from bot.naming import LENGTH, Naming, engine_of, the_one
from bot.stories import library_owner
from bot.strategy.panel import strategy_name
from engine.assembler import AssemblyStore, KeptStrategy
from engine.errors import NotFound
from engine.library.shelf import fold

__all__ = ["StrategyOption", "strategy_meant", "told_by", "twins_among"]


class _Strategies(Naming):
    async def offered(self, interaction: discord.Interaction, text: str) -> list[app_commands.Choice[str]]:
        kept, locale = await _store(interaction).list(library_owner(interaction)), str(interaction.locale)
        twins = twins_among(kept, locale)
        return [
            app_commands.Choice(name=told_by(each, locale, twin=each.id in twins), value=each.id)
            for each in kept
            if fold(text) in fold(_name(each, locale))
        ]


StrategyOption = app_commands.Transform[str, _Strategies]
"""The option of a command that names a strategy."""


async def strategy_meant(interaction: discord.Interaction, text: str) -> KeptStrategy:
    """A strategy by id or name, else the only one whose name begins so.

    Raises NotFound STRATEGY_UNKNOWN (data: name), NAME_SEVERAL.
    """
    kept = await _store(interaction).list(library_owner(interaction))
    wanted, locale = fold(text), str(interaction.locale)
    twins = twins_among(kept, locale)
    for fits in (
        lambda each: each.id == text.strip(),
        lambda each: wanted in _names(each),
        lambda each: any(name.startswith(wanted) for name in _names(each)),
    ):
        found = [(told_by(each, locale, twin=each.id in twins), each) for each in kept if fits(each)]
        if wanted and (meant := the_one(found, text)) is not None:
            return meant
    raise NotFound("There is no such strategy.", code="STRATEGY_UNKNOWN", name=one_line(text, LENGTH))


def twins_among(kept: Sequence[KeptStrategy], locale: str) -> frozenset[str]:
    """The ids of those that have a name which another has as well. What came with the program is known by
    its own."""
    held = Counter(fold(_name(each, locale)) for each in kept)
    return frozenset(each.id for each in kept if not each.built_in and held[fold(_name(each, locale))] > 1)


def told_by(kept: KeptStrategy, locale: str, *, twin: bool) -> str:
    """Its name on one line of at most 100 characters; a `twin` is told apart as other things of the library
    are."""
    name = _name(kept, locale)
    if not twin:
        return one_line(name, LENGTH)
    apart = made_apart(kept.created_at, kept.id)
    return f"{one_line(name, LENGTH - len(apart) - 3)} — {apart}"


def _names(kept: KeptStrategy) -> set[str]:
    """Built-in ones have a name in each language."""
    return {fold(kept.strategy.name), *(fold(_name(kept, language)) for language in LANGUAGES)}


def _name(kept: KeptStrategy, locale: str) -> str:
    return bare(strategy_name(kept, locale))


def _store(interaction: discord.Interaction) -> AssemblyStore:
    return engine_of(interaction).strategies.store
