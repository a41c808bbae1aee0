"""Which entries of the books are active for a conversation, and in which order they read.

The smallest true version: constant entries and plain keys over the last messages, with
secondary keys, triggers and probability. Patterns, recursion, groups, budget and timed
effects are reported as not done, never silently taken. Source: spec sillytavern 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.lore.matcher import ScanText, is_regex_key, matches
from engine.resources import Diagnostic, Diagnostics, Entry, WorldBook

__all__ = ["Activation", "ActiveEntry", "Book", "LoreSettings", "activate"]

MAX_TOTAL_ENTRIES = 10_000  # the seeds' cap for one request, all books together
MAX_SCANNED_MESSAGES = 128
MAX_SCANNED_CHARACTERS = 64 * 1024
_MARK = "\x01"  # begins each message in the scanned text, so that no key spans two messages


@dataclass(frozen=True, slots=True)
class LoreSettings:
    """As SillyTavern's settings file for new installs has them (decision 16)."""

    scan_depth: int = 2
    whole_words: bool = True


@dataclass(frozen=True, slots=True)
class Book:
    """A world book under the id of its resource, or of the card it is embedded in."""

    id: str
    book: WorldBook


@dataclass(frozen=True, slots=True)
class ActiveEntry:
    """An entry that is in. `id` is qualified by its book; `why` is `constant` or `key`."""

    id: str
    entry: Entry
    why: str


@dataclass(frozen=True, slots=True)
class Activation:
    """Active entries in reading order (ascending insertion order), and what was noticed."""

    entries: tuple[ActiveEntry, ...]
    diagnostics: tuple[Diagnostic, ...]


def activate(
    books: Sequence[Book],
    messages: Sequence[str],
    *,
    roll: Callable[[], float],
    settings: LoreSettings | None = None,
    trigger: str = "normal",
) -> Activation:
    """Scan `messages` (oldest first, each `Name: text`) for the keys of all books.

    `roll` gives numbers in [0, 1) for entries with a probability: the caller decides about chance.
    """
    settings = settings or LoreSettings()
    notes = Diagnostics()
    scans = _Scans(messages)
    active: list[ActiveEntry] = []
    room = MAX_TOTAL_ENTRIES
    for held in books:
        if len(held.book.entries) > room:
            notes.warn(
                "WORLD_BOOK_RUNTIME_TOTAL_LIMIT",
                f"The world book “{held.book.name}” was skipped: all books together may have "
                f"{MAX_TOTAL_ENTRIES:,} entries.",
                held.id,
            )
            continue
        room -= len(held.book.entries)
        for entry in held.book.entries:
            why = _why(entry, held, scans, settings, trigger, notes)
            if why is not None and _lucky(entry, roll):
                active.append(ActiveEntry(f"{held.id}:{entry.uid}", entry, why))
    # SillyTavern sorts descending and prepends: ascending, equal orders in reverse.
    active.reverse()
    active.sort(key=lambda item: item.entry.order)
    return Activation(tuple(active), notes.all())


class _Scans:
    """The scanned text for each depth that is asked for."""

    def __init__(self, messages: Sequence[str]) -> None:
        self._messages = messages
        self._made: dict[int, ScanText] = {}

    def at(self, depth: int) -> ScanText:
        depth = min(max(depth, 0), MAX_SCANNED_MESSAGES)
        if depth not in self._made:
            last = self._messages[-depth:] if depth else ()
            text = "".join(f"{_MARK}{message.strip()}\n" for message in last)
            self._made[depth] = ScanText(text[-MAX_SCANNED_CHARACTERS:])
        return self._made[depth]


def _why(
    entry: Entry, held: Book, scans: _Scans, settings: LoreSettings, trigger: str, notes: Diagnostics
) -> str | None:
    if not entry.enabled or not entry.content.strip():
        return None
    if entry.triggers and trigger not in entry.triggers:
        return None
    if entry.constant:
        return "constant"
    if any(is_regex_key(key) for key in (*entry.keys, *entry.secondary_keys)):
        notes.info("WORLD_BOOK_REGEX_DISABLED", "Pattern keys are not matched yet.", f"{held.id}:{entry.uid}")
    depth = next(
        (depth for depth in (entry.scan_depth, held.book.scan_depth) if depth is not None),
        settings.scan_depth,
    )
    return "key" if matches(entry, scans.at(depth), whole_words=settings.whole_words) else None


def _lucky(entry: Entry, roll: Callable[[], float]) -> bool:
    if not entry.use_probability or entry.probability >= 100:
        return True
    return entry.probability > 0 and roll() * 100 < entry.probability
