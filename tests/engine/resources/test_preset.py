"""Presets: which order counts, which prompts are on, what is stripped."""

import json
from typing import Any

import pytest

from engine.errors import ResourceError
from engine.resources import Preset, read_preset


def preset(**root: Any) -> Preset:
    return read_preset(json.dumps({"prompts": [], **root}).encode(), "Fireside.json")


def prompt(identifier: str, content: str = "x", **more: Any) -> dict[str, Any]:
    return {"identifier": identifier, "content": content, **more}


def order(owner: Any, *items: Any) -> dict[str, Any]:
    return {
        "character_id": owner,
        "order": [
            item if isinstance(item, dict) else {"identifier": item, "enabled": True} for item in items
        ],
    }


def shown(found: Preset) -> list[tuple[str, bool]]:
    return [(item.identifier, item.enabled) for item in found.prompts]


def test_the_global_order_counts_and_the_rest_follows_switched_off() -> None:
    found = preset(
        prompts=[prompt("a"), prompt("b"), prompt("c", enabled=True), prompt("d")],
        prompt_order=[order(100000, "a"), order(100001, "b", "a")],
    )
    assert shown(found) == [("b", True), ("a", True), ("c", True), ("d", False)]
    assert found.order_id == 100001


def test_repeated_and_unknown_names_vanish_from_the_model_and_stay_in_the_raw_copy() -> None:
    orders = [order(100001, "a", "a", "zzz", "b")]
    found = preset(prompts=[prompt("a"), prompt("b"), prompt("c")], prompt_order=orders)
    assert shown(found) == [("a", True), ("b", True), ("c", False)]
    assert found.raw["prompt_order"] == orders


def test_the_older_order_counts_when_it_is_all_there_is() -> None:
    found = preset(
        prompts=[prompt("a"), prompt("b")],
        prompt_order=[order(7, "a", "b"), order(100000, {"identifier": "b", "enabled": False})],
    )
    assert shown(found) == [("b", False), ("a", False)]


def test_among_other_orders_the_one_that_knows_most_prompts_counts() -> None:
    found = preset(
        prompts=[prompt("a"), prompt("b")], prompt_order=[order(1, "zzz", "a"), order(2, "b", "a")]
    )
    assert found.order_id == 2


def test_a_name_that_is_repeated_is_known_once() -> None:
    orders = [order(1, "a", "a", "a"), order(2, "b", "a")]
    assert preset(prompts=[prompt("a"), prompt("b")], prompt_order=orders).order_id == 2


def test_the_number_of_an_order_may_be_written_as_a_text() -> None:
    orders = [order(100000, "a"), order("100001", "b")]
    found = preset(prompts=[prompt("a"), prompt("b")], prompt_order=orders)
    assert (found.order_id, shown(found)) == (100001, [("b", True), ("a", False)])


@pytest.mark.parametrize("owner", [True, None, 1.5, "", "x", "9" * 30, [1], {}])
@pytest.mark.parametrize("name", [["a"], {"a": 1}, None, 7, "zzz"])
def test_an_order_of_a_strange_owner_or_with_strange_names_is_read_all_the_same(
    owner: object, name: object
) -> None:
    entries = {"identifier": name, "enabled": True}
    found = preset(prompts=[prompt("a")], prompt_order=[order(owner, entries, "a")])
    assert (found.order_id, shown(found)) == (None, [("a", True)])


def test_without_an_order_texts_are_on_and_markers_are_not() -> None:
    found = preset(
        prompts=[prompt("m", "", marker=True), prompt("t"), prompt("e", ""), prompt("off", enabled=False)]
    )
    assert shown(found) == [("m", False), ("t", True), ("e", False), ("off", False)]


def test_roles_positions_and_names() -> None:
    found = preset(
        prompts=[
            prompt("a", role="model", injection_position=1, injection_depth=2, injection_order="50"),
            prompt("b", role="narrator", forbid_overrides=True, injection_trigger=["continue"]),
            {"content": "nameless"},
        ]
    )
    first, second, third = found.prompts
    assert (first.role, first.in_chat, first.depth, first.order) == ("assistant", True, 2, 50)
    assert (second.role, second.forbid_overrides, second.triggers) == ("user", True, ("continue",))
    assert (third.identifier, third.role) == ("prompt-3", "system")


def test_only_four_parameters_come_out_and_the_rest_stays_raw() -> None:
    found = preset(
        temperature="0.7", openai_max_tokens=500, reasoning_effort="high", stop="END", top_p=0.9, min_p=0.1
    )
    assert (found.temperature, found.max_tokens, found.reasoning_effort, found.stop) == (
        0.7,
        500,
        "high",
        ("END",),
    )
    assert (found.raw["top_p"], found.raw["min_p"]) == (0.9, 0.1)


@pytest.mark.parametrize("effort", ["auto", "", None, "max", 3])
def test_an_effort_that_is_not_known_is_never_guessed(effort: Any) -> None:
    assert preset(reasoning_effort=effort).reasoning_effort is None


def test_at_most_sixteen_stop_texts() -> None:
    found = preset(stop=[str(number) for number in range(20)] + [""])
    assert found.stop == tuple(str(number) for number in range(16))


def test_endpoints_and_secrets_are_gone_from_everything_that_is_kept() -> None:
    found = preset(
        reverse_proxy="http://evil",
        proxy_password="hunter2",
        custom_url="http://x",
        custom_include_headers="Authorization: Bearer s3cret",
        custom_include_body="b",
        custom_exclude_body="e",
        azure_base_url="u",
        vertexai_region="r",
        openai_api_key="sk-1",
        api_key_custom="sk-2",
        chat_completion_source="openai",
        openai_model="gpt-4o",
        openai_max_tokens=300,
        max_context_unlocked=True,
    )
    kept = json.dumps(found.raw)
    for secret in ("evil", "hunter2", "s3cret", "sk-1", "sk-2", "custom_url", "azure", "vertexai"):
        assert secret not in kept
    assert found.raw["openai_model"] == "gpt-4o"
    assert found.raw["openai_max_tokens"] == 300
    assert [warning.code for warning in found.warnings] == ["connection-stripped"]
    assert "hunter2" not in found.warnings[0].message


def test_empty_connection_fields_are_dropped_without_a_word() -> None:
    found = preset(reverse_proxy="", proxy_password="")
    assert found.warnings == ()
    assert "reverse_proxy" not in found.raw


def test_the_three_prompts_of_an_old_preset_take_their_places() -> None:
    data = json.dumps({"main_prompt": "M", "jailbreak_prompt": "J", "temperature": 1}).encode()
    found = read_preset(data, "old.json")
    texts = {item.identifier: item.content for item in found.prompts}
    assert (texts["main"], texts["jailbreak"]) == ("M", "J")
    assert "nsfw" not in texts
    assert found.prompts[0].identifier == "main"


def test_the_name_is_the_files_and_an_id_in_the_file_is_nothing() -> None:
    found = read_preset(json.dumps({"prompts": [], "id": "../../x"}).encode(), "../dir/My Preset.json")
    assert found.name == "My Preset"


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ([], "no JSON object"),
        ({}, "chat-completion"),
        ({"entries": {}}, "world book"),
        ({"spec": "chara_card_v2"}, "card"),
        ({"temp": 1, "rep_pen": 1}, "text-completion"),
    ],
)
def test_what_is_no_preset_is_refused(value: Any, hint: str) -> None:
    with pytest.raises(ResourceError, match=hint) as caught:
        read_preset(json.dumps(value).encode(), "x.json")
    assert caught.value.error_code == "PRESET_INVALID"


def test_broken_and_oversized_files_are_refused() -> None:
    with pytest.raises(ResourceError) as broken:
        read_preset(b'{"prompts": [', "x.json")
    assert broken.value.error_code == "PRESET_INVALID"
    with pytest.raises(ResourceError) as large:
        read_preset(b" " * (2 * 1024 * 1024 + 1), "x.json")
    assert large.value.error_code == "PRESET_TOO_LARGE"
