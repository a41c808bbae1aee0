"""Character classes and the escapes that stand for characters.

Source: ECMA-262 CharacterClass, ClassSetExpression (`v`), CharacterEscape, and Annex B.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.patterns.charset import DIGITS, NEVER, SPACES, WORDS, CharSet
from engine.patterns.folding import close_case
from engine.patterns.properties import property_set
from engine.patterns.reader import Reader
from engine.patterns.syntax import EMPTY, Chars, Choice, Flags, Node, Sequence

__all__ = ["ClassReader"]

_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_SYNTAX = "^$\\.*+?()[]{}|/"
_SET_SYNTAX = "()[]{}/-|"
_SET_DOUBLES = "&!#$%*+,.:;<=>?@^`~"
_SET_ESCAPED = "&-!#%,:;<=>@`~"
_MAX_SET_DEPTH = 20

_HEX4 = re.compile(r"u([0-9A-Fa-f]{4})")
_LOW_HALF = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_BRACED = re.compile(r"u\{([0-9A-Fa-f]+)\}")
_HEX2 = re.compile(r"x([0-9A-Fa-f]{2})")
_OCTAL = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_PROPERTY = re.compile(r"[pP]\{([A-Za-z0-9_]+)(?:=([A-Za-z0-9_]+))?\}")


@dataclass(frozen=True, slots=True)
class Escaped:
    """What an escape stands for. `point` when it is one character; `closed` when case is resolved in it."""

    chars: CharSet
    point: int | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class _Operand:
    """Part of a class with `v`: characters, and texts of any other length."""

    chars: CharSet
    texts: frozenset[tuple[CharSet, ...]] = frozenset()
    point: int | None = None


class ClassReader:
    """Reads from the pattern's reader."""

    def __init__(self, reader: Reader, flags: Flags) -> None:
        self._in = reader
        self._flags = flags
        self._set_depth = 0

    def read(self, at: int) -> Node:
        """The class whose `[` at `at` has been taken."""
        if self._flags.sets:
            return self._node(self._set(at))
        negative = self._in.take("^")
        chars = NEVER
        while not self._in.take("]"):
            if not self._in.more():
                self._in.refuse("this “[” is never closed", at)
            chars |= self._range(at)
        chars = self._cased(chars)
        return Chars(~chars if negative else chars)

    def _cased(self, chars: CharSet) -> CharSet:
        return close_case(chars, unicode=self._flags.unicode) if self._flags.ignore_case else chars

    def _range(self, opened: int) -> CharSet:
        start = self._in.at
        first = self._class_atom(opened)
        if self._in.peek() != "-" or self._in.source[self._in.at + 1 : self._in.at + 2] in ("]", ""):
            return first.chars
        self._in.skip(1)
        second = self._class_atom(opened)
        if first.point is None or second.point is None:
            if self._flags.unicode:
                self._in.refuse("a range needs a single character at both ends", start)
            return first.chars | second.chars | CharSet.only(ord("-"))
        return self._span(first.point, second.point, start)

    def _span(self, low: int, high: int, at: int) -> CharSet:
        if low > high:
            self._in.refuse("this range is out of order", at)
        return CharSet(((low, high),))

    def _class_atom(self, opened: int) -> Escaped:
        at = self._in.at
        sign = self._in.next()
        if sign != "\\":
            return Escaped(CharSet.only(ord(sign)), ord(sign))
        if not self._in.more():
            self._in.refuse("this “[” is never closed", opened)
        return self.escape(at, in_class=True)

    def escape(self, at: int, *, in_class: bool) -> Escaped:
        """The escape whose backslash at `at` has been taken."""
        if in_class and self._in.take("b"):
            return _one(0x08)
        if in_class and self._flags.unicode and self._in.take("-"):
            return _one(ord("-"))
        found = self._class_escape(at)
        if found is not None:
            return found
        point = self._code(at, in_class=in_class)
        if point is None:
            point = self._identity(at, in_class=in_class)
        return _one(point)

    def _class_escape(self, at: int) -> Escaped | None:
        sign = self._in.peek()
        if sign in ("d", "D"):
            chars = DIGITS
        elif sign in ("s", "S"):
            chars = SPACES
        elif sign in ("w", "W"):
            chars = self._cased(WORDS)
        elif sign in ("p", "P") and self._flags.unicode:
            return self._property(at)
        else:
            return None
        self._in.skip(1)
        return Escaped(~chars if sign.isupper() else chars, closed=True)

    def _property(self, at: int) -> Escaped:
        found = self._in.match(_PROPERTY)
        chars = property_set(found[1], found[2]) if found is not None else None
        if found is None or chars is None:
            self._in.refuse("this is no property of characters", at)
        if not found[0].startswith("P"):
            return Escaped(chars)
        # with `v` case is taken away before the complement, with `u` after it
        return Escaped(~self._cased(chars) if self._flags.sets else ~chars)

    def _code(self, at: int, *, in_class: bool) -> int | None:
        sign = self._in.peek()
        if sign in _CONTROLS:
            self._in.skip(1)
            return _CONTROLS[sign]
        if sign == "c":
            return self._control(at, in_class=in_class)
        if sign == "x":
            found = self._in.match(_HEX2)
            return int(found[1], 16) if found else None
        if sign == "u":
            return self._unicode(at)
        if sign and sign in "01234567":
            return self._octal(at)
        return None

    def _control(self, at: int, *, in_class: bool) -> int:
        letters = r"c([A-Za-z0-9_])" if in_class and not self._flags.unicode else r"c([A-Za-z])"
        found = self._in.match(re.compile(letters))
        if found is not None:
            return ord(found[1]) % 32
        if self._flags.unicode:
            self._in.refuse("“\\c” needs a letter", at)
        return ord("\\")  # the backslash itself; the c comes next

    def _unicode(self, at: int) -> int | None:
        if self._flags.unicode:
            braced = self._in.match(_BRACED)
            if braced is not None:
                digits = braced[1].lstrip("0") or "0"
                if len(digits) > 6 or int(digits, 16) > 0x10FFFF:
                    self._in.refuse("there is no such character", at)
                return int(digits, 16)
        found = self._in.match(_HEX4)
        if found is None:
            return None
        point = int(found[1], 16)
        if self._flags.unicode and 0xD800 <= point <= 0xDBFF:
            low = self._in.match(_LOW_HALF)
            if low is not None:
                return 0x10000 + (point - 0xD800) * 0x400 + int(low[1], 16) - 0xDC00
        return point

    def _octal(self, at: int) -> int:
        if self._flags.unicode:
            if self._in.peek() != "0" or self._in.source[self._in.at + 1 : self._in.at + 2].isdigit():
                self._in.refuse("this number is no escape here", at)
            self._in.skip(1)
            return 0
        found = self._in.match(_OCTAL)
        assert found is not None  # one octal digit stands here
        return int(found[0], 8)

    def _identity(self, at: int, *, in_class: bool) -> int:
        sign = self._in.next()
        allowed = sign in _SYNTAX or (self._flags.sets and in_class and sign in _SET_ESCAPED)
        if (self._flags.unicode and not allowed) or (sign == "k" and self._in.names):
            self._in.refuse(f"“\\{sign}” is no escape here", at)
        return ord(sign)

    # ---- classes with `v`

    def _set(self, at: int) -> _Operand:
        self._set_depth += 1
        if self._set_depth > _MAX_SET_DEPTH:
            self._in.refuse("classes are nested too deep", at)
        negative = self._in.take("^")
        found = self._set_operations(at)
        self._set_depth -= 1
        if negative:
            if found.texts:
                self._in.refuse("a class that holds longer texts cannot be negated", at)
            return _Operand(~found.chars)
        return found

    def _set_operations(self, at: int) -> _Operand:
        if self._in.take("]"):
            return _Operand(NEVER)
        left = self._set_operand(at)
        for mark in ("--", "&&"):
            if self._in.source.startswith(mark, self._in.at):
                while self._in.take(mark):
                    if mark == "&&" and self._in.peek() == "&":
                        self._in.refuse("there is one “&” too many")
                    right = self._set_operand(at)
                    left = _without(left, right) if mark == "--" else _shared(left, right)
                if not self._in.take("]"):
                    self._in.refuse("this “[” is never closed, or mixes operations", at)
                return _Operand(left.chars, left.texts)
        return self._set_union(left, at)

    def _set_union(self, left: _Operand, at: int) -> _Operand:
        chars, texts = NEVER, frozenset[tuple[CharSet, ...]]()
        while True:
            here = self._in.at
            if self._in.peek() == "-":
                self._in.skip(1)
                right = self._set_operand(at)
                if left.point is None or right.point is None:
                    self._in.refuse("a range needs a single character at both ends", here)
                left = _Operand(self._cased(self._span(left.point, right.point, here)))
            chars |= left.chars
            texts |= left.texts
            if self._in.take("]"):
                return _Operand(chars, texts)
            left = self._set_operand(at)

    def _set_operand(self, opened: int) -> _Operand:
        at = self._in.at
        if not self._in.more():
            self._in.refuse("this “[” is never closed", opened)
        sign = self._in.next()
        if sign == "[":
            return self._set(at)
        if sign == "\\":
            if self._in.take("q{"):
                return self._texts(at)
            if not self._in.more():
                self._in.refuse("this “[” is never closed", opened)
            found = self.escape(at, in_class=True)
            return _Operand(found.chars if found.closed else self._cased(found.chars), point=found.point)
        if sign in _SET_SYNTAX or (sign in _SET_DOUBLES and self._in.peek() == sign):
            self._in.refuse(f"“{sign}” needs a backslash in a class here", at)
        return _Operand(self._cased(CharSet.only(ord(sign))), point=ord(sign))

    def _texts(self, at: int) -> _Operand:
        chars, texts = NEVER, set[tuple[CharSet, ...]]()
        text: list[CharSet] = []
        while True:
            if not self._in.more():
                self._in.refuse("this “\\q{” is never closed", at)
            here = self._in.at
            sign = self._in.next()
            if sign in "|}":
                if len(text) == 1:
                    chars |= text[0]
                else:
                    texts.add(tuple(text))
                text = []
                if sign == "}":
                    return _Operand(chars, frozenset(texts))
            else:
                point = ord(sign) if sign != "\\" else self.escape(here, in_class=True).point
                if point is None or (sign != "\\" and sign in _SET_SYNTAX):
                    self._in.refuse("this cannot stand in “\\q{}”", here)
                text.append(self._cased(CharSet.only(point)))

    def _node(self, found: _Operand) -> Node:
        if not found.texts:
            return Chars(found.chars)
        longest = sorted(found.texts, key=len, reverse=True)
        options: list[Node] = [Sequence(tuple(map(Chars, text))) for text in longest if text]
        if found.chars.ranges:
            options.append(Chars(found.chars))
        if () in found.texts:
            options.append(EMPTY)
        return options[0] if len(options) == 1 else Choice(tuple(options))


def _one(point: int) -> Escaped:
    return Escaped(CharSet.only(point), point)


def _without(left: _Operand, right: _Operand) -> _Operand:
    return _Operand(left.chars - right.chars, left.texts - right.texts)


def _shared(left: _Operand, right: _Operand) -> _Operand:
    return _Operand(left.chars & right.chars, left.texts & right.texts)
