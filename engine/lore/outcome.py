"""What an activation gives. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.lore.effects import TimedEffects
from engine.lore.reasons import Hit, Verdict
from engine.resources import Diagnostic, Entry

__all__ = ["Activation", "ActiveEntry", "Budget"]


@dataclass(frozen=True, slots=True)
class ActiveEntry:
    """An entry that is in. `id` is qualified by its book; `why` is the slug of the reason.

    `entry` has its decorators applied: place, depth and role as they say. `text` is its content without
    decorators, macros expanded; it may be empty. `rank` is its place in the order of activation.
    """

    id: str
    entry: Entry
    why: str
    text: str
    rank: int = 0
    tokens: int = 0
    number: int = 1
    hits: tuple[Hit, ...] = ()
    dropped_first: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """In tokens. `limit` is None when the context window is not known."""

    limit: int | None
    used: int
    overflowed: bool


@dataclass(frozen=True, slots=True)
class Activation:
    """Active entries in reading order (ascending insertion order, equal ones backwards).

    `record` is what the session's log must keep of timed effects (None: nothing changed), `effects` the
    state with it. `disables` names prompts that an active entry's decorators switch off.
    """

    entries: tuple[ActiveEntry, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    effects: TimedEffects = field(default_factory=TimedEffects)
    record: Mapping[str, Any] | None = None
    budget: Budget = field(default_factory=lambda: Budget(None, 0, False))
    disables: frozenset[str] = frozenset()
    passes: int = 0

    @property
    def in_order_of_activation(self) -> tuple[ActiveEntry, ...]:
        """The active entries as they came in."""
        return tuple(sorted(self.entries, key=lambda item: item.rank))
