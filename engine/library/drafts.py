"""A read file, ready to be stored: its bytes, its document, its picture, what lists show of it.

Pure and slow (pictures): run it off the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.codec import JsonObject, canonical, dumps, loads
from engine.errors import ResourceError
from engine.library.rows import Kind
from engine.resources import (
    Avatar,
    Card,
    Diagnostic,
    Diagnostics,
    Preset,
    RegexScript,
    RegexScripts,
    WorldBook,
    blank_book,
    blank_preset,
    clean_text,
    make_avatar,
    parse_card,
    parse_preset,
    parse_scripts,
    parse_world_book,
    read_card,
    read_preset,
    read_regex_scripts,
    read_world_book,
    scripts_within,
    with_scripts,
)

__all__ = [
    "DRAFTS",
    "Draft",
    "blank_document",
    "draft_of_book",
    "draft_of_card",
    "draft_of_document",
    "draft_of_preset",
    "draft_of_regex",
    "kind_of",
    "name_of",
    "parsed",
    "recognised",
]

_LINE = 140  # characters of a one-line description in a list
_FILENAME = 255


@dataclass(frozen=True, slots=True)
class Draft:
    """What an import stores. `size` counts against the owner's room: all bytes that are kept."""

    kind: Kind
    name: str
    document: bytes
    summary: Mapping[str, Any]
    filename: str = ""
    original: bytes = b""
    tags: tuple[str, ...] = ()
    nsfw: bool = False
    avatar: Avatar | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.original) + len(self.document) + (len(self.avatar.body) if self.avatar else 0)


def draft_of_card(data: bytes, filename: str) -> Draft:
    """Raises ResourceError with the reader's codes. A picture that cannot be used is only a warning."""
    card = read_card(data, filename)
    avatar, warnings = _portrait(card)
    return replace(_of_card(card, warnings), filename=filename[-_FILENAME:], original=data, avatar=avatar)


def draft_of_preset(data: bytes, filename: str) -> Draft:
    """The stored original of a preset is its object without secrets (decision 22)."""
    preset = read_preset(data, filename)
    return replace(_of_preset(preset), filename=filename[-_FILENAME:], original=dumps(preset.raw))


def draft_of_book(data: bytes, filename: str) -> Draft:
    """Raises ResourceError with a WORLD_BOOK_* code."""
    return replace(_of_book(read_world_book(data, filename)), filename=filename[-_FILENAME:], original=data)


def draft_of_regex(data: bytes, filename: str) -> Draft:
    """Raises ResourceError with a REGEX_SCRIPT_* code. The document is an object that holds the list."""
    found = read_regex_scripts(data)
    document = with_scripts({"regex_scripts": []}, found.scripts)
    draft = _of_regex(found.scripts, document, found.warnings)
    return replace(
        draft,
        name=_stem(filename) or draft.name,
        filename=filename[-_FILENAME:],
        original=data,
        summary={**draft.summary, "single": found.single},
    )


DRAFTS: Mapping[Kind, Callable[[bytes, str], Draft]] = {
    "card": draft_of_card,
    "preset": draft_of_preset,
    "world_book": draft_of_book,
    "regex": draft_of_regex,
}
"""How the file of each kind is read."""


def parsed(kind: Kind, document: JsonObject, filename: str) -> Any:
    """The content of a stored document: Card, Preset, WorldBook or RegexScripts. Raises as the readers."""
    notes = Diagnostics()
    if kind == "card":
        return parse_card(document, notes, filename=filename)
    if kind == "preset":
        return parse_preset(document, notes, filename=filename)
    if kind == "world_book":
        return parse_world_book(document, notes, filename=filename)
    return RegexScripts(parse_scripts(scripts_within(document) or [], notes), notes.all())


def name_of(content: Card | Preset | WorldBook | RegexScripts) -> str:
    """How lists call a content that nobody gave a name of its own."""
    if isinstance(content, RegexScripts):
        return _of_scripts(content.scripts)
    return content.name[:200]


def _of_scripts(scripts: tuple[RegexScript, ...]) -> str:
    return (scripts[0].name if scripts else "")[:200] or "Regex"


def draft_of_document(kind: Kind, document: JsonObject, filename: str) -> Draft:
    """What an edited document is stored as; its guard is the import's. `original` and picture are not set.

    Raises ResourceError with the reader's codes.
    """
    content = parsed(kind, loads(dumps(document)), filename)
    if kind == "card":
        return _of_card(content, content.warnings)
    if kind == "preset":
        return _of_preset(content)
    if kind == "world_book":
        return _of_book(content)
    return _of_regex(content.scripts, document, content.warnings)


def blank_document(kind: Kind, name: str) -> JsonObject:
    """An empty one of its kind. Raises ResourceError KIND_NOT_CREATED for a card: those are brought in."""
    if kind == "preset":
        return blank_preset(name)
    if kind == "world_book":
        return blank_book(name)
    if kind == "regex":
        return {"regex_scripts": []}
    raise ResourceError("Characters are brought in as files.", code="KIND_NOT_CREATED")


def kind_of(data: bytes, filename: str) -> Kind:
    """What a file is, by its content. Raises ResourceError FILE_UNKNOWN.

    A picture or an archive is a card unless it holds a book; of JSON the fields tell.
    """
    if data[:1] not in b"{[ \t\r\n\xef" and not data[:1].isalpha():
        return "world_book" if data.startswith(b"\x89PNG") and b"naidata\0" in data else "card"
    try:
        root = loads(data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return "card"  # YAML, or JSON that only the card reader mends; it says what is wrong
    if isinstance(root, list) and any(isinstance(item, Mapping) and "findRegex" in item for item in root):
        return "regex"
    if isinstance(root, Mapping):
        if root.get("spec") == "lorebook_v3" or root.get("type") == "risu" or root.get("kind") == "memory":
            return "world_book"
        for kind, tells in _TELLS:
            if any(field in root for field in tells):
                return kind
    raise ResourceError(
        "This is no character card, preset, world book or regex script.", code="FILE_UNKNOWN", file=filename
    )


def recognised(data: bytes, filename: str) -> Kind | None:
    """What a file is, if it is whole and somebody would want it in a library; never raises.

    Stricter than an import, which is told what to expect: JSON of other programs often has a `name` and a
    `description`, so a card must say that it is one, or have a greeting.
    """
    try:
        kind = kind_of(data, filename)
        if kind == "card":
            card = read_card(data, filename)
            return kind if "spec" in card.raw or card.greetings else None
        if kind == "world_book":
            return kind if read_world_book(data, filename).entries else None
        if kind == "preset":
            return kind if read_preset(data, filename).prompts else None
        return kind if read_regex_scripts(data).scripts else None
    except ResourceError:
        return None


_TELLS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("regex", ("findRegex",)),
    ("preset", ("prompts", "prompt_order", "main_prompt")),
    ("world_book", ("entries", "lorebookVersion")),
    ("card", ("data", "name", "char_name", "first_mes")),
)


def _of_card(card: Card, warnings: tuple[Diagnostic, ...]) -> Draft:
    return Draft(
        kind="card",
        name=name_of(card),
        document=canonical(card.raw),
        summary={
            "spec": card.spec,
            "nickname": card.nickname,
            "creator": card.creator[:200],
            "version": card.character_version[:80],
            "line": _first_line(card),
            "greetings": len(card.greetings),
            "entries": len(card.book.entries) if card.book else 0,
            "scripts": len(scripts_within(card.raw) or ()),
            "warnings": _wire(warnings),
        },
        tags=card.tags,
        nsfw=card.nsfw,
    )


def _of_preset(preset: Preset) -> Draft:
    return Draft(
        kind="preset",
        name=name_of(preset),
        document=canonical(preset.raw),
        summary={
            "prompts": len(preset.prompts),
            "enabled": sum(prompt.enabled for prompt in preset.prompts),
            "temperature": preset.temperature,
            "max_tokens": preset.max_tokens,
            "scripts": len(scripts_within(preset.raw) or ()),
            "warnings": _wire(preset.warnings),
        },
    )


def _of_book(book: WorldBook) -> Draft:
    return Draft(
        kind="world_book",
        name=name_of(book),
        document=canonical(book.raw),
        summary={
            "entries": len(book.entries),
            "enabled": sum(entry.enabled for entry in book.entries),
            "constant": sum(entry.constant and entry.enabled for entry in book.entries),
            "line": " ".join(book.description.split())[:_LINE],
            "warnings": _wire(book.warnings),
        },
    )


def _of_regex(
    scripts: tuple[RegexScript, ...], document: JsonObject, warnings: tuple[Diagnostic, ...]
) -> Draft:
    return Draft(
        kind="regex",
        name=_of_scripts(scripts),
        document=canonical(document),
        summary={
            "scripts": len(scripts),
            "enabled": sum(not script.disabled for script in scripts),
            "line": ", ".join(script.name for script in scripts)[:_LINE],
            "warnings": _wire(warnings),
        },
    )


def _stem(filename: str) -> str:
    name = clean_text(filename).replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return " ".join(name.replace("_", " ").split())[:200]


def _portrait(card: Card) -> tuple[Avatar | None, tuple[Diagnostic, ...]]:
    if card.image is None:
        return None, card.warnings
    try:
        return make_avatar(card.image), card.warnings
    except ResourceError as error:
        told = f"The card has no picture: {error.message}"
        remark = Diagnostic("avatar-unreadable", told, data={"reason": error.message})
        return None, (*card.warnings, remark)


def _first_line(card: Card) -> str:
    text = card.creator_notes or card.personality or card.description
    return " ".join(text.split())[:_LINE]


def _wire(warnings: tuple[Diagnostic, ...]) -> list[list[Any]]:
    return [[item.code, item.message, item.severity, item.where, dict(item.data)] for item in warnings]
