"""Many literals against one text, in one pass: an Aho–Corasick automaton for each case rule.

Whole words are checked at each place where a literal was found. The cost of a pass is the
text plus the hits; a hostile set of literals, each the end of the next, could make the
hits many times the text, so a literal at whose every place more than a few others end is
kept out and looked for by itself. Source: spec sillytavern 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ahocorasick_rs import AhoCorasick, Implementation

from engine.lore.keys import Literally, is_word, occurs

__all__ = ["Literals"]

_NESTED: Final = 6  # literals that may end at one place; words of a language nest two or three deep
_LONGEST: Final = 256  # characters of a literal in the automaton: what pieces of a text must overlap by
_PIECE: Final = 16 * 1024  # characters scanned at once: bounds the list of hits of a hostile text


class Literals:
    """An index of literals. `found` gives the numbers of those that stand in a text. Immutable."""

    def __init__(self, literals: Sequence[Literally]) -> None:
        halves = [
            _Half(sensitive, [pair for pair in enumerate(literals) if pair[1].sensitive is sensitive])
            for sensitive in (False, True)
        ]
        self._halves = [half for half in halves if half]

    def found(self, text: str, lower: str) -> set[int]:
        """The numbers of the literals in `text`, whose lower case is `lower`."""
        numbers: set[int] = set()
        for half in self._halves:
            half.into(numbers, text if half.sensitive else lower)
        return numbers


class _Half:
    """The literals of one case rule. Those with the same text share a place in the automaton."""

    def __init__(self, sensitive: bool, numbered: Sequence[tuple[int, Literally]]) -> None:
        self.sensitive = sensitive
        self._free: dict[str, int] = {}  # the number of a literal that needs no boundaries, by its text …
        self._whole: dict[str, int] = {}  # … and of one that does
        for number, literal in numbered:
            (self._whole if literal.whole else self._free)[literal.text] = number
        texts = dict.fromkeys((*self._free, *self._whole))
        inside, self._outside = _shallow(texts)
        self._targets = [(self._free.get(text), self._whole.get(text)) for text in inside]
        self._automaton = (
            AhoCorasick(inside, implementation=Implementation.ContiguousNFA, store_patterns=False)
            if inside
            else None
        )

    def __bool__(self) -> bool:
        return bool(self._targets or self._outside)

    def into(self, numbers: set[int], text: str) -> None:
        targets = self._targets
        for pattern, start, end in self._hits(text):
            free, whole = targets[pattern]
            if free is not None:
                numbers.add(free)
            if whole is not None and whole not in numbers and is_word(text, start, end):
                numbers.add(whole)
        for wanted in self._outside:
            if wanted not in text:
                continue
            if wanted in self._free:
                numbers.add(self._free[wanted])
            if wanted in self._whole and occurs(text, wanted, whole=True):
                numbers.add(self._whole[wanted])

    def _hits(self, text: str) -> Iterator[tuple[int, int, int]]:
        if self._automaton is None:
            return
        if len(text) <= _PIECE:
            yield from self._automaton.find_matches_as_indexes(text, overlapping=True)
            return
        for at in range(0, len(text), _PIECE):
            piece = text[at : at + _PIECE + _LONGEST]
            for pattern, start, end in self._automaton.find_matches_as_indexes(piece, overlapping=True):
                yield pattern, at + start, at + end


def _shallow(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """(texts of which at most `_NESTED` end at one place, the others and the very long ones)."""
    inside: list[str] = []
    outside: list[str] = []
    endings: list[str] = []  # each the end of the next, turned around
    for turned in sorted(text[::-1] for text in texts):
        while endings and not turned.startswith(endings[-1]):
            endings.pop()
        if len(turned) > _LONGEST or len(endings) >= _NESTED or not turned:
            outside.append(turned[::-1])
            continue
        endings.append(turned)
        inside.append(turned[::-1])
    return inside, outside
