"""A strategy that comes back with an answer is told to whoever has turned there.

Each answer keeps the strategy that it was written with, so that ◀ and an undone rewind may change what the
story uses, which nobody has asked for. What goes on anew from an older place takes the story's along.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import discord

from bot import failures
from bot.i18n import t
from bot.strategy.panel import known_name
from engine.host import Engine

__all__ = ["strategy_told"]


@asynccontextmanager
async def strategy_told(
    engine: Engine, interaction: discord.Interaction, play_id: str
) -> AsyncIterator[None]:
    """Around a move in a story: if it uses another strategy afterwards, the person is told which. The
    interaction was deferred."""
    before = await engine.plays.strategy(play_id)
    yield
    now, locale = await engine.plays.strategy(play_id), str(interaction.locale)
    if now == before:
        return
    if now is None:
        text = t(locale, "answer.no_strategy_again")
    else:
        text = t(locale, "answer.strategy_again", name=known_name(now.id, now.strategy.name, locale))
    await failures.answer(interaction, text)
