"""What is searched: the pieces of a conversation, each looked through once for all keys of a book.

An entry sees some of the pieces: messages up to its depth, the match sources it names,
injections, and what other entries wrote in earlier passes. A plain key cannot span two
pieces, so whether an entry sees it is whether it sees the piece that has it. Patterns are
asked of the joined text, as SillyTavern does. Source: spec sillytavern 2.3, 8.
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from engine.lore.index import SOURCES, Book, BookIndex, Compiled, KeyTable, View
from engine.lore.keys import MARK, SEPARATOR, Literally, occurs, trimmed
from engine.lore.reasons import Hit
from engine.lore.rules import LoreSettings
from engine.lore.situation import Situation
from engine.patterns import Pattern, Watch
from engine.resources import Diagnostics

__all__ = ["HeldBook", "Scan"]

MAX_DEPTH: Final = 1000  # messages; SillyTavern's cap
_SOURCE, _INJECTION, _RECURSION = 10_000, 20_000, 1_000_000  # where the numbers of such pieces begin
_TEXT: Final = -1  # the "piece" of a pattern: all that the entry sees
_SET_SECONDS: Final = 0.05  # for one set of patterns on one text …
_ALL_SECONDS: Final = 0.25  # … and for all patterns of one activation


@dataclass(slots=True)
class HeldBook:
    """A book in one activation. `found` and `overlaid` say in which pieces a probe's literal stands."""

    number: int
    book: Book
    index: BookIndex
    overlay: KeyTable | None
    overlay_views: dict[View, tuple[frozenset[int], frozenset[int]]]
    depth: int  # of entries that name none, before widening
    found: dict[int, list[int]] = field(default_factory=dict)
    overlaid: dict[int, list[int]] = field(default_factory=dict)
    woken: set[int] = field(default_factory=set)
    read: int = 0  # messages that were searched so far


class Scan:
    """The searched text of one activation. It grows: by widening, and by what entries write."""

    def __init__(
        self,
        situation: Situation,
        settings: LoreSettings,
        books: Iterable[tuple[int, Book, BookIndex]],
        expand: Callable[[str], str],
        watch: Watch | None,
        notes: Diagnostics,
    ) -> None:
        self.messages = [trimmed(message) for message in reversed(situation.messages[-MAX_DEPTH:])]
        self.total = len(situation.messages)
        self.widening = 0
        self._lower: dict[int, str] = {}
        self._settings = settings
        self._sources = situation.sources
        self._injections = tuple(situation.injections)
        self.recursion: list[tuple[int, str]] = []  # (pass, text)
        self._joined: dict[tuple[int, tuple[str, ...], int], str] = {}
        self._whole: dict[tuple[int, bool, View, int, int], frozenset[int]] = {}
        self._watch = watch
        self._notes = notes
        self._seconds = _ALL_SECONDS
        self.books = [self._held(number, book, index, expand) for number, book, index in books]
        for held in self.books:
            self._begin(held)

    def _held(self, number: int, book: Book, index: BookIndex, expand: Callable[[str], str]) -> HeldBook:
        settings = self._settings
        depth = book.book.scan_depth if settings.book_settings else None
        overlay = index.overlay(tuple(expand(key) for key, _, _ in index.slots)) if index.slots else None
        views = index.views(overlay, overlay=True) if overlay is not None else {}
        base = settings.scan_depth if depth is None else depth
        return HeldBook(number, book, index, overlay, views, base)

    # -- growing ---------------------------------------------------------------------------------

    def _begin(self, held: HeldBook) -> None:
        self._read_messages(held)
        for place, name in enumerate(SOURCES):
            text = self._sources.get(name, "")
            if text and name in held.index.sources:
                self._search(held, _SOURCE + place, text)
        for place, text in enumerate(self._injections):
            self._search(held, _INJECTION + place, text)

    def _read_messages(self, held: HeldBook) -> None:
        depth = min(max(held.index.deepest, held.depth + self.widening), len(self.messages))
        for place in range(held.read, depth):
            self._search(held, place, self.messages[place])
        held.read = max(held.read, depth)

    def widen(self) -> None:
        """One message more for all entries that name no depth of their own."""
        self.widening += 1
        for held in self.books:
            self._read_messages(held)

    @property
    def depth(self) -> int:
        """The setting's depth as widened so far."""
        return self._settings.scan_depth + self.widening

    def write(self, number: int, text: str) -> None:
        """What the entries of a pass wrote is read by the passes after it."""
        place = _RECURSION + len(self.recursion)
        self.recursion.append((number, text))
        for held in self.books:
            self._search(held, place, text)

    def _search(self, held: HeldBook, piece: int, text: str) -> None:
        lower = self._lower.get(piece)
        if lower is None:
            lower = self._lower[piece] = text.lower()
        waking = held.index.waking
        for number in held.index.table.found(text, lower):
            insort(held.found.setdefault(number, []), piece)
            held.woken.update(waking[number])
        if held.overlay is not None:
            for number in held.overlay.found(text, lower):
                insort(held.overlaid.setdefault(number, []), piece)
                self._wake_slot(held, number)

    @staticmethod
    def _wake_slot(held: HeldBook, number: int) -> None:
        waking = held.index.slot_waking[number]
        if waking >= 0:
            held.woken.add(waking)

    def wake_by_patterns(self, held: HeldBook, *, recursion: bool) -> None:
        """Ask the patterns of a book of the text as it is now."""
        waking = held.index.waking
        for view in held.index.base_views:
            for number in self._in_whole(held, view, False, recursion):
                held.woken.update(waking[number])
        for view in held.overlay_views:
            for number in self._in_whole(held, view, True, recursion):
                self._wake_slot(held, number)

    # -- asking ----------------------------------------------------------------------------------

    def depth_of(self, held: HeldBook, view: View) -> int:
        """How many messages a view reaches; nothing at all is seen at 0 or less."""
        depth = held.depth + self.widening if view.depth is None else view.depth
        return min(depth, MAX_DEPTH)

    def hit(self, held: HeldBook, item: Compiled, ref: int, *, recursion: bool) -> int | None:
        """The piece in which an entry sees a key, or None. `recursion` is whether it may see what entries
        wrote."""
        overlay = ref < 0
        table = held.overlay if overlay else held.index.table
        number = -1 - ref if overlay else ref
        if table is None:
            return None
        if number in table.patterns or number in table.spanning:
            return _TEXT if number in self._in_whole(held, item.view, overlay, recursion) else None
        pieces = (held.overlaid if overlay else held.found).get(number)
        if not pieces:
            return None
        depth = self.depth_of(held, item.view)
        if depth <= 0:
            return None
        for piece in pieces:
            if piece < _SOURCE:
                if piece < depth:
                    return piece
            elif piece < _INJECTION:
                if SOURCES[piece - _SOURCE] in item.view.sources:
                    return piece
            elif piece < _RECURSION or recursion:
                return piece
        return None

    def told(self, key: str, piece: int, *, secondary: bool = False) -> Hit:
        """A hit as people read it."""
        if piece == _TEXT:
            return Hit(key, "text", 0, secondary)
        if piece < _SOURCE:
            return Hit(key, "message", piece, secondary)
        if piece < _INJECTION:
            return Hit(key, SOURCES[piece - _SOURCE], 0, secondary)
        if piece < _RECURSION:
            return Hit(key, "injection", piece - _INJECTION, secondary)
        return Hit(key, "recursion", self.recursion[piece - _RECURSION][0], secondary)

    def joined(self, held: HeldBook, view: View, *, recursion: bool) -> str:
        """All that a view sees as one text, newest message first; empty at depth 0."""
        depth = self.depth_of(held, view)
        if depth <= 0:
            return ""
        written = len(self.recursion) if recursion else 0
        key = (depth, view.sources, written)
        text = self._joined.get(key)
        if text is None:
            pieces = [SEPARATOR.join(self.messages[:depth])]
            pieces += [found for name in view.sources if (found := self._sources.get(name))]
            pieces += self._injections
            pieces += [text for _, text in self.recursion[:written]]
            text = self._joined[key] = MARK + SEPARATOR.join(pieces)
        return text

    def _in_whole(self, held: HeldBook, view: View, overlay: bool, recursion: bool) -> frozenset[int]:
        """The numbers of the patterns and spanning literals that the view's text has."""
        views = held.overlay_views if overlay else held.index.base_views
        table = held.overlay if overlay else held.index.table
        if view not in views or table is None:
            return frozenset()
        written = len(self.recursion) if recursion else 0
        key = (held.number, overlay, view, self.depth_of(held, view), written)
        known = self._whole.get(key)
        if known is None:
            patterns, spanning = views[view]
            text = self.joined(held, view, recursion=recursion)
            found = self._matching(held, table, patterns, text) if text else set()
            found.update(number for number in spanning if self._spans(table, number, text))
            known = self._whole[key] = frozenset(found)
        return known

    @staticmethod
    def _spans(table: KeyTable, number: int, text: str) -> bool:
        probe = table.probes[number]
        if not isinstance(probe, Literally):
            return False
        return occurs(text if probe.sensitive else text.lower(), probe.text, whole=probe.whole)

    def _matching(self, held: HeldBook, table: KeyTable, numbers: frozenset[int], text: str) -> set[int]:
        watch = self._watch
        if watch is not None:
            numbers = frozenset(
                number
                for number in numbers
                if isinstance(probe := table.probes[number], Pattern) and watch.allows(probe)
            )
        if not numbers:
            return set()
        ordered, together = table.pattern_set(numbers)
        if self._seconds <= 0:
            self._late(held, table, ordered, strike=False)
            return set()
        begin = time.perf_counter()
        result = together.scan(text, budget_s=min(_SET_SECONDS, self._seconds))
        self._seconds -= time.perf_counter() - begin
        self._late(held, table, [ordered[index] for index in result.late], strike=True)
        self._late(held, table, [ordered[index] for index in result.skipped], strike=False)
        return {ordered[index] for index in result.matched}

    def _late(self, held: HeldBook, table: KeyTable, numbers: Iterable[int], *, strike: bool) -> None:
        """Tell of patterns whose answer is not known. One that used its time up itself gets a strike."""
        for number in numbers:
            probe = table.probes[number]
            if not isinstance(probe, Pattern):
                continue
            where = f"{held.book.id}:/{probe.source[:60]}/{probe.flags}"
            self._notes.warn(
                "WORLD_BOOK_REGEX_TIMEOUT",
                "There was no time for a pattern key, so it was left out this time.",
                where,
            )
            if strike and self._watch is not None and self._watch.late(probe):
                self._notes.warn(
                    "WORLD_BOOK_REGEX_STOPPED",
                    "A pattern key took too long three times and is not run any more.",
                    where,
                )
