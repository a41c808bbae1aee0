"""`/card`: the characters of a server's library."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping

import discord
from discord import app_commands
from discord.ext import commands

from bot import panels
from bot.choices import CardOption, resolve
from bot.client import Inglenook
from bot.details import card_details, card_tokens
from bot.excerpts import plain
from bot.i18n import label, t
from bot.press import Handler, PressCog
from bot.stories import owner_of
from bot.uploads import read_upload, refusal
from bot.venues import base_channel, server, story_parent
from engine.errors import InputError, ResourceError
from engine.library import ResourceRow

__all__ = ["Cards", "setup"]


class Cards(
    PressCog,
    commands.GroupCog,
    group_name=label("commands.card.name"),
    group_description=label("commands.card.description"),
):
    """Bring in, list, show, bind, delete; and the buttons under the panels, which outlive a restart."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            "play-card": self._play,
            "bind-card": self._bind_here,
            "card-details": self._details,
            "card-page": self._turn,
            "delete-yes": self._delete_confirmed,
            "delete-no": self._delete_refused,
        }

    # -- commands ----------------------------------------------------------------------------------

    @app_commands.command(
        name=label("commands.card.import.name"), description=label("commands.card.import.description")
    )
    @app_commands.rename(file=label("commands.card.import.options.file.name"))
    @app_commands.describe(file=label("commands.card.import.options.file.description"))
    async def import_(self, interaction: discord.Interaction, file: discord.Attachment) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        upload = await read_upload(file, self.bot.settings.limits.card_bytes)
        try:
            row = await self.bot.engine.library.import_card(
                _owner(interaction), upload.body, upload.filename, str(interaction.user.id)
            )
        except ResourceError as error:
            raise refusal(error, upload.filename, "card") from error
        await self._show(interaction, row, arrived=True)

    @app_commands.command(
        name=label("commands.card.list.name"), description=label("commands.card.list.description")
    )
    async def list(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.followup.send(view=await self._page(interaction, 0), ephemeral=True)

    @app_commands.command(
        name=label("commands.card.show.name"), description=label("commands.card.show.description")
    )
    @app_commands.rename(card=label("commands.card.show.options.card.name"))
    @app_commands.describe(card=label("commands.card.show.options.card.description"))
    async def show(self, interaction: discord.Interaction, card: CardOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._show(interaction, await resolve(interaction, "card", card), arrived=False)

    @app_commands.command(
        name=label("commands.card.bind.name"), description=label("commands.card.bind.description")
    )
    @app_commands.rename(card=label("commands.card.bind.options.card.name"))
    @app_commands.describe(card=label("commands.card.bind.options.card.description"))
    async def bind(self, interaction: discord.Interaction, card: CardOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._bind(interaction, await resolve(interaction, "card", card))

    @app_commands.command(
        name=label("commands.card.delete.name"), description=label("commands.card.delete.description")
    )
    @app_commands.rename(card=label("commands.card.delete.options.card.name"))
    @app_commands.describe(card=label("commands.card.delete.options.card.description"))
    async def delete(self, interaction: discord.Interaction, card: CardOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        row = await resolve(interaction, "card", card)
        _check_may_delete(interaction, row)
        await interaction.followup.send(
            t(interaction.locale, "card.delete_confirm", name=plain(row.name, 200)),
            view=panels.delete_row(row, str(interaction.locale)),
            ephemeral=True,
        )

    # -- buttons -----------------------------------------------------------------------------------

    async def _play(self, interaction: discord.Interaction, card_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        parent = story_parent(interaction)
        row = await self._row(interaction, card_id)
        opened = await self.bot.stories.open(
            parent, row, user_id=interaction.user.id, user_name=interaction.user.display_name
        )
        text = t(interaction.locale, "play.opened", thread=opened.thread.mention)
        await interaction.followup.send(text, ephemeral=True)

    async def _bind_here(self, interaction: discord.Interaction, card_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._bind(interaction, await self._row(interaction, card_id))

    async def _details(self, interaction: discord.Interaction, card_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        row = await self._row(interaction, card_id)
        card = await self.bot.engine.library.card(row.id)
        text = await asyncio.to_thread(card_details, row, card, str(interaction.locale))
        await interaction.followup.send(file=discord.File(io.BytesIO(text), "details.md"), ephemeral=True)

    async def _turn(self, interaction: discord.Interaction, page: str) -> None:
        await interaction.response.defer()
        await interaction.edit_original_response(view=await self._page(interaction, int(page)))

    async def _delete_confirmed(self, interaction: discord.Interaction, card_id: str) -> None:
        await interaction.response.defer()
        row = await self._row(interaction, card_id)
        _check_may_delete(interaction, row)
        # A table in the middle of its story keeps its character.
        await self.bot.engine.library.delete(row.id, release=False)
        await self._answered(interaction, "card.deleted", row)

    async def _delete_refused(self, interaction: discord.Interaction, card_id: str) -> None:
        await interaction.response.defer()
        await self._answered(interaction, "card.kept", await self._row(interaction, card_id))

    # -- inside ------------------------------------------------------------------------------------

    async def _row(self, interaction: discord.Interaction, card_id: str) -> ResourceRow:
        """The card of a button: ids travel through everybody's hands, so whose it is counts again."""
        return await self.bot.engine.library.get(card_id, owner=_owner(interaction))

    async def _show(self, interaction: discord.Interaction, row: ResourceRow, *, arrived: bool) -> None:
        library = self.bot.engine.library
        card, avatar = await library.card(row.id), await library.avatar(row.id)
        name = await self.bot.engine.persona_name(interaction.user.id, interaction.user.display_name)
        reader = panels.Reader(str(interaction.locale), name, interaction.guild is not None)
        tokens = None if arrived else await asyncio.to_thread(card_tokens, card)
        files = []
        if avatar is not None:
            ending = (row.avatar_type or "image/png").rpartition("/")[2]
            files.append(discord.File(io.BytesIO(avatar), f"{panels.PORTRAIT}.{ending}"))
        picture = files[0].filename if files else None
        view = panels.card_panel(row, card, reader, picture=picture, tokens=tokens)
        await interaction.followup.send(view=view, files=files, ephemeral=True)

    async def _page(self, interaction: discord.Interaction, page: int) -> discord.ui.LayoutView:
        rows = await self.bot.engine.library.list(_owner(interaction), "card")
        return panels.list_panel("card", rows, page, str(interaction.locale))

    async def _bind(self, interaction: discord.Interaction, row: ResourceRow) -> None:
        channel = base_channel(interaction)
        await self.bot.bindings.choose(server(interaction).id, channel, "card", row.id)
        key = "card.bound" if channel == interaction.channel_id else "card.bound_parent"
        text = t(interaction.locale, key, name=plain(row.name, 200), channel=f"<#{channel}>")
        await interaction.followup.send(text, ephemeral=True)

    async def _answered(self, interaction: discord.Interaction, key: str, row: ResourceRow) -> None:
        text = t(interaction.locale, key, name=plain(row.name, 200))
        await interaction.edit_original_response(content=text, view=None)


def _owner(interaction: discord.Interaction) -> str:
    return owner_of(interaction.guild, interaction.user.id)


def _check_may_delete(interaction: discord.Interaction, row: ResourceRow) -> None:
    """Whoever brought it in, or who may manage the server."""
    if str(interaction.user.id) != row.created_by and not interaction.permissions.manage_guild:
        raise InputError("Only whoever brought it in may do that.", code="IMPORTER_ONLY")


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Cards(bot))
