"""The text chunks of a PNG, by a walk over chunk headers with a cap on everything.

A card file can hold hundreds of megabytes of asset chunks, a zTXt chunk can unpack to
anything, and files in the wild have wrong checksums and no end. Source: spec sillytavern 1.2.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostics

__all__ = ["SIGNATURE", "TextChunk", "picture_only", "text_chunks"]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_CHUNKS = 10_000  # spec tavern 1.3; 25 MB of picture in the usual 8 KiB chunks are 3,200
MAX_TEXT = 16 * 1024 * 1024  # one text chunk, packed or unpacked
MAX_KEYWORD = 79  # the PNG standard's own limit

# What is needed to paint the picture. Everything else, text above all, stays out of the decoder.
_PAINTED = {b"IHDR", b"PLTE", b"tRNS", b"IDAT"}

TextForm = Literal["tEXt", "iTXt", "zTXt"]


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A text chunk that was asked for: its keyword as written, the chunk type, the unpacked bytes."""

    keyword: str
    form: TextForm
    body: bytes


def text_chunks(data: bytes, keywords: frozenset[str], notes: Diagnostics) -> tuple[list[TextChunk], int]:
    """The text chunks whose lower-cased keyword is one of `keywords`, in file order, and how many
    other text chunks there are.

    A wrong checksum, a chunk cut short and a missing end are noted, not refused. Raises
    ResourceError CARD_INVALID when it is no PNG, CARD_TOO_LARGE when a chunk passes its cap.
    """
    found: list[TextChunk] = []
    others = 0
    for kind, body, crc in _chunks(data, notes):
        form = _FORMS.get(kind)
        if form is None:
            continue
        keyword, separator, _ = bytes(body[: MAX_KEYWORD + 1]).partition(b"\0")
        name = keyword.decode("latin-1")
        if not separator or name.lower() not in keywords:
            others += 1
            continue
        if len(body) > MAX_TEXT:
            raise _too_large(name)
        if zlib.crc32(body, zlib.crc32(kind)) != crc:
            notes.warn("wrong-checksum", f"The checksum of the “{name}” chunk is wrong; it was read anyway.")
        unpacked = _unpack(form, bytes(body[len(keyword) + 1 :]), name, notes)
        if unpacked is not None:
            found.append(TextChunk(name, form, unpacked))
    return found, others


def picture_only(data: bytes) -> bytes:
    """The same picture with only the chunks that paint it and right checksums."""
    parts: list[bytes | memoryview] = [SIGNATURE]
    for kind, body, _ in _chunks(data, Diagnostics()):
        if kind in _PAINTED:
            parts += (
                struct.pack(">I", len(body)),
                kind,
                body,
                struct.pack(">I", zlib.crc32(body, zlib.crc32(kind))),
            )
    parts.append(b"\0\0\0\0IEND\xaeB`\x82")
    return b"".join(parts)


_FORMS: dict[bytes, TextForm] = {b"tEXt": "tEXt", b"iTXt": "iTXt", b"zTXt": "zTXt"}


def _chunks(data: bytes, notes: Diagnostics) -> Iterator[tuple[bytes, memoryview, int]]:
    """(type, body, stored checksum) of each whole chunk before IEND. Bodies are views, not copies."""
    if not data.startswith(SIGNATURE):
        raise ResourceError("This is no PNG picture.", code="CARD_INVALID")
    view = memoryview(data)
    at = len(SIGNATURE)
    for count in range(MAX_CHUNKS + 1):
        if len(data) - at < 8:
            break
        length, kind = struct.unpack_from(">I4s", data, at)
        if count == 0 and (kind != b"IHDR" or length != 13):
            raise ResourceError("This PNG picture is damaged: it has no header.", code="CARD_INVALID")
        if kind == b"IEND":
            return
        end = at + 8 + length
        if end + 4 > len(data):
            notes.warn("cut-short", "The picture file is cut short; what came before the cut was read.")
            return
        yield kind, view[at + 8 : end], struct.unpack_from(">I", data, end)[0]
        at = end + 4
    else:
        raise ResourceError(f"This PNG picture has more than {MAX_CHUNKS:,} parts.", code="CARD_TOO_LARGE")
    notes.warn("missing-end", "The picture file has no end mark; it was read anyway.")


def _unpack(form: TextForm, rest: bytes, name: str, notes: Diagnostics) -> bytes | None:
    if form == "tEXt":
        return rest
    if form == "zTXt":
        return _inflate(rest[1:], name, notes)
    # iTXt: compression flag, method, language NUL, translated keyword NUL, text
    packed = rest[:1] == b"\1"
    parts = rest[2:].split(b"\0", 2)
    if len(parts) != 3:
        notes.warn("broken-chunk", f"An iTXt chunk “{name}” is damaged and was skipped.")
        return None
    return _inflate(parts[2], name, notes) if packed else parts[2]


def _inflate(packed: bytes, name: str, notes: Diagnostics) -> bytes | None:
    """Unpack at most MAX_TEXT bytes, so that no bomb goes off."""
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(packed, MAX_TEXT + 1)
    except zlib.error:
        notes.warn("broken-chunk", f"The packed chunk “{name}” is damaged and was skipped.")
        return None
    if len(text) > MAX_TEXT:
        raise _too_large(name)
    return text


def _too_large(name: str) -> ResourceError:
    return ResourceError(
        f"The “{name}” text in this picture is larger than {MAX_TEXT // 1048576} MiB.", code="CARD_TOO_LARGE"
    )
