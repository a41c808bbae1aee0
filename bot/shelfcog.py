"""What `/card`, `/preset`, `/world` and `/regex` share: the verbs of `ux` 5 for one kind of resource.

A cog declares its commands and says how its kind looks (`panel`, `details`, `entry_text`, `edit_panel`,
`bind_row`, `unbind_here`); importing, listing, showing, exporting, consent to scripts and deleting are
here, with handlers that outlive a restart. Ops begin with the noun: `card-show`, `world-delete-yes`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

import discord

from bot import forms, rights
from bot.browse import Browser, Entry, Source, Spot
from bot.choices import choice_name, resolve, told_apart, twins_of
from bot.client import Inglenook
from bot.excerpts import plain
from bot.handout import hand_out
from bot.i18n import t
from bot.press import Handler, PressCog, button, row
from bot.sheet import DANGER, Layout, Reader
from bot.stories import library_owner
from bot.uploads import Noun, Upload, read_upload, refusal
from engine.errors import Conflict, InputError, ResourceError
from engine.library import Kind, ResourceRow, forms_of

__all__ = ["SORTS", "Panel", "ShelfCog", "SortName"]

Panel: TypeAlias = "tuple[Layout, list[discord.File]]"
SortName: TypeAlias = Literal["name", "updated", "used", "custom"]
SORTS: tuple[SortName, ...] = ("name", "updated", "used", "custom")


class _Rows(Source[ResourceRow]):
    """The library's resources of a kind."""

    sorts = SORTS

    def __init__(self, cog: ShelfCog) -> None:
        self._cog = cog
        self.noun = cog.noun
        self.pictures = cog.kind == "card"
        self._twins: frozenset[str] = frozenset()

    async def things(self, interaction: discord.Interaction, spot: Spot) -> Sequence[ResourceRow]:
        library, owner, kind = (
            self._cog.library,
            library_owner(interaction),
            self._cog.kind,
        )
        sort: SortName = next((each for each in SORTS if each == spot.sort), "name")
        rows = await library.list(owner, kind, sort)
        self._twins = twins_of(rows)
        if not spot.search:
            return rows
        found = {each.id for each in await library.search(owner, kind, spot.search, len(rows))}
        return [each for each in rows if each.id in found]

    def entry(self, thing: ResourceRow, locale: str) -> Entry:
        twin = thing.id in self._twins
        text = self._cog.entry_text(thing, locale)
        if twin:
            text += f"\n-# {told_apart(thing)}"
        return Entry(
            id=thing.id,
            text=text,
            label=choice_name(thing, locale, twin=twin),
            has_picture=thing.avatar is not None,
            covered=thing.nsfw,
        )

    async def picture(self, thing: ResourceRow) -> bytes | None:
        return await self._cog.library.avatar(thing.id)

    async def open(self, interaction: discord.Interaction, spot: Spot, thing_id: str) -> None:
        await self._cog.show_row(interaction, await self._cog.row_of(interaction, thing_id))

    async def reorder(self, interaction: discord.Interaction, thing_id: str, place: int) -> None:
        rights.check_manages(interaction)
        library, owner = self._cog.library, library_owner(interaction)
        ids: list[str] = [each.id for each in await library.list(owner, self._cog.kind, "custom")]
        if thing_id in ids:
            ids.remove(thing_id)
            ids.insert(place, thing_id)
        await library.set_order(owner, self._cog.kind, ids)


class ShelfCog(PressCog):
    """The verbs for one `kind`; `noun` begins the ops and the texts `<noun>.…`."""

    kind: ClassVar[Kind]
    noun: ClassVar[Noun]

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses
        self.library = bot.engine.library
        self.browser: Browser[ResourceRow] = Browser(_Rows(self))

    def presses_served(self) -> Mapping[str, Handler]:
        noun = self.noun
        return {
            **self.browser.presses(),
            f"{noun}-import": self._import_entered,
            f"{noun}-show": self._shown,
            f"{noun}-details": self._details,
            f"{noun}-export": self._export,
            f"{noun}-save": self._saved,
            f"{noun}-bind": self._bound,
            f"{noun}-edit": self._edit,
            f"{noun}-scripts": self._scripts,
            f"{noun}-delete": self._delete,
            f"{noun}-delete-yes": self._delete_confirmed,
            f"{noun}-delete-no": self._delete_refused,
        }

    # -- how this kind looks: for each cog to say ----------------------------------------------------

    async def panel(self, interaction: discord.Interaction, found: ResourceRow, *, arrived: bool) -> Panel:
        """The panel of a resource; `arrived` when it was imported just now."""
        raise NotImplementedError

    async def details(self, found: ResourceRow, locale: str) -> bytes:
        """The file behind *Details*."""
        raise NotImplementedError

    def entry_text(self, found: ResourceRow, locale: str) -> str:
        """Its one or two lines in the list."""
        raise NotImplementedError

    async def edit_panel(self, interaction: discord.Interaction, found: ResourceRow, note: str = "") -> Panel:
        """What can be changed about it; `note` says what was changed just now."""
        raise NotImplementedError

    async def bind_row(self, interaction: discord.Interaction, found: ResourceRow) -> None:
        """Use it here, and say so. The interaction has been deferred."""
        raise NotImplementedError

    # -- the verbs: for commands, after they deferred ------------------------------------------------

    async def begin_import(
        self, interaction: discord.Interaction, file: discord.Attachment | None, url: str | None
    ) -> None:
        """Import what a command names; a command that names nothing opens a form. Nothing may have been
        deferred."""
        if file is None and url is None:
            await forms.ask(interaction, self._import_form(interaction.locale))
            return
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.bring(interaction, file, url)

    def _import_form(self, locale: discord.Locale) -> discord.ui.Modal:
        hosts = ", ".join(self.bot.fetcher.hosts)
        fields: list[forms.FormField] = [
            forms.FileField("file", t(locale, "import.form_file"), required=not hosts),
        ]
        if hosts:
            hint = t(locale, "import.form_url_hint", hosts=hosts)
            fields.append(forms.TextField("url", t(locale, "import.form_url"), most=2_000, hint=hint))
        return forms.form(f"{self.noun}-import", title=t(locale, f"{self.noun}.import_title"), fields=fields)

    async def _import_entered(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        url = forms.entered(interaction).get("url", "").strip()
        await self.bring(interaction, forms.brought(interaction, "file"), url or None)

    async def bring(
        self, interaction: discord.Interaction, file: discord.Attachment | None, url: str | None
    ) -> None:
        """Import a file, or what an address leads to."""
        limit = self.limit()
        if (file is None) == (url is None):
            raise InputError("One file or one address is needed.", code="IMPORT_ONE_NEEDED")
        upload = await read_upload(file, limit) if file is not None else await self.fetched(url or "", limit)
        await self.take(interaction, upload)

    async def fetched(self, url: str, limit: int) -> Upload:
        """The file at an address."""
        return await self.bot.fetcher.fetch(url, limit)

    async def take(self, interaction: discord.Interaction, upload: Upload) -> None:
        """Import a file that has been read, and show it."""
        owner, by = library_owner(interaction), str(interaction.user.id)
        import_ = {
            "card": self.library.import_card,
            "preset": self.library.import_preset,
            "world_book": self.library.import_book,
            "regex": self.library.import_regex,
        }[self.kind]
        try:
            found = await import_(owner, upload.body, upload.filename, by)
        except ResourceError as error:
            raise refusal(error, upload.filename, self.noun, interaction.locale) from error
        await self.show_row(interaction, found, arrived=True)

    def limit(self) -> int:
        """The largest file of this kind, in bytes."""
        limits = self.bot.settings.limits
        return {
            "card": limits.card_bytes,
            "preset": limits.preset_bytes,
            "world_book": limits.book_bytes,
            "regex": limits.preset_bytes,
        }[self.kind]

    async def make(self, interaction: discord.Interaction, name: str, note: str = "") -> None:
        """An empty one of this kind, and what can be changed about it."""
        made = await self.library.create(
            library_owner(interaction), self.kind, name, str(interaction.user.id)
        )
        await self._show_edit(interaction, made, note)

    async def send_list(self, interaction: discord.Interaction, search: str | None, sort: str) -> None:
        """The list as a new message."""
        await self.browser.send(interaction, Spot(sort=sort, search=search or ""))

    async def open_edit(self, interaction: discord.Interaction, text: str) -> None:
        """What can be changed about the one that a command names. Raises as `editable`."""
        await self._show_edit(
            interaction, await self.editable(interaction, (await self.named(interaction, text)).id)
        )

    async def _show_edit(self, interaction: discord.Interaction, found: ResourceRow, note: str = "") -> None:
        view, files = await self.edit_panel(interaction, found, note)
        await interaction.followup.send(view=view, files=files, ephemeral=True)

    async def show_row(
        self, interaction: discord.Interaction, found: ResourceRow, *, arrived: bool = False
    ) -> None:
        """The panel as a new message."""
        view, files = await self.panel(interaction, found, arrived=arrived)
        await interaction.followup.send(view=view, files=files, ephemeral=True)

    async def named(self, interaction: discord.Interaction, text: str) -> ResourceRow:
        """The resource that somebody named in a command."""
        return await resolve(interaction, self.kind, text)

    async def row_of(self, interaction: discord.Interaction, resource_id: str) -> ResourceRow:
        """The resource of a button: ids travel through everybody's hands, so whose it is counts again."""
        return await self.library.get(resource_id, owner=library_owner(interaction))

    async def export(self, interaction: discord.Interaction, found: ResourceRow, form: str | None) -> None:
        """Hand it out as a file."""
        file = await self.library.export(found.id, form)
        await hand_out(interaction, file.body, file.filename)

    async def ask_delete(self, interaction: discord.Interaction, found: ResourceRow) -> None:
        """The question before it goes."""
        rights.check_may_change(interaction, found)
        locale = interaction.locale
        text = t(locale, f"{self.noun}.delete_confirm", name=plain(found.name, 200))
        view = row(
            button(f"{self.noun}-delete-yes", found.id, label=t(locale, "button.delete"), style=DANGER),
            button(f"{self.noun}-delete-no", found.id, label=t(locale, "button.keep")),
        )
        await interaction.followup.send(f"{text}\n-# {told_apart(found)}", view=view, ephemeral=True)

    def reader(self, interaction: discord.Interaction, found: ResourceRow, name: str | None = None) -> Reader:
        """Who looks at its panel."""
        return Reader(
            str(interaction.locale),
            name or interaction.user.display_name,
            interaction.guild is not None,
            rights.may_change(interaction, found),
        )

    # -- editing ---------------------------------------------------------------------------------------

    async def editable(
        self, interaction: discord.Interaction, resource_id: str, revision: str | int | None = None
    ) -> ResourceRow:
        """The resource, when this person may change it, and nobody has since `revision`.

        Raises NotFound, InputError IMPORTER_ONLY, Conflict RESOURCE_CHANGED.
        """
        found = await self.row_of(interaction, resource_id)
        rights.check_may_change(interaction, found)
        if revision is not None and str(revision) != str(found.revision):
            raise Conflict("It has been changed meanwhile.", code="RESOURCE_CHANGED")
        return found

    async def replace_panel(self, interaction: discord.Interaction, panel: Panel, note: str = "") -> None:
        """Let a panel take the place of the message that was pressed. Where that was no panel, but a text
        that was handed out, `note` stands there instead. The interaction has been deferred."""
        view, files = panel
        if interaction.message is None or interaction.message.flags.components_v2:
            await interaction.edit_original_response(view=view, attachments=files)
        else:
            await interaction.edit_original_response(content=note or "✓", view=None, attachments=[])

    async def edited(self, interaction: discord.Interaction, found: ResourceRow, note: str = "") -> None:
        """After a change: the edit panel, with what was done."""
        text = note or t(interaction.locale, "edit.saved")
        await self.replace_panel(interaction, await self.edit_panel(interaction, found, text), text)

    # -- buttons -----------------------------------------------------------------------------------

    async def _shown(self, interaction: discord.Interaction, resource_id: str) -> None:
        await interaction.response.defer()
        found = await self.row_of(interaction, resource_id)
        await self.replace_panel(interaction, await self.panel(interaction, found, arrived=False))

    async def _details(self, interaction: discord.Interaction, resource_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        found = await self.row_of(interaction, resource_id)
        text = await self.details(found, str(interaction.locale))
        await interaction.followup.send(file=discord.File(io.BytesIO(text), "details.md"), ephemeral=True)

    async def _export(self, interaction: discord.Interaction, resource_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        found, kinds = await self.row_of(interaction, resource_id), forms_of(self.kind)
        if len(kinds) == 1:
            await self.export(interaction, found, kinds[0])
            return
        view = row(*(button(f"{self.noun}-save", found.id, form, label=form.upper()) for form in kinds))
        text = t(interaction.locale, f"{self.noun}.export_as", name=plain(found.name, 200))
        await interaction.followup.send(text, view=view, ephemeral=True)

    async def _saved(self, interaction: discord.Interaction, resource_id: str, form: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.export(interaction, await self.row_of(interaction, resource_id), form)

    async def _bound(self, interaction: discord.Interaction, resource_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.bind_row(interaction, await self.row_of(interaction, resource_id))

    async def _edit(self, interaction: discord.Interaction, resource_id: str) -> None:
        await interaction.response.defer()
        found = await self.editable(interaction, resource_id)
        await self.replace_panel(interaction, await self.edit_panel(interaction, found))

    async def _scripts(self, interaction: discord.Interaction, resource_id: str, allowed: str) -> None:
        await interaction.response.defer()
        found = await self.editable(interaction, resource_id)
        await self.library.consents.give(found.owner, found.id, allowed == "1", str(interaction.user.id))
        await self.replace_panel(interaction, await self.panel(interaction, found, arrived=False))

    async def _delete(self, interaction: discord.Interaction, resource_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.ask_delete(interaction, await self.row_of(interaction, resource_id))

    async def _delete_confirmed(self, interaction: discord.Interaction, resource_id: str) -> None:
        await interaction.response.defer()
        found = await self.row_of(interaction, resource_id)
        rights.check_may_change(interaction, found)
        # A table in the middle of its story keeps what it plays with.
        await self.library.delete(found.id, release=False)
        await self._answered(interaction, f"{self.noun}.deleted", found)

    async def _delete_refused(self, interaction: discord.Interaction, resource_id: str) -> None:
        await interaction.response.defer()
        await self._answered(interaction, f"{self.noun}.kept", await self.row_of(interaction, resource_id))

    async def _answered(self, interaction: discord.Interaction, key: str, found: ResourceRow) -> None:
        text = t(interaction.locale, key, name=plain(found.name, 200))
        await interaction.edit_original_response(content=text, view=None)
