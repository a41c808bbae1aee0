"""JSON payloads whose server has cut a character in two.

Gateways written in languages of UTF-16 cut text between the two halves of an emoji, and escape each half
by itself in two payloads that follow each other. Neither is JSON that a strict reader takes; together
they say what was meant.
"""

from __future__ import annotations

import re
from typing import Any

from engine.codec import loads

__all__ = ["PayloadReader"]

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|.)", re.DOTALL)
_INSTEAD = "\\ufffd"


class PayloadReader:
    """Reads the payloads of one stream, in order."""

    def __init__(self) -> None:
        self._half = ""  # the escape of a first half that ended a string of the payload before

    def read(self, text: str) -> Any:
        """The value of one payload. A half without the other becomes U+FFFD, or nothing at the end of its
        string. Raises ValueError for what is no JSON otherwise either.
        """
        try:
            value = loads(text)
        except ValueError:
            mended, half = _mended(text, self._half)
            value = loads(mended)
            self._half = half
        else:
            self._half = ""
        return value


def _mended(text: str, before: str) -> tuple[str, str]:
    """The text with whole characters only, and the half that it ends a string with."""
    out: list[str] = []
    at = 0
    high = ""  # a first half that was just seen
    half = ""

    def settle(end: int) -> None:
        """The first half that was just seen stands alone: it may be the end of a string."""
        nonlocal high, half
        if high:
            if text[end : end + 1] == '"':
                half = high
            else:
                out.append(_INSTEAD)
            high = ""

    for escape in _ESCAPE.finditer(text):
        start, code = escape.start(), int(escape[1] or "0", 16)
        if high and start > at:
            settle(at)
        out.append(text[at:start])
        at = escape.end()
        if 0xDC00 <= code <= 0xDFFF:
            first = high or (before if text[start - 1 : start] == '"' else "")
            out.append(first + escape[0] if first else _INSTEAD)
            before = high = ""
        else:
            settle(start)
            if 0xD800 <= code <= 0xDBFF:
                high = escape[0]
            else:
                out.append(escape[0])
    settle(at)
    out.append(text[at:])
    return "".join(out), half
