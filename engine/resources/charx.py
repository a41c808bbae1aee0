"""CHARX: a ZIP with `card.json` at its root and pictures beside it.

Only the card and its icon are read, each to a cap, by name from the ZIP's own table;
nothing is ever written to disk, so a path in it is only a name. BYAF and RisuAI's own
modules are not read yet. Source: spec sillytavern 1.4.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

from engine.errors import ResourceError
from engine.resources.card import CARD
from engine.resources.diagnostic import Diagnostics
from engine.resources.document import read_document

__all__ = ["LOCAL_HEADER", "read_charx"]

LOCAL_HEADER = b"PK\x03\x04"
MAX_MEMBERS = 10_000
MAX_ICON = 16 * 1024 * 1024
MAX_RATIO = 200  # packed to unpacked; JSON reaches 30, only bombs pass 200

_PREFIXES = ("embeded://", "embedded://", "__asset:")  # the misspelling is the specification's
_ICON_TYPES = ("png", "jpg", "jpeg", "webp", "gif", "apng", "avif", "bmp", "jfif")


def read_charx(data: bytes, notes: Diagnostics) -> tuple[Any, bytes | None]:
    """(card JSON, icon picture or None) of a CHARX, also of one behind a JPEG or a program stub.

    Raises ResourceError: CARD_INVALID, CARD_TOO_LARGE, CARD_CONTAINER_UNSUPPORTED.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise ResourceError(f"A CHARX may hold {MAX_MEMBERS:,} files.", code=CARD.too_large)
            document = read_document(
                _read(archive, _card_member(members, notes), CARD.max_bytes), CARD, notes
            )
            if isinstance(document, dict) and "spec" not in document:
                notes.warn("missing-spec", "card.json does not say what it is; it was read as an old card.")
            return document, _icon(archive, document, notes)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ResourceError(
            "This looks like a CHARX or ZIP file, but it is damaged or packed in a way that cannot be read.",
            code=CARD.invalid,
        ) from error


def _card_member(members: list[zipfile.ZipInfo], notes: Diagnostics) -> zipfile.ZipInfo:
    by_name = {member.filename: member for member in members}
    if "card.json" in by_name:
        return by_name["card.json"]
    nested = [member for member in members if member.filename.endswith("/card.json")]
    if len(nested) == 1:
        notes.warn("card-in-folder", "card.json was in a folder of the CHARX; it was read anyway.")
        return nested[0]
    if "manifest.json" in by_name:
        raise ResourceError(
            "This is a Backyard (BYAF) file. They cannot be imported yet: "
            "export the character as a PNG or JSON card instead.",
            code="CARD_CONTAINER_UNSUPPORTED",
        )
    raise ResourceError("There is no card.json in this file, so it is no CHARX card.", code=CARD.invalid)


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes:
    with archive.open(member) as stream:
        body = stream.read(limit + 1)  # the table's own sizes may lie
    if len(body) > limit or len(body) > MAX_RATIO * max(member.compress_size, 1024):
        raise ResourceError(
            f"“{member.filename[:80]}” in this file unpacks to more than is allowed.", code=CARD.too_large
        )
    return body


def _icon(archive: zipfile.ZipFile, document: Any, notes: Diagnostics) -> bytes | None:
    """The picture of the icon asset named `main`, else of the first icon; a bad one never costs the card."""
    path = _icon_path(document)
    if path is None:
        return None
    if path.startswith("/") or ".." in path.split("/") or ":" in path:
        notes.warn("unsafe-asset", "The icon's path leads out of the file; the card has no picture.")
        return None
    try:
        return _read(archive, archive.getinfo(path), MAX_ICON)
    except KeyError:
        notes.warn("missing-asset", "The icon is not in the file; the card has no picture.")
    except (ResourceError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError):
        notes.warn("unreadable-asset", "The icon could not be unpacked; the card has no picture.")
    return None


def _icon_path(document: Any) -> str | None:
    data = document.get("data") if isinstance(document, dict) else None
    assets = data.get("assets") if isinstance(data, dict) else None
    icons: list[tuple[bool, str]] = []
    for asset in assets if isinstance(assets, list) else ():
        if not isinstance(asset, dict) or asset.get("type") != "icon":
            continue
        uri, ext = str(asset.get("uri", "")), str(asset.get("ext", "")).lower()
        prefix = next((prefix for prefix in _PREFIXES if uri.lower().startswith(prefix)), None)
        if prefix is None or ext not in _ICON_TYPES:
            continue
        icons.append((str(asset.get("name", "")).lower() != "main", uri[len(prefix) :]))
    return min(icons, key=lambda icon: icon[0])[1] if icons else None
