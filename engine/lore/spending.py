"""The budget of one activation, counted in tokens. Source: spec sillytavern 2.7."""

from __future__ import annotations

import math
from collections.abc import Callable

from engine.lore.reasons import Reason
from engine.lore.rules import LoreSettings, Quirk
from engine.lore.scan import HeldBook

__all__ = ["Spending"]


class Spending:
    """What was spent, and whether something more fits. Costs are counted text by text and added up."""

    def __init__(
        self, window: int | None, settings: LoreSettings, count_tokens: Callable[[str], int]
    ) -> None:
        self.limit = _limit(window, settings)
        self.stops = Quirk.BUDGET_STOPS in settings.quirks
        self.overflowed = False
        self.accepted = 0  # the cost of all that is in
        self._forgets = Quirk.BUDGET_FORGETS_PREVENTED in settings.quirks
        self._count = count_tokens
        self._book_settings = settings.book_settings
        self._written = 0  # what earlier passes wrote for others to read
        self._running = 0  # this pass, with what was refused in it
        self._free = 0  # the part of `accepted` that ignored the budget
        self._by_book: dict[int, int] = {}

    def begin(self) -> None:
        """A pass begins."""
        self._running = 0

    def cost(self, text: str) -> int:
        """The tokens of a text."""
        return self._count(text)

    def wrote(self, text: str) -> None:
        """A pass ended and left this text for the next."""
        if self.limit is not None and self._forgets:
            self._written += self._count(text)

    def take(self, tokens: int, held: HeldBook, *, ignoring: bool) -> tuple[Reason, int] | None:
        """Spend, or say why not and what the limit is."""
        self._running += tokens
        refused = None if ignoring else self._refusal(tokens, held)
        if refused is not None:
            return refused
        self.accepted += tokens
        if ignoring:
            self._free += tokens
        else:
            self._by_book[held.number] = self._by_book.get(held.number, 0) + tokens
        return None

    def _refusal(self, tokens: int, held: HeldBook) -> tuple[Reason, int] | None:
        own = held.book.book.token_budget if self._book_settings else None
        if own and self._by_book.get(held.number, 0) + tokens > own:
            return Reason.BOOK_BUDGET, own
        if self.limit is None:
            return None
        if self.stops:
            before = self._written if self._forgets else self.accepted
            total = before + (self._running if self._forgets else tokens)
            if total >= self.limit:
                self.overflowed = True
                return Reason.BUDGET, self.limit
        elif self.accepted - self._free + tokens > self.limit:
            return Reason.BUDGET, self.limit
        return None


def _limit(window: int | None, settings: LoreSettings) -> int | None:
    if window is None:
        return None
    limit = math.floor(settings.budget_percent * window / 100 + 0.5) or 1  # JavaScript rounds halves up
    return min(limit, settings.budget_cap) if settings.budget_cap > 0 else limit
