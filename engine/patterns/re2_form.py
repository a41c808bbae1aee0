"""A pattern in RE2's language, where RE2 means the same.

RE2 runs in linear time. It has no conditions on what follows or precedes and no references; its captures
in a loop stay from an earlier repetition, where JavaScript's are forgotten; its lines end at `\\n` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from engine.patterns.charset import ANY, WORDS, CharSet
from engine.patterns.shape import captures, surely_set, walk
from engine.patterns.syntax import (
    Backref,
    Chars,
    Choice,
    Edge,
    Group,
    Guarded,
    Look,
    Node,
    Parsed,
    Repeat,
    Sequence,
)

__all__ = ["Re2Form", "re2_form"]

# RE2 rewrites these two classes to a letter of any case, and may add the third case on the way
_MISFOLDED = {CharSet.only(0x53, 0x73): "\u017f", CharSet.only(0x4B, 0x6B): "\u212a"}
_MAX_COUNT = 1_000  # RE2 refuses larger ones


@dataclass(frozen=True, slots=True)
class Re2Form:
    """`plain` is without captures, `capturing()` with them.

    It is not valid for a text with a sign of `unless`, nor for one beyond ASCII when `ascii_only`.
    """

    plain: str
    unless: str
    ascii_only: bool
    root: Node

    def capturing(self) -> str:
        """The form with its captures: many patterns are never asked for them."""
        return _write(self.root, "(")


def re2_form(parsed: Parsed, root: Node) -> Re2Form | None:
    """RE2's form of a settled pattern; None when RE2 cannot say it."""
    unless = ""
    ascii_only = False
    seen: set[int] = set()
    for part in walk(root):
        if isinstance(part, Look | Backref | Guarded):
            return None
        if isinstance(part, Group):
            if part.index in seen:  # written out twice, see `settle`
                return None
            seen.add(part.index)
        elif isinstance(part, Repeat):
            if part.low > _MAX_COUNT or (part.high or 0) > _MAX_COUNT:
                return None
            if part.loops and captures(part.body) - surely_set(part.body):
                return None
        elif isinstance(part, Chars):
            unless += _MISFOLDED.get(part.chars, "")
        elif isinstance(part, Edge):
            if part.kind in ("line-start", "line-end"):
                unless += "\r\u2028\u2029"
            elif part.kind in ("word", "no-word"):
                unless += "".join(map(chr, (parsed.word_chars - WORDS).points()))
                # RE2 looks at bytes: between two of one character it sees no edge of a word either
                ascii_only = ascii_only or part.kind == "no-word"
    if len(seen) != parsed.groups:  # one was left out, and RE2 would count the others without it
        return None
    return Re2Form(_write(root, "(?:"), "".join(sorted(set(unless))), ascii_only, root)


_EDGES = {
    "start": r"\A",
    "end": r"\z",
    "line-start": "(?m:^)",
    "line-end": "(?m:$)",
    "word": r"\b",
    "no-word": r"\B",
}


def _write(node: Node, opening: str) -> str:
    if isinstance(node, Chars):
        return _class(node.chars)
    if isinstance(node, Sequence):
        return "".join([_write(item, opening) for item in node.items])
    if isinstance(node, Choice):
        return "(?:" + "|".join([_write(option, opening) for option in node.options]) + ")"
    if isinstance(node, Group):
        return f"{opening}{_write(node.body, opening)})"
    if isinstance(node, Repeat):
        high = "" if node.high is None else node.high
        lazy = "" if node.greedy else "?"
        return f"(?:{_write(node.body, opening)}){{{node.low},{high}}}{lazy}"
    assert isinstance(node, Edge)  # the others were refused above
    return _EDGES[node.kind]


@lru_cache(maxsize=1024)
def _class(chars: CharSet) -> str:
    if chars == ANY:
        return "(?s:.)"
    if not chars.ranges:
        return r"[^\x{0}-\x{10FFFF}]"
    if len(chars) == 1:
        return _point(chars.ranges[0][0])
    return "[" + "".join(_point(a) if a == b else f"{_point(a)}-{_point(b)}" for a, b in chars.ranges) + "]"


def _point(point: int) -> str:
    return chr(point) if chr(point).isascii() and chr(point).isalnum() else f"\\x{{{point:X}}}"
