"""The rows that the library hands out: what is known of a resource without reading its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.codec import loads
from engine.ids import OwnerId, ResourceId
from engine.resources import Diagnostic
from engine.storage import Row

__all__ = ["Kind", "ResourceRow", "row_of"]

Kind = Literal["card", "preset", "world_book", "regex"]


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One resource of an owner. Times are milliseconds; `known` is set on the result of an import
    whose very bytes the library had already, `relinked` when it took the place of a deleted one."""

    id: ResourceId
    owner: OwnerId
    kind: Kind
    name: str
    filename: str
    revision: int
    original: bytes
    document: bytes
    avatar: bytes | None
    avatar_type: str | None
    size: int
    tags: tuple[str, ...]
    nsfw: bool
    summary: Mapping[str, Any]
    created_by: str
    created_at: int
    updated_at: int
    used_at: int | None
    deleted_at: int | None
    known: bool = field(default=False, compare=False)
    relinked: bool = field(default=False, compare=False)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What the import noticed and mended."""
        return tuple(Diagnostic(*item) for item in self.summary.get("warnings", ()))


def row_of(row: Row) -> ResourceRow:
    """The database's row as ours."""
    return ResourceRow(
        id=ResourceId(row["id"]),
        owner=OwnerId(row["owner"]),
        kind=row["kind"],
        name=row["name"],
        filename=row["filename"],
        revision=row["revision"],
        original=row["original"],
        document=row["document"],
        avatar=row["avatar"],
        avatar_type=row["avatar_type"],
        size=row["size"],
        tags=tuple(loads(row["tags"])),
        nsfw=bool(row["nsfw"]),
        summary=loads(row["summary"]),
        created_by=row["created_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        used_at=row["used_at"],
        deleted_at=row["deleted_at"],
    )
