"""`/persona`: who a person plays, and whom a story calls `{{user}}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import discord
from discord import app_commands
from discord.ext import commands

from bot import forms
from bot.along import Along
from bot.browse import Browser, Entry, Source, Spot
from bot.client import Inglenook
from bot.excerpts import one_line, plain
from bot.handout import hand_out, text_file
from bot.i18n import label, t
from bot.own import NOBODY, PersonaOption, PlayedOption, persona_meant
from bot.personadesk import PersonaDesk, came_text, text_of
from bot.personapanel import (
    NAME,
    SHOWN,
    persona_form,
    persona_line,
)
from bot.press import Handler, PressCog, button, row
from bot.sheet import DANGER
from bot.stories import library_owner
from bot.uploads import read_upload, refused
from engine.errors import ResourceError
from engine.library import StoredPersona
from engine.library.shelf import fold
from engine.play import Playthrough
from engine.resources.persona_file import MAX_PERSONA_BYTES

__all__ = ["Personas", "setup"]

_DESCRIPTION = 6000  # Discord's longest text option
_FILE_CODES = {"USER_BODY_TOO_LARGE", "USER_DOCUMENT_INVALID"}


class _Own(Source[StoredPersona]):
    """A person's own personas."""

    noun = "persona"
    pictures = True

    def __init__(self, cog: Personas) -> None:
        self._cog = cog

    async def things(self, interaction: discord.Interaction, spot: Spot) -> Sequence[StoredPersona]:
        own = await self._cog.personas.list(str(interaction.user.id))
        return [found for found in own if fold(spot.search) in fold(found.persona.name)]

    def entry(self, thing: StoredPersona, locale: str) -> Entry:
        return Entry(
            id=thing.id,
            text=persona_line(thing, locale),
            label=thing.persona.name,
            about=one_line(thing.persona.description, 100),
            has_picture=thing.avatar is not None,
        )

    async def picture(self, thing: StoredPersona) -> bytes | None:
        return await self._cog.personas.avatar(thing.id)

    async def open(self, interaction: discord.Interaction, spot: Spot, thing_id: str) -> None:
        await self._cog.show_persona(interaction, await self._cog.desk.own(interaction, thing_id))


class Personas(
    PressCog,
    commands.GroupCog,
    group_name=label("commands.persona.name"),
    group_description=label("commands.persona.description"),
):
    """A persona belongs to a person, so it is the same in every server. Only they see and change it."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses
        self.personas = bot.engine.library.personas
        self.browser: Browser[StoredPersona] = Browser(_Own(self))
        self._along = Along(bot.engine.library, "persona", "persona-show", self._owner_of_books)
        self.desk = PersonaDesk(bot.engine, bot.bindings, bot.faces, bot.settings.attachments.picture_bytes)

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            **self.browser.presses(),
            **self._along.browser.presses(),
            "persona-show": self._shown,
            "persona-use": self._use,
            "persona-rest": self._rest,
            "persona-edit": self._edit,
            "persona-edited": self._edited,
            "persona-bare": self._bare,
            "persona-bind": self._bind_here,
            "persona-export": self._export,
            "persona-books": self._books,
            "persona-delete": self._delete,
            "persona-delete-yes": self._delete_confirmed,
            "persona-delete-no": self._delete_refused,
        }

    # -- commands ----------------------------------------------------------------------------------

    @app_commands.command(
        name=label("commands.persona.set.name"), description=label("commands.persona.set.description")
    )
    @app_commands.rename(
        name=label("commands.persona.set.options.name.name"),
        description=label("commands.persona.set.options.description.name"),
        picture=label("commands.persona.set.options.picture.name"),
    )
    @app_commands.describe(
        name=label("commands.persona.set.options.name.description"),
        description=label("commands.persona.set.options.description.description"),
        picture=label("commands.persona.set.options.picture.description"),
    )
    async def set(
        self,
        interaction: discord.Interaction,
        name: app_commands.Range[str, 1, NAME],
        description: app_commands.Range[str, 0, _DESCRIPTION] | None = None,
        picture: discord.Attachment | None = None,
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        user = str(interaction.user.id)
        face = await self.desk.picture(picture)
        stored = await self.personas.play(user, name, description)
        if face is not None:
            stored = await self.personas.change(
                user, stored.id, expected_revision=stored.revision, avatar=face
            )
        note = t(interaction.locale, "persona.set", name=plain(stored.persona.name, NAME))
        await self.show_persona(interaction, stored, note)

    @app_commands.command(
        name=label("commands.persona.list.name"), description=label("commands.persona.list.description")
    )
    async def list(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.browser.send(interaction)

    @app_commands.command(
        name=label("commands.persona.use.name"), description=label("commands.persona.use.description")
    )
    @app_commands.rename(persona=label("commands.persona.use.options.persona.name"))
    @app_commands.describe(persona=label("commands.persona.use.options.persona.description"))
    async def use(self, interaction: discord.Interaction, persona: PlayedOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        user = str(interaction.user.id)
        if persona.strip() == NOBODY:
            await self.personas.use(user, None)
            await self._say_nobody(interaction, "persona.used_nobody")
            return
        stored = await persona_meant(interaction, persona)
        await self.personas.use(user, stored.id)
        note = t(interaction.locale, "persona.set", name=plain(stored.persona.name, NAME))
        await self.show_persona(interaction, await self.desk.own(interaction, stored.id), note)

    @app_commands.command(
        name=label("commands.persona.show.name"), description=label("commands.persona.show.description")
    )
    @app_commands.rename(persona=label("commands.persona.show.options.persona.name"))
    @app_commands.describe(persona=label("commands.persona.show.options.persona.description"))
    async def show(self, interaction: discord.Interaction, persona: PersonaOption | None = None) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        if persona is None and await self.personas.active(str(interaction.user.id)) is None:
            await self._say_nobody(interaction, "persona.show_none")
            return
        await self.show_persona(interaction, await persona_meant(interaction, persona))

    @app_commands.command(
        name=label("commands.persona.edit.name"), description=label("commands.persona.edit.description")
    )
    @app_commands.rename(
        persona=label("commands.persona.edit.options.persona.name"),
        picture=label("commands.persona.edit.options.picture.name"),
    )
    @app_commands.describe(
        persona=label("commands.persona.edit.options.persona.description"),
        picture=label("commands.persona.edit.options.picture.description"),
    )
    async def edit(
        self,
        interaction: discord.Interaction,
        persona: PersonaOption | None = None,
        picture: discord.Attachment | None = None,
    ) -> None:
        if picture is None:
            # A form has to be the first answer, and one row of the database is quick.
            stored = await persona_meant(interaction, persona)
            await forms.ask(interaction, persona_form(stored, str(interaction.locale)))
            return
        await interaction.response.defer(ephemeral=True, thinking=True)
        stored = await persona_meant(interaction, persona)
        changed = await self.personas.change(
            stored.user_id,
            stored.id,
            expected_revision=stored.revision,
            avatar=await self.desk.picture(picture),
        )
        await self.show_persona(interaction, changed, t(interaction.locale, "edit.saved"))

    @app_commands.command(
        name=label("commands.persona.import.name"), description=label("commands.persona.import.description")
    )
    @app_commands.rename(file=label("commands.persona.import.options.file.name"))
    @app_commands.describe(file=label("commands.persona.import.options.file.description"))
    async def import_(self, interaction: discord.Interaction, file: discord.Attachment) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        upload = await read_upload(file, MAX_PERSONA_BYTES)
        try:
            came = await self.personas.import_(str(interaction.user.id), upload.body)
        except ResourceError as error:
            if error.error_code not in _FILE_CODES:
                raise
            raise await refused(error, upload, "persona", interaction.locale) from error
        note = came_text(came, str(interaction.locale))
        if len(came.personas) == 1:
            await self.show_persona(interaction, came.personas[0], note)
        else:
            await interaction.followup.send(note, ephemeral=True)

    @app_commands.command(
        name=label("commands.persona.export.name"), description=label("commands.persona.export.description")
    )
    @app_commands.rename(persona=label("commands.persona.export.options.persona.name"))
    @app_commands.describe(persona=label("commands.persona.export.options.persona.description"))
    async def export(self, interaction: discord.Interaction, persona: PersonaOption | None = None) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._hand_out(interaction, await persona_meant(interaction, persona))

    @app_commands.command(
        name=label("commands.persona.delete.name"), description=label("commands.persona.delete.description")
    )
    @app_commands.rename(persona=label("commands.persona.delete.options.persona.name"))
    @app_commands.describe(persona=label("commands.persona.delete.options.persona.description"))
    async def delete(self, interaction: discord.Interaction, persona: PersonaOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._ask_delete(interaction, await persona_meant(interaction, persona))

    @app_commands.command(
        name=label("commands.persona.bind.name"), description=label("commands.persona.bind.description")
    )
    @app_commands.rename(persona=label("commands.persona.bind.options.persona.name"))
    @app_commands.describe(persona=label("commands.persona.bind.options.persona.description"))
    async def bind(self, interaction: discord.Interaction, persona: PersonaOption | None = None) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._bind(interaction, await persona_meant(interaction, persona))

    @app_commands.command(
        name=label("commands.persona.unbind.name"), description=label("commands.persona.unbind.description")
    )
    async def unbind(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.led_here(interaction)
        bound = (await self.bot.engine.plays.selection(play.id)).persona_id is not None
        if bound:
            await self._name_user(play, None)
        key = "persona.unbound" if bound else "persona.not_bound"
        await interaction.followup.send(t(interaction.locale, key), ephemeral=True)

    # -- buttons -----------------------------------------------------------------------------------

    async def _shown(self, interaction: discord.Interaction, persona_id: str) -> None:
        await interaction.response.defer()
        await self._replace(interaction, await self.desk.own(interaction, persona_id))

    async def _use(self, interaction: discord.Interaction, persona_id: str) -> None:
        await interaction.response.defer()
        await self.personas.use(str(interaction.user.id), persona_id)
        stored = await self.desk.own(interaction, persona_id)
        note = t(interaction.locale, "persona.set", name=plain(stored.persona.name, NAME))
        await self._replace(interaction, stored, note)

    async def _rest(self, interaction: discord.Interaction, persona_id: str) -> None:
        await interaction.response.defer()
        await self.desk.own(interaction, persona_id)
        await self.personas.use(str(interaction.user.id), None)
        name = plain(interaction.user.display_name, NAME)
        note = t(interaction.locale, "persona.used_nobody", name=name)
        await self._replace(interaction, await self.desk.own(interaction, persona_id), note)

    async def _edit(self, interaction: discord.Interaction, persona_id: str) -> None:
        stored = await self.desk.own(interaction, persona_id)
        await forms.ask(interaction, persona_form(stored, str(interaction.locale)))

    async def _edited(self, interaction: discord.Interaction, persona_id: str, revision: str) -> None:
        """A form came back: from a panel's button, or from the command."""
        from_panel = interaction.message is not None
        if from_panel:
            await interaction.response.defer()
        else:
            await interaction.response.defer(ephemeral=True, thinking=True)
        entered = forms.entered(interaction)
        description = entered.get("description")
        text = forms.brought(interaction, "text")
        if text is not None:
            description = await text_of(text)
        stored = await self.personas.change(
            str(interaction.user.id),
            persona_id,
            expected_revision=int(revision),
            name=entered["name"],
            description=description,
            avatar=await self.desk.picture(forms.brought(interaction, "picture")),
        )
        note = t(interaction.locale, "edit.saved")
        await (self._replace if from_panel else self.show_persona)(interaction, stored, note)

    async def _bare(self, interaction: discord.Interaction, persona_id: str, revision: str) -> None:
        await interaction.response.defer()
        stored = await self.personas.change(
            str(interaction.user.id), persona_id, expected_revision=int(revision), drop_avatar=True
        )
        await self._replace(interaction, stored, t(interaction.locale, "edit.saved"))

    async def _bind_here(self, interaction: discord.Interaction, persona_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._bind(interaction, await self.desk.own(interaction, persona_id))

    async def _export(self, interaction: discord.Interaction, persona_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._hand_out(interaction, await self.desk.own(interaction, persona_id))

    async def _books(self, interaction: discord.Interaction, persona_id: str) -> None:
        await interaction.response.defer()
        await self._along.browser.show(interaction, Spot(persona_id))

    async def _owner_of_books(self, interaction: discord.Interaction, persona_id: str) -> str:
        """The library here, for whoever's persona it is."""
        await self.desk.own(interaction, persona_id)
        return library_owner(interaction)

    async def _delete(self, interaction: discord.Interaction, persona_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._ask_delete(interaction, await self.desk.own(interaction, persona_id))

    async def _delete_confirmed(self, interaction: discord.Interaction, persona_id: str) -> None:
        await interaction.response.defer()
        gone = await self.personas.delete(str(interaction.user.id), persona_id)
        text = t(interaction.locale, "persona.deleted", name=plain(gone.persona.name, NAME))
        await interaction.edit_original_response(content=text, view=None)

    async def _delete_refused(self, interaction: discord.Interaction, persona_id: str) -> None:
        await interaction.response.defer()
        stored = await self.desk.own(interaction, persona_id)
        text = t(interaction.locale, "persona.kept", name=plain(stored.persona.name, NAME))
        await interaction.edit_original_response(content=text, view=None)

    # -- inside ------------------------------------------------------------------------------------

    async def show_persona(
        self, interaction: discord.Interaction, stored: StoredPersona, note: str = ""
    ) -> None:
        """The panel as a new message; a long description goes along as a file."""
        view, files = await self.desk.panel(interaction, stored, note)
        await interaction.followup.send(view=view, files=files, ephemeral=True)
        if len(stored.persona.description) > SHOWN:
            whole = text_file(stored.persona.description, "persona.md")
            await interaction.followup.send(file=whole, ephemeral=True)

    async def _replace(self, interaction: discord.Interaction, stored: StoredPersona, note: str = "") -> None:
        view, files = await self.desk.panel(interaction, stored, note)
        await interaction.edit_original_response(view=view, attachments=files)

    async def _say_nobody(self, interaction: discord.Interaction, key: str) -> None:
        name = plain(interaction.user.display_name, NAME)
        await interaction.followup.send(t(interaction.locale, key, name=name), ephemeral=True)

    async def _hand_out(self, interaction: discord.Interaction, stored: StoredPersona) -> None:
        file = await self.personas.export(stored.user_id, stored.id)
        await hand_out(interaction, file.body, file.filename)

    async def _ask_delete(self, interaction: discord.Interaction, stored: StoredPersona) -> None:
        locale = interaction.locale
        view = row(
            button("persona-delete-yes", stored.id, label=t(locale, "button.delete"), style=DANGER),
            button("persona-delete-no", stored.id, label=t(locale, "button.keep")),
        )
        text = t(locale, "persona.delete_confirm", name=plain(stored.persona.name, NAME))
        await interaction.followup.send(text, view=view, ephemeral=True)

    async def _bind(self, interaction: discord.Interaction, stored: StoredPersona) -> None:
        play = await self.bot.stories.led_here(interaction)
        await self._name_user(play, stored.id)
        lines = [t(interaction.locale, "persona.bound", name=plain(stored.persona.name, NAME))]
        remark = await self.desk.remark(interaction, stored.persona.name)
        if remark is not None:
            lines.append(remark)
        await interaction.followup.send("\n".join(lines), ephemeral=True)

    async def _name_user(self, play: Playthrough, persona_id: str | None) -> None:
        plays = self.bot.engine.plays
        await plays.select(play.id, lambda selection: replace(selection, persona_id=persona_id))
        if not await plays.begun(play.id):
            await self.bot.stage.show_greeting(play.id)  # it may speak to whom {{user}} names


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Personas(bot))
