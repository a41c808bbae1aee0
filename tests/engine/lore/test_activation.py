"""What an entry sees, which flags and filters count, in which order entries stand, and chance."""

from dataclasses import replace
from typing import Any

import pytest

from engine.lore import Quirk, seeded_rolls
from engine.lore.rules import KEPT
from engine.resources import Entry
from tests.engine.lore.build import (
    RECURSIVE,
    book,
    changed,
    entry,
    never,
    reasons,
    uids,
    wake,
)  # fmt: skip


def test_only_the_last_messages_are_scanned() -> None:
    says = ("Ana: cat", "Bo: dog", "Ana: owl")
    assert uids(wake(entry(1, "cat"), entry(2, "dog"), entry(3, "owl"), says=says)) == [2, 3]
    assert uids(wake(entry(1, "cat", scan_depth=3), entry(2, "dog", scan_depth=1), says=says)) == [1]
    assert uids(wake(entry(1, "cat", scan_depth=5000), says=says)) == [1]


def test_depth_0_sees_nothing_at_all() -> None:
    found = wake(
        entry(1, "cat", scan_depth=0, match_sources=("scenario",)),
        entry(2, constant=True, content="cat"),
        says=("cat",),
        sources={"scenario": "cat"},
        injections=("cat",),
        settings=RECURSIVE,
    )
    assert uids(found) == [2]
    assert uids(wake(entry(1, "cat"), settings=changed(scan_depth=0))) == []


def test_no_plain_key_spans_two_messages() -> None:
    assert uids(wake(entry(1, "one two"), entry(2, "one\ntwo"), says=("two", "one"))) == []
    assert uids(wake(entry(1, "two\n\x01one"), says=("one", "two"))) == [1]  # as SillyTavern joins them


def test_each_match_source_is_its_own() -> None:
    sources = {
        "persona_description": "wizard", "character_description": "elf", "character_personality": "kind",
        "character_depth_prompt": "dark", "scenario": "cave", "creator_notes": "artist",
    }  # fmt: skip
    entries = [entry(n, word, match_sources=(name,)) for n, (name, word) in enumerate(sources.items())]
    others = [entry(10 + n, word) for n, word in enumerate(sources.values())]
    assert uids(wake(*entries, *others, says=("x",), sources=sources)) == [0, 1, 2, 3, 4, 5]


def test_injections_are_scanned_by_all() -> None:
    assert uids(wake(entry(1, "omen"), says=("x",), injections=("an omen",))) == [1]


def test_a_books_own_scan_depth_is_honoured_unless_that_is_off() -> None:
    says = ("cat", "x", "y")
    deep = book(entry(1, "cat"), scan_depth=3)
    assert uids(wake(books=(deep,), says=says)) == [1]
    assert uids(wake(books=(deep,), says=says, settings=changed(book_settings=False))) == []


def test_constant_entries_need_no_key_and_disabled_ones_never_come() -> None:
    assert uids(wake(entry(1, constant=True), entry(2, constant=True, enabled=False), says=())) == [1]


def test_an_active_entry_without_text_is_in_and_says_nothing() -> None:
    found = wake(Entry(uid=1, keys=("cat",), content=""))
    assert [item.text for item in found.entries] == [""]


def test_triggers_limit_an_entry_to_a_kind_of_generation() -> None:
    one = entry(1, "cat", triggers=("continue",))
    assert uids(wake(one)) == []
    assert uids(wake(one, trigger="continue")) == [1]


@pytest.mark.parametrize(
    ("given", "tags", "active"),
    [
        ({"names": ["Alice"]}, (), True),
        ({"names": ["Bo"]}, (), False),
        ({"names": ["Alice"], "isExclude": True}, (), False),
        ({"names": ["Bo"], "isExclude": True}, (), True),
        ({"tags": ["elf"]}, ("elf", "old"), True),
        ({"tags": ["orc"]}, ("elf",), False),
        ({"tags": ["elf"], "isExclude": True}, ("elf",), False),
        ({"tags": ["orc"]}, None, True),  # a character without a list of tags
        ({"names": ["Alice"], "tags": ["orc"]}, ("elf",), False),
        ({"names": [], "tags": []}, (), True),
    ],
)
def test_character_filters(given: dict[str, Any], tags: tuple[str, ...] | None, active: bool) -> None:
    found = wake(entry(1, "cat", character_filter=given), characters=("Alice",), tags=tags)
    assert bool(uids(found)) is active


def test_a_vectorised_entry_wakes_by_its_keys_or_from_outside_and_else_says_why_not() -> None:
    found = wake(entry(1, vectorized=True), entry(2, "cat", vectorized=True), entry(3, vectorized=True),
                 forced={"w:3": None}, explain=True)  # fmt: skip
    assert uids(found) == [3, 2]
    assert reasons(found)[1] == "external-vector-match-required"


def test_a_copy_that_is_asked_for_comes_first_with_its_own_text() -> None:
    found = wake(entry(1, "cat"), entry(2, "zzz"), forced={"w:2": entry(2, content="copy")})
    assert [(item.entry.uid, item.text, item.why) for item in found.in_order_of_activation] == [
        (2, "copy", "forced"),
        (1, "e1", "key"),
    ]


def test_an_unlucky_copy_is_rolled_for_again_and_an_unlucky_entry_is_not() -> None:
    rolled: list[str] = []

    def roll(what: str) -> float:
        rolled.append(what)
        return 0.9

    entries = (entry(1, "cat", probability=10), entry(2, "zzz", probability=10), entry(3, "cat", content="x"))
    wake(*entries, forced={"w:2": None}, settings=RECURSIVE, roll=roll)
    assert rolled == ["w:2", "w:1", "w:2#2"]


def test_entries_read_in_ascending_order_and_equal_ones_backwards() -> None:
    entries = [entry(uid, "cat", order=order) for uid, order in ((1, 50), (2, 10), (3, 50), (4, 90))]
    found = wake(*entries)
    assert uids(found) == [4, 1, 3, 2]
    assert [item.entry.uid for item in found.entries] == [2, 3, 1, 4]


def test_a_lower_tier_is_asked_first_whatever_the_order() -> None:
    late, early = book(entry(1, "cat", order=900), name="a"), book(entry(2, "cat", order=1), name="b")
    assert uids(wake(books=(late, early))) == [1, 2]
    assert uids(wake(books=(replace(late, tier=1), early))) == [2, 1]


def test_a_book_is_read_once() -> None:
    assert uids(wake(books=(book(entry(1, "cat")), book(entry(1, "cat"))))) == [1]


@pytest.mark.parametrize(
    ("probability", "roll", "inclusive", "exclusive"),
    [
        (50, 0.49, True, True),
        (50, 0.5, True, False),
        (50, 0.51, False, False),
        (0, 0.0, True, False),
        (100, 1.0, True, True),
    ],
)
def test_chance_is_the_callers(probability: int, roll: float, inclusive: bool, exclusive: bool) -> None:
    one = entry(1, "cat", probability=probability)
    other = changed(quirks=KEPT - {Quirk.CHANCE_INCLUSIVE})
    assert bool(uids(wake(one, roll=lambda _: roll))) is inclusive
    assert bool(uids(wake(one, roll=lambda _: roll, settings=other))) is exclusive


def test_a_probability_of_0_is_not_rolled_under_the_exclusive_rule_nor_any_that_is_not_used() -> None:
    other = changed(quirks=KEPT - {Quirk.CHANCE_INCLUSIVE})
    assert uids(wake(entry(1, "cat", probability=0), roll=never, settings=other)) == []
    assert uids(wake(entry(1, "cat", probability=0, use_probability=False), roll=never)) == [1]


def test_the_unlucky_are_not_rolled_for_again() -> None:
    rolls = iter([0.9])
    entries = (entry(1, "a", probability=10), entry(2, "a", content="b a"), entry(3, "b"))
    assert uids(wake(*entries, says=("a",), settings=RECURSIVE, roll=lambda _: next(rolls))) == [2, 3]


def test_chance_is_the_same_for_the_same_story_turn_and_entry_whoever_else_is_there() -> None:
    chancy = [entry(uid, "cat", probability=50) for uid in range(40)]
    for turn in range(3):
        roll = seeded_rolls("story", turn)
        together = set(uids(wake(*chancy, roll=roll)))
        assert together == {uid for uid in range(40) if uids(wake(chancy[uid], roll=roll)) == [uid]}
        assert 8 < len(together) < 32
    assert seeded_rolls("story", 1)("w:1") != seeded_rolls("story", 2)("w:1")
