"""An owner's resources in memory, to be searched at each key stroke of an autocomplete."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

from engine.library.rows import Kind, ResourceRow

__all__ = ["Shelf", "Sort", "fold"]

Sort = Literal["name", "updated", "used", "custom"]


def fold(text: str) -> str:
    """The form in which names are compared: no case, no accents on the way in, one space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Shelf:
    """Rows by id, with folded names and tags. Holds only live rows."""

    def __init__(self, rows: Iterable[ResourceRow] = ()) -> None:
        self._rows: dict[str, ResourceRow] = {}
        self._folded: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._revisions: dict[str, int] = {}
        self._places: dict[str, int] = {}
        for row in rows:
            self.put(row)

    def put(self, row: ResourceRow) -> None:
        """Add or replace a row; a deleted one leaves the shelf. An older revision than the one that
        was put last changes nothing, so readers of the database may come here in any order."""
        if row.revision < self._revisions.get(row.id, 0):
            return
        self._revisions[row.id] = row.revision
        if row.deleted_at is not None:
            self._rows.pop(row.id, None)
            self._folded.pop(row.id, None)
            return
        self._rows[row.id] = row
        self._folded[row.id] = (fold(row.name), tuple(fold(tag) for tag in row.tags))

    def drop(self, resource_id: str) -> None:
        """It is gone altogether."""
        self._rows.pop(resource_id, None)
        self._folded.pop(resource_id, None)
        self._places.pop(resource_id, None)

    def place(self, ids: Sequence[str]) -> None:
        """The own order of the ids' kind."""
        self._places.update({id: place for place, id in enumerate(ids)})

    def list(self, kind: Kind | None = None, sort: Sort = "name") -> Sequence[ResourceRow]:
        """Rows by name, by the last change, by the last use (both newest first), or in the own order,
        in which what was never placed comes last, by name."""
        rows = [row for row in self._rows.values() if kind is None or row.kind == kind]
        by_name = sorted(rows, key=lambda row: (self._folded[row.id][0], row.id))
        if sort == "updated":
            return sorted(by_name, key=lambda row: -row.updated_at)
        if sort == "used":
            return sorted(by_name, key=lambda row: -(row.used_at or 0))
        if sort == "custom":
            return sorted(by_name, key=lambda row: self._places.get(row.id, len(self._places)))
        return by_name

    def search(self, kind: Kind, text: str, limit: int) -> Sequence[ResourceRow]:
        """Rows whose name or a tag has `text`, best first; all of them for an empty text.

        A name that begins with it, then a word of the name, then anywhere in the name, then a tag;
        the most recently used first among equals.
        """
        wanted = fold(text)
        found: list[tuple[int, int, str, str]] = []
        for row in self._rows.values():
            if row.kind != kind:
                continue
            name, tags = self._folded[row.id]
            rank = _rank(wanted, name, tags)
            if rank is not None:
                found.append((rank, -(row.used_at or row.created_at), name, row.id))
        return [self._rows[key] for *_, key in sorted(found)[:limit]]

    def meant(self, kind: Kind, text: str) -> Sequence[ResourceRow]:
        """The rows that an id or a name may mean: the exact one, else all that begin so."""
        row = self._rows.get(text.strip())
        if row is not None and row.kind == kind:
            return [row]
        wanted = fold(text)
        if not wanted:
            return []
        candidates = self.search(kind, text, len(self._rows))
        exact = [row for row in candidates if self._folded[row.id][0] == wanted]
        starting = [row for row in candidates if self._folded[row.id][0].startswith(wanted)]
        return exact[:1] or starting


def _rank(wanted: str, name: str, tags: tuple[str, ...]) -> int | None:
    if name.startswith(wanted):
        return 0
    if f" {wanted}" in name:
        return 1
    if wanted in name:
        return 2
    if any(tag.startswith(wanted) for tag in tags):
        return 3
    return 4 if any(wanted in tag for tag in tags) else None
