"""A card as a file again: JSON, PNG or CHARX.

The file that was imported is the ground: its other chunks and pixels, or the other files of its
archive, stay byte for byte what they were. Exporting what was imported from an export gives the
same bytes. Source: spec sillytavern 1.2 (writing), tavern 1.3; decision 23.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Mapping
from typing import Any, Literal

import orjson

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources import png
from engine.resources.archive import holds_archive, open_archive, replaced, zipped
from engine.resources.asset import ASSET_CHUNK, Asset, list_assets, read_asset
from engine.resources.card_file import CARD_KEYWORDS, read_card
from engine.resources.card_json import PYGMALION, V1_FIELDS, card_data, card_spec
from engine.resources.charx import CARD_FILE, NOUN, card_member
from engine.resources.diagnostic import Diagnostics
from engine.resources.key_order import in_order_of
from engine.resources.picture import decoded, is_picture, saved

__all__ = ["CardFormat", "export_card", "export_filename"]

CardFormat = Literal["json", "png", "charx"]

_V2, _V3 = "chara_card_v2", "chara_card_v3"
_TEXTS_OF_V2 = ("creator_notes", "system_prompt", "post_history_instructions", "creator", "character_version")
_ICON = "assets/icon/image/main"
_FORBIDDEN = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)$")
_COVER_SIDE = 2048  # a picture that is no PNG is decoded to about this size


def export_card(raw: JsonObject, form: CardFormat, *, original: bytes | None = None) -> bytes:
    """The file of a card.

    `raw` is the card's object, edited or not; `original` the file that was imported, which gives the
    picture, the other chunks or files, and the order of the fields.
    A PNG holds the card twice, as V2 for old readers and as V3. Raises ResourceError.
    """
    document = in_order_of(raw, _document(original))
    if form == "json":
        return _pretty(document)
    picture = _picture(original)
    if form == "png":
        return _png(document, picture)
    return _charx(document, original, picture)


def export_filename(name: str, form: CardFormat) -> str:
    """A file name for a card's name that every system takes; the name itself is not changed."""
    stem = " ".join(_FORBIDDEN.sub("_", name).split()).strip(". ")[:80].rstrip(". ")
    if not stem or _RESERVED.match(stem):
        stem = f"_{stem}" if stem else "character"
    return f"{stem}.{form}"


def _document(original: bytes | None) -> Any:
    if original is None:
        return None
    try:
        return read_card(original).raw
    except ResourceError:
        return None  # what is exported is in `raw`; only the order of its fields is lost


def _picture(original: bytes | None) -> bytes | None:
    if original is None:
        return None
    if original.startswith(png.SIGNATURE):
        return original
    try:
        return read_card(original).image
    except ResourceError:
        return None


def _wrapped(raw: JsonObject) -> dict[str, Any]:
    """The object with `spec` and `data`: flat cards get theirs and keep their own fields beside it."""
    if isinstance(raw.get("data"), Mapping):
        return dict(raw)
    fields = card_data(raw, card_spec(raw))
    data: dict[str, Any] = {key: fields.get(key) or "" for key in V1_FIELDS + _TEXTS_OF_V2}
    data["creator_notes"] = fields.get("creator_notes") or fields.get("creatorcomment") or ""
    data |= {"alternate_greetings": [], "tags": [], "extensions": {}}
    known = (*data, "character_book", "nickname", "group_only_greetings", "assets", "source")
    data |= {key: fields[key] for key in known if fields.get(key) is not None and key not in V1_FIELDS}
    flat = {key: value for key, value in raw.items() if key not in PYGMALION.values()}
    return {**flat, **{key: data[key] for key in V1_FIELDS}, "spec": _V2, "spec_version": "2.0", "data": data}


def _as_v2(raw: JsonObject) -> dict[str, Any]:
    return {**_wrapped(raw), "spec": _V2, "spec_version": "2.0"}


def _as_v3(raw: JsonObject) -> dict[str, Any]:
    wrapped = _wrapped(raw)
    spec = wrapped.get("spec")
    if isinstance(spec, str) and spec.startswith("chara_card_v") and spec != _V2:
        return wrapped  # as new as it came
    return {**wrapped, "spec": _V3, "spec_version": "3.0"}


def _png(raw: JsonObject, picture: bytes | None) -> bytes:
    texts = tuple(
        png.text_chunk(keyword, base64.b64encode(orjson.dumps(document)))
        for keyword, document in (("chara", _as_v2(raw)), ("ccv3", _as_v3(raw)))
    )
    return png.with_texts(_cover(picture), CARD_KEYWORDS.__contains__, texts)


def _cover(picture: bytes | None) -> bytes:
    """A PNG of the picture: itself, when it is one."""
    if picture is None:
        return _placeholder()
    if picture.startswith(png.SIGNATURE):
        return picture
    try:
        pixels, _ = decoded(picture, _COVER_SIDE)
    except ResourceError:
        return _placeholder()
    return saved(pixels, "PNG")


def _placeholder() -> bytes:
    """400 x 600 pixels of lamplight fading into dusk."""
    rows = b"".join(
        b"\0" + bytes((232 - row // 4, 163 - row // 5, 85 - row // 12)) * 400 for row in range(600)
    )
    header = struct.pack(">IIBBBBB", 400, 600, 8, 2, 0, 0, 0)
    return b"".join(
        (
            png.SIGNATURE,
            png.chunk(b"IHDR", header),
            png.chunk(b"IDAT", zlib.compress(rows, 9)),
            png.IEND,
        )
    )


def _charx(raw: JsonObject, original: bytes | None, picture: bytes | None) -> bytes:
    document = _as_v3(raw)
    if original is not None and not original.startswith(png.SIGNATURE) and holds_archive(original):
        with open_archive(original, NOUN) as archive:
            path = card_member(archive)
        if path is not None:
            return replaced(original, path, _pretty(document), NOUN)
    members: dict[str, bytes] = {}
    if picture is not None and is_picture(picture[:12]):
        ext = _extension(picture)
        members[f"{_ICON}.{ext}"] = _stripped(picture)
        document = _with_icon(document, ext)
    for asset in list_assets(document["data"], Diagnostics()):
        body = _chunk_asset(original, asset)
        if body is not None:
            members.setdefault(asset.path, body)
    return zipped({CARD_FILE: _pretty(document), **members})


def _pretty(document: JsonObject) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def _with_icon(document: dict[str, Any], ext: str) -> dict[str, Any]:
    """The card with its picture as the icon `main`, in the place of one that stood for the file itself."""
    data = dict(document["data"])
    icon = {"type": "icon", "uri": f"embeded://{_ICON}.{ext}", "name": "main", "ext": ext}
    listed = data.get("assets")
    assets = [item for item in listed if not _is_default_icon(item)] if isinstance(listed, list) else []
    data["assets"] = [icon, *assets]
    return {**document, "data": data}


def _is_default_icon(item: object) -> bool:
    return (
        isinstance(item, Mapping)
        and item.get("type") == "icon"
        and str(item.get("uri", "")).lower().startswith("ccdefault:")
    )


def _chunk_asset(original: bytes | None, asset: Asset) -> bytes | None:
    """The bytes of a picture that stood in a chunk of the imported PNG."""
    if original is None or asset.place != "file" or not original.startswith(png.SIGNATURE):
        return None
    try:
        return read_asset(original, asset)
    except ResourceError:
        return None


def _extension(picture: bytes) -> str:
    if picture.startswith(png.SIGNATURE):
        return "png"
    return "webp" if picture.startswith(b"RIFF") else "jpg" if picture.startswith(b"\xff\xd8") else "gif"


def _stripped(picture: bytes) -> bytes:
    """The picture without the card in it, which the archive holds beside it."""
    if not picture.startswith(png.SIGNATURE):
        return picture
    return png.with_texts(picture, lambda word: word in CARD_KEYWORDS or word.startswith(ASSET_CHUNK), ())
