"""One compiled index per book revision, kept while it is used. Source: spec sillytavern 8.

All literal keys go into automata, patterns into sets; keys with macros wait in slots, as
what they say depends on who plays. An index knows nothing of a conversation, is never
changed, and may be shared between threads.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Final

from engine.codec import canonical
from engine.lore.decorators import Decorators, decorated
from engine.lore.keys import MARK, Literally, Never, Probe, is_broken, probe_of
from engine.lore.literals import Literals
from engine.lore.rules import DecoratorSet, LoreSettings, Quirk
from engine.patterns import Pattern, PatternSet
from engine.resources import Entry, WorldBook

__all__ = ["Book", "BookIndex", "Compiled", "Indexes", "KeyTable", "View", "group_names"]

SOURCES: Final = (
    "persona_description",
    "character_description",
    "character_personality",
    "character_depth_prompt",
    "scenario",
    "creator_notes",
)
"""The match sources, in the order in which SillyTavern appends them."""

_GROUPS: Final = 32  # of one entry; what entries have in common grows with their product

_MACRO_SIGNS: Final = ("{{", "<")  # a macro, or one of the old `<USER>` marks


@dataclass(frozen=True, slots=True)
class Book:
    """A world book under the id of its resource, or of the card it is embedded in.

    `revision` changes when the book does; without one, the book's identity counts. Entries of a lower
    `tier` are asked before all of a higher one; within a tier the insertion order counts.
    """

    id: str
    book: WorldBook
    revision: str = ""
    tier: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """What of the conversation an entry sees: its own scan depth (None: the setting's), and its sources."""

    depth: int | None
    sources: tuple[str, ...]


@dataclass(slots=True)
class Compiled:
    """An entry ready to be asked. Keys are references: a probe's number, or -1 - slot for one with macros."""

    index: int
    entry: Entry  # with its decorators applied
    decorators: Decorators
    view: View
    primary: tuple[int, ...]
    secondary: tuple[int, ...]
    additional: tuple[tuple[int, ...], ...]
    exclude: tuple[int, ...]
    groups: tuple[str, ...]
    source: Entry  # as it stands in the book
    _fingerprint: str = ""

    def fingerprint(self, book_id: str) -> str:
        """Changes when the entry or its book does: effects belong to an entry as it was."""
        if not self._fingerprint:
            body = canonical([book_id, _plain(asdict(self.source))])
            self._fingerprint = hashlib.sha256(body).hexdigest()[:16]
        return self._fingerprint


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def group_names(text: str) -> tuple[str, ...]:
    """The names in an entry's group field: split at commas, each once, at most 32."""
    parts = text.split(",")
    names = [parts[0], *(part.lstrip() for part in parts[1:])]
    return tuple(dict.fromkeys(name for name in names if name))[:_GROUPS]


class KeyTable:
    """Probes by number, with the automata and pattern sets that answer for many at once."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self.probes = tuple(probes)
        # Keys with macros may come to say the same: each of them is found.
        plain: dict[Literally, list[int]] = {}
        for number, probe in enumerate(self.probes):
            if isinstance(probe, Literally) and probe.text and MARK not in probe.text:
                plain.setdefault(probe, []).append(number)
        self._numbers = list(plain.values())
        self.literals = Literals(list(plain))
        self.patterns = frozenset(
            number for number, probe in enumerate(self.probes) if isinstance(probe, Pattern)
        )
        # A literal that spans pieces, or that is empty and matches all, is asked of the whole text.
        self.spanning = frozenset(
            number
            for number, probe in enumerate(self.probes)
            if isinstance(probe, Literally) and (not probe.text or MARK in probe.text)
        )
        self._sets: dict[frozenset[int], tuple[tuple[int, ...], PatternSet]] = {}

    def found(self, text: str, lower: str) -> list[int]:
        """The numbers of the plain literals in a piece of text."""
        return [number for place in self.literals.found(text, lower) for number in self._numbers[place]]

    def pattern_set(self, numbers: frozenset[int]) -> tuple[tuple[int, ...], PatternSet]:
        """The patterns of these numbers as one set, and their numbers in its order."""
        made = self._sets.get(numbers)
        if made is None:
            ordered = tuple(sorted(numbers))
            chosen = [probe for number in ordered if isinstance(probe := self.probes[number], Pattern)]
            made = self._sets[numbers] = (ordered, PatternSet(chosen))
        return made


class BookIndex:
    """A book's entries, compiled under the settings that decide how keys are read."""

    def __init__(self, book: WorldBook, settings: LoreSettings) -> None:
        self.book = book
        self._settings = settings
        self._made: dict[tuple[Probe, ...] | Probe, int] = {}
        self._probes: list[Probe] = []
        self.slots: list[tuple[str, bool, bool]] = []  # (key, sensitive, whole) of keys with macros
        self.waking: list[list[int]] = []  # entries that have a probe as primary key, by its number
        self.slot_waking: list[int] = []
        self.entries = tuple(self._compiled(index, entry) for index, entry in enumerate(book.entries))
        self.table = KeyTable(self._probes)
        self._overlays: OrderedDict[tuple[str, ...], KeyTable] = OrderedDict()
        self._lock = threading.Lock()
        self.keys = len(self._probes) + len(self.slots)

    @cached_property
    def always(self) -> tuple[int, ...]:
        """Entries that are asked without a key: constant ones and those that say @@activate."""
        return tuple(item.index for item in self.entries if item.entry.constant or item.decorators.activate)

    @cached_property
    def by_uid(self) -> dict[str, int]:
        """Index by uid, as it is written in a qualified id."""
        return {str(item.entry.uid): item.index for item in self.entries}

    @cached_property
    def unread(self) -> dict[str, list[int]]:
        """Uids of entries with a pattern key that is not run as one, by the code that says why."""
        found: dict[str, list[int]] = {}
        for item in self.entries:
            keys = (*item.entry.keys, *item.entry.secondary_keys)
            if any(key.lstrip()[:1] == "/" and is_broken(key) for key in keys):
                found.setdefault("WORLD_BOOK_INVALID_REGEX", []).append(item.entry.uid)
            for ref in (*item.primary, *item.secondary):
                probe = self._probes[ref] if ref >= 0 else None
                if isinstance(probe, Never) and probe.code:
                    found.setdefault(probe.code, []).append(item.entry.uid)
        return found

    @cached_property
    def levels(self) -> frozenset[int]:
        """The recursion levels that entries wait for."""
        return frozenset(
            item.entry.delay_until_recursion for item in self.entries if item.entry.delay_until_recursion
        )

    @cached_property
    def deepest(self) -> int:
        """The greatest scan depth that an entry asks for; 0 when none does."""
        return max((item.view.depth or 0 for item in self.entries), default=0)

    @cached_property
    def sources(self) -> frozenset[str]:
        """The match sources that any entry reads."""
        return frozenset(source for item in self.entries for source in item.view.sources)

    def views(self, table: KeyTable, overlay: bool) -> dict[View, tuple[frozenset[int], frozenset[int]]]:
        """(patterns, spanning literals) that must be asked of the whole text of each view."""
        found: dict[View, tuple[set[int], set[int]]] = {}
        whole = table.patterns | table.spanning
        if not whole:
            return {}
        for item in self.entries:
            refs = (*item.primary, *item.secondary, *item.exclude, *(k for ks in item.additional for k in ks))
            for ref in refs:
                number = -1 - ref if overlay else ref
                if number >= 0 and (ref < 0) is overlay and number in whole:
                    patterns, spanning = found.setdefault(item.view, (set(), set()))
                    (patterns if number in table.patterns else spanning).add(number)
        return {view: (frozenset(one), frozenset(two)) for view, (one, two) in found.items()}

    @cached_property
    def base_views(self) -> dict[View, tuple[frozenset[int], frozenset[int]]]:
        """`views` of the keys without macros."""
        return self.views(self.table, overlay=False)

    def overlay(self, expanded: tuple[str, ...]) -> KeyTable:
        """The table of the keys with macros, given what each says now."""
        with self._lock:
            made = self._overlays.get(expanded)
            if made is not None:
                self._overlays.move_to_end(expanded)
                return made
        table = KeyTable(
            [self._probe(key, slot[1], slot[2]) for key, slot in zip(expanded, self.slots, strict=True)]
        )
        with self._lock:
            self._overlays[expanded] = table
            if len(self._overlays) > _OVERLAYS:
                self._overlays.popitem(last=False)
        return table

    def _compiled(self, index: int, source: Entry) -> Compiled:
        settings = self._settings
        read = decorated(source, settings.decorators, settings.quirks)
        entry, decorators = read.entry, read.decorators
        depth = entry.scan_depth
        return Compiled(
            index=index,
            entry=entry,
            decorators=decorators,
            view=View(depth, tuple(name for name in SOURCES if name in entry.match_sources)),
            primary=self._refs(entry.keys, entry, index),
            secondary=self._refs(entry.secondary_keys, entry),
            additional=tuple(self._refs(keys, entry) for keys in decorators.additional_keys),
            exclude=self._refs(decorators.exclude_keys, entry),
            groups=group_names(entry.group),
            source=source,
        )

    def _refs(self, keys: Iterable[str], entry: Entry, waking: int | None = None) -> tuple[int, ...]:
        settings = self._settings
        sensitive = settings.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        whole = settings.whole_words if entry.whole_words is None else entry.whole_words
        refs: list[int] = []
        for key in keys:
            if any(sign in key for sign in _MACRO_SIGNS):
                self.slots.append((key, sensitive, whole))
                self.slot_waking.append(-1 if waking is None else waking)
                refs.append(-len(self.slots))
                continue
            probe = self._probe(key, sensitive, whole)
            number = self._made.get(probe)
            if number is None:
                number = self._made[probe] = len(self._probes)
                self._probes.append(probe)
                self.waking.append([])
            if waking is not None:
                self.waking[number].append(waking)
            refs.append(number)
        return tuple(refs)

    def _probe(self, key: str, sensitive: bool, whole: bool) -> Probe:
        return probe_of(
            key,
            sensitive=sensitive,
            whole=whole,
            patterns=self._settings.regex_keys,
            max_pattern=self._settings.max_pattern,
            blank_matches=Quirk.BLANK_KEY_MATCHES in self._settings.quirks,
        )


_OVERLAYS: Final = 8  # tables (player, character) that play with one book at a time
_KEPT: Final = 64  # books …
_KEPT_KEYS: Final = 400_000  # … and keys of all of them, about 100 MB

_Key = tuple[str, str, bool, bool, bool, int, DecoratorSet, frozenset[Quirk]]


class Indexes:
    """The indexes of the books in use; the longest unused go first. Safe for threads."""

    def __init__(self, books: int = _KEPT, keys: int = _KEPT_KEYS) -> None:
        self._books = books
        self._keys = keys
        self._held: OrderedDict[_Key, BookIndex] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, book: Book, settings: LoreSettings) -> BookIndex:
        """The index of a book, made if it is not there."""
        key: _Key = (
            book.id,
            book.revision,
            settings.case_sensitive,
            settings.whole_words,
            settings.regex_keys,
            settings.max_pattern,
            settings.decorators,
            settings.quirks,
        )
        with self._lock:
            held = self._held.get(key)
            if held is not None and (book.revision or held.book is book.book):
                self._held.move_to_end(key)
                return held
        made = BookIndex(book.book, settings)
        with self._lock:
            self._held[key] = made
            self._held.move_to_end(key)
            while len(self._held) > 1 and (len(self._held) > self._books or self._weight() > self._keys):
                self._held.popitem(last=False)
        return made

    def __len__(self) -> int:
        return len(self._held)

    def _weight(self) -> int:
        return sum(index.keys for index in self._held.values())
