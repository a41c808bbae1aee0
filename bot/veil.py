"""What is written in tags stays out of sight while an answer streams: scripts will say what becomes of it.

An answer that scripts act on is shown as they make it when it is complete. Until then its prose streams as
it comes, but nothing that is between tags (`<status>…</status>`, a thought, a list of variables): most of
it will be hidden or redrawn, and what is shown and then taken away again flickers. Running the scripts on
the growing text would cost as much and flicker as well. Pure.
"""

from __future__ import annotations

import re

from bot.tags import INLINE, find_tag

__all__ = ["Veil"]

_LONGEST = 500  # characters that may still become a tag; its attributes are rarely longer
_COMING = re.compile(r"<(?:/?(?:[^\W\d_][\w.-]*(?:[\s/][^<]*)?)?|!-?|[!?][A-Za-z][^<]*)\Z")
_COMMENT = "!--"
_FENCE = re.compile(r"`{3,}")
_TICKS = re.compile(r"`{1,2}\Z")


class Veil:
    """One attempt's text, as far as it may be shown. What is held back at the end is not shown at all."""

    def __init__(self) -> None:
        self._held = ""
        self._inside = ""  # the name of the element that is open
        self._depth = 0
        self._fenced = False

    def feed(self, text: str) -> str:
        """The part of the text so far that can be shown now."""
        self._held += text
        shown: list[str] = []
        while self._held:
            more = self._hidden() if self._inside else self._open()
            if more is None:
                break
            shown.append(more)
        return "".join(shown)

    def _open(self) -> str | None:
        """What comes before the next tag, which is passed; None when it is not yet known what comes."""
        held = self._held
        fence = _FENCE.search(held)
        bracket = -1 if self._fenced else held.find("<")
        if fence is not None and fence.end() < len(held) and (bracket < 0 or fence.start() < bracket):
            self._fenced = not self._fenced
            return self._release(fence.end())
        if bracket < 0:
            ticks = _TICKS.search(held) if fence is None else fence
            return self._release(ticks.start() if ticks is not None else len(held)) or None
        if held.startswith("<!--", bracket):
            shown = self._release(bracket)
            self._held, self._inside = self._held[4:], _COMMENT
            return shown
        tag = find_tag(held, bracket)
        if tag is not None:
            shown = self._release(bracket)
            self._held = self._held[tag.end - bracket :]
            if tag.opens and tag.name not in INLINE:
                self._inside, self._depth = tag.name, 1
            return shown
        if len(held) - bracket <= _LONGEST and _COMING.match(held, bracket):
            return self._release(bracket) or None
        return self._release(bracket + 1)

    def _hidden(self) -> str | None:
        """Passes what is inside of the open element; None when its end has not come yet."""
        if self._inside == _COMMENT:
            return self._commented()
        tags = re.compile(rf"<(/?){re.escape(self._inside)}(?=[\s/>])[^>]*>", re.IGNORECASE)
        end = 0
        for tag in tags.finditer(self._held):
            end = tag.end()
            if not tag[0].endswith("/>"):
                self._depth += -1 if tag[1] else 1
            if self._depth == 0:
                self._inside = ""
                self._held = self._held[end:]
                return ""
        # What has passed is not needed again; a tag may have come by half.
        bracket = self._held.rfind("<", end)
        coming = bracket >= 0 and len(self._held) - bracket <= _LONGEST
        self._held = self._held[bracket:] if coming else ""
        return None

    def _commented(self) -> str | None:
        end = self._held.find("-->")
        if end < 0:
            self._held = self._held[-2:]
            return None
        self._inside, self._held = "", self._held[end + 3 :]
        return ""

    def _release(self, end: int) -> str:
        shown, self._held = self._held[:end], self._held[end:]
        return shown
