"""How one key is compared with a text: SillyTavern's rules, exactly.

Plain keys: a substring, both sides in lower case unless case counts. Whole words: a key
of one word must stand between characters that JavaScript's `\\W` takes, which knows ASCII
only, so Chinese, Cyrillic and accented neighbours are boundaries; a key of several words
is a substring. `/pattern/flags` is a pattern; an invalid one is plain text.

Lower case is Unicode's full, context-sensitive mapping (`İ` becomes two characters, a
final `Σ` is `ς`), which JavaScript's toLowerCase and Python's lower share; it is neither
case folding (`ß` is not `ss`) nor normalisation (`é` of one and of two code points
differ). Source: spec sillytavern 2.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from engine.errors import PatternRefused
from engine.patterns import Pattern, compile_pattern, parse_slashed

__all__ = [
    "MARK",
    "SEPARATOR",
    "WORD",
    "Literally",
    "Never",
    "Probe",
    "is_broken",
    "is_word",
    "occurs",
    "probe_of",
    "trimmed",
]

MARK: Final = "\x01"  # begins the scanned text …
SEPARATOR: Final = "\n\x01"  # … and each further piece, so that no plain key spans two
WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SPACES: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""JavaScript's white space, which is what `trim` and `\\s` take there; Python's differs by seven."""
_SPACE_SET: Final = frozenset(_SPACES)


@dataclass(frozen=True, slots=True)
class Literally:
    """A plain key: `text` is in lower case unless case counts; `whole` only where it is one word."""

    text: str
    sensitive: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class Never:
    """A key that matches nothing: blank, or a pattern that is not run (`code` says why)."""

    code: Literal["", "WORLD_BOOK_REGEX_DISABLED", "WORLD_BOOK_REGEX_TOO_LONG"] = ""


Probe = Literally | Pattern | Never


def trimmed(text: str) -> str:
    """JavaScript's trim."""
    return text.strip(_SPACES)


def probe_of(
    key: str, *, sensitive: bool, whole: bool, patterns: bool, max_pattern: int, blank_matches: bool = False
) -> Probe:
    """What a key, macros expanded, looks for."""
    text = trimmed(key)
    if not text:
        return Literally("", sensitive, False) if key and blank_matches else Never()
    parts = parse_slashed(text) if text[0] == "/" else None
    if parts is not None:
        if not patterns:
            return Never("WORLD_BOOK_REGEX_DISABLED")
        if len(parts[0]) > max_pattern:
            return Never("WORLD_BOOK_REGEX_TOO_LONG")
        try:
            return compile_pattern(*parts)
        except PatternRefused as refusal:
            if refusal.error_code == "PATTERN_TOO_LONG":
                return Never("WORLD_BOOK_REGEX_TOO_LONG")
    wanted = text if sensitive else text.lower()
    return Literally(wanted, sensitive, whole and not _SPACE_SET.intersection(wanted))


def is_broken(key: str) -> bool:
    """Whether a key has the form of a pattern and is none that can be compiled: it is plain text then."""
    parts = parse_slashed(trimmed(key))
    if parts is None:
        return False
    try:
        compile_pattern(*parts)
    except PatternRefused as refusal:
        return refusal.error_code != "PATTERN_TOO_LONG"
    return False


def occurs(text: str, wanted: str, *, whole: bool) -> bool:
    """Whether a literal stands in a text that is in the same case."""
    at = text.find(wanted)
    if not whole:
        return at >= 0
    while at >= 0:
        if is_word(text, at, at + len(wanted)):
            return True
        at = text.find(wanted, at + 1)
    return False


def is_word(text: str, start: int, end: int) -> bool:
    """Whether the characters around a place are boundaries."""
    return (start == 0 or text[start - 1] not in WORD) and (end >= len(text) or text[end] not in WORD)
