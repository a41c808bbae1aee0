"""World books: both forms, their defaults, the limits, and what is mended."""

import json
from typing import Any

import pytest

from engine.errors import ResourceError
from engine.resources import WorldBook, read_card, read_world_book
from engine.resources.world_book import split_keys
from tests.engine.resources.pngs import v2


def book(value: Any, filename: str = "Eldoria.json") -> WorldBook:
    return read_world_book(json.dumps(value).encode(), filename)


def embedded(*entries: Any, **more: Any) -> WorldBook:
    data = json.dumps(v2("Ada", character_book={"entries": list(entries), **more})).encode()
    found = read_card(data).book
    assert found is not None
    return found


def code(value: Any) -> str:
    with pytest.raises(ResourceError) as caught:
        book(value)
    return caught.value.error_code


def test_a_map_and_a_list_have_their_own_forms_and_defaults() -> None:
    from_map = book({"entries": {"0": {"uid": 0, "key": ["a"], "content": "x"}}})
    from_list = book({"entries": [{"keys": ["a"], "content": "x"}]})
    assert from_map.format == "sillytavern-world-info"
    assert (from_map.entries[0].selective, from_map.entries[0].position) == (True, "before")
    assert from_list.format == "character-book-v2"
    assert (from_list.entries[0].selective, from_list.entries[0].position) == (False, "after")
    assert from_map.name == "Eldoria"


def test_a_map_reads_in_the_order_of_its_numbers() -> None:
    entries = {key: {"key": [key], "content": key} for key in ("10", "9", "entry-1", "0")}
    assert [entry.content for entry in book({"entries": entries}).entries] == ["0", "9", "10", "entry-1"]


def test_a_lorebook_v3_is_unwrapped_and_its_raw_kept_whole() -> None:
    document = {"spec": "lorebook_v3", "data": {"name": "L", "entries": [{"keys": ["a"], "content": "x"}]}}
    found = book(document)
    assert (found.name, found.entries[0].keys) == ("L", ("a",))
    assert found.raw == document


def test_every_field_of_a_sillytavern_entry_arrives() -> None:
    entry = {
        "uid": 3, "key": ["k"], "keysecondary": ["s"], "comment": "c", "content": "x", "constant": True,
        "vectorized": True, "selective": True, "selectiveLogic": 3, "order": 7, "position": 4,
        "disable": True, "excludeRecursion": True, "preventRecursion": True, "delayUntilRecursion": True,
        "probability": 50, "useProbability": False, "depth": 2, "group": "g", "groupOverride": True,
        "groupWeight": 9,
        "scanDepth": 5, "caseSensitive": True, "matchWholeWords": False, "useGroupScoring": True,
        "automationId": "auto", "role": 2, "sticky": 1, "cooldown": 2, "delay": 3, "displayIndex": 8,
        "outletName": "o", "ignoreBudget": True, "triggers": ["normal"], "matchScenario": True,
        "characterFilter": {"isExclude": False, "names": ["Ada"], "tags": []},
    }  # fmt: skip
    found = book({"entries": {"3": entry}}).entries[0]
    assert (found.uid, found.keys, found.secondary_keys, found.comment) == (3, ("k",), ("s",), "c")
    assert (found.constant, found.vectorized, found.selective, found.enabled) == (True, True, True, False)
    assert (found.logic, found.order, found.position, found.depth, found.role) == (
        "and_all", 7, "at_depth", 2, "assistant",
    )  # fmt: skip
    assert (found.probability, found.use_probability, found.scan_depth) == (50, False, 5)
    assert (found.case_sensitive, found.whole_words, found.group_scoring) == (True, False, True)
    assert (found.group, found.group_override, found.group_weight) == ("g", True, 9)
    assert (found.exclude_recursion, found.prevent_recursion, found.delay_until_recursion) == (True, True, 1)
    assert (found.sticky, found.cooldown, found.delay, found.display_index) == (1, 2, 3, 8)
    assert (found.outlet, found.ignore_budget, found.automation_id) == ("o", True, "auto")
    assert (found.triggers, found.match_sources) == (("normal",), ("scenario",))
    assert found.character_filter == {"isExclude": False, "names": ["Ada"], "tags": []}


def test_the_card_form_has_its_extensions() -> None:
    found = embedded(
        {
            "keys": ["glade"],
            "content": "A glade.",
            "extensions": {"position": 4, "depth": 3, "role": 1, "probability": 50, "selectiveLogic": 3,
                           "case_sensitive": True, "sticky": 2, "group_weight": 5,
                           "match_creator_notes": True},
            "id": 7,
            "insertion_order": "10",
            "position": "before_char",
        }
    ).entries[0]  # fmt: skip
    assert (found.uid, found.order, found.position, found.depth, found.role) == (7, 10, "at_depth", 3, "user")
    assert (found.probability, found.logic, found.case_sensitive) == (50, "and_all", True)
    assert (found.sticky, found.group_weight, found.match_sources) == (2, 5, ("creator_notes",))


@pytest.mark.parametrize(
    ("position", "place"),
    [("before_char", "before"), ("after_char", "after"), (0, "before"), (None, "after")],
)
def test_positions_of_the_card_form(position: Any, place: str) -> None:
    assert embedded({"keys": ["a"], "content": "x", "position": position}).entries[0].position == place


def test_an_entry_without_enabled_is_enabled() -> None:
    assert embedded({"keys": ["a"], "content": "x"}).entries[0].enabled
    assert not embedded({"keys": ["a"], "content": "x", "enabled": False}).entries[0].enabled


def test_the_entrys_own_case_flag_counts_when_its_extensions_have_none() -> None:
    assert embedded({"keys": ["a"], "content": "x", "case_sensitive": True}).entries[0].case_sensitive is True


def test_entries_in_an_object_are_taken_in_number_order() -> None:
    data = v2(
        "Ada",
        character_book={
            "entries": {"1": {"keys": ["b"], "content": "B"}, "0": {"keys": ["a"], "content": "A"}}
        },
    )
    found = read_card(json.dumps(data).encode()).book
    assert found is not None
    assert [entry.content for entry in found.entries] == ["A", "B"]


def test_a_repeated_id_is_renumbered_and_both_stay() -> None:
    found = embedded(*[{"keys": [key], "content": key, "id": 3} for key in "ab"])
    assert [(entry.uid, entry.content) for entry in found.entries] == [(3, "a"), (4, "b")]


def test_keys_in_one_text_are_split_but_not_inside_a_pattern() -> None:
    assert split_keys("one, two ,, /a,b/i, three") == ("one", "two", "/a,b/i", "three")
    assert embedded({"keys": "x, y", "content": "c"}).entries[0].keys == ("x", "y")


def test_blank_keys_stay_and_name_nothing() -> None:
    entry = embedded({"keys": ["", "  ", "a"], "content": "c"}).entries[0]
    assert (entry.keys, entry.label) == (("", "  ", "a"), "a")


def test_the_books_own_settings_are_kept() -> None:
    found = embedded(
        {"keys": ["a"], "content": "x"}, name="B", scan_depth=5, token_budget=300, recursive_scanning=True
    )
    assert (found.name, found.scan_depth, found.token_budget, found.recursive) == ("B", 5, 300, True)


def test_the_limits_refuse_with_their_codes() -> None:
    def nested(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        return value

    entry = {"key": ["a"], "content": "x"}
    assert code({"entries": {str(n): {} for n in range(10_001)}}) == "WORLD_BOOK_ENTRY_LIMIT"
    assert code({"entries": {}, "x": nested(32)}) == "WORLD_BOOK_DEPTH_LIMIT"
    assert code({"entries": {}, "x": [0] * 100_001}) == "WORLD_BOOK_NODE_LIMIT"
    assert code({"entries": {"0": entry}, "x": "y" * (1024 * 1024 + 1)}) == "WORLD_BOOK_STRING_LIMIT"
    assert code({"entries": {}, "k" * 1025: 1}) == "WORLD_BOOK_KEY_LIMIT"
    assert code({"entries": {}, "x": ["y" * 1000] * 4200}) == "WORLD_BOOK_ARTIFACT_TOO_LARGE"
    assert len(book({"entries": {str(n): {} for n in range(10_000)}}).entries) == 10_000


@pytest.mark.parametrize(
    ("value", "hint"),
    [({"prompts": []}, "preset"), ({"data": {}}, "card"), ([], "World Info"), ({}, "World Info")],
)
def test_another_kind_of_file_is_refused_by_name(value: Any, hint: str) -> None:
    with pytest.raises(ResourceError, match=hint) as caught:
        book(value)
    assert caught.value.error_code == "WORLD_BOOK_ROOT_INVALID"


def test_a_hostile_key_is_data() -> None:
    text = b'{"entries": {"__proto__": {"key": ["a"], "content": "x"}}}'
    found = read_world_book(text, "b.json")
    assert found.raw == json.loads(text)
    assert found.entries[0].content == "x"
