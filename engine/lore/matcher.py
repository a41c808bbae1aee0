"""Which keys of an entry occur in a text.

Plain keys only; SillyTavern's rules: both sides lower-cased unless the entry says
otherwise, whole words by ASCII word characters and only for keys of one word, so a
Chinese key matches inside Chinese text. Source: spec sillytavern 2.4.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engine.resources import Entry

__all__ = ["ScanText", "is_regex_key", "matches"]

_REGEX_KEY = re.compile(r"/((?:\\.|[^/\\])+)/([gimsuy]*)", re.DOTALL)


class ScanText:
    """A text to be searched for many keys; lower-cased once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lower = text.lower()


def is_regex_key(key: str) -> bool:
    """Whether a key is written as a pattern, `/…/flags`."""
    return _REGEX_KEY.fullmatch(key) is not None


def matches(entry: Entry, scan: ScanText, *, whole_words: bool) -> bool:
    """Whether the entry's keys let it in: any primary key, and the secondary keys by its logic.

    `whole_words` is the setting for entries that do not say. Pattern keys never match here.
    """
    if not any(_occurs(key, entry, scan, whole_words) for key in entry.keys):
        return False
    if not entry.selective or not entry.secondary_keys:
        return True
    hits = [_occurs(key, entry, scan, whole_words) for key in entry.secondary_keys]
    return {
        "and_any": any(hits),
        "not_all": not all(hits),
        "not_any": not any(hits),
        "and_all": all(hits),
    }[entry.logic]


def _occurs(key: str, entry: Entry, scan: ScanText, whole_words: bool) -> bool:
    key = key.strip()
    if not key or is_regex_key(key):
        return False
    sensitive = entry.case_sensitive is True
    wanted, text = (key, scan.text) if sensitive else (key.lower(), scan.lower)
    whole = whole_words if entry.whole_words is None else entry.whole_words
    if not whole or len(key.split()) > 1:
        return wanted in text
    return wanted in text and _word_pattern(wanted).search(text) is not None


@lru_cache(maxsize=4096)
def _word_pattern(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|\W){re.escape(key)}(?:$|\W)", re.ASCII)
