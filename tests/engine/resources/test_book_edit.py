"""Changing world books, in the stand-alone form and in the card form; and books of other programs."""

import base64
import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ResourceError
from engine.resources import (
    ENTRY_FIELDS,
    Diagnostics,
    add_entry,
    blank_book,
    edit_book,
    edit_entry,
    edit_own_book,
    parse_world_book,
    read_world_book,
    remove_entry,
)
from tests.engine.resources.pngs import picture, text

ALONE = {
    "name": "Lore",
    "extra": 1,
    "entries": {
        "0": {"uid": 0, "key": ["fox"], "content": "red", "disable": False, "vendor": {"a": 1}},
        "3": {"uid": 3, "key": ["owl"], "content": "grey", "disable": True},
    },
}
CARD = {
    "name": "Lore",
    "entries": [
        {
            "id": 0,
            "keys": ["fox"],
            "content": "red",
            "enabled": True,
            "insertion_order": 5,
            "extensions": {"z": 1},
        },
        {"keys": ["owl"], "content": "grey", "enabled": False, "insertion_order": 1},
    ],
}
V3 = {"spec": "lorebook_v3", "data": CARD}


def entries(raw: Any) -> Any:
    return parse_world_book(raw, Diagnostics()).entries


@pytest.mark.parametrize("book", [ALONE, CARD, V3])
def test_an_entry_says_afterwards_what_was_set(book: Any) -> None:
    uid = entries(book)[1].uid
    patch = {
        "keys": ["heron", "/cr.w/i"],
        "secondary_keys": ["night"],
        "content": "white",
        "comment": "Birds",
        "enabled": True,
        "constant": True,
        "selective": True,
        "order": 7,
        "position": "at_depth",
        "depth": 2,
        "role": "user",
        "logic": "not_any",
        "probability": 40,
        "use_probability": True,
        "case_sensitive": True,
        "whole_words": False,
        "scan_depth": 3,
        "sticky": 2,
        "cooldown": 1,
        "delay": None,
        "group": "g",
        "group_weight": 50,
        "exclude_recursion": True,
        "ignore_budget": True,
        "triggers": ["normal"],
    }
    before = copy.deepcopy(book)
    changed = entries(edit_entry(book, uid, patch))[1]
    for field, value in patch.items():
        told = getattr(changed, field)
        assert (list(told) if isinstance(told, tuple) else told) == value, field
    assert entries(edit_entry(book, uid, patch))[0] == entries(book)[0]
    assert book == before


def test_nothing_else_of_the_file_changes() -> None:
    edited = edit_entry(ALONE, 0, {"content": "blue"})
    assert edited == ALONE | {
        "entries": ALONE["entries"] | {"0": ALONE["entries"]["0"] | {"content": "blue"}}
    }  # type: ignore[operator, index]
    card = edit_entry(CARD, 0, {"content": "blue"})
    assert card["entries"][0] == CARD["entries"][0] | {"content": "blue"}  # type: ignore[index, operator]
    wrapped = edit_entry(V3, 0, {"content": "blue"})
    assert wrapped == {"spec": "lorebook_v3", "data": card}


def test_a_cards_position_is_said_in_both_places() -> None:
    before = edit_entry(CARD, 0, {"position": "before"})["entries"][0]
    after = edit_entry(CARD, 0, {"position": "outlet"})["entries"][0]
    assert (before["position"], before["extensions"]) == ("before_char", {"z": 1, "position": 0})
    assert (after["position"], after["extensions"]["position"]) == ("after_char", 7)


def test_an_entry_without_extensions_gets_none_for_a_plain_field() -> None:
    assert "extensions" not in edit_entry(CARD, entries(CARD)[1].uid, {"content": "x"})["entries"][1]


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({"foo": 1}, "FIELD_UNKNOWN"),
        ({"position": "somewhere"}, "FIELD_INVALID"),
        ({"probability": 101}, "FIELD_INVALID"),
        ({"keys": "fox"}, "FIELD_INVALID"),
        ({"keys": [1]}, "FIELD_INVALID"),
        ({"enabled": "yes"}, "FIELD_INVALID"),
        ({"depth": -1}, "FIELD_INVALID"),
        ({"content": "\ud800"}, "FIELD_INVALID"),
    ],
)
def test_what_cannot_be_is_refused(patch: dict[str, Any], code: str) -> None:
    with pytest.raises(ResourceError) as refused:
        edit_entry(ALONE, 0, patch)
    assert refused.value.error_code == code


@pytest.mark.parametrize("book", [ALONE, CARD, V3, blank_book("New")])
def test_an_added_entry_comes_last_and_can_be_removed(book: Any) -> None:
    added, uid = add_entry(book, {"keys": ["elk"], "content": "brown"})
    assert [entry.uid for entry in entries(added)] == [*(entry.uid for entry in entries(book)), uid]
    assert entries(added)[-1].keys == ("elk",)
    assert remove_entry(added, uid) == book


def test_an_entry_that_is_not_there_is_said_so() -> None:
    for attempt in (lambda: edit_entry(ALONE, 9, {}), lambda: remove_entry(ALONE, 9)):
        with pytest.raises(ResourceError) as missing:
            attempt()
        assert missing.value.error_code == "WORLD_BOOK_ENTRY_NOT_FOUND"


def test_entries_are_found_also_where_others_are_passed_over_or_renumbered() -> None:
    book = {
        "entries": [
            7,
            {"mode": "folder", "keys": [], "content": ""},
            {"id": 1, "keys": ["a"], "content": "first"},
            {"id": 1, "keys": ["b"], "content": "second"},
        ]
    }
    uids = [entry.uid for entry in entries(book)]
    edited = edit_entry(book, uids[1], {"content": "changed"})
    assert edited["entries"][3]["content"] == "changed"
    assert edited["entries"][:3] == book["entries"][:3]


def test_a_book_is_named_and_set() -> None:
    edited = edit_book(ALONE, {"name": "Old lore", "scan_depth": 4, "recursive_scanning": True})
    found = parse_world_book(edited, Diagnostics())
    assert (found.name, found.scan_depth, found.recursive, edited["extra"]) == ("Old lore", 4, True, 1)
    assert "scan_depth" not in edit_book(edited, {"scan_depth": None})
    assert parse_world_book(edit_book(V3, {"name": "N"}), Diagnostics()).name == "N"


def test_a_novelai_book_is_converted_also_from_its_picture() -> None:
    book = {
        "lorebookVersion": 5,
        "entries": [
            {
                "text": "Red.",
                "displayName": "Fox",
                "keys": ["fox"],
                "enabled": True,
                "forceActivation": True,
                "contextConfig": {"budgetPriority": 400},
            },
            {"text": "Grey.", "displayName": "Owl", "keys": ["owl"], "enabled": False},
        ],
    }
    data = json.dumps(book).encode()
    for source in (data, picture(text(b"naidata", base64.b64encode(data)))):
        found = read_world_book(source, "book")
        fox, owl = found.entries
        assert (fox.keys, fox.content, fox.comment, fox.order, fox.constant) == (
            ("fox",),
            "Red.",
            "Fox",
            400,
            True,
        )
        assert (fox.enabled, fox.selective, fox.position) == (True, False, "before")
        assert (owl.enabled, owl.order) == (False, 0)
        assert "book-converted" in {remark.code for remark in found.warnings}


def test_an_agnai_book_is_converted() -> None:
    book = {
        "kind": "memory",
        "name": "Village",
        "entries": [{"keywords": ["inn"], "entry": "Warm.", "name": "Inn", "weight": 3, "enabled": True}],
    }
    found = read_world_book(json.dumps(book).encode())
    (inn,) = found.entries
    assert (found.name, inn.keys, inn.content, inn.comment, inn.order) == (
        "Village",
        ("inn",),
        "Warm.",
        "Inn",
        3,
    )


def test_a_risu_book_is_converted_without_its_folders() -> None:
    book = {
        "type": "risu",
        "ver": 1,
        "data": [
            {"key": "", "comment": "Places", "content": "", "mode": "folder"},
            {
                "key": "inn, tavern",
                "secondkey": "night",
                "comment": "Inn",
                "content": "Warm.",
                "mode": "normal",
                "insertorder": 120,
                "alwaysActive": True,
                "selective": True,
                "activationPercent": 30,
            },
        ],
    }
    (inn,) = read_world_book(json.dumps(book).encode()).entries
    assert (inn.keys, inn.secondary_keys, inn.selective) == (("inn", "tavern"), ("night",), True)
    assert (inn.order, inn.constant, inn.probability, inn.use_probability) == (120, True, 30, True)


def test_a_picture_without_a_book_says_so() -> None:
    with pytest.raises(ResourceError) as refused:
        read_world_book(picture())
    assert refused.value.error_code == "WORLD_BOOK_ROOT_INVALID"


@given(
    st.dictionaries(
        st.sampled_from(sorted(ENTRY_FIELDS)),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=5)
        | st.lists(st.text(max_size=5), max_size=2),
    )
)
def test_a_patch_of_any_values_is_taken_whole_or_refused(patch: dict[str, Any]) -> None:
    for book in (ALONE, CARD):
        try:
            edited = edit_entry(book, 0, patch)
        except ResourceError as error:
            assert error.error_code == "FIELD_INVALID"
        else:
            assert entries(edited)[1] == entries(book)[1]


# --- the book that a card brings along


@pytest.mark.parametrize("wrapped", [True, False], ids=["v2", "v1"])
def test_a_cards_own_book_is_changed_where_it_stands(wrapped: bool) -> None:
    fields = {"name": "Mira", "character_book": {"entries": [{"id": 3, "keys": ["a"], "content": "A"}]}}
    card = {"spec": "chara_card_v2", "kept": 1, "data": fields} if wrapped else fields

    changed = edit_own_book(card, lambda book: edit_entry(book, 3, {"content": "B"}))

    holder = changed["data"] if wrapped else changed
    assert holder["character_book"]["entries"] == [{"id": 3, "keys": ["a"], "content": "B"}]
    assert holder["name"] == "Mira"
    assert fields["character_book"]["entries"][0]["content"] == "A"  # type: ignore[index]


@pytest.mark.parametrize("card", [{"data": {"name": "Mira"}}, {"name": "Mira"}, {"character_book": None}])
def test_a_card_without_a_book_has_none_to_change(card: dict[str, object]) -> None:
    with pytest.raises(ResourceError) as refused:
        edit_own_book(card, lambda book: dict(book))
    assert refused.value.error_code == "WORLD_BOOK_ROOT_INVALID"
