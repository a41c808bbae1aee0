"""What fits into the budget."""

from engine.lore import Quirk, Situation, activate
from engine.lore.rules import KEPT
from tests.engine.lore.build import (
    RECURSIVE,
    book,
    changed,
    constants,
    entry,
    never,
    reasons,
    uids,
    wake,
)  # fmt: skip


def test_the_budget_is_a_share_of_the_window_and_may_have_a_cap() -> None:
    found = wake(*constants("a b", "c d", "e"), window=20)
    assert (uids(found), found.budget.limit, found.budget.used, found.budget.overflowed) == (
        [0, 1],
        5,
        4,
        True,
    )
    capped = wake(*constants("a b", "c d", "e"), window=20, settings=changed(budget_cap=3))
    assert (uids(capped), capped.budget.limit) == ([0], 3)
    assert wake(*constants("a"), window=1000, settings=changed(budget_percent=0)).budget.limit == 1
    assert uids(wake(*constants("a b", "c d", "e" * 900))) == [0, 1, 2]  # no window, no budget


def test_an_exact_fit_is_refused_and_nothing_after_it_is_tried() -> None:
    assert uids(wake(*constants("a b", "c d e", "f"), window=20)) == [0]
    assert uids(wake(*constants("a b c d e f g", "h"), window=20)) == []


def test_an_entry_may_ignore_the_budget_also_after_it_overflowed() -> None:
    entries = constants("a b c d e f g", "c d e f g h", "z")
    free = [entries[0], entry(1, content="c d", constant=True, order=99, ignore_budget=True), entries[2]]
    assert uids(wake(*free, window=20)) == [1]


def test_an_overflow_ends_recursion() -> None:
    entries = (entry(1, "a", content="b"), entry(2, "a", content="x x x x x"), entry(3, "b"))
    assert uids(wake(*entries, says=("a",), settings=RECURSIVE, window=20)) == [1]
    assert uids(wake(*entries, says=("a",), settings=RECURSIVE, window=80)) == [1, 2, 3]


def test_constants_have_no_precedence() -> None:
    entries = (entry(1, content="c c c", constant=True, order=1), entry(2, "a", content="k k k", order=2))
    assert uids(wake(*entries, says=("a",), window=20)) == [2]


def test_what_prevents_recursion_is_forgotten_by_later_passes_unless_that_is_off() -> None:
    entries = (
        entry(1, "a", content="w w w", order=3, prevent_recursion=True),
        entry(2, "a", content="bb", order=2),
        entry(3, "bb", content="z z", order=1),
    )
    settings = changed(RECURSIVE, budget_percent=100)
    assert uids(wake(*entries, says=("a",), window=6, settings=settings)) == [1, 2, 3]
    every = changed(settings, quirks=KEPT - {Quirk.BUDGET_FORGETS_PREVENTED})
    assert uids(wake(*entries, says=("a",), window=6, settings=every)) == [1, 2]


def test_the_taverns_budget_tries_smaller_ones_and_does_not_charge_the_free() -> None:
    costs = {"8": 8, "5": 5, "3": 3, "2": 2}
    entries = [
        entry(1, content="8", constant=True, order=100),
        entry(2, content="5", constant=True, order=90, ignore_budget=True),
        entry(3, content="3", constant=True, order=80),
        entry(4, content="2", constant=True, order=70),
    ]
    found = activate(
        [book(*entries)],
        Situation(window=10),
        roll=never,
        settings=changed(budget_percent=100, quirks=KEPT - {Quirk.BUDGET_STOPS}),
        count_tokens=lambda text: costs.get(text, 0),
        explain=True,
    )
    assert uids(found) == [1, 2, 4]
    assert reasons(found)[3] == "budget-exceeded"


def test_a_books_own_budget_refuses_its_entries_only() -> None:
    small = book(*constants("a b", "c d", "e"), token_budget=3)
    found = wake(books=(small, book(entry(9, content="x y", constant=True), name="v")), explain=True)
    assert uids(found) == [0, 9, 2]
    assert reasons(found)[1] == "book-budget-exceeded"
    off = wake(books=(small,), settings=changed(book_settings=False))
    assert uids(off) == [0, 1, 2]
