"""Resource rows: a large card comes in."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import struct
import zlib

from engine.library.drafts import draft_of_card
from engine.resources import export_card, png, read_card
from tests.perf.measure import Row, compare

__all__ = ["measure"]

FILE = 10_000_000  # bytes of the card's file
ENTRIES = 3_000  # of its world book: 1.5 MB of JSON
SIDE = 1_700  # pixels, which noise cannot pack: the other 8.5 MB
WORDS = "the lantern hung low over a quay where nobody waited and the tide kept its own counsel " * 5


async def measure() -> list[Row]:
    """All resource rows."""
    data = card()
    assert abs(len(data) - FILE) < 500_000
    document = read_card(data).raw

    async def take_in() -> None:
        await asyncio.to_thread(draft_of_card, data, "large.png")

    async def read() -> None:
        await asyncio.to_thread(read_card, data, "large.png")

    async def write() -> None:
        await asyncio.to_thread(export_card, document, "png", original=data)

    body = base64.b64encode(json.dumps(document).encode())

    def bare() -> None:
        json.loads(base64.b64decode(body))

    return [
        await compare(
            "import of a 10 MB card",
            take_in,
            "bare base64 and json",
            bare,
            goal=36.0,  # 300 ms where the bare parse takes 8; half of it is the avatar
            rounds=8,
        ),
        await compare(
            "read of a 10 MB card",
            read,
            "bare base64 and json",
            bare,
            goal=16.0,  # every field of 3,000 entries is read with its repairs
            rounds=8,
        ),
        await compare(
            "export of a 10 MB card as PNG",
            write,
            "bare base64 and json",
            bare,
            goal=36.0,  # it reads the imported file for the order of its fields, and writes the card twice
            rounds=8,
        ),
    ]


def card() -> bytes:
    """A V3 card with a large world book in a picture of noise."""
    entries = [
        {
            "keys": [f"key{n}", f"other{n}"],
            "content": WORDS,
            "insertion_order": n,
            "extensions": {"position": 4},
        }
        for n in range(ENTRIES)
    ]
    data = {"name": "Large", "first_mes": WORDS, "character_book": {"name": "Lore", "entries": entries}}
    raw = {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}
    noise = random.Random(7).randbytes
    rows = b"".join(
        b"\0" + noise(SIDE * 3 * 7 // 8) + b"\0" * (SIDE * 3 - SIDE * 3 * 7 // 8) for _ in range(SIDE)
    )
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    picture = (
        png.SIGNATURE + png.chunk(b"IHDR", header) + png.chunk(b"IDAT", zlib.compress(rows, 1)) + png.IEND
    )
    text = png.text_chunk("ccv3", base64.b64encode(json.dumps(raw).encode()))
    return png.with_texts(picture, lambda word: False, (text,))
