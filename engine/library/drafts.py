"""A read file, ready to be stored: its bytes, its document, its picture, what lists show of it.

Pure and slow (pictures): run it off the event loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.codec import canonical
from engine.errors import ResourceError
from engine.library.rows import Kind
from engine.resources import (
    Avatar,
    Card,
    Diagnostic,
    make_avatar,
    read_card,
    read_preset,
    read_world_book,
)

__all__ = ["Draft", "draft_of_book", "draft_of_card", "draft_of_preset"]

_LINE = 140  # characters of a one-line description in a list
_FILENAME = 255


@dataclass(frozen=True, slots=True)
class Draft:
    """What an import stores. `size` counts against the owner's room: all bytes that are kept."""

    kind: Kind
    name: str
    filename: str
    original: bytes
    document: bytes
    summary: Mapping[str, Any]
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
    return Draft(
        kind="card",
        name=card.name[:200],
        filename=filename[-_FILENAME:],
        original=data,
        document=canonical(card.raw),
        summary={
            "spec": card.spec,
            "nickname": card.nickname,
            "creator": card.creator[:200],
            "version": card.character_version[:80],
            "line": _first_line(card),
            "greetings": len(card.greetings),
            "entries": len(card.book.entries) if card.book else 0,
            "warnings": _wire(warnings),
        },
        tags=card.tags,
        nsfw=card.nsfw,
        avatar=avatar,
    )


def draft_of_preset(data: bytes, filename: str) -> Draft:
    """The stored original of a preset is its object without secrets (decision 22)."""
    preset = read_preset(data, filename)
    document = canonical(preset.raw)
    return Draft(
        kind="preset",
        name=preset.name,
        filename=filename[-_FILENAME:],
        original=document,
        document=document,
        summary={
            "prompts": len(preset.prompts),
            "enabled": sum(prompt.enabled for prompt in preset.prompts),
            "temperature": preset.temperature,
            "max_tokens": preset.max_tokens,
            "warnings": _wire(preset.warnings),
        },
    )


def draft_of_book(data: bytes, filename: str) -> Draft:
    """Raises ResourceError with a WORLD_BOOK_* code."""
    book = read_world_book(data, filename)
    return Draft(
        kind="world_book",
        name=book.name[:200],
        filename=filename[-_FILENAME:],
        original=data,
        document=canonical(book.raw),
        summary={
            "entries": len(book.entries),
            "constant": sum(entry.constant and entry.enabled for entry in book.entries),
            "line": " ".join(book.description.split())[:_LINE],
            "warnings": _wire(book.warnings),
        },
    )


def _portrait(card: Card) -> tuple[Avatar | None, tuple[Diagnostic, ...]]:
    if card.image is None:
        return None, card.warnings
    try:
        return make_avatar(card.image), card.warnings
    except ResourceError as error:
        remark = Diagnostic("avatar-unreadable", f"The card has no picture: {error.message}")
        return None, (*card.warnings, remark)


def _first_line(card: Card) -> str:
    text = card.creator_notes or card.personality or card.description
    return " ".join(text.split())[:_LINE]


def _wire(warnings: tuple[Diagnostic, ...]) -> list[list[str]]:
    return [[item.code, item.message, item.severity, item.where] for item in warnings]
