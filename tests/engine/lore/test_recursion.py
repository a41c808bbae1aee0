"""Entries that wake others, levels, and the widening of the depth."""

from tests.engine.lore.build import (
    CHAIN,
    RECURSIVE,
    book,
    changed,
    entry,
    uids,
    wake,
)  # fmt: skip


def test_entries_wake_others() -> None:
    assert uids(wake(*CHAIN, says=("a1",))) == [1]
    assert uids(wake(*CHAIN, says=("a1",), settings=RECURSIVE)) == [1, 2, 3]
    assert uids(wake(*CHAIN, says=("a1",), settings=changed(RECURSIVE, max_steps=2))) == [1, 2]
    assert uids(wake(*CHAIN, says=("a1",), settings=changed(RECURSIVE, max_steps=1))) == [1]


def test_a_chain_that_does_not_end_is_ended() -> None:
    long = [entry(n, f"<{n}>", content=f"<{n + 1}>") for n in range(200)]
    found = wake(*long, says=("<0>",), settings=RECURSIVE)
    assert len(uids(found)) == found.passes == 100
    assert [note.code for note in found.diagnostics] == ["WORLD_BOOK_RECURSION_LIMIT"]


def test_an_excluded_entry_wakes_directly_only() -> None:
    shy = entry(2, "b1", exclude_recursion=True)
    assert uids(wake(CHAIN[0], shy, says=("a1",), settings=RECURSIVE)) == [1]
    assert uids(wake(CHAIN[0], shy, says=("a1 b1",), settings=RECURSIVE)) == [1, 2]


def test_a_quiet_entry_does_not_wake_others_even_where_another_does() -> None:
    quiet = entry(1, "a1", content="b1", prevent_recursion=True)
    assert uids(wake(quiet, CHAIN[1], says=("a1",), settings=RECURSIVE)) == [1]
    assert uids(wake(quiet, CHAIN[1], entry(4, "a1", content="zz"), says=("a1",), settings=RECURSIVE)) == [
        1,
        4,
    ]


def test_a_book_that_says_it_does_not_recurse_neither_wakes_nor_is_woken() -> None:
    calm, other = book(*CHAIN, recursive=False), book(entry(9, "b1"), name="v")
    assert uids(wake(books=(calm, other), says=("a1",), settings=RECURSIVE)) == [1]
    off = changed(RECURSIVE, book_settings=False)
    assert uids(wake(books=(calm, other), says=("a1",), settings=off)) == [1, 2, 9, 3]


def test_a_delayed_entry_alone_never_comes_and_with_another_it_does() -> None:
    late = entry(1, "a1", delay_until_recursion=1)
    assert uids(wake(late, says=("a1",), settings=RECURSIVE)) == []
    assert uids(wake(late, entry(2, "a1"), says=("a1",), settings=RECURSIVE)) == [2, 1]


def test_levels_open_one_at_a_time_also_without_recursion() -> None:
    levels = [entry(n, "a1", content=f"x{n}", delay_until_recursion=n) for n in (1, 2, 3)]
    found = wake(*levels, says=("a1",))
    order = [(item.entry.uid, item.number) for item in found.in_order_of_activation]
    assert order == [(1, 2), (2, 2), (3, 3)]  # the lowest is open from the start


def test_exclusion_means_nothing_in_passes_that_only_levels_force() -> None:
    entries = [entry(n, "a1", exclude_recursion=True, delay_until_recursion=n) for n in (1, 2)]
    assert uids(wake(*entries, says=("a1",))) == [1, 2]


def test_the_depth_widens_until_enough_are_active() -> None:
    says = ("five", "four", "three", "two", "one")
    entries = (entry(1, "one"), entry(2, "four"))
    least = changed(scan_depth=1, min_activations=2)
    assert uids(wake(*entries, says=says, settings=least)) == [1, 2]
    assert uids(wake(*entries, says=says, settings=changed(least, min_activations_depth=2))) == [1]
    # depth 0 and widening
    assert uids(wake(*entries, says=says, settings=changed(least, scan_depth=0))) == [1, 2]
    # an entry's own depth is not widened
    assert uids(wake(entry(1, "four", scan_depth=1), says=says, settings=least)) == []


def test_a_widening_pass_does_not_read_what_entries_wrote_and_the_next_does() -> None:
    entries = (entry(1, "one", content="zz"), entry(2, "three", content="qq"), entry(3, "qq"))
    settings = changed(RECURSIVE, scan_depth=1, min_activations=3)
    found = wake(*entries, says=("three", "two", "one"), settings=settings, explain=True)
    assert uids(found) == [1, 2, 3]
    assert {v.entry.uid: (v.kind, v.hits[0].where) for v in found.verdicts} == {
        1: ("initial", "message"),
        2: ("min-activations", "message"),
        3: ("recursion", "recursion"),
    }


def test_after_a_widening_pass_comes_one_of_recursion_even_if_nothing_new_was_found() -> None:
    late = entry(1, constant=True, delay_until_recursion=1)
    least = changed(RECURSIVE, scan_depth=1, min_activations=1)
    assert uids(wake(late, says=("x", "y", "z"), settings=RECURSIVE)) == []
    found = wake(late, says=("x", "y", "z"), settings=least)
    assert [(item.entry.uid, item.number) for item in found.entries] == [(1, 3)]


def test_much_work_ends_the_passes_too() -> None:
    asked_again = [entry(n, "k", secondary_keys=("zz",), selective=True) for n in range(5000)]
    chain = [entry(n, f"<{n}>", content=f"<{n + 1}>") for n in range(5000, 5090)]
    found = wake(*asked_again, *chain, says=("k <5000>",), settings=RECURSIVE)
    assert 10 < found.passes < 40
    assert [note.code for note in found.diagnostics] == ["WORLD_BOOK_RECURSION_LIMIT"]
