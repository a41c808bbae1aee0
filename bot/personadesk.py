"""What every view of somebody's personas needs: whose they are, their panel where one is, their files."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence

import discord

from bot.bindings import Bindings
from bot.excerpts import plain
from bot.faces import Faces
from bot.i18n import t
from bot.namesakes import Namesakes
from bot.personapanel import NAME, PersonaView, persona_panel
from bot.remarks import remark_text
from bot.sheet import Layout
from bot.stories import library_owner
from bot.uploads import read_upload
from engine.errors import InputError
from engine.host import Engine
from engine.library import PersonasCame, ResourceRow, StoredPersona
from engine.resources import Avatar, make_persona_picture, read_text

__all__ = ["PersonaDesk", "came_text", "text_of"]

_TEXT_BYTES = 512 * 1024  # the longest description that a persona may have, in Chinese
_REMARKS = 3
_NAMES = 10  # of a backup's personas that are named


class PersonaDesk:
    """Reads personas for their people. `picture_bytes` is the largest picture that is looked at."""

    def __init__(self, engine: Engine, bindings: Bindings, faces: Faces, picture_bytes: int) -> None:
        self._engine = engine
        self._bindings = bindings
        self._picture_bytes = picture_bytes
        self.personas = engine.library.personas
        self._namesakes = Namesakes(engine, bindings, faces)

    async def own(self, interaction: discord.Interaction, persona_id: str) -> StoredPersona:
        """The persona of a button, which has to be the person's own. Raises NotFound USER_NOT_FOUND."""
        return await self.personas.get(str(interaction.user.id), persona_id)

    async def remark(self, interaction: discord.Interaction, name: str) -> str | None:
        """What there is to say about a name in the story here; see `Namesakes`."""
        return await self._namesakes.remark(interaction, name)

    async def panel(
        self, interaction: discord.Interaction, stored: StoredPersona, note: str
    ) -> tuple[Layout, Sequence[discord.File]]:
        """The panel of a persona as it is seen where the person is, and the files that go along."""
        picture = await self.personas.avatar(stored.id)
        files = [] if picture is None else [discord.File(io.BytesIO(picture), "persona.png")]
        books: dict[str, str] = {book.id: book.name for book in await self.library_books(interaction)}
        remarks = [
            await self._namesakes.remark(interaction, stored.persona.name),
            await self._called_otherwise(interaction, stored),
        ]
        view = PersonaView(
            picture=files[0].filename if files else None,
            books=[books[each] for each in await self.along(interaction, stored) if each in books],
            has_books=bool(books),
            has_story=self._bindings.of_channel(interaction.channel_id or 0) is not None,
            note=note,
            remarks=[remark for remark in remarks if remark is not None],
        )
        return persona_panel(stored, view, str(interaction.locale)), files

    async def _called_otherwise(self, interaction: discord.Interaction, stored: StoredPersona) -> str | None:
        """For whoever began the story here and plays this persona while the card speaks to another name."""
        binding = self._bindings.of_channel(interaction.channel_id or 0)
        if binding is None or not stored.active:
            return None
        play = await self._engine.plays.get(binding.play_id)
        called = await self._engine.user_name(await self._engine.plays.selection(play.id))
        if play.created_by != stored.user_id or called in ("", stored.persona.name):
            return None
        return t(interaction.locale, "persona.user_stays", name=plain(called, NAME))

    async def library_books(self, interaction: discord.Interaction) -> Sequence[ResourceRow]:
        """The world books of the library here."""
        owner = library_owner(interaction)
        return await self._engine.library.list(owner, "world_book")

    async def along(self, interaction: discord.Interaction, stored: StoredPersona) -> Sequence[str]:
        """The books of the library here that come along with the persona."""
        owner = library_owner(interaction)
        return await self._engine.library.relations.books("persona", stored.id, within={owner})

    async def picture(self, file: discord.Attachment | None) -> Avatar | None:
        """A picture that somebody gave, made fit. Raises as `read_upload`, ResourceError IMAGE_INVALID,
        IMAGE_TOO_LARGE."""
        if file is None:
            return None
        upload = await read_upload(file, self._picture_bytes)
        return await asyncio.to_thread(make_persona_picture, upload.body)


def came_text(came: PersonasCame, locale: str) -> str:
    """What an import brought, in a line or a few."""
    count = len(came.personas)
    lines = []
    if count == 1:
        name = plain(came.personas[0].persona.name, NAME)
        lines.append(t(locale, "persona.imported", name=name))
    elif count:
        names = ", ".join(plain(each.persona.name, NAME) for each in came.personas[:_NAMES])
        lines.append(
            t(locale, "persona.imported_many", n=count, names=names + ("…" if count > _NAMES else ""))
        )
    if came.known:
        lines.append(t(locale, "persona.imported_known", n=came.known))
    remarks = list(dict.fromkeys(remark_text(locale, remark) for remark in came.warnings))
    lines += [f"-# {plain(text, 240)}" for text in remarks[:_REMARKS]]
    if len(remarks) > _REMARKS:
        lines.append("-# " + t(locale, "persona.remarks_more", n=len(remarks) - _REMARKS))
    return "\n".join(lines)


async def text_of(file: discord.Attachment) -> str:
    """The text of a file. Raises InputError TEXT_NOT_READ, and as `read_upload`."""
    upload = await read_upload(file, _TEXT_BYTES)
    text = read_text(upload.body)
    if text is None:
        raise InputError("This file is no text.", code="TEXT_NOT_READ", file=plain(upload.filename, 100))
    return text
