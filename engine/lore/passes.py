"""The passes of one activation: who is new, whom its group keeps, who is lucky, what fits, what comes next.

Source: spec sillytavern 2.3 C to F, 2.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from engine.lore.asking import Answer, Asking
from engine.lore.effects import Running, TimedEffects
from engine.lore.groups import Contender, GroupRules, winners
from engine.lore.index import Compiled, group_names
from engine.lore.outcome import Activation, ActiveEntry, Budget
from engine.lore.reasons import PassKind, Reason, Verdict
from engine.lore.rules import LoreSettings, Quirk
from engine.lore.scan import HeldBook, Scan
from engine.lore.situation import Rolls, Situation
from engine.lore.spending import Spending
from engine.resources import Diagnostics, Entry

__all__ = ["Passes"]

_MAX_PASSES: Final = 100
"""Chains in real books are a few entries long; a hostile one must end while somebody still waits."""
_MAX_ASKED: Final = 100_000
"""Entries asked in all passes, and rivals compared: about a second; a count ends alike anywhere."""


@dataclass(slots=True, eq=False)
class New:
    """An entry that its keys let in, on its way through groups, chance and budget."""

    id: str
    held: HeldBook
    item: Compiled
    entry: Entry  # the entry, or the copy that was asked for
    answer: Answer
    sticky: bool
    copy: bool
    rank: tuple[int, int, int, int]
    number: int = 0  # the pass
    text: str | None = None  # the content, once its macros are expanded
    tokens: int = 0
    unlucky: bool = False


class Passes:
    """One activation. `run` may be called once."""

    def __init__(
        self,
        scan: Scan,
        situation: Situation,
        settings: LoreSettings,
        roll: Rolls,
        expand: Callable[[str], str],
        count_tokens: Callable[[str], int],
        notes: Diagnostics,
        *,
        explain: bool,
    ) -> None:
        self._scan = scan
        self._now = situation
        self._settings = settings
        self._roll = roll
        self._expand = expand
        self._notes = notes
        self._explain = explain
        self._kind: PassKind = "initial"
        self._number = 0
        self._work = 0
        self._active: dict[str, New] = {}
        self._closed: set[str] = set()  # refused for good: by a rule that does not change, or by chance
        self._verdicts: dict[str, Verdict] = {}
        self._spending = Spending(situation.window, settings, count_tokens)
        self._effects, running = self._checked()
        self._asking = Asking(situation, settings, scan, self._effects, running)
        self._levels = sorted({level for held in scan.books for level in held.index.levels})
        self._level = self._levels.pop(0) if self._levels else 0
        self._wake(running)

    def run(self) -> Activation:
        """All passes."""
        steps = self._settings.max_steps
        going = True
        while going and not (steps and steps <= self._number):
            if self._number == _MAX_PASSES or self._work > _MAX_ASKED:
                self._notes.warn(
                    "WORLD_BOOK_RECURSION_LIMIT",
                    "Entries went on waking others; that was ended after {passes} passes.",
                    passes=self._number,
                )
                break
            self._number += 1
            new = self._kept_by_groups(self._asked())
            self._admit(new)
            going = self._next(new)
        self._remark()
        after = self._started()
        return Activation(
            entries=self._entries(),
            diagnostics=self._notes.all(),
            verdicts=tuple(self._verdicts.values()),
            effects=after,
            record=self._now.effects.record(after),
            budget=Budget(self._spending.limit, self._spending.accepted, self._spending.overflowed),
            disables=frozenset(
                name for new in self._active.values() for name in new.item.decorators.disables
            ),
            passes=self._number,
        )

    # -- effects ---------------------------------------------------------------------------------

    def _checked(self) -> tuple[TimedEffects, Running]:
        if self._now.dry_run:
            return self._now.effects, Running()
        return self._now.effects.checked(self._now.count, self._lookup)

    def _lookup(self, key: str) -> tuple[Entry, str] | None:
        found = self._find(key)
        if found is None:
            return None
        held, item = found
        return item.entry, item.fingerprint(held.book.id)

    def _find(self, key: str) -> tuple[HeldBook, Compiled] | None:
        book_id, _, uid = key.rpartition(":")
        for held in self._scan.books:
            if held.book.id == book_id:
                index = held.index.by_uid.get(uid)
                return None if index is None else (held, held.index.entries[index])
        return None

    def _started(self) -> TimedEffects:
        if self._now.dry_run:
            return self._now.effects
        timed, remembered = [], []
        for new in self._active.values():
            print_ = new.item.fingerprint(new.held.book.id) if _is_timed(new) else ""
            if new.entry.sticky or new.entry.cooldown:
                timed.append((new.id, new.entry, print_))
            if new.item.decorators.keep_after_match or new.item.decorators.not_after_match:
                remembered.append((new.id, print_))
        return self._effects.started(self._now.count, timed, remembered)

    # -- who is asked ----------------------------------------------------------------------------

    def _wake(self, running: Running) -> None:
        """Those that are asked whatever the text says."""
        for held in self._scan.books:
            held.woken.update(range(len(held.index.entries)) if self._explain else held.index.always)
        for key in (*running.sticky, *running.matched, *self._now.forced):
            found = self._find(key)
            if found is not None:
                found[0].woken.add(found[1].index)

    def _candidates(self) -> Iterator[tuple[HeldBook, Compiled, tuple[int, int, int, int]]]:
        """Those that something woke, in list order: by tier, then by insertion order from the highest."""
        found = []
        for held in self._scan.books:
            self._scan.wake_by_patterns(held, recursion=self._kind != "min-activations")
            tier, number, entries = held.book.tier, held.number, held.index.entries
            for index in held.woken:
                item = entries[index]
                found.append(((tier, -item.entry.order, number, index), held, item))
        found.sort(key=lambda one: one[0])
        for rank, held, item in found:
            yield held, item, rank

    def _asked(self) -> list[New]:
        """Who is new in this pass: sticky ones first, then copies that were asked for, then in list order."""
        new: list[New] = []
        for held, item, rank in self._candidates():
            key = f"{held.book.id}:{item.entry.uid}"
            if key in self._active or key in self._closed:
                held.woken.discard(item.index)
                continue
            self._work += 1
            answer = self._asking.ask(held, item, self._kind, self._level)
            if not answer.taken:
                self._refuse(key, item.entry, answer)
                continue
            copy = self._now.forced.get(key) if answer.reason is Reason.FORCED else None
            sticky = answer.reason is not Reason.FORCED and key in self._asking.running.sticky
            entry = item.entry if copy is None else copy
            new.append(New(key, held, item, entry, answer, sticky, answer.reason is Reason.FORCED, rank))
        new.sort(key=lambda one: (not one.sticky, not one.copy, one.rank))
        return new

    def _refuse(self, key: str, entry: Entry, answer: Answer) -> None:
        if answer.final:
            self._closed.add(key)
        before = self._verdicts.get(key)
        # A later pass may object earlier in the row of rules; the answer that came furthest tells most.
        if before is None or _ROW[answer.reason] >= _ROW[before.reason]:
            self._verdicts[key] = Verdict(
                key, entry, False, answer.reason, self._number, self._kind, answer.hits, 0, answer.facts or {}
            )

    # -- groups ----------------------------------------------------------------------------------

    def _kept_by_groups(self, new: list[New]) -> list[New]:
        if not any(one.entry.group for one in new):
            return new
        fields = [one.entry.group for one in self._active.values() if one.entry.group]
        rules = GroupRules(
            scoring=self._settings.group_scoring,
            quirks=self._settings.quirks,
            taken_whole=frozenset(fields),
            taken=frozenset(name for field in fields for name in group_names(field)),
            roll=self._rolled,
            lost=self._lost,
        )
        rivals = [self._contender(one) for one in new]
        self._work += sum(len(rival.groups) for rival in rivals)
        left = winners(rivals, rules)
        return [one.item for one in left]

    def _contender(self, new: New) -> Contender:
        entry = new.entry
        return Contender(
            label=entry.label,
            order=entry.order,
            groups=group_names(entry.group),
            override=entry.group_override,
            weight=entry.group_weight,
            sticky=new.sticky,
            cooldown=not new.copy and new.id in self._asking.running.cooldown,
            scored=entry.group_scoring,
            score=lambda: self._asking.score(new.held, new.item, self._kind),
            item=new,
        )

    def _lost(self, contender: Contender, reason: Reason, facts: dict[str, str]) -> None:
        new: New = contender.item
        self._refuse(new.id, new.entry, Answer(False, reason, facts, new.answer.hits))

    def _rolled(self, what: str) -> float:
        return self._roll(what if self._number == 1 else f"{what}#{self._number}")

    # -- chance and budget -----------------------------------------------------------------------

    def _admit(self, new: list[New]) -> None:
        self._spending.begin()
        for one in new:
            ignoring = one.entry.ignore_budget
            if self._spending.overflowed and self._spending.stops and not ignoring:
                self._over_budget(one, Reason.BUDGET, self._spending.limit)
                continue
            if not self._lucky(one):
                one.unlucky = True
                if not one.copy:  # a copy that was asked for is rolled for again
                    self._closed.add(one.id)
                facts = {"probability": one.entry.probability}
                self._refuse(one.id, one.entry, Answer(False, Reason.PROBABILITY, facts, one.answer.hits))
                continue
            one.text = self._expand(one.entry.content)
            one.tokens = self._spending.cost(one.text)
            refused = self._spending.take(one.tokens, one.held, ignoring=ignoring)
            if refused is not None:
                self._over_budget(one, *refused)
                continue
            one.number = self._number
            self._active[one.id] = one
            self._verdicts[one.id] = Verdict(
                one.id, one.entry, True, one.answer.reason, self._number, self._kind, one.answer.hits,
                one.tokens, one.answer.facts or {},
            )  # fmt: skip

    def _over_budget(self, one: New, reason: Reason, limit: int | None) -> None:
        self._refuse(one.id, one.entry, Answer(False, reason, {"budget": limit or 0}, one.answer.hits))

    def _lucky(self, one: New) -> bool:
        entry = one.entry
        if not entry.use_probability or entry.probability == 100 or one.sticky:
            return True
        if Quirk.CHANCE_INCLUSIVE in self._settings.quirks:
            return self._rolled(one.id) * 100 <= entry.probability
        return entry.probability > 0 and self._rolled(one.id) * 100 < entry.probability

    # -- what comes next -------------------------------------------------------------------------

    def _next(self, new: list[New]) -> bool:
        """Choose the next pass, and give it what this one wrote. False when there is none."""
        writing = [one for one in new if not one.unlucky and not self._keeps_quiet(one)]
        kind = self._next_kind(writing)
        if kind is None:
            return False
        self._kind = kind
        # As in SillyTavern, what only the budget refused is read too.
        texts = [one.entry.content if one.text is None else one.text for one in writing]
        text = "\n".join(texts)
        self._scan.write(self._number, text)
        self._spending.wrote(text)
        return True

    def _keeps_quiet(self, one: New) -> bool:
        quiet_book = self._settings.book_settings and one.held.book.book.recursive is False
        return one.entry.prevent_recursion or quiet_book

    def _next_kind(self, writing: list[New]) -> PassKind | None:
        settings, scan = self._settings, self._scan
        going = not self._spending.overflowed
        awaited = self._kind == "min-activations" and bool(scan.recursion)
        if settings.recursive and going and (writing or awaited):
            return "recursion"
        if going and len(self._active) < settings.min_activations and not self._widest():
            scan.widen()
            return "min-activations"
        if self._levels:
            self._level = self._levels.pop(0)
            return "recursion"
        return None

    def _widest(self) -> bool:
        most = self._settings.min_activations_depth
        return (most > 0 and self._scan.depth > most) or self._scan.depth > self._scan.total

    # -- what is told ----------------------------------------------------------------------------

    def _entries(self) -> tuple[ActiveEntry, ...]:
        entries = [
            ActiveEntry(
                new.id,
                self._placed(new),
                new.answer.reason.slug,
                new.text or "",
                rank,
                new.tokens,
                new.number,
                new.answer.hits,
                new.item.decorators.dropped_first,
            )
            for rank, new in enumerate(self._active.values())
        ]
        # SillyTavern sorts descending and prepends: ascending, equal orders in reverse.
        entries.reverse()
        entries.sort(key=lambda item: item.entry.order)
        return tuple(entries)

    def _placed(self, new: New) -> Entry:
        top = new.item.decorators.from_top
        if top is None:
            return new.entry
        return replace(new.entry, depth=max(0, self._now.count - top))

    def _remark(self) -> None:
        """Keys that were not run, and decorators that nobody knows."""
        for held in self._scan.books:
            for code, uids in held.index.unread.items():
                for uid in uids:
                    self._notes.info(code, _UNREAD[code], f"{held.book.id}:{uid}")
        for new in self._active.values():
            if new.item.decorators.unknown:
                names = ", ".join(f"@@{name}" for name in new.item.decorators.unknown)
                self._notes.info(
                    "WORLD_BOOK_DECORATOR_IGNORED", f"Not known here, and ignored: {names}.", new.id
                )


def _is_timed(new: New) -> bool:
    says = new.item.decorators
    return bool(new.entry.sticky or new.entry.cooldown or says.keep_after_match or says.not_after_match)


_ROW: Final = {reason: place for place, reason in enumerate(Reason)}
_UNREAD: Final = {
    "WORLD_BOOK_REGEX_DISABLED": "Pattern keys are switched off here, so this key is not matched.",
    "WORLD_BOOK_INVALID_REGEX": "A key looks like a pattern and is none, so it is matched as it is written.",
    "WORLD_BOOK_REGEX_TOO_LONG": "A pattern key is longer than patterns may be, so it is not matched.",
}
