"""Given a picture, when it hangs in a channel, then its address is found again and renewed in time."""

from __future__ import annotations

import io

import discord
from PIL import Image

from bot.avatars import Avatars
from bot.outbox import Face
from tests.bot.outbox.table import Table


def picture(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (200, 80, 20)).save(out, "PNG")
    return out.getvalue()


async def test_a_picture_is_hung_once_and_shown_by_the_character(table: Table) -> None:
    avatars = Avatars(table.client, table.store)
    url = await avatars.hang("k1", table.channel.id, picture(300, 400))
    assert url is not None and url.startswith(table.wire.urls.cdn)
    assert await avatars.hang("k1", table.channel.id, picture(300, 400)) == url
    assert await avatars.url("k1") == url
    assert len([shown for shown in table.screen(table.channel.id) if shown.files]) == 1
    await table.outbox.render(table.place(), Face("Mira", url), "Look at me.")
    assert table.screen()[0].raw["author"]["avatar"] is not None


async def test_an_address_is_renewed_before_it_expires(table: Table) -> None:
    now = [0]
    avatars = Avatars(table.client, table.store, clock=lambda: now[0])
    url = await avatars.hang("k1", table.channel.id, picture(50, 50))
    table.wire.log.clear()
    assert await avatars.url("k1") == url
    assert len(table.wire.log) == 0
    now[0] = 1 << 60
    assert await avatars.url("k1") is not None
    assert table.count("GET", r"/messages/\d+$") == 1


async def test_a_picture_whose_message_is_gone_hangs_nowhere(table: Table) -> None:
    now = [0]
    avatars = Avatars(table.client, table.store, clock=lambda: now[0])
    await avatars.hang("k1", table.channel.id, picture(50, 50))
    [shown] = [each for each in table.screen(table.channel.id) if each.files]
    await table.ana.delete(shown)
    now[0] = 1 << 60
    assert await avatars.url("k1") is None
    assert await avatars.hang("k1", table.channel.id, picture(50, 50)) is not None


async def test_a_picture_that_cannot_be_hung_is_none(table: Table) -> None:
    avatars = Avatars(table.client, table.store)
    assert await avatars.hang("k1", 1, picture(50, 50)) is None
    assert await avatars.url("k1") is None


async def test_a_picture_in_a_message_of_ours_can_be_used(table: Table) -> None:
    avatars = Avatars(table.client, table.store)
    message = await table.channel.send("A card", file=discord.File(io.BytesIO(picture(50, 50)), "card.png"))
    assert await avatars.remember("k1", message) == message.attachments[0].url
    assert await avatars.remember("k2", await table.channel.send("No picture")) is None
