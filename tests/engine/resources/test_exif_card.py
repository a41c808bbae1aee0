"""Cards of 2023 in the EXIF comment of pictures that are no PNG."""

import json
import struct

import pytest

from engine.errors import ResourceError
from engine.resources import read_card
from tests.engine.resources.pngs import v2

CARD = json.dumps(v2("Zoë"), ensure_ascii=False).encode()


def tiff(comment: bytes, order: str = "<") -> bytes:
    """A directory that points to one with a comment."""
    first = struct.pack(order + "H", 1) + struct.pack(order + "HHII", 0x8769, 4, 1, 26) + b"\0\0\0\0"
    second = (
        struct.pack(order + "H", 1) + struct.pack(order + "HHII", 0x9286, 7, len(comment), 44) + b"\0\0\0\0"
    )
    return (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8) + first + second + comment


def webp(comment: bytes, order: str = "<") -> bytes:
    exif = tiff(comment, order)
    body = b"WEBP" + b"VP8 \x03\0\0\0xyz\0" + b"EXIF" + struct.pack("<I", len(exif)) + exif
    return b"RIFF" + struct.pack("<I", len(body)) + body


def jpeg(comment: bytes) -> bytes:
    exif = b"Exif\0\0" + tiff(comment, ">")
    head = b"\xff\xd8\xff\xe0\0\x04ab"
    return head + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + b"\xff\xda"


@pytest.mark.parametrize(
    "comment",
    [
        CARD,
        b"ASCII\0\0\0" + CARD,
        b"\0" * 8 + CARD + b"\0",
        b"UNICODE\0" + CARD.decode().encode("utf-16-be"),
        b"UNICODE\0" + CARD.decode().encode("utf-16-le"),
        ",".join(map(str, CARD)).encode(),
    ],
)
def test_the_comment_is_the_card_in_any_spelling(comment: bytes) -> None:
    for data in (webp(comment), webp(comment, ">"), jpeg(comment)):
        card = read_card(data, "zoe.png")
        assert (card.name, card.image) == ("Zoë", data)
        assert [remark.code for remark in card.warnings] == ["exif-card"]


@pytest.mark.parametrize(
    "data",
    [
        webp(b"ASCII\0\0\0a nice picture"),
        webp(b"999,999"),
        jpeg(b"")[:40],
        webp(CARD)[:60],
        b"RIFF\xff\xff\xff\xffWEBP" + b"\0" * 100,
        b"\xff\xd8\xff\xe1\0\x20Exif\0\0II*\0\xff\xff\xff\xff",
    ],
)
def test_without_a_card_the_picture_is_called_what_it_is(data: bytes) -> None:
    with pytest.raises(ResourceError) as caught:
        read_card(data, "a.png")
    assert caught.value.error_code == "CARD_NOT_FOUND_IN_IMAGE"
    assert caught.value.data["format"] in caught.value.message
