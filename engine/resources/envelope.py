"""The envelope in which personas and templates travel, and what it holds. Source: spec tavern 1.4, 1.6.

`{"format": "pmp-dsh-tavern", "version": 1, "resourceType": …, "data": {…}}`, read strictly: a field
that is not known, a name that stands twice, a wrong type refuse the file. It never carries relations.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

from engine.errors import ResourceError

__all__ = [
    "FORMAT",
    "MAX_TEMPLATE_BYTES",
    "TemplateFile",
    "only",
    "read_strictly",
    "read_template",
    "unwrap",
    "wrap",
    "write_template",
]

# The seeds' own name for it, so that files go to and from the program that they describe.
FORMAT = "pmp-dsh-tavern"
VERSION = 1
TEMPLATE = "session-template"
MAX_TEMPLATE_BYTES = 64 * 1024  # spec tavern 1.6
TEMPLATE_INVALID = "SESSION_TEMPLATE_DOCUMENT_INVALID"

_ENVELOPE = {"format", "version", "resourceType", "data"}
_MAX_ID = 200  # characters of a resource's id (spec tavern 2)
_MAX_LIST = 100  # books, regex lists, tools of one selection (spec tavern 2)
_HOSTILE = {"__proto__", "constructor", "prototype"}


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """A template in a file. Ids mean something in the library that it came from, and nowhere else."""

    name: str
    card_id: str | None = None
    preset_id: str | None = None
    persona_id: str | None = None
    greeting_index: int = 0
    prefer_system: bool = True
    prefer_post_history: bool = True
    book_ids: tuple[str, ...] = ()
    regex_ids: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def read_template(data: bytes) -> TemplateFile:
    """The template in a file.

    Raises ResourceError SESSION_TEMPLATE_BODY_TOO_LARGE, SESSION_TEMPLATE_DOCUMENT_INVALID (data: field).
    """
    value = read_strictly(
        data, "a template", MAX_TEMPLATE_BYTES, "SESSION_TEMPLATE_BODY_TOO_LARGE", TEMPLATE_INVALID
    )
    inner = unwrap(value, TEMPLATE, "a template", TEMPLATE_INVALID)
    read = _Strict(TEMPLATE_INVALID)
    read.only(inner, {"name", "selection"}, "data")
    selection = read.mapping(inner, "selection")
    read.only(selection, _SELECTION, "selection")
    character = read.mapping(selection, "character", {})
    read.only(character, set(_CHARACTER), "character")
    read.mapping(selection, "rp", {})  # what the desktop program locks; there is nothing of it here
    return TemplateFile(
        name=read.text(inner, "name"),
        card_id=read.one(selection, "characterCardId"),
        preset_id=read.one(selection, "presetId"),
        persona_id=read.one(selection, "userId"),
        greeting_index=read.index(character, "greetingIndex"),
        prefer_system=read.flag(character, "preferCharacterSystemPrompt"),
        prefer_post_history=read.flag(character, "preferCharacterPostHistory"),
        book_ids=read.several(selection, "worldBookIds"),
        regex_ids=read.several(selection, "regexIds"),
        tools=read.several(selection, "tools"),
    )


_CHARACTER = ("greetingIndex", "preferCharacterSystemPrompt", "preferCharacterPostHistory")
_SELECTION = {
    "presetId",
    "characterCardId",
    "userId",
    "worldBookIds",
    "regexIds",
    "tools",
    "character",
    "rp",
}


def write_template(template: TemplateFile) -> bytes:
    """The file of a template, for people to read as well."""
    character = (template.greeting_index, template.prefer_system, template.prefer_post_history)
    selection: dict[str, Any] = {
        "presetId": template.preset_id,
        "characterCardId": template.card_id,
        "userId": template.persona_id,
        "worldBookIds": list(template.book_ids),
        "character": dict(zip(_CHARACTER, character, strict=True)),
    }
    # What the seeds' format does not have stands there only when it says something.
    selection |= {
        name: list(ids) for name, ids in (("regexIds", template.regex_ids), ("tools", template.tools)) if ids
    }
    return wrap(TEMPLATE, {"name": template.name, "selection": selection})


# -- the envelope itself ---------------------------------------------------------------------------


def wrap(resource_type: str, data: Mapping[str, Any]) -> bytes:
    """The file of `data`."""
    envelope = {"format": FORMAT, "version": VERSION, "resourceType": resource_type, "data": data}
    return orjson.dumps(envelope, option=orjson.OPT_INDENT_2)


def unwrap(value: object, resource_type: str, noun: str, invalid: str) -> Mapping[str, Any]:
    """What an envelope holds. Raises ResourceError `invalid`."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        _refuse(f"This is not {noun}.", invalid, "format")
    only(value, _ENVELOPE, "the file", invalid)
    version = value.get("version")
    if version != VERSION or isinstance(version, bool):
        _refuse(f"This is {noun} of another version; only version {VERSION} can be read.", invalid, "version")
    if value.get("resourceType") != resource_type:
        _refuse(f"This file holds something else than {noun}.", invalid, "resourceType")
    inner = value.get("data")
    if not isinstance(inner, dict):
        _refuse(f"This is not {noun}: there is nothing in it.", invalid, "data")
    return inner


def only(value: Mapping[str, Any], known: Iterable[str], where: str, invalid: str) -> None:
    """Refuse fields that are not known."""
    unknown = sorted(set(value) - set(known))
    if unknown:
        _refuse(f"There is an unknown field in {where}: {unknown[0][:80]}", invalid, unknown[0][:80])


def read_strictly(data: bytes, noun: str, max_bytes: int, too_large: str, invalid: str) -> Any:
    """The JSON value of a file: no field twice, no NaN, nothing that could not be stored again.

    Raises ResourceError `too_large` before anything is parsed, or `invalid`.
    """
    if len(data) > max_bytes:
        raise ResourceError(
            f"The file of {noun} may have {max_bytes // 1024} KiB; this one has {len(data) // 1024}.",
            code=too_large,
            bytes=len(data),
            max_bytes=max_bytes,
        )
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_no_constant)
        orjson.dumps(value)  # lone surrogates, integers beyond 64 bits, too deep
    except RecursionError:
        _refuse("This file is nested too deep.", invalid, "JSON")
    except (ValueError, TypeError) as error:
        _refuse(f"This is not {noun}: {error}.", invalid, "JSON")
    return value


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for index, (name, _) in enumerate(pairs) if name in dict(pairs[:index]))
        raise ValueError(f"the field {twice[:80]} stands there twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _refuse(message: str, code: str, field: str) -> NoReturn:
    raise ResourceError(message, code=code, field=field) from None


@dataclass(frozen=True, slots=True)
class _Strict:
    """Reads fields without mending anything. `invalid` is the code of a refusal that names the field."""

    invalid: str

    def only(self, value: Mapping[str, Any], known: set[str], where: str) -> None:
        only(value, known, where, self.invalid)

    def mapping(
        self, value: Mapping[str, Any], key: str, default: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        found = value.get(key, default)
        if not isinstance(found, Mapping):
            self._refuse(key, "an object")
        return found

    def text(self, value: Mapping[str, Any], key: str) -> str:
        found = value.get(key)
        if not isinstance(found, str):
            self._refuse(key, "text")
        return found

    def one(self, value: Mapping[str, Any], key: str) -> str | None:
        found = value.get(key)
        return None if found is None else self._id(found, key)

    def several(self, value: Mapping[str, Any], key: str) -> tuple[str, ...]:
        found = value.get(key, [])
        if not isinstance(found, list) or len(found) > _MAX_LIST:
            self._refuse(key, f"a list of at most {_MAX_LIST} ids")
        ids = tuple(self._id(item, key) for item in found)
        if len(set(ids)) != len(ids):
            self._refuse(key, "a list that names each thing once")
        return ids

    def index(self, value: Mapping[str, Any], key: str) -> int:
        found = value.get(key, 0)
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 2**31:
            self._refuse(key, "a number from 0 on")
        return found

    def flag(self, value: Mapping[str, Any], key: str) -> bool:
        found = value.get(key, True)
        if not isinstance(found, bool):
            self._refuse(key, "true or false")
        return found

    def _id(self, found: object, key: str) -> str:
        if not isinstance(found, str) or not 0 < len(found) <= _MAX_ID or found in _HOSTILE:
            self._refuse(key, "an id")
        return found

    def _refuse(self, key: str, wanted: str) -> NoReturn:
        _refuse(f"The field {key} must be {wanted}.", self.invalid, key)
