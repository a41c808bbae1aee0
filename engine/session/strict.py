"""The validator that the engine installs on every session: shapes and strict relations.

What it accepts can be read back by any reader of the format. Source: decision 2; session spec 2, 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.session.event import Event
from engine.session.payloads import check_shape
from engine.session.relations import Relations
from engine.session.surface import Surface

__all__ = ["StrictValidator"]


class StrictValidator:
    """`Sessions(validators=[StrictValidator])`.

    Stored history is held to the relations alone, which is what storage promises of it; whatever is
    appended must have its exact shape too.
    """

    def __init__(self, surface: Surface, history: Sequence[Event]) -> None:
        self._relations = Relations(surface, history)
        self._stored = len(history)

    def check(self, event: Event) -> None:
        """Raises AppendRefused: category 'shape', 'stored-relationship' or 'unknown-required-type'."""
        if event.seq >= self._stored:
            check_shape(event)
        self._relations.check(event)

    def accept(self, event: Event) -> None:
        self._relations.accept(event)

    def resume(self, events: Sequence[Event]) -> None:
        self._relations.resume(events)
