"""What of Discord's markdown is open at each place of a text, and where a text may be cut.

Pure. `scan` walks a text once and gives `Marks`: the construct that is open at every position
(fence, inline spans, quote), the ranges that must stay whole (mentions, emoji, links, macros, …),
and what a piece that starts or ends there needs to look the same on its own. Spec discord B6.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field, replace

__all__ = [
    "CLOSERS_LIMIT",
    "NOTHING_OPEN",
    "Marks",
    "Open",
    "is_blank",
    "is_grapheme_border",
    "is_visible",
    "scan",
]

CLOSERS_LIMIT = 12
"""No `Open.closing` is longer: every kind of span once (10) and inline code (2), or a fence (9)."""

_FENCE_LIMIT = 8  # a longer run of ticks is ornament, not a fence
_INFO_LIMIT = 32  # no language has a longer name; a longer info string would eat the chunk

_TOKEN = re.compile(
    r"""
    (?P<ticks>`+)
  | (?P<tildes>^~{3,8}(?!~))
  | (?P<escape>\\[^\w\s])
  | (?P<whole>
        # mention, channel, command, time, emoji, <url>
        <(?:@[!&]?|\#|/|t:|a?:|id:|https?://)[^\s<>]*(?:>|\Z)
        # [text](url)
      | !?\[[^\[\]\n]{1,300}(?:\Z|\](?:\Z|\((?:[^()\s]|\([^()\s]*(?:\)|\Z))*(?:[ ][^()\n]*)?(?:\)|\Z)))
      | https?://[^\s<>]+
        # {{macro}}
      | \{\{[^{}\n]{0,200}(?:\}\}|\Z)
    )
  | (?P<span>\*\*|\*|__|_|~~|\|\|)
  | (?P<gap>\n[^\S\n]*(?=\n))                                         # ends a paragraph
  | (?P<line>\n)
    """,
    re.VERBOSE | re.MULTILINE,
)
_LINE_LEAD = re.compile(r"(?P<quote>>>>[ ]|(?:>[ ])?)(?P<style>-\#[ ]|\#{1,3}[ ])?")
_INFO = re.compile(r"([A-Za-z0-9_+\-.#]*)[^\S\n]*\n")
# Spans inside a word are arithmetic or a file name more often than emphasis.
_FLANKED = {"*", "_", "__", "~~", "**"}

_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Me"})
_EMPTY_LOOKING = frozenset("\u2800\u3164\u115f\u1160\uffa0")  # letters by category, nothing on the screen


@dataclass(frozen=True, slots=True)
class Open:
    """What is open at a place. A piece that ends there appends `closing`; one that starts there
    is preceded by `opening`."""

    fence: str = ""
    info: str = ""
    spans: tuple[str, ...] = ()
    quote: bool = False  # inside `>>> `: everything to the end of the message
    lead: str = ""  # what the current line began with; empty at the start of a line

    @property
    def bare(self) -> bool:
        """True when a cut here breaks nothing: no fence and no inline span."""
        return not self.fence and not self.spans

    @property
    def closing(self) -> str:
        return "\n" + self.fence if self.fence else "".join(reversed(self.spans))

    @property
    def opening(self) -> str:
        quote = ">>> " if self.quote else ""
        if self.fence:
            return f"{quote}{self.fence}{self.info}\n"
        return quote + self.lead + "".join(self.spans)


@dataclass(frozen=True, slots=True)
class Marks:
    """The scan of one text: `starts[i]` is where `states[i]` begins; `whole` are the uncuttable ranges."""

    text: str
    starts: list[int]
    states: list[Open]
    whole: list[tuple[int, int]]
    lost: list[tuple[int, str]]  # spans open at the start that end without a closer, and where
    carried: int  # how many of the spans open at the start are open at the end
    _whole_starts: list[int] = field(default_factory=list)

    def at(self, position: int) -> Open:
        """What is open just before the character at `position`."""
        return self.states[bisect_right(self.starts, position) - 1]

    def segment(self, position: int) -> tuple[int, int]:
        """The range around `position` in which the same things are open."""
        index = bisect_right(self.starts, position) - 1
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        return self.starts[index], end

    def inside_whole(self, position: int) -> bool:
        """True when a cut here would break something that must stay whole."""
        index = bisect_right(self._whole_starts, position - 1) - 1
        return index >= 0 and self.whole[index][0] < position < self.whole[index][1]


NOTHING_OPEN = Open()


def scan(text: str, start: Open = NOTHING_OPEN) -> Marks:
    """Mark a text that begins with `start` open."""
    scanner = _Scanner(text, start)
    scanner.run()
    begins = [begin for begin, _ in scanner.whole]
    return Marks(text, scanner.starts, scanner.states, scanner.whole, scanner.lost, scanner.carried, begins)


def is_blank(text: str) -> bool:
    """True when nothing of the text would be seen: Discord refuses such a message."""
    return not any(is_visible(character) for character in text)


def is_visible(character: str) -> bool:
    """True for a character that leaves something on the screen by itself."""
    return (
        not character.isspace()
        and character not in _EMPTY_LOOKING
        and unicodedata.category(character) not in _INVISIBLE
    )


def is_grapheme_border(text: str, position: int) -> bool:
    """False between the parts of one visible character (accents, joined emoji, flags, Hangul, CR LF)."""
    if position <= 0 or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    if after == "\u200d" or before == "\u200d" or unicodedata.category(after) in {"Mn", "Me", "Mc"}:
        return False
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return False  # skin tone; tag sequence of a regional flag
    if before == "\r" and after == "\n":
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        run = 0
        while position - run > 0 and _is_flag_half(text[position - 1 - run]):
            run += 1
        return run % 2 == 0
    return not _joins_hangul(before, after)


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _joins_hangul(before: str, after: str) -> bool:
    # Conjoining jamo: leading + vowel, (leading +) vowel + trailing, syllable + trailing.
    leading = "\u1100" <= before <= "\u115f"
    vowel_or_syllable = "\u1160" <= before <= "\u11a7" or "\uac00" <= before <= "\ud7a3"
    trailing = "\u11a8" <= before <= "\u11ff"
    next_vowel = "\u1160" <= after <= "\u11a7"
    next_trailing = "\u11a8" <= after <= "\u11ff"
    next_leading = "\u1100" <= after <= "\u115f"
    if leading:
        return next_leading or next_vowel or "\uac00" <= after <= "\ud7a3"
    if vowel_or_syllable:
        return next_vowel or next_trailing
    return trailing and next_trailing


class _Scanner:
    def __init__(self, text: str, start: Open) -> None:
        self.text = text
        self.state = start
        self.starts = [0]
        self.states = [start]
        self.whole: list[tuple[int, int]] = []
        self.lost: list[tuple[int, str]] = []
        self.carried = len(start.spans)

    def run(self) -> None:
        position = 0
        if not self.state.lead and not self.state.fence and not self.state.spans:
            position = self._line_start(0)
        while position < len(self.text):
            if self.state.fence:
                position = self._in_fence(position)
                continue
            match = _TOKEN.search(self.text, position)
            if match is None:
                return
            position = self._token(match)

    def _token(self, match: re.Match[str]) -> int:
        kind, token = match.lastgroup, match.group()
        code = bool(self.state.spans) and self.state.spans[-1][0] == "`"
        if kind == "gap":
            # Emphasis does not reach over a blank line: a forgotten asterisk harms one paragraph.
            self._lose(match.start(), 0)
            self._move(match.start(), replace(self.state, spans=(), lead=""))
            return match.end()
        if kind == "line":
            self._move(match.end(), replace(self.state, lead=""))
            return self._line_start(match.end()) if self.state.bare else match.end()
        if kind == "ticks":
            return self._ticks(match)
        if code:
            return match.end() if kind != "tildes" else match.start() + 1
        if kind == "tildes":
            return self._open_fence(match.start(), match.end(), token)
        if kind == "span":
            return self._span(match.start(), token)
        self.whole.append(match.span())
        return match.end()

    def _ticks(self, match: re.Match[str]) -> int:
        start, end, run = match.start(), match.end(), match.group()
        spans = self.state.spans
        if spans and spans[-1][0] == "`":
            if spans[-1] == run:
                self.carried = min(self.carried, len(spans) - 1)
                self._move(end, replace(self.state, spans=spans[:-1]))
            self._keep(start, end)
            return end
        if 3 <= len(run) <= _FENCE_LIMIT:
            return self._open_fence(start, end, run)
        self._keep(start, end)
        if len(run) <= 2 and self._followed(end):
            self._move(end, replace(self.state, spans=(*spans, run)))
        return end

    def _open_fence(self, start: int, end: int, marker: str) -> int:
        info = _INFO.match(self.text, end)
        name = info.group(1) if info and len(info.group(1)) <= _INFO_LIMIT else ""
        begin = info.end() if info else end
        self._keep(start, begin)
        # Inline spans do not reach into a fence.
        self._lose(start, 0)
        self._move(begin, replace(self.state, fence=marker, info=name, spans=(), lead=""))
        return begin

    def _in_fence(self, position: int) -> int:
        marker = self.state.fence
        pattern = rf"^{re.escape(marker)}~*" if marker[0] == "~" else rf"`{{{len(marker)},}}"
        match = re.compile(pattern, re.MULTILINE).search(self.text, position)
        if match is None:
            return len(self.text)
        self._keep(*match.span())
        self._move(match.end(), replace(self.state, fence="", info="", lead=""))
        return match.end()

    def _span(self, start: int, token: str) -> int:
        spans = self.state.spans
        if token == "**" and spans[-1:] == ("*",) and self.text[start + 2 : start + 3] == "*":
            token = "*"  # of a closing `***` the inner one goes first
        end = start + len(token)
        self._keep(start, end)
        if token in spans and self._can_close(start, end, token):
            index = len(spans) - 1 - spans[::-1].index(token)
            self._lose(start, index + 1)
            self.carried = min(self.carried, index)
            self._move(end, replace(self.state, spans=spans[:index]))
        elif token not in spans and self._can_open(start, end, token):
            self._move(end, replace(self.state, spans=(*spans, token)))
        return end

    def _can_close(self, start: int, end: int, token: str) -> bool:
        if token in ("**", "~~", "||"):
            return True
        before = self.text[start - 1] if start else "x"  # what was carried over ended visibly
        after = self.text[end : end + 1]
        return not before.isspace() and not (token[0] == "_" and after.isalnum())

    def _can_open(self, start: int, end: int, token: str) -> bool:
        if not self._followed(end):
            return False
        if token not in _FLANKED:
            return True
        before = self.text[start - 1] if start else ""
        # Ideographs are letters too, but nobody puts a space before an asterisk there.
        return not (before.isalnum() and before.isascii())

    def _followed(self, end: int) -> bool:
        return not self.text[end : end + 1].isspace() and end < len(self.text)

    def _line_start(self, position: int) -> int:
        match = _LINE_LEAD.match(self.text, position)
        if match is None or match.end() == position:
            return position
        self._keep(position, match.end())
        quote, style = match.group("quote"), match.group("style") or ""
        if quote == ">>> ":
            self._move(match.end(), replace(self.state, quote=True, lead=style))
        else:
            self._move(match.end(), replace(self.state, lead=quote + style))
        return match.end()

    def _lose(self, position: int, level: int) -> None:
        """The spans from `level` up end here with no closer of their own."""
        self.lost += [(position, token) for token in self.state.spans[level : self.carried]]
        self.carried = min(self.carried, level)

    def _keep(self, start: int, end: int) -> None:
        if end - start > 1:
            self.whole.append((start, end))

    def _move(self, position: int, state: Open) -> None:
        if state == self.state:
            return
        self.state = state
        if self.starts[-1] == position:
            self.states[-1] = state
        else:
            self.starts.append(position)
            self.states.append(state)
