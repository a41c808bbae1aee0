"""Changing a strategy one thing at a time."""

from __future__ import annotations

import pytest

from engine.assembler import AUTOMATIC, Strategy
from engine.assembler.editing import (
    add_text,
    change_backend,
    change_rule,
    change_strategy,
    lifetimes_of,
    remove_rule,
    roles_of,
    set_priority,
    takes_depth,
)
from engine.errors import AssemblyError
from tests.engine.assembler.stage import (
    ROLES,
    SLOTS,
    ST,
    laid_out,
    preset,
    registry,
    request,
    standard,
    strategy,
    text,
)

SOURCES = registry().capture()


def refused(code: str, change: object) -> None:
    assert callable(change)
    with pytest.raises(AssemblyError) as caught:
        change()
    assert caught.value.error_code == code


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


async def test_a_text_of_ones_own_keeps_its_role_where_every_entry_does() -> None:
    # given a strategy in which each part has its own role
    own = laid_out(SLOTS, source="manual", identity="preserve")

    # when somebody adds a text for the user's role
    added, _ = add_text(own, "Nudge", "Stay brief.", "user")
    outcome = await standard(request(preset=preset(text("main", "HEAD"))), added)

    # then it is sent in that role
    assert [(it.role, it.text) for it in outcome.logical.messages][-1] == ("user", "Stay brief.")


def test_the_whole_is_set_at_once() -> None:
    changed = change_strategy(SLOTS, name=" Ours ", source="manual", identity="preserve", fallback="error")
    assert (changed.name, changed.placement) == ("Ours", "native-roles")
    layout = changed.layout
    assert layout is not None and (layout.identity, layout.fallback) == ("preserve", "error")
    # what was never said is not written down
    assert change_strategy(SLOTS) == SLOTS


def test_a_strategy_without_places_gets_them_with_who_decides_about_them() -> None:
    assert change_strategy(ROLES, identity="preserve", fallback="error") == ROLES
    placed = change_strategy(ROLES, source="preset-slots")
    assert placed.layout == SLOTS.layout
    assert placed.placement == "native-slots"


def test_the_automatic_order_is_changed_and_switched_off() -> None:
    order = ("default", "resource", "preset")
    other = set_priority(SLOTS, order)
    assert other.layout is not None and other.layout.priority == order
    assert set_priority(other, AUTOMATIC) == SLOTS
    off = set_priority(SLOTS, None)
    assert off.layout is not None and off.layout.priority is None
    assert set_priority(off, AUTOMATIC) == SLOTS


def test_a_plug_ins_priority_keeps_its_place() -> None:
    plugged = laid_out(SLOTS, priority=["example.first", *AUTOMATIC[:1], "example.mid", *AUTOMATIC[1:]])
    other = set_priority(plugged, ("default", "preset", "resource"))
    assert other.layout is not None
    assert other.layout.priority == ("example.first", "default", "example.mid", "preset", "resource")


def test_the_back_end_is_changed_and_changed_back() -> None:
    advanced = change_backend(SLOTS, "core")
    assert (advanced.backend, advanced.placement) == ("core", "st")
    assert change_backend(advanced, "native") == SLOTS
    assert change_backend(ST, "core") == ST
    assert change_backend(change_backend(ROLES, "core"), "native").placement == "native-slots"
    listed = strategy("history", "input", backend="native")
    assert change_backend(change_backend(listed, "core"), "native") == listed


def test_only_what_back_end_and_source_can_do_is_offered() -> None:
    added, _ = add_text(SLOTS, "Nudge", "Stay brief.")
    own, lore, program = added.rules[-1], SLOTS.rules[4], SLOTS.rules[0]
    # the standard back end has no assistant's texts, no depths and nothing that stays
    assert roles_of(added, own, SOURCES) == ("user", "system")
    assert roles_of(SLOTS, lore, SOURCES) == ("preserve", "system", "user")
    assert lifetimes_of(SLOTS, lore, SOURCES) == ("request",)
    assert not takes_depth(SLOTS, lore, SOURCES)
    # the advanced one has them, where the source does
    assert roles_of(ST, lore, SOURCES) == ("preserve", "system", "user", "assistant")
    assert lifetimes_of(ST, lore, SOURCES) == ("request", "snapshot")
    assert lifetimes_of(ST, ST.rules[1], SOURCES) == ("request",)
    assert takes_depth(ST, lore, SOURCES) and not takes_depth(ST, program, SOURCES)
    assert roles_of(ST, program, SOURCES) == ("preserve",)


def test_what_a_rule_already_is_can_be_kept_and_taken_away() -> None:
    odd = change_rule(SLOTS, "worldbook", {"role": "assistant", "lifetime": "snapshot", "depth": 2})
    rule = odd.rules[4]
    assert roles_of(odd, rule, SOURCES)[-1] == "assistant"
    assert lifetimes_of(odd, rule, SOURCES) == ("request", "snapshot")
    assert takes_depth(odd, rule, SOURCES)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda: change_rule(SLOTS, "nobody", {}), "STRATEGY_RULE_NOT_FOUND"),
        (lambda: remove_rule(SLOTS, "preset"), "STRATEGY_RULE_FIXED"),
        (lambda: change_rule(SLOTS, "preset", {"depth": 10_001}), "STRATEGY_INVALID"),
        (lambda: change_strategy(SLOTS, name=" "), "STRATEGY_INVALID"),
        (lambda: change_strategy(SLOTS, identity="none"), "STRATEGY_INVALID"),
        (lambda: set_priority(SLOTS, ("preset", "resource")), "STRATEGY_INVALID"),
        (lambda: set_priority(SLOTS, ("preset", "preset", "default")), "STRATEGY_INVALID"),
        (lambda: set_priority(ROLES, AUTOMATIC), "STRATEGY_NO_LAYOUT"),
    ],
)
def test_what_cannot_be_is_refused(change: object, code: str) -> None:
    refused(code, change)


def test_a_full_strategy_takes_no_more() -> None:
    full: Strategy = SLOTS
    while len(full.rules) < 128:
        full, _ = add_text(full, "", "x")
    refused("STRATEGY_RULES_FULL", lambda: add_text(full, "", "x"))
