"""A stored resource as a file again. Pure and slow (pictures): run it off the event loop.

What nobody edited goes out as it came in; an edit changes only what it touched (decision 23). Relations
and consents are never part of it. Source: spec tavern 1.0, 1.1, 1.5, 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import orjson

from engine.codec import JsonObject, loads
from engine.errors import ResourceError
from engine.library.rows import ResourceRow
from engine.resources import OWN_KEY, CardFormat, export_card, export_filename, holds_archive, in_order_of

__all__ = ["ExportFile", "export_file", "forms_of"]

_TYPES = {"json": "application/json", "png": "image/png", "charx": "application/zip"}
_CARD_FORMS = ("png", "json", "charx")


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file to hand out."""

    filename: str
    media_type: str
    body: bytes


def forms_of(kind: str) -> tuple[str, ...]:
    """In which forms a kind can be exported, the usual one first."""
    return _CARD_FORMS if kind == "card" else ("json",)


def export_file(row: ResourceRow, document: JsonObject, original: bytes, form: str | None) -> ExportFile:
    """The file of a resource; without `form` in the one it came in, else the usual one.

    Raises ResourceError EXPORT_FORM_UNKNOWN.
    """
    chosen = form or (_form_of(original) if row.kind == "card" else "json")
    if chosen not in forms_of(row.kind):
        raise ResourceError(
            "It cannot be exported in this form.", code="EXPORT_FORM_UNKNOWN", form=chosen[:20]
        )
    # A card's own file names differ in their ending only, and the rules of file systems are all the same.
    filename = export_filename(row.name, cast(CardFormat, chosen))
    if row.kind == "card":
        body = export_card(document, cast(CardFormat, chosen), original=original)
    else:
        body = _json(row, document, original)
    return ExportFile(filename, _TYPES[chosen], body)


def _json(row: ResourceRow, document: JsonObject, original: bytes) -> bytes:
    value: Any = document
    if row.kind == "regex":
        value = document["regex_scripts"]
        if row.summary.get("single") and len(value) == 1:
            value = value[0]
    if row.kind == "preset":
        value = {key: item for key, item in document.items() if key != OWN_KEY}
    came = _parsed(original)
    if came == value and row.kind != "preset":
        return original
    return orjson.dumps(in_order_of(value, came), option=orjson.OPT_INDENT_2)


def _parsed(original: bytes) -> Any:
    try:
        return loads(original)
    except ValueError:
        return None  # a book from a picture, or a file whose JSON had to be mended


def _form_of(original: bytes) -> str:
    if original.startswith(b"\x89PNG"):
        return "png"
    return "charx" if holds_archive(original) else "json"
