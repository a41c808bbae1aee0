"""Text that was UTF-8 and was read as Latin-1 or Windows-1252 on its way: `Ã©` for `é`.

Some cards of 2023 are like that. They are not mended unasked. Source: spec sillytavern 1.2.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["is_mojibake", "mended_text", "mended_texts"]

# What readers of Windows-1252 made of the bytes for which it has letters of its own.
_BYTES = {
    ord(letter): byte for byte in range(0x80, 0xA0) if (letter := bytes([byte]).decode("cp1252", "ignore"))
}
_PAIR = re.compile("[\u00c2-\u00f4][\u0080-\u00bf\u0152-\u0192\u02c6-\u02dc\u2013-\u2122]")


def is_mojibake(text: str) -> bool:
    """Whether a text reads whole and right when its letters are taken for bytes of UTF-8."""
    if text.isascii() or _PAIR.search(text) is None:
        return False
    return mended_text(text) != text


def mended_text(text: str) -> str:
    """The text as it was meant; unchanged when it is not wrongly encoded throughout."""
    if text.isascii():
        return text
    try:
        return text.translate(_BYTES).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def mended_texts(value: Any) -> Any:
    """The JSON value with every text of it mended; for a person who wants it so."""
    if isinstance(value, str):
        return mended_text(value)
    if isinstance(value, Mapping):
        return {key: mended_texts(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mended_texts(item) for item in value]
    return value
