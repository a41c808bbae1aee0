"""Finding passages by their words, in any script. Pure.

Words of letters and digits count as words; scripts that write without spaces (Chinese, Japanese, Thai…)
count by pairs of characters. What is rare among the passages weighs more, as in every index.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Hit", "Passage", "excerpt", "find", "terms"]

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_SENTENCE_END = re.compile(r"[.!?…。！？\n]")
_BEGIN_WITHIN = 60  # code points before the first word in which an excerpt looks for a sentence to begin with
_LEAST = 0.4  # of the best score; below it a passage shares only the small words
_WORD = 20  # code points; what is longer without a space is no word of a script with spaces
_STEM = 4  # letters; shorter words are met whole only, so that "in" does not find "inn"


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and where it stands; `place` is told with the excerpt."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found: its index among those searched, and how well it fits (more is better)."""

    index: int
    score: float
    first: int
    """Where the rarest of its words stands in the text."""


def terms(query: str) -> tuple[str, ...]:
    """The words that are looked for, each once."""
    found: dict[str, None] = {}
    for run in _RUN.findall(_folded(query)):
        if _IS_UNSPACED.match(run) and len(run) > 1:
            found.update(dict.fromkeys(run[at : at + 2] for at in range(len(run) - 1)))
        else:
            found[run] = None
    return tuple(found)


def find(query: str, passages: Sequence[Passage], limit: int) -> list[Hit]:
    """The passages that hold most of the words, best first; of equal ones the later first."""
    wanted = terms(query)
    folded = [_folded(passage.text) for passage in passages]
    places = [{term: place for term in wanted if (place := _place(term, text)) >= 0} for text in folded]
    known = Counter(term for held in places for term in held)
    hits: list[Hit] = []
    for index, held in enumerate(places):
        if held:
            score = sum(_weight(len(passages), known[term]) for term in held)
            rarest = min(held, key=lambda term: (known[term], held[term]))
            hits.append(Hit(index, score, held[rarest]))
    hits.sort(key=lambda hit: (-hit.score, -hit.index))
    return [hit for hit in hits[:limit] if hit.score >= _LEAST * hits[0].score]


def excerpt(text: str, first: int, length: int) -> str:
    """At most `length` code points around place `first`, on one line, with … where it was cut."""
    begin = max(0, first - _BEGIN_WITHIN)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, begin, first)]
    if ends:
        begin = ends[-1]
    elif begin:
        space = text.find(" ", begin, first)
        begin = space + 1 if space >= 0 else begin
    end = min(len(text), begin + length)
    shown = " ".join(text[begin:end].split())
    if end < len(text) and (space := shown.rfind(" ", max(1, len(shown) - _WORD))) > 0:
        shown = shown[:space]
    return f"{'…' if begin and not ends else ''}{shown}{'…' if end < len(text) else ''}"


def _weight(passages: int, holding: int) -> float:
    return math.log(1 + passages / holding)


def _place(term: str, text: str) -> int:
    """Where a term begins in a text, -1 for nowhere: a word at its beginning, so that a plural is found."""
    if _IS_UNSPACED.match(term):
        return text.find(term)
    if len(term) > _STEM and term.endswith("s"):
        term = term[:-1]
    tail = "" if len(term) >= _STEM else r"(?!\w)"
    match = re.search(rf"(?<![^\W{_UNSPACED}]){re.escape(term)}{tail}", text)
    return match.start() if match is not None else -1


def _folded(text: str) -> str:
    """Without case and width, and of the same length, so that places stay places."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).lower()
    if len(folded) == len(text):
        return folded
    return "".join(_fold_one(character) for character in text)


def _fold_one(character: str) -> str:
    if character < "\x80":
        return character.lower()
    plain = unicodedata.normalize("NFKC", character).lower()
    return plain if len(plain) == 1 else character
