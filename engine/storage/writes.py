"""What a caller asks the store to change, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from engine.codec import digest
from engine.errors import StorageError

__all__ = ["Change", "Outcome", "Params", "Row", "Unit", "Write", "blob_write"]

Params: TypeAlias = Mapping[str, object]


class Row(Protocol):
    """A result row: `row["column"]`, or unpacked in the order of its columns."""

    def __getitem__(self, column: str, /) -> Any:
        """The column's value: None, int, float, str or bytes."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """The values in order."""
        ...

    def keys(self) -> list[str]:
        """The column names in order, so that `dict(row)` works."""
        ...


@dataclass(frozen=True, slots=True)
class Write:
    """One named statement of a unit.

    `params` is one set of values, or a sequence of sets that the statement runs for one after the
    other; the row count is their sum. With `expect` the count must be equal, else the unit rolls
    back and its caller gets `Conflict`: the compare-and-swap of every table.
    """

    query: str
    params: Params | Sequence[Params]
    expect: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A `Write` whose name has been looked up."""

    query: str
    text: str
    params: Params | Sequence[Params]
    expect: int | None


Unit: TypeAlias = Sequence[Change]
"""Changes that happen together or not at all."""

Outcome: TypeAlias = list[int] | StorageError
"""What became of a unit: the row count of each change, or why none of them happened."""


def blob_write(body: bytes) -> Write:
    """The write that stores a blob under its hash, to put into one unit with the row that names it.

    Storing the same bytes again changes nothing, and mends a damaged copy.
    """
    return Write("blob_put", {"hash": digest(body), "size": len(body), "body": body})
