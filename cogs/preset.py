"""`/preset`: how the model is instructed."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from dataclasses import replace

import discord
from discord import app_commands
from discord.ext import commands

from bot import panels
from bot.choices import PresetOption, resolve
from bot.client import Inglenook
from bot.details import preset_details
from bot.excerpts import plain
from bot.i18n import label, t
from bot.press import Handler, PressCog
from bot.stories import owner_of
from bot.uploads import read_upload, refusal
from bot.venues import base_channel, server
from engine.errors import ResourceError
from engine.library import ResourceRow

__all__ = ["Presets", "setup"]


class Presets(
    PressCog,
    commands.GroupCog,
    group_name=label("commands.preset.name"),
    group_description=label("commands.preset.description"),
):
    """Bring in, list, bind; and the buttons under the panels, which outlive a restart."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            "bind-preset": self._bind_here,
            "preset-details": self._details,
            "preset-page": self._turn,
        }

    # -- commands ----------------------------------------------------------------------------------

    @app_commands.command(
        name=label("commands.preset.import.name"), description=label("commands.preset.import.description")
    )
    @app_commands.rename(file=label("commands.preset.import.options.file.name"))
    @app_commands.describe(file=label("commands.preset.import.options.file.description"))
    async def import_(self, interaction: discord.Interaction, file: discord.Attachment) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        upload = await read_upload(file, self.bot.settings.limits.preset_bytes)
        try:
            row = await self.bot.engine.library.import_preset(
                _owner(interaction), upload.body, upload.filename, str(interaction.user.id)
            )
        except ResourceError as error:
            raise refusal(error, upload.filename, "preset") from error
        reader = panels.Reader(
            str(interaction.locale), interaction.user.display_name, interaction.guild is not None
        )
        await interaction.followup.send(view=panels.preset_panel(row, reader), ephemeral=True)

    @app_commands.command(
        name=label("commands.preset.list.name"), description=label("commands.preset.list.description")
    )
    async def list(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.followup.send(view=await self._page(interaction, 0), ephemeral=True)

    @app_commands.command(
        name=label("commands.preset.bind.name"), description=label("commands.preset.bind.description")
    )
    @app_commands.rename(preset=label("commands.preset.bind.options.preset.name"))
    @app_commands.describe(preset=label("commands.preset.bind.options.preset.description"))
    async def bind(self, interaction: discord.Interaction, preset: PresetOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._bind(interaction, await resolve(interaction, "preset", preset))

    # -- buttons -----------------------------------------------------------------------------------

    async def _bind_here(self, interaction: discord.Interaction, preset_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._bind(interaction, await self._row(interaction, preset_id))

    async def _details(self, interaction: discord.Interaction, preset_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        row = await self._row(interaction, preset_id)
        preset = await self.bot.engine.library.preset(row.id)
        text = await asyncio.to_thread(preset_details, row, preset, str(interaction.locale))
        await interaction.followup.send(file=discord.File(io.BytesIO(text), "details.md"), ephemeral=True)

    async def _turn(self, interaction: discord.Interaction, page: str) -> None:
        await interaction.response.defer()
        await interaction.edit_original_response(view=await self._page(interaction, int(page)))

    # -- inside ------------------------------------------------------------------------------------

    async def _row(self, interaction: discord.Interaction, preset_id: str) -> ResourceRow:
        """The preset of a button: ids travel through everybody's hands, so whose it is counts again."""
        return await self.bot.engine.library.get(preset_id, owner=_owner(interaction))

    async def _page(self, interaction: discord.Interaction, page: int) -> discord.ui.LayoutView:
        rows = await self.bot.engine.library.list(_owner(interaction), "preset")
        return panels.list_panel("preset", rows, page, str(interaction.locale))

    async def _bind(self, interaction: discord.Interaction, row: ResourceRow) -> None:
        """For the story that is played here; where none is, for the channel's new ones."""
        guild, channel = server(interaction), base_channel(interaction)
        binding = self.bot.bindings.of_channel(interaction.channel_id or channel)
        if binding is not None:
            await self.bot.engine.plays.select(
                binding.play_id, lambda selection: replace(selection, preset_id=row.id)
            )
            key = "preset.bound_story"
        else:
            await self.bot.bindings.choose(guild.id, channel, "preset", row.id)
            key = "preset.bound_channel" if channel == interaction.channel_id else "preset.bound_parent"
        await self.bot.engine.library.touch(row.id)
        text = t(interaction.locale, key, name=plain(row.name, 200), channel=f"<#{channel}>")
        await interaction.followup.send(text, ephemeral=True)


def _owner(interaction: discord.Interaction) -> str:
    return owner_of(interaction.guild, interaction.user.id)


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Presets(bot))
