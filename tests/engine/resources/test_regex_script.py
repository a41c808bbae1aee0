"""Regex scripts are read from whatever carries them and written back as they came."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ResourceError
from engine.resources import (
    Diagnostics,
    RegexScript,
    edit_script,
    parse_scripts,
    read_regex_scripts,
    script_json,
    scripts_within,
    with_scripts,
    write_regex_scripts,
)
from engine.resources.regex_script import MAX_SCRIPTS

SCRIPT: dict[str, Any] = {
    "id": "6f1b",
    "scriptName": "Hide thoughts",
    "findRegex": "/<think>[\\s\\S]*?<\\/think>/g",
    "replaceString": "",
    "trimStrings": ["*"],
    "placement": [2, 6],
    "disabled": False,
    "markdownOnly": True,
    "promptOnly": False,
    "runOnEdit": True,
    "substituteRegex": 0,
    "minDepth": None,
    "maxDepth": 4,
    "somebodys": {"own": [1, None]},
}


def read(value: Any) -> Any:
    return read_regex_scripts(json.dumps(value).encode())


def test_one_script_is_read_from_its_own_file() -> None:
    found = read(SCRIPT)

    (script,) = found.scripts
    assert found.single
    assert found.warnings == ()
    assert (script.id, script.name, script.find) == ("6f1b", "Hide thoughts", SCRIPT["findRegex"])
    assert (script.trim, script.placements) == (("*",), {2, 6})
    assert (script.disabled, script.display_only, script.prompt_only, script.run_on_edit) == (
        False,
        True,
        False,
        True,
    )
    assert (script.substitute, script.min_depth, script.max_depth) == (0, None, 4)


@pytest.mark.parametrize(
    "holder",
    [
        [SCRIPT],
        {"regex_scripts": [SCRIPT]},
        {"prompts": [], "extensions": {"regex_scripts": [SCRIPT]}},
        {"spec": "chara_card_v2", "data": {"extensions": {"regex_scripts": [SCRIPT]}}},
    ],
)
def test_lists_presets_and_cards_carry_scripts(holder: Any) -> None:
    found = read(holder)

    assert [script.name for script in found.scripts] == ["Hide thoughts"]
    assert not found.single


def test_the_places_are_looked_at_in_order() -> None:
    first, second, third = ({**SCRIPT, "id": name} for name in "abc")
    holder: dict[str, Any] = {
        "regex_scripts": [first],
        "extensions": {"regex_scripts": [second]},
        "data": {"extensions": {"regex_scripts": [third]}},
    }

    assert scripts_within(holder) == [first]
    del holder["regex_scripts"]
    assert scripts_within(holder) == [second]
    holder["extensions"]["regex_scripts"] = "none"
    assert scripts_within(holder) == [third]
    assert scripts_within({"data": []}) is None


def test_a_list_is_replaced_as_a_whole_where_it_stands() -> None:
    scripts = parse_scripts([SCRIPT], Diagnostics())
    holder = {"name": "P", "extensions": {"regex_scripts": [{"old": 1}], "other": 2}}

    assert with_scripts(holder, scripts) == {
        "name": "P",
        "extensions": {"regex_scripts": [SCRIPT], "other": 2},
    }
    assert holder["extensions"] == {"regex_scripts": [{"old": 1}], "other": 2}


def test_without_a_list_it_is_made_where_the_format_has_it() -> None:
    scripts = parse_scripts([SCRIPT], Diagnostics())

    assert with_scripts({"name": "P"}, scripts) == {"name": "P", "extensions": {"regex_scripts": [SCRIPT]}}
    card = {"spec": "chara_card_v3", "data": {"name": "A", "extensions": {"fav": True}}}
    assert with_scripts(card, scripts) == {
        "spec": "chara_card_v3",
        "data": {"name": "A", "extensions": {"fav": True, "regex_scripts": [SCRIPT]}},
    }
    assert with_scripts({"data": {"extensions": None}}, ()) == {"data": {"extensions": {"regex_scripts": []}}}


def test_an_edit_changes_its_own_field_only() -> None:
    (script,) = parse_scripts([SCRIPT], Diagnostics())

    edited = edit_script(script, name="Hide", placements=frozenset({2}), trim=(), max_depth=None)

    assert script_json(edited) == {
        **SCRIPT,
        "scriptName": "Hide",
        "placement": [2],
        "trimStrings": [],
        "maxDepth": None,
    }
    with pytest.raises(ResourceError) as refused:
        edit_script(script, colour="red")
    assert refused.value.error_code == "REGEX_SCRIPT_INVALID"


def test_a_new_script_has_all_fields() -> None:
    new = RegexScript("i", "n", "f")

    assert script_json(new) == {
        "id": "i",
        "scriptName": "n",
        "findRegex": "f",
        "replaceString": "",
        "trimStrings": [],
        "placement": [2],
        "disabled": False,
        "markdownOnly": False,
        "promptOnly": False,
        "runOnEdit": False,
        "substituteRegex": 0,
        "minDepth": None,
        "maxDepth": None,
    }


def test_a_file_that_was_written_reads_as_before() -> None:
    found = read([SCRIPT, {**SCRIPT, "id": "2"}])

    assert read_regex_scripts(write_regex_scripts(found.scripts)).scripts == found.scripts
    assert json.loads(write_regex_scripts(found.scripts[:1], single=True)) == SCRIPT


LOOSE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.text(max_size=5),
    st.lists(st.integers(-1, 7), max_size=3),
)


@given(st.dictionaries(st.sampled_from([*SCRIPT, "x"]), LOOSE))
def test_whatever_a_script_holds_is_written_as_it_came(raw: dict[str, Any]) -> None:
    for script in parse_scripts([raw], Diagnostics()):
        assert script_json(script) == raw


def test_what_tools_wrote_badly_is_mended() -> None:
    raw = {
        "scriptName": None,
        "findRegex": "/x/g",
        "trimStrings": "*",
        "placement": ["1", 2, 9],
        "substituteRegex": True,
        "minDepth": "",
        "maxDepth": "3",
        "disabled": "false",
    }
    notes = Diagnostics()

    (script,) = parse_scripts([raw], notes)

    assert (script.id, script.name, script.trim, script.placements) == ("", "/x/g", ("*",), {1, 2})
    assert (script.substitute, script.min_depth, script.max_depth, script.disabled) == (1, None, 3, False)
    assert "unknown-placement" in {note.code for note in notes.all()}


@pytest.mark.parametrize(
    ("placement", "expected", "both"),
    [([0], {1, 2, 3, 5, 6}, True), ([0, 2], {2}, True), ([4], {3}, False), ([1, 4], {1, 3}, False)],
)
def test_places_of_old_are_moved(placement: list[int], expected: set[int], both: bool) -> None:
    (script,) = parse_scripts([{**SCRIPT, "placement": placement, "markdownOnly": False}], Diagnostics())

    assert script.placements == expected
    assert (script.display_only, script.prompt_only) == (both, both)
    assert script_json(script)["placement"] == placement


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(None, None, (None, None)), (-1, 0, (-1, 0)), (-2, -1, (None, None)), (1.0, 2, (1, 2))],
)
def test_depths_below_what_there_is_are_no_limits(
    low: Any, high: Any, expected: tuple[int | None, int | None]
) -> None:
    (script,) = parse_scripts([{**SCRIPT, "minDepth": low, "maxDepth": high}], Diagnostics())

    assert (script.min_depth, script.max_depth) == expected


def test_a_bad_script_is_left_out_and_the_rest_goes_on() -> None:
    found = read([SCRIPT, "no script", {"findRegex": {"a": 1}}])

    assert [script.name for script in found.scripts] == ["Hide thoughts"]
    assert [(note.code, note.where) for note in found.warnings] == [
        ("invalid-script", "regex_scripts.1"),
        ("invalid-script", "regex_scripts.2"),
    ]


def test_the_line_ends_of_a_pattern_are_kept() -> None:
    (script,) = parse_scripts([{"findRegex": "/a\r\nb/", "replaceString": "\x01"}], Diagnostics())

    assert (script.find, script.replacement) == ("/a\r\nb/", "\x01")


@pytest.mark.parametrize("value", [{"a": 1}, 3, "text"])
def test_a_file_without_scripts_is_refused(value: Any) -> None:
    with pytest.raises(ResourceError) as refused:
        read(value)

    assert refused.value.error_code == "REGEX_SCRIPT_INVALID"


def test_there_is_a_limit_to_a_list() -> None:
    assert len(read([SCRIPT] * MAX_SCRIPTS).scripts) == MAX_SCRIPTS
    with pytest.raises(ResourceError) as refused:
        read([SCRIPT] * (MAX_SCRIPTS + 1))
    assert refused.value.error_code == "REGEX_SCRIPT_TOO_LARGE"
