"""Changing a strategy one thing at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.assembler import Strategy, read_strategy
from engine.assembler.editing import (
    add_text,
    by_list,
    change_rule,
    change_strategy,
    move_rule,
    place_by_list,
    remove_rule,
)
from engine.errors import AssemblyError
from tests.engine.assembler.stage import ROLES, SLOTS, lore, marker, preset, registry, request, standard, text

SOURCES = registry().capture()
KINDS = [rule.kind for rule in SLOTS.rules]


def kinds(strategy: Strategy) -> list[str]:
    return [rule.kind for rule in strategy.rules]


async def test_a_module_that_is_moved_behind_the_history_is_sent_there() -> None:
    # given a preset that puts the lore before the conversation
    given_request = request(
        preset=preset(text("main", "HEAD"), marker("worldInfoBefore"), marker("chatHistory")),
        lore=(lore("LORE", "before_character_definition"),),
    )

    # when the world book is moved behind the history
    moved = move_rule(SLOTS, "worldbook", 5, SOURCES)
    outcome = await standard(given_request, moved)

    # then its entry stands between what was said and what is said now
    assert [(m.role, m.text) for m in outcome.logical.messages] == [
        ("system", "HEAD"),
        ("user", "OLD"),
        ("user", "LORE"),
        ("user", "NOW"),
    ]


def test_moving_changes_the_order_and_who_places_and_nothing_else() -> None:
    moved = move_rule(SLOTS, "worldbook", 5, SOURCES)
    assert kinds(moved) == [*KINDS[:4], "history", "worldbook", "input", "phi"]
    assert by_list(moved, moved.rules[5])
    assert not by_list(moved, moved.rules[3])
    # the conversation and the preset cannot be dragged, and without a layout nothing is
    assert move_rule(SLOTS, "history", 2, SOURCES).layout == SLOTS.layout
    assert move_rule(SLOTS, "preset", 0, SOURCES).layout == SLOTS.layout
    assert move_rule(ROLES, "worldbook", 5, SOURCES).layout is None


def test_a_place_is_given_back() -> None:
    listed = place_by_list(SLOTS, "worldbook", SOURCES, by_list=True)
    assert place_by_list(listed, "worldbook", SOURCES, by_list=False) == SLOTS


def test_a_text_is_added_changed_and_removed() -> None:
    added, rule_id = add_text(SLOTS, "Nudge", "Stay brief.", "system")
    rule = added.rules[-1]
    assert (rule.id, rule.kind, rule.name, rule.text, rule.role) == (
        rule_id,
        "custom",
        "Nudge",
        "Stay brief.",
        "system",
    )
    changed = change_rule(added, rule_id, {"role": "user", "delivery": "pre-step", "depth": 3})
    rule = changed.rules[-1]
    assert (rule.role, rule.delivery, rule.depth) == ("user", "pre-step", 3)
    assert change_rule(changed, rule_id, {"delivery": None}).rules[-1].delivery is None
    assert remove_rule(changed, rule_id) == SLOTS


def test_the_whole_is_set_at_once() -> None:
    changed = change_strategy(SLOTS, name=" Ours ", source="manual", fallback="error", tidy_history=True)
    assert (changed.name, changed.placement) == ("Ours", "native-roles")
    assert changed.layout is not None and changed.layout.fallback == "error"
    assert changed.history_policy is not None and changed.history_policy.enabled
    # what was never chosen is not written down
    assert change_strategy(SLOTS, name=SLOTS.name, tidy_history=False) == SLOTS


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda: change_rule(SLOTS, "nobody", {}), "STRATEGY_RULE_NOT_FOUND"),
        (lambda: remove_rule(SLOTS, "preset"), "STRATEGY_RULE_FIXED"),
        (lambda: change_rule(SLOTS, "preset", {"depth": 10_001}), "STRATEGY_INVALID"),
        (lambda: change_strategy(SLOTS, name=" "), "STRATEGY_INVALID"),
    ],
)
def test_what_cannot_be_is_refused(change: object, code: str) -> None:
    assert callable(change)
    with pytest.raises(AssemblyError) as caught:
        change()
    assert caught.value.error_code == code


def test_a_full_strategy_takes_no_more() -> None:
    full = SLOTS
    while len(full.rules) < 128:
        full, _ = add_text(full, "", "x")
    with pytest.raises(AssemblyError) as caught:
        add_text(full, "", "x")
    assert caught.value.error_code == "STRATEGY_RULES_FULL"


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(-1, 9)), max_size=12))
def test_whatever_is_moved_stays_a_strategy_of_the_same_modules(moves: list[tuple[str, int]]) -> None:
    strategy = SLOTS
    for rule_id, place in moves:
        strategy = move_rule(strategy, rule_id, place, SOURCES)
    assert sorted(kinds(strategy)) == sorted(KINDS)
    assert read_strategy(strategy.to_wire()) == strategy
