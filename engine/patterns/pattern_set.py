"""Many patterns against one text: which of them match.

One pass over the text finds the needles of all patterns; only patterns whose needle occurs, or that have
none, are run. Of those without, RE2 tries dozens at once where the text is short enough to bound that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ahocorasick_rs import AhoCorasick

from engine.errors import PatternTimeout
from engine.patterns.folding import fold
from engine.patterns.needles import MIN_BYTES
from engine.patterns.pattern import Pattern
from engine.patterns.re2_set import Re2Set
from engine.patterns.subject import Subject

__all__ = ["PatternSet", "SetResult"]

DEFAULT_BUDGET_S = 0.04  # of one scan: below the 50 ms that the event loop may stand still
_SHARE = 0.5  # of what is left is what one pattern may take, so that an evil one leaves something to others


@dataclass(frozen=True, slots=True)
class SetResult:
    """Indices in ascending order. Of `late` and `skipped` it is not known whether they match.

    `late` used up the time that one pattern may have (count it in a `Watch`); for `skipped` none was left.
    """

    matched: tuple[int, ...]
    late: tuple[int, ...] = ()
    skipped: tuple[int, ...] = ()


class PatternSet:
    """The patterns of a book, made once for each revision of it. Immutable; safe to use from threads."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.patterns = tuple(patterns)
        plain = [i for i, p in enumerate(self.patterns) if p.needles and not p.folded]
        folded = [i for i, p in enumerate(self.patterns) if p.needles and p.folded]
        bare = [i for i, p in enumerate(self.patterns) if not p.needles]
        self._plain = _Prefilter([(i, self.patterns[i].needles) for i in plain])
        self._folded = _Prefilter([(i, self.patterns[i].needles) for i in folded])
        self._sets = Re2Set.chunks([(i, self.patterns[i]) for i in bare])
        taken = {index for group in self._sets for index in group.indices}
        self._reaches = [pattern.reach for pattern in self.patterns]
        self._single = tuple(index for index in bare if index not in taken)

    def scan(self, text: str, *, budget_s: float = DEFAULT_BUDGET_S) -> SetResult:
        """Which patterns match, within the budget."""
        deadline = time.monotonic() + budget_s
        subject = Subject(text)
        run = dict.fromkeys(self._single, 0)
        matched: set[int] = set()
        for group in self._sets:
            found = group.match(subject)
            if found is None:
                run.update(dict.fromkeys(group.indices, 0))
            else:
                matched.update(found)
        run |= self._starts(self._plain.ends(text))
        if self._folded:
            folded = fold(text)
            ends = self._folded.ends(folded)
            # where folding made letters of one, the places are not those of the text
            run |= self._starts(ends) if len(folded) == len(text) else dict.fromkeys(ends, 0)
        late, skipped = self._run(run, subject, deadline, matched)
        return SetResult(tuple(sorted(matched)), tuple(sorted(late)), tuple(sorted(skipped)))

    def _starts(self, ends: Mapping[int, int]) -> dict[int, int]:
        """Where to begin to look, by pattern."""
        starts: dict[int, int] = {}
        for index, end in ends.items():
            reach = self._reaches[index]
            starts[index] = 0 if reach is None else max(0, end - reach)
        return starts

    def _run(
        self, candidates: Mapping[int, int], subject: Subject, deadline: float, matched: set[int]
    ) -> tuple[list[int], list[int]]:
        late: list[int] = []
        skipped: list[int] = []
        # RE2's first: they are quick, and what can be evil shall not take their time
        for index in sorted(candidates, key=lambda i: (self.patterns[i].engine == "regex", i)):
            now = time.monotonic()
            if now >= deadline:
                skipped.append(index)
                continue
            try:
                limit = now + (deadline - now) * _SHARE
                if self.patterns[index].test(subject, limit, candidates[index]):
                    matched.add(index)
            except PatternTimeout:
                late.append(index)
        return late, skipped


class _Prefilter:
    """Which patterns have a needle in a text."""

    def __init__(self, items: Sequence[tuple[int, tuple[str, ...]]]) -> None:
        self._owners: dict[str, set[int]] = {}
        for index, needles in items:
            for needle in needles:
                self._owners.setdefault(needle, set()).add(index)
        # A needle inside another stands for both, so that at most one hit ends at each place: the hits
        # of `aaa`, `aaaa`, … could otherwise outnumber the letters of the text by far.
        short = sorted(_shortest(self._owners))
        self._patterns = [frozenset(self._owners[needle]) for needle in short]
        self._longer: list[list[tuple[str, frozenset[int]]]] = [[] for _ in short]
        places = {needle: place for place, needle in enumerate(short)}
        for needle, owners in self._owners.items():
            if needle not in places:
                inner = next(part for part in _parts(needle) if part in places)
                self._longer[places[inner]].append((needle, frozenset(owners)))
        self._automaton = AhoCorasick(short) if short else None

    def __bool__(self) -> bool:
        return self._automaton is not None

    def ends(self, text: str) -> dict[int, int]:
        """By pattern, where the first of its needles ends."""
        first: dict[int, int] = {}
        found: dict[int, int] = {}
        if self._automaton is None:
            return found
        for place, _, end in self._automaton.find_matches_as_indexes(text, overlapping=True):
            first.setdefault(place, end)
        for place, end in first.items():
            _note(found, self._patterns[place], end)
            for needle, owners in self._longer[place]:
                at = text.find(needle)
                if at >= 0:
                    _note(found, owners, at + len(needle))
        return found


def _note(found: dict[int, int], owners: frozenset[int], end: int) -> None:
    for owner in owners:
        found[owner] = min(end, found.get(owner, end))


def _shortest(needles: Iterable[str]) -> set[str]:
    """Those that contain no other."""
    kept: set[str] = set()
    for needle in sorted(needles, key=len):
        if not any(part in kept for part in _parts(needle)):
            kept.add(needle)
    return kept


def _parts(needle: str) -> Iterable[str]:
    """All proper parts, the shortest first; needles are short, so these are at most 500."""
    for length in range(1 if not needle.isascii() else MIN_BYTES, len(needle)):
        for start in range(len(needle) - length + 1):
            yield needle[start : start + length]
