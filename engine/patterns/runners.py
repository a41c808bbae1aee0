"""The two engines that run a pattern on a text.

Measured here: RE2 needs at worst about 6 ns for each instruction of its program and byte of the text, and
cannot be stopped, so it is asked only while the product stays below `RE2_STEPS`. `regex` stops within 5 ms
of its limit on texts of 120,000 characters; it counts processor time of the whole process. Both let other
threads run meanwhile: the longest pause of one was 5 ms.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import re2  # type: ignore[import-untyped]
import regex

from engine.errors import PatternRefused, PatternTimeout
from engine.patterns.re2_form import Re2Form, re2_form
from engine.patterns.regex_form import regex_form
from engine.patterns.subject import Subject
from engine.patterns.syntax import Node, Parsed

__all__ = ["RE2_STEPS", "Re2Runner", "RegexRunner", "Runner", "Spans"]

RE2_STEPS = 6_000_000  # instructions times bytes: 35 ms at worst
_RE2_MEMORY = 1 << 20  # bytes of one automaton: thousands of patterns are kept at a time
_MAX_FORM = 32 * 1024  # characters that `regex` is given: it compiles half a megabyte in a second
_SHARE = 0.6  # of the limit is given to `regex`, which looks at the clock now and then only

Spans: TypeAlias = "list[tuple[int, int] | None]"
"""Begin and end of the match and of each group, in characters; None for a group that captured nothing."""


class Runner(Protocol):
    """Both. `sticky`: the match must begin at `start`. `left` are the seconds that it may take."""

    def test(self, subject: Subject, start: int, sticky: bool, left: float) -> bool:
        """Whether there is a match. Raises PatternTimeout."""

    def find(self, subject: Subject, start: int, sticky: bool, left: float) -> Spans | None:
        """The first match. Raises PatternTimeout."""


class Re2Runner:
    """RE2's side: works on UTF-8 and counts in bytes. `plain` is its pattern, `size` its instructions."""

    def __init__(self, form: Re2Form, program: Any) -> None:
        self._form = form
        self._program = program
        self._groups: Any = None
        self.plain = form.plain
        self.size = max(1, program.programsize, program.reverseprogramsize)

    @classmethod
    def made(cls, parsed: Parsed, root: Node) -> Re2Runner | None:
        """The runner of a settled pattern; None when RE2 cannot say it or has no room for it."""
        form = re2_form(parsed, root)
        program = None if form is None else _compiled(form.plain)
        return None if form is None or program is None else cls(form, program)

    def takes(self, subject: Subject) -> bool:
        """Whether RE2 reads this text as JavaScript does, and in bounded time."""
        data = subject.data
        return (
            data is not None
            and len(data) * self.size <= RE2_STEPS
            and not (self._form.ascii_only and len(data) != len(subject.text))
            and not any(sign in subject.text for sign in self._form.unless)
        )

    def captures(self) -> bool:
        """Whether `find` can be asked too; its program is made at the first call."""
        if self._groups is None:
            self._groups = _compiled(self._form.capturing()) or False
        return self._groups is not False

    def test(self, subject: Subject, start: int, sticky: bool, left: float) -> bool:
        run = self._program.match if sticky else self._program.search
        return run(subject.data, subject.byte_at(start)) is not None

    def find(self, subject: Subject, start: int, sticky: bool, left: float) -> Spans | None:
        run = self._groups.match if sticky else self._groups.search
        found = run(subject.data, subject.byte_at(start))
        if found is None:
            return None
        spans = [found.span(index) for index in range(self._groups.groups + 1)]
        places = subject.chars_at({place for span in spans for place in span if place >= 0})
        return [None if span[0] < 0 else (places[span[0]], places[span[1]]) for span in spans]


class RegexRunner:
    """The `regex` module's side. Raises PatternRefused when it cannot compile the pattern."""

    def __init__(self, source: str, parsed: Parsed, root: Node) -> None:
        form = regex_form(parsed, root)
        if len(form.text) > _MAX_FORM:
            raise PatternRefused("This pattern is too complicated.", code="PATTERN_TOO_LONG")
        try:
            self._program = regex.compile(form.text, regex.V0, cache_pattern=False)
        except (regex.error, RecursionError, OverflowError, MemoryError) as error:
            raise PatternRefused(f"This pattern cannot be run: {error}", code="PATTERN_TOO_LONG") from None
        self._source = source
        known = self._program.groupindex
        # a group that was left out, such as one that is repeated zero times, captures nothing
        self._groups = [
            None if index in form.hidden else known.get(f"g{index}") for index in range(1, parsed.groups + 1)
        ]
        self._marks = {index: known[f"k{index}"] for index in form.marked if f"k{index}" in known}

    def test(self, subject: Subject, start: int, sticky: bool, left: float) -> bool:
        return self._run(subject, start, sticky, left) is not None

    def find(self, subject: Subject, start: int, sticky: bool, left: float) -> Spans | None:
        found = self._run(subject, start, sticky, left)
        if found is None:
            return None
        spans: Spans = [found.span()]
        for index, number in enumerate(self._groups, 1):
            begin, end = (-1, -1) if number is None else found.span(number)
            spans.append(None if begin < 0 or self._forgotten(index, subject, found) else (begin, end))
        return spans

    def _forgotten(self, index: int, subject: Subject, found: Any) -> bool:
        mark = self._marks.get(index)
        if mark is None or not subject.text:
            return False  # in the empty text nothing tells the two apart: it is taken for the empty capture
        begin, end = found.span(mark)
        return bool(begin == end)

    def _run(self, subject: Subject, start: int, sticky: bool, left: float) -> Any:
        run = self._program.match if sticky else self._program.search
        try:
            # less than a millisecond would not even be looked at
            return run(subject.text, start, timeout=max(left * _SHARE, 0.001), concurrent=True)
        except TimeoutError:
            raise PatternTimeout(pattern=self._source) from None


def _compiled(form: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _RE2_MEMORY
    try:
        # the module's own cache would keep what ours has given up
        return re2._Regexp(form.encode("ascii"), options)
    except re2.error:
        return None
