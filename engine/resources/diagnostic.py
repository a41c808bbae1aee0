"""What a reader noticed and mended, told to the person who imports.

A remark is a machine code, the facts, and one English sentence. Another language says the
same of the code and the facts (`diagnostics.CODE` in the catalogues).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Diagnostic", "Diagnostics", "Fact", "Severity"]

Severity = Literal["info", "warning"]
Fact: TypeAlias = "str | int | float"

_KEPT = 200  # a hostile file can need a repair in each of 100,000 places; a person reads a page
_FACT = 300  # characters of a fact: what it quotes may be a whole hostile file


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One remark. `code` is for programs, `message` for people, `where` a path such as `data.tags`.

    `data` holds the facts that the sentence names, so that it can be said in any language.
    """

    code: str
    message: str
    severity: Severity = "warning"
    where: str = ""
    data: Mapping[str, Fact] = field(default_factory=dict, hash=False)


class Diagnostics:
    """Collects remarks in order, each (code, where) once, and at most a page of them.

    A message may name facts as `{name}`; they are filled in when facts are given.
    """

    def __init__(self) -> None:
        self._items: list[Diagnostic] = []
        self._seen: set[tuple[str, str]] = set()
        self._omitted = 0

    def warn(self, code: str, message: str, where: str = "", **facts: Fact) -> None:
        """Something was wrong and mended, or left out."""
        self._add(_remark(code, message, "warning", where, facts))

    def info(self, code: str, message: str, where: str = "", **facts: Fact) -> None:
        """Worth knowing; nothing was lost."""
        self._add(_remark(code, message, "info", where, facts))

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
        more = _remark("more", "{count} more remarks were left out.", "info", "", {"count": self._omitted})
        return (*self._items, more)


def _remark(code: str, message: str, severity: Severity, where: str, facts: Mapping[str, Fact]) -> Diagnostic:
    if not facts:
        return Diagnostic(code, message, severity, where)
    short = {key: fact[:_FACT] if isinstance(fact, str) else fact for key, fact in facts.items()}
    return Diagnostic(code, message.format_map(short), severity, where, short)
