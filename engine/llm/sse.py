"""Server-sent events from bytes, however the network has cut them (spec agent-loop 5.11).

Lines end at CR, LF or CRLF and nowhere else: `str.splitlines` and `httpx.aiter_lines` also
split at U+2028, U+0085 and others, which models write inside JSON strings.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

__all__ = ["EVENT_LIMIT", "EventTooLong", "ServerEvent", "SseParser"]

EVENT_LIMIT = 16 * 1024 * 1024
"""Characters of one event. A whole answer in one event stays far below; more is a runaway server."""

_LINE_END = re.compile(r"\r\n|\r|\n")


class EventTooLong(ValueError):
    """The server sends one event without end."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One dispatched event. `event` is empty when the server named none."""

    data: str
    event: str = ""


class SseParser:
    """Feed it bytes; it returns the events that became complete.

    The result does not depend on where the bytes are cut. Bytes that are not UTF-8 become
    U+FFFD. An event that no blank line has ended is never returned: at the end of the
    stream it is a truncation.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._limit = limit
        self._line: list[str] = []  # pieces of the line that has not ended
        self._data: list[str] = []
        self._event = ""
        self._size = 0
        self._after_cr = False

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Events completed by `data`. Raises EventTooLong; the parser is of no use after that."""
        text = self._decoder.decode(data)
        if not text:
            return []
        start = 0
        if self._after_cr:
            # The CR has ended its line already; an LF right after it belongs to it.
            self._after_cr = False
            start = 1 if text[0] == "\n" else 0
        events: list[ServerEvent] = []
        for end in _LINE_END.finditer(text, start):
            self._grow(text[start : end.start()])
            start = end.end()
            line = "".join(self._line)
            self._line.clear()
            if (event := self._take(line)) is not None:
                events.append(event)
        self._grow(text[start:])
        self._after_cr = text.endswith("\r")
        return events

    def _grow(self, piece: str) -> None:
        if piece:
            self._line.append(piece)
            self._size += len(piece)
            if self._size > self._limit:
                raise EventTooLong(f"an event of more than {self._limit} characters")

    def _take(self, line: str) -> ServerEvent | None:
        if not line:
            event = ServerEvent("\n".join(self._data), self._event) if self._data else None
            self._data = []
            self._event = ""
            self._size = 0
            return event
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "error":
            # Not of the standard: llama.cpp of 2024 reports an error in mid-answer in a field of this name.
            self._event = "error"
            self._data.append(value)
        else:
            # A comment (empty name), `id`, `retry` or something unknown: nothing is kept of it.
            self._size -= len(line)
        return None
