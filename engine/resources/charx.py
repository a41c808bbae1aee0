"""CHARX: a ZIP with `card.json` in it and the card's files beside it. Source: spec sillytavern 1.4.

Only the card and its icon are read; the other files stay where they are until somebody asks
(`read_asset`), and RisuAI's binary module stays closed.
"""

from __future__ import annotations

from typing import Any

from engine.errors import ResourceError
from engine.resources.archive import Archive, is_unsafe
from engine.resources.asset import MAX_ASSET, Asset, choose_icon, place_of
from engine.resources.card import CARD, Card
from engine.resources.diagnostic import Diagnostics
from engine.resources.document import read_document

__all__ = ["CARD_FILE", "NOUN", "card_member", "charx_document", "charx_icon"]

NOUN = "a CHARX or ZIP file"
CARD_FILE = "card.json"
_MODULE = "module.risum"


def charx_document(archive: Archive, notes: Diagnostics) -> Any:
    """The JSON of the card. Raises ResourceError CHARACTER_DOCUMENT_*."""
    path = card_member(archive)
    if path is None:
        raise ResourceError(
            f"There is no {CARD_FILE} in this file, so it is no CHARX card.", code=CARD.invalid
        )
    if path != CARD_FILE:
        notes.warn("card-in-folder", "card.json was in a folder of the CHARX; it was read anyway.")
    if archive.members[path].file_size > CARD.max_bytes:
        raise ResourceError(
            f"The text of a character card may have {CARD.max_bytes // 1048576} MiB.", code=CARD.too_large
        )
    document = read_document(archive.read(path, CARD.max_bytes), CARD, notes)
    if isinstance(document, dict) and "spec" not in document:
        notes.warn("missing-spec", "card.json does not say what it is; it was read as an old card.")
    if _MODULE in archive:
        notes.warn(
            "risu-scripts-kept",
            "The card has RisuAI scripts, which work only in RisuAI; they are kept for export.",
            _MODULE,
        )
    return document


def card_member(archive: Archive) -> str | None:
    """The path of the card's JSON: at the root, or the only one in a folder."""
    if CARD_FILE in archive:
        return CARD_FILE
    nested = [path for path in archive.members if path.endswith(f"/{CARD_FILE}") and not is_unsafe(path)]
    return nested[0] if len(nested) == 1 else None


def charx_icon(archive: Archive, card: Card, notes: Diagnostics) -> bytes | None:
    """The card's picture; None with a note when it cannot be used. Notes every file that is not there."""
    icon = choose_icon(card.assets)
    for asset in card.assets:
        where = f"data.assets.{asset.index}"
        if asset.place != "file":
            continue
        if is_unsafe(asset.path):
            notes.warn(
                "unsafe-asset",
                "A file's path leads out of the archive; it was left out ({name}).",
                where,
                name=asset.name or asset.kind,
            )
        elif place_of(archive, asset.path) is None:
            notes.warn(
                "missing-asset",
                "A file that the card names is not in the archive ({name}).",
                where,
                name=asset.name or asset.path,
            )
    return None if icon is None else _icon(archive, icon, notes)


def _icon(archive: Archive, icon: Asset, notes: Diagnostics) -> bytes | None:
    path = None if icon.place != "file" or is_unsafe(icon.path) else place_of(archive, icon.path)
    if path is None:
        return None
    try:
        return archive.read(path, MAX_ASSET)
    except ResourceError:
        notes.warn("unreadable-asset", "The icon could not be unpacked; the card has no picture.")
        return None
