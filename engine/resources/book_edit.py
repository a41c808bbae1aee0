"""Changing a world book: an entry's fields are written where its own form keeps them.

A stand-alone file and a card's `character_book` say the same under other names; what an edit
does not touch stays as it came. Source: spec tavern 1.5, sillytavern 1.5; decision 23.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostics
from engine.resources.entry import LOGICS, POSITIONS, ROLES
from engine.resources.patch import Check, checked, flag, number, one_of, text, texts, whole
from engine.resources.world_book import MAX_ENTRIES, entry_sources, parse_world_book

__all__ = [
    "BOOK_FIELDS",
    "ENTRY_FIELDS",
    "add_entry",
    "blank_book",
    "edit_book",
    "edit_entry",
    "edit_own_book",
    "remove_entry",
]

_ANY = 2**31 - 1


def _tristate(field: str, value: object) -> bool | None:
    return None if value is None else flag(field, value)


@dataclass(frozen=True, slots=True)
class _Field:
    """Where a field stands: its key in a stand-alone entry, and in a card's one (in `extensions` when so)."""

    check: Check
    alone: str
    card: str
    extension: bool = True
    written: Callable[[Any], Any] = lambda value: value


def _index(names: tuple[str, ...]) -> Callable[[Any], Any]:
    return names.index


_FIELDS = {
    "keys": _Field(texts, "key", "keys", False),
    "secondary_keys": _Field(texts, "keysecondary", "secondary_keys", False),
    "content": _Field(text, "content", "content", False),
    "comment": _Field(text, "comment", "comment", False),
    "enabled": _Field(flag, "disable", "enabled", False),
    "constant": _Field(flag, "constant", "constant", False),
    "selective": _Field(flag, "selective", "selective", False),
    "order": _Field(whole(-_ANY, _ANY), "order", "insertion_order", False),
    "position": _Field(one_of(*POSITIONS), "position", "position", True, _index(POSITIONS)),
    "logic": _Field(one_of(*LOGICS), "selectiveLogic", "selectiveLogic", True, _index(LOGICS)),
    "role": _Field(one_of(*ROLES), "role", "role", True, _index(ROLES)),
    "depth": _Field(whole(0, 10_000), "depth", "depth"),
    "probability": _Field(number(0, 100), "probability", "probability"),
    "use_probability": _Field(flag, "useProbability", "useProbability"),
    "scan_depth": _Field(whole(0, 10_000, optional=True), "scanDepth", "scan_depth"),
    "case_sensitive": _Field(_tristate, "caseSensitive", "case_sensitive"),
    "whole_words": _Field(_tristate, "matchWholeWords", "match_whole_words"),
    "group": _Field(text, "group", "group"),
    "group_override": _Field(flag, "groupOverride", "group_override"),
    "group_weight": _Field(whole(1, 10_000), "groupWeight", "group_weight"),
    "exclude_recursion": _Field(flag, "excludeRecursion", "exclude_recursion"),
    "prevent_recursion": _Field(flag, "preventRecursion", "prevent_recursion"),
    "delay_until_recursion": _Field(whole(0, 100), "delayUntilRecursion", "delay_until_recursion"),
    "sticky": _Field(whole(0, 10_000, optional=True), "sticky", "sticky"),
    "cooldown": _Field(whole(0, 10_000, optional=True), "cooldown", "cooldown"),
    "delay": _Field(whole(0, 10_000, optional=True), "delay", "delay"),
    "ignore_budget": _Field(flag, "ignoreBudget", "ignore_budget"),
    "outlet": _Field(text, "outletName", "outlet_name"),
    "triggers": _Field(texts, "triggers", "triggers"),
}

ENTRY_FIELDS: Mapping[str, Check] = {name: field.check for name, field in _FIELDS.items()}
"""What an entry's fields may be set to, under the names of `Entry`."""

BOOK_FIELDS: Mapping[str, Check] = {
    "name": text,
    "description": text,
    "scan_depth": whole(0, 10_000, optional=True),
    "token_budget": whole(0, _ANY, optional=True),
    "recursive_scanning": _tristate,
}


def blank_book(name: str) -> dict[str, Any]:
    """A stand-alone book without entries."""
    return {"name": name, "entries": {}}


def edit_book(raw: JsonObject, patch: Mapping[str, object]) -> dict[str, Any]:
    """Another name, description or setting of the book; None takes a setting out.

    Raises ResourceError FIELD_UNKNOWN, FIELD_INVALID.
    """
    book = dict(_book(raw))
    for field, value in checked(patch, BOOK_FIELDS).items():
        if value is None:
            book.pop(field, None)
        else:
            book[field] = value
    return _within(raw, book)


def edit_entry(raw: JsonObject, uid: int, patch: Mapping[str, object]) -> dict[str, Any]:
    """One entry changed. Raises ResourceError WORLD_BOOK_ENTRY_NOT_FOUND, FIELD_UNKNOWN, FIELD_INVALID."""
    values = checked(patch, ENTRY_FIELDS)
    book = _book(raw)
    key = _key_of(raw, uid)
    item, card_form = _source(book, key)
    return _within(raw, _with_entry(book, key, _written(item, values, card_form)))


def add_entry(raw: JsonObject, patch: Mapping[str, object]) -> tuple[dict[str, Any], int]:
    """An entry more, and its uid: one above the highest, which is also its key in a map.

    SillyTavern finds an entry of a map by its uid, and an integer above all others keeps it last.
    Raises ResourceError WORLD_BOOK_ENTRY_LIMIT, FIELD_UNKNOWN, FIELD_INVALID.
    """
    values = checked(patch, ENTRY_FIELDS)
    book = _book(raw)
    parsed = parse_world_book(raw, Diagnostics())
    if len(parsed.entries) >= MAX_ENTRIES:
        raise ResourceError(f"A world book may have {MAX_ENTRIES:,} entries.", code="WORLD_BOOK_ENTRY_LIMIT")
    uid = max((entry.uid for entry in parsed.entries), default=-1) + 1
    listed = book.get("entries")
    if isinstance(listed, Mapping):
        key = str(max(uid, *(int(key) + 1 for key in listed if key.isascii() and key.isdigit()), 0))
        uid = int(key)
        item = _written({"uid": uid, "key": [], "content": ""}, values, card_form=False)
        return _within(raw, {**book, "entries": {**listed, key: item}}), uid
    blank = {"id": uid, "keys": [], "content": "", "enabled": True, "insertion_order": 100, "extensions": {}}
    item = _written(blank, values, card_form=True)
    return _within(raw, {**book, "entries": [*(listed or ()), item]}), uid


def remove_entry(raw: JsonObject, uid: int) -> dict[str, Any]:
    """Without that entry. Raises ResourceError WORLD_BOOK_ENTRY_NOT_FOUND."""
    book = _book(raw)
    key = _key_of(raw, uid)
    listed = book["entries"]
    if isinstance(listed, Mapping):
        return _within(raw, {**book, "entries": {at: item for at, item in listed.items() if at != key}})
    return _within(raw, {**book, "entries": [item for at, item in enumerate(listed) if at != key]})


def edit_own_book(raw: JsonObject, change: Callable[[JsonObject], JsonObject]) -> dict[str, Any]:
    """A card with the book that it brings along changed; all else is as it was.

    Raises ResourceError WORLD_BOOK_ROOT_INVALID when it brings none, and what `change` raises.
    """
    inner = raw.get("data")
    wrapped = isinstance(inner, Mapping) and "character_book" in inner
    holder = inner if wrapped and isinstance(inner, Mapping) else raw
    book = holder.get("character_book")
    if not isinstance(book, Mapping):
        raise ResourceError("This card brings no world book along.", code="WORLD_BOOK_ROOT_INVALID")
    changed = {**holder, "character_book": change(book)}
    return {**raw, "data": changed} if wrapped else changed


def _book(raw: JsonObject) -> JsonObject:
    """The object that has the entries: a `lorebook_v3` wraps it."""
    inner = raw.get("data")
    return inner if raw.get("spec") == "lorebook_v3" and isinstance(inner, Mapping) else raw


def _within(raw: JsonObject, book: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "data": book} if raw.get("spec") == "lorebook_v3" else book


def _key_of(raw: JsonObject, uid: int) -> str | int:
    entries = parse_world_book(raw, Diagnostics()).entries
    for entry, (key, _, _) in zip(entries, entry_sources(_book(raw)), strict=True):
        if entry.uid == uid:
            return key
    raise ResourceError(
        "This entry is not in the book (any more).", code="WORLD_BOOK_ENTRY_NOT_FOUND", uid=uid
    )


def _source(book: JsonObject, wanted: str | int) -> tuple[JsonObject, bool]:
    return next((item, card_form) for key, item, card_form in entry_sources(book) if key == wanted)


def _with_entry(book: JsonObject, key: str | int, item: JsonObject) -> dict[str, Any]:
    listed = book["entries"]
    if isinstance(listed, Mapping):
        return {**book, "entries": {**listed, key: item}}
    return {**book, "entries": [item if at == key else old for at, old in enumerate(listed)]}


def _written(item: JsonObject, values: Mapping[str, Any], card_form: bool) -> dict[str, Any]:
    edited = dict(item)
    found = item.get("extensions")
    extensions = dict(found) if isinstance(found, Mapping) else {}
    for name, value in values.items():
        field = _FIELDS[name]
        told = field.written(value)
        if not card_form:
            edited[field.alone] = not value if name == "enabled" else told
        elif field.extension:
            extensions[field.card] = told
        else:
            edited[field.card] = told
        if card_form and name == "position":
            edited["position"] = "before_char" if value == "before" else "after_char"
    if card_form and (extensions or "extensions" in item):
        edited["extensions"] = extensions
    return edited
