"""World books of other programs, made into SillyTavern's form. Source: spec sillytavern 1.5.

NovelAI, Agnai and RisuAI each tell themselves by one field. The bytes that came are the library's to
keep; what can be edited and exported is the converted book.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from engine.errors import ResourceError
from engine.resources import png
from engine.resources.diagnostic import Diagnostics

__all__ = ["converted", "naidata"]

_NAIDATA = "naidata"  # the text chunk in which NovelAI hides a lorebook in its picture

_Entry: TypeAlias = dict[str, Any]


def converted(root: Mapping[str, Any], notes: Diagnostics) -> dict[str, Any] | None:
    """The book in SillyTavern's form; None for one that is none of the known dialects."""
    for program, tells, entries in _DIALECTS:
        if tells(root):
            notes.info("book-converted", "A world book of {program}; it was converted.", program=program)
            listed = [{"uid": uid, **entry} for uid, entry in enumerate(entries(root))]
            found: dict[str, Any] = {"entries": {str(entry["uid"]): entry for entry in listed}}
            if isinstance(root.get("name"), str):
                found["name"] = root["name"]
            if isinstance(root.get("description"), str):
                found["description"] = root["description"]
            return found
    return None


def naidata(picture: bytes, notes: Diagnostics) -> bytes | None:
    """The JSON of the NovelAI lorebook in a PNG; None when there is none."""
    chunks, _ = png.text_chunks(picture, lambda keyword: keyword == _NAIDATA, notes)
    for chunk in chunks:
        text = chunk.text(notes)
        if text is None:
            continue
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error:
            raise ResourceError(
                "The lorebook in this picture is damaged.", code="WORLD_BOOK_ROOT_INVALID"
            ) from None
    return None


def _novel(root: Mapping[str, Any]) -> Iterator[_Entry]:
    for item in _objects(root.get("entries")):
        budget = item.get("contextConfig")
        priority = budget.get("budgetPriority") if isinstance(budget, Mapping) else None
        yield {
            "key": _texts(item.get("keys")),
            "keysecondary": [],
            "content": item.get("text"),
            "comment": item.get("displayName"),
            "order": priority if priority is not None else 0,
            "disable": item.get("enabled") is False,
            "constant": item.get("forceActivation") is True,
            "selective": False,
            "position": 0,
        }


def _agnai(root: Mapping[str, Any]) -> Iterator[_Entry]:
    for item in _objects(root.get("entries")):
        yield {
            "key": _texts(item.get("keywords")),
            "keysecondary": [],
            "content": item.get("entry"),
            "comment": item.get("name"),
            "order": item.get("weight"),
            "disable": item.get("enabled") is False,
            "constant": False,
            "selective": False,
            "position": 0,
        }


def _risu(root: Mapping[str, Any]) -> Iterator[_Entry]:
    for item in _objects(root.get("data")):
        if item.get("mode") == "folder":  # holds other entries and no lore of its own
            continue
        yield {
            "key": _split(item.get("key")),
            "keysecondary": _split(item.get("secondkey")),
            "content": item.get("content"),
            "comment": item.get("comment"),
            "order": item.get("insertorder"),
            "disable": False,
            "constant": item.get("alwaysActive") is True,
            "selective": item.get("selective") is True,
            "position": 0,
            "probability": item.get("activationPercent"),
            "useProbability": True,
        }


_DIALECTS: tuple[
    tuple[str, Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], Iterator[_Entry]]], ...
] = (
    ("NovelAI", lambda root: "lorebookVersion" in root, _novel),
    ("Agnai", lambda root: root.get("kind") == "memory", _agnai),
    ("RisuAI", lambda root: root.get("type") == "risu", _risu),
)


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else iter(())


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _split(value: Any) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else []
