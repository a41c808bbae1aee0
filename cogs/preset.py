"""`/preset`: how the model is instructed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import discord
from discord import app_commands
from discord.ext import commands

from bot import forms
from bot.along import Along
from bot.browse import Spot
from bot.choices import PresetOption
from bot.client import Inglenook
from bot.details import preset_details
from bot.excerpts import plain
from bot.i18n import label, t
from bot.presetpanel import (
    PresetView,
    escaped,
    preset_edit_panel,
    preset_line,
    preset_panel,
    unescaped,
)
from bot.press import Handler, chosen
from bot.promptdesk import PromptDesk, whole_number
from bot.rights import check_sets_channel
from bot.shelfcog import SORTS, Panel, ShelfCog
from bot.stories import check_owner
from bot.strategy.outlook import with_refusal
from bot.venues import base_channel, server
from engine.errors import InputError
from engine.library import ResourceRow
from engine.resources import edit_preset

__all__ = ["Presets", "setup"]

_EFFORTS = ("low", "medium", "high", "xhigh")
_UNSET = "unset"


class Presets(
    ShelfCog,
    commands.GroupCog,
    group_name=label("commands.preset.name"),
    group_description=label("commands.preset.description"),
):
    """The verbs of `ux` 5; and the buttons under the panels, which outlive a restart."""

    kind = "preset"
    noun = "preset"

    def __init__(self, bot: Inglenook) -> None:
        super().__init__(bot)
        self._prompts = PromptDesk(self)
        self._along = Along(self.library, "preset", "preset-edit", self._owner_of_books)

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            **super().presses_served(),
            **self._prompts.presses(),
            **self._along.browser.presses(),
            "preset-field": self._field,
            "preset-set": self._parameters_entered,
        }

    # -- commands ----------------------------------------------------------------------------------

    @app_commands.command(
        name=label("commands.preset.import.name"), description=label("commands.preset.import.description")
    )
    @app_commands.rename(
        file=label("commands.preset.import.options.file.name"),
        url=label("commands.card.import.options.url.name"),
    )
    @app_commands.describe(
        file=label("commands.preset.import.options.file.description"),
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
        name=label("commands.preset.create.name"), description=label("commands.preset.create.description")
    )
    @app_commands.rename(name=label("commands.preset.create.options.name.name"))
    @app_commands.describe(name=label("commands.preset.create.options.name.description"))
    async def create(self, interaction: discord.Interaction, name: app_commands.Range[str, 1, 200]) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.make(interaction, name)

    @app_commands.command(
        name=label("commands.preset.list.name"), description=label("commands.preset.list.description")
    )
    @app_commands.rename(
        search=label("commands.card.list.options.search.name"),
        sort=label("commands.card.list.options.sort.name"),
    )
    @app_commands.describe(
        search=label("commands.card.list.options.search.description"),
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
        name=label("commands.preset.show.name"), description=label("commands.preset.show.description")
    )
    @app_commands.rename(preset=label("commands.preset.bind.options.preset.name"))
    @app_commands.describe(preset=label("commands.preset.bind.options.preset.description"))
    async def show(self, interaction: discord.Interaction, preset: PresetOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.show_row(interaction, await self.named(interaction, preset))

    @app_commands.command(
        name=label("commands.preset.bind.name"), description=label("commands.preset.bind.description")
    )
    @app_commands.rename(preset=label("commands.preset.bind.options.preset.name"))
    @app_commands.describe(preset=label("commands.preset.bind.options.preset.description"))
    async def bind(self, interaction: discord.Interaction, preset: PresetOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.bind_row(interaction, await self.named(interaction, preset))

    @app_commands.command(
        name=label("commands.preset.unbind.name"), description=label("commands.preset.unbind.description")
    )
    async def unbind(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._use(interaction, None)

    @app_commands.command(
        name=label("commands.preset.edit.name"), description=label("commands.preset.edit.description")
    )
    @app_commands.rename(preset=label("commands.preset.bind.options.preset.name"))
    @app_commands.describe(preset=label("commands.preset.bind.options.preset.description"))
    async def edit(self, interaction: discord.Interaction, preset: PresetOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.open_edit(interaction, preset)

    @app_commands.command(
        name=label("commands.preset.export.name"), description=label("commands.preset.export.description")
    )
    @app_commands.rename(preset=label("commands.preset.bind.options.preset.name"))
    @app_commands.describe(preset=label("commands.preset.bind.options.preset.description"))
    async def export_(self, interaction: discord.Interaction, preset: PresetOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.export(interaction, await self.named(interaction, preset), None)

    @app_commands.command(
        name=label("commands.preset.delete.name"), description=label("commands.preset.delete.description")
    )
    @app_commands.rename(preset=label("commands.preset.bind.options.preset.name"))
    @app_commands.describe(preset=label("commands.preset.bind.options.preset.description"))
    async def delete(self, interaction: discord.Interaction, preset: PresetOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.ask_delete(interaction, await self.named(interaction, preset))

    # -- how a preset looks ------------------------------------------------------------------------

    async def panel(self, interaction: discord.Interaction, found: ResourceRow, *, arrived: bool) -> Panel:
        return preset_panel(await self._view(found), self.reader(interaction, found), arrived=arrived), []

    async def edit_panel(self, interaction: discord.Interaction, found: ResourceRow, note: str = "") -> Panel:
        return preset_edit_panel(await self._view(found), self.reader(interaction, found), note), []

    async def details(self, found: ResourceRow, locale: str) -> bytes:
        preset = await self.library.preset(found.id)
        return await asyncio.to_thread(preset_details, found, preset, locale)

    def entry_text(self, found: ResourceRow, locale: str) -> str:
        return preset_line(found, locale)

    async def _view(self, found: ResourceRow) -> PresetView:
        return PresetView(
            row=found,
            preset=await self.library.preset(found.id),
            scripts=int(found.summary.get("scripts", 0)),
            scripts_allowed=await self.library.consents.given(found.owner, found.id),
            books=len(await self.library.relations.books("preset", found.id)),
        )

    # -- where it is used --------------------------------------------------------------------------

    async def bind_row(self, interaction: discord.Interaction, found: ResourceRow) -> None:
        await self._use(interaction, found)
        await self.library.touch(found.id)

    async def _use(self, interaction: discord.Interaction, found: ResourceRow | None) -> None:
        """For the story that is played here; where none is, for the channel's new ones."""
        guild, channel = server(interaction), base_channel(interaction)
        binding = self.bot.bindings.of_channel(interaction.channel_id or channel)
        preset_id = found.id if found is not None else None
        if binding is not None:
            check_owner(interaction, await self.bot.engine.plays.get(binding.play_id))
            await self.bot.engine.plays.select(
                binding.play_id, lambda selection: replace(selection, preset_id=preset_id)
            )
            key = "bound_story"
        else:
            check_sets_channel(interaction)
            await self.bot.bindings.choose(guild.id, channel, "preset", preset_id)
            key = "bound_channel" if channel == interaction.channel_id else "bound_parent"
        name = plain(found.name, 200) if found is not None else ""
        key = f"preset.{key}" if found is not None else f"preset.un{key}"
        text = t(interaction.locale, key, name=name, channel=f"<#{channel}>")
        if binding is not None:
            text = await with_refusal(text, self.bot.engine, binding.play_id, str(interaction.locale))
        await interaction.followup.send(text, ephemeral=True)

    # -- editing: parameters -----------------------------------------------------------------------

    async def _field(self, interaction: discord.Interaction, preset_id: str) -> None:
        found = await self.editable(interaction, preset_id)
        (field,) = chosen(interaction)
        if field == "parameters":
            await self._ask_parameters(interaction, found)
            return
        await interaction.response.defer()
        browser = self._prompts.browser if field == "prompts" else self._along.browser
        await browser.show(interaction, Spot(found.id))

    async def _ask_parameters(self, interaction: discord.Interaction, found: ResourceRow) -> None:
        preset, locale = await self.library.preset(found.id), interaction.locale
        effort = preset.reasoning_effort or _UNSET
        efforts = (_UNSET, *_EFFORTS) if effort in (_UNSET, *_EFFORTS) else (_UNSET, effort, *_EFFORTS)
        stops = "\n".join(escaped(stop) for stop in preset.stop or ())
        fields: list[forms.FormField] = [
            forms.TextField("name", t(locale, "preset.edit.name"), found.name, required=True, most=200),
            forms.TextField(
                "temperature",
                t(locale, "preset.edit.temperature"),
                _number(preset.temperature),
                most=20,
                hint=t(locale, "preset.edit.temperature_hint"),
            ),
            forms.TextField(
                "max_tokens",
                t(locale, "preset.edit.max_tokens"),
                _number(preset.max_tokens),
                most=20,
                hint=t(locale, "preset.edit.max_tokens_hint"),
            ),
            forms.ChoiceField(
                "reasoning_effort",
                t(locale, "preset.edit.effort"),
                [
                    (t(locale, "preset.edit.unset") if each == _UNSET else each, each, each == effort)
                    for each in efforts
                ],
            ),
        ]
        if len(stops) <= forms.LONGEST:
            hint = t(locale, "preset.edit.stop_hint")
            fields.append(forms.TextField("stop", t(locale, "preset.edit.stop"), stops, long=True, hint=hint))
        title = t(locale, "preset.edit.parameters")
        await forms.ask(
            interaction, forms.form("preset-set", found.id, found.revision, title=title, fields=fields)
        )

    async def _parameters_entered(
        self, interaction: discord.Interaction, preset_id: str, revision: str
    ) -> None:
        await interaction.response.defer()
        found = await self.editable(interaction, preset_id, revision)
        preset, entered = await self.library.preset(found.id), forms.entered(interaction)
        effort = (forms.picked(interaction, "reasoning_effort") or (_UNSET,))[0]
        wanted: dict[str, object] = {
            "temperature": _float(entered["temperature"]),
            "max_tokens": whole_number(entered["max_tokens"], "max_tokens", interaction.locale),
            "reasoning_effort": None if effort == _UNSET else effort,
        }
        if "stop" in entered:
            wanted["stop"] = [unescaped(line) for line in entered["stop"].split("\n") if line]
        before = {key: getattr(preset, key) for key in wanted} | {"stop": list(preset.stop or ())}
        patch = {key: value for key, value in wanted.items() if value != before[key]}
        name, renamed = " ".join(entered["name"].split()), False
        if patch:
            found = await self.library.edit(
                found.id, lambda raw: edit_preset(raw, patch), expected_revision=found.revision
            )
        if name != found.name:
            found, renamed = await self.library.rename(found.id, name), True
        note = t(interaction.locale, "edit.saved" if patch or renamed else "edit.unchanged")
        await self.edited(interaction, found, note)

    async def _owner_of_books(self, interaction: discord.Interaction, preset_id: str) -> str:
        return (await self.editable(interaction, preset_id)).owner


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _float(text: str) -> float | None:
    """A number as people type it, with a point or a comma; None for nothing."""
    if not text.strip():
        return None
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        raise InputError("This is no temperature.", code="TEMPERATURE_INVALID")
    return value


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Presets(bot))
