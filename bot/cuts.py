"""Where a piece of text is cut best: paragraph, line, sentence, space, and only then anywhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.markdown import Marks, Open, is_blank, is_grapheme_border

__all__ = ["PARAGRAPH", "best_cut"]

PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"\n(?=(\s?))")
# The quotes, brackets and markup that close after a full stop belong to the sentence. Latin marks need
# a space behind them (3.14, example.com), the ideographic ones do not.
_SENTENCE = re.compile(r"[.!?…]+[\"'”’»)\]*_~|]*(?=\s)|[。！？…]+[”’」』）】*_~|]*")
_SPACE = re.compile(r"[^\S\n\u00a0]+")
_CLAUSE = re.compile(r"[，、；：]+")

# The lower, the better. "Open" ones cut through emphasis or code and need repair on both sides.
_IN_PARAGRAPHS, _IN_LINES, _IN_SENTENCES, _IN_FENCE_LINES, _IN_SPACES, _IN_OPEN = range(6)


def best_cut(marks: Marks, start: Open, lead: int, limit: int) -> int:
    """The position in `marks.text` before which a piece ends.

    The piece begins with `start` open and shows the text from `lead` on; with its opening and
    closing markup it has at most `limit` code points, and it shows something. The text must be
    longer than that. The latest place of the best kind in the second half of the piece wins, so
    that pieces are neither ragged nor short; failing that, the first half is looked at.
    """
    text = marks.text
    top = lead + limit - len(start.opening)
    middle = lead + (top - lead) // 2
    late: tuple[int, int] | None = None
    early: tuple[int, int] | None = None
    for kind, position in _candidates(text, lead, top):
        if not _sound(marks, position, top) or is_blank(text[lead:position]):
            continue
        ranked = (_rank(kind, marks.at(position)), -position)
        if position > middle:
            late = min(late or ranked, ranked)
        else:
            early = min(early or ranked, ranked)
    if best := late or early:
        return -best[1]
    return _anywhere(marks, lead, top)


def _candidates(text: str, lead: int, top: int) -> Iterator[tuple[int, int]]:
    end = top + 1  # one more, so that what stands exactly at the limit counts
    for match in PARAGRAPH.finditer(text, lead, end):
        yield _IN_PARAGRAPHS, match.start()
    for match in _LINE.finditer(text, lead, end):
        # An indented line would lose its indentation at the head of a message.
        yield (_IN_SPACES if match.group(1) else _IN_LINES), match.start()
    for match in _SENTENCE.finditer(text, lead, end):
        yield _IN_SENTENCES, match.end()
    for match in _SPACE.finditer(text, lead, end):
        yield _IN_SPACES, match.start()
    for match in _CLAUSE.finditer(text, lead, end):
        yield _IN_SPACES, match.end()


def _rank(kind: int, state: Open) -> int:
    if state.fence:
        return _IN_FENCE_LINES if kind <= _IN_LINES else _IN_OPEN
    return kind if state.bare else _IN_OPEN


def _sound(marks: Marks, position: int, top: int) -> bool:
    """True when a cut here fits, breaks nothing whole, and leaves no empty markup on either side."""
    text = marks.text
    if not 0 < position < len(text) or position + len(marks.at(position).closing) > top:
        return False
    if marks.inside_whole(position) or not is_grapheme_border(text, position):
        return False
    if marks.at(position).bare:
        return True
    begin, end = marks.segment(position)
    return not is_blank(text[begin:position]) and not is_blank(text[position:end])


def _anywhere(marks: Marks, lead: int, top: int) -> int:
    """No good place at all: between two visible characters, if need be through a whole thing."""
    text = marks.text
    positions = range(min(top, len(text) - 1), lead, -1)
    fits = [at for at in positions if not is_blank(text[lead:at]) and at + len(marks.at(at).closing) <= top]
    for position in fits:
        if _sound(marks, position, top):
            return position
    for position in fits:
        if is_grapheme_border(text, position):
            return position
    return fits[0]
