"""Which entries of the books are active, why, and why the others are not.

SillyTavern's algorithm: passes over the entries, in which keys, groups, chance and budget
decide, and what became active may wake more. Only entries that a key, a flag or an effect
wakes are asked, so thousands of quiet ones cost nothing; with `explain` every entry gets a
verdict. Source: spec sillytavern 2; decisions 15 to 17.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from engine.lore.composition import admitted
from engine.lore.index import Book, Indexes
from engine.lore.outcome import Activation
from engine.lore.passes import Passes
from engine.lore.reasons import Reason, Verdict
from engine.lore.rules import LoreSettings
from engine.lore.scan import Scan
from engine.lore.situation import Rolls, Situation
from engine.patterns import Watch
from engine.resources import Diagnostics
from engine.session import estimate_tokens

__all__ = ["activate"]

_INDEXES: Final = Indexes()


def activate(
    books: Sequence[Book],
    situation: Situation,
    *,
    roll: Rolls,
    settings: LoreSettings | None = None,
    expand: Callable[[str], str] = lambda text: text,
    count_tokens: Callable[[str], int] = estimate_tokens,
    watch: Watch | None = None,
    indexes: Indexes | None = None,
    explain: bool = False,
) -> Activation:
    """Find the active entries of all books.

    `expand` expands the macros of keys and of content; `roll` decides chance; `watch` counts patterns that
    take too long. With `explain` each entry of each book has a verdict, else only those that were asked. A
    book that does not fit into the seeds' 10,000 entries is skipped whole, with a diagnostic.
    """
    settings = settings or LoreSettings()
    notes = Diagnostics()
    fitting = admitted(books, notes)
    made = _INDEXES if indexes is None else indexes
    indexed = [(number, book, made.of(book, settings)) for number, book in enumerate(fitting)]
    scan = Scan(situation, settings, indexed, expand, watch, notes)
    found = Passes(scan, situation, settings, roll, expand, count_tokens, notes, explain=explain).run()
    return replace(found, verdicts=(*found.verdicts, *_left_out(books, fitting))) if explain else found


def _left_out(books: Sequence[Book], fitting: Sequence[Book]) -> Iterator[Verdict]:
    """The verdicts on the entries of books that were skipped."""
    seen = {book.id for book in fitting}
    for book in books:
        if book.id not in seen:
            seen.add(book.id)
            for entry in book.book.entries:
                yield Verdict(f"{book.id}:{entry.uid}", entry, False, Reason.BOOK_LIMIT)
