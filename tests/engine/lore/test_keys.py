"""How keys are compared with what was said."""

from typing import Any

import pytest

from engine.lore import Situation, activate
from engine.patterns import Watch
from tests.engine.lore.build import (
    PLAIN,
    WHOLE,
    book,
    changed,
    entry,
    never,
    uids,
    wake,
)  # fmt: skip


@pytest.mark.parametrize(
    ("key", "text", "hit"),
    [
        ("cat", "a cat, b", True),
        ("CAT", "a cat, b", True),
        ("cat", "concatenate", False),
        ("big cat", "the big cats", True),  # more than one word: anywhere
        ("big\u00a0cat", "the big\u00a0cats", True),
        ("龙", "小龙人", True),  # word characters are the ASCII ones
        ("caf", "café", True),
        ("кот", "котлета", True),
        ("cat", "cat_x", False),
        ("cat", "cat9", False),
        ("cat", "🐈cat🐈", True),
        ("cat", "dog", False),
        ("İ", "i̇", True),
        ("ß", "SS", False),  # lower case is no case folding
        ("ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ", True),
        ("é", "e\u0301", False),  # nor a normal form
        ("c.t", "cat", False),
        ("a++", "a++", True),
    ],
)
def test_whole_words_as_sillytavern_counts_them(key: str, text: str, hit: bool) -> None:
    assert uids(wake(entry(1, key), says=(text,), settings=WHOLE)) == ([1] if hit else [])


def test_whole_words_and_case_are_the_settings_or_the_entrys() -> None:
    assert uids(wake(entry(1, "cat"), says=("concatenate",))) == [1]
    assert uids(wake(entry(1, "cat", whole_words=True), says=("concatenate",))) == []
    assert uids(wake(entry(1, "cat", whole_words=False), says=("concatenate",), settings=WHOLE)) == [1]
    assert uids(wake(entry(1, "Cat", case_sensitive=True), entry(2, "cat", case_sensitive=True))) == [2]
    strict = changed(case_sensitive=True)
    assert uids(wake(entry(1, "Cat"), entry(2, "Cat", case_sensitive=False), settings=strict)) == [2]


def test_keys_are_trimmed_and_their_macros_expanded() -> None:
    def expand(text: str) -> str:
        return text.replace("{{char}}", "Ada")

    found = wake(
        entry(1, "  cat "),
        entry(2, "{{char}}"),
        entry(3, "{{char}}!"),
        entry(4, "/\\x01{{char}}:/"),
        says=("Bo: hi ada", "Ada: cat"),
        expand=expand,
    )
    assert uids(found) == [1, 2, 4]


def test_all_entries_whose_macros_come_to_say_the_same_are_woken() -> None:
    def expand(text: str) -> str:
        return text.replace("{{char}}", "Ada").replace("<CHAR>", "Ada")

    found = wake(
        entry(1, "{{char}}"),
        entry(2, "{{char}}"),
        entry(3, "<CHAR>"),
        entry(4, "{{char}}", secondary_keys=("{{char}}",), selective=True),
        says=("Ada walks in",),
        expand=expand,
    )
    assert uids(found) == [1, 2, 3, 4]


def test_a_key_with_a_macro_follows_who_plays_from_one_scan_to_the_next() -> None:
    one = book(entry(1, "{{char}}"))
    for name in ("Ada", "Bo", "Ada"):
        found = wake(
            books=(one,), says=("Bo is here",), expand=lambda text, name=name: text.replace("{{char}}", name)
        )
        assert uids(found) == ([1] if name == "Bo" else [])


@pytest.mark.parametrize(
    ("key", "text", "hit"),
    [
        ("/CAT/", "cat", False),
        ("/CAT/i", "cat", True),
        ("/c[at/", "see /c[at/ here", True),  # no pattern: plain text
        ("/a/b/", "path /a/b/ ok", True),
        ("/cat/v", "cat", False),
        ("/cat/v", "the /cat/v", True),
        ("/Bob/y", "Bob: hi", False),
        ("/\\x01Bob/y", "Bob: hi", True),
        ("/a.b/", "a\nb", False),
        ("/a.b/s", "a\nb", True),
    ],
)
def test_pattern_keys(key: str, text: str, hit: bool) -> None:
    assert uids(wake(entry(1, key), says=(text,))) == ([1] if hit else [])


def test_a_broken_pattern_is_told() -> None:
    found = wake(entry(1, "/c[at/"), entry(2, "/cat/"), entry(3, "/a/b/"))
    assert [(note.code, note.where) for note in found.diagnostics] == [("WORLD_BOOK_INVALID_REGEX", "w:1")]


def test_a_pattern_can_bind_to_a_speaker() -> None:
    bound = entry(1, r"/\x01Bob:[^\x01]*?hello/")
    assert uids(wake(bound, says=("Bob: bye", "Alice: hello"))) == []
    assert uids(wake(bound, says=("Bob: oh hello", "Alice: bye"))) == [1]


def test_pattern_keys_can_be_switched_off_or_be_too_long_and_that_is_told() -> None:
    off = wake(entry(1, "/a+/i"), says=("aa /a+/i",), settings=changed(regex_keys=False))
    assert uids(off) == []
    assert [(note.code, note.where) for note in off.diagnostics] == [("WORLD_BOOK_REGEX_DISABLED", "w:1")]
    long = wake(entry(1, f"/{'a' * 257}/"), says=("a" * 300,), settings=changed(max_pattern=256))
    assert uids(long) == []
    assert [note.code for note in long.diagnostics] == ["WORLD_BOOK_REGEX_TOO_LONG"]


def test_a_pattern_that_takes_too_long_sleeps_and_is_stopped_at_the_third_time() -> None:
    evil = entry(1, r"/^(\x01?(a|aa)+)+\1$/")  # a back reference keeps it from RE2
    watch = Watch()
    codes = []
    for _ in range(4):
        found = activate(
            [book(evil, entry(2, "b"))],
            Situation(["a" * 5000 + "b"]),
            roll=never,
            settings=PLAIN,
            watch=watch,
        )
        assert uids(found) == [2]
        codes.append([note.code for note in found.diagnostics])
    late, stopped = "WORLD_BOOK_REGEX_TIMEOUT", "WORLD_BOOK_REGEX_STOPPED"
    assert codes == [[late], [late], [late, stopped], []]


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
    one = entry(1, "cat", secondary_keys=("moon", "sun"), selective=True, logic=logic)
    for text, hit in (("cat", none), ("cat moon", some), ("cat moon sun", every)):
        assert bool(uids(wake(one, says=(text,)))) == hit, text
        assert uids(wake(one, says=(text.replace("cat", "dog"),))) == []


def test_secondary_keys_count_only_where_the_entry_is_selective_and_has_some() -> None:
    assert uids(wake(entry(1, "cat", secondary_keys=("moon",), selective=False))) == [1]
    assert uids(wake(entry(1, "cat", selective=True, logic="not_any"))) == [1]


def test_a_blank_secondary_key_counts_as_missing() -> None:
    both: dict[str, Any] = {"secondary_keys": ("b", " "), "selective": True}
    found = wake(entry(1, "cat", logic="and_all", **both), entry(2, "cat", logic="not_all", **both))
    assert uids(found) == [2]
