"""One text into the messages that Discord takes. Pure; one splitter for streaming and for the end.

    splitter = Splitter()
    splitter.feed("She opens the door. ")     # as often as text comes
    splitter.frozen                            # chunks that never change again
    splitter.live(" ▌")                        # how the open chunk looks now, closed for the eye
    splitter.finish()                          # all chunks
    split(text)                                # the same for a text at hand

Guarantees (spec discord B6), for any text and however it is fed:
* where a chunk ends depends on the text alone, not on how it came: `finish()` equals `split`;
* a frozen chunk never changes while the text grows (blanks at the very end only widen its range);
* `text[chunk.start:chunk.end]` of all chunks, joined, is the text (a blank text has no chunks);
* no chunk is blank; none is longer than `limit`, the last one than `final_limit` (in code points, as
  Discord counts);
* a fence or an emphasis that a cut goes through is closed before it and opened again after it;
* no cut inside a mention, an emoji, a link, a URL, a macro or a visible character, unless it alone is
  longer than a message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.cuts import PARAGRAPH, best_cut
from bot.markdown import CLOSERS_LIMIT, NOTHING_OPEN, Marks, Open, is_blank, is_visible, scan

__all__ = ["FINAL_LIMIT", "LIMIT", "Chunk", "Splitter", "split"]

LIMIT = 1900
"""A chunk that is followed by another. Discord's own limit is 2000; see FINAL_LIMIT."""
FINAL_LIMIT = 1950
"""The last chunk, and so how far the open one may grow: leaves room for the cursor and a footer line."""
_SMALLEST = 120  # below this the openers and closers of a fence could eat a whole chunk
_DEEPEST_INDENT = 200  # spaces before code that are still worth showing when a chunk begins with them

# Markup that has only begun to arrive; shown as it is, it would flicker.
_DANGLING = re.compile(r"(?:\*+|_+|~+|\|+|`+|<[^\s<>]*|\[[^\[\]\n]*\]\([^()\s]*)\Z")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One message: `text` is what to send, `start:end` the range of the source that it shows."""

    start: int
    end: int
    text: str


class Splitter:
    """Splits a text that grows. `limit` and `final_limit` in code points; `paragraphs` makes every
    paragraph a message of its own (the streaming mode without edits)."""

    def __init__(
        self, limit: int = LIMIT, final_limit: int = FINAL_LIMIT, *, paragraphs: bool = False
    ) -> None:
        if not _SMALLEST <= limit <= final_limit:
            raise ValueError(f"limits must satisfy {_SMALLEST} <= limit <= final_limit")
        self._limit = limit
        self._full = final_limit - CLOSERS_LIMIT
        self._paragraphs = paragraphs
        self._text = ""
        self._fed: list[str] = []
        self._frozen: list[Chunk] = []
        self._start = 0
        self._open = NOTHING_OPEN

    def feed(self, delta: str) -> None:
        """More text. Cheap: the work is done when somebody looks."""
        self._fed.append(delta)

    @property
    def text(self) -> str:
        """All that was fed."""
        if self._fed:
            self._text += "".join(self._fed)
            self._fed.clear()
        return self._text

    @property
    def frozen(self) -> tuple[Chunk, ...]:
        """The chunks that are complete and never change again."""
        self._freeze()
        return tuple(self._frozen)

    def live(self, cursor: str = "") -> str:
        """The open chunk as it looks best now: half-written markup hidden, open markup closed,
        `cursor` at the end of its visible text. Empty while there is nothing to see."""
        self._freeze()
        tail = _DANGLING.sub("", self.text[self._start :].rstrip()).rstrip()
        if is_blank(tail):
            return ""
        marks = scan(tail, self._open)
        return self._shown(marks, len(tail), cursor + marks.at(len(tail)).closing)

    def finish(self, *, close: bool = False) -> tuple[Chunk, ...]:
        """All chunks of the text as it is now. An open fence is always closed at the end; with
        `close` (a text that was cut off) open emphasis is, too."""
        self._freeze()
        tail = self.text[self._start :]
        if is_blank(tail):
            if not self._frozen:
                return ()
            last = self._frozen[-1]
            return (*self._frozen[:-1], Chunk(last.start, len(self._text), last.text))
        marks = scan(tail, self._open)
        end = marks.at(len(tail))
        closing = end.closing if close or end.fence else "".join(reversed(end.spans[: marks.carried]))
        return (*self._frozen, Chunk(self._start, len(self._text), self._shown(marks, len(tail), closing)))

    def _freeze(self) -> None:
        text = self.text
        while (found := self._next_cut(text)) is not None:
            marks, cut = found
            shown = self._shown(marks, cut, marks.at(cut).closing)
            cut = _past_blank(marks, cut)
            self._frozen.append(Chunk(self._start, self._start + cut, shown))
            self._start += cut
            self._open = marks.at(cut)

    def _next_cut(self, text: str) -> tuple[Marks, int] | None:
        """The marks of the text that decides about the next cut, and the cut; None while the open
        chunk may grow. Blanks at either end are not shown, so they do not count."""
        lead = _lead(text[self._start :], self._open)
        full = self._start + lead + self._full - len(self._open.opening)
        border = next((at + 1 for at in range(full, len(text)) if is_visible(text[at])), None)
        if self._paragraphs and (found := self._paragraph(text, lead, border or len(text))):
            return found
        if border is None:
            return None
        marks = scan(text[self._start : border], self._open)
        return marks, best_cut(marks, self._open, lead, self._limit)

    def _paragraph(self, text: str, lead: int, border: int) -> tuple[Marks, int] | None:
        for match in PARAGRAPH.finditer(text, self._start + lead):
            cut, after = match.start() - self._start, match.end()
            if match.start() >= border or cut - lead + len(self._open.opening) > self._limit:
                return None
            if after == len(text) or not is_visible(text[after]) or cut <= lead:
                continue
            marks = scan(text[self._start : after + 1], self._open)
            if marks.at(cut).bare:
                return marks, cut
        return None

    def _shown(self, marks: Marks, end: int, closing: str) -> str:
        lost = [token for position, token in marks.lost if position <= end]
        start = Open(
            self._open.fence,
            self._open.info,
            tuple(span for span in self._open.spans if span not in lost),
            self._open.quote,
            self._open.lead,
        )
        body = marks.text[_lead(marks.text, self._open) : end].rstrip()
        return start.opening + body + closing


def split(text: str, limit: int = LIMIT, final_limit: int = FINAL_LIMIT) -> tuple[Chunk, ...]:
    """The chunks of a whole text."""
    splitter = Splitter(limit, final_limit)
    splitter.feed(text)
    return splitter.finish()


def _lead(text: str, start: Open) -> int:
    """How many characters at the head are not shown: blanks; in a fence blank lines only."""
    end = next((at for at, character in enumerate(text) if is_visible(character)), len(text))
    if start.fence:
        line = text.rfind("\n", 0, end) + 1
        return line if end - line <= _DEEPEST_INDENT else end
    return end


def _past_blank(marks: Marks, cut: int) -> int:
    """The cut moved over the blanks that follow it: they belong to the piece before."""
    text = marks.text
    end = cut
    while end < len(text) and not is_visible(text[end]):
        end += 1
    if marks.at(cut).fence:
        line = text.rfind("\n", cut, end) + 1
        return line or cut  # the indentation of the next line of code stays
    return end
