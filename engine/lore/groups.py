"""Inclusion groups: of the entries of a group at most one new one stays. Source: spec sillytavern 2.6, 12.

Groups are asked in the order in which a JavaScript object would hand them out: names that
are whole numbers first, ascending, then the others as they first appear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.lore.reasons import Reason
from engine.lore.rules import Quirk

__all__ = ["Contender", "GroupRules", "winners"]

_INTEGER: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_LARGEST: Final = 2**32 - 2  # the greatest key that JavaScript orders as a number


@dataclass(slots=True, eq=False)
class Contender:
    """A newly matched entry, as groups see it. `score` and `scored` are asked only where scores count."""

    label: str
    order: int
    groups: tuple[str, ...]
    override: bool
    weight: int
    sticky: bool
    cooldown: bool
    scored: bool | None
    score: Callable[[], int]
    item: Any  # the caller's own


@dataclass(frozen=True, slots=True)
class GroupRules:
    """`taken_whole` are the group fields of active entries as written, `taken` the single names in them.
    `lost` is told each entry that goes, once, and why."""

    scoring: bool
    quirks: frozenset[Quirk]
    taken_whole: frozenset[str]
    taken: frozenset[str]
    roll: Callable[[str], float]
    lost: Callable[[Contender, Reason, dict[str, str]], None]


def winners(new: Sequence[Contender], rules: GroupRules) -> list[Contender]:
    """The entries that their groups leave, in their order. Entries without a group stay."""
    contest = _Contest(new, rules)
    return contest.run() if contest.groups else list(new)


class _Contest:
    def __init__(self, new: Sequence[Contender], rules: GroupRules) -> None:
        self.rules = rules
        self.left = {id(item): item for item in new}
        self.groups = _grouped(new)
        self.twice = Quirk.GROUP_DOUBLE_REMOVAL in rules.quirks
        self.removed_wins = Quirk.GROUP_REMOVED_STILL_WINS in rules.quirks

    def run(self) -> list[Contender]:
        held = {name for name, members in self.groups.items() if self._timed(name, members)}
        for name, members in self.groups.items():
            if name not in held:
                self._scores(name, members)
        for name, members in self.groups.items():
            if name not in held:
                self._one(name, self._present(members))
        return list(self.left.values())

    def _present(self, members: list[Contender]) -> list[Contender]:
        return members if self.removed_wins else [item for item in members if id(item) in self.left]

    def _remove(self, item: Contender, reason: Reason, **facts: str) -> None:
        if id(item) in self.left:
            del self.left[id(item)]
            self.rules.lost(item, reason, facts)
        elif self.twice and self.left:
            _, unrelated = self.left.popitem()
            self.rules.lost(unrelated, reason, facts)

    def _timed(self, name: str, members: list[Contender]) -> bool:
        """Sticky members keep the others out; those on cooldown go. True when the group is held."""
        present = self._present(members)
        sticky = [item for item in present if item.sticky]
        if sticky:
            for item in present:
                if not item.sticky:
                    self._remove(item, Reason.GROUP_STICKY, group=name, winner=sticky[0].label)
        for item in present:
            if item.cooldown:
                self._remove(item, Reason.GROUP_COOLDOWN, group=name)
        return bool(sticky)

    def _scores(self, name: str, members: list[Contender]) -> None:
        present = self._present(members)
        if not (self.rules.scoring or any(item.scored for item in present)) or not present:
            return
        scores = [item.score() for item in present]
        most = max(scores)
        low = [
            item
            for item, score in zip(present, scores, strict=True)
            if score < most and (self.rules.scoring if item.scored is None else item.scored)
        ]
        for item in low:
            self._remove(item, Reason.GROUP_SCORE, group=name)
        gone = set(map(id, low))
        members[:] = [item for item in members if id(item) not in gone]

    def _one(self, name: str, members: list[Contender]) -> None:
        whole = Quirk.ACTIVE_GROUP_BY_WHOLE_TEXT in self.rules.quirks
        if name in (self.rules.taken_whole if whole else self.rules.taken):
            for item in list(members):
                self._remove(item, Reason.GROUP_TAKEN, group=name)
            return
        if len(members) <= 1:
            return
        winner = self._winner(name, members)
        for item in list(members):
            if winner is not None and item is not winner:
                self._remove(item, Reason.GROUP_LOSER, group=name, winner=winner.label)

    def _winner(self, name: str, members: list[Contender]) -> Contender | None:
        preferred = [item for item in members if item.override]
        if preferred:
            return max(preferred, key=lambda item: item.order)  # the first of the highest
        aim = self.rules.roll(f"group:{name}") * sum(item.weight for item in members)
        reached = 0
        for item in members:
            reached += item.weight
            if aim <= reached:
                return item
        return None


def _grouped(new: Iterable[Contender]) -> dict[str, list[Contender]]:
    groups: dict[str, list[Contender]] = {}
    for item in new:
        for name in item.groups:
            groups.setdefault(name, []).append(item)
    numeric = [name for name in groups if _INTEGER.fullmatch(name) and int(name) <= _LARGEST]
    order = sorted(numeric, key=int) + [name for name in groups if name not in set(numeric)]
    return {name: groups[name] for name in order}
