"""`/regex`: scripts that change words on their way to people or to the model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import discord
from discord import app_commands
from discord.ext import commands

from bot import forms, inuse
from bot.bookforms import try_form
from bot.choices import RegexOption
from bot.client import Inglenook
from bot.excerpts import plain
from bot.i18n import label, t
from bot.press import Handler
from bot.scriptdesk import ScriptDesk
from bot.scriptpanel import edit_list_panel, list_panel, script_line, scripts_details, try_panel
from bot.shelfcog import SORTS, Panel, ShelfCog
from engine.errors import PlayError
from engine.library import ResourceRow
from engine.macros import MacroContext
from engine.resources import RegexScript
from engine.scripts import ContextMacros
from engine.tavern import ScriptTrial, story_scripts, try_scripts

__all__ = ["Regexes", "setup"]

_TEXT = 4000  # characters: as much as a form takes
_TRIED = (2, 1)  # an answer, and a person's words


class Regexes(
    ShelfCog,
    commands.GroupCog,
    group_name=label("commands.regex.name"),
    group_description=label("commands.regex.description"),
):
    """The verbs of `ux` 5, and `test`; the scripts of presets and cards are served here too."""

    kind = "regex"
    noun = "regex"

    def __init__(self, bot: Inglenook) -> None:
        super().__init__(bot)
        self._desk = ScriptDesk(self, bot.engine.watches)

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            **super().presses_served(),
            **self._desk.presses(),
            "script-try": self._try,
            "script-tried": self._tried,
        }

    # -- commands ----------------------------------------------------------------------------------

    @app_commands.command(
        name=label("commands.regex.import.name"), description=label("commands.regex.import.description")
    )
    @app_commands.rename(
        file=label("commands.card.import.options.file.name"),
        url=label("commands.card.import.options.url.name"),
    )
    @app_commands.describe(
        file=label("commands.regex.import.options.file.description"),
        url=label("commands.card.import.options.url.description"),
    )
    async def import_(
        self,
        interaction: discord.Interaction,
        file: discord.Attachment | None = None,
        url: app_commands.Range[str, 1, 2000] | None = None,
    ) -> None:
        await self.begin_import(interaction, file, url)

    @app_commands.command(
        name=label("commands.regex.create.name"), description=label("commands.regex.create.description")
    )
    @app_commands.rename(name=label("commands.world.create.options.name.name"))
    @app_commands.describe(name=label("commands.world.create.options.name.description"))
    async def create(self, interaction: discord.Interaction, name: app_commands.Range[str, 1, 200]) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.make(interaction, name, t(interaction.locale, "regex.created"))

    @app_commands.command(
        name=label("commands.regex.list.name"), description=label("commands.regex.list.description")
    )
    @app_commands.rename(
        search=label("commands.card.list.options.search.name"),
        sort=label("commands.card.list.options.sort.name"),
    )
    @app_commands.describe(
        search=label("commands.world.list.options.search.description"),
        sort=label("commands.card.list.options.sort.description"),
    )
    @app_commands.choices(
        sort=[app_commands.Choice(name=label(f"browse.sort.{sort}"), value=sort) for sort in SORTS]
    )
    async def list(
        self,
        interaction: discord.Interaction,
        search: app_commands.Range[str, 1, 100] | None = None,
        sort: str = "name",
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.send_list(interaction, search, sort)

    @app_commands.command(
        name=label("commands.regex.show.name"), description=label("commands.regex.show.description")
    )
    @app_commands.rename(scripts=label("commands.regex.options.scripts.name"))
    @app_commands.describe(scripts=label("commands.regex.options.scripts.description"))
    async def show(self, interaction: discord.Interaction, scripts: RegexOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.show_row(interaction, await self.named(interaction, scripts))

    @app_commands.command(
        name=label("commands.regex.bind.name"), description=label("commands.regex.bind.description")
    )
    @app_commands.rename(scripts=label("commands.regex.options.scripts.name"))
    @app_commands.describe(scripts=label("commands.regex.options.scripts.description"))
    async def bind(self, interaction: discord.Interaction, scripts: RegexOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.bind_row(interaction, await self.named(interaction, scripts))

    @app_commands.command(
        name=label("commands.regex.unbind.name"), description=label("commands.regex.unbind.description")
    )
    @app_commands.rename(scripts=label("commands.regex.options.scripts.name"))
    @app_commands.describe(scripts=label("commands.regex.options.scripts.description"))
    async def unbind(self, interaction: discord.Interaction, scripts: RegexOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        text = await inuse.unbind(self.bot, interaction, "regex", scripts, self.noun)
        await interaction.followup.send(text, ephemeral=True)

    @app_commands.command(
        name=label("commands.regex.edit.name"), description=label("commands.regex.edit.description")
    )
    @app_commands.rename(scripts=label("commands.regex.options.scripts.name"))
    @app_commands.describe(scripts=label("commands.regex.options.scripts.description"))
    async def edit(self, interaction: discord.Interaction, scripts: RegexOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.open_edit(interaction, scripts)

    @app_commands.command(
        name=label("commands.regex.export.name"), description=label("commands.regex.export.description")
    )
    @app_commands.rename(scripts=label("commands.regex.options.scripts.name"))
    @app_commands.describe(scripts=label("commands.regex.options.scripts.description"))
    async def export_(self, interaction: discord.Interaction, scripts: RegexOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.export(interaction, await self.named(interaction, scripts), None)

    @app_commands.command(
        name=label("commands.regex.delete.name"), description=label("commands.regex.delete.description")
    )
    @app_commands.rename(scripts=label("commands.regex.options.scripts.name"))
    @app_commands.describe(scripts=label("commands.regex.options.scripts.description"))
    async def delete(self, interaction: discord.Interaction, scripts: RegexOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.ask_delete(interaction, await self.named(interaction, scripts))

    @app_commands.command(
        name=label("commands.regex.test.name"), description=label("commands.regex.test.description")
    )
    @app_commands.rename(
        text=label("commands.world.test.options.text.name"),
        scripts=label("commands.regex.options.scripts.name"),
    )
    @app_commands.describe(
        text=label("commands.regex.test.options.text.description"),
        scripts=label("commands.regex.test.options.scripts.description"),
    )
    async def test(
        self,
        interaction: discord.Interaction,
        text: app_commands.Range[str, 1, _TEXT],
        scripts: RegexOption | None = None,
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        found = await self.named(interaction, scripts) if scripts is not None else None
        await self._show_trial(interaction, found, text)

    # -- how a list looks --------------------------------------------------------------------------

    async def panel(self, interaction: discord.Interaction, found: ResourceRow, *, arrived: bool) -> Panel:
        view = await self._desk.view(found)
        return list_panel(view, self.reader(interaction, found), arrived=arrived), []

    async def edit_panel(self, interaction: discord.Interaction, found: ResourceRow, note: str = "") -> Panel:
        return edit_list_panel(await self._desk.view(found), str(interaction.locale), note), []

    async def details(self, found: ResourceRow, locale: str) -> bytes:
        return scripts_details(await self._desk.view(found), locale)

    def entry_text(self, found: ResourceRow, locale: str) -> str:
        return script_line(found, locale)

    async def bind_row(self, interaction: discord.Interaction, found: ResourceRow) -> None:
        text = await inuse.bind(self.bot, interaction, found, self.noun)
        await interaction.followup.send(text, ephemeral=True)

    # -- trying a text -------------------------------------------------------------------------------

    async def _try(self, interaction: discord.Interaction, *scripts: str) -> None:
        await forms.ask(interaction, try_form("script-tried", scripts, str(interaction.locale)))

    async def _tried(self, interaction: discord.Interaction, *scripts: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        found = await self.row_of(interaction, scripts[0]) if scripts else None
        await self._show_trial(interaction, found, forms.entered(interaction)["text"])

    async def _show_trial(
        self, interaction: discord.Interaction, found: ResourceRow | None, text: str
    ) -> None:
        """What the scripts of a list, or else of the story here, make of a text."""
        locale = str(interaction.locale)
        scripts: Sequence[RegexScript]
        about: Sequence[str]
        if found is not None:
            scripts = await self.library.scripts(found.id)
            about = (t(locale, "regex.tried_list", name=plain(found.name, 100)),)
        else:
            scripts, about = await self._here(interaction)
        user = await self.bot.engine.persona_name(interaction.user.id, interaction.user.display_name)
        macros = ContextMacros(MacroContext(user=user, char=await self._character(interaction)))
        trials = await asyncio.to_thread(_trials, text, tuple(scripts), macros)
        list_id = found.id if found is not None else ""
        await interaction.followup.send(view=try_panel(trials, text, about, list_id, locale), ephemeral=True)

    async def _here(self, interaction: discord.Interaction) -> tuple[Sequence[RegexScript], Sequence[str]]:
        """The scripts of the story here that may run, and which those are."""
        binding = self.bot.bindings.of_channel(interaction.channel_id or 0)
        if binding is None:
            raise PlayError("No story is being played here.", code="REGEX_TEST_WHERE")
        selection = await self.bot.engine.plays.selection(binding.play_id)
        play = await self.bot.engine.plays.get(binding.play_id)
        found = await story_scripts(self.library, selection, play.owner)
        scripts, locale = tuple(found.book), str(interaction.locale)
        about = [t(locale, "regex.tried_story", n=len(scripts))]
        if found.waiting:
            about.append(t(locale, "regex.tried_waiting"))
        return scripts, about

    async def _character(self, interaction: discord.Interaction) -> str:
        binding = self.bot.bindings.of_channel(interaction.channel_id or 0)
        if binding is None:
            return MacroContext().char
        return (await self.bot.faces.of_play(binding.play_id)).name


def _trials(
    text: str, scripts: Sequence[RegexScript], macros: ContextMacros
) -> list[tuple[int, ScriptTrial]]:
    return [(placement, try_scripts(text, scripts, placement, macros)) for placement in _TRIED]


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Regexes(bot))
