"""What the model would be sent, for whoever may see it; what of a persona is private is left out."""

from __future__ import annotations

from collections.abc import Mapping

import discord

from bot.press import Handler
from bot.privacy import sees_all, veiled
from bot.promptpanel import prompt_panel
from bot.sentdesk import sent_panel
from bot.stories import Stories, library_owner
from bot.strategy.panel import strategy_name
from engine.assembler import AssemblyStore, KeptStrategy, Strategy
from engine.errors import InputError
from engine.host import Engine
from engine.play import Playthrough
from engine.strategies import APPLIED, Preview

__all__ = ["PreviewDesk"]


class PreviewDesk:
    """Previews of the story in whose channel one is."""

    def __init__(self, engine: Engine, stories: Stories, strategies: AssemblyStore) -> None:
        self._engine = engine
        self._stories = stories
        self._strategies = strategies

    def presses(self) -> Mapping[str, Handler]:
        """For `PressCog.presses_served`."""
        return {
            "strategy-preview": self._pressed,
            "strategy-sent": self._sent,
            "strategy-sillytavern": self._compared,
        }

    async def show(self, interaction: discord.Interaction, kept: KeptStrategy | None = None) -> None:
        """With a strategy of the library, or with what the story uses; the interaction was deferred."""
        play, locale = await self._stories.led_here(interaction), str(interaction.locale)
        if kept is not None:
            preview = await self._engine.preview(play.id, strategy=kept.strategy)
            await self._send(interaction, play, preview, strategy_name(kept, locale), kept.id)
            return
        preview = await self._engine.preview(play.id, strategy=APPLIED)
        used = preview.strategy
        name = strategy_name(KeptStrategy(used.id, used.strategy), locale) if used is not None else ""
        await self._send(interaction, play, preview, name, "")

    async def try_out(
        self, interaction: discord.Interaction, strategy: Strategy, name: str, strategy_id: str
    ) -> None:
        """With a strategy that need not be saved. `name` is fit for Markdown."""
        play = await self._stories.led_here(interaction)
        preview = await self._engine.preview(play.id, strategy=strategy)
        await self._send(interaction, play, preview, name, strategy_id)

    async def _pressed(self, interaction: discord.Interaction, strategy_id: str = "") -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        owner = library_owner(interaction)
        await self.show(interaction, await self._strategies.get(owner, strategy_id) if strategy_id else None)

    async def _sent(self, interaction: discord.Interaction) -> None:
        """What was sent for the newest answer, as the story's log proves it."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self._stories.led_here(interaction)
        sent = await self._engine.actual_request(play.id)
        if sent is None:
            raise InputError("Nothing was sent yet.", code="PROMPT_NONE_SENT")
        view, file = await sent_panel(self._engine, interaction, play, sent)
        await interaction.followup.send(view=view, file=file, ephemeral=True)

    async def _compared(self, interaction: discord.Interaction) -> None:
        """What SillyTavern would send for the same story."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self._stories.led_here(interaction)
        await self._send(interaction, play, await self._engine.as_sillytavern(play.id), "", "", compared=True)

    async def _send(
        self,
        interaction: discord.Interaction,
        play: Playthrough,
        preview: Preview,
        name: str,
        again: str,
        *,
        compared: bool = False,
    ) -> None:
        locale = str(interaction.locale)
        if not sees_all(interaction, play):
            # what a strategy put into the conversation stands there as it was, whatever personas say now
            said = await self._engine.requests.private(play.head.session_id)
            preview = await veiled(self._engine, interaction, play, preview, said)
        view, file = prompt_panel(preview, name, again, locale, compared=compared)
        await interaction.followup.send(view=view, file=file, ephemeral=True)
