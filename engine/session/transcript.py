"""The human transcript: what was said, in order, whatever the model is shown of it now.

Source: session spec 3, 7.4; seed 002, 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.session.event import Event
from engine.session.surface import is_append_event

__all__ = ["transcript"]


def transcript(events: Iterable[Event]) -> list[Event]:
    """The messages as they came. Shadowed ones stay; replacement copies are left out."""
    return [event for event in events if is_append_event(event)]
