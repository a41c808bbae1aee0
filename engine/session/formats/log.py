"""A log on its way through the formats, and how a step refuses one.

Source: session spec 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

from engine.errors import FormatUnsupported
from engine.session.vocabulary import KNOWN_TYPES

__all__ = ["Log", "Wire", "check_types", "is_interpreted", "unsupported"]

Wire: TypeAlias = Mapping[str, Any]

_OLD_TYPES: Final = frozenset({"assistant/chunk", "tool/code-dispatch", "tool/code-dispatch-start"})
"""Types that earlier formats had and format 4 has not."""


@dataclass(frozen=True, slots=True)
class Log:
    """One session in one format: `header["version"]` says which. Nothing in it is ever changed in place.

    `inherited` events at the start belong to the parent. Events have wire form, one for each seq from 0.
    """

    header: Wire
    inherited: int
    events: Sequence[Wire]


def check_types(log: Log, *, ignorable_pass: bool) -> None:
    """Raises FormatUnsupported for an event type that the format did not have."""
    for event in log.events:
        if event["type"] in KNOWN_TYPES or event["type"] in _OLD_TYPES:
            continue
        if not ignorable_pass or is_interpreted(event):
            unsupported(
                f"format {log.header['version']} has no event type {event['type']!r} (seq {event['seq']})",
                category="unknown-required-type",
            )


def is_interpreted(event: Wire) -> bool:
    """Whether the format's rules hold for the event: not for an ignorable one of a type nobody knows."""
    return event["type"] in KNOWN_TYPES or event.get("ignorable") is not True


def unsupported(message: str, *, category: str = "migration") -> NoReturn:
    """There is no way to say in the newer format what this log says."""
    raise FormatUnsupported(message, category=category)
