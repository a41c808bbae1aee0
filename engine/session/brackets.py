"""Compaction brackets: start, summary, checkpoint and end belong together and to one turn.

Source: session spec 6.2, 7.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.session.companion import Position
from engine.session.event import Event
from engine.session.objection import object_to
from engine.session.surface import Surface, is_replacement_event

__all__ = ["Brackets"]


@dataclass(slots=True)
class _Bracket:
    """An open compaction."""

    start: int
    compaction_id: str
    turn: int | None
    command: str | None
    summarised: bool = False


class Brackets:
    """The open bracket of one log, and what may stand in it."""

    def __init__(
        self, surface: Surface, position: Position, history: Sequence[Event], *, closing: bool
    ) -> None:
        self._surface = surface
        self._position = position
        self._open: _Bracket | None = None
        self._orphans = _orphans(history, closing=closing)
        self.checks: Mapping[str, Callable[[Event], None]] = {
            "turn/start": self._check_crossing,
            "turn/end": self._check_crossing,
            "compaction/start": self._check_start,
            "compaction/summary": self._check_summary,
            "compaction/end": self._check_end,
            "compaction/prune": self._check_span,
            "user/message": self._check_checkpoint,
        }
        self.followers: Mapping[str, Callable[[Event], None]] = {
            "compaction/start": self._follow_start,
            "compaction/summary": self._follow_summary,
            "compaction/end": self._follow_end,
            "session/end-seed": self._follow_end,
        }

    def _check_crossing(self, event: Event) -> None:
        if self._open is not None and self._open.start not in self._orphans:
            object_to("a turn boundary cannot cross an open compaction")

    def _check_start(self, event: Event) -> None:
        if self._open is not None:
            object_to("another compaction is open")
        if type(event.data["compactionId"]) is not str or not event.data["compactionId"]:
            object_to("a compaction needs an id")
        if event.data["turn"] != self._position.turn:
            object_to(f"the open turn is {self._position.turn}")

    def _follow_start(self, event: Event) -> None:
        data = event.data
        self._open = _Bracket(event.seq, data["compactionId"], data["turn"], data.get("sourceCommandId"))

    def _check_summary(self, event: Event) -> None:
        bracket = self._member(event.data)
        if bracket.summarised:
            object_to("this compaction has its summary already")
        self._check_span(event)

    def _follow_summary(self, event: Event) -> None:
        if self._open is not None:
            self._open.summarised = True

    def _check_end(self, event: Event) -> None:
        bracket = self._member(event.data)
        if event.data["turn"] != bracket.turn:
            object_to(f"this compaction belongs to turn {bracket.turn}")
        if "error" not in event.data and not bracket.summarised:
            object_to("a compaction that succeeded needs its summary")

    def _follow_end(self, event: Event) -> None:
        self._open = None

    def _check_span(self, event: Event) -> None:
        """The shadowed seqs are exactly the current nodes of the range, the system head not among them."""
        ends, seqs = event.data["shadowedRange"], event.data["shadowedSeqs"]
        span = self._surface.span(ends["start"], ends["end"])
        if span is None or list(seqs) != list(span):
            object_to("shadowedSeqs do not name an exact span of the current surface")
        if self._surface.has_system_head and span[0] == self._surface.nodes[0]:
            object_to("a compaction cannot shadow the system head")

    def _check_checkpoint(self, event: Event) -> None:
        if event.data["source"]["kind"] == "compact-checkpoint" and is_replacement_event(event):
            self._member(event.data["source"])

    def _member(self, data: Mapping[str, Any]) -> _Bracket:
        """The open bracket, if the data names it."""
        bracket = self._open
        if bracket is None:
            object_to("no compaction is open")
        if data["compactionId"] != bracket.compaction_id or data.get("sourceCommandId") != bracket.command:
            object_to(f"the open compaction is {bracket.compaction_id}")
        return bracket


def _orphans(history: Sequence[Event], *, closing: bool) -> frozenset[int]:
    """The starts whose bracket no end closes before an end-seed drops it."""
    orphans: set[int] = set()
    start: int | None = None
    for event in history:
        if event.type == "compaction/start":
            start = event.seq
        elif event.type == "compaction/end":
            start = None
        elif event.type == "session/end-seed" and start is not None:
            orphans.add(start)
            start = None
    if closing and start is not None:
        orphans.add(start)
    return frozenset(orphans)
