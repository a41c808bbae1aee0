"""What a script puts in the place of a match: `$1`, `$<name>`, `$0` and `{{match}}`; nothing else is special.

Source: spec sillytavern 5. A group that there is not is empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.patterns import Match
from engine.scripts.macros import Insert, Macros

__all__ = ["Replacement"]

_MATCH = re.compile(r"\{\{match\}\}", re.IGNORECASE)
_GROUP = re.compile(r"\$([0-9]+)|\$<([^>]+)>")


class Replacement:
    """A script's replacement, read once."""

    def __init__(self, text: str, trim: Sequence[str], macros: Macros) -> None:
        self._text = _MATCH.sub("$0", text)
        self._macros = macros
        self._places = [(found.start(), found.end(), _which(found)) for found in _GROUP.finditer(self._text)]
        # what is to be trimmed is the same for each match
        self._trim = [done for one in trim if (done := macros.expand(one))] if self._places else []

    def of(self, match: Match) -> str:
        """The text for one match."""
        inserts: list[Insert] = []
        for start, end, which in self._places:
            inserts.append((start, end, self._trimmed(_captured(match, which))))
        return self._macros.expand(self._text, inserts)

    def _trimmed(self, text: str) -> str:
        for one in self._trim:
            text = text.replace(one, "")
        return text


def _which(found: re.Match[str]) -> int | str:
    if found[2] is not None:
        return found[2]
    return int(found[1]) if len(found[1]) < 6 else -1  # no pattern has so many groups


def _captured(match: Match, which: int | str) -> str:
    if isinstance(which, str):
        return match.named.get(which) or ""
    return (match.groups[which] or "") if 0 <= which < len(match.groups) else ""
