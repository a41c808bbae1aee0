"""`/template`: all that a story uses, under a name, to be applied to other stories as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import discord
from discord import app_commands
from discord.ext import commands

from bot import forms, rights
from bot.browse import Browser, Entry, Source, Spot
from bot.client import Inglenook
from bot.excerpts import one_line, plain
from bot.handout import hand_out
from bot.i18n import label, t
from bot.own import TemplateOption, template_meant
from bot.press import Handler, PressCog, button, row
from bot.rights import check_sets_channel
from bot.sheet import DANGER, PRIMARY
from bot.stories import library_owner
from bot.templatepanel import TemplateView, missing_lines, template_line, template_panel
from bot.uploads import read_upload, refused
from bot.venues import base_channel, server
from engine.errors import InputError, PlayError, ResourceError
from engine.library import Selection, Template
from engine.library.shelf import fold
from engine.play import Playthrough
from engine.resources.envelope import MAX_TEMPLATE_BYTES
from engine.table import TOOLS

__all__ = ["Templates", "setup"]

_NAME = 120  # characters
_FILE_CODES = {"SESSION_TEMPLATE_BODY_TOO_LARGE", "SESSION_TEMPLATE_DOCUMENT_INVALID"}
_OTHER_CARD = "CHARACTER_PLAYTHROUGH_DETACH_REQUIRED"


class _Templates(Source[Template]):
    """The templates of the library here."""

    noun = "template"

    def __init__(self, cog: Templates) -> None:
        self._cog = cog

    async def things(self, interaction: discord.Interaction, spot: Spot) -> Sequence[Template]:
        templates = await self._cog.templates.list(library_owner(interaction))
        return [found for found in templates if fold(spot.search) in fold(found.name)]

    def entry(self, thing: Template, locale: str) -> Entry:
        return Entry(thing.id, template_line(thing, locale), thing.name)

    async def open(self, interaction: discord.Interaction, spot: Spot, thing_id: str) -> None:
        await self._cog.show_template(interaction, thing_id)


class Templates(
    PressCog,
    commands.GroupCog,
    group_name=label("commands.template.name"),
    group_description=label("commands.template.description"),
):
    """Templates belong to the library of the server; whoever saved one, or manages the server, changes it."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses
        self.templates = bot.engine.library.templates
        self.browser: Browser[Template] = Browser(_Templates(self))

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            **self.browser.presses(),
            "template-apply": self._apply_here,
            "template-apply-rest": self._apply_rest,
            "template-bind": self._bind_here,
            "template-edit": self._edit,
            "template-edited": self._edited,
            "template-export": self._export,
            "template-delete": self._delete,
            "template-delete-yes": self._delete_confirmed,
            "template-delete-no": self._delete_refused,
        }

    # -- commands ----------------------------------------------------------------------------------

    @app_commands.command(
        name=label("commands.template.save.name"), description=label("commands.template.save.description")
    )
    @app_commands.rename(name=label("commands.template.save.options.name.name"))
    @app_commands.describe(name=label("commands.template.save.options.name.description"))
    async def save(self, interaction: discord.Interaction, name: app_commands.Range[str, 1, _NAME]) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.here(interaction.channel_id)
        selection, left_out = await self._kept(play, str(interaction.user.id))
        made = await self.templates.create(play.owner, name, selection, str(interaction.user.id))
        note = t(interaction.locale, "template.saved")
        if left_out:
            note += "\n-# " + t(interaction.locale, "template.persona_left_out")
        await self.show_template(interaction, made.id, note)

    @app_commands.command(
        name=label("commands.template.list.name"), description=label("commands.template.list.description")
    )
    async def list(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.browser.send(interaction)

    @app_commands.command(
        name=label("commands.template.show.name"), description=label("commands.template.show.description")
    )
    @app_commands.rename(template=label("commands.template.show.options.template.name"))
    @app_commands.describe(template=label("commands.template.show.options.template.description"))
    async def show(self, interaction: discord.Interaction, template: TemplateOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.show_template(interaction, (await template_meant(interaction, template)).id)

    @app_commands.command(
        name=label("commands.template.apply.name"), description=label("commands.template.apply.description")
    )
    @app_commands.rename(template=label("commands.template.apply.options.template.name"))
    @app_commands.describe(template=label("commands.template.apply.options.template.description"))
    async def apply(self, interaction: discord.Interaction, template: TemplateOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._apply(interaction, (await template_meant(interaction, template)).id)

    @app_commands.command(
        name=label("commands.template.edit.name"), description=label("commands.template.edit.description")
    )
    @app_commands.rename(
        template=label("commands.template.edit.options.template.name"),
        name=label("commands.template.edit.options.name.name"),
        renew=label("commands.template.edit.options.renew.name"),
    )
    @app_commands.describe(
        template=label("commands.template.edit.options.template.description"),
        name=label("commands.template.edit.options.name.description"),
        renew=label("commands.template.edit.options.renew.description"),
    )
    async def edit(
        self,
        interaction: discord.Interaction,
        template: TemplateOption,
        name: app_commands.Range[str, 1, _NAME] | None = None,
        renew: bool = False,
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        found = self._checked(interaction, await template_meant(interaction, template))
        selection = None
        if renew:
            # A persona in a template is its maker's own, whoever renews it.
            selection, _ = await self._kept(
                await self.bot.stories.here(interaction.channel_id), found.created_by
            )
        elif name is None:
            raise InputError("A name or the story here is needed.", code="TEMPLATE_NOTHING_TO_CHANGE")
        await self.templates.change(found.owner, found.id, name=name, selection=selection)
        await self.show_template(interaction, found.id, t(interaction.locale, "edit.saved"))

    @app_commands.command(
        name=label("commands.template.import.name"), description=label("commands.template.import.description")
    )
    @app_commands.rename(
        file=label("commands.template.import.options.file.name"),
        name=label("commands.template.import.options.name.name"),
    )
    @app_commands.describe(
        file=label("commands.template.import.options.file.description"),
        name=label("commands.template.import.options.name.description"),
    )
    async def import_(
        self,
        interaction: discord.Interaction,
        file: discord.Attachment,
        name: app_commands.Range[str, 1, _NAME] | None = None,
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        upload = await read_upload(file, MAX_TEMPLATE_BYTES)
        user = str(interaction.user.id)
        try:
            made = await self.templates.import_(library_owner(interaction), upload.body, user, name=name)
        except ResourceError as error:
            if error.error_code not in _FILE_CODES:
                raise
            raise await refused(error, upload, "template", interaction.locale) from error
        await self.show_template(interaction, made.id, t(interaction.locale, "template.imported"))

    @app_commands.command(
        name=label("commands.template.export.name"), description=label("commands.template.export.description")
    )
    @app_commands.rename(template=label("commands.template.export.options.template.name"))
    @app_commands.describe(template=label("commands.template.export.options.template.description"))
    async def export(self, interaction: discord.Interaction, template: TemplateOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._hand_out(interaction, await template_meant(interaction, template))

    @app_commands.command(
        name=label("commands.template.delete.name"), description=label("commands.template.delete.description")
    )
    @app_commands.rename(template=label("commands.template.delete.options.template.name"))
    @app_commands.describe(template=label("commands.template.delete.options.template.description"))
    async def delete(self, interaction: discord.Interaction, template: TemplateOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._ask_delete(interaction, await template_meant(interaction, template))

    @app_commands.command(
        name=label("commands.template.bind.name"), description=label("commands.template.bind.description")
    )
    @app_commands.rename(template=label("commands.template.bind.options.template.name"))
    @app_commands.describe(template=label("commands.template.bind.options.template.description"))
    async def bind(self, interaction: discord.Interaction, template: TemplateOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._bind(interaction, await template_meant(interaction, template))

    @app_commands.command(
        name=label("commands.template.unbind.name"), description=label("commands.template.unbind.description")
    )
    async def unbind(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        guild, channel = server(interaction), base_channel(interaction)
        check_sets_channel(interaction)
        bound = (await self.bot.bindings.defaults(guild.id, channel)).template_id is not None
        await self.bot.bindings.choose(guild.id, channel, "template", None)
        key = "template.unbound" if bound else "template.not_bound"
        await interaction.followup.send(t(interaction.locale, key, channel=f"<#{channel}>"), ephemeral=True)

    # -- buttons -----------------------------------------------------------------------------------

    async def _apply_here(self, interaction: discord.Interaction, template_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._apply(interaction, template_id)

    async def _apply_rest(self, interaction: discord.Interaction, template_id: str) -> None:
        """Everything but the character, which was said to be another one's."""
        await interaction.response.defer()
        play = await self.bot.stories.led_here(interaction)
        template = await self.templates.usable(play.owner, template_id)
        await self._use(interaction, play, template_id, replace(template, card_id=None), replacing=True)

    async def _bind_here(self, interaction: discord.Interaction, template_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._bind(interaction, await self._of(interaction, template_id))

    async def _edit(self, interaction: discord.Interaction, template_id: str) -> None:
        found = self._checked(interaction, await self._of(interaction, template_id))
        locale = interaction.locale
        field = forms.TextField(
            "name", t(locale, "template.form_name"), found.name, required=True, most=_NAME
        )
        title = t(locale, "template.form_title", name=one_line(found.name, 30))
        await forms.ask(interaction, forms.form("template-edited", found.id, title=title, fields=[field]))

    async def _edited(self, interaction: discord.Interaction, template_id: str) -> None:
        await interaction.response.defer()
        found = self._checked(interaction, await self._of(interaction, template_id))
        await self.templates.change(found.owner, found.id, name=forms.entered(interaction)["name"])
        view = await self._panel(interaction, found.id, t(interaction.locale, "edit.saved"))
        await interaction.edit_original_response(view=view)

    async def _export(self, interaction: discord.Interaction, template_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._hand_out(interaction, await self._of(interaction, template_id))

    async def _delete(self, interaction: discord.Interaction, template_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._ask_delete(interaction, await self._of(interaction, template_id))

    async def _delete_confirmed(self, interaction: discord.Interaction, template_id: str) -> None:
        await interaction.response.defer()
        found = self._checked(interaction, await self._of(interaction, template_id))
        await self.templates.delete(found.owner, found.id)
        await self._answered(interaction, "template.deleted", found)

    async def _delete_refused(self, interaction: discord.Interaction, template_id: str) -> None:
        await interaction.response.defer()
        await self._answered(interaction, "template.kept", await self._of(interaction, template_id))

    # -- inside ------------------------------------------------------------------------------------

    async def show_template(self, interaction: discord.Interaction, template_id: str, note: str = "") -> None:
        """The panel as a new message."""
        view = await self._panel(interaction, template_id, note)
        await interaction.followup.send(view=view, ephemeral=True)

    async def _panel(
        self, interaction: discord.Interaction, template_id: str, note: str
    ) -> discord.ui.LayoutView:
        preview = await self.templates.preview(library_owner(interaction), template_id)
        view = TemplateView(
            has_story=self.bot.bindings.of_channel(interaction.channel_id or 0) is not None,
            can_play=interaction.guild is not None,
            can_change=_may_change(interaction, preview.template),
            note=note,
        )
        return template_panel(preview, view, str(interaction.locale))

    async def _of(self, interaction: discord.Interaction, template_id: str) -> Template:
        """The template of a button: ids travel through everybody's hands, so whose it is counts again."""
        return await self.templates.get(library_owner(interaction), template_id)

    @staticmethod
    def _checked(interaction: discord.Interaction, template: Template) -> Template:
        if not _may_change(interaction, template):
            raise InputError("Only whoever saved it may do that.", code="IMPORTER_ONLY")
        return template

    async def _kept(self, play: Playthrough, user_id: str) -> tuple[Selection, bool]:
        """What the story uses, and whether a persona of somebody else was left out of it."""
        selection = await self.bot.engine.plays.selection(play.id)
        # A tool that a later version took away means nothing to whoever reads the template.
        selection = replace(selection, tools=tuple(tool for tool in selection.tools if tool in TOOLS))
        if selection.persona_id is None:
            return selection, False
        stored = await self.bot.engine.library.personas.find(selection.persona_id)
        if stored is not None and stored.user_id == user_id:
            return selection, False
        return replace(selection, persona_id=None), True

    async def _apply(self, interaction: discord.Interaction, template_id: str) -> None:
        play = await self.bot.stories.led_here(interaction)
        preview = await self.templates.preview(play.owner, template_id)
        locale = str(interaction.locale)
        name = plain(preview.template.name, _NAME)
        if preview.missing:
            lines = [t(locale, "template.cannot", name=name), *missing_lines(preview, locale)]
            await interaction.followup.send("\n".join(lines)[:2000], ephemeral=True)
            return
        try:
            template = await self.templates.usable(play.owner, template_id)
            await self._use(interaction, play, template_id, template)
        except PlayError as error:
            if error.error_code != _OTHER_CARD:
                raise
            card_id = preview.template.selection.card_id or ""
            text = t(
                locale, "template.other_card", name=name, card=plain(preview.names.get(card_id, "?"), 80)
            )
            rest = button(
                "template-apply-rest", template_id, label=t(locale, "button.rest_of_it"), style=PRIMARY
            )
            await interaction.followup.send(text, view=row(rest), ephemeral=True)

    async def _use(
        self,
        interaction: discord.Interaction,
        play: Playthrough,
        template_id: str,
        template: Selection,
        *,
        replacing: bool = False,
    ) -> None:
        await self.bot.engine.plays.apply_template(play.id, template)
        if not await self.bot.engine.plays.begun(play.id):
            await self.bot.stage.show_greeting(play.id)
        name = (await self.templates.get(play.owner, template_id)).name
        text = t(interaction.locale, "template.applied", name=plain(name, _NAME))
        if replacing:
            await interaction.edit_original_response(content=text, view=None)
        else:
            await interaction.followup.send(text, ephemeral=True)

    async def _bind(self, interaction: discord.Interaction, template: Template) -> None:
        """New stories start with it; a card and a preset that were chosen before make way for its own."""
        guild, channel = server(interaction), base_channel(interaction)
        check_sets_channel(interaction)
        bindings, chosen = self.bot.bindings, template.selection
        await bindings.choose(guild.id, channel, "template", template.id)
        if chosen.card_id is not None:
            await bindings.choose(guild.id, channel, "card", None)
        if chosen.preset_id is not None:
            await bindings.choose(guild.id, channel, "preset", None)
        key = "template.bound" if channel == interaction.channel_id else "template.bound_parent"
        lines = [t(interaction.locale, key, name=plain(template.name, _NAME), channel=f"<#{channel}>")]
        preview = await self.templates.preview(template.owner, template.id)
        if preview.missing:
            lines.append(t(interaction.locale, "template.missing", n=len(preview.missing)))
            lines += missing_lines(preview, str(interaction.locale))
        await interaction.followup.send("\n".join(lines)[:2000], ephemeral=True)

    async def _hand_out(self, interaction: discord.Interaction, template: Template) -> None:
        file = await self.templates.export(template.owner, template.id)
        await hand_out(interaction, file.body, file.filename)

    async def _ask_delete(self, interaction: discord.Interaction, template: Template) -> None:
        found = self._checked(interaction, template)
        locale = interaction.locale
        view = row(
            button("template-delete-yes", found.id, label=t(locale, "button.delete"), style=DANGER),
            button("template-delete-no", found.id, label=t(locale, "button.keep")),
        )
        text = t(locale, "template.delete_confirm", name=plain(found.name, _NAME))
        await interaction.followup.send(text, view=view, ephemeral=True)

    async def _answered(self, interaction: discord.Interaction, key: str, template: Template) -> None:
        text = t(interaction.locale, key, name=plain(template.name, _NAME))
        await interaction.edit_original_response(content=text, view=None)


def _may_change(interaction: discord.Interaction, template: Template) -> bool:
    return str(interaction.user.id) == template.created_by or rights.manages(interaction)


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Templates(bot))
