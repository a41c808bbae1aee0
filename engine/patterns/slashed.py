"""Patterns as people write them into a field: `/pattern/flags`, in SillyTavern's two dialects.

Keys of world books: no inner slash unless escaped, flags of `gimsuy`; anything else is plain text.
Regex scripts: up to the last slash, inner slashes allowed; what has no such form, or flags that nobody
knows, is a pattern as a whole. Source: spec sillytavern 2.4 and 5.
"""

from __future__ import annotations

import re
from typing import Literal

from engine.errors import PatternRefused
from engine.patterns.pattern import Pattern, compile_pattern

__all__ = ["key_pattern", "parse_slashed"]

_KEY = re.compile(r"/(.+?)/([gimsuy]*)", re.DOTALL)
_INNER_SLASH = re.compile(r"(?:^|[^\\])/", re.DOTALL)
# SillyTavern's own reading of a find string; its dot stops where JavaScript's does
_SCRIPT_LINE = re.compile(r"(/?)([^\n\r\u2028\u2029]+)\1([A-Za-z]*)")
_SCRIPT_WHOLE = re.compile(r"/(.+)/([A-Za-z]*)\s*", re.DOTALL)
_SCRIPT_FLAGS = re.compile(r"(?!.*(.).*\1)[gmixXsuUAJ]+")


def parse_slashed(text: str, dialect: Literal["key", "script"] = "key") -> tuple[str, str] | None:
    """The source and the flags of a slashed text; None when the dialect does not take it for one.

    A key that is None is plain text; a script's find string that is None is a pattern as a whole, without
    flags. The flags are as written: `compile_pattern` says whether they can be.
    """
    if dialect == "key":
        return _key(text)
    whole = _SCRIPT_WHOLE.fullmatch(text)
    if whole is not None and "\n" in whole[1] and (not whole[2] or _SCRIPT_FLAGS.fullmatch(whole[2])):
        return whole[1], whole[2]  # SillyTavern cuts it off at the line end, which nobody ever meant
    found = _SCRIPT_LINE.search(text)
    if found is None or not found[1] or (found[3] and not _SCRIPT_FLAGS.fullmatch(found[3])):
        return None
    return found[2], found[3]


def key_pattern(key: str) -> Pattern | None:
    """The pattern that a world book's key is; None when it is plain text, as an invalid pattern is too."""
    parts = parse_slashed(key, "key")
    if parts is None:
        return None
    try:
        return compile_pattern(*parts)
    except PatternRefused:
        return None


def _key(text: str) -> tuple[str, str] | None:
    found = _KEY.fullmatch(text)
    if found is None or _INNER_SLASH.search(found[1]):
        return None
    return found[1], found[2]
