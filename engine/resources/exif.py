"""The EXIF comment of a JPEG or WebP: where tools of 2023 put a card when the picture was no PNG.

The comment is the card's JSON, or its bytes as decimal numbers with commas between. Nothing of
the picture is decoded. Source: spec sillytavern 1.2.10.
"""

from __future__ import annotations

import re
import struct

__all__ = ["user_comment"]

MAX_COMMENT = 2 * 1024 * 1024  # a card of half a MiB as decimal numbers
_EXIF_POINTER, _USER_COMMENT = 0x8769, 0x9286
_ENTRIES = 500  # of a directory; real ones have dozens
_SEGMENTS = 5_000  # of a file, before the comment is given up
_CHARSETS = (b"ASCII\0\0\0", b"UNICODE\0", b"JIS\0\0\0\0\0", b"\0" * 8)
_NUMBERS = re.compile(rb"\d{1,3}(?:,\d{1,3})+")


def user_comment(data: bytes) -> bytes | None:
    """The JSON bytes in the EXIF comment; None when there is none that looks like JSON."""
    tiff = _webp(data) if data.startswith(b"RIFF") else _jpeg(data)
    try:
        comment = _comment(tiff) if tiff else None
    except struct.error:  # an offset beyond the end
        return None
    if comment is None or len(comment) > MAX_COMMENT:
        return None
    unicode = comment.startswith(b"UNICODE\0")
    for charset in _CHARSETS:
        comment = comment.removeprefix(charset)
    comment = comment.strip(b" \t\r\n" if unicode else b" \t\r\n\0")
    if _NUMBERS.fullmatch(comment):
        numbers = [int(number) for number in comment.split(b",")]
        comment = bytes(numbers) if max(numbers) < 256 else b""
    elif unicode and comment[:1] == b"\0":
        comment = comment.decode("utf-16-be", "replace").encode()
    elif unicode and comment[1:2] == b"\0":
        comment = comment.decode("utf-16-le", "replace").encode()
    return comment if comment.startswith(b"{") else None


def _webp(data: bytes) -> bytes | None:
    at = 12
    for _ in range(_SEGMENTS):
        if at + 8 > len(data):
            return None
        kind, length = struct.unpack_from("<4sI", data, at)
        if kind == b"EXIF":
            return data[at + 8 : at + 8 + length].removeprefix(b"Exif\0\0")
        at += 8 + length + length % 2
    return None


def _jpeg(data: bytes) -> bytes | None:
    at = 2
    for _ in range(_SEGMENTS):
        if at + 4 > len(data) or data[at] != 0xFF:
            return None
        marker, length = struct.unpack_from(">xBH", data, at)
        if marker == 0xDA or length < 2:  # the pixels begin
            return None
        body = data[at + 4 : at + 2 + length]
        if marker == 0xE1 and body.startswith(b"Exif\0\0"):
            return body[6:]
        at += 2 + length
    return None


def _comment(tiff: bytes) -> bytes | None:
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None:
        return None
    (first,) = struct.unpack_from(order + "I", tiff, 4)
    pointer = _entry(tiff, order, first, _EXIF_POINTER)
    if pointer is None:
        return None
    comment = _entry(tiff, order, pointer[1], _USER_COMMENT)
    if comment is None:
        return None
    length, at = comment
    return tiff[at : at + length]


def _entry(tiff: bytes, order: str, directory: int, tag: int) -> tuple[int, int] | None:
    """(count, value or offset) of a directory's entry."""
    (count,) = struct.unpack_from(order + "H", tiff, directory)
    for index in range(min(count, _ENTRIES)):
        found, _, length, value = struct.unpack_from(order + "HHII", tiff, directory + 2 + 12 * index)
        if found == tag:
            return length, value
    return None
