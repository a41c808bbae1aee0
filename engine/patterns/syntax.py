"""The parts of a pattern, after its letters and classes have become sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.patterns.charset import CharSet

__all__ = [
    "EMPTY",
    "Backref",
    "Chars",
    "Choice",
    "Edge",
    "EdgeKind",
    "Flags",
    "Group",
    "Guarded",
    "Look",
    "Node",
    "Parsed",
    "Repeat",
    "Sequence",
]

EdgeKind = Literal["start", "end", "line-start", "line-end", "word", "no-word"]


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    chars: CharSet


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; none is the empty match."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first that works."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`low` to `high` times; None is without end. `again` when others of the same loop go before."""

    body: Node
    low: int
    high: int | None
    greedy: bool
    again: bool = False

    @property
    def loops(self) -> bool:
        """Whether a repetition can have another before it, whose captures it forgets."""
        return self.high != 1 or self.again


@dataclass(frozen=True, slots=True)
class Group:
    """A capture."""

    index: int
    body: Node


@dataclass(frozen=True, slots=True)
class Look:
    """A condition on what follows or precedes."""

    body: Node
    ahead: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A condition on the place."""

    kind: EdgeKind


@dataclass(frozen=True, slots=True)
class Backref:
    """What the group captured; the empty text when it did not."""

    index: int


@dataclass(frozen=True, slots=True)
class Guarded:
    """The body, but not where it matches the empty text: JavaScript refuses an empty repetition."""

    body: Node


Node: TypeAlias = Chars | Sequence | Choice | Repeat | Group | Look | Edge | Backref | Guarded

EMPTY = Sequence(())


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of a pattern that change its meaning. `unicode` is `u` or `v`, `sets` is `v`."""

    ignore_case: bool = False
    multiline: bool = False
    dot_all: bool = False
    unicode: bool = False
    sets: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """A pattern's parts. `word_chars` is what `\\b` takes for a letter of a word."""

    root: Node
    groups: int
    names: dict[str, int]
    word_chars: CharSet
    ignore_case: bool = False
