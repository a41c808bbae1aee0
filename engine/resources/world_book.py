"""World books: the entries of SillyTavern's stand-alone files and of a card's `character_book`.

Source: spec sillytavern 1.5, tavern 1.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from engine.codec import JsonObject
from engine.errors import ResourceError
from engine.resources import png
from engine.resources.book_dialect import converted, naidata
from engine.resources.diagnostic import Diagnostic, Diagnostics
from engine.resources.document import DocumentKind, check_shape, read_document
from engine.resources.entry import LOGICS, POSITIONS, ROLES, Entry, Position
from engine.resources.fields import Fields, clean_text

__all__ = [
    "WorldBook",
    "embedded_book",
    "entry_sources",
    "parse_book",
    "parse_world_book",
    "read_world_book",
    "split_keys",
]

WORLD_BOOK = DocumentKind(
    noun="a world book",
    invalid="WORLD_BOOK_ROOT_INVALID",
    too_large="WORLD_BOOK_ARTIFACT_TOO_LARGE",
    max_bytes=4 * 1024 * 1024,
)
MAX_ENTRIES = 10_000
MAX_DEPTH = 32
MAX_NODES = 100_000
MAX_STRING = 1024 * 1024  # characters
MAX_KEY = 1024  # characters

_MATCH_SOURCES = (
    ("persona_description", "matchPersonaDescription"),
    ("character_description", "matchCharacterDescription"),
    ("character_personality", "matchCharacterPersonality"),
    ("character_depth_prompt", "matchCharacterDepthPrompt"),
    ("scenario", "matchScenario"),
    ("creator_notes", "matchCreatorNotes"),
)


@dataclass(frozen=True, slots=True)
class WorldBook:
    """A named list of entries in file order. `raw` is the document as it came, for a lossless export."""

    name: str
    entries: tuple[Entry, ...]
    description: str = ""
    scan_depth: int | None = None
    token_budget: int | None = None
    recursive: bool | None = None
    format: Literal["sillytavern-world-info", "character-book-v2"] = "sillytavern-world-info"
    raw: JsonObject | None = None
    warnings: tuple[Diagnostic, ...] = ()


def read_world_book(data: bytes, filename: str = "") -> WorldBook:
    """Read a stand-alone world book: SillyTavern's, a bare `character_book`, `lorebook_v3`, or a book of
    NovelAI (also in its picture), Agnai or RisuAI.

    Raises ResourceError with a WORLD_BOOK_* code.
    """
    notes = Diagnostics()
    if data.startswith(png.SIGNATURE):
        hidden = naidata(data, notes)
        if hidden is None:
            raise ResourceError("There is no world book in this picture.", code=WORLD_BOOK.invalid)
        data = hidden
    return parse_world_book(read_document(data, WORLD_BOOK, notes), notes, filename=filename)


def parse_world_book(root: Any, notes: Diagnostics, *, filename: str = "") -> WorldBook:
    """The stand-alone world book in a JSON value. Raises as `read_world_book`."""
    if isinstance(root, dict) and root.get("spec") == "lorebook_v3" and isinstance(root.get("data"), dict):
        return parse_book(root["data"], notes, filename=filename, raw=root)
    foreign = converted(root, notes) if isinstance(root, dict) else None
    if foreign is not None:
        return parse_book(foreign, notes, filename=filename, raw=foreign)
    if not isinstance(root, dict) or not isinstance(root.get("entries"), dict | list):
        why, hint = _guess(root)
        raise ResourceError(
            f"This is no world book: it has no list of entries. {hint}", code=WORLD_BOOK.invalid, why=why
        )
    return parse_book(root, notes, filename=filename, raw=root)


def embedded_book(value: Any, notes: Diagnostics, card_name: str) -> WorldBook | None:
    """A card's `character_book`. None when absent; None with a warning when it cannot be used.

    A bad book never costs the card (tavern 1.3: fail closed for the book).
    """
    if value is None:
        return None
    try:
        if not isinstance(value, dict):
            raise ResourceError("it is no object", code=WORLD_BOOK.invalid)
        return parse_book(value, notes, filename="", fallback_name=card_name)
    except ResourceError as error:
        notes.warn(
            "EMBEDDED_WORLD_BOOK_INVALID",
            f"The card's own world book cannot be used ({error.message}); the card works without it.",
            "data.character_book",
        )
        return None


def parse_book(
    source: JsonObject,
    notes: Diagnostics,
    *,
    filename: str,
    fallback_name: str = "World book",
    raw: JsonObject | None = None,
) -> WorldBook:
    """Entries of a book object: an object map is SillyTavern's form, a list the card form."""
    _guard(source)
    fields = Fields(source, "", notes, WORLD_BOOK.invalid)
    listed = source.get("entries")
    if listed is None:
        notes.warn("missing-entries", "The book has no entries.", "entries")
        listed = []
    if not isinstance(listed, dict | list):
        raise ResourceError("the entries of the book are no list", code=WORLD_BOOK.invalid)
    in_map = isinstance(listed, dict)
    items = _in_order(listed) if isinstance(listed, dict) else list(enumerate(listed))
    for key, item in items:
        if not isinstance(item, Mapping):
            notes.warn("invalid-entry", "An entry that is no object was left out.", f"entries.{key}")
    entries: list[Entry] = []
    taken: set[int] = set()
    place = {key: index for index, (key, _) in enumerate(items)}
    for key, item, card_form in entry_sources(source):
        top = Fields(item, f"entries.{key}", notes, WORLD_BOOK.invalid)
        entries.append(_entry(top, card_form, place[key], taken))
    name = fields.text("name", loose=True).strip() or _stem(filename) or fallback_name
    return WorldBook(
        name=name,
        entries=tuple(entries),
        description=fields.text("description", loose=True),
        scan_depth=fields.integer("scan_depth"),
        token_budget=fields.integer("token_budget"),
        recursive=fields.tristate("recursive_scanning"),
        format="sillytavern-world-info" if in_map else "character-book-v2",
        raw=raw if raw is not None else source,
        warnings=notes.all() if raw is not None else (),
    )


def entry_sources(source: JsonObject) -> Iterator[tuple[str | int, JsonObject, bool]]:
    """The objects of a book's entries in order: key or place, object, and whether it has the card form.

    What is no object and RisuAI's folders, which hold no lore, are passed over. A map may hold card-form
    entries: the keys of the entry decide, not the container.
    """
    listed = source.get("entries")
    in_map = isinstance(listed, dict)
    if not isinstance(listed, dict | list):
        return
    for key, item in _in_order(listed) if isinstance(listed, dict) else enumerate(listed):
        if isinstance(item, Mapping) and item.get("mode") != "folder":
            yield key, item, "keys" in item or not (in_map or "key" in item or "disable" in item)


def _guard(source: JsonObject) -> None:
    listed = source.get("entries")
    count = len(listed) if isinstance(listed, dict | list) else 0
    if count > MAX_ENTRIES:
        raise ResourceError(
            f"A world book may have {MAX_ENTRIES:,} entries; this one has {count:,}.",
            code="WORLD_BOOK_ENTRY_LIMIT",
        )
    shape = check_shape(source)
    for found, limit, code, what in (
        (shape.depth, MAX_DEPTH, "WORLD_BOOK_DEPTH_LIMIT", "levels of nesting"),
        (shape.nodes, MAX_NODES, "WORLD_BOOK_NODE_LIMIT", "values"),
        (shape.longest_string, MAX_STRING, "WORLD_BOOK_STRING_LIMIT", "characters in one text"),
        (shape.longest_key, MAX_KEY, "WORLD_BOOK_KEY_LIMIT", "characters in one field name"),
    ):
        if found > limit:
            raise ResourceError(f"A world book may have {limit:,} {what}; this one has more.", code=code)


def _in_order(entries: Mapping[str, Any]) -> list[tuple[str, Any]]:
    # JavaScript walks integer-like keys ascending, then the others as they were written.
    def place(pair: tuple[int, str]) -> tuple[int, int]:
        index, key = pair
        return (0, int(key)) if re.fullmatch(r"0|[1-9][0-9]{0,8}", key) else (1, index)

    return [(key, entries[key]) for _, key in sorted(enumerate(entries), key=place)]


def _entry(top: Fields, card_form: bool, index: int, taken: set[int]) -> Entry:
    extra = top.child("extensions") if card_form else top
    uid = _uid(top.integer("id" if card_form else "uid"), index, taken, top)
    shared = _shared(extra, card_form)
    if card_form:
        return Entry(
            uid=uid,
            keys=_keys(top, "keys"),
            secondary_keys=_keys(top, "secondary_keys"),
            content=top.text("content", loose=True),
            comment=top.text("comment", loose=True) or top.text("name", loose=True),
            enabled=top.flag("enabled", True),  # SillyTavern disables an entry without the flag: a defect
            constant=top.flag("constant", False),
            selective=top.flag("selective", False),
            order=_whole(top.integer("insertion_order"), 100),
            position=_card_position(top, extra),
            display_index=_whole(extra.integer("display_index"), index),
            **{**shared, "case_sensitive": _first(shared["case_sensitive"], top.tristate("case_sensitive"))},
        )
    return Entry(
        uid=uid,
        keys=_keys(top, "key"),
        secondary_keys=_keys(top, "keysecondary"),
        content=top.text("content", loose=True),
        comment=top.text("comment", loose=True),
        enabled=not top.flag("disable", False),
        constant=top.flag("constant", False),
        selective=top.flag("selective", True),
        order=_whole(top.integer("order"), 100),
        position=_position(top.integer("position", 0), "before", top),
        display_index=_whole(top.integer("displayIndex"), index),
        character_filter=top.object("characterFilter") or None,
        **shared,
    )


def _shared(extra: Fields, card_form: bool) -> dict[str, Any]:
    """The fields that both forms have, under camelCase at the entry or snake_case in its extensions."""

    def key(camel: str) -> str:
        return _snake(camel) if card_form else camel

    return {
        "vectorized": extra.flag("vectorized", False),
        "logic": _choice(extra, key("selectiveLogic"), LOGICS),
        "logic_given": card_form or extra.source.get("selectiveLogic") is not None,
        "depth": _whole(extra.integer("depth"), 4),
        "role": _choice(extra, "role", ROLES),
        "outlet": extra.text(key("outletName"), loose=True),
        "probability": _percent(extra.number("probability")),
        "use_probability": extra.flag(key("useProbability"), True),
        "scan_depth": extra.integer(key("scanDepth")),
        "case_sensitive": extra.tristate(key("caseSensitive")),
        "whole_words": extra.tristate(key("matchWholeWords")),
        "group_scoring": extra.tristate(key("useGroupScoring")),
        "group": extra.text("group", loose=True),
        "group_override": extra.flag(key("groupOverride"), False),
        "group_weight": _whole(extra.integer(key("groupWeight")), 100),
        "exclude_recursion": extra.flag(key("excludeRecursion"), False),
        "prevent_recursion": extra.flag(key("preventRecursion"), False),
        "delay_until_recursion": _level(extra, key("delayUntilRecursion")),
        "sticky": extra.integer("sticky"),
        "cooldown": extra.integer("cooldown"),
        "delay": extra.integer("delay"),
        "ignore_budget": extra.flag(key("ignoreBudget"), False),
        "automation_id": extra.text(key("automationId"), loose=True),
        "triggers": extra.texts("triggers"),
        "match_sources": tuple(name for name, camel in _MATCH_SOURCES if extra.flag(key(camel), False)),
    }


@cache
def _snake(camel: str) -> str:
    if camel in ("useProbability", "selectiveLogic"):  # SillyTavern writes these two as they are
        return camel
    return re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), camel)


def _keys(fields: Fields, key: str) -> tuple[str, ...]:
    value = fields.source.get(key)
    if isinstance(value, str):
        fields.notes.warn(
            "text-as-list", "Keys stood in one text and were split at commas.", fields.where(key)
        )
        return split_keys(value)
    return fields.texts(key)  # blank ones too: a blank secondary key counts as one that is missing


def split_keys(text: str) -> tuple[str, ...]:
    """Keys of a comma-separated text, as SillyTavern's key box splits it, without its empty ones.

    A slash begins what may be a pattern, in which commas belong to the key until it is closed; what is
    closed and yet no pattern is split all the same.
    """
    keys: list[str] = []
    start, slashes = 0, 0
    text = clean_text(text)
    for at, sign in enumerate(text):
        if sign == "/" and (at == start or text[at - 1] != "\\"):
            slashes += 1
        elif sign == "," and slashes != 1:
            part = text[start:at].strip()
            broken = part.startswith("/") and _PATTERN_KEY.fullmatch(part) is None
            keys += part.split(",") if broken else [part]
            start, slashes = at + 1, 0
    keys.append(text[start:])
    return tuple(key.strip() for key in keys if key.strip())


_PATTERN_KEY = re.compile(r"/(?:\\.|[^/\\])+/[gimsuy]*", re.DOTALL)


def _uid(given: int | None, index: int, taken: set[int], fields: Fields) -> int:
    uid = index if given is None else given
    if uid in taken:
        fields.notes.warn(
            "duplicate-uid", f"Entry {uid} was there before; this one was renumbered.", fields.path
        )
        uid = max(taken) + 1
    taken.add(uid)
    return uid


def _card_position(top: Fields, extra: Fields) -> Position:
    number = extra.integer("position")
    if number is not None:
        return _position(number, "after", extra)
    value = top.source.get("position")
    if isinstance(value, int) and not isinstance(value, bool):
        return _position(value, "after", top)
    return "before" if value == "before_char" else "after"


def _position(number: int | None, default: Position, fields: Fields) -> Position:
    if number is not None and 0 <= number < len(POSITIONS):
        return POSITIONS[number]
    fields.notes.warn("unknown-position", "An unknown position was read as the usual one.", fields.path)
    return default


def _choice(fields: Fields, key: str, names: Sequence[str]) -> str:
    value = fields.source.get(key)
    if isinstance(value, str) and value in names:
        return value
    number = fields.integer(key, 0)
    if number is not None and 0 <= number < len(names):
        return names[number]
    fields.notes.warn(f"unknown-{key}", f"An unknown {key} was read as {names[0]}.", fields.path)
    return names[0]


def _percent(number: float | None) -> float:
    return 100 if number is None else min(100.0, max(0.0, number))


def _level(fields: Fields, key: str) -> int:
    value = fields.source.get(key)
    return int(value) if isinstance(value, bool) else _whole(fields.integer(key), 0)


def _whole(number: int | None, default: int) -> int:
    return default if number is None else number


def _first(first: bool | None, second: bool | None) -> bool | None:
    return second if first is None else first


def _stem(filename: str) -> str:
    name = clean_text(filename).replace("\\", "/").rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[0].strip()


def _guess(root: object) -> tuple[str, str]:
    if isinstance(root, dict):
        if "prompts" in root:
            return "like-preset", "It looks like a preset: import it as one."
        if "data" in root or "first_mes" in root:
            return "like-card", "It looks like a character card: import it as one."
    return "", "A world book is the JSON file that SillyTavern's World Info screen exports."
