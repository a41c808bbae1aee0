"""`/persona`: who a person plays, everywhere."""

from __future__ import annotations

import io

import discord
from discord import app_commands
from discord.ext import commands

from bot.client import Inglenook
from bot.excerpts import clip, plain
from bot.i18n import label, t
from engine.resources import Persona

__all__ = ["Personas", "setup"]

_NAME = 80  # what a webhook can speak under
_DESCRIPTION = 6000  # Discord's longest text option
_SHOWN = 1500  # of a description; the whole of a longer one goes along as a file


class Personas(
    commands.GroupCog,
    group_name=label("commands.persona.name"),
    group_description=label("commands.persona.description"),
):
    """Set and show. A persona belongs to a person, so it is the same in every server."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot

    @app_commands.command(
        name=label("commands.persona.set.name"), description=label("commands.persona.set.description")
    )
    @app_commands.rename(
        name=label("commands.persona.set.options.name.name"),
        description=label("commands.persona.set.options.description.name"),
    )
    @app_commands.describe(
        name=label("commands.persona.set.options.name.description"),
        description=label("commands.persona.set.options.description.description"),
    )
    async def set(
        self,
        interaction: discord.Interaction,
        name: app_commands.Range[str, 1, _NAME],
        description: app_commands.Range[str, 0, _DESCRIPTION] | None = None,
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        library, user = self.bot.engine.library, str(interaction.user.id)
        before = await library.persona_get(user)
        if description is None and before is not None and before.persona.name == " ".join(name.split()):
            description = before.persona.description  # the same one, named again, keeps what is said of it
        stored = await library.persona_set(user, name, description or "")
        await self._say(interaction, "persona.set", stored.persona)

    @app_commands.command(
        name=label("commands.persona.show.name"), description=label("commands.persona.show.description")
    )
    async def show(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        stored = await self.bot.engine.library.persona_get(str(interaction.user.id))
        if stored is not None:
            await self._say(interaction, "persona.show", stored.persona)
            return
        name = plain(interaction.user.display_name, _NAME)
        await interaction.followup.send(t(interaction.locale, "persona.show_none", name=name), ephemeral=True)

    async def _say(self, interaction: discord.Interaction, key: str, persona: Persona) -> None:
        lines = [t(interaction.locale, key, name=plain(persona.name, _NAME))]
        if persona.description:
            lines.append(clip(persona.description, _SHOWN))
        else:
            lines.append("-# " + t(interaction.locale, "persona.no_description"))
        files = []
        if len(persona.description) > _SHOWN:
            files.append(discord.File(io.BytesIO(persona.description.encode()), "persona.md"))
        await interaction.followup.send("\n".join(lines), files=files, ephemeral=True)


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Personas(bot))
