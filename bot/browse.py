"""Lists with pages, pictures, sorting and searching, whatever they are lists of.

A cog gives a `Source` and gets the panel and the handlers of its buttons:

    self.browser = Browser(CardSource(bot))
    presses_served: {**self.browser.presses(), …}
    await self.browser.send(interaction, Spot(search="inn"))      # after deferring

Where a reader is (page, order, search, and inside what) stands in the ids of the buttons, so the list
can be leafed through after a restart. A search stands there coded and is at most 30 bytes long.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import discord

from bot import forms
from bot.excerpts import clip, one_line, plain
from bot.i18n import t
from bot.press import Handler, button, chosen, menu
from bot.sheet import Layout, Sheet
from bot.thumbnails import thumbnail
from engine.errors import InputError

__all__ = ["LINES", "PICTURES", "Browser", "Entry", "Opens", "Source", "Spot"]

T = TypeVar("T")

Opens: TypeAlias = Literal["message", "place", "form"]

LINES = 10  # things on a page: what a phone shows at once
PICTURES = 8  # of them with pictures: each takes three of Discord's 40 components
_LINE_BYTES = 460
_SEARCH = 30  # bytes: 40 in base64, and a custom_id has room for the longest op, a place and an id


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a reader is in a list. `page` counts from 0; `sort` is one of the source's orders; `within`
    the id of what the list is a part of, such as the preset of a list of prompts."""

    within: str = ""
    page: int = 0
    sort: str = "name"
    search: str = ""

    def args(self) -> tuple[str, str, str, str]:
        """For a custom_id."""
        text = " ".join(self.search.split()).encode()[:_SEARCH].decode(errors="ignore").strip()
        coded = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return self.within, str(self.page), self.sort, coded

    @classmethod
    def of(cls, within: str = "", page: str = "0", sort: str = "name", search: str = "") -> Spot:
        """From a custom_id; what is no spot is the beginning."""
        try:
            text = base64.urlsafe_b64decode(search + "=" * (-len(search) % 4)).decode()
            return cls(within, int(page), sort, text)
        except (binascii.Error, ValueError):
            return cls(within)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing of a list: its id, its lines in Discord's Markdown, and its name in the menu.

    `has_picture` asks the source for one; a `covered` picture is for adults.
    """

    id: str
    text: str
    label: str
    about: str = ""
    has_picture: bool = False
    covered: bool = False


class Source(Generic[T]):
    """What is listed. `noun` is the first word of the ops and of the texts `<noun>.list_title` and
    `<noun>.list_empty`; `sorts` are the orders that are offered. What is chosen `opens` as a new message,
    in the place of the list, or as a form, for which nothing may have been deferred."""

    noun: str
    sorts: Sequence[str] = ()
    searchable: bool = True
    pictures: bool = False
    opens: Opens = "message"

    async def things(self, interaction: discord.Interaction, spot: Spot) -> Sequence[T]:
        """All of them that fit the search, in the order of the spot."""
        raise NotImplementedError

    def entry(self, thing: T, locale: str) -> Entry:
        """How one is shown."""
        raise NotImplementedError

    async def open(self, interaction: discord.Interaction, spot: Spot, thing_id: str) -> None:
        """Somebody chose it. Unless it `opens` a form the interaction has been deferred: to be answered with
        a new message, or by editing the one that was pressed."""
        raise NotImplementedError

    async def picture(self, thing: T) -> bytes | None:
        """Its picture."""
        return None

    async def reorder(self, interaction: discord.Interaction, thing_id: str, place: int) -> None:
        """Put it at another place (0 first) of the order `custom`."""
        raise NotImplementedError

    async def title(self, interaction: discord.Interaction, spot: Spot) -> str:
        """The heading, fit for Markdown."""
        return t(interaction.locale, f"{self.noun}.list_title")

    def placeholder(self, locale: str) -> str:
        """What the menu asks."""
        return t(locale, "browse.open")

    def buttons(self, spot: Spot, locale: str) -> Sequence[discord.ui.Button[Any]]:
        """More buttons under the list, such as *Add*."""
        return ()


class Browser(Generic[T]):
    """The list of a source, and what its buttons do."""

    def __init__(self, source: Source[T]) -> None:
        self._source = source
        self._noun = source.noun

    def presses(self) -> Mapping[str, Handler]:
        """The handlers, for `PressCog.presses_served`."""
        return {
            f"{self._noun}-page": self._turned,
            f"{self._noun}-sort": self._sorted,
            f"{self._noun}-find": self._find,
            f"{self._noun}-found": self._found,
            f"{self._noun}-open": self._opened,
            f"{self._noun}-move": self._move,
            f"{self._noun}-moved": self._moved,
        }

    async def send(self, interaction: discord.Interaction, spot: Spot = Spot()) -> None:
        """Show the list as the answer of a command that was deferred."""
        view, files = await self.panel(interaction, spot)
        await interaction.followup.send(view=view, files=files, ephemeral=True)

    async def panel(self, interaction: discord.Interaction, spot: Spot) -> tuple[Layout, list[discord.File]]:
        """One page. A page that is not there is the nearest that is."""
        source, locale = self._source, str(interaction.locale)
        things = await source.things(interaction, spot)
        size = PICTURES if source.pictures else LINES
        pages = max(1, -(-len(things) // size))
        spot = replace(spot, page=min(max(spot.page, 0), pages - 1))
        shown = things[spot.page * size : (spot.page + 1) * size]
        entries = [source.entry(thing, locale) for thing in shown]
        sheet, files = Sheet(), []
        sheet.text(self._head(await source.title(interaction, spot), len(things), spot, locale), 1_200)
        if source.pictures:
            for place, (thing, entry) in enumerate(zip(shown, entries, strict=True)):
                file = await self._picture(thing, entry, place)
                if file is None:
                    sheet.text(entry.text, _LINE_BYTES)
                else:
                    files.append(file)
                    face = discord.ui.Thumbnail[Any](f"attachment://{file.filename}", spoiler=entry.covered)
                    sheet.section(entry.text, _LINE_BYTES, face)
        else:
            sheet.text("\n".join(clip(entry.text, 400, _LINE_BYTES) for entry in entries), 6_400)
        self._controls(sheet, entries, spot, pages, locale)
        return sheet.layout(), files

    # -- buttons -----------------------------------------------------------------------------------

    async def _turned(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        await self.show(interaction, Spot.of(*args))

    async def _sorted(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        await self.show(interaction, replace(Spot.of(*args), page=0, sort=chosen(interaction)[0]))

    async def _find(self, interaction: discord.Interaction, *args: str) -> None:
        spot, locale = Spot.of(*args), interaction.locale
        field = forms.TextField(
            "search",
            t(locale, "browse.search_label"),
            spot.search,
            most=_SEARCH,
            hint=t(locale, "browse.search_hint"),
        )
        title = t(locale, "browse.search_title")
        await forms.ask(interaction, forms.form(f"{self._noun}-found", *args, title=title, fields=[field]))

    async def _found(self, interaction: discord.Interaction, *args: str) -> None:
        await interaction.response.defer()
        wanted = replace(Spot.of(*args), page=0, search=forms.entered(interaction)["search"])
        await self.show(interaction, Spot.of(*wanted.args()))

    async def _opened(self, interaction: discord.Interaction, *args: str) -> None:
        if self._source.opens == "message":
            await interaction.response.defer(ephemeral=True, thinking=True)
        elif self._source.opens == "place":
            await interaction.response.defer()
        await self._source.open(interaction, Spot.of(*args), chosen(interaction)[0])

    async def _move(self, interaction: discord.Interaction, *args: str) -> None:
        locale, spot, (thing_id,) = interaction.locale, Spot.of(*args), chosen(interaction)
        count = len(await self._source.things(interaction, replace(spot, search="")))
        hint = t(locale, "browse.place_hint", count=count)
        field = forms.TextField("place", t(locale, "browse.place_label"), required=True, most=6, hint=hint)
        title = t(locale, "browse.place_title")
        op = f"{self._noun}-moved"
        await forms.ask(interaction, forms.form(op, thing_id, spot.page, title=title, fields=[field]))

    async def _moved(self, interaction: discord.Interaction, thing_id: str, page: str) -> None:
        await interaction.response.defer()
        text = forms.entered(interaction)["place"].strip()
        if not text.isdecimal() or int(text) < 1:
            raise InputError("This is no place in a list.", code="PLACE_INVALID")
        await self._source.reorder(interaction, thing_id, int(text) - 1)
        await self.show(interaction, Spot.of("", page, "custom"))

    async def show(self, interaction: discord.Interaction, spot: Spot) -> None:
        """Let the list take the place of the message that was pressed."""
        view, files = await self.panel(interaction, spot)
        await interaction.edit_original_response(view=view, attachments=files)

    # -- parts -------------------------------------------------------------------------------------

    def _head(self, title: str, count: int, spot: Spot, locale: str) -> str:
        lines = [f"## {title}" + (f" · {count}" if count else "")]
        if spot.search:
            lines.append(t(locale, "browse.searched", text=plain(spot.search, _SEARCH)))
        if not count:
            lines.append(t(locale, "browse.none_found" if spot.search else f"{self._noun}.list_empty"))
        return "\n".join(lines)

    async def _picture(self, thing: T, entry: Entry, place: int) -> discord.File | None:
        body = await self._source.picture(thing) if entry.has_picture else None
        small = await thumbnail(body) if body is not None else None
        return None if small is None else discord.File(io.BytesIO(small), f"face{place}.webp")

    def _controls(self, sheet: Sheet, entries: Sequence[Entry], spot: Spot, pages: int, locale: str) -> None:
        args, noun = spot.args(), self._noun
        if entries:
            placeholder = self._source.placeholder(locale)
            sheet.row(menu(f"{noun}-open", *args, options=_options(entries), placeholder=placeholder))
        if entries and spot.sort == "custom" and not spot.search:
            placeholder = t(locale, "browse.move")
            sheet.row(menu(f"{noun}-move", *args, options=_options(entries), placeholder=placeholder))
        if len(self._source.sorts) > 1 and (entries or spot.search):
            options = [
                discord.SelectOption(
                    label=t(locale, f"browse.sort.{sort}"), value=sort, default=sort == spot.sort
                )
                for sort in self._source.sorts
            ]
            sheet.row(menu(f"{noun}-sort", *args, options=options, placeholder=t(locale, "browse.order")))
        buttons = []
        if pages > 1:
            before, after = (replace(spot, page=spot.page + step).args() for step in (-1, 1))
            buttons = [
                button(f"{noun}-page", *before, label="◀", disabled=spot.page == 0),
                button(f"{noun}-pages", label=f"{spot.page + 1}/{pages}", disabled=True),
                button(f"{noun}-page", *after, label="▶", disabled=spot.page == pages - 1),
            ]
        if self._source.searchable and (entries or spot.search):
            buttons.append(button(f"{noun}-find", *args, emoji="🔍", label=t(locale, "button.search")))
        sheet.row(*buttons)
        sheet.row(*self._source.buttons(spot, locale))


def _options(entries: Sequence[Entry]) -> list[discord.SelectOption]:
    return [
        discord.SelectOption(
            label=one_line(entry.label, 100) or "…",
            value=entry.id,
            description=one_line(entry.about, 100) or None,
        )
        for entry in entries
    ]
