"""PNG files of a test's own making, chunk by chunk."""

import base64
import json
import struct
import zlib
from typing import Any

SIGNATURE = b"\x89PNG\r\n\x1a\n"
IEND = b"\0\0\0\0IEND\xaeB`\x82"


def chunk(kind: bytes, body: bytes, crc: int | None = None) -> bytes:
    right = zlib.crc32(body, zlib.crc32(kind))
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", right if crc is None else crc)


def header(width: int = 2, height: int = 2) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


def pixels(width: int = 2, height: int = 2) -> bytes:
    row = b"\0" + b"\x80\x40\x20" * width
    return chunk(b"IDAT", zlib.compress(row * height))


def picture(*extra: bytes, end: bytes = IEND) -> bytes:
    """A 2 x 2 picture with chunks between the header and the pixels."""
    return SIGNATURE + header() + b"".join(extra) + pixels() + end


def encoded(card: Any) -> bytes:
    return base64.b64encode(json.dumps(card).encode())


def text(keyword: bytes, body: bytes) -> bytes:
    return chunk(b"tEXt", keyword + b"\0" + body)


def v2(name: str = "Ada", **data: Any) -> dict[str, Any]:
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": name, **data}}


def v3(name: str = "Ada", **data: Any) -> dict[str, Any]:
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": {"name": name, **data}}
