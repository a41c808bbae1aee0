"""Changing the entries of a world book, stand-alone or a card's own: the buttons and forms of an entry.

Every id carries the revision that was looked at. Where somebody else was faster nothing is written:
the panel is shown as it stands now, and what was typed goes back to its author.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import discord

from bot import forms, texts
from bot.bookforms import (
    add_form,
    key_lines,
    keys_form,
    keys_patch,
    more_form,
    more_patch,
    new_patch,
    place_form,
    place_patch,
)
from bot.bookpanel import ENTRIES, book_panel, confirm_removal, entry_panel
from bot.excerpts import plain
from bot.i18n import t
from bot.overtime import stopped_keys
from bot.press import Handler, chosen
from bot.shelfcog import ShelfCog
from bot.texts import Wording
from engine.codec import JsonObject
from engine.errors import Conflict, NotFound
from engine.library import Library, ResourceRow
from engine.resources import (
    Entry,
    WorldBook,
    add_entry,
    edit_entry,
    edit_own_book,
    remove_entry,
)
from engine.tavern import Watches

__all__ = ["EntryDesk", "book_of", "change_book"]

Change = Callable[[JsonObject], JsonObject]

_PAGE_DIGITS = 4  # of a page's number: the largest book has a thousand pages


async def book_of(library: Library, found: ResourceRow) -> WorldBook:
    """The world book that a resource is, or that its card brings along. Raises NotFound."""
    if found.kind == "world_book":
        return await library.book(found.id)
    book = (await library.card(found.id)).book if found.kind == "card" else None
    if book is None:
        raise NotFound("This has no world book.", code="CARD_HAS_NO_BOOK", name=found.name)
    return book


async def change_book(library: Library, found: ResourceRow, change: Change) -> ResourceRow:
    """Change the book that a resource is, or that its card brings along. Raises as `Library.edit`."""
    edit: Change = (lambda raw: edit_own_book(raw, change)) if found.kind == "card" else change
    return await library.edit(found.id, edit, expected_revision=found.revision)


def places_of(book: WorldBook, text: str) -> list[int]:
    """The places of the entries whose name, keys or text have `text`, whatever its case."""
    wanted = text.casefold()
    return [
        place
        for place, entry in enumerate(book.entries)
        if any(
            wanted in part.casefold()
            for part in (entry.comment, entry.content, *entry.keys, *entry.secondary_keys)
        )
    ]


class EntryDesk:
    """The handlers; `shelf` says who may change what, and replaces panels."""

    def __init__(self, shelf: ShelfCog, watches: Watches) -> None:
        self._shelf = shelf
        self._library = shelf.library
        self._watches = watches

    def presses(self) -> Mapping[str, Handler]:
        """The handlers, for `PressCog.presses_served`."""
        return {
            "world-leaf": self._leaf,
            "world-find": self._find,
            "world-found": self._found,
            "world-entry": self._opened,
            "world-text": self._text,
            "world-said": self._said,
            "world-keys": self._keys,
            "world-keyed": self._keyed,
            "world-keyfile": self._keyfile,
            "world-place": self._place,
            "world-placed": self._placed,
            "world-more": self._more,
            "world-mored": self._mored,
            "world-on": self._on,
            "world-always": self._always,
            "world-remove": self._remove,
            "world-remove-yes": self._removed,
            "world-remove-no": self._kept,
            "world-add": self._add,
            "world-added": self._added,
            "world-pardon": self._pardon,
        }

    # -- looking -----------------------------------------------------------------------------------

    async def _leaf(self, interaction: discord.Interaction, book_id: str, page: str) -> None:
        await interaction.response.defer()
        await self.show_book(interaction, await self._shelf.row_of(interaction, book_id), int(page))

    async def _find(self, interaction: discord.Interaction, book_id: str, page: str) -> None:
        locale = str(interaction.locale)
        field = forms.TextField(
            "text", t(locale, "world.find"), required=True, most=100, hint=t(locale, "world.find_hint")
        )
        await forms.ask(
            interaction,
            forms.form("world-found", book_id, page, title=t(locale, "browse.search_title"), fields=[field]),
        )

    async def _found(self, interaction: discord.Interaction, book_id: str, page: str) -> None:
        """Another page: that of a number, or the next one after this on which an entry has the text."""
        await interaction.response.defer()
        found = await self._shelf.row_of(interaction, book_id)
        text = forms.entered(interaction)["text"].strip()
        if text.isdecimal() and len(text) <= _PAGE_DIGITS:
            await self.show_book(interaction, found, int(text) - 1)
            return
        book = await book_of(self._library, found)
        hits = await asyncio.to_thread(places_of, book, text)
        here = int(page)
        after = [place for place in hits if place // ENTRIES > here] or hits
        if not after:
            note = t(interaction.locale, "world.find_none", text=plain(text, 100))
            await self.show_book(interaction, found, here, note)
            return
        note = t(
            interaction.locale,
            "world.find_done",
            n=len(hits),
            text=plain(text, 100),
            entry=plain(book.entries[after[0]].label, 100),
        )
        await self.show_book(interaction, found, after[0] // ENTRIES, note)

    async def _opened(self, interaction: discord.Interaction, book_id: str, page: str) -> None:
        await interaction.response.defer()
        found = await self._shelf.row_of(interaction, book_id)
        await self._show(interaction, found, chosen(interaction)[0], page)

    async def show_book(
        self, interaction: discord.Interaction, found: ResourceRow, page: int = 0, note: str = ""
    ) -> None:
        """Let the book's panel take the place of the message that was pressed."""
        book = await book_of(self._library, found)
        view = book_panel(
            found,
            book,
            self._shelf.reader(interaction, found),
            page,
            note=note,
            stopped=self.stopped_in(found, book),
        )
        await self._shelf.replace_panel(interaction, (view, []), note)

    def stopped_in(self, found: ResourceRow, book: WorldBook) -> Sequence[tuple[str, str]]:
        """The patterns among a book's keys that took too long and are not run any more."""
        return stopped_keys(book, self._watches.stopped(found.owner))

    async def _pardon(self, interaction: discord.Interaction, book_id: str) -> None:
        await interaction.response.defer()
        found = await self._shelf.editable(interaction, book_id)
        stopped = self.stopped_in(found, await book_of(self._library, found))
        self._watches.pardon(found.owner, stopped)
        await self.show_book(interaction, found, 0, t(interaction.locale, "regex.pardoned"))

    async def _show(
        self, interaction: discord.Interaction, found: ResourceRow, uid: str, page: str, note: str = ""
    ) -> None:
        book = await book_of(self._library, found)
        entry = next((each for each in book.entries if str(each.uid) == uid), None)
        if entry is None:
            await self.show_book(interaction, found, int(page), t(interaction.locale, "world.entry_gone"))
            return
        view = entry_panel(found, entry, self._shelf.reader(interaction, found), int(page), note)
        await self._shelf.replace_panel(interaction, (view, []), note)

    # -- forms ---------------------------------------------------------------------------------------

    async def _text(self, interaction: discord.Interaction, *here: str) -> None:
        _, entry = await self._at(interaction, *here)
        wording = Wording(entry.content, t(interaction.locale, "world.text"), f"entry-{entry.uid}.txt")
        await texts.edit(interaction, "world-said", here, wording)

    async def _said(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        text = await texts.changed(interaction)
        await self._edited(
            interaction, here, lambda entry: {} if texts.same(entry.content, text) else {"content": text}
        )

    async def _keys(self, interaction: discord.Interaction, *here: str) -> None:
        _, entry = await self._at(interaction, *here)
        lines, locale = key_lines(entry.keys), str(interaction.locale)
        if max(len(lines), len(key_lines(entry.secondary_keys))) > forms.LONGEST:
            # More keys than a form takes: the primary ones as a file, the rest stays.
            wording = Wording(lines, t(locale, "world.keys"), f"keys-{entry.uid}.txt")
            await texts.edit(interaction, "world-keyfile", here, wording)
            return
        await forms.ask(interaction, keys_form("world-keyed", here, entry, locale))

    async def _keyed(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        patch = keys_patch(interaction)
        await self._edited(interaction, here, lambda _: patch)

    async def _keyfile(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        keys = [line.strip() for line in (await texts.changed(interaction)).splitlines() if line.strip()]
        await self._edited(interaction, here, lambda _: {"keys": keys})

    async def _place(self, interaction: discord.Interaction, *here: str) -> None:
        _, entry = await self._at(interaction, *here)
        await forms.ask(interaction, place_form("world-placed", here, entry, str(interaction.locale)))

    async def _placed(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        patch = place_patch(interaction)
        await self._edited(interaction, here, lambda _: patch)

    async def _more(self, interaction: discord.Interaction, *here: str) -> None:
        _, entry = await self._at(interaction, *here)
        await forms.ask(interaction, more_form("world-mored", here, entry, str(interaction.locale)))

    async def _mored(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        await self._edited(interaction, here, lambda entry: more_patch(interaction, entry))

    async def _add(self, interaction: discord.Interaction, book_id: str, revision: str) -> None:
        found = await self._shelf.editable(interaction, book_id, revision)
        await forms.ask(
            interaction, add_form("world-added", (found.id, found.revision), str(interaction.locale))
        )

    async def _added(self, interaction: discord.Interaction, book_id: str, revision: str) -> None:
        await interaction.response.defer()
        patch = new_patch(interaction)
        found = await self._shelf.editable(interaction, book_id, revision)
        uids: list[int] = []

        def change(raw: JsonObject) -> JsonObject:
            made, uid = add_entry(raw, patch)
            uids.append(uid)
            return made

        changed = await change_book(self._library, found, change)
        book = await book_of(self._library, changed)
        place = next((at for at, entry in enumerate(book.entries) if entry.uid == uids[-1]), 0)
        note = t(interaction.locale, "world.added")
        await self._show(interaction, changed, str(uids[-1]), str(place // ENTRIES), note)

    # -- buttons -------------------------------------------------------------------------------------

    async def _on(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        await self._edited(interaction, here, lambda entry: {"enabled": not entry.enabled})

    async def _always(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        await self._edited(interaction, here, lambda entry: {"constant": not entry.constant})

    async def _remove(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()
        found, entry = await self._at(interaction, *here)
        view = confirm_removal(found, entry, int(here[3]), str(interaction.locale))
        await self._shelf.replace_panel(interaction, (view, []))

    async def _removed(self, interaction: discord.Interaction, *here: str) -> None:
        await interaction.response.defer()

        async def remove() -> None:
            found, entry = await self._at(interaction, *here)
            changed = await change_book(self._library, found, lambda raw: remove_entry(raw, entry.uid))
            note = t(interaction.locale, "world.removed", entry=plain(entry.label, 100))
            await self.show_book(interaction, changed, int(here[3]), note)

        await self._fresh_when_stale(interaction, here, remove)

    async def _kept(self, interaction: discord.Interaction, book_id: str, uid: str, page: str) -> None:
        await interaction.response.defer()
        await self._show(interaction, await self._shelf.row_of(interaction, book_id), uid, page)

    # -- inside --------------------------------------------------------------------------------------

    async def _at(
        self, interaction: discord.Interaction, book_id: str, revision: str, uid: str, page: str
    ) -> tuple[ResourceRow, Entry]:
        """The entry of an id, when this person may change it and nobody has. Raises as `editable`."""
        found = await self._shelf.editable(interaction, book_id, revision)
        book = await book_of(self._library, found)
        entry = next((each for each in book.entries if str(each.uid) == uid), None)
        if entry is None:
            raise Conflict("It has been changed meanwhile.", code="RESOURCE_CHANGED")
        return found, entry

    async def _edited(
        self,
        interaction: discord.Interaction,
        here: tuple[str, ...],
        patch_of: Callable[[Entry], Mapping[str, object]],
    ) -> None:
        """Change the entry of an id and show what it is now. The interaction has been deferred."""

        async def edit() -> None:
            found, entry = await self._at(interaction, *here)
            # Only what was changed is written, so that an export differs in nothing else (decision 23).
            patch = {
                field: value for field, value in patch_of(entry).items() if _differs(entry, field, value)
            }
            if patch:
                found = await change_book(self._library, found, lambda raw: edit_entry(raw, entry.uid, patch))
            note = t(interaction.locale, "edit.saved" if patch else "edit.unchanged")
            await self._show(interaction, found, here[2], here[3], note)

        await self._fresh_when_stale(interaction, here, edit)

    async def _fresh_when_stale(
        self, interaction: discord.Interaction, here: tuple[str, ...], work: Callable[[], Awaitable[None]]
    ) -> None:
        """Do it; where somebody was faster, show what stands there now before saying so."""
        try:
            await work()
        except Conflict:
            found = await self._shelf.row_of(interaction, here[0])
            await self._show(interaction, found, here[2], here[3])
            raise


def _differs(entry: Entry, field: str, value: object) -> bool:
    return bool(getattr(entry, field) != (tuple(value) if isinstance(value, list) else value))
