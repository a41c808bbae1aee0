"""A pattern in the language of the `regex` module, for what RE2 cannot say.

Everything is spelled out: classes as ranges, the edges of words and lines as conditions. A capture is
called `g1`. Where JavaScript forgets a capture at the start of a repetition, the group captures the empty
text there, and its mark `k1` says whether that was the last thing that it captured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from engine.patterns.charset import ANY, LINE_ENDS, CharSet
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

__all__ = ["RegexForm", "regex_form"]


@dataclass(frozen=True, slots=True)
class RegexForm:
    """`marked` are the groups whose empty mark says that they captured nothing; `hidden` those that have
    captured nothing once the pattern has matched, since a negative condition keeps what it saw to itself."""

    text: str
    marked: frozenset[int]
    hidden: frozenset[int]


def regex_form(parsed: Parsed, root: Node) -> RegexForm:
    """The form for `regex` of a settled pattern."""
    writer = _Writer(parsed, root)
    negatives = [part for part in walk(root) if isinstance(part, Look) and part.negative]
    hidden = frozenset[int]().union(*map(captures, negatives))
    return RegexForm(writer.write(root, frozenset(), backward=False), writer.marked, hidden)


class _Writer:
    def __init__(self, parsed: Parsed, root: Node) -> None:
        self._ignore_case = parsed.ignore_case
        self._word = _class(parsed.word_chars)
        self._guards = 0
        self._letters = 0
        self._captured = captures(root)
        self._referred = frozenset(part.index for part in walk(root) if isinstance(part, Backref))
        self.marked = frozenset(
            index
            for part in walk(root)
            if isinstance(part, Repeat) and part.loops
            for index in self._forgotten(part)
        )

    def _forgotten(self, loop: Repeat) -> frozenset[int]:
        inside = captures(loop.body)
        return inside - (surely_set(loop.body) - self._referred)

    def write(self, node: Node, within: frozenset[int], *, backward: bool) -> str:
        """`within` are the groups that are open here; `backward` in a condition on what precedes."""
        if isinstance(node, Chars):
            return self._letter(node)
        if isinstance(node, Sequence):
            return "".join([self.write(item, within, backward=backward) for item in node.items])
        if isinstance(node, Choice):
            options = [self.write(option, within, backward=backward) for option in node.options]
            return "(?:" + "|".join(options) + ")"
        if isinstance(node, Group):
            return self._group(node, within, backward=backward)
        if isinstance(node, Look):
            mark = ("" if node.ahead else "<") + ("!" if node.negative else "=")
            return f"(?{mark}{self.write(node.body, within, backward=not node.ahead)})"
        if isinstance(node, Repeat):
            return self._repeat(node, within, backward=backward)
        if isinstance(node, Guarded):
            return self._guarded(node, within, backward=backward)
        if isinstance(node, Backref):
            return self._reference(node.index, within)
        return self._edge(node)

    def _letter(self, node: Chars) -> str:
        if len(node.chars) != 1:
            return _class(node.chars)
        self._letters += 1
        return _class(node.chars) + (_SEAM if self._letters % _LONGEST_TEXT == 0 else "")

    def _group(self, node: Group, within: frozenset[int], *, backward: bool) -> str:
        name = node.index
        body = self.write(node.body, within | {name}, backward=backward)
        capture = f"(?P<g{name}>{body})"
        if name not in self.marked:
            return capture
        # any neighbour makes the mark not empty; only in an empty text there is none
        mark = f"(?:(?=(?P<k{name}>{_EVERY}))|(?<=(?P<k{name}>{_EVERY}))|)"
        return mark + capture if backward else capture + mark

    def _repeat(self, node: Repeat, within: frozenset[int], *, backward: bool) -> str:
        body = self.write(node.body, within, backward=backward)
        if node.loops:
            forget = "".join(f"(?P<g{i}>)(?P<k{i}>)" for i in sorted(self._forgotten(node)))
            body = body + forget if backward else forget + body
        high = "" if node.high is None else node.high
        return f"(?:{body}){{{node.low},{high}}}{'' if node.greedy else '?'}"

    def _guarded(self, node: Guarded, within: frozenset[int], *, backward: bool) -> str:
        self._guards += 1
        mark = f"p{self._guards}"
        body = self.write(node.body, within, backward=backward)
        if backward:
            return f"(?<!\\A(?P={mark})){body}(?<=\\A(?P<{mark}>{_EVERY}*))"
        return f"(?=(?P<{mark}>{_EVERY}*))(?:{body})(?!(?P={mark})\\Z)"

    def _reference(self, index: int, within: frozenset[int]) -> str:
        if index in within or index not in self._captured:
            return ""  # a group that is still open, or whose loop never runs, has captured nothing
        same = f"(?i:(?P=g{index}))" if self._ignore_case else f"(?P=g{index})"
        return f"(?(g{index}){same}|)"

    def _edge(self, node: Edge) -> str:
        word = self._word
        return {
            "start": r"\A",
            "end": r"\Z",
            "line-start": f"(?<!{_class(~LINE_ENDS)})",
            "line-end": f"(?!{_class(~LINE_ENDS)})",
            "word": f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))",
            "no-word": f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))",
        }[node.kind]


# `regex` prepares a search for a fixed text in a time that grows with its cube: 20 s for 4,096 times `a`.
# The seam, which holds everywhere, is what it does not put together.
_LONGEST_TEXT = 64
_SEAM = "(?!(?!))"
_EVERY = r"[\s\S]"


@lru_cache(maxsize=1024)
def _class(chars: CharSet) -> str:
    if chars == ANY:
        return _EVERY
    if not chars.ranges:
        return "(?!)"
    if len(chars) == 1:
        return _point(chars.ranges[0][0])
    # never as `[^…]`: the module takes an alternative of two of those for their common part
    return "[" + "".join([_point(a) if a == b else f"{_point(a)}-{_point(b)}" for a, b in chars.ranges]) + "]"


def _point(point: int) -> str:
    return chr(point) if chr(point).isascii() and chr(point).isalnum() else f"\\U{point:08X}"
