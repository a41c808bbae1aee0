"""A card from the bytes of a file: JSON, PNG or CHARX, whatever the name says.

Source: spec sillytavern 1.2 to 1.4. Pure and bounded; a caller with an event loop runs
it in a thread.
"""

from __future__ import annotations

import base64
import binascii

from engine.errors import ResourceError
from engine.resources import png
from engine.resources.card import CARD, Card, parse_card
from engine.resources.charx import LOCAL_HEADER, read_charx
from engine.resources.diagnostic import Diagnostics
from engine.resources.document import read_document

__all__ = ["MAX_FILE", "read_card"]

MAX_FILE = 32 * 1024 * 1024  # the seeds' cap for an imported card

_KEYWORDS = frozenset({"chara", "ccv3", "naidata"})
_FORM_ORDER = ("tEXt", "iTXt", "zTXt")  # inside one keyword the form that the spec names wins
_ENCRYPTED = b"rcc||"
_PICTURES = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"RIFF", "WebP"),
    (b"BM", "BMP"),
    (b"\0\0\0\x1cftypavif", "AVIF"),
    (b"\0\0\0 ftypavif", "AVIF"),
)
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def read_card(data: bytes, filename: str = "") -> Card:
    """Read a character card. `card.warnings` says what was mended.

    Raises ResourceError with a text for the person who sent the file and a code: CARD_INVALID,
    CARD_TOO_LARGE, CARD_NOT_FOUND_IN_IMAGE, CARD_ENCRYPTED or CARD_CONTAINER_UNSUPPORTED.
    """
    if len(data) > MAX_FILE:
        raise ResourceError(
            f"A card file may have {MAX_FILE // 1048576} MiB; this one has {len(data) / 1048576:.0f} MiB.",
            code=CARD.too_large,
            bytes=len(data),
            max_bytes=MAX_FILE,
        )
    notes = Diagnostics()
    if data.startswith(png.SIGNATURE):
        return _from_png(data, filename, notes)
    head = data[:64].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:1]
    if head in (b"{", b"[", b'"'):
        return parse_card(read_document(data, CARD, notes), notes, filename=filename)
    if LOCAL_HEADER in data[: 1024 * 1024] or filename.lower().endswith((".charx", ".byaf", ".zip")):
        document, icon = read_charx(data, notes)
        return parse_card(document, notes, filename=filename, image=icon)
    raise _no_card(data)


def _from_png(data: bytes, filename: str, notes: Diagnostics) -> Card:
    chunks, others = png.text_chunks(data, _KEYWORDS, notes)
    failure: ResourceError | None = None
    for chunk in _by_precedence(chunks, notes):
        try:
            document = read_document(_payload(chunk), CARD, notes)
            return parse_card(document, notes, filename=filename, image=data)
        except ResourceError as error:
            if error.error_code != CARD.invalid:
                raise
            failure = failure or error
            notes.warn("unreadable-chunk", f"The “{chunk.keyword}” data could not be read: {error.message}")
    if failure is not None:
        raise failure
    if any(chunk.keyword.lower() == "naidata" for chunk in chunks):
        raise ResourceError(
            "This picture holds a NovelAI lorebook, no character card.", code="CARD_NOT_FOUND_IN_IMAGE"
        )
    some = "It has some text in it, but none of it is a card. " if others else "It is a plain picture. "
    raise ResourceError(
        f"There is no character card in this picture. {some}"
        "Many sites and apps remove the card when they shrink or convert a picture: "
        "use the original PNG file, or the card's JSON.",
        code="CARD_NOT_FOUND_IN_IMAGE",
    )


def _by_precedence(chunks: list[png.TextChunk], notes: Diagnostics) -> list[png.TextChunk]:
    """Card chunks, best first: ccv3 over chara wherever they stand, then the form, then file order."""
    cards = [chunk for chunk in chunks if chunk.keyword.lower() != "naidata"]
    cards.sort(key=lambda chunk: (chunk.keyword.lower() != "ccv3", _FORM_ORDER.index(chunk.form)))
    words = [chunk.keyword.lower() for chunk in cards]
    if len(words) != len(set(words)):
        notes.warn("several-cards", "The picture holds several cards of one kind; the first was read.")
    if len(set(words)) == 2:
        notes.info("png-v3-precedence", "The picture holds the card in two versions; the newer was read.")
    return cards


def _payload(chunk: png.TextChunk) -> bytes:
    """The JSON bytes of a chunk: base64 of any make, or plain JSON."""
    body = chunk.body.strip()
    if body.lstrip(b"\xef\xbb\xbf").startswith(b"{"):
        return body
    if body.startswith(_ENCRYPTED):
        raise _encrypted()
    letters = b"".join(body.split()).translate(_URL_SAFE).rstrip(b"=")
    try:
        decoded = base64.b64decode(letters + b"=" * (-len(letters) % 4), validate=False)
    except binascii.Error:
        raise ResourceError(
            f"The “{chunk.keyword}” data in this picture is damaged: it is no base64.", code=CARD.invalid
        ) from None
    if decoded.startswith(_ENCRYPTED):
        raise _encrypted()
    return decoded


def _encrypted() -> ResourceError:
    return ResourceError(
        "This is a password-protected RisuAI card. Open it in RisuAI and export it without a password.",
        code="CARD_ENCRYPTED",
    )


def _no_card(data: bytes) -> ResourceError:
    if not data.strip():
        return ResourceError("This file is empty.", code=CARD.invalid)
    for signature, name in _PICTURES:
        if data.startswith(signature):
            return ResourceError(
                f"This is a {name} picture, whatever its name says, and only PNG pictures can hold a card. "
                "Use the card's original PNG file, or its JSON.",
                code="CARD_NOT_FOUND_IN_IMAGE",
            )
    return ResourceError(
        "This is no character card. A card is a PNG picture, a JSON file or a CHARX file.", code=CARD.invalid
    )
