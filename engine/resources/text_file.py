"""A text file that somebody shows in a story: told by its content, whatever it is called."""

from __future__ import annotations

import re

__all__ = ["read_text"]

_BOM = "\ufeff"
# Control characters that no text has; tabs, line ends and form feeds are none of them.
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff]")


def read_text(body: bytes) -> str | None:
    """The text, with plain line ends and without a byte order mark; None when it is no UTF-8 text.

    An empty file is an empty text.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if _BINARY.search(text):
        return None
    return text.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n")
