"""World books that come along with a card, preset or persona: a list in which each is switched on and off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import discord

from bot.browse import Browser, Entry, Source, Spot
from bot.excerpts import plain, prose
from bot.i18n import t
from bot.press import button
from engine.library import Holder, Library, ResourceRow

__all__ = ["Along"]

OwnerCheck = Callable[[discord.Interaction, str], Awaitable[str]]
"""Raises when this person may not change that thing; gives whose library the books are of."""


class Along(Source[tuple[ResourceRow, bool]]):
    """The books of a library; those that come along first. `back` is the op that shows the thing again.

    Its ops begin with `<kind>-books`; `check` is asked at every click.
    """

    opens = "place"

    def __init__(self, library: Library, kind: Holder, back: str, check: OwnerCheck) -> None:
        self.noun = f"{kind}-books"
        self._library = library
        self._kind = kind
        self._back = back
        self._check = check
        self.browser: Browser[tuple[ResourceRow, bool]] = Browser(self)

    async def things(
        self, interaction: discord.Interaction, spot: Spot
    ) -> Sequence[tuple[ResourceRow, bool]]:
        owner = await self._check(interaction, spot.within)
        chosen = await self._library.relations.books(self._kind, spot.within)
        rows = await self._library.list(owner, "world_book")
        if spot.search:
            found = await self._library.search(owner, "world_book", spot.search, len(rows))
            rows = [each for each in rows if each.id in {one.id for one in found}]
        first = [each for book in chosen for each in rows if each.id == book]
        return [(each, True) for each in first] + [(each, False) for each in rows if each not in first]

    def entry(self, thing: tuple[ResourceRow, bool], locale: str) -> Entry:
        book, on = thing
        mark = "✅" if on else "▫️"
        count = t(locale, "card.entries", n=book.summary.get("entries", 0))
        about = prose(str(book.summary.get("line", "")), 80)
        text = f"{mark} **{plain(book.name, 80)}** · {count}" + (f"\n-# {about}" if about else "")
        return Entry(book.id, text, f"{mark} {book.name}", count)

    async def open(self, interaction: discord.Interaction, spot: Spot, thing_id: str) -> None:
        owner = await self._check(interaction, spot.within)
        chosen = list(await self._library.relations.books(self._kind, spot.within))
        if thing_id in chosen:
            chosen.remove(thing_id)
        else:
            chosen.append(thing_id)
        # A book that left the library has no place in the list any more, and must not keep others out.
        there = {each.id for each in await self._library.list(owner, "world_book")}
        chosen = [each for each in chosen if each in there or each == thing_id]
        await self._library.relations.set_books(self._kind, spot.within, chosen, owner=owner)
        await self.browser.show(interaction, spot)

    async def title(self, interaction: discord.Interaction, spot: Spot) -> str:
        return t(interaction.locale, "library.books_title")

    def placeholder(self, locale: str) -> str:
        return t(locale, "library.books_choose")

    def buttons(self, spot: Spot, locale: str) -> Sequence[discord.ui.Button[Any]]:
        return (button(self._back, spot.within, label=t(locale, "button.back")),)
