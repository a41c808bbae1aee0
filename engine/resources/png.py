"""The text chunks of a PNG, by a walk over chunk headers with a cap on everything.

A card file can hold hundreds of megabytes of asset chunks, a zTXt chunk can unpack to
anything, and files in the wild have wrong checksums and no end. Source: spec sillytavern 1.2.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostics

__all__ = [
    "IEND",
    "SIGNATURE",
    "TextChunk",
    "chunk",
    "picture_only",
    "text_chunk",
    "text_chunks",
    "with_texts",
]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
IEND = b"\0\0\0\0IEND\xaeB`\x82"
MAX_CHUNKS = 10_000  # spec tavern 1.3; 25 MB of picture in the usual 8 KiB chunks are 3,200
MAX_TEXT = 16 * 1024 * 1024  # one text chunk, packed or unpacked
MAX_KEYWORD = 79  # the PNG standard's own limit

# What is needed to paint the picture. Everything else, text above all, stays out of the decoder.
_PAINTED = {b"IHDR", b"PLTE", b"tRNS", b"IDAT"}

TextForm = Literal["tEXt", "iTXt", "zTXt"]


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A text chunk that was asked for: its keyword as written, the chunk type, what follows the keyword."""

    keyword: str
    form: TextForm
    packed: memoryview
    sound: bool
    """Whether the checksum is right."""

    def text(self, notes: Diagnostics) -> bytes | None:
        """The unpacked bytes; None with a note when they are damaged. A wrong checksum is noted.

        Unpacks only now, so that a file of a thousand bombs costs no more than the one that is looked at.
        Raises ResourceError CHARACTER_DOCUMENT_TOO_LARGE past the cap.
        """
        if len(self.packed) > MAX_TEXT:
            raise _too_large(self.keyword)
        if not self.sound:
            notes.warn(
                "wrong-checksum",
                "The checksum of the “{keyword}” chunk is wrong; it was read anyway.",
                keyword=self.keyword,
            )
        return _unpack(self.form, bytes(self.packed), self.keyword, notes)


def text_chunks(
    data: bytes, wanted: Callable[[str], bool], notes: Diagnostics
) -> tuple[list[TextChunk], int]:
    """The text chunks whose lower-cased keyword is `wanted`, in file order, and how many
    other text chunks there are.

    A chunk cut short and a missing end are noted, not refused. Raises ResourceError
    CHARACTER_DOCUMENT_INVALID when it is no PNG, ARTIFACT_TOO_LARGE when it has too many chunks.
    """
    found: list[TextChunk] = []
    others = 0
    for part in _chunks(data, notes):
        form = _FORMS.get(part.kind)
        if form is None:
            continue
        name = _keyword(part.body)
        if name is None or not wanted(name.lower()):
            others += 1
            continue
        sound = zlib.crc32(part.body, zlib.crc32(part.kind)) == part.crc
        found.append(TextChunk(name, form, part.body[len(name) + 1 :], sound))
    return found, others


def picture_only(data: bytes) -> bytes:
    """The same picture with only the chunks that paint it and right checksums."""
    parts: list[bytes | memoryview] = [SIGNATURE]
    for part in _chunks(data, Diagnostics()):
        if part.kind in _PAINTED:
            parts += _framed(part.kind, part.body)
    parts.append(IEND)
    return b"".join(parts)


def text_chunk(keyword: str, text: bytes) -> bytes:
    """A tEXt chunk with its checksum."""
    return chunk(b"tEXt", keyword.encode("latin-1") + b"\0" + text)


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk with its checksum."""
    return b"".join(_framed(kind, body))


def with_texts(data: bytes, dropped: Callable[[str], bool], added: tuple[bytes, ...]) -> bytes:
    """The picture without the text chunks whose lower-cased keyword is `dropped`, and with whole chunks
    `added` before its end.

    Everything else is byte for byte what it was, wrong checksums and what follows the end included. A
    missing end is added; a chunk that was cut short is made whole if it paints, else left out. Raises as
    `text_chunks`.
    """
    parts: list[bytes | memoryview] = [SIGNATURE]
    view = memoryview(data)
    at = len(SIGNATURE)
    for part in _chunks(data, Diagnostics(), cut=True):
        at = part.end
        if part.kind in _FORMS and dropped((_keyword(part.body) or "").lower()):
            continue
        if part.whole:
            parts.append(view[part.start : part.end])
        elif part.kind in _PAINTED:
            parts += _framed(part.kind, part.body)
    tail = view[at:]  # begins with the end mark, unless the file has none
    parts += [*added, tail if bytes(tail[4:8]) == b"IEND" else IEND]
    return b"".join(parts)


_FORMS: dict[bytes, TextForm] = {b"tEXt": "tEXt", b"iTXt": "iTXt", b"zTXt": "zTXt"}


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Where a chunk stands, and its parts. The body is a view, no copy."""

    start: int
    end: int
    kind: bytes
    body: memoryview
    crc: int
    whole: bool = True


def _chunks(data: bytes, notes: Diagnostics, *, cut: bool = False) -> Iterator[_Chunk]:
    """The whole chunks before IEND; with `cut` also a last one that the file's end cuts off."""
    if not data.startswith(SIGNATURE):
        raise ResourceError("This is no PNG picture.", code="CHARACTER_DOCUMENT_INVALID")
    view = memoryview(data)
    at = len(SIGNATURE)
    for count in range(MAX_CHUNKS + 1):
        if len(data) - at < 8:
            break
        length, kind = struct.unpack_from(">I4s", data, at)
        if count == 0 and (kind != b"IHDR" or length != 13):
            raise ResourceError(
                "This PNG picture is damaged: it has no header.",
                code="CHARACTER_DOCUMENT_INVALID",
                why="damaged-file",
            )
        if kind == b"IEND":
            return
        end = at + 8 + length
        if end + 4 > len(data):
            notes.warn("cut-short", "The picture file is cut short; what came before the cut was read.")
            if cut:
                yield _Chunk(at, len(data), kind, view[at + 8 : end], 0, whole=False)
            return
        yield _Chunk(at, end + 4, kind, view[at + 8 : end], struct.unpack_from(">I", data, end)[0])
        at = end + 4
    else:
        raise ResourceError(
            f"This PNG picture has more than {MAX_CHUNKS:,} parts.", code="ARTIFACT_TOO_LARGE"
        )
    notes.warn("missing-end", "The picture file has no end mark; it was read anyway.")


def _framed(kind: bytes, body: bytes | memoryview) -> tuple[bytes | memoryview, ...]:
    crc = zlib.crc32(body, zlib.crc32(kind))
    return struct.pack(">I", len(body)), kind, body, struct.pack(">I", crc)


def _keyword(body: memoryview) -> str | None:
    keyword, separator, _ = bytes(body[: MAX_KEYWORD + 1]).partition(b"\0")
    return keyword.decode("latin-1") if separator else None


def _unpack(form: TextForm, rest: bytes, name: str, notes: Diagnostics) -> bytes | None:
    if form == "tEXt":
        return rest
    if form == "zTXt":
        return _inflate(rest[1:], name, notes)
    # iTXt: compression flag, method, language NUL, translated keyword NUL, text
    packed = rest[:1] == b"\1"
    parts = rest[2:].split(b"\0", 2)
    if len(parts) != 3:
        notes.warn("broken-chunk", "The chunk “{keyword}” is damaged and was skipped.", keyword=name)
        return None
    return _inflate(parts[2], name, notes) if packed else parts[2]


def _inflate(packed: bytes, name: str, notes: Diagnostics) -> bytes | None:
    """Unpack at most MAX_TEXT bytes, so that no bomb goes off."""
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(packed, MAX_TEXT + 1)
    except zlib.error:
        notes.warn("broken-chunk", "The chunk “{keyword}” is damaged and was skipped.", keyword=name)
        return None
    if len(text) > MAX_TEXT:
        raise _too_large(name)
    return text


def _too_large(name: str) -> ResourceError:
    return ResourceError(
        f"The “{name}” text in this picture is larger than {MAX_TEXT // 1048576} MiB.",
        code="CHARACTER_DOCUMENT_TOO_LARGE",
    )
