"""`/card`: the characters of a server's library."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import discord
from discord import app_commands
from discord.ext import commands

from bot import forms, texts
from bot.along import Along
from bot.browse import Spot
from bot.cardpanel import CARD_TEXTS, PORTRAIT, CardView, card_edit_panel, card_line, card_panel
from bot.choices import CardOption
from bot.client import Inglenook
from bot.details import card_details
from bot.excerpts import plain
from bot.greetingdesk import GreetingDesk, edited_card
from bot.i18n import label, t
from bot.press import Handler, chosen
from bot.rights import check_sets_channel
from bot.shelfcog import SORTS, Panel, ShelfCog
from bot.texts import Wording
from bot.venues import base_channel, server, story_parent
from engine.codec import JsonObject
from engine.library import ResourceRow, forms_of
from engine.llm.narrator.scene import estimate_tokens
from engine.resources import card_facts, mended_texts

__all__ = ["Cards", "setup"]

_NAMES = ("name", "nickname", "creator", "character_version", "tags")


class Cards(
    ShelfCog,
    commands.GroupCog,
    group_name=label("commands.card.name"),
    group_description=label("commands.card.description"),
):
    """The verbs of `ux` 5; and the buttons under the panels, which outlive a restart."""

    kind = "card"
    noun = "card"

    def __init__(self, bot: Inglenook) -> None:
        super().__init__(bot)
        self._greetings = GreetingDesk(self)
        self._along = Along(self.library, "card", "card-edit", self._owner_of_books)

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            **super().presses_served(),
            **self._greetings.presses(),
            **self._along.browser.presses(),
            "card-play": self._play,
            "card-mend": self._mend,
            "card-relink": self._relink,
            "card-field": self._field,
            "card-names": self._names_entered,
            "card-text": self._text_entered,
        }

    # -- commands ----------------------------------------------------------------------------------

    @app_commands.command(
        name=label("commands.card.import.name"), description=label("commands.card.import.description")
    )
    @app_commands.rename(
        file=label("commands.card.import.options.file.name"),
        url=label("commands.card.import.options.url.name"),
    )
    @app_commands.describe(
        file=label("commands.card.import.options.file.description"),
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
        name=label("commands.card.list.name"), description=label("commands.card.list.description")
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
        name=label("commands.card.show.name"), description=label("commands.card.show.description")
    )
    @app_commands.rename(card=label("commands.card.show.options.card.name"))
    @app_commands.describe(card=label("commands.card.show.options.card.description"))
    async def show(self, interaction: discord.Interaction, card: CardOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.show_row(interaction, await self.named(interaction, card))

    @app_commands.command(
        name=label("commands.card.bind.name"), description=label("commands.card.bind.description")
    )
    @app_commands.rename(card=label("commands.card.bind.options.card.name"))
    @app_commands.describe(card=label("commands.card.bind.options.card.description"))
    async def bind(self, interaction: discord.Interaction, card: CardOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.bind_row(interaction, await self.named(interaction, card))

    @app_commands.command(
        name=label("commands.card.unbind.name"), description=label("commands.card.unbind.description")
    )
    async def unbind(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        channel = base_channel(interaction)
        check_sets_channel(interaction)
        await self.bot.bindings.choose(server(interaction).id, channel, "card", None)
        text = t(interaction.locale, "card.unbound", channel=f"<#{channel}>")
        await interaction.followup.send(text, ephemeral=True)

    @app_commands.command(
        name=label("commands.card.edit.name"), description=label("commands.card.edit.description")
    )
    @app_commands.rename(card=label("commands.card.show.options.card.name"))
    @app_commands.describe(card=label("commands.card.show.options.card.description"))
    async def edit(self, interaction: discord.Interaction, card: CardOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.open_edit(interaction, card)

    @app_commands.command(
        name=label("commands.card.export.name"), description=label("commands.card.export.description")
    )
    @app_commands.rename(
        card=label("commands.card.show.options.card.name"),
        form=label("commands.card.export.options.form.name"),
    )
    @app_commands.describe(
        card=label("commands.card.show.options.card.description"),
        form=label("commands.card.export.options.form.description"),
    )
    @app_commands.choices(
        form=[app_commands.Choice(name=form.upper(), value=form) for form in forms_of("card")]
    )
    async def export_(
        self, interaction: discord.Interaction, card: CardOption, form: str | None = None
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.export(interaction, await self.named(interaction, card), form)

    @app_commands.command(
        name=label("commands.card.delete.name"), description=label("commands.card.delete.description")
    )
    @app_commands.rename(card=label("commands.card.delete.options.card.name"))
    @app_commands.describe(card=label("commands.card.delete.options.card.description"))
    async def delete(self, interaction: discord.Interaction, card: CardOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.ask_delete(interaction, await self.named(interaction, card))

    # -- how a card looks --------------------------------------------------------------------------

    async def panel(self, interaction: discord.Interaction, found: ResourceRow, *, arrived: bool) -> Panel:
        avatar = await self.library.avatar(found.id)
        files = []
        if avatar is not None:
            ending = (found.avatar_type or "image/png").rpartition("/")[2]
            files.append(discord.File(io.BytesIO(avatar), f"{PORTRAIT}.{ending}"))
        name = await self.bot.engine.persona_name(interaction.user.id, interaction.user.display_name)
        view = await self._view(found, files[0].filename if files else None)
        if arrived and not found.known and not found.relinked:
            view = replace(view, lost=await self.library.lost(found))
        return card_panel(view, self.reader(interaction, found, name), arrived=arrived), files

    async def edit_panel(self, interaction: discord.Interaction, found: ResourceRow, note: str = "") -> Panel:
        return card_edit_panel(await self._view(found), self.reader(interaction, found), note), []

    async def details(self, found: ResourceRow, locale: str) -> bytes:
        card = await self.library.card(found.id)
        return await asyncio.to_thread(card_details, found, card, locale)

    def entry_text(self, found: ResourceRow, locale: str) -> str:
        return card_line(found, locale)

    async def _view(self, found: ResourceRow, picture: str | None = None) -> CardView:
        card = await self.library.card(found.id)
        return CardView(
            row=found,
            card=card,
            facts=await asyncio.to_thread(card_facts, card, estimate_tokens),
            scripts_allowed=await self.library.consents.given(found.owner, found.id),
            picture=picture,
            books=len(await self.library.relations.books("card", found.id)),
        )

    # -- play and bind -----------------------------------------------------------------------------

    async def _play(self, interaction: discord.Interaction, card_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        parent = story_parent(interaction)
        found = await self.row_of(interaction, card_id)
        opened = await self.bot.stories.open(
            parent, found, user_id=interaction.user.id, user_name=interaction.user.display_name
        )
        text = t(interaction.locale, "play.opened", thread=opened.thread.mention)
        await interaction.followup.send(text, ephemeral=True)

    async def _relink(self, interaction: discord.Interaction, card_id: str) -> None:
        await interaction.response.defer()
        found = await self.editable(interaction, card_id)
        found = await self.library.relink(found.id, chosen(interaction)[0])
        await self.replace_panel(interaction, await self.panel(interaction, found, arrived=True))

    async def bind_row(self, interaction: discord.Interaction, found: ResourceRow) -> None:
        channel = base_channel(interaction)
        check_sets_channel(interaction)
        await self.bot.bindings.choose(server(interaction).id, channel, "card", found.id)
        await self.library.touch(found.id)
        key = "card.bound" if channel == interaction.channel_id else "card.bound_parent"
        text = t(interaction.locale, key, name=plain(found.name, 200), channel=f"<#{channel}>")
        await interaction.followup.send(text, ephemeral=True)

    # -- editing -----------------------------------------------------------------------------------

    async def _mend(self, interaction: discord.Interaction, card_id: str, revision: str) -> None:
        await interaction.response.defer()
        found = await self.editable(interaction, card_id, revision)
        mended = await self.library.edit(found.id, _mended, expected_revision=found.revision)
        await self.replace_panel(interaction, await self.panel(interaction, mended, arrived=False))

    async def _field(self, interaction: discord.Interaction, card_id: str) -> None:
        found = await self.editable(interaction, card_id)
        (field,) = chosen(interaction)
        if field == "names":
            await self._ask_names(interaction, found)
        elif field in ("greetings", "books"):
            await interaction.response.defer()
            browser = self._greetings.browser if field == "greetings" else self._along.browser
            await browser.show(interaction, Spot(found.id))
        elif field in CARD_TEXTS:
            name = t(interaction.locale, f"card.edit.{field}")
            text = str(getattr(await self.library.card(found.id), field))
            wording = Wording(text, name, f"{field}.txt", t(interaction.locale, f"card.edit.{field}_hint"))
            await texts.edit(interaction, "card-text", (found.id, found.revision, field), wording)

    async def _ask_names(self, interaction: discord.Interaction, found: ResourceRow) -> None:
        card, locale = await self.library.card(found.id), interaction.locale
        values = {key: str(getattr(card, key)) for key in _NAMES[:-1]} | {"tags": ", ".join(card.tags)}
        fields = [
            forms.TextField(
                key,
                t(locale, f"card.edit.{key}"),
                values[key],
                long=key == "tags",
                required=key == "name",
                most=200 if key == "name" and len(values[key]) <= 200 else forms.LONGEST,
                hint=t(locale, f"card.edit.{key}_hint"),
            )
            for key in _NAMES
            if len(values[key]) <= forms.LONGEST
        ]
        title = t(locale, "card.edit.names")
        await forms.ask(
            interaction, forms.form("card-names", found.id, found.revision, title=title, fields=fields)
        )

    async def _names_entered(self, interaction: discord.Interaction, card_id: str, revision: str) -> None:
        await interaction.response.defer()
        entered, card = forms.entered(interaction), await self.library.card(card_id)
        patch: dict[str, object] = {
            key: text
            for key, text in entered.items()
            if key != "tags" and not texts.same(str(getattr(card, key)), text)
        }
        if "tags" in entered and not texts.same(", ".join(card.tags), entered["tags"]):
            patch["tags"] = _tags(entered["tags"])
        await self._change(interaction, card_id, revision, patch)

    async def _text_entered(
        self, interaction: discord.Interaction, card_id: str, revision: str, field: str
    ) -> None:
        await interaction.response.defer()
        text = await texts.changed(interaction)
        before = str(getattr(await self.library.card(card_id), field))
        await self._change(interaction, card_id, revision, {} if texts.same(before, text) else {field: text})

    async def _change(
        self, interaction: discord.Interaction, card_id: str, revision: str, patch: Mapping[str, object]
    ) -> None:
        found = await self.editable(interaction, card_id, revision)
        note = t(interaction.locale, "edit.saved" if patch else "edit.unchanged")
        if patch:
            found = await self.library.edit(
                found.id, lambda raw: edited_card(raw, patch), expected_revision=int(revision)
            )
        await self.edited(interaction, found, note)

    async def _owner_of_books(self, interaction: discord.Interaction, card_id: str) -> str:
        return (await self.editable(interaction, card_id)).owner


def _mended(raw: JsonObject) -> JsonObject:
    mended: JsonObject = mended_texts(raw)
    return mended


def _tags(text: str) -> Sequence[str]:
    parts = text.replace("，", ",").replace("、", ",").replace("\n", ",").split(",")
    return [tag for part in parts if (tag := " ".join(part.split()))]


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Cards(bot))
