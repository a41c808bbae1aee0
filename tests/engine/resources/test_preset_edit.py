"""Changing presets: the file differs only where it was changed."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ResourceError
from engine.resources import (
    Diagnostics,
    add_prompt,
    blank_preset,
    edit_preset,
    edit_prompt,
    move_prompt,
    parse_preset,
    remove_prompt,
)


def preset(**more: Any) -> dict[str, Any]:
    return {
        "temperature": 0.9,
        "max_tokens": 300,
        "prompts": [
            {"identifier": "main", "name": "Main", "content": "Write.", "x": 1},
            {"identifier": "chatHistory", "name": "History", "marker": True},
            {"identifier": "jailbreak", "name": "Post", "content": "Stay."},
        ],
        "prompt_order": [
            {"character_id": 5, "order": [{"identifier": "jailbreak", "enabled": True}]},
            {
                "character_id": 100001,
                "order": [
                    {"identifier": "main", "enabled": True, "note": "n"},
                    {"identifier": "chatHistory", "enabled": True},
                    {"identifier": "jailbreak", "enabled": False},
                ],
            },
        ],
    } | more


def names(raw: Any) -> list[tuple[str, bool]]:
    return [(prompt.identifier, prompt.enabled) for prompt in parse_preset(raw, Diagnostics()).prompts]


def test_parameters_are_written_where_sillytavern_reads_them() -> None:
    edited = edit_preset(preset(), {"max_tokens": 800, "temperature": None, "stop": ["\nAna:"]})
    assert edited["openai_max_tokens"] == 800
    assert "max_tokens" not in edited
    assert "temperature" not in edited
    assert parse_preset(edited, Diagnostics()).stop == ("\nAna:",)


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({"top_p": 1}, "FIELD_UNKNOWN"),
        ({"temperature": 2.1}, "FIELD_INVALID"),
        ({"temperature": True}, "FIELD_INVALID"),
        ({"temperature": float("nan")}, "FIELD_INVALID"),
        ({"max_tokens": 0}, "FIELD_INVALID"),
        ({"reasoning_effort": "huge"}, "FIELD_INVALID"),
        ({"stop": ["s"] * 17}, "FIELD_INVALID"),
        ({"stop": "s"}, "FIELD_INVALID"),
    ],
)
def test_what_cannot_be_is_refused(patch: dict[str, Any], code: str) -> None:
    with pytest.raises(ResourceError) as refused:
        edit_preset(preset(), patch)
    assert refused.value.error_code == code


def test_a_prompt_is_switched_in_the_order_that_counts_and_in_no_other() -> None:
    came = preset()
    edited = edit_prompt(came, "jailbreak", {"enabled": True})
    assert names(edited)[2] == ("jailbreak", True)
    assert edited["prompt_order"][0] == came["prompt_order"][0]
    assert edited["prompt_order"][1]["order"][0]["note"] == "n"
    assert edited["prompts"] == came["prompts"]


def test_a_prompts_text_and_place_are_changed_and_the_rest_stays() -> None:
    edited = edit_prompt(preset(), "main", {"content": "Go.", "in_chat": True, "depth": 2, "role": "user"})
    assert edited["prompts"][0] == {
        "identifier": "main",
        "name": "Main",
        "content": "Go.",
        "x": 1,
        "role": "user",
        "injection_position": 1,
        "injection_depth": 2,
    }


def test_a_marker_has_no_text() -> None:
    with pytest.raises(ResourceError) as refused:
        edit_prompt(preset(), "chatHistory", {"content": "x"})
    assert refused.value.error_code == "PROMPT_IS_MARKER"
    assert names(edit_prompt(preset(), "chatHistory", {"enabled": False}))[1] == ("chatHistory", False)


def test_prompts_are_added_moved_and_removed() -> None:
    added, new = add_prompt(preset(), {"name": "Tone", "content": "Dark."}, at=1)
    assert names(added) == [("main", True), (new, True), ("chatHistory", True), ("jailbreak", False)]
    moved = move_prompt(added, new, 3)
    assert [name for name, _ in names(moved)] == ["main", "chatHistory", "jailbreak", new]
    assert names(remove_prompt(moved, new)) == names(preset())
    for change in (edit_prompt, lambda raw, name, _: remove_prompt(raw, name)):
        with pytest.raises(ResourceError) as missing:
            change(preset(), "nothing", {})
        assert missing.value.error_code == "PROMPT_NOT_FOUND"


def test_an_added_prompt_needs_a_name() -> None:
    with pytest.raises(ResourceError) as refused:
        add_prompt(preset(), {"content": "x"})
    assert refused.value.error_code == "FIELD_INVALID"


def test_a_preset_without_an_order_gets_one_when_something_is_switched() -> None:
    came = preset()
    del came["prompt_order"]
    edited = edit_prompt(came, "main", {"enabled": False})
    assert edited["prompt_order"] == [
        {
            "character_id": 100001,
            "order": [
                {"identifier": "main", "enabled": False},
                {"identifier": "chatHistory", "enabled": False},
                {"identifier": "jailbreak", "enabled": True},
            ],
        }
    ]


def test_a_preset_from_before_the_prompt_manager_gets_its_prompts() -> None:
    edited = edit_prompt({"main_prompt": "Old.", "jailbreak_prompt": "J"}, "main", {"content": "New."})
    assert parse_preset(edited, Diagnostics()).prompts[0].content == "New."
    assert edited["main_prompt"] == "Old."


def test_an_empty_preset_is_one() -> None:
    found = parse_preset(blank_preset("Mine"), Diagnostics())
    assert (found.temperature, [prompt.identifier for prompt in found.prompts]) == (1, ["main"])


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("move"), st.integers(0, 5), st.integers(-2, 8)),
            st.tuples(st.just("switch"), st.integers(0, 5), st.booleans()),
            st.tuples(st.just("add"), st.integers(0, 5), st.integers(0, 5)),
            st.tuples(st.just("remove"), st.integers(0, 5), st.integers(0, 0)),
        ),
        max_size=8,
    )
)
def test_any_edits_keep_every_other_prompt_and_never_touch_what_came(steps: list[Any]) -> None:
    came = preset()
    before = copy.deepcopy(came)
    raw: Any = came
    model = names(raw)
    for kind, at, value in steps:
        if kind == "add":
            raw, new = add_prompt(raw, {"name": "n"}, at=at)
            model.insert(at, (new, True))
        elif model:
            name, enabled = model[at % len(model)]
            if kind == "move":
                raw = move_prompt(raw, name, value)
                model.remove((name, enabled))
                model.insert(max(0, value), (name, enabled))
            elif kind == "switch":
                raw = edit_prompt(raw, name, {"enabled": value})
                model[at % len(model)] = (name, value)
            else:
                raw = remove_prompt(raw, name)
                model.remove((name, enabled))
        assert names(raw) == model
    assert came == before
