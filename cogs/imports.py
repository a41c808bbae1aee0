"""The offer under a posted file, and what its button does."""

from __future__ import annotations

from collections.abc import Mapping

import discord
from discord.ext import commands

from bot import rights
from bot.client import Inglenook
from bot.excerpts import plain
from bot.i18n import t
from bot.offers import OFFER, SWITCH, offers_panel
from bot.press import Handler, PressCog
from bot.shelfcog import ShelfCog
from bot.stories import owner_of
from bot.uploads import refusal
from bot.venues import server
from engine.errors import InputError, ResourceError
from engine.library import ResourceRow

__all__ = ["Imports", "setup"]


class Imports(PressCog):
    """Looks at posted files where a server wants that, and imports what somebody presses for."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses

    def presses_served(self) -> Mapping[str, Handler]:
        return {OFFER: self._taken, SWITCH: self._switched}

    @commands.Cog.listener()
    async def on_message(self, message: discord.Message) -> None:
        if not self.bot.closing:
            await self.bot.offers.consider(message)

    async def _taken(self, interaction: discord.Interaction, message_id: str, attachment_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        upload = await self.bot.offers.take(await _posted(interaction, int(message_id)), attachment_id)
        owner, by = owner_of(interaction.guild, interaction.user.id), str(interaction.user.id)
        try:
            found = await self.bot.engine.library.import_file(owner, upload.body, upload.filename, by)
        except ResourceError as error:
            raise refusal(error, upload.filename, "card", interaction.locale) from error
        await self._show(interaction, found)

    async def _show(self, interaction: discord.Interaction, found: ResourceRow) -> None:
        for cog in self.bot.cogs.values():
            if isinstance(cog, ShelfCog) and cog.kind == found.kind:
                await cog.show_row(interaction, found, arrived=True)
                return
        text = t(interaction.locale, "card.imported", name=plain(found.name, 200))
        await interaction.followup.send(text, ephemeral=True)

    async def _switched(self, interaction: discord.Interaction, on: str) -> None:
        await interaction.response.defer()
        rights.check_manages(interaction)
        guild = server(interaction)
        await self.bot.offers.switch(guild.id, on == "1")
        wanted = await self.bot.offers.wanted(guild.id)
        await interaction.edit_original_response(view=offers_panel(wanted, str(interaction.locale)))


async def _posted(interaction: discord.Interaction, message_id: int) -> discord.Message:
    """The message with the file, with fresh addresses: those of attachments expire within a day."""
    channel = interaction.channel
    if not isinstance(channel, discord.abc.Messageable):
        raise InputError("The message is not there any more.", code="OFFER_GONE")
    try:
        return await channel.fetch_message(message_id)
    except (discord.NotFound, discord.Forbidden):
        raise InputError("The message is not there any more.", code="OFFER_GONE") from None


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Imports(bot))
