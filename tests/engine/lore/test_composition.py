"""Which books are read, in which order, and how they are kept."""

import threading

from engine.lore import Book, Indexes, LoreSettings, admitted, compose, embedded_id, tier_of
from engine.lore.composition import ORDER
from engine.resources import Diagnostics, WorldBook
from tests.engine.lore.build import PLAIN, book, changed, entry, uids, wake


def test_books_come_by_origin_and_each_once() -> None:
    order = compose(session=["x"], user=["y", "x"], preset=["z"], character=["y"])
    assert order.effective == ("x", "y", "z")
    assert order.duplicates == ("x", "y")
    assert order.origins["x"] == ("session", "user")
    assert order.origins["y"] == ("user", "character")
    assert order.audit() == {
        "order": "session-explicit-then-user-then-preset-then-character",
        "explicitIds": ["x"],
        "userBoundIds": ["y", "x"],
        "presetBoundIds": ["z"],
        "characterBoundIds": ["y"],
        "effectiveIds": ["x", "y", "z"],
        "duplicateIds": ["x", "y"],
        "bindingSources": {"x": ["session", "user"], "y": ["user", "character"], "z": ["preset"]},
    }
    assert order.audit()["order"] == ORDER


def test_a_repetition_within_one_origin_is_no_duplicate() -> None:
    order = compose(session=["x", "x"])
    assert (order.effective, order.duplicates, order.explicit) == (("x",), (), ("x",))


def test_tiers_follow_sillytavern() -> None:
    assert [tier_of((origin,)) for origin in ("session", "user", "preset", "character")] == [0, 1, 2, 2]
    assert tier_of(("character", "user")) == 1
    assert embedded_id("c_1") == "character:c_1:embedded-world-book"


def test_a_book_that_does_not_fit_is_skipped_whole_and_smaller_ones_still_count() -> None:
    books = [
        book(*[entry(uid, constant=True) for uid in range(size)], name=f"w{number}")
        for number, size in ((1, 6000), (2, 5000), (3, 3000))
    ]
    notes = Diagnostics()
    assert [held.id for held in admitted(books, notes)] == ["w1", "w3"]
    found = wake(books=tuple(books), says=())
    assert len(found.entries) == 9000
    assert [(note.code, note.where) for note in found.diagnostics] == [
        ("WORLD_BOOK_RUNTIME_TOTAL_LIMIT", "w2")
    ]


def test_an_index_is_made_once_per_revision_and_reading_of_keys() -> None:
    indexes = Indexes()
    one = WorldBook("B", (entry(1, "cat"),))
    first = indexes.of(Book("w", one, "1"), PLAIN)
    assert indexes.of(Book("w", WorldBook("B", ()), "1"), PLAIN) is first
    assert indexes.of(Book("w", one, "1"), changed(scan_depth=9, recursive=True)) is first
    assert indexes.of(Book("w", one, "2"), PLAIN) is not first
    assert indexes.of(Book("w", one, "1"), changed(whole_words=True)) is not first


def test_without_a_revision_the_books_identity_counts() -> None:
    indexes = Indexes()
    one, same = WorldBook("B", (entry(1, "cat"),)), WorldBook("B", (entry(1, "cat"),))
    first = indexes.of(Book("w", one), PLAIN)
    assert indexes.of(Book("w", one), PLAIN) is first
    assert indexes.of(Book("w", same), PLAIN) is not first


def test_the_longest_unused_index_goes_first() -> None:
    indexes = Indexes(books=2)
    held = [Book(name, WorldBook(name, (entry(1, "cat"),)), "1") for name in "abc"]
    a = indexes.of(held[0], PLAIN)
    indexes.of(held[1], PLAIN)
    assert indexes.of(held[0], PLAIN) is a
    indexes.of(held[2], PLAIN)
    assert len(indexes) == 2
    assert indexes.of(held[0], PLAIN) is a
    few = Indexes(keys=3)
    for one in held:
        few.of(Book(one.id, WorldBook("x", (entry(1, "a", "b"),)), "1"), PLAIN)
    assert len(few) == 1


def test_an_index_may_be_used_by_several_threads() -> None:
    one = book(*[entry(n, f"{{{{char}}}}{n}", f"k{n}") for n in range(50)])
    found: list[list[int]] = []

    def scan(name: str) -> None:
        for _ in range(20):
            found.append(
                uids(wake(books=(one,), says=(f"{name}7 k9",), settings=LoreSettings(recursive=False),
                          expand=lambda text: text.replace("{{char}}", name)))
            )  # fmt: skip

    threads = [threading.Thread(target=scan, args=(f"N{n}x",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[7, 9]] * 80
