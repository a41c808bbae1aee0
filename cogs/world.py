"""`/world`: world books, what stands in them, and what a text would wake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import discord
from discord import app_commands
from discord.ext import commands

from bot import forms, inuse
from bot.bookdetails import book_details
from bot.bookforms import book_patch, settings_form, try_form
from bot.bookpanel import book_line, book_panel, books_panel, edit_book_panel
from bot.choices import BookOption, CardOption, resolve
from bot.client import Inglenook
from bot.entrydesk import EntryDesk, book_of, change_book
from bot.i18n import label, t
from bot.press import Handler, chosen
from bot.shelfcog import SORTS, Panel, ShelfCog
from bot.trialpanel import Scope, trial_panel
from engine.errors import Conflict, InputError, PlayError
from engine.library import ResourceRow
from engine.lore import Book
from engine.play import Utterance
from engine.resources import edit_book
from engine.tavern import LoreTrial, story_books

__all__ = ["Worlds", "setup"]

_TEXT = 4000  # characters: as much as a form takes


class Worlds(
    ShelfCog,
    commands.GroupCog,
    group_name=label("commands.world.name"),
    group_description=label("commands.world.description"),
):
    """The verbs of `ux` 5, and `test`; the buttons under the panels outlive a restart."""

    kind = "world_book"
    noun = "world"

    def __init__(self, bot: Inglenook) -> None:
        super().__init__(bot)
        self._entries = EntryDesk(self, bot.engine.watches)

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            **super().presses_served(),
            **self._entries.presses(),
            "world-settings": self._settings,
            "world-set": self._set,
            "world-try": self._try,
            "world-tried": self._tried,
            "world-pick": self._picked,
        }

    # -- commands ----------------------------------------------------------------------------------

    @app_commands.command(
        name=label("commands.world.import.name"), description=label("commands.world.import.description")
    )
    @app_commands.rename(
        file=label("commands.card.import.options.file.name"),
        url=label("commands.card.import.options.url.name"),
    )
    @app_commands.describe(
        file=label("commands.world.import.options.file.description"),
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
        name=label("commands.world.create.name"), description=label("commands.world.create.description")
    )
    @app_commands.rename(name=label("commands.world.create.options.name.name"))
    @app_commands.describe(name=label("commands.world.create.options.name.description"))
    async def create(self, interaction: discord.Interaction, name: app_commands.Range[str, 1, 200]) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.make(interaction, name, t(interaction.locale, "world.created"))

    @app_commands.command(
        name=label("commands.world.list.name"), description=label("commands.world.list.description")
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
        name=label("commands.world.show.name"), description=label("commands.world.show.description")
    )
    @app_commands.rename(
        world=label("commands.world.options.world.name"), card=label("commands.world.options.card.name")
    )
    @app_commands.describe(
        world=label("commands.world.show.options.world.description"),
        card=label("commands.world.options.card.description"),
    )
    async def show(
        self,
        interaction: discord.Interaction,
        world: BookOption | None = None,
        card: CardOption | None = None,
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        found = await self._meant(interaction, world, card)
        if found is None:
            await interaction.followup.send(view=await self._here(interaction), ephemeral=True)
            return
        await self.show_row(interaction, found)

    @app_commands.command(
        name=label("commands.world.bind.name"), description=label("commands.world.bind.description")
    )
    @app_commands.rename(world=label("commands.world.options.world.name"))
    @app_commands.describe(world=label("commands.world.options.world.description"))
    async def bind(self, interaction: discord.Interaction, world: BookOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.bind_row(interaction, await self.named(interaction, world))

    @app_commands.command(
        name=label("commands.world.unbind.name"), description=label("commands.world.unbind.description")
    )
    @app_commands.rename(world=label("commands.world.options.world.name"))
    @app_commands.describe(world=label("commands.world.options.world.description"))
    async def unbind(self, interaction: discord.Interaction, world: BookOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        text = await inuse.unbind(self.bot, interaction, "world_book", world, self.noun)
        await interaction.followup.send(text, ephemeral=True)

    @app_commands.command(
        name=label("commands.world.edit.name"), description=label("commands.world.edit.description")
    )
    @app_commands.rename(world=label("commands.world.options.world.name"))
    @app_commands.describe(world=label("commands.world.options.world.description"))
    async def edit(self, interaction: discord.Interaction, world: BookOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.open_edit(interaction, world)

    @app_commands.command(
        name=label("commands.world.export.name"), description=label("commands.world.export.description")
    )
    @app_commands.rename(world=label("commands.world.options.world.name"))
    @app_commands.describe(world=label("commands.world.options.world.description"))
    async def export_(self, interaction: discord.Interaction, world: BookOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.export(interaction, await self.named(interaction, world), None)

    @app_commands.command(
        name=label("commands.world.delete.name"), description=label("commands.world.delete.description")
    )
    @app_commands.rename(world=label("commands.world.options.world.name"))
    @app_commands.describe(world=label("commands.world.options.world.description"))
    async def delete(self, interaction: discord.Interaction, world: BookOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.ask_delete(interaction, await self.named(interaction, world))

    @app_commands.command(
        name=label("commands.world.test.name"), description=label("commands.world.test.description")
    )
    @app_commands.rename(
        text=label("commands.world.test.options.text.name"),
        world=label("commands.world.options.world.name"),
        card=label("commands.world.options.card.name"),
        history=label("commands.world.test.options.history.name"),
    )
    @app_commands.describe(
        text=label("commands.world.test.options.text.description"),
        world=label("commands.world.test.options.world.description"),
        card=label("commands.world.options.card.description"),
        history=label("commands.world.test.options.history.description"),
    )
    async def test(
        self,
        interaction: discord.Interaction,
        text: app_commands.Range[str, 1, _TEXT],
        world: BookOption | None = None,
        card: CardOption | None = None,
        history: bool = True,
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._show_trial(interaction, await self._meant(interaction, world, card), text, history)

    # -- how a book looks --------------------------------------------------------------------------

    async def panel(self, interaction: discord.Interaction, found: ResourceRow, *, arrived: bool) -> Panel:
        book = await book_of(self.library, found)
        stopped = self._entries.stopped_in(found, book)
        return book_panel(found, book, self.reader(interaction, found), arrived=arrived, stopped=stopped), []

    async def edit_panel(self, interaction: discord.Interaction, found: ResourceRow, note: str = "") -> Panel:
        book = await book_of(self.library, found)
        return edit_book_panel(found, book, str(interaction.locale), note), []

    async def details(self, found: ResourceRow, locale: str) -> bytes:
        return book_details(found, await book_of(self.library, found), locale)

    def entry_text(self, found: ResourceRow, locale: str) -> str:
        return book_line(found, locale)

    async def bind_row(self, interaction: discord.Interaction, found: ResourceRow) -> None:
        text = await inuse.bind(self.bot, interaction, found, self.noun)
        await interaction.followup.send(text, ephemeral=True)

    async def _meant(
        self, interaction: discord.Interaction, world: str | None, card: str | None
    ) -> ResourceRow | None:
        """The book that was named, or the card whose own book is meant; None when neither was."""
        if world is not None and card is not None:
            raise InputError("One of the two is needed.", code="WORLD_OR_CARD")
        if world is not None:
            return await self.named(interaction, world)
        return None if card is None else await resolve(interaction, "card", card)

    async def _here(self, interaction: discord.Interaction) -> discord.ui.LayoutView:
        """The books that are in use here, with a menu to open one."""
        locale, used = str(interaction.locale), await inuse.in_use(self.bot, interaction, "world_book")
        rows = [await self.library.row(book_id) for book_id in used]
        binding = self.bot.bindings.of_channel(interaction.channel_id or 0)
        if binding is None:  # a new story begins without what has left the library
            rows = [row for row in rows if row.deleted_at is None]
        along = await self._along(binding.play_id, locale) if binding is not None else ()
        return books_panel(rows, locale, in_story=binding is not None, along=along)

    async def _along(self, play_id: str, locale: str) -> Sequence[tuple[str, str]]:
        """The books of a story that come along with its card, preset or persona: their names, and why."""
        selection = await self.bot.engine.plays.selection(play_id)
        card = await self.library.card(selection.card_id) if selection.card_id is not None else None
        found = await story_books(self.library, selection, persona_id=selection.persona_id, card=card)
        return [
            (held.book.name, ", ".join(t(locale, f"world.origin.{each}") for each in found.origins[held.id]))
            for held in found.all
            if "session" not in found.origins[held.id]
        ]

    async def _picked(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.show_row(interaction, await self.row_of(interaction, chosen(interaction)[0]))

    # -- settings ------------------------------------------------------------------------------------

    async def _settings(self, interaction: discord.Interaction, book_id: str, revision: str) -> None:
        found = await self.editable(interaction, book_id, revision)
        book = await book_of(self.library, found)
        await forms.ask(
            interaction,
            settings_form("world-set", (found.id, found.revision), book, str(interaction.locale)),
        )

    async def _set(self, interaction: discord.Interaction, book_id: str, revision: str) -> None:
        await interaction.response.defer()
        try:
            found = await self.editable(interaction, book_id, revision)
        except Conflict:
            await self.edited(interaction, await self.row_of(interaction, book_id), "")
            raise
        patch = book_patch(interaction, await book_of(self.library, found))
        if patch:
            found = await change_book(self.library, found, lambda raw: edit_book(raw, patch))
        note = t(interaction.locale, "edit.saved" if patch else "edit.unchanged")
        await self.edited(interaction, found, note)

    # -- trying a text -------------------------------------------------------------------------------

    async def _try(self, interaction: discord.Interaction, *book: str) -> None:
        await forms.ask(interaction, try_form("world-tried", book, str(interaction.locale)))

    async def _tried(self, interaction: discord.Interaction, *book: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        found = await self.row_of(interaction, book[0]) if book else None
        await self._show_trial(interaction, found, forms.entered(interaction)["text"], history=True)

    async def _show_trial(
        self, interaction: discord.Interaction, found: ResourceRow | None, text: str, history: bool
    ) -> None:
        scope: Scope = "book" if found is not None else "story" if history else "alone"
        if found is not None:
            trial = await self._trial_of(found, text)
        else:
            trial = await self._trial_here(interaction, text, history)
        view, file = trial_panel(
            trial, text, scope, found.id if found is not None else "", str(interaction.locale)
        )
        await interaction.followup.send(view=view, file=file, ephemeral=True)

    async def _trial_of(self, found: ResourceRow, text: str) -> LoreTrial:
        trials, book = self.bot.engine.trials, await book_of(self.library, found)
        if found.kind == "card":
            return await trials.card(found.id, await self.library.card(found.id), text)
        return await trials.book(Book(found.id, book), text)

    async def _trial_here(self, interaction: discord.Interaction, text: str, history: bool) -> LoreTrial:
        binding = self.bot.bindings.of_channel(interaction.channel_id or 0)
        if binding is None:
            raise PlayError("No story is being played here.", code="WORLD_TEST_WHERE")
        engine, who = self.bot.engine, interaction.user
        persona = await engine.persona_name(who.id, who.display_name)
        words = Utterance("trial", text, str(who.id), who.display_name, persona)
        return await engine.try_lore(binding.play_id, words, history=history)


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Worlds(bot))
