"""The tree of a text with macros: nodes with spans that together cover the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "MAX_ARGS",
    "MAX_DEPTH",
    "MAX_MACROS",
    "Arg",
    "Insert",
    "Macro",
    "Node",
    "Scope",
    "Store",
    "Takes",
    "Text",
    "Tree",
    "Variable",
]

MAX_DEPTH = 64  # spec sillytavern 4.5; what is nested deeper stays as written
MAX_MACROS = 100_000  # of one text; they take about half a second
MAX_ARGS = 10_000  # of one macro; what comes after belongs to the last

Store = Literal["local", "global"]
Takes: TypeAlias = Callable[[str, int], bool]
"""Whether a macro of this name may have so many arguments, the scope counted."""


@dataclass(slots=True)
class Text:
    """Literal text at [start, end) of the source."""

    start: int
    end: int


@dataclass(slots=True)
class Insert:
    """A place for the caller's own text, by its number."""

    start: int
    end: int
    number: int


@dataclass(slots=True)
class Arg:
    """An argument, not yet trimmed: the span between two separators, and the nodes that cover it."""

    start: int
    end: int
    nodes: list[Node]


@dataclass(slots=True)
class Scope:
    """What stands between `{{name}}` and `{{/name}}`, and the closing tag."""

    start: int
    end: int
    nodes: list[Node]
    close: Macro


@dataclass(slots=True)
class Macro:
    """A tag at [start, end). `name` is lower-case, `//` for the comment.

    An empty name is a pair of braces around something that is no macro; its inside is the one argument.
    `flags` stood before the name. `spoilt` marks a tag whose partner cannot be its scope.
    """

    name: str
    start: int
    end: int
    args: list[Arg]
    flags: str = ""
    closing: bool = False
    scope: Scope | None = None
    spoilt: bool = False


@dataclass(slots=True)
class Variable:
    """`{{.name}}` or `{{$name}}` at [start, end), with an operator and its right side if there is one."""

    store: Store
    name: str
    operator: str
    value: Arg | None
    start: int
    end: int


Node: TypeAlias = Text | Insert | Macro | Variable


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes in order; together they span the source.

    `too_deep` are places beyond MAX_DEPTH; from `too_many` on everything is text.
    """

    nodes: list[Node]
    too_deep: tuple[int, ...] = ()
    too_many: int | None = None
