"""A stable window onto a list that only ever grows at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

__all__ = ["View"]

T = TypeVar("T")


class View(Sequence[T], Generic[T]):
    """Items `start` to `stop` of a list, made in O(1), that never changes afterwards.

    The owner of the list promises to append only, and to begin a new list for anything else; what was
    handed out then stays as it was. Equal to any sequence with equal items.
    """

    __slots__ = ("_items", "_start", "_stop")

    def __init__(self, items: list[T], start: int = 0, stop: int | None = None) -> None:
        self._items = items
        self._start = start
        self._stop = len(items) if stop is None else stop

    def __len__(self) -> int:
        return self._stop - self._start

    def __iter__(self) -> Iterator[T]:
        if self._start:
            return iter(self._items[self._start : self._stop])  # islice would walk up to the start
        return islice(self._items, self._stop)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._items[self._start : self._stop])

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return View(self._items, self._start + start, self._start + max(start, stop))
            return [self[position] for position in range(start, stop, step)]
        position = index if index >= 0 else index + len(self)
        if not 0 <= position < len(self):
            raise IndexError("view index out of range")
        return self._items[self._start + position]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        raise TypeError("a view is compared by its items and cannot be hashed")

    def __repr__(self) -> str:
        return f"View({list(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (View, (list(self),))
