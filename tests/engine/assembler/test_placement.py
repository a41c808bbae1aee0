"""Placement strategies of others, legacy overrides, positions, and the fine print of both back ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from engine.assembler import (
    Algorithms,
    Candidate,
    Choice,
    PersonaAsset,
    read_metadata,
    require_advanced,
    resolve_sources,
)
from engine.assembler.assembly import assemble
from engine.codec import canonical, loads
from engine.errors import AssemblyError
from tests.engine.assembler.stage import (
    ROLES,
    SLOTS,
    ST,
    TALK,
    advanced,
    answered,
    calling,
    card,
    changed,
    codes,
    laid_out,
    lore,
    marker,
    next_turn,
    preset,
    read,
    registry,
    request,
    result,
    said,
    source,
    standard,
    strategy,
    system,
    text,
)

BOOK = (lore("BEFORE", "before_character_definition"), lore("AFTER"))
VENDOR = ["vendor.first", "preset", "resource", "default"]


def choosing(choice: Any) -> Any:
    algorithms = Algorithms()
    algorithms.register("vendor.first", lambda candidates: choice(candidates))
    return algorithms.capture()


def lore_first(candidates: Sequence[Candidate]) -> Choice:
    mine = [it.id for it in candidates if it.source_id == "worldbook"]
    return Choice(mine, [*mine, *(it.id for it in candidates if it.id not in mine)])


async def test_others_may_place_what_they_claim() -> None:
    given = request(preset=preset(text("main", "M"), marker("chatHistory")), lore=BOOK)
    how = laid_out(ST, priority=VENDOR)
    resolution = await resolve_sources(given, how, registry().capture())
    logical = assemble(given, resolution, choosing(lore_first))
    assert [it.text for it in logical.messages] == ["BEFORE", "OLD", "NOW", "AFTER", "M"]
    assert logical.stages[1] == ("vendor.first", ("worldbook:worldbook:BEFORE", "worldbook:worldbook:AFTER"))


@pytest.mark.parametrize(
    "choice",
    [
        lambda _: None,
        lambda _: Choice(["nobody"]),
        lambda found: Choice([], [it.id for it in found][::-1]),
        lambda found: Choice([found[0].id, found[0].id]),
        lambda found: Choice([found[0].id], [found[0].id]),
        lambda found: Choice([[]]),
        lambda found: Choice(5),
        lambda found: Choice([], [1, *(it.id for it in found[1:])]),
        lambda found: found[0].nothing,
    ],
)
async def test_an_order_that_is_none_of_its_nodes_is_refused(choice: Any) -> None:
    given = request(preset=preset(text("main", "M"), marker("chatHistory")), lore=BOOK)
    with pytest.raises(AssemblyError) as caught:
        await standard(given, laid_out(SLOTS, priority=VENDOR), algorithms=choosing(choice))
    assert caught.value.error_code == "POSITION_STRATEGY_INVALID"


async def test_others_roles_follow_the_place_they_chose() -> None:
    def last(candidates: Sequence[Candidate]) -> Choice:
        mine = [it.id for it in candidates if it.source_id == "persona"]
        return Choice(mine, [*(it.id for it in candidates if it.id not in mine), *mine])

    given = request(preset=preset(marker("chatHistory"), text("end", "E")), character=card(description="C"))
    outcome = await standard(given, laid_out(SLOTS, priority=VENDOR), algorithms=choosing(last))
    assert read(outcome) == ["system:C", "[OLD]", "[NOW]", "user:E"]


def test_names_of_placement_strategies_are_taken_once() -> None:
    algorithms = Algorithms()
    dispose = algorithms.register("vendor.first", lore_first)
    for name in ("vendor.first", "preset", "user", "-x"):
        with pytest.raises(AssemblyError):
            algorithms.register(name, lore_first)
    dispose()
    assert algorithms.capture() == {}


# Legacy overrides


def move(target: str, anchor: str, side: str = "before", *, detach: bool = False) -> dict[str, Any]:
    return {"target": target, "anchor": anchor, "side": side, "detach": detach}


async def test_an_override_moves_one_block() -> None:
    given = request(preset=preset(text("a", "A"), text("b", "B"), marker("chatHistory")))
    how = laid_out(ST, overrides=[move("block:preset:preset:b", "block:preset:preset:a")])
    assert read(await advanced(given, how)) == ["system:B", "system:A", "[OLD]", "[NOW]"]


async def test_what_a_slot_holds_must_be_taken_out_of_it() -> None:
    given = request(
        preset=preset(text("a", "A"), marker("worldInfoAfter"), marker("chatHistory")), lore=BOOK[1:]
    )
    held = move("block:worldbook:worldbook:AFTER", "block:preset:preset:a")
    with pytest.raises(AssemblyError) as caught:
        await advanced(given, laid_out(ST, overrides=[held]))
    assert caught.value.error_code == "ASSEMBLY_LAYOUT_UNSUPPORTED"
    free = {**held, "detach": True}
    assert read(await advanced(given, laid_out(ST, overrides=[free])))[:2] == ["system:AFTER", "system:A"]


async def test_a_missing_target_is_remarked_or_refused() -> None:
    gone = laid_out(ST, overrides=[move("block:none", "block:none2")])
    assert codes(await advanced(request(), gone)) == ["LAYOUT_TARGET_MISSING"]
    with pytest.raises(AssemblyError) as caught:
        await advanced(request(), laid_out(gone, fallback="error"))
    assert caught.value.error_code == "LAYOUT_TARGET_MISSING"


async def test_no_override_crosses_the_conversation_in_the_standard_back_end() -> None:
    how = laid_out(
        SLOTS, identity="preserve", overrides=[move("block:preset:preset:a", "rule:input", "after")]
    )
    with pytest.raises(AssemblyError) as caught:
        await standard(request(preset=preset(text("a", "A"), marker("chatHistory"))), how)
    assert caught.value.error_code == "ASSEMBLY_LAYOUT_UNSUPPORTED"


# Positions


def saved(source_id: str, position_id: str, **more: Any) -> dict[str, Any]:
    return {"sourceId": source_id, "positionId": position_id, "enabled": True, "placement": "list", **more}


async def test_roles_that_are_kept_keep_a_dragged_text_in_its_region() -> None:
    how = laid_out(SLOTS, identity="preserve", positions=[saved("worldbook", "before", anchor="end")])
    given = request(preset=preset(text("a", "A"), marker("chatHistory")), lore=BOOK)
    outcome = await standard(given, how)
    assert "POSITION_CONFLICT" in codes(outcome)
    assert read(outcome) == ["system:A", "system:BEFORE", "system:AFTER", "[OLD]", "[NOW]"]


async def test_the_conversation_cannot_be_dragged() -> None:
    outcome = await advanced(request(), laid_out(ST, positions=[saved("history", "content", anchor="end")]))
    assert read(outcome) == ["[OLD]", "[NOW]"]
    assert codes(outcome) == ["POSITION_CONFLICT"]


async def test_dragging_the_conversation_is_not_silently_forgotten_in_the_standard_back_end() -> None:
    how = laid_out(SLOTS, positions=[saved("history", "content", anchor="end")])
    outcome = await standard(request(preset=preset(marker("chatHistory"))), how)
    assert read(outcome) == ["[OLD]", "[NOW]"]
    assert codes(outcome) == ["POSITION_CONFLICT"]


@pytest.mark.parametrize("enabled", [True, False])
async def test_a_dragged_text_goes_beside_the_conversation_as_its_neighbour_in_the_layout(
    enabled: bool,
) -> None:
    neighbour = saved("input", "content", placement="source", enabled=enabled)
    how = laid_out(SLOTS, positions=[saved("worldbook", "before"), neighbour])
    given = request(preset=preset(text("a", "A"), marker("chatHistory")), lore=BOOK)
    assert read(await standard(given, how)) == [
        "system:A", "system:AFTER", "[OLD]", "user:BEFORE", "[NOW]",
    ]  # fmt: skip


async def test_a_position_that_is_off_takes_its_text_out_of_slots_and_macros() -> None:
    off = saved("character", "description", placement="source", enabled=False)
    prompts = preset(text("main", "T {{description}}"), marker("charDescription"), marker("chatHistory"))
    given = request(preset=prompts, character=card(description="C"))
    assert read(await standard(given, laid_out(SLOTS, positions=[off]))) == ["system:T", "[OLD]", "[NOW]"]


async def test_the_standard_back_end_keeps_the_history_whatever_a_layout_says() -> None:
    off = saved("history", "content", placement="source", enabled=False)
    given = request(preset=preset(marker("chatHistory")))
    assert read(await standard(given, laid_out(SLOTS, positions=[off]))) == ["[OLD]", "[NOW]"]
    assert read(await advanced(given, laid_out(ST, positions=[off]))) == ["[NOW]"]


async def test_a_position_without_an_anchor_goes_beside_its_neighbours_in_the_layout() -> None:
    given = request(character=card(description="C", scenario="S", personality="P"), lore=BOOK)
    behind = [saved("character", "description", placement="source"), saved("worldbook", "after")]
    outcome = await advanced(given, laid_out(ST, positions=behind, priority=None))
    texts = [line for line in read(outcome) if line.startswith("system")]
    assert texts == ["system:C", "system:AFTER", "system:P", "system:S", "system:BEFORE"]


async def test_messages_that_a_source_takes_stand_at_the_depth_of_its_rule_unless_they_say_one() -> None:
    taking = {"type": "native", "id": "n", "messageIds": ["NOW"]}
    how = strategy("history", {"id": "v", "kind": "v.a", "depth": 1})
    assert read(await advanced(request(), how, source("v.a", taking))) == ["[NOW]", "[OLD]"]
    last = {**taking, "depth": 0}
    assert read(await advanced(request(), how, source("v.a", last))) == ["[OLD]", "[NOW]"]


async def test_depths_are_lost_to_the_list_but_not_without_a_priority() -> None:
    deep = (lore("L", "at_depth", depth=1),)
    spine = preset(marker("chatHistory"))
    kept = await advanced(request(preset=spine, lore=deep), laid_out(ST, priority=None))
    assert read(kept) == ["[OLD]", "system:L", "[NOW]"]
    lost = await advanced(
        request(preset=spine, lore=deep), laid_out(ST, priority=["default", "resource", "preset"])
    )
    assert read(lost) == ["[OLD]", "[NOW]", "system:L"]


# Sections, series, records


async def test_official_sections_stand_where_the_programs_module_stands() -> None:
    given = request(preset=preset(text("a", "A")))
    late = strategy("preset", "native-system", "history", "input", backend="native", placement="native-roles")
    outcome = await standard(given, late, sections={"one": "ONE", "two": "TWO"})
    assert [part.text for part in outcome.sections] == ["A", "ONE", "TWO"]
    assert outcome.system_text == "A\n\nONE\n\nTWO"


async def test_a_series_goes_on_while_the_system_text_is_the_same() -> None:
    given = request(system("s", "ONE"), *TALK)
    assert not (await standard(given, ROLES, sections={"one": "ONE"})).reconcile_system
    assert (await standard(given, ROLES, sections={"one": "OTHER"})).reconcile_system
    updated = request(said("OLD"), system("s", "ONE"), said("NOW"))
    assert (await standard(updated, ROLES, sections={"one": "ONE"})).reconcile_system


async def test_a_text_sent_by_the_strategy_is_refused_where_it_would_break_the_conversation() -> None:
    how = strategy("history", {"id": "x", "kind": "custom", "text": "X"}, "input")
    native = (said("u"), calling("c", "1"), result("r", "1"))
    with pytest.raises(AssemblyError) as caught:
        await advanced(request(*native, inputs=("r",)), how)
    assert caught.value.error_code == "TOOL_TRANSACTION_BROKEN"


async def test_a_record_is_json_and_the_next_request_goes_on_from_it() -> None:
    how = changed(strategy("history", "input", "worldbook"), worldbook={"lifetime": "snapshot"})
    given = request(lore=(lore("HOTEL"),))
    first = await advanced(given, how)
    recorded = read_metadata(loads(canonical(dict(first.metadata))))
    assert recorded.retained == first.logical.retained
    assert recorded.revision == how.revision
    again = replace(
        given,
        native=(*TALK, answered("a")),
        input_ids=frozenset({"a"}),
        retained=recorded.retained,
        previous=recorded.previous or {},
    )
    outcome = await advanced(again, how)
    assert read(outcome) == ["[OLD]", "[NOW]", "system:HOTEL", "[a]"]
    assert read_metadata({"owner": "somebody"}).retained == ()
    # as the program that this one follows writes them: whole messages, and no text of their own
    theirs = {"id": "x", "ruleId": "a", "hash": "0", "messages": [], "afterId": None, "nativeAfterId": None}
    foreign = {"owner": "pmp-dsh-tavern", "strategy": {"revision": "r"}, "snapshots": [theirs]}
    assert read_metadata(foreign) == read_metadata({"owner": "dsh-prompt-assembler"}) == read_metadata(None)
    assert read_metadata(None).revision is None


async def test_a_vanished_text_of_the_strategy_leaves_its_neighbour_at_the_conversation() -> None:
    def with_text(words: str) -> Any:
        volatile = {"id": "x", "kind": "custom", "role": "user", "text": words}
        kept = {"id": "b", "kind": "custom", "role": "user", "text": "B", "lifetime": "snapshot"}
        return strategy("history", "input", volatile, kept)

    first = await advanced(request(), with_text("ONE"))
    assert read(first) == ["[OLD]", "[NOW]", "user:ONE", "user:B"]
    given = next_turn(request(), first, *TALK, answered("a"), input_ids=frozenset({"a"}))
    second = await advanced(given, with_text("TWO"))
    assert read(second) == ["[OLD]", "[NOW]", "user:B", "[a]", "user:TWO"]
    assert codes(second) == ["SNAPSHOT_ANCHORED_TO_NATIVE_HISTORY"]


async def test_a_retained_text_never_comes_between_a_call_and_its_result() -> None:
    how = changed(strategy("history", "input", "worldbook"), worldbook={"lifetime": "snapshot"})
    given = request(lore=(lore("HOTEL"),))
    first = await advanced(given, how)
    moved = replace(first.logical.retained[0], after_id="c")
    native = (said("u"), calling("c", "1"), result("r", "1"), said("NOW"))
    outcome = await advanced(replace(given, native=native, retained=(moved,)), how)
    assert read(outcome) == ["[u]", "[c]", "[r]", "system:HOTEL", "[NOW]"]


async def test_adjacent_system_texts_of_the_program_are_one_and_empty_ones_none() -> None:
    given = request(system("s1", "ONE"), system("s2", "TWO"), *TALK)
    outcome = await advanced(given, strategy("native-system", "history", "input"))
    carrier = outcome.projection.carriers[0]
    assert carrier.replaced_native_ids == ("s1",)
    assert outcome.messages[0]["id"] == "s2"


def test_the_advanced_back_end_is_refused_where_it_is_off() -> None:
    require_advanced(True)
    with pytest.raises(AssemblyError) as caught:
        require_advanced(False)
    assert caught.value.error_code == "REQUEST_ASSEMBLY_CORE_REQUIRED"


async def test_a_standard_strategy_is_none_of_the_advanced_back_end() -> None:
    with pytest.raises(AssemblyError) as caught:
        await advanced(request(), SLOTS)
    assert caught.value.error_code == "ASSEMBLY_NATIVE_UNAVAILABLE"


# Macros of fields


async def test_a_persona_may_name_the_card_and_the_card_the_persona() -> None:
    given = request(
        persona=PersonaAsset("me", "Ada", "I know {{char}}: {{description}}"),
        character=card(name="Maren", description="{{char}} is {{personality}}", personality="calm"),
    )
    how = strategy("persona", "history", "input")
    assert read(await advanced(given, how))[0] == "system:I know Maren: Maren is calm"
    loop = request(
        persona=PersonaAsset("me", "Ada", "A{{scenario}}"), character=card(scenario="B{{scenario}}")
    )
    assert read(await advanced(loop, how))[0] == "system:ABBBBB"
    back = request(
        persona=PersonaAsset("me", "Ada", "brave"), character=card(description="{{user}} is {{persona}}.")
    )
    assert read(await advanced(back, strategy("character", "history", "input")))[0] == "system:Ada is brave."


@pytest.mark.parametrize("kind", ["persona", "custom"])
async def test_a_short_text_cannot_grow_without_end(kind: str) -> None:
    often = "{{description}}" * 1000
    given = request(persona=PersonaAsset("me", "Ada", often), character=card(description="x" * 100_000))
    how = strategy({"id": "x", "kind": kind, "text": often}, "history", "input")
    with pytest.raises(AssemblyError) as caught:
        await advanced(given, how)
    assert caught.value.error_code == "ASSEMBLY_TOO_LARGE"


async def test_macros_of_time_and_choice_follow_the_request() -> None:
    when = datetime(2024, 3, 5, 14, 7, tzinfo=UTC)
    how = strategy({"id": "x", "kind": "custom", "text": "{{isodate}} {{pick::a::b::c}}"}, "history", "input")
    given = replace(request(), now=when, seed="story")
    first, again = read(await advanced(given, how))[0], read(await advanced(given, how))[0]
    assert first == again
    assert first.startswith("user:2024-03-05 ")
