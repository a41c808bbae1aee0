"""A compiled pattern: JavaScript's meaning, on RE2 where that is the same, else on `regex` with a time limit.

Source: spec sillytavern 2.4 and 5, decision 17.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Literal

from engine.errors import PatternRefused, PatternTimeout
from engine.patterns.needles import needle_reach, needles
from engine.patterns.parser import MAX_SOURCE, parse, parse_flags
from engine.patterns.runners import Re2Runner, RegexRunner, Runner
from engine.patterns.shape import settle
from engine.patterns.subject import Subject, subject_of
from engine.patterns.syntax import Node, Parsed

__all__ = ["MAX_TEXT", "Match", "Pattern", "compile_pattern"]

MAX_TEXT = 256 * 1024  # characters that a pattern is run on; beyond, `regex` overruns its limit
DEFAULT_TIMEOUT_S = 0.05  # of one call: what the event loop may stand still
_KEPT = 2_048  # compiled patterns; a large world book has about 500


@dataclass(frozen=True, slots=True)
class Match:
    """Where it is, in characters, and what the groups captured: None when nothing. Group 0 is the whole."""

    start: int
    end: int
    groups: tuple[str | None, ...]
    named: Mapping[str, str | None]


class Pattern:
    """Made by `compile_pattern`. Safe to use from several threads.

    `engine` is the one that is asked first; a text that RE2 would read differently goes to `regex`.
    `needles`: every match contains one of them (with `i`: the folded match does); none means unknown.
    `literal` is the needle when there is exactly one.
    """

    def __init__(self, source: str, flags: str, parsed: Parsed, root: Node, timeout_s: float) -> None:
        self.source = source
        self.flags = flags
        self.timeout_s = timeout_s
        self.needles = needles(root, ignore_case=parsed.ignore_case)
        self.literal = self.needles[0] if len(self.needles) == 1 else None
        self.folded = parsed.ignore_case
        self.names: Mapping[str, int] = MappingProxyType(parsed.names)
        self.group_count = parsed.groups
        self._sticky = "y" in flags
        self._parsed = parsed
        self._root = root
        self._re2 = Re2Runner.made(parsed, root)
        self._regex: RegexRunner | None = None
        self.engine: Literal["re2", "regex"] = "re2" if self._re2 else "regex"
        if self._re2 is None:
            self._backtracking()  # says now, not at the first text, when it cannot be

    def __repr__(self) -> str:
        return f"Pattern({self.source!r}, {self.flags!r}, {self.engine})"

    def search(self, text: str, start: int = 0) -> Match | None:
        """The first match at or after `start`; exactly there with `y`. Raises PatternTimeout."""
        return self._find(subject_of(text), start, time.monotonic() + self.timeout_s)

    def finditer(self, text: str, *, deadline: float | None = None) -> Iterator[Match]:
        """All matches as `g` finds them, one after the other without overlap.

        Their search together has `timeout_s`, or until `deadline` (of `time.monotonic`); then it raises
        PatternTimeout. What the caller does between two matches counts too.
        """
        subject = subject_of(text)
        end = time.monotonic() + self.timeout_s if deadline is None else deadline
        at = 0
        while at <= len(text):
            match = self._find(subject, at, end)
            if match is None:
                return
            yield match
            at = match.end if match.end > match.start else match.end + 1

    def matches(self, text: str) -> bool:
        """Whether there is a match; cheaper than `search`. Raises PatternTimeout."""
        return self.test(subject_of(text), time.monotonic() + self.timeout_s)

    def test(self, subject: Subject, deadline: float, start: int = 0) -> bool:
        """`matches` for a prepared text, at or after `start`, until `deadline`."""
        self._check(subject, deadline)
        runner: Runner = self._re2 if self._re2 and self._re2.takes(subject) else self._backtracking()
        return runner.test(subject, start, self._sticky, self._left(deadline))

    @cached_property
    def reach(self) -> int | None:
        """No match begins earlier than this before the end of the text's first needle; None: not known."""
        if not self.needles or self._sticky:
            return None
        return needle_reach(self._root, self.needles, ignore_case=self.folded)

    @property
    def re2_text(self) -> str | None:
        """RE2's form without captures; None when RE2 does not take the pattern."""
        return self._re2.plain if self._re2 else None

    @property
    def re2_size(self) -> int:
        """Instructions of RE2's program; 0 when there is none."""
        return self._re2.size if self._re2 else 0

    def re2_takes(self, subject: Subject) -> bool:
        """Whether RE2 reads this text as JavaScript does, and in bounded time."""
        return self._re2 is not None and self._re2.takes(subject)

    def _find(self, subject: Subject, start: int, deadline: float) -> Match | None:
        self._check(subject, deadline)
        if start > len(subject.text):
            return None
        linear = self._re2 is not None and self._re2.takes(subject) and self._re2.captures()
        runner: Runner = self._re2 if self._re2 and linear else self._backtracking()
        spans = runner.find(subject, start, self._sticky, self._left(deadline))
        if spans is None:
            return None
        text = subject.text
        groups = tuple(None if span is None else text[span[0] : span[1]] for span in spans)
        whole = spans[0]
        assert whole is not None
        return Match(
            whole[0], whole[1], groups, MappingProxyType({n: groups[i] for n, i in self.names.items()})
        )

    def _backtracking(self) -> RegexRunner:
        if self._regex is None:
            try:
                self._regex = RegexRunner(self.source, self._parsed, self._root)
            except PatternRefused:
                if self._re2 is None:
                    raise
                # RE2 could run it, but not on this text
                raise PatternTimeout(pattern=self.source) from None
        return self._regex

    def _left(self, deadline: float) -> float:
        return min(self.timeout_s, deadline - time.monotonic())

    def _check(self, subject: Subject, deadline: float) -> None:
        if len(subject.text) > MAX_TEXT or time.monotonic() >= deadline:
            raise PatternTimeout(pattern=self.source)


def compile_pattern(source: str, flags: str = "", *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Pattern:
    """The pattern, from the cache when it was made before.

    `timeout_s` is the limit of one search. Raises PatternRefused: PATTERN_INVALID with `position` (0 is the
    first character), PATTERN_TOO_LONG or PATTERN_FLAGS.
    """
    if len(source) > MAX_SOURCE:
        parse(source, parse_flags(flags))  # refuses
    return _compiled(source, flags, timeout_s)


@lru_cache(maxsize=_KEPT)
def _compiled(source: str, flags: str, timeout_s: float) -> Pattern:
    parsed = parse(source, parse_flags(flags))
    return Pattern(source, flags, parsed, settle(parsed.root), timeout_s)
