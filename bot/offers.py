"""The offer under a posted file: where a server allows it, a small *Import* button under a card.

Nothing is imported by itself. A file counts by its content and not by its name: a picture without a
card in it is never offered, and in a story, where people show pictures to each other, only cards are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import discord
import structlog

from bot.bindings import Bindings
from bot.excerpts import one_line
from bot.i18n import t
from bot.press import button, row
from bot.settings import LimitSettings
from bot.sheet import PRIMARY, Layout, Sheet
from bot.uploads import Upload, read_upload
from engine.codec import canonical, loads
from engine.errors import EngineError, InputError
from engine.library import Kind, recognised
from engine.storage import Store, Write

__all__ = ["OFFER", "SWITCH", "Offers", "offers_panel"]

log = structlog.get_logger(__name__)

OFFER = "offer"
"""The op of the button; its arguments are the message and the attachment."""
SWITCH = "offers-set"
"""The op of the switch; its argument is 1 for on."""

_KEY = "offers"
_ENDINGS = frozenset({".png", ".apng", ".json", ".yaml", ".yml", ".charx", ".byaf"})
_FILES = 3  # of one message: whoever posts a whole pack is better served by `/card import`
_AT_ONCE = 2  # each may hold a file of 32 MiB in memory
_NAME = 60


@dataclass(frozen=True, slots=True)
class _Found:
    attachment: discord.Attachment
    kind: Kind


class Offers:
    """Whether a server wants offers, and what of a message is worth one."""

    def __init__(
        self, store: Store, bindings: Bindings, limits: LimitSettings, clock: Callable[[], int]
    ) -> None:
        self._store = store
        self._bindings = bindings
        self._limits = limits
        self._clock = clock
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def wanted(self, guild_id: int) -> bool:
        """Off unless somebody switched it on."""
        found = await self._store.fetch_one("guild_setting_get", guild_id=guild_id, key=_KEY)
        return found is not None and loads(found["value"]) is True

    async def switch(self, guild_id: int, on: bool) -> None:
        """From now on."""
        params = {"guild_id": guild_id, "key": _KEY, "value": canonical(on).decode(), "now": self._clock()}
        await self._store.commit(Write("guild_setting_put", params))

    async def consider(self, message: discord.Message) -> None:
        """Offer to import what a person posted, if it is something and the server wants that. Never raises
        for a file or for Discord: an offer that cannot be made is none."""
        if message.guild is None or message.author.bot or message.webhook_id is not None:
            return
        candidates = [each for each in message.attachments if self._worth_a_look(each)][:_FILES]
        if not candidates or not await self.wanted(message.guild.id):
            return
        in_story = self._bindings.of_channel(message.channel.id) is not None
        found = [one for each in candidates if (one := await self._look(each)) is not None]
        found = [each for each in found if each.kind == "card" or not in_story]
        if not found:
            return
        locale = str(message.guild.preferred_locale)
        try:
            await message.reply(
                f"-# {t(locale, 'import.offer')}",
                view=row(*_buttons(message, found, locale)),
                mention_author=False,
                silent=True,
            )
        except discord.HTTPException as error:
            log.info("offers.not_made", channel=message.channel.id, status=error.status)

    async def take(self, message: discord.Message, attachment_id: str) -> Upload:
        """The file of an offer. Raises InputError OFFER_GONE, and as `read_upload`."""
        for each in message.attachments:
            if str(each.id) == attachment_id:
                return await read_upload(each, self._limits.card_bytes)
        raise InputError("The file is not there any more.", code="OFFER_GONE")

    def _worth_a_look(self, attachment: discord.Attachment) -> bool:
        ending = PurePath(attachment.filename.lower()).suffix
        return ending in _ENDINGS and attachment.size <= self._limits.card_bytes

    async def _look(self, attachment: discord.Attachment) -> _Found | None:
        async with self._slots:
            try:
                upload = await read_upload(attachment, self._limits.card_bytes)
            except EngineError as error:
                log.info("offers.not_read", code=error.error_code)
                return None
            kind = await asyncio.to_thread(recognised, upload.body, upload.filename)
        return None if kind is None else _Found(attachment, kind)


def offers_panel(on: bool, locale: str) -> Layout:
    """Whether offers are made here, and the switch."""
    sheet = Sheet()
    state = t(locale, "offers.on" if on else "offers.off")
    sheet.text(f"## {t(locale, 'offers.title')}\n{t(locale, 'offers.about')}\n{state}")
    text = t(locale, "button.off" if on else "button.on")
    sheet.row(button(SWITCH, int(not on), label=text, style=PRIMARY))
    return sheet.layout()


def _buttons(
    message: discord.Message, found: Sequence[_Found], locale: str
) -> list[discord.ui.Button[discord.ui.View]]:
    word = t(locale, "button.import")
    return [
        button(
            OFFER,
            message.id,
            each.attachment.id,
            label=word if len(found) == 1 else f"{word}: {one_line(each.attachment.filename, _NAME)}",
        )
        for each in found
    ]
