"""The greetings of a card, changed one by one in forms."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import discord

from bot import texts
from bot.browse import Browser, Entry, Source, Spot
from bot.excerpts import prose
from bot.i18n import t
from bot.press import Handler, button
from bot.shelfcog import ShelfCog
from bot.texts import Wording
from engine.codec import JsonObject
from engine.errors import Conflict
from engine.library import ResourceRow
from engine.resources import edit_card

__all__ = ["GreetingDesk", "edited_card"]

_ADDED = "new"


class _Greetings(Source[tuple[ResourceRow, int, str]]):
    """The greetings of a card, the first one first; each is changed in a form."""

    noun = "greeting"
    searchable = False
    opens = "form"

    def __init__(self, desk: GreetingDesk) -> None:
        self._desk = desk

    async def things(
        self, interaction: discord.Interaction, spot: Spot
    ) -> Sequence[tuple[ResourceRow, int, str]]:
        found = await self._desk.cog.editable(interaction, spot.within)
        card = await self._desk.cog.library.card(found.id)
        return [
            (found, place, text) for place, text in enumerate((card.first_mes, *card.alternate_greetings))
        ]

    def entry(self, thing: tuple[ResourceRow, int, str], locale: str) -> Entry:
        found, place, text = thing
        line = prose(text, 120) or t(locale, "edit.nothing")
        return Entry(f"{found.revision}-{place}", f"{place + 1}. {line}", f"{place + 1}. {text}")

    async def open(self, interaction: discord.Interaction, spot: Spot, thing_id: str) -> None:
        revision, _, place = thing_id.partition("-")
        found = await self._desk.cog.editable(interaction, spot.within, revision)
        await self._desk.edit_greeting(interaction, found, place)

    async def title(self, interaction: discord.Interaction, spot: Spot) -> str:
        return t(interaction.locale, "card.edit.greetings")

    def placeholder(self, locale: str) -> str:
        return t(locale, "edit.choose")

    def buttons(self, spot: Spot, locale: str) -> Sequence[discord.ui.Button[Any]]:
        return (
            button("greeting-add", spot.within, label=t(locale, "button.add")),
            button("card-edit", spot.within, label=t(locale, "button.back")),
        )


class GreetingDesk:
    """The handlers of everything that is done to greetings. `cog` says who may, and shows panels."""

    def __init__(self, cog: ShelfCog) -> None:
        self.cog = cog
        self.browser: Browser[tuple[ResourceRow, int, str]] = Browser(_Greetings(self))

    def presses(self) -> Mapping[str, Handler]:
        """For `PressCog.presses_served`."""
        return {
            **self.browser.presses(),
            "greeting-add": self._greeting_added,
            "greeting-text": self._greeting_entered,
        }

    async def edit_greeting(self, interaction: discord.Interaction, found: ResourceRow, place: str) -> None:
        """Ask for the text of a greeting: its place (0 first), or `new` for one more."""
        card, locale = await self.cog.library.card(found.id), interaction.locale
        greetings = (card.first_mes, *card.alternate_greetings)
        text = "" if place == _ADDED else greetings[int(place)]
        number = len(greetings) + 1 if place == _ADDED else int(place) + 1
        name = t(locale, "card.edit.greeting", n=number)
        hint = t(locale, "card.edit.greeting_hint" if number > 1 else "card.edit.first_mes_hint")
        wording = Wording(text, name, f"greeting-{number}.txt", hint)
        await texts.edit(interaction, "greeting-text", (found.id, found.revision, place), wording)

    async def _greeting_added(self, interaction: discord.Interaction, card_id: str) -> None:
        await self.edit_greeting(interaction, await self.cog.editable(interaction, card_id), _ADDED)

    async def _greeting_entered(
        self, interaction: discord.Interaction, card_id: str, revision: str, place: str
    ) -> None:
        await interaction.response.defer()
        text = await texts.changed(interaction)
        found = await self.cog.editable(interaction, card_id, revision)
        card = await self.cog.library.card(found.id)
        patch = _with_greeting(card.first_mes, card.alternate_greetings, place, text)
        if patch:
            found = await self.cog.library.edit(
                found.id, lambda raw: edited_card(raw, patch), expected_revision=found.revision
            )
        if interaction.message is not None and not interaction.message.flags.components_v2:
            note = t(interaction.locale, "edit.saved" if patch else "edit.unchanged")
            await interaction.edit_original_response(content=note, view=None, attachments=[])
            return
        await self.browser.show(interaction, Spot(found.id))


def edited_card(raw: JsonObject, patch: Mapping[str, object]) -> JsonObject:
    """The card with the patch, and with the day of its change where it tells that."""
    return edit_card(raw, patch, now=int(time.time()))


def _with_greeting(first: str, others: Sequence[str], place: str, text: str) -> dict[str, object]:
    """The patch that sets a greeting; an emptied one leaves the list. Empty when nothing changes."""
    blank = not text.strip()
    if place == _ADDED:
        return {} if blank else {"alternate_greetings": [*others, text]}
    index = int(place)
    if index > len(others):
        raise Conflict("It has been changed meanwhile.", code="RESOURCE_CHANGED")
    if texts.same((first, *others)[index], text) and not (blank and index):
        return {}
    if index == 0:
        return {"first_mes": text}
    kept = [text if number == index else other for number, other in enumerate(others, start=1)]
    return {
        "alternate_greetings": [each for number, each in enumerate(kept, 1) if number != index or not blank]
    }
