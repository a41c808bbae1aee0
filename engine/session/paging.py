"""Pages of a log, newest first, cut where a message begins.

Source: session spec 7.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.errors import InputError
from engine.session.event import Event
from engine.session.frozen import is_seq
from engine.session.surface import is_append_event

__all__ = ["Page", "TurnWindow", "page"]

MAX_MESSAGES: Final = 50
"""About what a reader scrolls through before asking for more."""

_COUNTED: Final = frozenset({"user/message", "assistant/message"})


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """Enough messages in enough whole turns: the page then begins at a turn/start."""

    min_messages: int
    min_turns: int


@dataclass(frozen=True, slots=True)
class Page:
    """Contiguous events, and whether there are earlier ones."""

    events: Sequence[Event]
    has_more: bool


def page(
    events: Sequence[Event],
    *,
    through_seq: int,
    before_seq: int | None = None,
    max_messages: int = MAX_MESSAGES,
    turn_window: TurnWindow | None = None,
) -> Page:
    """The newest events up to and with `through_seq`, which pins the snapshot that is paged through.

    Goes back until `max_messages` appended user and assistant messages are counted, and begins at the
    last counted one or the earliest event that it cites. With a turn window, at a turn/start once both
    of its minima are met. `before_seq` (exclusive) continues an earlier page; -1 pins the empty snapshot.
    Raises InputError(code='BAD_REQUEST').
    """
    _check(events, through_seq, before_seq, max_messages, turn_window)
    end = through_seq + 1 if before_seq is None else min(through_seq + 1, before_seq)
    start = _start(events, end, max_messages, turn_window)
    return Page(events[start:end], start > 0)


def _start(events: Sequence[Event], end: int, max_messages: int, window: TurnWindow | None) -> int:
    messages = turns = 0
    for seq in range(end - 1, -1, -1):
        event = events[seq]
        if event.type in _COUNTED and is_append_event(event):
            messages += 1
            if messages == max_messages:
                cited: Sequence[int] = event.source_event_seqs or ()
                return min((seq, *cited))
        elif event.type == "turn/start" and window is not None:
            turns += 1
            if messages >= window.min_messages and turns >= window.min_turns:
                return seq
    return 0


def _check(
    events: Sequence[Event],
    through_seq: int,
    before_seq: int | None,
    max_messages: int,
    window: TurnWindow | None,
) -> None:
    if through_seq != -1 and not is_seq(through_seq):
        raise _bad("throughSeq must be an integer from -1 on")
    if through_seq >= len(events):
        raise _bad(f"throughSeq {through_seq} is past the last event, {len(events) - 1}")
    if before_seq is not None and not is_seq(before_seq):
        raise _bad("beforeSeq must be a non-negative integer")
    minima = (window.min_messages, window.min_turns) if window is not None else ()
    for value in (max_messages, *minima):
        if not is_seq(value) or value == 0:
            raise _bad("maxMessages and the turn window's minima must be positive integers")


def _bad(message: str) -> InputError:
    return InputError(message, code="BAD_REQUEST", category="bad-request")
