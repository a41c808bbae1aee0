"""What a reader noticed and mended, told to the person who imports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Diagnostic", "Diagnostics", "Severity"]

Severity = Literal["info", "warning"]

_KEPT = 200  # a hostile file can need a repair in each of 100,000 places; a person reads a page


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One remark. `code` is for programs, `message` for people, `where` a path such as `data.tags`."""

    code: str
    message: str
    severity: Severity = "warning"
    where: str = ""


class Diagnostics:
    """Collects remarks in order, each (code, where) once, and at most a page of them."""

    def __init__(self) -> None:
        self._items: list[Diagnostic] = []
        self._seen: set[tuple[str, str]] = set()
        self._omitted = 0

    def warn(self, code: str, message: str, where: str = "") -> None:
        """Something was wrong and mended, or left out."""
        self._add(Diagnostic(code, message, "warning", where))

    def info(self, code: str, message: str, where: str = "") -> None:
        """Worth knowing; nothing was lost."""
        self._add(Diagnostic(code, message, "info", where))

    def extend(self, items: tuple[Diagnostic, ...]) -> None:
        """Add remarks made elsewhere."""
        for item in items:
            self._add(item)

    def _add(self, item: Diagnostic) -> None:
        mark = (item.code, item.where)
        if mark in self._seen:
            return
        if len(self._items) >= _KEPT:
            self._omitted += 1
            return
        self._seen.add(mark)
        self._items.append(item)

    def all(self) -> tuple[Diagnostic, ...]:
        """What was collected; the last remark counts those that were left out."""
        if not self._omitted:
            return tuple(self._items)
        more = Diagnostic("more", f"{self._omitted} more remarks were left out.", "info")
        return (*self._items, more)
