"""`/settings`: how a story is played, and what the server wants of the bot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import discord
from discord import app_commands
from discord.ext import commands

from bot import rights
from bot.client import Inglenook
from bot.i18n import label
from bot.offers import offers_panel
from bot.press import Handler, PressCog, chosen
from bot.stories import check_owner
from bot.tablerules import PROMPTS_SET, TableRules, prompts_panel
from bot.toolpanel import TOOLS_CHOSEN, tool_panel
from bot.venues import server
from engine.errors import PlayError
from engine.play import Playthrough
from engine.table import TOOLS

__all__ = ["StorySettings", "setup"]


class StorySettings(
    PressCog,
    commands.GroupCog,
    group_name=label("commands.settings.name"),
    group_description=label("commands.settings.description"),
):
    """The settings of the story in the channel, for whoever began it and for moderators; and the server's."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses
        self.rules = TableRules(bot.engine.store, bot.engine.clock)

    def presses_served(self) -> Mapping[str, Handler]:
        return {TOOLS_CHOSEN: self._tools_chosen, PROMPTS_SET: self._prompts_set}

    @app_commands.command(
        name=label("commands.settings.tools.name"), description=label("commands.settings.tools.description")
    )
    async def tools(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.led_here(interaction)
        if play.ended_at is not None:
            raise PlayError("This story has ended.", code="PLAY_ENDED")
        await interaction.followup.send(view=await self._tools_panel(interaction, play), ephemeral=True)

    @app_commands.command(
        name=label("commands.settings.prompts.name"),
        description=label("commands.settings.prompts.description"),
    )
    async def prompts(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.led_here(interaction)
        to_all = await self.rules.prompts_for_all(play.id)
        await interaction.followup.send(
            view=prompts_panel(play, to_all, str(interaction.locale)), ephemeral=True
        )

    @app_commands.command(
        name=label("commands.settings.imports.name"),
        description=label("commands.settings.imports.description"),
    )
    async def imports(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        rights.check_manages(interaction)
        wanted = await self.bot.offers.wanted(server(interaction).id)
        await interaction.followup.send(view=offers_panel(wanted, str(interaction.locale)), ephemeral=True)

    async def _prompts_set(self, interaction: discord.Interaction, play_id: str, to_all: str) -> None:
        await interaction.response.defer()
        play = await self.bot.stories.led_here(interaction, play_id)
        await self.rules.show_prompts(play_id, to_all == "1")
        await interaction.edit_original_response(
            view=prompts_panel(play, to_all == "1", str(interaction.locale))
        )

    async def _tools_chosen(self, interaction: discord.Interaction, play_id: str) -> None:
        await interaction.response.defer()
        play = await self.bot.engine.plays.get(play_id)
        check_owner(interaction, play)
        wanted = chosen(interaction)
        try:
            await self.bot.engine.plays.select(
                play_id,
                lambda selection: replace(selection, tools=tuple(tool for tool in TOOLS if tool in wanted)),
            )
        finally:
            # The menu shows what was chosen; where that was refused, it must show what holds.
            await interaction.edit_original_response(view=await self._tools_panel(interaction, play))

    async def _tools_panel(
        self, interaction: discord.Interaction, play: Playthrough
    ) -> discord.ui.LayoutView:
        selection = await self.bot.engine.plays.selection(play.id)
        return tool_panel(play, selection.tools, str(interaction.locale))


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(StorySettings(bot))
