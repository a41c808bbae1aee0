"""Editing a card: nothing changes but what was changed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ResourceError
from engine.resources import EDITABLE, Card, Diagnostics, edit_card, parse_card
from tests.engine.resources.pngs import v2, v3


def read(raw: Any) -> Card:
    return parse_card(raw, Diagnostics())


def refusal(raw: Any, patch: Any) -> ResourceError:
    before = json.dumps(raw)
    with pytest.raises(ResourceError) as caught:
        edit_card(raw, patch)
    assert json.dumps(raw) == before
    return caught.value


def test_a_rename_leaves_everything_unknown_where_it_was() -> None:
    raw = {
        **v3("Ada", extensions={"chub/x": {"id": 1}, "__proto__": [2]}, hologram={"a": None}),
        "constructor": 3,
    }
    edited = edit_card(raw, {"name": "Bea"}, now=1_700_000_000)
    assert edited == {**raw, "data": {**raw["data"], "name": "Bea", "modification_date": 1_700_000_000}}
    assert raw["data"]["name"] == "Ada"


def test_copies_at_the_top_level_change_along_and_no_new_ones_appear() -> None:
    raw = {
        **v2("Ada", tags=[], creator_notes=""),
        "name": "Ada",
        "creatorcomment": "",
        "tags": [],
        "fav": True,
    }
    edited = edit_card(raw, {"name": "Bea", "tags": ["elf"], "creator_notes": "n", "scenario": "s"})
    assert edited == {
        "spec": "chara_card_v2",
        "spec_version": "2.0",
        "data": {"name": "Bea", "tags": ["elf"], "creator_notes": "n", "scenario": "s"},
        "name": "Bea",
        "creatorcomment": "n",
        "tags": ["elf"],
        "fav": True,
    }


def test_a_v1_card_keeps_its_shape() -> None:
    raw = {"name": "Ada", "creatorcomment": "old", "chat": "x"}
    edited = edit_card(raw, {"creator_notes": "new", "system_prompt": "s"})
    assert edited == {"name": "Ada", "creatorcomment": "new", "chat": "x", "system_prompt": "s"}
    assert (read(edited).creator_notes, read(edited).system_prompt) == ("new", "s")


def test_a_pygmalion_card_keeps_its_field_names() -> None:
    edited = edit_card({"char_name": "Pyg", "char_greeting": "hi"}, {"first_mes": "hey", "tags": ["elf"]})
    assert edited == {"char_name": "Pyg", "char_greeting": "hey", "tags": ["elf"]}
    assert (read(edited).first_mes, read(edited).tags) == ("hey", ("elf",))


def test_tags_that_are_null_become_an_array_only_when_they_are_edited() -> None:
    raw = v2("Ada", tags=None, alternate_greetings=None)
    assert edit_card(raw, {"name": "Bea"})["data"]["tags"] is None
    assert edit_card(raw, {"tags": []})["data"]["tags"] == []
    assert edit_card(raw, {"alternate_greetings": []})["data"]["alternate_greetings"] == []


@pytest.mark.parametrize(
    ("data", "patch"),
    [
        ({"description": "a\r\nb"}, {"description": "a\nb"}),
        ({"description": None}, {"description": ""}),
        ({}, {"nickname": "", "alternate_greetings": [], "tags": []}),
        ({"tags": "a, b"}, {"tags": ["a", "b"]}),
        ({"character_version": 1.2}, {"character_version": "1.2"}),
        ({"alternate_greetings": "x"}, {"alternate_greetings": ["x"]}),
    ],
)
def test_what_reads_the_same_already_is_left_as_it_came(data: Any, patch: Any) -> None:
    raw = v3("Ada", **data)
    assert edit_card(raw, patch, now=5) == raw


def test_a_withheld_date_stays_withheld_and_old_cards_get_none() -> None:
    assert edit_card(v3("Ada", modification_date=0), {"name": "B"}, now=5)["data"]["modification_date"] == 0
    assert "modification_date" not in edit_card(v2("Ada"), {"name": "B"}, now=5)["data"]


@pytest.mark.parametrize("key", ["data.foo", "extensions", "firstMessage", "character_book", ""])
def test_an_unknown_field_is_refused(key: str) -> None:
    error = refusal(v2("Ada"), {"description": "new", key: "x"})
    assert error.error_code == "CARD_FIELD_UNKNOWN"
    assert error.data["field"] == key


@pytest.mark.parametrize(
    "patch",
    [
        {"name": ""},
        {"name": " \u200b "},
        {"name": "x" * 201},
        {"name": 5},
        {"description": None},
        {"description": "a\ud800"},
        {"tags": "a, b"},
        {"tags": [1]},
        {"alternate_greetings": {"a": "b"}},
    ],
)
def test_a_value_of_another_kind_is_refused(patch: Any) -> None:
    error = refusal(v2("Ada"), patch)
    assert error.error_code == "CARD_FIELD_INVALID"
    assert error.data["field"] == next(iter(patch))


def test_a_card_that_would_become_too_large_is_refused() -> None:
    error = refusal(v2("Ada"), {"description": "x" * 9_000_000})
    assert error.error_code == "CHARACTER_DOCUMENT_TOO_LARGE"


words = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
unknown = st.dictionaries(st.text(max_size=8).map(lambda key: "x_" + key), anything, max_size=4)


@given(
    unknown,
    unknown,
    st.sampled_from(["v1", "v2", "v3"]),
    st.dictionaries(
        st.sampled_from([key for key in EDITABLE if key not in ("tags", "name")]), words, max_size=4
    ),
)
def test_an_edit_reads_back_and_touches_nothing_else(
    top: dict[str, Any], inner: dict[str, Any], spec: str, texts: dict[str, str]
) -> None:
    patch: dict[str, Any] = {
        key: [value] if key == "alternate_greetings" else value for key, value in texts.items()
    }
    raw = (
        {**top, "name": "Ada", **inner}
        if spec == "v1"
        else {**top, **{"v2": v2, "v3": v3}[spec]("Ada", **inner)}
    )
    edited = edit_card(raw, patch)
    again = read(edited)
    for key, value in patch.items():
        found = getattr(again, key)
        # the creator's notes are shown trimmed
        assert (found if not isinstance(found, tuple) else list(found)) == (
            value.strip() if key == "creator_notes" else value
        )
    data, before = (edited, raw) if spec == "v1" else (edited["data"], raw["data"])
    assert {key: value for key, value in data.items() if key not in patch} == before
    assert edit_card(edited, patch) == edited
