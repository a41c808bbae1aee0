"""The grammar of `{{macros}}`: a text becomes a tree whose nodes have spans and cover all of it.

A macro has a name and arguments; `{{.x}}` and `{{$x}}` are variables; `{{name}}…{{/name}}` is a macro
with a scope when the macro can take one. What is no macro (`{{` without an end, `{{宏}}`) is text, and
macros inside it still count. The cost is linear in the text. Source: spec sillytavern 4.2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.macros.braces import Element, elements
from engine.macros.nodes import (
    MAX_ARGS,
    MAX_DEPTH,
    MAX_MACROS,
    Arg,
    Insert,
    Macro,
    Node,
    Store,
    Takes,
    Text,
    Tree,
    Variable,
)
from engine.macros.scopes import scoped

__all__ = ["parse"]

_HEAD = re.compile(r"\s*([A-Za-z][\w-]*)(?:\s*(::?)|\s+|\Z)", re.ASCII)
_FLAGS = re.compile(r"\s*((?:[/#!?~>]\s*)*)", re.ASCII)
_COMMENT = re.compile(r"\s*((?:[#!?~>]\s*)*)//", re.ASCII)
_COMMENT_END = re.compile(r"\s*/\s*//\s*\Z", re.ASCII)
_OLD_TIME = re.compile(r"\s*time_(UTC[+-][0-9]{1,2}(?:\.[0-9]{1,2})?)\s*\Z", re.ASCII | re.IGNORECASE)
_VARIABLE = re.compile(
    r"\s*(?:[#!?~>]\s*)*([.$])\s*([A-Za-z](?:[\w-]*\w)?)\s*"
    r"(\|\|=|\?\?=|\+\+|--|\|\||\?\?|\+=|-=|==|!=|>=|<=|>|<|=)?\s*",
    re.ASCII,
)


def parse(source: str, takes: Takes | None = None, inserts: Sequence[tuple[int, int]] = ()) -> Tree:
    """The tree of a text. Without `takes` no macro has a scope. Never raises.

    `inserts` are spans in order, apart from each other, that are no part of the grammar.
    """
    found = elements(source, inserts)
    too_many = found[MAX_MACROS][0] if len(found) > MAX_MACROS else None
    parser = _Parser(source, takes, found[:MAX_MACROS])
    return Tree(parser.args(0, len(source), 0, False)[0].nodes, tuple(parser.too_deep), too_many)


class _Parser:
    def __init__(self, source: str, takes: Takes | None, found: list[Element]) -> None:
        self.source = source
        self.takes = takes
        self.too_deep: list[int] = []
        self._found = found
        self._next = 0  # elements are met in the order of their starts, so one index serves all levels
        self._starts = [element[0] for element in found]
        self._starts.append(len(source) + 1)

    def args(self, at: int, end: int, depth: int, split: bool) -> list[Arg]:
        """The arguments between `at` and `end`: one, or split at the `::` of this level."""
        args: list[Arg] = []
        nodes: list[Node] = []
        starts, find = self._starts, self.source.find
        first = at
        closes = False
        separator = find("::", at, end) if split else -1
        while True:
            while starts[self._next] < at:
                self._next += 1
            following = starts[self._next]
            if 0 <= separator < following:
                if separator > at:
                    nodes.append(Text(at, separator))
                args.append(Arg(first, separator, self._level(nodes, closes, depth)))
                nodes, closes = [], False
                first = at = separator + 2
                separator = find("::", at, end) if len(args) < MAX_ARGS - 1 else -1
            elif following < end:
                if following > at:
                    nodes.append(Text(at, following))
                node = self._element(self._found[self._next], depth)
                nodes.append(node)
                closes = closes or (isinstance(node, Macro) and node.closing)
                at = node.end
                if 0 <= separator < at:
                    separator = find("::", at, end)
            else:
                if end > at:
                    nodes.append(Text(at, end))
                args.append(Arg(first, end, self._level(nodes, closes, depth)))
                return args

    def _level(self, nodes: list[Node], closes: bool, depth: int) -> list[Node]:
        if not closes or self.takes is None:
            return nodes
        return scoped(nodes, self.takes, depth, self.too_deep)

    def _element(self, element: Element, depth: int) -> Node:
        start, end, what = element
        self._next += 1
        if what is None:
            return self._tag(start, end, depth)
        if isinstance(what, int):
            return Insert(start, end, what)
        return Macro(what, start, end, [])

    def _tag(self, start: int, close: int, depth: int) -> Node:
        if depth >= MAX_DEPTH:
            self.too_deep.append(start)
            return Text(start, close + 2)
        head = _HEAD.match(self.source, start + 2, close)
        if head is None:
            return self._uncommon(start, close, depth)
        if head[1][:5].lower() == "time_" and _OLD_TIME.match(self.source, start + 2, close):
            return self._uncommon(start, close, depth)  # no name, though one may have a hyphen
        return self._named(head, start, close, depth)

    def _named(self, head: re.Match[str], start: int, close: int, depth: int, flags: str = "") -> Macro:
        name, separator = head.groups()
        at = head.end()
        if separator is None and at == close:
            return Macro(name.lower(), start, close + 2, [], flags)
        return Macro(
            name.lower(), start, close + 2, self.args(at, close, depth + 1, separator == "::"), flags
        )

    def _uncommon(self, start: int, close: int, depth: int) -> Node:
        """A comment, a closing tag, flags, a variable; or nothing of the kind."""
        source, inner, end = self.source, start + 2, close + 2
        if _COMMENT_END.match(source, inner, close):
            return Macro("//", start, end, [], "/", closing=True)
        comment = _COMMENT.match(source, inner, close)
        if comment:
            return Macro("//", start, end, [Arg(comment.end(), close, [])], comment[1])
        variable = _VARIABLE.match(source, inner, close)
        if variable:
            return self._variable(variable, start, close, depth)
        old = _OLD_TIME.match(source, inner, close)
        if old:
            return Macro("time", start, end, [Arg(*old.span(1), [Text(*old.span(1))])])
        flags = _FLAGS.match(source, inner, close)
        head = _HEAD.match(source, flags.end(), close) if flags and flags[1] else None
        if flags is None or head is None:
            return self._malformed(start, close, depth)
        if "/" not in flags[1]:
            return self._named(head, start, close, depth, flags[1])
        if head[2] is None and head.end() == close:
            return Macro(head[1].lower(), start, end, [], flags[1], closing=True)
        return self._malformed(start, close, depth)

    def _variable(self, found: re.Match[str], start: int, close: int, depth: int) -> Node:
        sigil, name, operator = found.groups()
        at = found.end()
        store: Store = "local" if sigil == "." else "global"
        if operator in (None, "++", "--"):
            if at != close:
                return self._malformed(start, close, depth)
            return Variable(store, name, operator or "", None, start, close + 2)
        value = self.args(at, close, depth + 1, False)[0]
        return Variable(store, name, operator, value, start, close + 2)

    def _malformed(self, start: int, close: int, depth: int) -> Macro:
        return Macro("", start, close + 2, self.args(start + 2, close, depth + 1, False))
