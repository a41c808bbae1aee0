"""The pictures and other files that a card brings along: which there are, and their bytes on demand.

They stay in the file as it was imported; a card of hundreds of megabytes of pictures costs
the memory of the one that is shown. Source: spec sillytavern 1.2.11, 1.4.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.errors import ResourceError
from engine.resources import png
from engine.resources.archive import Archive, holds_archive, is_unsafe, open_archive
from engine.resources.diagnostic import Diagnostics

__all__ = [
    "ASSET_CHUNK",
    "MAX_ASSET",
    "PICTURES",
    "Asset",
    "AssetCategory",
    "AssetPlace",
    "choose_icon",
    "list_assets",
    "place_of",
    "read_asset",
]

AssetPlace = Literal["file", "inline", "remote", "default", "unknown"]
AssetCategory = Literal["icon", "sprite", "background", "misc", "other"]

PICTURES = frozenset({"png", "jpg", "jpeg", "webp", "gif", "apng", "avif", "bmp", "jfif"})
MAX_ASSET = 16 * 1024 * 1024  # bytes; Discord shows nothing larger than 10 MiB
MAX_ASSETS = 2_000  # the largest sprite packs have some hundreds

_INSIDE = ("embeded://", "embedded://", "__asset:")  # the first is how the specification spells it
ASSET_CHUNK = "chara-ext-asset_"  # of a PNG of RisuAI's; the newer ones have a colon behind
_SPRITES = {"emotion", "expression"}
_ICONS = {"icon", "user_icon"}
_DATA_URL = re.compile(r"data:(?:image|audio|video|application)/([\w.+-]+)?[^,]{0,100},", re.IGNORECASE)
_URL_SAFE = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of a card. `index` is its place in the card's list; names repeat.

    `category` is what it is good for: `icon`, `sprite` (a picture for a mood), `background`, `misc`
    (another picture), `other` (no picture). `label` is a short tidy name. `path` is where it stands
    inside the file, when `place` is `file`.
    """

    index: int
    kind: str
    name: str
    ext: str
    uri: str
    place: AssetPlace
    path: str
    category: AssetCategory
    label: str


def list_assets(data: Mapping[str, Any], notes: Diagnostics) -> tuple[Asset, ...]:
    """The assets that a card's data names: V3's list, then RisuAI's own."""
    found: list[Asset] = []
    for index, (kind, name, ext, uri) in enumerate(_declared(data)):
        if len(found) >= MAX_ASSETS:
            notes.warn(
                "too-many-assets",
                "Only the first {count} files that come with the card are listed.",
                "data.assets",
                count=MAX_ASSETS,
            )
            break
        if uri:
            found.append(_asset(index, kind, name, ext, uri))
    return tuple(found)


def choose_icon(assets: Sequence[Asset]) -> Asset | None:
    """The avatar: of the icons that are pictures and at hand the one named `main`, else the first."""
    icons = [
        asset
        for asset in assets
        if asset.kind == "icon" and asset.ext in PICTURES and asset.place in ("file", "inline")
    ]
    return min(icons, key=lambda icon: icon.name.lower() != "main", default=None)


def read_asset(file: bytes, asset: Asset) -> bytes:
    """The bytes of an asset of the card in `file`, the file as it was imported.

    Raises ResourceError CARD_ASSET_REMOTE (an address: nothing is fetched), CARD_ASSET_MISSING,
    CARD_ASSET_UNSAFE (a path that leads out), ARTIFACT_TOO_LARGE, CHARACTER_DOCUMENT_INVALID (damaged).
    """
    if asset.place == "inline":
        match = _DATA_URL.match(asset.uri)
        return _decoded(asset.uri[match.end() :] if match else asset.uri)
    if asset.place != "file":
        raise ResourceError("This picture is not in the card's file.", code="CARD_ASSET_REMOTE")
    if is_unsafe(asset.path):
        raise ResourceError("This picture's path leads out of the file.", code="CARD_ASSET_UNSAFE")
    body = _chunk(file, asset.path) if file.startswith(png.SIGNATURE) else None
    if body is None and holds_archive(file):
        with open_archive(file, "a CHARX or ZIP file") as archive:
            path = place_of(archive, asset.path)
            body = None if path is None else archive.read(path, MAX_ASSET)
    if body is None:
        raise ResourceError("This picture is missing from the card's file.", code="CARD_ASSET_MISSING")
    return body


def place_of(archive: Archive, path: str) -> str | None:
    """Where a path of the card leads: from the root, or from the folder that the card itself is in."""
    if path in archive:
        return path
    folders = {name.rpartition("/")[0] for name in archive.members if name.endswith("/card.json")}
    beside = f"{next(iter(folders))}/{path}" if len(folders) == 1 else path
    return beside if beside in archive else None


def _declared(data: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """(kind, name, ext, uri) of each asset; an empty uri for what is none, so that places are kept."""
    listed = data.get("assets")
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict):
            yield _word(item, "type").lower(), _word(item, "name"), _word(item, "ext"), _word(item, "uri")
        else:
            yield "", "", "", ""
    extensions = data.get("extensions")
    risu = extensions.get("risuai") if isinstance(extensions, dict) else None
    for key, kind in (("emotions", "emotion"), ("additionalAssets", "x-risu-asset")):
        rows = risu.get(key) if isinstance(risu, dict) else None
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, list) and len(row) >= 2 and all(isinstance(cell, str) for cell in row[:2]):
                file = row[2] if len(row) > 2 and isinstance(row[2], str) else ""
                yield kind, row[0], _suffix(file) or _suffix(row[0]) or "png", row[1]


def _asset(index: int, kind: str, name: str, ext: str, uri: str) -> Asset:
    place, path = _placed(uri)
    match = _DATA_URL.match(uri) if place == "inline" else None
    ext = ext.lower().lstrip(".")
    if not ext or ext == "unknown":
        ext = _suffix(path) or (match[1] or "" if match else "").lower()
    category = _category(kind, ext)
    return Asset(index, kind, name, ext, uri, place, path, category, _label(name, category, index))


def _placed(uri: str) -> tuple[AssetPlace, str]:
    head = uri[:16].lower()
    for prefix in _INSIDE:
        if head.startswith(prefix):
            return "file", uri[len(prefix) :]
    if head.startswith("ccdefault:"):
        return "default", ""
    if head.startswith(("http://", "https://")):
        return "remote", ""
    if head.startswith("data:") or re.fullmatch(r"[A-Za-z0-9+/_=\s-]{64,}", uri[:256]):
        return "inline", ""
    return "unknown", ""


def _category(kind: str, ext: str) -> AssetCategory:
    if ext not in PICTURES:
        return "other"
    if kind in _ICONS:
        return "icon"
    if kind in _SPRITES:
        return "sprite"
    return "background" if kind == "background" else "misc"


def _label(name: str, category: AssetCategory, index: int) -> str:
    stem = name[: -len(end) - 1] if (end := _suffix(name)) in PICTURES else name
    gap = "_" if category == "background" else "-"
    return re.sub(r"[\W_]+", gap, stem[:200].lower()).strip(gap) or f"{category}-{index}"


def _chunk(file: bytes, path: str) -> bytes | None:
    names = {f"{ASSET_CHUNK}:{path}".lower(), f"{ASSET_CHUNK}{path}".lower()}
    chunks, _ = png.text_chunks(file, names.__contains__, Diagnostics())
    for chunk in chunks:
        text = chunk.text(Diagnostics())
        if text is not None:
            return _decoded(text.decode("latin-1"))
    return None


def _decoded(text: str) -> bytes:
    if len(text) > MAX_ASSET * 4 // 3:
        raise ResourceError("This picture is larger than is allowed.", code="ARTIFACT_TOO_LARGE")
    letters = "".join(text.split()).translate(_URL_SAFE).rstrip("=")
    try:
        return base64.b64decode(letters + "=" * (-len(letters) % 4))
    except (binascii.Error, ValueError) as error:
        raise ResourceError("This picture is damaged.", code="CHARACTER_DOCUMENT_INVALID") from error


def _suffix(path: str) -> str:
    name, dot, suffix = path.rpartition(".")
    return suffix.lower() if dot and name and re.fullmatch(r"\w{1,8}", suffix) else ""


def _word(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""
