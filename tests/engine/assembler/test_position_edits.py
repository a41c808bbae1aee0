"""Modules moved in the list, and parts of them put where somebody wants them."""

from __future__ import annotations

from itertools import permutations

import pytest

from engine.assembler import (
    AUTOMATIC,
    Anchor,
    CharacterAsset,
    Definition,
    Position,
    SavedPosition,
    Strategy,
    read_strategy,
)
from engine.assembler.editing import add_text, set_priority
from engine.assembler.position_edits import (
    anchors_of,
    by_list,
    follow_resource,
    forget_position,
    move_rule,
    place_by_list,
    positions_of,
    put_position,
    saved_position,
    strays_of,
    switch_position,
    unplaceable,
)
from engine.errors import AssemblyError
from tests.engine.assembler.stage import (
    ROLES,
    SLOTS,
    ST,
    advanced,
    laid_out,
    lore,
    marker,
    preset,
    registry,
    request,
    standard,
    text,
)

SOURCES = registry().capture()
KINDS = [rule.kind for rule in SLOTS.rules]
ADA = CharacterAsset("c", "Ada", description="SMITH", personality="KIND")
STORY = request(
    preset=preset(
        text("main", "HEAD"), marker("worldInfoBefore"), marker("charDescription"), marker("chatHistory")
    ),
    lore=(lore("LORE", "before_character_definition"),),
    character=ADA,
)


async def sent(how: Strategy) -> list[tuple[str, str]]:
    outcome = await standard(STORY, how)
    return [(message.role, message.text) for message in outcome.logical.messages]


# --- modules


async def test_a_module_that_is_moved_behind_the_history_is_sent_there() -> None:
    assert (await sent(SLOTS)).index(("system", "LORE")) == 2
    # when the world book is moved behind the history
    moved = move_rule(SLOTS, "worldbook", 5, SOURCES)
    # then its entry stands between what was said and what is said now
    assert (await sent(moved))[-3:] == [("user", "OLD"), ("user", "LORE"), ("user", "NOW")]


def test_moving_changes_the_order_and_who_places_and_nothing_else() -> None:
    moved = move_rule(SLOTS, "worldbook", 5, SOURCES)
    assert [it.kind for it in moved.rules] == [*KINDS[:4], "history", "worldbook", "input", "phi"]
    assert by_list(moved, moved.rules[5])
    assert not by_list(moved, moved.rules[3])
    # the conversation and the preset cannot be dragged, and without a layout nothing is
    assert move_rule(SLOTS, "history", 2, SOURCES).layout == SLOTS.layout
    assert move_rule(SLOTS, "preset", 0, SOURCES).layout == SLOTS.layout
    assert move_rule(ROLES, "worldbook", 5, SOURCES).layout is None


def test_a_place_is_given_back() -> None:
    listed = place_by_list(SLOTS, "worldbook", SOURCES, by_list=True)
    assert place_by_list(listed, "worldbook", SOURCES, by_list=False) == SLOTS


# --- single positions


async def test_a_position_is_put_behind_the_conversation_by_itself() -> None:
    # given lore before the card, when only that is put behind what was said
    put = put_position(SLOTS, "worldbook", "before", Anchor("history", "content", "after"), SOURCES)

    # then it stands there, in the role of that place, and the card stays
    assert await sent(put) == [
        ("system", "HEAD"),
        ("system", "SMITH"),
        ("system", "KIND"),
        ("user", "OLD"),
        ("user", "LORE"),
        ("user", "NOW"),
    ]
    # and following the resource gives it back
    assert follow_resource(put, "worldbook", "before", SOURCES) == SLOTS


async def test_a_field_of_the_card_is_put_before_a_text_of_the_preset() -> None:
    put = put_position(SLOTS, "character", "personality", Anchor("preset", "main", "before"), SOURCES)
    assert (await sent(put))[0] == ("system", "KIND")


@pytest.mark.parametrize("order", [None, *permutations(AUTOMATIC)])
async def test_what_a_person_placed_wins_over_every_automatic_order(order: tuple[str, ...] | None) -> None:
    put = put_position(set_priority(SLOTS, order), "worldbook", "before", "end", SOURCES)
    assert (await sent(put))[-1] == ("user", "LORE")


async def test_it_wins_in_the_advanced_back_end_too() -> None:
    put = put_position(ST, "worldbook", "before", Anchor("history", "content", "after"), SOURCES)
    outcome = await advanced(STORY, put)
    texts = [message.text for message in outcome.logical.messages]
    assert texts.index("LORE") == texts.index("OLD") + 1


async def test_a_position_is_left_out_and_let_in_again() -> None:
    off = switch_position(SLOTS, "character", "description", SOURCES, on=False)
    assert ("system", "SMITH") not in await sent(off)
    assert ("system", "KIND") in await sent(off)
    assert switch_position(off, "character", "description", SOURCES, on=True) == SLOTS
    # where it was put stays with it
    put = put_position(off, "character", "description", "end", SOURCES)
    assert not saved_position(put, "character", "description").enabled
    back = switch_position(put, "character", "description", SOURCES, on=True)
    assert saved_position(back, "character", "description") == SavedPosition(
        "character", "description", True, True, "end"
    )


def test_what_was_said_of_others_keeps_its_order() -> None:
    # given positions in an order of another program's own
    written = [
        {"sourceId": "worldbook", "positionId": "after", "enabled": True, "placement": "list"},
        {"sourceId": "character", "positionId": "scenario", "enabled": True, "placement": "list"},
    ]
    given = laid_out(SLOTS, positions=written)

    # when something is said of a third
    off = switch_position(given, "character", "description", SOURCES, on=False)

    # then the two are as they were, and undoing it leaves nothing behind
    assert off.layout is not None
    assert [it.key for it in off.layout.positions or () if it.dragged] == [
        ("worldbook", "after"),
        ("character", "scenario"),
    ]
    assert switch_position(off, "character", "description", SOURCES, on=True) == given


def test_nothing_stands_next_to_what_stands_next_to_it() -> None:
    # given the scenario behind the lore, and the lore behind the persona
    one = put_position(SLOTS, "character", "scenario", Anchor("worldbook", "before", "after"), SOURCES)
    two = put_position(one, "worldbook", "before", Anchor("persona", "persona", "after"), SOURCES)

    # when the persona would be put next to the scenario
    with pytest.raises(AssemblyError) as caught:
        put_position(two, "persona", "persona", Anchor("character", "scenario", "before"), SOURCES)

    # then that is refused, and not offered either
    assert caught.value.error_code == "POSITION_ANCHOR_CYCLE"
    offered = anchors_of(two, ("persona", "persona"), SOURCES)
    assert ("character", "scenario") not in offered and ("worldbook", "before") not in offered
    assert ("character", "personality") in offered and ("history", "content") in offered
    # what was given back holds nothing any more
    free = follow_resource(two, "worldbook", "before", SOURCES)
    assert ("worldbook", "before") in anchors_of(free, ("persona", "persona"), SOURCES)


def test_what_is_off_is_no_anchor() -> None:
    off = switch_position(SLOTS, "character", "scenario", SOURCES, on=False)
    assert ("character", "scenario") not in anchors_of(off, ("persona", "persona"), SOURCES)
    assert ("character", "scenario") in anchors_of(SLOTS, ("persona", "persona"), SOURCES)
    assert ("persona", "persona") not in anchors_of(SLOTS, ("persona", "persona"), SOURCES)


def test_why_a_part_has_no_place_of_its_own() -> None:
    added, _ = add_text(SLOTS, "Nudge", "Stay brief.")
    assert unplaceable(added, added.rules[-1], SOURCES) == "text"
    assert unplaceable(SLOTS, SLOTS.rules[5], SOURCES) == "fixed"
    assert unplaceable(SLOTS, SLOTS.rules[4], {}) == "source"
    assert unplaceable(ROLES, ROLES.rules[4], SOURCES) == "layout"
    assert unplaceable(SLOTS, SLOTS.rules[4], SOURCES) is None
    with pytest.raises(AssemblyError) as caught:
        put_position(ROLES, "worldbook", "before", "end", SOURCES)
    assert caught.value.error_code == "STRATEGY_NO_LAYOUT"
    with pytest.raises(AssemblyError) as caught:
        put_position(SLOTS, "persona", "persona", Anchor("persona", "persona", "before"), SOURCES)
    assert caught.value.error_code == "POSITION_ANCHOR_CYCLE"


def test_what_was_said_of_places_that_are_not_here_can_be_forgotten() -> None:
    written = [{"sourceId": "character", "positionId": "voice", "enabled": False, "placement": "source"}]
    given = laid_out(SLOTS, positions=written)
    stray = SavedPosition("character", "voice", False)
    assert strays_of(given, given.rules[3], SOURCES) == [stray]
    assert strays_of(SLOTS, SLOTS.rules[3], SOURCES) == []
    assert forget_position(given, "character", "voice") == SLOTS


def test_positions_that_a_source_keeps_to_itself_are_not_offered() -> None:
    source = Definition(
        id="example.memory",
        plugin_id="example",
        name="Memory",
        resolve=lambda context, rule: None,
        positions=(
            Position("near", ("近", "Near"), field="near"),
            Position("inner", ("内", "Inner"), configurable=False),
        ),
    )
    wire = SLOTS.to_wire()
    wire["rules"].append({"id": "memory", "kind": "example.memory"})
    given = read_strategy(wire)
    found = positions_of(given.rules[-1], {**SOURCES, source.id: source})
    assert [position.id for position in found] == ["near"]
    assert positions_of(given.rules[-1], SOURCES) == ()
