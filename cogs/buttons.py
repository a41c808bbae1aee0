"""The buttons under a story's messages. Each handler checks, calls one move, and says what went wrong."""

from __future__ import annotations

from collections.abc import Mapping

import discord

from bot import failures
from bot.client import Inglenook
from bot.i18n import t
from bot.press import Handler, PressCog
from bot.strategy.returning import strategy_told
from engine.errors import PlayError
from engine.play import Head

__all__ = ["Buttons", "setup"]


class Buttons(PressCog):
    """◀ ▶ ⟳ Stop, the greeting's ◀ ▶, Retry, Answer now, Skip, Undo, Cancel."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            "prev": self._prev,
            "next": self._next,
            "again": self._again,
            "greet": self._greet,
            "stop": self._stop,
            "retry": self._retry,
            "answer": self._answer,
            "skip": self._skip,
            "undo": self._undo,
            "cancel": self._cancel,
        }

    async def _prev(self, interaction: discord.Interaction, play: str, node: str, variant: str) -> None:
        await interaction.response.defer()
        async with strategy_told(self.bot.engine, interaction, play):
            await self.bot.moves.turn_page(play, node, variant, -1)

    async def _next(self, interaction: discord.Interaction, play: str, node: str, variant: str) -> None:
        await interaction.response.defer()
        async with strategy_told(self.bot.engine, interaction, play):
            await self.bot.moves.turn_page(play, node, variant, +1)

    async def _again(self, interaction: discord.Interaction, play: str, node: str, variant: str) -> None:
        await interaction.response.defer()
        await self.bot.moves.again(play, node, variant)

    async def _greet(self, interaction: discord.Interaction, play: str, index: str) -> None:
        await interaction.response.defer()
        await self.bot.engine.plays.choose_greeting(play, int(index))
        await self.bot.stage.show_greeting(play)

    async def _stop(self, interaction: discord.Interaction, play: str) -> None:
        await interaction.response.defer()
        if not await self.bot.moves.stop(play):
            await failures.answer(interaction, t(interaction.locale, "answer.not_writing"))

    async def _retry(self, interaction: discord.Interaction, play: str) -> None:
        await interaction.response.defer()
        await self.bot.moves.retry(play)

    async def _answer(self, interaction: discord.Interaction, play: str) -> None:
        """Answer now: what waits in the queue, or the words that a restart cut off."""
        await interaction.response.defer()
        if not await self.bot.engine.plays.resume_queue(play):
            try:
                await self.bot.moves.retry(play)
            except PlayError as error:
                if error.error_code != "PLAY_NO_INPUT":
                    raise
                await failures.dismiss(interaction)  # it was answered meanwhile

    async def _skip(self, interaction: discord.Interaction, play: str) -> None:
        """Leave unanswered what the line tells of; the next words take it along."""
        await interaction.response.defer()
        await self.bot.engine.plays.skip(play)
        await failures.dismiss(interaction)
        await failures.answer(interaction, t(interaction.locale, "restart.skipped"))

    async def _undo(
        self,
        interaction: discord.Interaction,
        play: str,
        session: str,
        node: str,
        variant: str,
        current: str,
    ) -> None:
        await interaction.response.defer()
        async with strategy_told(self.bot.engine, interaction, play):
            await self.bot.moves.undo(play, Head(session, node or None, variant or None), current)

    async def _cancel(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        await failures.dismiss(interaction)


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Buttons(bot))
