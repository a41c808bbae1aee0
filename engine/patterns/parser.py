"""JavaScript's pattern grammar, with and without `u` or `v`, with what browsers take besides (Annex B).

Source: ECMA-262, Patterns and its Annex B.1.2. Without `u` a character beyond the first plane counts as
one character here, not as two halves; pairs of halves that a pattern spells out are joined.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NoReturn

from engine.errors import PatternRefused
from engine.patterns.charset import ANY, LINE_ENDS, NEVER, WORDS, CharSet
from engine.patterns.classes import ClassReader
from engine.patterns.folding import close_case
from engine.patterns.reader import Reader
from engine.patterns.syntax import (
    EMPTY,
    Backref,
    Chars,
    Choice,
    Edge,
    Flags,
    Group,
    Look,
    Node,
    Parsed,
    Repeat,
    Sequence,
)

__all__ = ["MAX_SOURCE", "parse", "parse_flags"]

MAX_SOURCE = 4_096  # characters; the longest of SillyTavern's public scripts has about 2,000
MAX_NESTING = 50  # groups in groups; nobody reads ten, and each costs stack in every later pass
MAX_GROUPS = 1_000
_ENDLESS = 300_000  # no text that is searched is longer: a larger count is without end, or never

_QUANTIFIER = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_REFERENCE = re.compile(r"[1-9][0-9]*")
_NAMED = re.compile(r"\(\?<(?![=!])")
_CONDITION = re.compile(r"\^|\$|\\[bB]|\(\?<?[=!]")
_NAME = re.compile(r"<((?:[^>\\]|\\u\{[0-9A-Fa-f]+\}|\\u[0-9A-Fa-f]{4})+)>")
_ALSO_IN_NAMES = {ord("$"): "_", 0x200C: "", 0x200D: ""}
_NAME_ESCAPE = re.compile(r"\\u\{([0-9A-Fa-f]+)\}|\\u([0-9A-Fa-f]{4})")


def parse_flags(flags: str) -> Flags:
    """What the flags mean. Raises PatternRefused PATTERN_FLAGS for one that is unknown or stands twice."""
    unknown = sorted(set(flags) - set("dgimsuvy"))
    if unknown or len(set(flags)) != len(flags) or {"u", "v"} <= set(flags):
        problem = f"JavaScript has no flag “{unknown[0]}”" if unknown else "These flags do not go together"
        raise PatternRefused(f"{problem}: {flags[:20]}", code="PATTERN_FLAGS", flags=flags)
    return Flags("i" in flags, "m" in flags, "s" in flags, "u" in flags or "v" in flags, "v" in flags)


def parse(source: str, flags: Flags) -> Parsed:
    """The parts of a pattern. Raises PatternRefused, PATTERN_INVALID with `position`, or PATTERN_TOO_LONG."""
    if len(source) > MAX_SOURCE:
        raise PatternRefused(
            f"A pattern may have {MAX_SOURCE:,} characters; this one has {len(source):,}.",
            code="PATTERN_TOO_LONG",
        )
    return _Parser(source, flags).pattern()


class _Parser:
    def __init__(self, source: str, flags: Flags) -> None:
        self._flags = flags
        self._count, self._named = _groups(source, flags)
        self._in = Reader(source, flags, names=self._named or flags.unicode)
        self._classes = ClassReader(self._in, flags)
        self._words = close_case(WORDS, unicode=True) if flags.ignore_case and flags.unicode else WORDS
        self._opened = 0
        self._depth = 0
        self._names: dict[str, int] = {}
        self._wanted: list[tuple[str, int]] = []

    def pattern(self) -> Parsed:
        if self._count > MAX_GROUPS:
            raise PatternRefused(f"A pattern may have {MAX_GROUPS:,} groups.", code="PATTERN_TOO_LONG")
        root = self._choice()
        if self._in.more():
            self._refuse("there is no “(” for this “)”")
        for name, at in self._wanted:
            if name not in self._names:
                self._refuse(f"there is no group named “{name}”", at)
        return Parsed(root, self._count, dict(self._names), self._words, self._flags.ignore_case)

    def _refuse(self, problem: str, at: int | None = None) -> NoReturn:
        self._in.refuse(problem, at)

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise PatternRefused(f"Groups may be nested {MAX_NESTING} levels deep.", code="PATTERN_TOO_LONG")
        options = [self._sequence()]
        while self._in.take("|"):
            options.append(self._sequence())
        self._depth -= 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        items: list[Node] = []
        while self._in.more() and self._in.peek() not in "|)":
            item = self._term()
            pair = _joined(items[-1], item) if items else None
            if pair is not None:
                items[-1] = pair
            else:
                items.append(item)
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _term(self) -> Node:
        at = self._in.at
        first = self._opened
        node = self._atom()
        quantifier = self._quantifier()
        if quantifier is None:
            return node
        low, high, greedy = quantifier
        condition = self._in.match(_CONDITION, at)
        if condition is not None:
            if self._flags.unicode or condition[0] not in ("(?=", "(?!"):
                self._refuse("this cannot be repeated", at)
            # Annex B: a condition that may be repeated; an empty repetition is refused, so one is enough
            return node if low else EMPTY
        if low > _ENDLESS and self._opened == first and not _may_be_empty(node):
            return Chars(NEVER)
        return Repeat(node, min(low, _ENDLESS), None if high is None or high > _ENDLESS else high, greedy)

    def _quantifier(self) -> tuple[int, int | None, bool] | None:
        sign = self._in.peek()
        bounds: tuple[int, int | None]
        if sign and sign in "*+?":
            self._in.skip(1)
            bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            at = self._in.at
            found = self._in.match(_QUANTIFIER)
            if found is None:
                return None
            low = _count(found[1])
            high = low if not found[2] else (_count(found[3]) if found[3] else None)
            if high is not None and low > high:
                self._refuse("the numbers of this quantifier are out of order", at)
            bounds = low, high
        return (*bounds, not self._in.take("?"))

    def _atom(self) -> Node:
        at = self._in.at
        sign = self._in.next()
        if sign == "(":
            return self._group(at)
        if sign == "[":
            return self._classes.read(at)
        if sign == "\\":
            return self._escape(at)
        if sign == ".":
            return Chars(ANY if self._flags.dot_all else ~LINE_ENDS)
        if sign == "^":
            return Edge("line-start" if self._flags.multiline else "start")
        if sign == "$":
            return Edge("line-end" if self._flags.multiline else "end")
        if sign in "*+?":
            self._refuse("there is nothing to repeat", at)
        if sign == "{" and self._in.match(_QUANTIFIER, at) is not None:
            self._refuse("there is nothing to repeat", at)
        if sign in "{}]" and self._flags.unicode:
            self._refuse(f"a lone “{sign}” needs a backslash here", at)
        return self._char(ord(sign))

    def _char(self, point: int) -> Node:
        return _letter(point, self._flags.ignore_case, self._flags.unicode)

    def _cased(self, chars: CharSet) -> CharSet:
        return close_case(chars, unicode=self._flags.unicode) if self._flags.ignore_case else chars

    def _group(self, at: int) -> Node:
        for mark, ahead, negative in (
            ("?=", True, False),
            ("?!", True, True),
            ("?<=", False, False),
            ("?<!", False, True),
        ):
            if self._in.take(mark):
                return Look(self._inside(at), ahead, negative)
        if self._in.take("?:"):
            return self._inside(at)
        name = self._group_name(at) if self._in.take("?") else None
        self._opened += 1
        index = self._opened
        if name is not None:
            if name in self._names:
                self._refuse(f"there are two groups named “{name}”", at)
            self._names[name] = index
        return Group(index, self._inside(at))

    def _inside(self, at: int) -> Node:
        node = self._choice()
        if not self._in.take(")"):
            self._refuse("this “(” is never closed", at)
        return node

    def _group_name(self, at: int) -> str:
        found = self._in.match(_NAME)
        name = found and _unescaped(found[1])
        if not name or not name.translate(_ALSO_IN_NAMES).isidentifier():
            self._refuse("this is no group that JavaScript knows", at)
        return name

    def _escape(self, at: int) -> Node:
        if not self._in.more():
            self._refuse("a pattern cannot end with a backslash", at)
        if self._in.take("b"):
            return Edge("word")
        if self._in.take("B"):
            return Edge("no-word")
        if self._in.peek() == "k" and self._in.names:
            self._in.skip(1)
            return self._named_reference(at)
        reference = self._numbered_reference(at)
        if reference is not None:
            return reference
        found = self._classes.escape(at, in_class=False)
        return Chars(found.chars if found.closed else self._cased(found.chars))

    def _named_reference(self, at: int) -> Node:
        name = self._group_name(at)
        self._wanted.append((name, at))
        return Backref(_index_of(name, self._in.source, self._flags))

    def _numbered_reference(self, at: int) -> Node | None:
        found = self._in.match(_REFERENCE)
        if found is None:
            return None
        index = _count(found[0])
        if index <= self._count:
            return Backref(index)
        if self._flags.unicode:
            self._refuse(f"there is no group {found[0][:9]}", at)
        self._in.at = at + 1  # an octal escape of old, or just the digit
        return None


@lru_cache(maxsize=4096)
def _letter(point: int, ignore_case: bool, unicode: bool) -> Chars:
    chars = CharSet.only(point)
    return Chars(close_case(chars, unicode=unicode) if ignore_case else chars)


def _count(digits: str) -> int:
    return min(int(digits[:20]), _ENDLESS + 1) if len(digits) < 20 else _ENDLESS + 1


def _unescaped(name: str) -> str | None:
    try:
        plain = _NAME_ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), name)
    except (ValueError, OverflowError):
        return None
    return None if "\\" in plain else plain


def _may_be_empty(node: Node) -> bool:
    return not isinstance(node, Chars)


def _groups(source: str, flags: Flags) -> tuple[int, bool]:
    """How many captures there are, and whether one has a name: both decide about escapes before them."""
    found = _openings(source, flags)
    return len(found), any(name is not None for name in found)


def _openings(source: str, flags: Flags) -> list[str | None]:
    names: list[str | None] = []
    depth = at = 0
    while at < len(source):
        sign = source[at]
        if sign == "\\":
            at += 1
        elif sign == "[":
            depth = depth + 1 if flags.sets else 1
        elif sign == "]":
            depth = max(0, depth - 1)
        elif sign == "(" and not depth:
            named = _NAMED.match(source, at)
            if named is not None:
                spelled = _NAME.match(source, at + 2)
                names.append((spelled and _unescaped(spelled[1])) or "")
            elif source[at + 1 : at + 2] != "?":
                names.append(None)
        at += 1
    return names


def _index_of(name: str, source: str, flags: Flags) -> int:
    found = _openings(source, flags)
    return found.index(name) + 1 if name in found else 0


def _joined(first: Node, second: Node) -> Node | None:
    """One set for two that spell the halves of characters beyond the first plane."""
    if not isinstance(first, Chars) or not isinstance(second, Chars):
        return None
    high, low = first.chars.ranges, second.chars.ranges
    if not high or high[0][0] < 0xD800 or high[-1][1] > 0xDBFF:
        return None
    if not low or low[0][0] < 0xDC00 or low[-1][1] > 0xDFFF:
        return None
    whole: list[tuple[int, int]] = []
    for start, end in high:
        for half in range(start, end + 1):
            base = 0x10000 + (half - 0xD800) * 0x400 - 0xDC00
            whole.extend((base + begin, base + stop) for begin, stop in low)
    return Chars(CharSet.of(whole))
