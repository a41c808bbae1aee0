"""Changing a card: only what was changed is written into the object that came.

Source: spec tavern 1.3 (the fields, `tags: null`), 10.12 to 10.18; decision 23.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.codec import JsonObject, dumps
from engine.errors import ResourceError
from engine.resources.card import CARD
from engine.resources.card_json import PYGMALION, card_data, card_spec
from engine.resources.diagnostic import Diagnostics
from engine.resources.fields import Fields, clean_text, visible_line

__all__ = ["EDITABLE", "edit_card"]

_TEXTS = (
    "name",
    "nickname",
    "description",
    "personality",
    "scenario",
    "first_mes",
    "mes_example",
    "creator_notes",
    "system_prompt",
    "post_history_instructions",
    "creator",
    "character_version",
)
_LISTS = ("alternate_greetings", "tags")
EDITABLE: tuple[str, ...] = _TEXTS + _LISTS
"""The fields that may be edited, under the names that the file and `Card` give them."""

MAX_NAME = 200  # characters, as of every resource


def edit_card(raw: JsonObject, patch: Mapping[str, object], *, now: int | None = None) -> dict[str, Any]:
    """The card's JSON object with some of the `EDITABLE` fields changed; `raw` itself is not touched.

    A field whose value is what the card already reads as is left as it came, line ends and nulls
    included; only a list that is null becomes an array when it is set. Everything unknown stays.
    V1 and Pygmalion cards keep their shape. Copies that a V2 or V3 card has at its top level
    change along, so that every reader sees the same. `now`, in unix seconds, becomes the
    modification date of a V3 card that has not withheld it.

    Raises ResourceError CARD_FIELD_UNKNOWN, CARD_FIELD_INVALID (`field` names it) or
    CHARACTER_DOCUMENT_TOO_LARGE; nothing is changed then.
    """
    values = {key: _checked(key, value) for key, value in patch.items()}
    spec = card_spec(raw)
    data = card_data(raw, spec)
    fields = Fields(data, "", Diagnostics(), CARD.invalid)
    changed = {key: value for key, value in values.items() if not _same(fields, key, value)}
    if not changed:
        return dict(raw)
    wrapped = spec in ("v2", "v3") and isinstance(raw.get("data"), Mapping)
    edited = dict(raw)
    if wrapped:
        inner = dict(raw["data"])
        inner.update(changed)
        if spec == "v3" and now is not None and inner.get("modification_date") != 0:
            inner["modification_date"] = now
        edited["data"] = inner
        edited.update({place: value for key, value in changed.items() for place in _copies(raw, key)})
    else:
        edited.update({_flat_name(raw, spec, key): value for key, value in changed.items()})
    size = len(dumps(edited))
    if size > CARD.max_bytes:
        raise ResourceError(
            f"The text of a character card may have {CARD.max_bytes // 1048576} MiB.",
            code=CARD.too_large,
            bytes=size,
            max_bytes=CARD.max_bytes,
        )
    return edited


def _checked(key: str, value: object) -> str | list[str]:
    if key not in EDITABLE:
        raise ResourceError(
            f"“{key[:80]}” is no field that can be edited.", code="CARD_FIELD_UNKNOWN", field=key[:80]
        )
    if key in _LISTS:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise _invalid(key, "must be a list of texts")
        if not all(isinstance(item, str) for item in value):
            raise _invalid(key, "must hold nothing but texts")
        return [_storable(key, item) for item in value]
    if not isinstance(value, str):
        raise _invalid(key, "must be text")
    if key == "name" and not 0 < len(visible_line(value)) <= MAX_NAME:
        raise _invalid(key, f"needs 1 to {MAX_NAME} characters")
    return _storable(key, value)


def _storable(key: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _invalid(key, "holds broken characters") from None
    return clean_text(text)


def _same(fields: Fields, key: str, value: str | list[str]) -> bool:
    """Whether the card reads as this value already. What cannot be read differs from every value."""
    try:
        if isinstance(value, str):
            return fields.text(key, loose=True) == value
        if key in fields and fields.source[key] is None:
            return False  # null and [] read alike, but only an edit makes an array of it
        return list(fields.texts(key, comma=key == "tags")) == value
    except ResourceError:
        return False


def _copies(raw: JsonObject, key: str) -> list[str]:
    """The places at the top level that repeat a field."""
    names = (key, "creatorcomment") if key == "creator_notes" else (key,)
    return [name for name in names if name in raw]


def _flat_name(raw: JsonObject, spec: str, key: str) -> str:
    if spec == "pygmalion":
        return PYGMALION.get(key, key)
    if key == "creator_notes" and "creatorcomment" in raw and not raw.get("creator_notes"):
        return "creatorcomment"
    return key


def _invalid(key: str, rule: str) -> ResourceError:
    return ResourceError(f"The field {key} {rule}.", code="CARD_FIELD_INVALID", field=key)
