"""What personas say of people, and where it stands in a request.

A persona is its player's, and whoever else looks at a prompt is not shown what it says. It may stand
anywhere: in a part of its own, in the list of players, in a text of the preset that names it. So its words
are looked for. They may be others by the time when somebody looks; the evidence of a request therefore keeps
where they stood, and no words. Source: `ux.md` 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from engine.codec import text_hash
from engine.session import Message, message_text
from engine.strategies.units import Units, utf16

__all__ = ["PRIVATE", "description_hash", "private_places", "private_words", "telling"]

PRIVATE: Final = "private"
"""The key in the evidence of a request: `[{hash, messageId, startUtf16, endUtf16}]`, `hash` that of the whole
description whose words stand there."""

_MACRO: Final = re.compile(r"\{\{.*?\}\}|<[A-Za-z]{3,8}>|\n", re.DOTALL)
_ITEMS: Final = re.compile(r",|::")
_TELLING: Final = 3  # characters: less than that tells nothing
_LISTED: Final = 12  # characters of one item of a list: shorter ones are everyday words, and stand anywhere


def telling(descriptions: Iterable[str]) -> list[str]:
    """The pieces of descriptions that tell something, as they stand in a prompt: what is between their
    macros and line ends; what is between commas, since `{{random}}` and `{{pick}}` take one of these; and all
    of it backwards, as `{{reverse}}` has it. The longest first, so that none is cut by one that it contains.
    """
    pieces = {
        piece.strip()
        for text in descriptions
        for piece in _MACRO.split(text)
        if len(piece.strip()) >= _TELLING
    }
    items = {item.strip() for piece in pieces for item in _ITEMS.split(piece)}
    pieces |= {item for item in items if len(item) >= _LISTED}
    both = pieces | {piece[::-1] for piece in pieces}
    return sorted(both, key=lambda piece: (-len(piece), piece))


def description_hash(description: str) -> str:
    """SHA-256 of a description, in hex: how evidence names it."""
    return text_hash(description)


def private_places(messages: Sequence[Message], descriptions: Iterable[str]) -> list[dict[str, Any]]:
    """Where in these messages the words of these descriptions stand.

    What people and characters said is not looked at: the whole table has read it.
    """
    wanted = [(description_hash(text), telling([text])) for text in dict.fromkeys(descriptions)]
    if not any(pieces for _, pieces in wanted):
        return []
    found: list[dict[str, Any]] = []
    for message in messages:
        if _is_public(message):
            continue
        text = message_text(message)
        for key, pieces in wanted:
            for start, end in _ranges(text, pieces):
                begin = utf16(text[:start])
                found.append(
                    {
                        "hash": key,
                        "messageId": message["id"],
                        "startUtf16": begin,
                        "endUtf16": begin + utf16(text[start:end]),
                    }
                )
    return found


def private_words(
    messages: Sequence[Message], records: Iterable[Mapping[str, Any]]
) -> Mapping[str, frozenset[str]] | None:
    """The words of personas in these messages, by the hash of the description, as the evidence of this
    request and of those before it has it. None when one of them has kept nothing about that: then nobody
    knows."""
    by_id = {message["id"]: message for message in messages}
    found: dict[str, set[str]] = {}
    for record in records:
        places = record.get(PRIVATE)
        if places is None:
            return None
        for place in places:
            message = by_id.get(place["messageId"])
            if message is None:
                continue
            said = Units(message_text(message)).cut(place["startUtf16"], place["endUtf16"])
            found.setdefault(place["hash"], set()).add(said)
    return {key: frozenset(words) for key, words in found.items()}


def _is_public(message: Message) -> bool:
    if message["role"] == "assistant":
        return True
    return bool(message["role"] == "user" and message["source"].get("kind") == "user")


def _ranges(text: str, pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
    for piece in pieces:
        start = text.find(piece)
        while start >= 0:
            yield start, start + len(piece)
            start = text.find(piece, start + len(piece))
