"""The grammar of `{{macros}}`: a text becomes texts and macros, each with its span.

One linear pass pairs the braces, so no input costs more than its length. What is no
macro (`{{` without an end, `{{宏}}`) is text, and macros inside it still count. Source:
spec sillytavern 4.2, as far as names, arguments, nesting, comments and escapes go.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Macro", "Node", "Text", "parse"]

MAX_DEPTH = 64  # spec sillytavern 4.5; what is nested deeper stays text

_NAME = re.compile(r"\s*([A-Za-z][\w-]*)(?:\s*(::?)|\s+|(?=$))", re.ASCII)
_COMMENT = re.compile(r"\s*//")
_MARKER = re.compile(r"<(user|bot|char|charifnotgroup|group)>", re.IGNORECASE)
_MARKER_NAMES = {"bot": "char", "charifnotgroup": "group"}
_BRACES = re.compile(r"\\\{(?!\{)|\\\}|\{+|\}+")


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text at [start, end) of the source."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro at [start, end). `name` is lower-case; `//` is the comment.

    `args` are node lists. `single` says that one separator (`:` or a space) took everything as one
    argument.
    """

    name: str
    start: int
    end: int
    args: tuple[tuple[Node, ...], ...] = ()
    single: bool = False


Node: TypeAlias = Text | Macro


def parse(source: str) -> tuple[Node, ...]:
    """The nodes of a text; together they span all of it."""
    return tuple(_Parser(source).nodes(0, len(source), 0))


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.close_of = _paired(source)
        self.opens = sorted(self.close_of)

    def nodes(self, start: int, end: int, depth: int) -> Iterator[Node]:
        at = start
        for opening in self._opens_between(start, end):
            if opening < at:
                continue  # inside the macro just read
            macro = self._macro(opening, depth)
            if macro is None:
                continue
            yield from self._text(at, opening)
            yield macro
            at = macro.end
        yield from self._text(at, end)

    def _opens_between(self, start: int, end: int) -> Iterator[int]:
        index = bisect_left(self.opens, start)
        while index < len(self.opens) and self.opens[index] < end:
            opening = self.opens[index]
            yield opening
            index += 1

    def _macro(self, opening: int, depth: int) -> Macro | None:
        close = self.close_of[opening]
        inner, end = opening + 2, close + 2
        if _COMMENT.match(self.source, inner, close):
            return Macro("//", opening, end)
        head = _NAME.match(self.source, inner, close)
        if head is None or depth >= MAX_DEPTH:
            return None
        after, separator, name = head.end(), head[2], head[1].lower()
        if separator is None and not self.source[after:close].strip():
            return Macro(name, opening, end)
        single = separator != "::"
        pieces = [(after, close)] if single else self._split(after, close)
        args = tuple(tuple(self.nodes(first, last, depth + 1)) for first, last in pieces)
        return Macro(name, opening, end, args, single)

    def _split(self, start: int, end: int) -> list[tuple[int, int]]:
        """The spans between the `::` that stand at this level, not inside a nested pair of braces."""
        pieces: list[tuple[int, int]] = []
        first = at = start
        while (separator := self.source.find("::", at, end)) >= 0:
            nested = next(self._opens_between(at, separator), None)
            if nested is not None:
                at = self.close_of[nested] + 2
                continue
            pieces.append((first, separator))
            first = at = separator + 2
        pieces.append((first, end))
        return pieces

    def _text(self, start: int, end: int) -> Iterator[Node]:
        """Text, with the old angle markers (`<USER>`) found in it."""
        at = start
        for found in _MARKER.finditer(self.source, start, end):
            if found.start() > at:
                yield Text(at, found.start())
            word = found[1].lower()
            yield Macro(_MARKER_NAMES.get(word, word), found.start(), found.end())
            at = found.end()
        if at < end:
            yield Text(at, end)


def _paired(source: str) -> dict[int, int]:
    """Position of `{{` → position of its `}}`. Unpaired ones are not in it.

    In a run of braces the opening pairs stand at its end and the closing pairs at its start, so
    that `{{{user}}}` is a brace, a macro and a brace.
    """
    pairs: dict[int, int] = {}
    waiting: list[int] = []
    for run in _BRACES.finditer(source):
        text = run[0]
        if text[0] == "\\":
            continue
        count = len(text) // 2
        if text[0] == "{":
            first = run.end() - 2 * count
            waiting.extend(range(first, run.end(), 2))
            continue
        for number in range(min(count, len(waiting))):
            pairs[waiting.pop()] = run.start() + 2 * number
    return pairs
