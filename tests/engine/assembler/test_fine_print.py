"""Rules of the seed and of assembler spec 2 to 4 where several of them meet."""

from __future__ import annotations

from typing import Any

import pytest

from engine.assembler import Strategy, resolve_sources
from engine.assembler.assembly import assemble
from engine.assembler.projection import project_system
from engine.errors import AssemblyError
from tests.engine.assembler.stage import (
    ST,
    advanced,
    card,
    codes,
    laid_out,
    lore,
    marker,
    preset,
    read,
    registry,
    request,
    said,
    sent,
    source,
    strategy,
    system,
    text,
)

UPDATED = (system("BASE1"), said("OLD"), system("BASE2"), said("NOW"))
"""A conversation whose program text changed in the middle."""


# --- a later system text of the program keeps its place between what comes out (spec 2.5)


@pytest.mark.parametrize(
    ("rules", "prompts"),
    [
        (("native-system", "preset"), (text("main", "M"), marker("chatHistory"))),
        (("native-system", "preset", "history"), (text("main", "M"), marker("chatHistory"))),
        (("native-system", "preset", "history", "input"), (text("main", "M"),)),
    ],
)
async def test_also_where_the_list_names_no_conversation_and_a_reference_brings_it(
    rules: tuple[str, ...], prompts: tuple[Any, ...]
) -> None:
    how = strategy(*rules, placement="st")
    outcome = await advanced(request(*UPDATED, preset=preset(*prompts)), how)
    assert read(outcome) == ["[BASE1]", "system:M", "[OLD]", "[BASE2]", "[NOW]"]
    assert sent(outcome) == ["system:BASE1\n\nM", "user:OLD", "system:BASE2\n\nM", "user:NOW"]


async def test_also_where_another_source_brings_the_conversation() -> None:
    taking = source("v.a", {"type": "native", "id": "n", "messageIds": ["OLD", "NOW"]})
    outcome = await advanced(request(*UPDATED), strategy("native-system", {"id": "v", "kind": "v.a"}), taking)
    assert read(outcome) == ["[BASE1]", "[OLD]", "[BASE2]", "[NOW]"]


async def test_but_not_behind_what_stays_out() -> None:
    how = strategy("native-system", "input")
    assert read(await advanced(request(*UPDATED), how)) == ["[BASE1]", "[BASE2]", "[NOW]"]


# --- the greeting stays before the conversation unless a depth is asked for (seed 001)


def with_character_last(character: Any = "character", **fields: Any) -> Strategy:
    return strategy("history", "input", character, **fields)


LIST_FIRST = {**ST.to_wire()["layout"], "priority": ["default", "preset", "resource"]}


@pytest.mark.parametrize("how", [with_character_last(), with_character_last(layout=LIST_FIRST)])
async def test_a_greeting_without_a_depth_is_never_behind_the_input(how: Strategy) -> None:
    given = request(character=card(description="C", greeting="HELLO"), greeting_reference=True)
    outcome = await advanced(given, how)
    lines = read(outcome)
    assert lines.index("assistant:HELLO") < lines.index("[OLD]")
    assert "GREETING_AFTER_INPUT" not in codes(outcome)


async def test_a_greeting_at_a_depth_is_where_it_was_put() -> None:
    given = request(character=card(greeting="HELLO"), greeting_reference=True)
    outcome = await advanced(given, with_character_last({"id": "c", "kind": "character", "depth": 0}))
    assert read(outcome) == ["[OLD]", "[NOW]", "assistant:HELLO"]
    assert "GREETING_AFTER_INPUT" in codes(outcome)


# --- references


INNER = source("v.b", {"type": "text", "id": "b", "text": "B"})


async def test_a_position_that_is_off_takes_its_references_with_it() -> None:
    outer = source(
        "v.a",
        {"type": "text", "id": "a", "text": "A"},
        {"type": "reference", "id": "r", "sourceId": "v.b"},
        dependencies=("v.b",),
    )
    rules = ({"id": "v", "kind": "v.a"}, "history", "input", {"id": "w", "kind": "v.b"})
    base = strategy(*rules, layout=ST.to_wire()["layout"])
    assert read(await advanced(request(), base, outer, INNER)) == ["system:A", "system:B", "[OLD]", "[NOW]"]
    off = {"sourceId": "v.a", "positionId": "content", "enabled": False, "placement": "source"}
    without = laid_out(base, positions=[off])
    # then what it referred to is where its own rule is
    assert read(await advanced(request(), without, outer, INNER)) == ["[OLD]", "[NOW]", "system:B"]


async def test_a_second_reference_to_what_holds_a_reference_is_a_duplicate() -> None:
    middle = source(
        "v.b",
        {"type": "reference", "id": "k", "sourceId": "v.c"},
        {"type": "text", "id": "b", "text": "B"},
        dependencies=("v.c",),
    )
    outer = source(
        "v.a",
        {"type": "reference", "id": "n", "sourceId": "v.b"},
        {"type": "reference", "id": "m", "sourceId": "v.b"},
        dependencies=("v.b",),
    )
    last = source("v.c", {"type": "text", "id": "c", "text": "C"})
    how = strategy({"id": "v", "kind": "v.a"}, "history", "input")
    outcome = await advanced(request(), how, outer, middle, last)
    assert read(outcome) == ["system:C", "system:B", "[OLD]", "[NOW]"]
    assert [(it.id, it.duplicate) for it in outcome.logical.slots if it.id.startswith("v:")] == [
        ("v:n", False),
        ("v:m", True),
    ]
    assert codes(outcome) == ["LAYOUT_DUPLICATE_SLOT"]


# --- remarks


@pytest.mark.parametrize("layout", [None, ST.to_wire()["layout"]])
async def test_a_place_that_nobody_honours_is_remarked(layout: Any) -> None:
    approximated = {"code": "WORLD_BOOK_POSITION_APPROXIMATED", "entry": "L"}
    given = request(lore=(lore("L", "before_example_messages"),), diagnostics=(approximated,))
    fields = {} if layout is None else {"layout": layout}
    outcome = await advanced(given, strategy("worldbook", "history", "input", placement="st", **fields))
    assert ("WORLD_BOOK_POSITION_APPROXIMATED" in codes(outcome)) is (layout is None)


@pytest.mark.parametrize("in_history", [True, False])
async def test_a_preview_does_not_know_which_model_will_be_asked(in_history: bool) -> None:
    given, how = request(*UPDATED), strategy("native-system", "history", "input")
    logical = assemble(given, await resolve_sources(given, how, registry().capture()))
    projection = project_system(logical.messages, {"kind": "x"}, in_history=in_history, preview=True)
    assert projection.capability == "unverified"
    assert [it["code"] for it in projection.diagnostics] == ["SYSTEM_UPDATE_CAPABILITY_UNVERIFIED"]


# --- whatever a source's own code raises is its fault, by name (spec 2.2)


def explode(*_: object) -> Any:
    raise RuntimeError("the tape is torn")


@pytest.mark.parametrize(
    "broken", [{"validate_resolved": explode}, {"render_text": explode}, {"render_text": lambda *_: explode}]
)
async def test_a_source_that_fails_refuses_the_request(broken: dict[str, Any]) -> None:
    definition = source("v.a", {"type": "text", "id": "a", "text": "A"}, **broken)
    with pytest.raises(AssemblyError) as caught:
        await advanced(request(), strategy({"id": "v", "kind": "v.a"}, "history", "input"), definition)
    assert (caught.value.error_code, caught.value.data["source_id"]) == ("SOURCE_FAILED", "v.a")
    assert "the tape is torn" in caught.value.message


def test_a_source_that_cannot_tell_whether_it_is_available_hides_no_other() -> None:
    told = {it["id"]: it for it in registry(source("v.a", module_available=explode), INNER).listing()}
    assert told["v.a"]["moduleAvailable"] is False
    assert told["v.b"]["moduleAvailable"] is True
