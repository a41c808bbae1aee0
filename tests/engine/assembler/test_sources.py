"""Registering sources, plug-ins, and what a source is told."""

from __future__ import annotations

import asyncio
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from engine.assembler import (
    Definition,
    Output,
    Position,
    PositionAnchor,
    SourceContext,
    Sources,
    TextBlock,
    plug_ins,
    resolve_sources,
)
from engine.assembler.blocks import MAX_BLOCKS
from engine.cancel import CancelCause, Cancelled, CancelToken
from engine.errors import AssemblyError
from engine.hooks import Scope
from tests.engine.assembler.stage import ST, advanced, laid_out, read, registry, request, source, strategy

WITH = strategy({"id": "v", "kind": "v.a"}, "history", "input")


def offered() -> list[Definition]:
    """What the entry point of a test plug-in names."""
    return [source("plug.one"), source("plug.two")]


ONE = source("plug.one")


def explode() -> Definition:
    raise ImportError("a library is missing")


def test_a_disposer_takes_out_only_its_own() -> None:
    sources = Sources()
    first = sources.register(source("v.a"))
    first()
    sources.register(source("v.a", version=2))
    first()
    assert sources.capture()["v.a"].version == 2


def test_an_id_is_taken_once_and_a_captured_set_does_not_change() -> None:
    sources = Sources()
    before = sources.capture()
    sources.register(source("v.a"))
    with pytest.raises(AssemblyError) as caught:
        sources.register(source("v.a"))
    assert caught.value.error_code == "SOURCE_DUPLICATE"
    assert "v.a" not in before


async def test_the_end_of_an_owner_takes_its_sources_out() -> None:
    sources, owner = Sources(), Scope("plug-in")
    sources.register(source("v.a"), owner=owner)
    await owner.aclose()
    assert sources.capture() == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"name": " "},
        {"plugin_id": "-x"},
        {"version": True},
        {"stability": "always"},
        {"roles": ()},
        {"roles": ("developer",)},
        {"lifetimes": ("request", "request")},
        {"dependencies": ("-x",)},
        {"dependencies": "v.b"},
        {"multiple": "yes"},
        {"owns_slots": 1},
        {"resolve": None},
        {"resolve": "code"},
        {"render_text": "code"},
        {"positions": ()},
        {"positions": (Position("a", ("一", "")),)},
        {"positions": (Position("a", ("一", "A")), Position("a", ("二", "B")))},
        {"positions": (Position("a", ("一", "A"), anchor=PositionAnchor("v.b", "around")),)},
        {"positions": (Position("a", ("一", "A"), anchor=PositionAnchor("v.b", "after", ("x", 5))),)},
        {"positions": (Position("a", ("一", "A"), field=5),)},
        {"positions": (Position("a", ("一", "A"), depth="yes"),)},
        {"positions": (Position("a", ("一", "A"), macros="b"),)},
        {"positions": (Position("a", ("一", "A"), note=("一",)),)},
        {"roles": ([],)},
        {"content_guide": 5},
    ],
)
def test_a_definition_that_cannot_be_is_refused(fields: dict[str, Any]) -> None:
    good: dict[str, Any] = {
        "id": "v.a",
        "plugin_id": "vendor",
        "name": "A",
        "resolve": lambda _, __: Output(),
    }
    Sources().register(Definition(**good))
    with pytest.raises(AssemblyError) as caught:
        Sources().register(Definition(**{**good, **fields}))
    assert (caught.value.error_code, caught.value.status) == ("SOURCE_INVALID", 400)


def test_plug_ins_come_in_by_entry_points_and_a_broken_one_harms_no_other() -> None:
    sources = Sources()
    here = "tests.engine.assembler.test_sources"
    points = [
        EntryPoint("broken", f"{here}:explode", "inglenook.sources"),
        EntryPoint("gone", "no.such.module:x", "inglenook.sources"),
        EntryPoint("two", f"{here}:offered", "inglenook.sources"),
        EntryPoint("again", f"{here}:ONE", "inglenook.sources"),
    ]
    failures = plug_ins(sources, found=points)
    assert sorted(sources.capture()) == ["plug.one", "plug.two"]
    assert [failure.name for failure in failures] == ["broken", "gone", "again"]
    assert failures[0].reason == "a library is missing"


def test_installed_plug_ins_are_looked_up() -> None:
    assert plug_ins(Sources()) == []


async def test_a_source_is_told_frozen_facts() -> None:
    seen: list[SourceContext] = []

    def resolve(context: SourceContext, _: object) -> Output:
        seen.append(context)
        return Output()

    definition = Definition(id="v.a", plugin_id="vendor", name="A", resolve=resolve)
    await advanced(request(macros={"mood": "calm"}), WITH, definition)
    context = seen[0]
    with pytest.raises(TypeError):
        context.native[0]["content"][0]["text"] = "x"
    with pytest.raises(TypeError):
        context.assets.macros["mood"] = "x"  # type: ignore[index]
    with pytest.raises(AttributeError):
        context.session_id = "x"  # type: ignore[misc]


async def test_sources_may_answer_later() -> None:
    async def resolve(_: object, __: object) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"blocks": [{"type": "text", "id": "a", "text": "A"}]}

    definition = Definition(id="v.a", plugin_id="vendor", name="A", resolve=resolve)
    assert read(await advanced(request(), WITH, definition)) == ["system:A", "[OLD]", "[NOW]"]


async def test_a_cancelled_request_stops_waiting_for_a_source() -> None:
    asked, token = asyncio.Event(), CancelToken()

    async def resolve(_: object, __: object) -> Output:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody waits for this")

    definition = Definition(id="v.a", plugin_id="vendor", name="A", resolve=resolve)
    work = asyncio.ensure_future(resolve_sources(request(), WITH, registry(definition).capture(), token))
    await asked.wait()
    token.cancel(CancelCause("user"))
    with pytest.raises(Cancelled):
        await work


async def test_a_lease_is_checked_again_after_all_sources_were_asked() -> None:
    def revoked(_: SourceContext) -> None:
        raise AssemblyError("The lease is over.", code="LEASE")

    definition = source("v.a", validate_resolved=revoked)
    with pytest.raises(AssemblyError) as caught:
        await advanced(request(), WITH, definition)
    assert caught.value.error_code == "LEASE"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"blocks": [], "macros": {"x": 5}},
        {"blocks": [], "diagnostics": [{}]},
        {"blocks": [{"type": "text", "id": "a", "text": object()}]},
        {"blocks": [{"type": "text", "id": "a", "text": "x" * (8 * 1024 * 1024)}]},
        Output(tuple(TextBlock(str(n), "") for n in range(MAX_BLOCKS + 1))),
        {"blocks": [{"type": "text", "id": "a", "text": "", "claims": [{"sourceId": "v.a"}]}]},
        {"blocks": [{"type": "text", "id": "a", "text": "", "literalMacros": {"x": 1}}]},
        {"blocks": [{"type": "text", "id": "a", "text": "", "order": "first"}]},
        {"blocks": [{"type": "text", "id": "a", "text": "", "group": 1}]},
        {"blocks": [{"type": "text", "id": "a", "text": "", "stability": "rock"}]},
        {"blocks": [{"type": "text", "id": "a", "text": "", "stability": ["asset"]}]},
        {"blocks": [{"type": "text", "id": "a", "text": "", "children": 5}]},
        {"blocks": [{"type": "text", "id": "a", "text": "half \ud83d"}]},
        {"blocks": [{"type": "text", "id": "a", "text": "", "depth": 1.5}]},
        {"blocks": [{"type": "text", "id": "a", "text": "", "depth": True}]},
        Output((TextBlock("a", "A", role="tool"),)),
        Output((TextBlock("a", None),)),  # type: ignore[arg-type]
        Output(({"type": "text", "id": "a", "text": "A"},)),  # type: ignore[arg-type]
        {"blocks": [{"type": "reference", "id": "a"}]},
        {"blocks": [{"type": "reference", "id": "a", "sourceId": "v.a", "blockIds": "a"}]},
    ],
)
async def test_an_answer_of_another_shape_or_size_is_refused(answer: Any) -> None:
    definition = Definition(id="v.a", plugin_id="vendor", name="A", resolve=lambda _, __: answer)
    with pytest.raises(AssemblyError) as caught:
        await advanced(request(), WITH, definition)
    assert caught.value.error_code == "SOURCE_OUTPUT_INVALID"


async def test_numbers_of_json_are_read_as_json_means_them() -> None:
    block = {"type": "text", "id": "a", "text": "A", "depth": 1.0, "order": None}
    how = strategy({"id": "v", "kind": "v.a"}, "history", "input", placement="st")
    assert read(await advanced(request(), how, source("v.a", block))) == ["[OLD]", "system:A", "[NOW]"]


async def test_a_renderer_has_the_last_word_on_its_own_text() -> None:
    loud = source("v.a", {"type": "text", "id": "a", "text": "a"}, render_text=lambda _, __: _shout)
    assert read(await advanced(request(), WITH, loud))[0] == "system:A"
    silent = source(
        "v.a", {"type": "text", "id": "a", "text": "a"}, render_text=lambda _, __: lambda *_: None
    )
    with pytest.raises(AssemblyError):
        await advanced(request(), WITH, silent)


def _shout(text: str, literals: object, node_id: str) -> str:
    return text.upper()


async def test_target_and_rule_settings() -> None:
    routed = source(
        "v.a", {"type": "text", "id": "a", "text": "A", "targetSourceId": "v.b"}, dependencies=("v.b",)
    )
    rules = ({"id": "v", "kind": "v.a"}, "history", "input", {"id": "w", "kind": "v.b", "role": "user"})
    assert read(await advanced(request(), strategy(*rules), routed, source("v.b"))) == [
        "[OLD]", "[NOW]", "user:A",
    ]  # fmt: skip


async def test_a_reference_is_in_none_of_several_positions() -> None:
    parts = (Position("front", ("前", "Front")), Position("deep", ("深", "Deep"), depth=True))
    inner = source(
        "v.b",
        {"type": "reference", "id": "r", "sourceId": "v.c"},
        {"type": "text", "id": "b", "text": "B"},
        dependencies=("v.c",),
        positions=parts,
    )
    outer = source("v.a", {"type": "reference", "id": "r", "sourceId": "v.b"}, dependencies=("v.b",))
    last = source("v.c", {"type": "text", "id": "c", "text": "C"})
    off = {"sourceId": "v.b", "positionId": "front", "enabled": False, "placement": "source"}
    how = laid_out(
        strategy({"id": "v", "kind": "v.a"}, "history", "input", layout=ST.to_wire()["layout"]),
        positions=[off],
    )
    assert read(await advanced(request(), how, outer, inner, last)) == ["system:C", "[OLD]", "[NOW]"]


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ({"role": "user"}, "SOURCE_RULE_UNSUPPORTED"),
        ({"lifetime": "snapshot"}, "SOURCE_RULE_UNSUPPORTED"),
        ({"depth": 1}, "SOURCE_RULE_UNSUPPORTED"),
        ({"inputMode": "text"}, "SOURCE_WITHOUT_PARSER"),
    ],
)
async def test_a_rule_may_not_ask_for_what_its_source_cannot(rule: dict[str, Any], code: str) -> None:
    poor = source("v.a", roles=("preserve",), lifetimes=("request",), depth=False)
    with pytest.raises(AssemblyError) as caught:
        await advanced(request(), strategy({"id": "v", "kind": "v.a", **rule}, "history", "input"), poor)
    assert caught.value.error_code == code


def test_descriptions_tell_lists_what_a_source_can() -> None:
    told = {it["id"]: it for it in registry().listing()}
    assert told["tavern.text"]["acceptsText"] and not told["tavern.text"]["supportsModule"]
    assert told["preset"]["ownsSlots"] and told["preset"]["lifetimes"] == ["request"]
    assert told["history"]["roles"] == ["preserve"] and not told["history"]["depth"]
