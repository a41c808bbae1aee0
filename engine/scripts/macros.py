"""The macros that a script may use, as the caller knows them.

Source: spec sillytavern 4 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.macros import Authored, MacroContext, Variables, evaluate

__all__ = ["ContextMacros", "Insert", "Macros", "NoMacros", "escape_for_pattern"]

Insert = tuple[int, int, str]
"""A span of a text, and the words of other people that come in its place."""

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\f": "\\f", "\0": "\\x00"} | {
    sign: "\\" + sign for sign in ".^$*+?{}[]\\/|()"
}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)


class Macros(Protocol):
    """What expands a script's own texts."""

    def expand(self, text: str, inserts: Sequence[Insert] = ()) -> str:
        """A replacement or a text to trim, with what a match captured put in its place."""

    def pattern(self, text: str, *, escape: bool) -> str:
        """A find string; with `escape` the values of macros stand for themselves."""


class NoMacros:
    """Leaves everything as it is."""

    def expand(self, text: str, inserts: Sequence[Insert] = ()) -> str:
        return put_in(text, inserts)

    def pattern(self, text: str, *, escape: bool) -> str:
        return text


class ContextMacros:
    """The macros of a context. What a match captured is never expanded, whoever wrote it, unless
    `captured` says so: SillyTavern does it, and at a table of strangers it is a hole."""

    def __init__(
        self, context: MacroContext, variables: Variables | None = None, *, captured: bool = False
    ) -> None:
        self._context = context
        self._variables = variables
        self._captured = captured

    def expand(self, text: str, inserts: Sequence[Insert] = ()) -> str:
        if self._captured:
            text, inserts = put_in(text, inserts), ()
        return evaluate(
            Authored(text), self._context, variables=self._variables, profile="keep", inserts=inserts
        ).text

    def pattern(self, text: str, *, escape: bool) -> str:
        return evaluate(
            Authored(text),
            self._context,
            variables=self._variables,
            profile="pattern",
            escape=escape_for_pattern if escape else None,
        ).text


def escape_for_pattern(text: str) -> str:
    """The text as a pattern that matches just it."""
    return text.translate(_ESCAPE_TABLE)


def put_in(text: str, inserts: Sequence[Insert]) -> str:
    """The text with the inserts in their places."""
    parts: list[str] = []
    at = 0
    for start, end, words in inserts:
        parts += [text[at:start], words]
        at = end
    return "".join([*parts, text[at:]])
