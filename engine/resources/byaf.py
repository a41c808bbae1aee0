"""BYAF, Backyard's archive: a manifest, characters, scenarios with their chats.

The first character becomes a V2 card as SillyTavern makes it; the chats are read apart, for
whoever imports chats. Source: spec sillytavern 1.4.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from engine.errors import ResourceError
from engine.resources.archive import Archive, is_unsafe, open_archive
from engine.resources.asset import MAX_ASSET
from engine.resources.card import CARD
from engine.resources.diagnostic import Diagnostics
from engine.resources.document import read_document

__all__ = ["MANIFEST", "NOUN", "ByafChat", "ByafMessage", "byaf_document", "byaf_icon", "read_byaf_chats"]

NOUN = "a Backyard (BYAF) file"
MANIFEST = "manifest.json"
MAX_SCENARIOS = 100

_PLACEHOLDERS = (
    (re.compile(r"#\{user\}:", re.IGNORECASE), "{{user}}:"),
    (re.compile(r"#\{character\}:", re.IGNORECASE), "{{char}}:"),
    (re.compile(r"\{character\}(?!\})", re.IGNORECASE), "{{char}}"),
    (re.compile(r"\{user\}(?!\})", re.IGNORECASE), "{{user}}"),
)


@dataclass(frozen=True, slots=True)
class ByafMessage:
    """One message of a chat. `texts` are its versions, `selected` the one that counts; `at` is unix time
    in milliseconds, if known."""

    role: Literal["user", "character"]
    texts: tuple[str, ...]
    selected: int = 0
    at: int | None = None


@dataclass(frozen=True, slots=True)
class ByafChat:
    """The chat of one scenario, without its greeting."""

    title: str
    messages: tuple[ByafMessage, ...]


def byaf_document(archive: Archive, notes: Diagnostics) -> dict[str, Any]:
    """A V2 card of the first character and all scenarios. Raises ResourceError CHARACTER_DOCUMENT_*."""
    manifest = _object(archive, MANIFEST, notes)
    _, character = _character(archive, manifest, notes)
    scenarios = _scenarios(archive, manifest, notes)
    first = scenarios[0] if scenarios else {}
    author = manifest.get("author")
    author = author if isinstance(author, dict) else {}
    if len(_paths(manifest, "characters")) > 1:
        notes.warn("byaf-first-character", "The file holds several characters; the first was read.")
    notes.info("byaf-card", "A Backyard character; its fields were brought into the form of a card.")
    data: dict[str, Any] = {
        "name": _text(character, "name"),
        "description": _rewritten(_text(character, "persona")),
        "personality": "",
        "scenario": _rewritten(_text(first, "narrative")),
        "first_mes": _greeting(first),
        "mes_example": _examples(first),
        "creator_notes": _text(author, "backyardURL"),
        "system_prompt": _rewritten(_text(first, "formattingInstructions")),
        "post_history_instructions": "",
        "alternate_greetings": _alternates(scenarios),
        "tags": ["nsfw"] if character.get("isNSFW") is True else [],
        "creator": _text(author, "name"),
        "character_version": "",
        "extensions": {"display_name": _text(character, "displayName")} if "displayName" in character else {},
    }
    entries = _entries(character)
    if entries:
        data["character_book"] = {"entries": entries, "extensions": {}}
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}


def byaf_icon(archive: Archive, notes: Diagnostics) -> bytes | None:
    """The first picture of the first character; None with a note when it cannot be used."""
    path, character = _character(archive, _object(archive, MANIFEST, Diagnostics()), Diagnostics())
    images = character.get("images")
    for image in images if isinstance(images, list) else ():
        name = _text(image, "path") if isinstance(image, dict) else ""
        if not name:
            continue
        if is_unsafe(name):
            notes.warn(
                "unsafe-asset", "A file's path leads out of the archive; it was left out ({name}).", name=name
            )
            return None
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        found = beside if beside in archive else name
        if found not in archive:
            notes.warn(
                "missing-asset", "A file that the card names is not in the archive ({name}).", name=name
            )
            return None
        try:
            return archive.read(found, MAX_ASSET)
        except ResourceError:
            notes.warn("unreadable-asset", "The icon could not be unpacked; the card has no picture.")
            return None
    return None


def read_byaf_chats(data: bytes) -> tuple[ByafChat, ...]:
    """The chats of a BYAF file, one for each scenario that has messages.

    Raises ResourceError CHARACTER_DOCUMENT_INVALID, ARTIFACT_TOO_LARGE.
    """
    notes = Diagnostics()
    with open_archive(data, NOUN) as archive:
        scenarios = _scenarios(archive, _object(archive, MANIFEST, notes), notes)
    chats = (ByafChat(_text(scenario, "title"), _messages(scenario)) for scenario in scenarios)
    return tuple(chat for chat in chats if chat.messages)


def _object(archive: Archive, path: str, notes: Diagnostics) -> dict[str, Any]:
    if path not in archive or is_unsafe(path):
        raise ResourceError(f"“{path[:80]}” is missing in this Backyard (BYAF) file.", code=CARD.invalid)
    value = read_document(archive.read(path, CARD.max_bytes), CARD, notes)
    if not isinstance(value, dict):
        raise ResourceError(f"“{path[:80]}” in this Backyard (BYAF) file is no object.", code=CARD.invalid)
    return value


def _paths(manifest: Mapping[str, Any], key: str) -> list[str]:
    listed = manifest.get(key)
    return [path for path in listed if isinstance(path, str)] if isinstance(listed, list) else []


def _character(
    archive: Archive, manifest: Mapping[str, Any], notes: Diagnostics
) -> tuple[str, dict[str, Any]]:
    paths = _paths(manifest, "characters")
    if not paths:
        raise ResourceError("There is no character in this Backyard (BYAF) file.", code=CARD.invalid)
    return paths[0], _object(archive, paths[0], notes)


def _scenarios(archive: Archive, manifest: Mapping[str, Any], notes: Diagnostics) -> list[dict[str, Any]]:
    """Those that can be read; a broken one costs only itself, and all together no more than one card."""
    paths = _paths(manifest, "scenarios")
    found: list[dict[str, Any]] = []
    room = CARD.max_bytes
    for path in paths[:MAX_SCENARIOS]:
        size = archive.members[path].file_size if path in archive else 0
        try:
            if size > room:
                raise ResourceError("The scenarios are larger than is allowed.", code=CARD.too_large)
            found.append(_object(archive, path, notes))
            room -= size
        except ResourceError as error:
            notes.warn(
                "byaf-scenario-skipped",
                "A scenario could not be read and was left out ({reason})",
                path[:100],
                reason=error.message,
            )
    return found


def _greeting(scenario: Mapping[str, Any]) -> str:
    listed = scenario.get("firstMessages")
    first = listed[0] if isinstance(listed, list) and listed else None
    return _rewritten(_text(first, "text")) if isinstance(first, dict) else ""


def _alternates(scenarios: list[dict[str, Any]]) -> list[str]:
    greetings = dict.fromkeys(_greeting(scenario) for scenario in scenarios[1:])
    return [text for text in greetings if text]


def _examples(scenario: Mapping[str, Any]) -> str:
    listed = scenario.get("exampleMessages")
    texts = (
        [_text(item, "text") for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    )
    return "\n".join(f"<START>\n{_rewritten(text)}" for text in texts if text)


def _entries(character: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = character.get("loreItems")
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [
        {
            "keys": [key.strip() for key in _text(item, "key").split(",") if key.strip()],
            "content": _rewritten(_text(item, "value")),
            "extensions": {},
            "enabled": True,
            "insertion_order": index,
        }
        for index, item in enumerate(items)
    ]


def _messages(scenario: Mapping[str, Any]) -> tuple[ByafMessage, ...]:
    listed = scenario.get("messages")
    found: list[ByafMessage] = []
    for item in listed if isinstance(listed, list) else ():
        if not isinstance(item, dict):
            continue
        if item.get("type") == "human":
            found.append(ByafMessage("user", (_text(item, "text"),), 0, _moment(item.get("createdAt"))))
        elif item.get("type") == "ai":
            outputs = item.get("outputs")
            given = [out for out in outputs if isinstance(out, dict)] if isinstance(outputs, list) else []
            if given:
                active = [_moment(out.get("activeTimestamp")) or 0 for out in given]
                selected = active.index(max(active))
                texts = tuple(_text(out, "text") for out in given)
                at = _moment(given[selected].get("createdAt"))
                found.append(ByafMessage("character", texts, selected, at))
    return tuple(found)


def _moment(value: object) -> int | None:
    """Unix milliseconds of an ISO time or a number of milliseconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, OverflowError, OSError):
            return None
    return None


def _text(source: Mapping[str, Any], key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""


def _rewritten(text: str) -> str:
    for pattern, ours in _PLACEHOLDERS:
        text = pattern.sub(ours, text)
    return text
