"""Which books a conversation reads, and in which order. Source: spec tavern 3, seed 003, decision 15."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from engine.lore.index import Book
from engine.resources import Diagnostics

__all__ = [
    "MAX_TOTAL_ENTRIES",
    "ORDER",
    "BookOrder",
    "Origin",
    "admitted",
    "compose",
    "embedded_id",
    "tier_of",
]

Origin = Literal["session", "user", "preset", "character"]

ORDER: Final = "session-explicit-then-user-then-preset-then-character"
"""The order's name in audits; the card's own book comes after all."""

MAX_TOTAL_ENTRIES: Final = 10_000  # the seeds' cap for one request, all books together


@dataclass(frozen=True, slots=True)
class BookOrder:
    """Ids by origin as they were given (each once), the effective order, the ids that came more than once,
    and for each effective id all its origins in order."""

    explicit: tuple[str, ...]
    user: tuple[str, ...]
    preset: tuple[str, ...]
    character: tuple[str, ...]
    effective: tuple[str, ...]
    duplicates: tuple[str, ...]
    origins: Mapping[str, tuple[Origin, ...]]

    def audit(self) -> dict[str, object]:
        """As JSON, under the seeds' names."""
        return {
            "order": ORDER,
            "explicitIds": list(self.explicit),
            "userBoundIds": list(self.user),
            "presetBoundIds": list(self.preset),
            "characterBoundIds": list(self.character),
            "effectiveIds": list(self.effective),
            "duplicateIds": list(self.duplicates),
            "bindingSources": {key: list(origins) for key, origins in self.origins.items()},
        }


def compose(
    *,
    session: Sequence[str] = (),
    user: Sequence[str] = (),
    preset: Sequence[str] = (),
    character: Sequence[str] = (),
) -> BookOrder:
    """The order of the stand-alone books: each at its first occurrence."""
    origins: dict[str, list[Origin]] = {}
    lists: tuple[tuple[Origin, Sequence[str]], ...] = (
        ("session", session),
        ("user", user),
        ("preset", preset),
        ("character", character),
    )
    for origin, ids in lists:
        for book_id in dict.fromkeys(ids):
            origins.setdefault(book_id, []).append(origin)
    return BookOrder(
        explicit=tuple(dict.fromkeys(session)),
        user=tuple(dict.fromkeys(user)),
        preset=tuple(dict.fromkeys(preset)),
        character=tuple(dict.fromkeys(character)),
        effective=tuple(origins),
        duplicates=tuple(book_id for book_id, found in origins.items() if len(found) > 1),
        origins={book_id: tuple(found) for book_id, found in origins.items()},
    )


def tier_of(origins: Sequence[Origin]) -> int:
    """The tier in which a book's entries are asked.

    SillyTavern asks the chat's book first, then the persona's, then all others together by insertion order;
    the session's own books stand for the chat's, the user's for the persona's.
    """
    return 0 if "session" in origins else 1 if "user" in origins else 2


def embedded_id(card_id: str) -> str:
    """The id of a card's own book."""
    return f"character:{card_id}:embedded-world-book"


def admitted(books: Sequence[Book], notes: Diagnostics, limit: int = MAX_TOTAL_ENTRIES) -> list[Book]:
    """The books that fit into the limit on entries, first come, each reserved whole and each once. One that
    does not fit is skipped with a remark, and smaller ones after it may still fit."""
    kept: dict[str, Book] = {}
    room = limit
    for held in books:
        if held.id in kept:
            continue
        if len(held.book.entries) > room:
            notes.warn(
                "WORLD_BOOK_RUNTIME_TOTAL_LIMIT",
                f"The world book “{held.book.name}” was skipped: all books together may have "
                f"{limit:,} entries.",
                held.id,
            )
            continue
        room -= len(held.book.entries)
        kept[held.id] = held
    return list(kept.values())
