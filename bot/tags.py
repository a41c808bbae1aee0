"""Finding tags of HTML in a text, in bounded time. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["BREAKING", "INLINE", "UNSEEN", "VOID", "Tag", "find_tag"]


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


VOID = _names("area base br col embed hr img input link meta source track wbr")
"""Elements that have no end."""
INLINE = _names(
    "a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q rp rt ruby s samp small span strike "
    "strong sub sup time tt u var"
)
"""Elements that only dress the words in them."""
BREAKING = _names(
    "address article aside blockquote body br center dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol p pre section summary table tbody "
    "tfoot thead tr ul"
)
"""Elements that stand on lines of their own."""
UNSEEN = _names(
    "audio canvas datalist head iframe map math noframes noscript object script select style svg template "
    "textarea title video"
)
"""Elements whose content is nothing to read."""

_OPENING = re.compile(r"<(/?)([^\W\d_][\w.-]*)(?=[\s/>])")
_DECLARATION = re.compile(r"<[!?](?!--)[A-Za-z]")
_QUOTE_OR_END = re.compile(r"[\"'>]")
_QUOTES = 40  # quoted values of one tag; real ones have a dozen at most


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag at `start:end` of a text. `name` is lower case, empty for a comment or a declaration."""

    name: str
    start: int
    end: int
    closes: bool = False
    attributes: str = ""

    @property
    def opens(self) -> bool:
        """Whether something is inside of what begins here."""
        empty = self.closes or self.name in VOID or self.attributes.rstrip().endswith("/")
        return bool(self.name) and not empty


def find_tag(text: str, at: int) -> Tag | None:
    """The tag, comment or declaration that begins at `at` and is complete.

    What is Discord's own is none: mentions, emoji, times and links have a sign after the bracket or the name.
    """
    if text.startswith("<!--", at):
        end = text.find("-->", at + 4)
        return None if end < 0 else Tag("", at, end + 3)
    opening = _OPENING.match(text, at)
    if opening is None and not _DECLARATION.match(text, at):
        return None
    begin = opening.end() if opening is not None else at + 2
    behind = _end(text, begin)
    if behind is None:
        return None
    if opening is None:
        return Tag("", at, behind)
    return Tag(opening[2].lower(), at, behind, opening[1] == "/", text[begin : behind - 1])


def _end(text: str, position: int) -> int | None:
    """Behind the bracket that ends a tag; one in a quoted value ends nothing."""
    for _ in range(_QUOTES):
        found = _QUOTE_OR_END.search(text, position)
        if found is None:
            return None
        if found[0] == ">":
            return found.end()
        closing = text.find(found[0], found.end())
        if closing < 0:
            return None
        position = closing + 1
    return None
