"""A card from the bytes of a file: JSON, YAML, PNG, CHARX, BYAF, whatever the name says.

Source: spec sillytavern 1.2 to 1.4. Pure and bounded; a caller with an event loop runs
it in a thread.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace

from engine.errors import ResourceError
from engine.resources import png
from engine.resources.archive import holds_archive, open_archive
from engine.resources.asset import choose_icon, read_asset
from engine.resources.byaf import MANIFEST, byaf_document, byaf_icon
from engine.resources.card import CARD, Card
from engine.resources.card_json import parse_card
from engine.resources.card_yaml import yaml_document
from engine.resources.charx import NOUN, card_member, charx_document, charx_icon
from engine.resources.diagnostic import Diagnostics
from engine.resources.document import read_document
from engine.resources.exif import user_comment
from engine.resources.yaml_text import looks_like_yaml

__all__ = ["CARD_KEYWORDS", "MAX_FILE", "read_card"]

MAX_FILE = 32 * 1024 * 1024  # the seeds' cap for an imported card
CARD_KEYWORDS = frozenset({"chara", "ccv3"})

_KEYWORDS = CARD_KEYWORDS | {"naidata"}
_FORM_ORDER = ("tEXt", "iTXt", "zTXt")  # inside one keyword the form that the spec names wins
_TRIES = 4  # card chunks of one file that are looked at; a thousand broken ones would take a minute
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

    Raises ResourceError with a text for the person who sent the file and a code: ARTIFACT_TOO_LARGE,
    CHARACTER_DOCUMENT_TOO_LARGE, CHARACTER_DOCUMENT_INVALID, CARD_NOT_FOUND_IN_IMAGE, CARD_ENCRYPTED.
    """
    if len(data) > MAX_FILE:
        raise ResourceError(
            f"A card file may have {MAX_FILE // 1048576} MiB; this one has {len(data) / 1048576:.0f} MiB.",
            code="ARTIFACT_TOO_LARGE",
            bytes=len(data),
            max_bytes=MAX_FILE,
        )
    if not data.strip():
        raise ResourceError("This file is empty.", code=CARD.invalid, why="empty-file")
    notes = Diagnostics()
    if data.startswith(png.SIGNATURE):
        return _from_png(data, filename, notes)
    head = data[:64].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:1]
    if head in (b"{", b"[", b'"'):
        return _from_json(read_document(data, CARD, notes), filename, notes)
    if holds_archive(data) or filename.lower().endswith((".charx", ".byaf", ".zip")):
        return _from_archive(data, filename, notes)
    if (name := _picture(data)) is not None:
        return _from_picture(data, name, filename, notes)
    if looks_like_yaml(data, filename):
        return _from_json(yaml_document(data, notes), filename, notes)
    raise ResourceError(
        "This is no character card. A card is a PNG picture, a JSON or YAML file, a CHARX or a BYAF file.",
        code=CARD.invalid,
    )


def _from_json(document: object, filename: str, notes: Diagnostics) -> Card:
    card = parse_card(document, notes, filename=filename)
    icon = choose_icon(card.assets)
    if icon is None or icon.place != "inline":
        return card
    try:
        return replace(card, image=read_asset(b"", icon))
    except ResourceError:
        notes.warn("unreadable-asset", "The icon could not be unpacked; the card has no picture.")
        return replace(card, warnings=notes.all())


def _from_archive(data: bytes, filename: str, notes: Diagnostics) -> Card:
    with open_archive(data, NOUN) as archive:
        if card_member(archive) is None and MANIFEST in archive:
            card = parse_card(byaf_document(archive, notes), notes, filename=filename)
            image = byaf_icon(archive, notes)
        else:
            card = parse_card(charx_document(archive, notes), notes, filename=filename)
            image = charx_icon(archive, card, notes)
    return replace(card, image=image, warnings=notes.all())


def _from_picture(data: bytes, name: str, filename: str, notes: Diagnostics) -> Card:
    """A picture that is no PNG: one of 2023 holds its card in the EXIF data."""
    comment = user_comment(data)
    if comment is None:
        raise ResourceError(
            f"This is a {name} picture, whatever its name says, and only PNG pictures can hold a card. "
            "Use the card's original PNG file, or its JSON.",
            code="CARD_NOT_FOUND_IN_IMAGE",
            why="picture-of-a-kind",
            format=name,
        )
    notes.info("exif-card", "The card stood in the EXIF data of a {format} picture.", format=name)
    return parse_card(read_document(comment, CARD, notes), notes, filename=filename, image=data)


def _from_png(data: bytes, filename: str, notes: Diagnostics) -> Card:
    chunks, others = png.text_chunks(data, _KEYWORDS.__contains__, notes)
    cards = _by_precedence(chunks, notes)
    failure: ResourceError | None = None
    for chunk in cards[:_TRIES]:
        try:
            text = chunk.text(notes)
            if text is None:
                continue
            document = read_document(_payload(chunk.keyword, text), CARD, notes)
            _note_version(chunk.keyword, document, notes)
            return parse_card(document, notes, filename=filename, image=data)
        except ResourceError as error:
            if error.error_code != CARD.invalid:
                raise
            failure = failure or error
            notes.warn(
                "unreadable-chunk",
                "The “{keyword}” data could not be read: {reason}",
                keyword=chunk.keyword,
                reason=error.message,
            )
    if failure is not None:
        raise failure
    if cards:
        raise ResourceError("The card in this picture is damaged.", code=CARD.invalid, why="damaged-file")
    if holds_archive(data):
        return _from_archive(data, filename, notes)
    raise _no_card_in_png(naidata=len(chunks) > len(cards), others=others)


def _note_version(keyword: str, document: object, notes: Diagnostics) -> None:
    if keyword.lower() == "chara" and isinstance(document, dict) and document.get("spec") == "chara_card_v3":
        notes.info("v3-in-legacy-chunk", "A V3 card stood where the picture keeps its V2 card.")


def _by_precedence(chunks: list[png.TextChunk], notes: Diagnostics) -> list[png.TextChunk]:
    """Card chunks, best first: ccv3 over chara wherever they stand, then the form, then file order."""
    cards = [chunk for chunk in chunks if chunk.keyword.lower() in CARD_KEYWORDS]
    cards.sort(key=lambda chunk: (chunk.keyword.lower() != "ccv3", _FORM_ORDER.index(chunk.form)))
    words = [chunk.keyword.lower() for chunk in cards]
    if len(words) != len(set(words)):
        notes.warn("several-cards", "The picture holds several cards of one kind; the first was read.")
    if len(set(words)) == 2:
        notes.info("png-v3-precedence", "The picture holds the card in two versions; the newer was read.")
    return cards


def _payload(keyword: str, text: bytes) -> bytes:
    """The JSON bytes of a chunk: base64 of any make, or plain JSON."""
    body = text.strip()
    if body.lstrip(b"\xef\xbb\xbf").startswith(b"{"):
        return body
    if body.startswith(_ENCRYPTED):
        raise _encrypted()
    letters = b"".join(body.split()).translate(_URL_SAFE).rstrip(b"=")
    try:
        decoded = base64.b64decode(letters + b"=" * (-len(letters) % 4), validate=False)
    except binascii.Error:
        raise ResourceError(
            f"The “{keyword}” data in this picture is damaged: it is no base64.",
            code=CARD.invalid,
            why="damaged-file",
        ) from None
    if decoded.startswith(_ENCRYPTED):
        raise _encrypted()
    return decoded


def _encrypted() -> ResourceError:
    return ResourceError(
        "This is a password-protected RisuAI card. Open it in RisuAI and export it without a password.",
        code="CARD_ENCRYPTED",
    )


def _picture(data: bytes) -> str | None:
    return next((name for signature, name in _PICTURES if data.startswith(signature)), None)


def _no_card_in_png(*, naidata: bool, others: int) -> ResourceError:
    if naidata:
        return ResourceError(
            "This picture holds a NovelAI lorebook, no character card.",
            code="CARD_NOT_FOUND_IN_IMAGE",
            why="like-world-book",
        )
    some = "It has some text in it, but none of it is a card. " if others else "It is a plain picture. "
    return ResourceError(
        f"There is no character card in this picture. {some}"
        "Many sites and apps remove the card when they shrink or convert a picture: "
        "use the original PNG file, or the card's JSON.",
        code="CARD_NOT_FOUND_IN_IMAGE",
    )
