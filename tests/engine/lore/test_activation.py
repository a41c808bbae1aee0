"""Lore: which entries a conversation wakes, and in which order they read."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lore import Book, LoreSettings, activate
from engine.resources import Entry, WorldBook


def never() -> float:
    raise AssertionError("no entry here leaves anything to chance")


def active(
    *entries: Entry, messages: tuple[str, ...] = ("Ana: a cat, b",), roll: Callable[[], float] = never,
    settings: LoreSettings | None = None, depth: int | None = None,
) -> list[str]:  # fmt: skip
    book = WorldBook("B", entries, scan_depth=depth)
    found = activate([Book("w1", book)], messages, roll=roll, settings=settings)
    return [item.entry.content for item in found.entries]


def entry(uid: int, *keys: str, content: str = "", **more: object) -> Entry:
    return Entry(uid=uid, keys=keys, content=content or f"e{uid}", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "text", "hit"),
    [
        ("cat", "a cat, b", True),
        ("CAT", "a cat, b", True),
        ("cat", "concatenate", False),
        ("big cat", "the big cats", True),  # more than one word: anywhere
        ("龙", "小龙人", True),  # word characters are the ASCII ones
        ("caf", "café", True),
        ("cat", "cat_x", False),
        ("cat", "dog", False),
        ("İ", "i̇", True),
        ("c.t", "cat", False),
    ],
)
def test_whole_words_as_sillytavern_counts_them(key: str, text: str, hit: bool) -> None:
    assert active(entry(1, key), messages=(text,)) == (["e1"] if hit else [])


def test_whole_words_can_be_off_for_all_or_for_one() -> None:
    loose = LoreSettings(whole_words=False)
    assert active(entry(1, "cat"), messages=("concatenate",), settings=loose) == ["e1"]
    assert active(entry(1, "cat", whole_words=False), messages=("concatenate",)) == ["e1"]
    assert active(entry(1, "cat", whole_words=True), messages=("concatenate",), settings=loose) == []


def test_case_counts_where_the_entry_says_so() -> None:
    assert active(entry(1, "Cat", case_sensitive=True)) == []
    assert active(entry(1, "cat", case_sensitive=True)) == ["e1"]


@pytest.mark.parametrize(
    ("logic", "none", "some", "every"),
    [
        ("and_any", False, True, True),
        ("not_all", True, True, False),
        ("not_any", True, False, False),
        ("and_all", False, False, True),
    ],
)
def test_secondary_keys_by_their_logic(logic: str, none: bool, some: bool, every: bool) -> None:
    for text, hit in (("cat", none), ("cat moon", some), ("cat moon sun", every)):
        found = active(
            entry(1, "cat", secondary_keys=("moon", "sun"), selective=True, logic=logic), messages=(text,)
        )
        assert bool(found) == hit, text
    assert active(entry(1, "dog", secondary_keys=("moon",), selective=True), messages=("moon",)) == []


def test_secondary_keys_count_only_when_the_entry_is_selective() -> None:
    assert active(entry(1, "cat", secondary_keys=("moon",), selective=False)) == ["e1"]


def test_constant_entries_need_no_key_and_disabled_or_empty_ones_never_come() -> None:
    assert active(entry(1, constant=True), messages=()) == ["e1"]
    assert active(entry(1, constant=True, enabled=False)) == []
    assert active(Entry(uid=1, keys=("cat",), content=" \n")) == []
    assert active(entry(1)) == []


def test_only_the_last_messages_are_scanned() -> None:
    messages = ("Ana: cat", "Bo: dog", "Ana: owl")
    assert active(entry(1, "cat"), entry(2, "dog"), entry(3, "owl"), messages=messages) == ["e3", "e2"]
    assert active(entry(1, "cat"), messages=messages, depth=3) == ["e1"]
    assert active(entry(1, "owl", scan_depth=0), entry(2, constant=True), messages=messages) == ["e2"]
    assert active(entry(1, "dog", scan_depth=1), messages=messages) == []


def test_no_key_spans_two_messages() -> None:
    assert active(entry(1, "one two"), messages=("one", "two")) == []
    assert active(entry(1, "one\ntwo"), messages=("one", "two")) == []


def test_entries_read_in_ascending_order_and_equal_ones_backwards() -> None:
    entries = [entry(uid, "cat", order=order) for uid, order in ((1, 50), (2, 10), (3, 50), (4, 90))]
    assert active(*entries) == ["e2", "e3", "e1", "e4"]


def test_chance_is_the_callers() -> None:
    half = entry(1, "cat", probability=50)
    assert active(half, roll=lambda: 0.49) == ["e1"]
    assert active(half, roll=lambda: 0.50) == []
    assert active(entry(1, "cat", probability=0)) == []
    assert active(entry(1, "cat", probability=0, use_probability=False)) == ["e1"]


def test_triggers_limit_an_entry_to_a_kind_of_generation() -> None:
    book = Book("w1", WorldBook("B", (entry(1, "cat", triggers=("continue",)),)))
    assert activate([book], ["cat"], roll=never).entries == ()
    assert len(activate([book], ["cat"], roll=never, trigger="continue").entries) == 1


def test_pattern_keys_do_not_run_and_that_is_told() -> None:
    book = Book("w1", WorldBook("B", (entry(7, "/cat/i"), entry(8, "/not a pattern"))))
    found = activate([book], ["cat /not a pattern"], roll=never)
    assert [item.id for item in found.entries] == ["w1:8"]
    assert [(note.code, note.where) for note in found.diagnostics] == [("WORLD_BOOK_REGEX_DISABLED", "w1:7")]


def test_a_book_that_does_not_fit_is_skipped_whole_and_smaller_ones_still_count() -> None:
    books = [
        Book(f"w{number}", WorldBook(f"B{number}", tuple(entry(uid, constant=True) for uid in range(size))))
        for number, size in ((1, 6000), (2, 5000), (3, 3000))
    ]
    found = activate(books, [], roll=never)
    assert {item.id.split(":")[0] for item in found.entries} == {"w1", "w3"}
    assert len(found.entries) == 9000
    assert [note.code for note in found.diagnostics] == ["WORLD_BOOK_RUNTIME_TOTAL_LIMIT"]


words = st.sampled_from(["cat", "Cat", "big cat", "龙", "x_y", "café"])


@given(
    st.lists(st.tuples(words, st.booleans()), max_size=8),
    st.lists(st.text("catCAT big龙x_yé ,", max_size=20), max_size=4),
)
def test_a_constant_entry_is_always_active_and_an_active_one_always_has_its_key(
    kinds: list[tuple[str, bool]], messages: list[str]
) -> None:
    entries = [entry(uid, key, constant=constant) for uid, (key, constant) in enumerate(kinds)]
    found = activate([Book("w", WorldBook("B", tuple(entries)))], messages, roll=never)
    ids = {item.entry.uid for item in found.entries}
    assert {item.uid for item in entries if item.constant} <= ids
    text = "\n".join(message.lower() for message in messages[-2:])
    assert all(item.entry.constant or item.entry.keys[0].lower() in text for item in found.entries)
