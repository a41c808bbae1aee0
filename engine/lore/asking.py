"""The questions that one entry is asked in one pass, in SillyTavern's order.

Source: spec sillytavern 2.3.B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import PatternTimeout
from engine.lore.effects import Running, TimedEffects
from engine.lore.index import Compiled
from engine.lore.keys import Never, occurs, probe_of
from engine.lore.reasons import Hit, PassKind, Reason
from engine.lore.rules import LoreSettings, Quirk
from engine.lore.scan import HeldBook, Scan
from engine.lore.situation import Situation
from engine.patterns import Pattern
from engine.resources import Entry

__all__ = ["Answer", "Asking"]

Facts = Mapping[str, "str | int | float"]


@dataclass(frozen=True, slots=True)
class Answer:
    """`taken` with the reason, or refused with it. `final` refusals hold in every later pass too."""

    taken: bool
    reason: Reason
    facts: Facts | None = None
    hits: tuple[Hit, ...] = ()
    final: bool = False


class Asking:
    """Asks entries on behalf of one activation."""

    def __init__(self, situation: Situation, settings: LoreSettings, scan: Scan,
        effects: TimedEffects, running: Running,
    ) -> None:  # fmt: skip
        self.situation = situation
        self.settings = settings
        self.scan = scan
        self.effects = effects
        self.running = running

    def ask(self, held: HeldBook, item: Compiled, kind: PassKind, level: int) -> Answer:
        """Whether the entry is in, and why (not). `level` is the open delay level."""
        key = f"{held.book.id}:{item.entry.uid}"
        sticky = key in self.running.sticky
        return (
            self._standing(item, key, sticky)
            or self._recursion(held, item, kind, level, sticky)
            or self._without_keys(item, key, sticky)
            or self._keys(held, item, recursion=kind != "min-activations")
        )

    # -- what does not change from pass to pass --------------------------------------------------

    def _standing(self, item: Compiled, key: str, sticky: bool) -> Answer | None:
        entry, now = item.entry, self.situation
        if not entry.enabled:
            return _final(Reason.DISABLED)
        if entry.triggers and now.trigger not in entry.triggers:
            return _final(Reason.TRIGGER, trigger=now.trigger)
        if entry.character_filter:
            refused = self._filtered(entry.character_filter)
            if refused is not None:
                return _final(refused)
        if entry.delay and now.count < entry.delay:
            return _final(Reason.DELAY, until=entry.delay, count=now.count)
        if key in self.running.cooldown and not sticky:
            effect = self.effects.cooldown.get(key)
            return _final(Reason.COOLDOWN, until=effect.end if effect else "")
        return None

    def _filtered(self, given: Mapping[str, Any]) -> Reason | None:
        exclude = bool(given.get("isExclude"))
        names, tags = given.get("names"), given.get("tags")
        if isinstance(names, list) and names:
            included = any(name in names for name in self.situation.characters)
            if included is exclude:
                return Reason.CHARACTER
        if isinstance(tags, list) and tags and self.situation.tags is not None:
            included = any(tag in tags for tag in self.situation.tags)
            if included is exclude:
                return Reason.TAGS
        return None

    # -- what the pass decides -------------------------------------------------------------------

    def _recursion(
        self, held: HeldBook, item: Compiled, kind: PassKind, level: int, sticky: bool
    ) -> Answer | None:
        entry = item.entry
        if sticky:
            return None
        if entry.delay_until_recursion:
            if kind != "recursion":
                return Answer(False, Reason.NOT_YET_RECURSION)
            if entry.delay_until_recursion > level:
                return Answer(False, Reason.LEVEL, {"level": entry.delay_until_recursion})
        if kind == "recursion" and self.settings.recursive and self._apart(held, entry):
            return Answer(False, Reason.EXCLUDED)
        return None

    def _apart(self, held: HeldBook, entry: Entry) -> bool:
        return entry.exclude_recursion or (self.settings.book_settings and held.book.book.recursive is False)

    def _without_keys(self, item: Compiled, key: str, sticky: bool) -> Answer | None:
        entry, says = item.entry, item.decorators
        if says.activate:
            return Answer(True, Reason.DECORATED)
        if says.dont_activate:
            return _final(Reason.DONT_ACTIVATE)
        unmet = self._unmet(item, key)
        if unmet is not None:
            return _final(Reason.CONDITION, decorator=unmet)
        if key in self.situation.forced:
            return Answer(True, Reason.FORCED)
        if entry.constant:
            return Answer(True, Reason.CONSTANT)
        if sticky:
            effect = self.effects.sticky.get(key)
            return Answer(True, Reason.STICKY, {"end": effect.end if effect else ""})
        if says.keep_after_match and key in self.running.matched:
            return Answer(True, Reason.KEPT_ON)
        if not item.primary:
            return _final(Reason.VECTOR if entry.vectorized else Reason.NO_KEYS)
        return None

    def _unmet(self, item: Compiled, key: str) -> str | None:
        says, now = item.decorators, self.situation
        if says.only_after is not None and now.assistant_count < says.only_after:
            return "activate_only_after"
        if says.only_every is not None and now.assistant_count % says.only_every:
            return "activate_only_every"
        if says.greeting is not None and now.greeting != says.greeting:
            return "is_greeting"
        if says.not_after_match and key in self.running.matched:
            return "dont_activate_after_match"
        return None

    # -- keys ------------------------------------------------------------------------------------

    def _keys(self, held: HeldBook, item: Compiled, *, recursion: bool) -> Answer:
        scan, entry = self.scan, item.entry
        first: Hit | None = None
        for key, ref in zip(entry.keys, item.primary, strict=True):
            piece = scan.hit(held, item, ref, recursion=recursion)
            if piece is not None:
                first = scan.told(key, piece)
                break
        if first is None:
            return Answer(False, Reason.VECTOR if entry.vectorized else Reason.PRIMARY)
        hits = [first]
        if entry.selective and item.secondary:
            missed = self._secondary(held, item, hits, recursion)
            if missed is not None:
                return Answer(False, missed, None, tuple(hits))
        if any(scan.hit(held, item, ref, recursion=recursion) is not None for ref in item.exclude):
            return Answer(False, Reason.EXCLUDE_KEYS, None, tuple(hits))
        for refs in item.additional:
            if all(scan.hit(held, item, ref, recursion=recursion) is None for ref in refs):
                return Answer(False, Reason.ADDITIONAL_KEYS, None, tuple(hits))
        return Answer(True, Reason.KEY, {"key": first.key, "where": first.where}, tuple(hits))

    def _secondary(self, held: HeldBook, item: Compiled, hits: list[Hit], recursion: bool) -> Reason | None:
        """What the secondary keys object, by the entry's logic; the hits that were seen are added."""
        logic = item.entry.logic
        missing = False
        for key, ref in zip(item.entry.secondary_keys, item.secondary, strict=True):
            piece = self.scan.hit(held, item, ref, recursion=recursion)
            if piece is None:
                if logic == "not_all":
                    return None
                missing = True
                continue
            hits.append(self.scan.told(key, piece, secondary=True))
            if logic == "and_any":
                return None
            if logic == "not_any":
                return Reason.SECONDARY_NOT_ANY
        if logic == "and_any":
            return Reason.SECONDARY_ANY
        if logic == "not_all":
            return Reason.SECONDARY_NOT_ALL
        return Reason.SECONDARY_ALL if logic == "and_all" and missing else None

    # -- group scores ----------------------------------------------------------------------------

    def score(self, held: HeldBook, item: Compiled, kind: PassKind) -> int:
        """How many keys match, as groups with scoring count them."""
        if not item.primary:
            return 0
        primary = self._matching(held, item, item.entry.keys, item.primary, kind)
        if not item.secondary or not item.entry.logic_given:
            return primary
        if item.entry.logic not in ("and_any", "and_all"):
            return primary
        secondary = self._matching(held, item, item.entry.secondary_keys, item.secondary, kind)
        if item.entry.logic == "and_all" and secondary < len(item.secondary):
            return primary
        return primary + secondary

    def _matching(
        self, held: HeldBook, item: Compiled, keys: tuple[str, ...], refs: tuple[int, ...], kind: PassKind
    ) -> int:
        recursion = kind != "min-activations"
        if Quirk.SCORE_RAW_KEYS not in self.settings.quirks:
            return sum(self.scan.hit(held, item, ref, recursion=recursion) is not None for ref in refs)
        text = self.scan.joined(held, item.view, recursion=recursion)
        return sum(self._matches_raw(item.entry, key, text) for key in keys)

    def _matches_raw(self, entry: Entry, key: str, text: str) -> bool:
        settings = self.settings
        sensitive = settings.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        whole = settings.whole_words if entry.whole_words is None else entry.whole_words
        probe = probe_of(
            key, sensitive=sensitive, whole=whole, patterns=settings.regex_keys,
            max_pattern=settings.max_pattern,
        )  # fmt: skip
        if isinstance(probe, Pattern):
            try:
                return probe.matches(text)
            except PatternTimeout:
                return False
        if isinstance(probe, Never) and probe.code:
            return False
        wanted = key if sensitive else key.lower()
        words = whole and not any(sign.isspace() for sign in wanted)
        return occurs(text if sensitive else text.lower(), wanted, whole=words)


def _final(reason: Reason, **facts: str | int | float) -> Answer:
    return Answer(False, reason, facts, (), final=True)
