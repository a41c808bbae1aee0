"""The menus on messages of a story: Rewind, Regenerate, Show prompt. Discord takes five of one program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import discord
from discord import app_commands

from bot import failures, rows
from bot.client import Inglenook
from bot.i18n import label, t
from bot.moves import Target
from bot.press import Handler, PressCog
from bot.sentdesk import SentDesk
from bot.tablerules import TableRules

__all__ = ["Menus", "setup"]


class Menus(PressCog):
    """The first two ask once when words of others would be set aside, and at no other time."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses
        engine = bot.engine
        rules = TableRules(engine.store, engine.clock)
        self.prompts = SentDesk(engine, engine.store, bot.stories, bot.moves, bot.outbox, rules)
        self._menus: list[app_commands.ContextMenu] = [
            app_commands.ContextMenu(name=label("commands.menu.rewind"), callback=self.rewind),
            app_commands.ContextMenu(name=label("commands.menu.regenerate"), callback=self.regenerate),
            app_commands.ContextMenu(name=label("commands.menu.prompt"), callback=self.prompt),
        ]
        for menu in self._menus:
            menu.guild_only = True

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            **self.prompts.presses(),
            "rewind-yes": self._rewind_confirmed,
            "regenerate-yes": self._regenerate_confirmed,
        }

    async def cog_load(self) -> None:
        await super().cog_load()
        for menu in self._menus:
            self.bot.tree.add_command(menu)

    async def cog_unload(self) -> None:
        await super().cog_unload()
        for menu in self._menus:
            self.bot.tree.remove_command(menu.name, type=menu.type)

    async def rewind(self, interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        target = await self.bot.moves.target(message.channel.id, message.id)
        if not await self._asked(interaction, target, "rewind-yes"):
            await self.bot.moves.rewind(target, interaction.user.display_name)
            await failures.dismiss(interaction)

    async def regenerate(self, interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        target = await self.bot.moves.target(message.channel.id, message.id)
        self.bot.moves.check_answer(target)
        if not await self._asked(interaction, target, "regenerate-yes"):
            await self.bot.moves.regenerate(target, interaction.user.display_name)
            await failures.dismiss(interaction)

    async def prompt(self, interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.prompts.of_message(interaction, message)

    async def _asked(self, interaction: discord.Interaction, target: Target, op: str) -> bool:
        """Ask once if others' words are concerned. True when the question was asked."""
        exchanges, words = await self.bot.moves.concerns_others(target, interaction.user.id)
        if not words:
            return False
        speakers = {word.author_id: word.persona_name or word.author_name for word in words}
        names = ", ".join(dict.fromkeys(speakers.values()))
        await interaction.followup.send(
            t(interaction.locale, "rewind.confirm", n=exchanges, names=names),
            view=rows.confirm_row(op, (target.play_id, target.node_id or ""), str(interaction.locale)),
            ephemeral=True,
        )
        return True

    async def _rewind_confirmed(self, interaction: discord.Interaction, play: str, node: str) -> None:
        await interaction.response.defer()
        await self.bot.moves.rewind(Target(play, node or None), interaction.user.display_name)
        await failures.dismiss(interaction)

    async def _regenerate_confirmed(self, interaction: discord.Interaction, play: str, node: str) -> None:
        await interaction.response.defer()
        await self.bot.moves.regenerate(Target(play, node or None), interaction.user.display_name)
        await failures.dismiss(interaction)


async def setup(bot: Any) -> None:
    await bot.add_cog(Menus(bot))
