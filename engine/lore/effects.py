"""Timed effects: sticky, cooldown, and what V3's `…_after_match` remember. A pure value per branch.

The state is never stored. Each evaluation that changes it gives a record; the records
that stand in a session's log, inherited ones included, fold to the state at that point.
So a fork, a swipe or a rewind has the effects that ran where it was cut. Times are
message counts of the branch. Source: spec sillytavern 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.resources import Entry

__all__ = ["EFFECTS_RECORD", "Effect", "Lookup", "Running", "TimedEffects"]

EFFECTS_RECORD: Final = "plugin:lore/effects"
"""The type of the log-only event whose data is a record."""

_KINDS: Final = ("sticky", "cooldown", "matched")

Lookup = Callable[[str], "tuple[Entry, str] | None"]
"""The entry of a qualified id and its fingerprint, or None when no book at hand has it."""


@dataclass(frozen=True, slots=True)
class Effect:
    """From `start` to before `end`, in messages. It belongs to the entry as it was: `fingerprint`.

    A protected one survives a chat that did not advance.
    """

    fingerprint: str
    start: int
    end: int
    protected: bool = False


@dataclass(frozen=True, slots=True)
class Running:
    """The ids of entries whose sticky, cooldown or match counts now."""

    sticky: frozenset[str] = frozenset()
    cooldown: frozenset[str] = frozenset()
    matched: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TimedEffects:
    """Effects by qualified entry id. `matched` holds entries that were active once, for V3's decorators."""

    sticky: Mapping[str, Effect] = field(default_factory=dict)
    cooldown: Mapping[str, Effect] = field(default_factory=dict)
    matched: Mapping[str, Effect] = field(default_factory=dict)

    def checked(self, count: int, lookup: Lookup) -> tuple[TimedEffects, Running]:
        """What is left of the effects when the branch has `count` messages, and what runs.

        An effect ends at its time, when the chat did not advance since it began (unless protected), or
        when its entry no longer has one. That of an entry that was edited or is not here is kept but does
        not run. A sticky that ends starts its entry's cooldown at once, protected.
        """
        cooldown = dict(self.cooldown)
        sticky: dict[str, Effect] = {}
        runs: set[str] = set()
        for key, effect in self.sticky.items():
            state = _state(effect, count, lookup(key), lambda entry: entry.sticky)
            if state is not None:
                sticky[key] = effect
                if state:
                    runs.add(key)
            elif (entry := _ended(effect, count, lookup(key), lambda entry: entry.sticky)) and entry.cooldown:
                cooldown[key] = Effect(effect.fingerprint, count, count + entry.cooldown, protected=True)
        rest: dict[str, Effect] = {}
        rests: set[str] = set()
        for key, effect in cooldown.items():
            state = _state(effect, count, lookup(key), lambda entry: entry.cooldown)
            if state is not None:
                rest[key] = effect
                if state:
                    rests.add(key)
        matched = {key: effect for key, effect in self.matched.items() if effect.start < count}
        known = frozenset(key for key, effect in matched.items() if _same(effect, lookup(key)))
        return TimedEffects(sticky, rest, matched), Running(frozenset(runs), frozenset(rests), known)

    def started(
        self, count: int, active: Iterable[tuple[str, Entry, str]], remembered: Iterable[tuple[str, str]]
    ) -> TimedEffects:
        """With the effects of newly active entries (id, entry, fingerprint). One that is there is not
        renewed. `remembered` are entries (id, fingerprint) whose match is to be known later."""
        sticky, cooldown, matched = dict(self.sticky), dict(self.cooldown), dict(self.matched)
        for key, entry, fingerprint in active:
            if entry.sticky:
                sticky.setdefault(key, Effect(fingerprint, count, count + entry.sticky))
            if entry.cooldown:
                cooldown.setdefault(key, Effect(fingerprint, count, count + entry.cooldown))
        for key, fingerprint in remembered:
            matched.setdefault(key, Effect(fingerprint, count, count))
        return TimedEffects(sticky, cooldown, matched)

    def record(self, after: TimedEffects) -> dict[str, Any] | None:
        """What leads from this state to `after`, as JSON; None when nothing changed."""
        data: dict[str, Any] = {}
        for kind in _KINDS:
            old, new = getattr(self, kind), getattr(after, kind)
            set_ = {key: _wire(effect) for key, effect in new.items() if old.get(key) != effect}
            gone = sorted(old.keys() - new.keys())
            if set_ or gone:
                data[kind] = {"set": set_, "gone": gone}
        return data or None

    @classmethod
    def fold(cls, records: Iterable[Mapping[str, Any]]) -> TimedEffects:
        """The state after the records of one branch, oldest first. What is no record changes nothing."""
        state: dict[str, dict[str, Effect]] = {kind: {} for kind in _KINDS}
        for record in records:
            for kind in _KINDS:
                change = record.get(kind)
                if not isinstance(change, Mapping):
                    continue
                for key in change.get("gone", ()):
                    state[kind].pop(key, None)
                for key, wire in change.get("set", {}).items():
                    state[kind][key] = _read(wire)
        return cls(**state)


def _same(effect: Effect, found: tuple[Entry, str] | None) -> bool:
    return found is not None and found[1] == effect.fingerprint


def _state(
    effect: Effect, count: int, found: tuple[Entry, str] | None, length: Callable[[Entry], int | None]
) -> bool | None:
    """True: it runs; False: it is kept and does not run; None: it is over."""
    if count <= effect.start and not effect.protected:
        return None
    if found is None or not _same(effect, found):
        return None if count >= effect.end else False
    if not length(found[0]) or count >= effect.end:
        return None
    return True


def _ended(
    effect: Effect, count: int, found: tuple[Entry, str] | None, length: Callable[[Entry], int | None]
) -> Entry | None:
    """The entry of an effect that ended because its time is over."""
    if found is None or not _same(effect, found) or not length(found[0]):
        return None
    if count <= effect.start and not effect.protected:
        return None
    return found[0] if count >= effect.end else None


def _wire(effect: Effect) -> list[Any]:
    return [effect.fingerprint, effect.start, effect.end, effect.protected]


def _read(wire: Any) -> Effect:
    fingerprint, start, end, protected = wire
    return Effect(str(fingerprint), int(start), int(end), bool(protected))
