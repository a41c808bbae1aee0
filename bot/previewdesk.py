"""What the model would be sent, for whoever may see it; what of a persona is private is left out."""

from __future__ import annotations

from collections.abc import Mapping

import discord

from bot.i18n import t
from bot.press import Handler
from bot.privacy import sees_all, veiled
from bot.promptpanel import prompt_panel
from bot.sentdesk import sent_panel
from bot.stories import Stories, library_owner
from bot.strategy.outlook import refused_now
from bot.strategy.panel import strategy_name
from engine.assembler import Applied, AssemblyStore, KeptStrategy, Strategy
from engine.errors import AssemblyError, InputError
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
        if used is not None and await self._is_earlier(interaction, used):
            name = t(locale, "strategy.earlier_of", name=name)
        await self._send(interaction, play, preview, name, "")

    async def _is_earlier(self, interaction: discord.Interaction, used: Applied) -> bool:
        """Whether the library has another version by now than the story uses."""
        try:
            kept = await self._strategies.get(library_owner(interaction), used.id)
        except AssemblyError:
            return False  # it has none any more
        return kept.strategy.revision != used.strategy.revision

    async def try_out(
        self, interaction: discord.Interaction, strategy: Strategy, name: str, strategy_id: str
    ) -> None:
        """With a strategy that need not be saved. `name` is fit for Markdown."""
        play = await self._stories.led_here(interaction)
        preview = await self._engine.preview(play.id, strategy=strategy)
        await self._send(interaction, play, preview, name, strategy_id, draft=True)

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
        draft: bool = False,
    ) -> None:
        """`again` is the strategy that the panel is made with again: that of the story when empty, or what
        the reader has changed of it when it is a `draft`."""
        locale, used = str(interaction.locale), preview.strategy
        refused = ""
        if not compared:
            strategy = used.strategy if used is not None else None
            refused = await refused_now(self._engine, play.id, locale, strategy)
        if not sees_all(interaction, play):
            # what a strategy put into the conversation stands there as it was, whatever personas say now
            said = await self._engine.requests.private(play.head.session_id)
            preview = await veiled(self._engine, interaction, play, preview, said)
        view, file = prompt_panel(
            preview, name, again, locale, compared=compared, refused=refused, draft=draft
        )
        await interaction.followup.send(view=view, file=file, ephemeral=True)
