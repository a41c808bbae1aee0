"""What a panel tells of a card."""

from typing import Any

from engine.resources import Card, Diagnostics, card_facts, compatibility, parse_card
from tests.engine.resources.pngs import v2, v3


def card(raw: Any) -> Card:
    return parse_card(raw, Diagnostics())


def test_sizes_are_counted_by_part_and_empty_parts_left_out() -> None:
    entries = [
        {"keys": ["a"], "content": "ffff", "comment": "Lore"},
        {"keys": ["b"], "content": "ignored", "enabled": False, "comment": "x [INITVAR] start"},
    ]
    facts = card_facts(
        card(
            v3(
                description="dd",
                first_mes="g",
                alternate_greetings=["not counted", " "],
                group_only_greetings=["all"],
                system_prompt="s",
                post_history_instructions="p",
                extensions={"depth_prompt": {"prompt": "nnn", "depth": 2, "role": "system"}},
                character_book={"entries": entries},
                tags=None,
            )
        ),
        len,
    )
    assert facts.tokens == (("description", 2), ("greeting", 1), ("instructions", 5), ("book", 4))
    assert (facts.greetings, facts.group_greetings) == (2, 1)
    assert (facts.entries, facts.entries_on, facts.variables) == (2, 1, ("x [INITVAR] start",))
    assert facts.warnings == 0


def test_scripts_are_counted_by_whose_they_are() -> None:
    extensions = {
        "regex_scripts": [{}, {}],
        "TavernHelper_scripts": [{}],
        "tavern_helper": [["scripts", [{}, {}]], ["variables", {}], "noise"],
        "risuai": {"customScripts": [{}], "triggerscript": [{}, {}], "emotions": [["a", "__asset:1"]]},
    }
    facts = card_facts(card(v2(extensions=extensions)), len)
    assert (facts.scripts, facts.helper_scripts, facts.risu_scripts) == (2, 3, 3)
    assert facts.assets == {"sprite": 1}
    as_object = card_facts(card(v2(extensions={"tavern_helper": {"scripts": [{}]}})), len)
    assert as_object.helper_scripts == 1
    assert card_facts(card(v2(extensions={"tavern_helper": 7, "risuai": []})), len).risu_scripts == 0


def test_what_passes_through_is_told_with_its_code() -> None:
    found = compatibility(
        card(
            {
                **v3(
                    assets=[{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
                    extensions={
                        "chub": 1,
                        "depth_prompt": {"prompt": "n", "depth": 2},
                        "risuai": {"customScripts": [1]},
                    },
                    character_book={"entries": []},
                    post_history_instructions="p",
                ),
                "spec_version": "3.7",
            }
        )
    )
    assert [remark.code for remark in found.warnings] == [
        "newer-v3-version",
        "v3-assets-pass-through",
        "extensions-pass-through",
        "embedded-character-book-pass-through",
        "post-history-runtime-required",
        "depth-prompt-runtime-required",
    ]
    assert found.warnings[2].data == {"names": "chub"}
    assert found.unsupported == ("risu-scripts",)
    assert compatibility(card(v2())).warnings == ()


def test_unknown_macros_are_named_once() -> None:
    entries = [{"keys": ["a"], "content": "{{getvar::x}} {{#if y}}"}]
    found = compatibility(
        card(
            v2(
                description="{{user}} {{Blorp::1}} {{blorp}} {{ // note }} {{}} {{",
                character_book={"entries": entries},
            )
        ),
        {"user", "getvar", "if"}.__contains__,
    )
    assert found.unknown_macros == ("blorp",)
