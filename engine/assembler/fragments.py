"""Passages between two delimiters, and the text without them.

Where delimiters are nested or one is missing nothing is cut: a policy must not eat a reply by guessing.
Source: assembler spec 7.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.assembler.history_policy import Fragment

__all__ = ["Cut", "passages", "utf16_offset", "without"]

_FENCES = ("```", "~~~")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""A line of a message ends with a line feed; Python's own lines end with a dozen more characters."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Characters [start, end) that go, and the ids of the rules that say so."""

    start: int
    end: int
    rule_ids: tuple[str, ...]


def passages(text: str, fragments: Sequence[Fragment]) -> tuple[list[Cut], list[str]]:
    """What to cut, in order and apart, and the reasons why something is kept (then nothing is cut)."""
    cuts: list[Cut] = []
    reasons: list[str] = []
    for fragment in fragments:
        marks = _lines(text, fragment) if fragment.mode == "lines" else _literals(text, fragment)
        spans, reason = _paired(marks)
        if reason is not None:
            reasons.append(reason)
        cuts += [Cut(start, end, (fragment.id,)) for start, end in spans]
    return ([], list(dict.fromkeys(reasons))) if reasons else (_united(cuts), [])


def without(text: str, cuts: Sequence[Cut]) -> str:
    """The text without the cuts."""
    out, at = [], 0
    for cut in cuts:
        out.append(text[at : cut.start])
        at = cut.end
    return "".join([*out, text[at:]])


def utf16_offset(text: str, index: int) -> int:
    """The offset in UTF-16 units, in which metadata counts (decision 33)."""
    return index + sum(1 for character in text[:index] if ord(character) > 0xFFFF)


def _lines(text: str, fragment: Fragment) -> list[tuple[bool, int, int]]:
    """(whether it opens, start, end) of each line that is a delimiter, outside code fences."""
    marks: list[tuple[bool, int, int]] = []
    at, fence = 0, ""
    for line in _LINE.findall(text):
        bare = line.strip()
        if bare[:3] in _FENCES and (not fence or bare[:3] == fence):
            fence = "" if fence else bare[:3]
        elif not fence and bare in (fragment.start, fragment.end):
            marks.append((bare == fragment.start, at, at + len(line)))
        at += len(line)
    return marks


def _literals(text: str, fragment: Fragment) -> list[tuple[bool, int, int]]:
    marks: list[tuple[bool, int, int]] = []
    at = 0
    while True:
        found = [(text.find(mark, at), mark) for mark in (fragment.start, fragment.end)]
        found = [(index, mark) for index, mark in found if index >= 0]
        if not found:
            return marks
        index, mark = min(found, key=lambda pair: (pair[0], -len(pair[1])))
        at = index + len(mark)
        marks.append((mark == fragment.start, index, at))


def _paired(marks: Sequence[tuple[bool, int, int]]) -> tuple[list[tuple[int, int]], str | None]:
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    for opens, start, end in marks:
        if opens == (opened is not None):
            return [], "AMBIGUOUS_FRAGMENT"  # an opening one inside, or a closing one by itself
        if opens:
            opened = start
        else:
            spans.append((opened if opened is not None else start, end))
            opened = None
    return (spans, None) if opened is None else ([], "UNCLOSED_FRAGMENT")


def _united(cuts: list[Cut]) -> list[Cut]:
    united: list[Cut] = []
    for cut in sorted(cuts, key=lambda cut: (cut.start, cut.end)):
        last = united[-1] if united else None
        if last is not None and cut.start < last.end:
            rules = tuple(dict.fromkeys((*last.rule_ids, *cut.rule_ids)))
            united[-1] = Cut(last.start, max(last.end, cut.end), rules)
        else:
            united.append(cut)
    return united
