"""Personas as files: ours, and SillyTavern's backup of all of them. Source: spec tavern 1.4.

A file of ours is strict; a backup is mended, as everything of SillyTavern is. Pictures are decoded and
made anew, so this is slow: run it off the event loop.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostic, Diagnostics
from engine.resources.envelope import only, read_strictly, unwrap, wrap
from engine.resources.fields import visible_line
from engine.resources.persona import MAX_DESCRIPTION, MAX_NAME, Persona, make_persona, make_persona_picture
from engine.resources.portrait import Avatar

__all__ = ["MAX_PERSONA_BYTES", "PersonaDraft", "PersonaFile", "read_personas", "write_persona"]

# The seeds' 256 KiB are less than what they let a persona be: 100,000 characters of Chinese and a
# picture. A megabyte holds the largest, and a backup of hundreds of ordinary ones.
MAX_PERSONA_BYTES = 1024 * 1024
MAX_AVATAR = 128 * 1024  # bytes of the picture itself (spec tavern 1.4)
USER_INVALID = "USER_DOCUMENT_INVALID"

_NAME_IN_FILE = 200  # the seeds' limit; ours is what a webhook can speak under
_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n", b""),
    "image/jpeg": (b"\xff\xd8\xff", b""),
    "image/webp": (b"RIFF", b"WEBP"),
}


@dataclass(frozen=True, slots=True)
class PersonaDraft:
    """One persona that a file holds."""

    persona: Persona
    avatar: Avatar | None = None


@dataclass(frozen=True, slots=True)
class PersonaFile:
    """What a file holds: one persona, or with `backup` all of somebody's. Never empty."""

    personas: tuple[PersonaDraft, ...]
    backup: bool
    warnings: tuple[Diagnostic, ...]


def read_personas(data: bytes) -> PersonaFile:
    """The personas in a file.

    Raises ResourceError USER_BODY_TOO_LARGE, USER_DOCUMENT_INVALID (data: field).
    """
    value = read_strictly(data, "a persona", MAX_PERSONA_BYTES, "USER_BODY_TOO_LARGE", USER_INVALID)
    notes = Diagnostics()
    if isinstance(value, dict) and "format" not in value and isinstance(value.get("personas"), dict):
        found = _backup(value, notes)
        backup = True
    else:
        found = (_single(unwrap(value, "user", "a persona", USER_INVALID), notes),)
        backup = False
    if not found:
        raise _refused("There is no persona in this file.", "personas")
    return PersonaFile(found, backup, notes.all())


def write_persona(persona: Persona, avatar: bytes | None, media_type: str | None) -> bytes:
    """The file of one persona."""
    data = {"name": persona.name, "description": persona.description}
    if avatar is not None:
        data["avatar"] = f"data:{media_type or 'image/png'};base64,{base64.b64encode(avatar).decode()}"
    return wrap("user", data)


def _single(data: Mapping[str, Any], notes: Diagnostics) -> PersonaDraft:
    # The id is the one of where it was; here it gets its own.
    only(data, {"id", "name", "description", "avatar"}, "data", USER_INVALID)
    for key in ("id", "description"):
        if not isinstance(data.get(key, ""), str):
            raise _refused(f"The field {key} must be text.", key)
    name = data.get("name")
    if not isinstance(name, str) or len(name) > _NAME_IN_FILE:
        raise _refused(f"The name must be a text of at most {_NAME_IN_FILE} characters.", "name")
    persona = _persona(name, data.get("description", ""), notes)
    return PersonaDraft(persona, _avatar(data.get("avatar"), notes))


def _backup(value: Mapping[str, Any], notes: Diagnostics) -> tuple[PersonaDraft, ...]:
    """SillyTavern names personas by the files of their pictures, which the backup does not hold."""
    about = value.get("persona_descriptions")
    found = []
    for file, name in value["personas"].items():
        if not isinstance(name, str) or not visible_line(name):
            notes.warn("persona-nameless", "A persona without a name was left out.", where=f"personas.{file}")
            continue
        entry = about.get(file) if isinstance(about, Mapping) else None
        text = entry.get("description") if isinstance(entry, Mapping) else entry
        if isinstance(entry, Mapping) and entry.get("lorebook"):
            book = str(entry["lorebook"])[:80]
            notes.info(
                "persona-lorebook",
                "“{name}” came with the world book “{book}”, which is a file of its own.",
                where=f"persona_descriptions.{file}",
                name=visible_line(name)[:80],
                book=book,
            )
        text = text if isinstance(text, str) else ""
        if len(text) > MAX_DESCRIPTION:
            notes.warn(
                "persona-text-cut", "A description was too long and was cut.", where=f"personas.{file}"
            )
        found.append(PersonaDraft(_persona(name, text[:MAX_DESCRIPTION], notes)))
    return tuple(found)


def _persona(name: str, description: str, notes: Diagnostics) -> Persona:
    line = visible_line(name)
    if len(line) > MAX_NAME:
        notes.warn(
            "persona-name-cut",
            "A name may have {limit} characters here; “{name}…” was cut.",
            where=line,
            name=line[:40],
            limit=MAX_NAME,
        )
        line = line[:MAX_NAME].rstrip()
    try:
        return make_persona(line, description)
    except ResourceError as error:
        raise _refused(error.message, str(error.data.get("field", ""))) from None


def _avatar(uri: object, notes: Diagnostics) -> Avatar | None:
    if uri is None:
        return None
    if not isinstance(uri, str):
        raise _refused("The picture must be a data URI.", "avatar")
    head, _, body = uri.partition(",")
    media_type = head.removeprefix("data:").removesuffix(";base64")
    signature = _SIGNATURES.get(media_type)
    if signature is None or head != f"data:{media_type};base64":
        raise _refused("The picture must be a data URI of a PNG, JPEG or WebP picture.", "avatar")
    if len(body) > MAX_AVATAR * 4 // 3 + 4:
        raise _refused(f"The picture may have {MAX_AVATAR // 1024} KiB.", "avatar")
    try:
        image = base64.b64decode(body, validate=True)
    except binascii.Error:
        raise _refused("The picture is no base64.", "avatar") from None
    start, at_8 = signature
    if len(image) > MAX_AVATAR or not image.startswith(start) or not image[8:].startswith(at_8):
        raise _refused(f"The picture is no {media_type} of at most {MAX_AVATAR // 1024} KiB.", "avatar")
    try:
        return make_persona_picture(image)
    except ResourceError as error:
        notes.warn(
            "persona-picture-unreadable",
            "It comes without its picture: {reason}",
            where="avatar",
            reason=error.message,
        )
        return None


def _refused(message: str, field: str) -> ResourceError:
    return ResourceError(message, code=USER_INVALID, field=field)
