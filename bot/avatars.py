"""Pictures for faces: hung up once as an attachment, found again by key, their address renewed in time.

A webhook shows a picture only by an address that Discord itself can fetch. An attachment's
address is signed and expires after about a day; fetching its message gives a fresh one (spec
discord B4). The key is the hash of the picture, so one upload serves every story.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import discord
import structlog

from engine.storage import Store, Write

__all__ = ["Avatars"]

log = structlog.get_logger(__name__)

_RENEW_BEFORE_MS = 3_600_000  # an address that is about to expire may die while a message is sent
_UNSIGNED_FOR_MS = 12 * 3_600_000  # an address without an expiry is looked at again after this time


class Avatars:
    """Where each picture hangs. `clock` gives milliseconds since 1970.

    Nothing here raises: a character without a picture still speaks.
    """

    def __init__(
        self,
        client: discord.Client,
        store: Store,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._client = client
        self._store = store
        self._clock = clock
        self._busy: dict[str, asyncio.Lock] = {}

    async def url(self, key: str) -> str | None:
        """An address that is good for another hour at least; None when the picture hangs nowhere."""
        row = await self._store.fetch_one("avatar_get", key=key)
        if row is None:
            return None
        if row["expires_at"] - self._clock() > _RENEW_BEFORE_MS:
            return str(row["url"])
        return await self._renewed(key, row["channel_id"], row["message_id"])

    async def hang(
        self, key: str, channel_id: int, image: bytes, media_type: str = "image/png"
    ) -> str | None:
        """The address of the picture; hung up in the channel first if it hangs nowhere yet.

        `image` is a square as the library makes it. None when it cannot be sent there.
        """
        async with self._busy.setdefault(key, asyncio.Lock()):
            if (known := await self.url(key)) is not None:
                return known
            file = discord.File(io.BytesIO(image), f"{key[:16]}.{media_type.rpartition('/')[2]}")
            try:
                message = await self._client.get_partial_messageable(channel_id).send(file=file, silent=True)
            except (discord.HTTPException, OSError) as error:
                log.warning("avatars.not_hung", channel=channel_id, error=str(error))
                return None
            return await self.remember(key, message)

    async def remember(self, key: str, message: discord.Message) -> str | None:
        """The picture hangs in this message already (a card's panel, a story's first post): use it.
        None when the message shows no picture."""
        pictures = [each for each in message.attachments if (each.content_type or "").startswith("image/")]
        if not pictures:
            return None
        url = pictures[0].url
        params = {
            "key": key,
            "channel_id": message.channel.id,
            "message_id": message.id,
            "url": url,
            "expires_at": _expiry_ms(url) or self._clock() + _UNSIGNED_FOR_MS,
            "now": self._clock(),
        }
        await self._store.commit(Write("avatar_put", params))
        return url

    async def _renewed(self, key: str, channel_id: int, message_id: int) -> str | None:
        try:
            message = await self._client.get_partial_messageable(channel_id).fetch_message(message_id)
        except (discord.NotFound, discord.Forbidden):
            await self._store.commit(Write("avatar_drop", {"key": key}))
            return None
        except (discord.HTTPException, OSError) as error:
            log.info("avatars.not_renewed", channel=channel_id, error=str(error))
            return None
        return await self.remember(key, message)


def _expiry_ms(url: str) -> int | None:
    """When a signed address expires: its `ex` is in hexadecimal seconds."""
    value = parse_qs(urlsplit(url).query).get("ex", [""])[0]
    try:
        return int(value, 16) * 1000
    except ValueError:
        return None
