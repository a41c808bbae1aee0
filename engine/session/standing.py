"""What became of each event: whether the model still reads it, and what stands in its place.

Source: session spec 7.4; seed 002, 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

from engine.session.event import Event
from engine.session.projections import Projections
from engine.session.surface import Surface, is_replacement_event
from engine.session.vocabulary import SURFACE_TYPES

__all__ = ["STANDINGS", "Standing", "Standings", "replayed"]

Standing: TypeAlias = Literal["current", "shadowed", "log-only"]

STANDINGS: Final[frozenset[Standing]] = frozenset({"current", "shadowed", "log-only"})


def replayed(events: Iterable[Event], projections: Projections) -> Surface:
    """The surface that a log makes. Raises AppendRefused for a log that makes none."""
    surface = Surface([], projections)
    surface.take_over(events)
    return surface


class Standings:
    """The standing of every event of one log, as it was when this was made."""

    def __init__(self, events: Sequence[Event], nodes: Iterable[int]) -> None:
        self._events = events
        self._nodes = frozenset(nodes)
        self._replaced_by: dict[int, int] | None = None

    def of(self, event: Event) -> Standing:
        """Whether the event is a node of the surface, was one, or never was."""
        if event.type not in SURFACE_TYPES:
            return "log-only"
        return "current" if event.seq in self._nodes else "shadowed"

    def replaced_by(self, seq: int) -> int | None:
        """The event that took this one's place on the surface; None for a current or log-only one."""
        if self._replaced_by is None:
            self._replaced_by = _replacements(self._events)
        return self._replaced_by.get(seq)

    def chain(self, seq: int) -> tuple[int, ...]:
        """What replaced the event, what replaced that, and so on up to the current node."""
        chain: list[int] = []
        following = self.replaced_by(seq)
        while following is not None:
            chain.append(following)
            following = self.replaced_by(following)
        return tuple(chain)


def _replacements(events: Iterable[Event]) -> dict[int, int]:
    """By the seq of a shadowed node: the replacement that shadowed it first, which is the only one."""
    nodes: list[int] = []
    replaced: dict[int, int] = {}
    for event in events:
        if event.type not in SURFACE_TYPES:
            continue
        if not is_replacement_event(event):
            nodes.append(event.seq)
            continue
        start, end = nodes.index(event.surface_op["startSeq"]), nodes.index(event.surface_op["endSeq"])
        replaced.update(dict.fromkeys(nodes[start : end + 1], event.seq))
        nodes[start : end + 1] = [event.seq]
    return replaced
