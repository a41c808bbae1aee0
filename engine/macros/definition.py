"""What a macro is to the evaluator: how many arguments it takes, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from engine.macros.context import MacroContext
from engine.macros.nodes import Arg, Macro, Variable
from engine.macros.variables import Variables

__all__ = ["ANY", "Definition", "Form", "Function", "Run", "Table"]

ANY = 1 << 30  # as many arguments as there are


class Run(Protocol):
    """One evaluation, as a macro sees it."""

    @property
    def source(self) -> str:
        """The whole text."""

    @property
    def context(self) -> MacroContext:
        """What the caller gave."""

    @property
    def variables(self) -> Variables:
        """The variables, with what was written so far."""

    @property
    def hidden_keys(self) -> list[str]:
        """What only the scan of lore sees."""

    def value(self, arg: Arg) -> str:
        """An argument evaluated and trimmed."""

    def named(self, name: str, at: Arg) -> str | None:
        """What the macro of this name says without arguments; None when it needs some or is unknown."""

    def branch(self, arg: Arg, out: list[str]) -> None:
        """Evaluate an argument as a text of its own, trimmed at its edges."""

    def scope(self, macro: Macro, first: int, last: int | None, out: list[str]) -> None:
        """Evaluate some nodes of a macro's scope, trimmed and dedented as its flags say."""

    def once(self, field: str) -> bool:
        """Whether a field may be said (again) in this text."""

    def original(self) -> str | None:
        """What is replaced here: at the first use, then empty; None when nothing is replaced."""

    def stable_fraction(self, at: int) -> float:
        """A number in [0, 1) that belongs to the story, this text and this place in it."""

    def note(self, code: str, at: Macro | Variable, **facts: str | int) -> None:
        """Tell the author."""


Function: TypeAlias = Callable[[Run, Macro, "list[str]"], "str | None"]
"""Takes the arguments, evaluated and trimmed, the scope last. None: it cannot be expanded, and stays."""

Form: TypeAlias = Callable[[Run, Macro, "list[str]"], None]
"""Evaluates its arguments itself, as far as it wants them, and writes pieces."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A macro. `field` is the card or persona field it stands for; `cost` its share of the allowed steps."""

    fewest: int
    most: int
    function: Function | None = None
    form: Form | None = None
    field: str = ""
    cost: int = 1


Table: TypeAlias = Mapping[str, Definition]
"""By lower-case name."""
