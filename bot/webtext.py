"""Web pages as Discord can show them: the words, on lines of their own, without the dress.

Cards bring scripts that draw tables and boxes in HTML. The rule, for texts that a script has changed:
* tags, comments and declarations go, the words between them stay; what is nothing to read (scripts,
  styles, pictures without a description) goes whole;
* what stands on lines of its own in a page does so here, items of lists with a dash, cells with a bar
  between;
* bold, italic, underlined and struck out words stay that, in markdown;
* references such as `&nbsp;` become what they stand for;
* fenced code stays as it is, but for a whole web page in a fence, which SillyTavern's helpers would
  run: it is read like any other;
* tags in other scripts than Latin are no HTML and stay; a text without a tag is not touched.
Pure.
"""

from __future__ import annotations

import html
import re

from bot.tags import BREAKING, UNSEEN, Tag, find_tag

__all__ = ["readable"]

_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})[^\n`]*\n(?P<body>.*?)(?:^(?P=mark)[^\S\n]*$|\Z)", re.M | re.S)
_PAGE = re.compile(r"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ALT = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.I)
_GAP = re.compile(r"\n{3,}")
_CELL, _BREAK = "\ufdd0", "\ufdd1"  # no characters of any text: where a cell ends, where a line does
_SPACE = re.compile(rf"[\s{_BREAK}]++")
_DEEPEST = 32  # marks that may be open at a time; nobody dresses a word that often
_MARKS = {
    "b": "**",
    "strong": "**",
    "i": "*",
    "em": "*",
    "u": "__",
    "ins": "__",
    "s": "~~",
    "strike": "~~",
    "del": "~~",
}


def readable(text: str) -> str:
    """The text as Discord can show it; see the module. In time that grows with its length."""
    parts: list[str] = []
    at = 0
    for fence in _FENCE.finditer(text):
        parts.append(_words(text[at : fence.start()]))
        page = _PAGE.match(fence["body"]) is not None
        parts.append(_words(fence["body"]) if page else fence[0])
        at = fence.end()
    return "".join([*parts, _words(text[at:])])


def _words(text: str) -> str:
    reader = _Reader(text)
    return reader.read() if reader.has_tags() else text


class _Reader:
    """Reads one text outside of fences."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[str] = []
        self.open: list[tuple[str, int]] = []  # marks that were opened, and where in the parts
        self.end = text.rfind(">")  # behind it nothing can be a tag

    def has_tags(self) -> bool:
        return self._next(0) is not None

    def read(self) -> str:
        at = 0
        while (tag := self._next(at)) is not None:
            self._say(self.text[at : tag.start])
            at = self._take(tag)
        self._say(self.text[at:])
        for _, place in self.open:  # nothing closes them
            self.parts[place] = ""
        made = _SPACE.sub(_break, "".join(self.parts))
        made = "\n".join(map(_row, made.split("\n"))).strip()
        # A text in the middle of others keeps the lines around it.
        return _GAP.sub("\n\n", _blank(self.text, first=True) + made + _blank(self.text, first=False))

    def _next(self, at: int) -> Tag | None:
        while 0 <= (at := self.text.find("<", at)) < self.end:
            tag = find_tag(self.text, at)
            if tag is not None and tag.name.isascii():
                return tag
            at += 1
        return None

    def _say(self, words: str) -> None:
        if words:
            self.parts.append(_REFERENCE.sub(lambda found: html.unescape(found[0]), words))

    def _take(self, tag: Tag) -> int:
        """Put what a tag means; where the text goes on."""
        if tag.name in UNSEEN and tag.opens:
            return self._past(tag)
        if tag.name in _MARKS:
            self._mark(_MARKS[tag.name], tag.closes)
        elif tag.name in ("td", "th"):
            self.parts.append(_CELL if tag.closes else "")
        elif tag.name == "li" and not tag.closes:
            self.parts.append(f"{_BREAK}- ")
        elif tag.name == "img":
            alt = _ALT.search(tag.attributes)
            self._say((alt[1] or alt[2] or "") if alt is not None else "")
        elif tag.name == "br":
            self.parts.append("\n")
        elif tag.name in BREAKING:
            self.parts.append(_BREAK)
        return tag.end

    def _past(self, tag: Tag) -> int:
        """Behind the end of an element that is nothing to read."""
        close = re.compile(rf"</{re.escape(tag.name)}\s*>", re.I).search(self.text, tag.end)
        return close.end() if close is not None else len(self.text)

    def _mark(self, mark: str, closes: bool) -> None:
        if not closes:
            if len(self.open) < _DEEPEST:
                self.open.append((mark, len(self.parts)))
                self.parts.append(mark)
            return
        places = [index for index, (opened, _) in enumerate(self.open) if opened == mark]
        if not places:
            return
        for _, inner in self.open[places[-1] + 1 :]:  # closed in the wrong order, or never
            self.parts[inner] = ""
        place = self.open[places[-1]][1]
        del self.open[places[-1] :]
        inside = "".join(self.parts[place + 1 :])
        if inside and inside == inside.strip() and not {"\n", _BREAK, _CELL} & set(inside):
            self.parts.append(mark)
        else:
            self.parts[place] = ""


def _break(space: re.Match[str]) -> str:
    """Space around the border of a block is one line break, two where the text itself leaves a line free."""
    if _BREAK not in space[0]:
        return space[0]
    return "\n\n" if any(part.count("\n") > 1 for part in space[0].split(_BREAK)) else "\n"


def _row(line: str) -> str:
    """A line without blanks at its ends, its cells with bars between."""
    cells = [cell.strip() for cell in line.split(_CELL)]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return " | ".join(cells)


def _blank(text: str, *, first: bool) -> str:
    """The line breaks at an end of a text, two at most."""
    rest = text.lstrip() if first else text.rstrip()
    edge = text[: len(text) - len(rest)] if first else text[len(rest) :]
    return "\n" * min(edge.count("\n"), 2)
