"""Entries and conversations for tests of lore."""

from dataclasses import replace
from typing import Any

from engine.lore import Activation, Book, LoreSettings, Situation, activate
from engine.resources import Entry, WorldBook

PLAIN = LoreSettings(whole_words=False, recursive=False)
"""SillyTavern's values in code: what its recorded runs start from."""

WHOLE = LoreSettings(whole_words=True, recursive=False)
RECURSIVE = LoreSettings(whole_words=False, recursive=True)


def changed(settings: LoreSettings = PLAIN, **changes: Any) -> LoreSettings:
    """Settings that differ in something from SillyTavern's values in code."""
    return replace(settings, **changes)


def never(what: str) -> float:
    raise AssertionError(f"nothing here is left to chance, and yet {what} is")


def entry(uid: int, *keys: str, content: str = "", **more: Any) -> Entry:
    return Entry(uid=uid, keys=keys, content=content or f"e{uid}", **more)


def book(*entries: Entry, name: str = "w", **more: Any) -> Book:
    return Book(name, WorldBook(name.upper(), entries, **more))


def wake(
    *entries: Entry,
    says: tuple[str, ...] = ("Ana: a cat, b",),
    settings: LoreSettings = PLAIN,
    roll: Any = never,
    books: tuple[Book, ...] = (),
    explain: bool = False,
    expand: Any = None,
    **situation: Any,
) -> Activation:
    return activate(
        books or (book(*entries),),
        Situation(messages=says, **situation),
        roll=roll,
        settings=settings,
        explain=explain,
        count_tokens=lambda text: len(text.split()),
        **({"expand": expand} if expand else {}),
    )


def uids(found: Activation) -> list[int]:
    """The active entries in the order of their activation."""
    return [item.entry.uid for item in found.in_order_of_activation]


def reasons(found: Activation) -> dict[int, str]:
    """The slug of each verdict by uid."""
    return {verdict.entry.uid: verdict.reason.slug for verdict in found.verdicts}


CHAIN = (entry(1, "a1", content="b1"), entry(2, "b1", content="d1"), entry(3, "d1", content="f1"))
"""Each wakes the next."""


def constants(*texts: str, **more: Any) -> list[Entry]:
    """Constant entries, the first with the highest order."""
    return [entry(n, content=text, constant=True, order=100 - n, **more) for n, text in enumerate(texts)]
