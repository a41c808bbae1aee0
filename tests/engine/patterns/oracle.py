"""ECMAScript's own description of matching, acted out: slow, recursive, and with nothing in common with ours.

A pattern is a tuple: ("char", letters), ("not", letters), ("any",), ("seq", *parts), ("alt", *parts),
("group", number, part), ("rep", part, low, high, greedy), ("look", negative, part), ("ref", number), and
("start",), ("end",), ("word",), ("noword",).
"""

from collections.abc import Iterator
from typing import Any

Node = tuple[Any, ...]
Captures = dict[int, tuple[int, int]]

WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def source(node: Node) -> str:
    """The pattern as JavaScript writes it."""
    kind = node[0]
    if kind == "char":
        return node[1] if len(node[1]) == 1 else f"[{node[1]}]"
    if kind == "not":
        return f"[^{node[1]}]"
    if kind == "seq":
        return "".join(map(source, node[1:]))
    if kind == "alt":
        return "(?:" + "|".join(map(source, node[1:])) + ")"
    if kind == "group":
        return f"({source(node[2])})"
    if kind == "look":
        return f"(?{'!' if node[1] else '='}{source(node[2])})"
    if kind == "ref":
        return f"(?:\\{node[1]})"
    if kind == "rep":
        high = "" if node[3] is None else node[3]
        return f"(?:{source(node[1])}){{{node[2]},{high}}}{'' if node[4] else '?'}"
    return {"any": ".", "start": "^", "end": "$", "word": "\\b", "noword": "\\B"}[kind]


def groups(node: Node) -> set[int]:
    """The numbers of the captures inside."""
    own = {node[1]} if node[0] == "group" else set()
    return own.union(*(groups(part) for part in node[1:] if isinstance(part, tuple)))


def find(node: Node, text: str, count: int) -> list[tuple[int, int] | None] | None:
    """The spans of the first match and of its `count` groups."""
    for start in range(len(text) + 1):
        for end, captures in _run(node, text, start, {}):
            return [(start, end), *(captures.get(number) for number in range(1, count + 1))]
    return None


def _run(node: Node, text: str, at: int, captures: Captures) -> Iterator[tuple[int, Captures]]:
    kind = node[0]
    if kind in ("char", "not", "any"):
        if at < len(text) and _takes(node, text[at]):
            yield at + 1, captures
    elif kind == "seq":
        yield from _sequence(node[1:], text, at, captures)
    elif kind == "alt":
        for part in node[1:]:
            yield from _run(part, text, at, captures)
    elif kind == "group":
        for end, found in _run(node[2], text, at, captures):
            yield end, {**found, node[1]: (at, end)}
    elif kind == "look":
        first = next(_run(node[2], text, at, captures), None)
        if node[1] and first is None:
            yield at, captures
        elif not node[1] and first is not None:
            yield at, first[1]
    elif kind == "ref":
        begin, end = captures.get(node[1], (0, 0))
        if text.startswith(text[begin:end], at):
            yield at + end - begin, captures
    elif kind == "rep":
        yield from _repeat(node[1], node[2], node[3], node[4], text, at, captures)
    elif _holds(kind, text, at):
        yield at, captures


def _sequence(
    parts: tuple[Node, ...], text: str, at: int, captures: Captures
) -> Iterator[tuple[int, Captures]]:
    if not parts:
        yield at, captures
        return
    for end, found in _run(parts[0], text, at, captures):
        yield from _sequence(parts[1:], text, end, found)


def _repeat(
    body: Node, low: int, high: int | None, greedy: bool, text: str, at: int, captures: Captures
) -> Iterator[tuple[int, Captures]]:
    # ECMA-262, RepeatMatcher
    if high == 0:
        yield at, captures
        return
    if not low and not greedy:
        yield at, captures
    forgotten = {number: span for number, span in captures.items() if number not in groups(body)}
    for end, found in _run(body, text, at, forgotten):
        if low or end > at:
            left = None if high is None else high - 1
            yield from _repeat(body, max(low - 1, 0), left, greedy, text, end, found)
    if not low and greedy:
        yield at, captures


def _takes(node: Node, letter: str) -> bool:
    if node[0] == "any":
        return letter not in "\n\r\u2028\u2029"
    return (letter in node[1]) == (node[0] == "char")


def _holds(kind: str, text: str, at: int) -> bool:
    if kind == "start":
        return at == 0
    if kind == "end":
        return at == len(text)
    before = at > 0 and text[at - 1] in WORD
    after = at < len(text) and text[at] in WORD
    return (before != after) == (kind == "word")
