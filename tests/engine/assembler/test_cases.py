"""The cases of assembler spec 9, by their numbers. Each is one sentence: given, when, then.

Cases 65 to 71 speak of the running program; those that need it are tested where it is wired, the others here.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from engine.assembler import (
    AssemblyRequest,
    DepthPrompt,
    PersonaAsset,
    Shelf,
    apply_strategy,
    built_in_strategies,
    check_standard,
    deliver_advanced,
    read_strategy,
    resolve_sources,
    selection,
)
from engine.assembler.blocks import Output, TextBlock
from engine.assembler.definition import Definition
from engine.assembler.fragments import utf16_offset
from engine.errors import AssemblyError
from tests.engine.assembler.stage import (
    KINDS,
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
    sent,
    source,
    standard,
    strategy,
    system,
    text,
)


async def refused(code: str, work: Any) -> AssemblyError:
    with pytest.raises(AssemblyError) as caught:
        await work
    assert caught.value.error_code == code
    return caught.value


def refuses(code: str, call: Any, *arguments: Any, **named: Any) -> AssemblyError:
    with pytest.raises(AssemblyError) as caught:
        call(*arguments, **named)
    assert caught.value.error_code == code
    return caught.value


# Document and legality: 1 to 8


def test_1_a_minimal_rule_has_the_defaults() -> None:
    rule = strategy("character").rules[0]
    assert (rule.enabled, rule.role, rule.lifetime, rule.depth, rule.text, rule.name) == (
        True, "preserve", "request", None, "", "",
    )  # fmt: skip


def test_2_custom_texts_are_the_users_unless_they_are_old() -> None:
    fresh, legacy = strategy(
        {"id": "a", "kind": "custom"}, {"id": "b", "kind": "custom", "role": "preserve"}
    ).rules
    assert (fresh.role, legacy.role) == ("user", "system")


def test_3_an_unknown_kind_is_kept_and_129_rules_are_not() -> None:
    assert strategy({"id": "a", "kind": "example.memory/recalled"}).rules[0].kind == "example.memory/recalled"
    refuses("STRATEGY_INVALID", strategy, *({"id": f"r{n}", "kind": "custom"} for n in range(129)))


def test_4_a_layout_decides_placement_and_the_old_priority_loses_its_user() -> None:
    layout = {"version": 1, "source": "preset-slots", "identity": "preserve", "fallback": "source-order",
              "overrides": [], "priority": ["default", "user", "preset", "resource"]}  # fmt: skip
    it = strategy(backend="native", placement="st", layout=layout)
    assert it.placement == "native-slots"
    assert it.layout is not None and it.layout.priority == ("default", "preset", "resource")


@pytest.mark.parametrize("order", [["preset", "resource", "x"], ["preset", "preset", "resource", "default"]])
def test_5_a_priority_without_the_default_or_with_a_double_is_refused(order: list[str]) -> None:
    refuses("STRATEGY_INVALID", laid_out, SLOTS, priority=order)


def test_6_the_standard_back_end_takes_no_advanced_strategy_and_keeps_the_history() -> None:
    assert refuses("ASSEMBLY_NATIVE_UNSUPPORTED", check_standard, ST).data["detail"] == {"backend": "core"}
    refuses("ASSEMBLY_NATIVE_UNSUPPORTED", check_standard, changed(ROLES, history={"enabled": False}))


@pytest.mark.parametrize("member", [{"depth": 1}, {"lifetime": "snapshot"}, {"role": "assistant"}])
def test_7_slots_take_no_depth_snapshot_or_assistant_but_of_rules_that_are_off(
    member: dict[str, Any],
) -> None:
    refuses("ASSEMBLY_NATIVE_UNSUPPORTED", check_standard, changed(SLOTS, character=member))
    check_standard(changed(SLOTS, character={**member, "enabled": False}))


def test_8_behind_the_input_contexts_come_before_pre_step_texts() -> None:
    late = {"id": "p", "kind": "phi", "role": "user", "delivery": "pre-step"}
    context = {"id": "c", "kind": "character", "role": "user", "delivery": "context"}
    check_standard(strategy("history", "input", context, late, backend="native"))
    refuses(
        "ASSEMBLY_NATIVE_UNSUPPORTED",
        check_standard,
        strategy("history", "input", late, context, backend="native"),
    )


# Standard roles: 9 to 17


async def test_9_entries_keep_their_roles_whatever_the_module_says() -> None:
    how = changed(ROLES, preset={"role": "system"})
    given = request(preset=preset(text("a", "A", "user"), text("b", "B")))
    assert read(await standard(given, how)) == ["system:B", "[OLD]", "[NOW]", "user:A"]


async def test_10_pre_step_follows_the_modules_place() -> None:
    given = request(preset=preset(text("a", "A", "user")))
    assert read(await standard(given, changed(ROLES, preset={"delivery": "pre-step"}))) == [
        "[OLD]", "user:A", "[NOW]",
    ]  # fmt: skip
    rules = [kind for kind in KINDS if kind != "preset"]
    behind = strategy(*rules, {"id": "preset", "kind": "preset", "delivery": "pre-step"}, backend="native",
                      placement="native-roles")  # fmt: skip
    assert read(await standard(given, behind)) == ["[OLD]", "[NOW]", "user:A"]


async def test_11_without_a_conversation_there_are_only_contributions() -> None:
    given = replace(request(preset=preset(text("a", "A", "user"))), native=(), input_ids=frozenset())
    outcome = await standard(given, ROLES)
    assert read(outcome) == ["user:A"]
    assert [node.id for node in outcome.logical.nodes if node.native] == ["history:history", "input:input"]


async def test_12_assistants_texts_are_refused_by_name() -> None:
    authored = await refused(
        "ASSEMBLY_NATIVE_UNSUPPORTED", standard(request(preset=preset(text("a", "A", "assistant"))), ROLES)
    )
    assert authored.data["detail"]["name"] == "a"
    entry = lore("L", role="assistant")
    await refused("ASSEMBLY_NATIVE_UNSUPPORTED", standard(request(lore=(entry,)), ROLES))


async def test_13_a_depth_is_only_approximated() -> None:
    outcome = await standard(request(preset=preset(text("deep", "D", in_chat=True, depth=2))), ROLES)
    assert read(outcome) == ["system:D", "[OLD]", "[NOW]"]
    assert codes(outcome) == ["NATIVE_DEPTH_APPROXIMATED"]


async def test_14_the_greeting_is_not_sent_as_a_message() -> None:
    given = request(character=card(greeting="HELLO"), greeting_reference=True)
    assert read(await standard(given, ROLES)) == ["[OLD]", "[NOW]"]


async def test_15_without_the_programs_text_an_old_one_begins_a_new_series() -> None:
    given = request(system("s", "OFFICIAL"), *TALK)
    outcome = await standard(
        given, changed(ROLES, native_system={"enabled": False}), sections={"id": "OFFICIAL"}
    )
    assert outcome.sections == ()
    assert outcome.reconcile_system


async def test_16_a_context_comes_behind_a_tool_transaction() -> None:
    given = request(
        said("OLD"), calling("c", "1"), result("r", "1"), inputs=(), preset=preset(text("a", "A", "user"))
    )
    assert read(await standard(given, ROLES)) == ["[OLD]", "[c]", "[r]", "user:A"]


async def test_17_switches_remove_official_facts_by_name_and_no_others() -> None:
    facts = ("sandbox:policy", "approval:policy", "subagent:delegation", "third:fact")
    sandbox = changed(ROLES, {"id": "x", "kind": "dsh.sandbox-policy", "enabled": False})
    master = changed(ROLES, {"id": "x", "kind": "dsh.runtime-context", "enabled": False})
    names = [part.name for part in (await standard(request(), sandbox, contexts=facts)).contexts]
    assert names == ["approval:policy", "subagent:delegation", "third:fact"]
    assert [part.name for part in (await standard(request(), master, contexts=facts)).contexts] == [
        "third:fact"
    ]


# Standard slots: 18 to 35


async def test_18_texts_around_the_conversation_take_the_roles_of_their_side() -> None:
    prompts = preset(text("a", "OPEN", "user"), marker("chatHistory"), text("b", "CLOSE"))
    outcome = await standard(request(preset=prompts))
    assert read(outcome) == ["system:OPEN", "[OLD]", "[NOW]", "user:CLOSE"]
    assert codes(outcome) == ["NATIVE_ROLE_ADJUSTED", "NATIVE_ROLE_ADJUSTED"]


@pytest.mark.parametrize("native", [TALK, ()])
async def test_19_inline_places_split_a_text(native: tuple[Any, ...]) -> None:
    prompts = preset(text("w", "START{{history}}MIDDLE{{input}}END", "user"))
    outcome = await standard(replace(request(preset=prompts), native=native))
    assert outcome.system_text == "START"
    assert [it.text for it in outcome.before_input] == ["MIDDLE"]
    assert [it.text for it in outcome.after_input] == ["END"]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("user", ["[OLD]", "user:A", "[NOW]", "user:B"]),
        ("system", ["system:A", "[OLD]", "[NOW]", "user:B"]),
    ],
)
async def test_20_with_only_a_place_for_the_input_a_prefix_keeps_its_role(
    role: str, expected: list[str]
) -> None:
    assert read(await standard(request(preset=preset(text("w", "A{{input}}B", role))))) == expected


async def test_21_with_only_a_place_for_the_history_the_input_comes_last() -> None:
    prompts = preset(text("w", "A{{history}}B", "user"))
    assert read(await standard(request(preset=prompts))) == ["system:A", "[OLD]", "user:B", "[NOW]"]


async def test_22_the_input_cannot_come_before_the_history() -> None:
    prompts = preset(text("w", "{{input}}{{history}}", "user"))
    await refused("ASSEMBLY_NATIVE_UNSUPPORTED", standard(request(preset=prompts)))


async def test_23_without_places_roles_decide() -> None:
    outcome = await standard(request(preset=preset(text("a", "A", "user"), text("b", "B"))))
    assert read(outcome) == ["system:B", "[OLD]", "[NOW]", "user:A"]
    assert "NATIVE_SLOTS_ABSENT" in codes(outcome)


async def test_24_the_conversation_comes_out_once() -> None:
    outcome = await standard(request(preset=preset(text("w", "A{{chatHistory}}B{{chatHistory}}C", "user"))))
    assert read(outcome) == ["system:A", "[OLD]", "[NOW]", "user:B", "user:C"]
    assert codes(outcome).count("LAYOUT_DUPLICATE_SLOT") == 2


async def test_25_assistants_entries_around_the_conversation_are_adapted() -> None:
    prompts = preset(text("a", "A", "assistant"), marker("chatHistory"), text("b", "B", "assistant"))
    assert read(await standard(request(preset=prompts))) == ["system:A", "[OLD]", "[NOW]", "user:B"]


async def test_26_lore_stands_around_examples_and_notes_or_falls_back() -> None:
    entries = (lore("EB", "before_example_messages"), lore("NA", "after_author_note"))
    anchors = preset(marker("dialogueExamples"), marker("authorNote"), marker("chatHistory"))
    assert read(await standard(request(preset=anchors, lore=entries))) == [
        "system:EB", "system:NA", "[OLD]", "[NOW]",
    ]  # fmt: skip
    outcome = await standard(request(preset=preset(text("p", "A{{chatHistory}}")), lore=entries))
    assert codes(outcome).count("WORLD_BOOK_SLOT_MISSING") == 2
    assert read(outcome) == ["system:A", "system:EB", "system:NA", "[OLD]", "[NOW]"]


async def test_27_lore_at_the_edges_of_the_history_and_deeper() -> None:
    entries = tuple(lore(f"D{n}", "at_depth", depth=n, role="system") for n in (0, 1, 2))
    outcome = await standard(request(preset=preset(marker("chatHistory")), lore=entries))
    assert read(outcome) == ["system:D2", "system:D1", "[OLD]", "user:D0", "[NOW]"]
    assert codes(outcome).count("NATIVE_DEPTH_BOUNDARY") == 2
    assert codes(outcome).count("NATIVE_DEPTH_APPROXIMATED") == 1


async def test_28_a_custom_text_listed_first_does_not_take_the_presets_place() -> None:
    rules = [{"id": "mine", "kind": "custom", "text": "{{chatHistory}}"}, *SLOTS.to_wire()["rules"]]
    how = read_strategy({**SLOTS.to_wire(), "rules": rules})
    prompts = preset(text("w", "OPEN{{chatHistory}}CLOSE", "user"))
    outcome = await standard(request(preset=prompts), how)
    assert read(outcome) == ["system:OPEN", "[OLD]", "[NOW]", "user:CLOSE"]


async def test_29_a_cards_own_instructions_replace_the_presets_once() -> None:
    own = card(system="CS+{{original}}", phi="CP+{{original}}")
    prompts = [text("main", "PM"), marker("chatHistory"), text("jailbreak", "PJ")]
    merged = await standard(request(preset=preset(*prompts), character=own))
    assert read(merged) == ["system:CS+PM", "[OLD]", "[NOW]", "user:CP+PJ"]
    without = await standard(request(preset=preset(*prompts[:2]), character=card(phi="CP")))
    assert read(without) == ["system:PM", "system:CP", "[OLD]", "[NOW]"]
    forbidden = preset(text("main", "PM", forbid_overrides=True), marker("chatHistory"))
    assert read(await standard(request(preset=forbidden, character=card(system="CS")))) == [
        "system:PM", "system:CS", "[OLD]", "[NOW]",
    ]  # fmt: skip
    plain = request(
        preset=preset(*prompts), character=own, prefer_character_system=False, prefer_character_phi=False
    )
    assert read(await standard(plain)) == ["system:PM", "[OLD]", "[NOW]", "user:PJ"]


async def test_30_a_last_reminder_is_the_last_message() -> None:
    rule = {"id": "fmt", "kind": "dsh.text", "inputMode": "text", "role": "user", "delivery": "pre-step"}
    how = changed(SLOTS, {**rule, "text": "Write {{tone}}."})
    given = replace(
        request(preset=preset(marker("chatHistory"), text("b", "B"))), variables={"tone": "softly"}
    )
    assert read(await standard(given, how))[-1] == "user:Write softly."
    await refused("NATIVE_TEXT_VARIABLE_UNAVAILABLE", standard(request(), how))


async def test_31_assistants_lore_is_refused_unless_it_is_adapted() -> None:
    spine = preset(marker("chatHistory"))
    for position, depth in (("after_character_definition", None), ("at_depth", 4)):
        entry = lore("L", position, depth=depth, role="assistant")
        await refused("ASSEMBLY_NATIVE_UNSUPPORTED", standard(request(preset=spine, lore=(entry,))))
    near = lore("L", "at_depth", depth=1, role="assistant")
    assert read(await standard(request(preset=spine, lore=(near,)))) == ["system:L", "[OLD]", "[NOW]"]


async def test_32_lore_without_a_place_stands_around_the_description() -> None:
    spine = preset(marker("charDescription"), marker("chatHistory"))
    entries = (lore("AFTER"), lore("BEFORE", "before_character_definition"))
    outcome = await standard(request(preset=spine, character=card(description="CHAR"), lore=entries))
    assert read(outcome) == ["system:BEFORE", "system:CHAR", "system:AFTER", "[OLD]", "[NOW]"]


async def test_33_variables_live_through_the_assembly() -> None:
    prompts = preset(text("a", "{{setvar::m::glad}}A"), marker("chatHistory"), text("b", "m={{getvar::m}}"))
    assert read(await standard(request(preset=prompts))) == ["system:A", "[OLD]", "[NOW]", "user:m=glad"]


async def test_34_a_context_behind_a_place_becomes_a_pre_step_text() -> None:
    prompts = preset(marker("chatHistory"), text("b", "B", "user"))
    outcome = await standard(request(preset=prompts), changed(SLOTS, preset={"delivery": "context"}))
    assert [it.text for it in outcome.after_input] == ["B"]
    assert "NATIVE_DELIVERY_ADJUSTED" in codes(outcome)


async def test_35_what_does_not_fit_is_refused() -> None:
    given = replace(request(preset=preset(text("a", "x" * 60))), max_bytes=50)
    assert (await refused("ASSEMBLY_TOO_LARGE", standard(given))).status == 413


# Advanced: 36 to 50


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (0, ["[OLD]", "[NOW]", "assistant:D"]),
        (1, ["[OLD]", "assistant:D", "[NOW]"]),
        (99, ["assistant:D", "[OLD]", "[NOW]"]),
    ],
)
async def test_36_a_depth_counts_messages_from_the_end(depth: int, expected: list[str]) -> None:
    prompts = preset(marker("chatHistory"), text("d", "D", "assistant", in_chat=True, depth=depth))
    assert read(await advanced(request(preset=prompts))) == expected


async def test_37_one_depth_is_sorted_by_order() -> None:
    deep = [text(f"o{n}", f"o{n}", "user", in_chat=True, depth=1, order=n) for n in (200, 10, 100)]
    given = request(preset=preset(marker("chatHistory"), *deep))
    assert read(await advanced(given)) == ["[OLD]", "user:o10", "user:o100", "user:o200", "[NOW]"]


async def test_38_a_cards_note_stands_four_messages_deep() -> None:
    note = card(depth_prompt=DepthPrompt("NOTE", role="user"))
    given = request(*(said(name) for name in "abcde"), inputs=("e",), character=note,
                    preset=preset(marker("chatHistory")))  # fmt: skip
    assert read(await advanced(given)) == ["[a]", "user:NOTE", "[b]", "[c]", "[d]", "[e]"]


async def test_39_the_greeting_stands_before_the_conversation_or_where_it_is_put() -> None:
    given = request(said("NOW"), character=card(greeting="HI"), greeting_reference=True,
                    preset=preset(marker("chatHistory")))  # fmt: skip
    assert read(await advanced(given)) == ["assistant:HI", "[NOW]"]
    late = await advanced(given, changed(ST, character={"depth": 0}))
    assert read(late) == ["[NOW]", "assistant:HI"]
    assert "GREETING_AFTER_INPUT" in codes(late)


async def test_40_a_module_that_is_off_gives_no_lore_but_its_fields_to_markers() -> None:
    books = request(preset=preset(marker("worldInfoAfter"), marker("chatHistory")), lore=(lore("L"),))
    assert read(await advanced(books, changed(ST, worldbook={"enabled": False}))) == ["[OLD]", "[NOW]"]
    fields = request(
        preset=preset(marker("charDescription"), marker("chatHistory")), character=card(description="C")
    )
    off = changed(ST, character={"enabled": False})
    assert read(await advanced(fields, off)) == ["system:C", "[OLD]", "[NOW]"]


async def test_41_everything_may_be_off() -> None:
    none = {kind.replace("-", "_"): {"enabled": False} for kind in KINDS}
    only = changed(ST, {"id": "x", "kind": "custom", "text": "Reply OK"}, **none)
    assert read(await advanced(request(), only)) == ["user:Reply OK"]
    await refused("ASSEMBLY_EMPTY", advanced(request(), changed(ST, **none)))
    system_only = await advanced(request(system("s"), *TALK), changed(ST, **{**none, "native_system": {}}))
    assert codes(system_only) == ["ASSEMBLY_SYSTEM_ONLY"]


async def test_42_in_a_list_texts_do_not_move_what_is_listed_nor_revive_what_is_off() -> None:
    given = request(preset=preset(text("main", "P{{description}}Q")), character=card(description="CHAR"))
    listed = strategy(*KINDS)
    assert read(await advanced(given, listed)) == ["system:PQ", "system:CHAR", "[OLD]", "[NOW]"]
    unlisted = strategy(*(kind for kind in KINDS if kind != "character"))
    assert read(await advanced(given, unlisted)) == ["system:PCHARQ", "[OLD]", "[NOW]"]
    off = changed(listed, character={"enabled": False})
    assert read(await advanced(given, off)) == ["system:PQ", "[OLD]", "[NOW]"]


async def test_43_later_system_texts_need_a_model_that_takes_them() -> None:
    prompts = preset(text("a", "A"), marker("chatHistory"), text("b", "B"))
    given = request(preset=prompts)
    await refused("ASSEMBLY_SYSTEM_UPDATES_UNSUPPORTED", advanced(given, in_history=False))
    assert sent(await advanced(given)) == ["system:A", "user:OLD", "user:NOW", "system:A\n\nB"]
    preview = await advanced(replace(given, preview=True), in_history=False)
    assert "SYSTEM_UPDATE_CAPABILITY_UNVERIFIED" in codes(preview)


async def test_44_an_update_of_the_programs_text_replaces_only_that_and_keeps_its_place() -> None:
    native = (system("s1", "BASE1"), said("OLD"), system("s2", "BASE2"), said("NOW"))
    given = request(*native, character=card(description="CHAR"))
    modules = strategy("native-system", "character", "history", "input")
    assert sent(await advanced(given, modules)) == [
        "system:BASE1\n\nCHAR", "user:OLD", "system:BASE2\n\nCHAR", "user:NOW",
    ]  # fmt: skip
    await refused(
        "ASSEMBLY_NATIVE_SYSTEM_ORDER", advanced(given, strategy("native-system", "input", "history"))
    )


async def test_45_complete_system_texts_have_a_ceiling() -> None:
    given = request(preset=preset(text("a", "A" * 200), marker("chatHistory"), text("b", "B")))
    work = deliver_advanced(given, ST, registry().capture(), in_history=True, max_projected_bytes=300)
    assert (await refused("ASSEMBLY_TOO_LARGE", work)).status == 413


EXTRA = {"id": "x", "kind": "custom", "text": "X"}


async def test_46_nothing_stands_inside_a_tool_transaction() -> None:
    modules = strategy(*KINDS, {**EXTRA, "depth": 1})
    one = request(said("u"), calling("c", "1"), result("r", "1"), inputs=())
    assert read(await advanced(one, modules)) == ["[u]", "[c]", "[r]", "user:X"]
    two = request(said("u"), calling("c", "1", "2"), result("r1", "1"), result("r2", "2"), inputs=())
    assert read(await advanced(two, modules)) == ["[u]", "[c]", "[r1]", "[r2]", "user:X"]
    for how in (modules, strategy(*KINDS)):
        await refused(
            "TOOL_TRANSACTION_BROKEN", advanced(request(said("u"), calling("c", "1"), inputs=()), how)
        )
    await refused(
        "TOOL_TRANSACTION_BROKEN", advanced(request(said("u"), result("r", "9"), inputs=()), modules)
    )


MODULES = ("native-system", "preset", "persona", "character", "history", "input", "worldbook", "phi")
RETAINED = changed(strategy(*MODULES), worldbook={"lifetime": "snapshot"})


def told(name: str) -> dict[str, Any]:
    return {"assets": replace(request().assets, lore=(replace(lore("w"), content=name),) if name else ())}


async def test_47_a_retained_text_stays_where_it_was_and_is_cleared_once() -> None:
    first = replace(request(), **told("HOTEL"))
    one = await advanced(first, RETAINED)
    native = (*TALK, answered("a"), said("u"))
    two = await advanced(next_turn(first, one, *native, input_ids=frozenset({"u"}), **told("DOCK")), RETAINED)
    three = await advanced(
        next_turn(first, two, *native, input_ids=frozenset({"u"}), **told("DOCK")), RETAINED
    )
    cleared = await advanced(
        next_turn(first, three, *native, input_ids=frozenset({"u"}), **told("")), RETAINED
    )
    assert read(one) == ["[OLD]", "[NOW]", "system:HOTEL"]
    assert read(two) == read(three) == ["[OLD]", "[NOW]", "system:HOTEL", "[a]", "[u]", "system:DOCK"]
    assert read(cleared)[-1] == (
        "system:Current context is empty for entry w. Its earlier snapshots are no longer current."
    )


async def test_48_without_retention_only_the_current_text_is_sent() -> None:
    first = replace(request(), **told("HOTEL"))
    modules = strategy(*KINDS)
    one = await advanced(first, modules)
    two = await advanced(next_turn(first, one, *TALK, **told("DOCK")), modules)
    assert [line for line in read(two) if line.startswith("system")] == ["system:DOCK"]


async def test_49_a_lost_anchor_is_replaced_or_the_text_waits() -> None:
    first = replace(request(), **told("HOTEL"))
    one = await advanced(first, RETAINED)
    compacted = await advanced(
        next_turn(first, one, said("new"), input_ids=frozenset({"new"}), **told("HOTEL")), RETAINED
    )
    assert read(compacted) == ["[new]"]
    assert codes(compacted) == ["SNAPSHOT_ANCHOR_NO_LONGER_ACTIVE"]
    assert len(compacted.logical.retained) == 1


async def test_50_switched_off_it_is_dropped_and_begins_anew() -> None:
    first = replace(request(), **told("HOTEL"))
    one = await advanced(first, RETAINED)
    off = await advanced(
        next_turn(first, one, *TALK, **told("HOTEL")), changed(RETAINED, worldbook={"enabled": False})
    )
    assert off.logical.retained == ()
    native = (*TALK, answered("a"))
    again = await advanced(
        next_turn(first, off, *native, input_ids=frozenset({"a"}), **told("HOTEL")), RETAINED
    )
    assert read(again) == ["[OLD]", "[NOW]", "[a]", "system:HOTEL"]


# Sources, layout, macros: 51 to 60

OPEN = strategy({"id": "v", "kind": "v.a"}, "history", "input", placement="st")


def reference(target: str, **more: Any) -> dict[str, Any]:
    return {"type": "reference", "id": "r", "sourceId": target, **more}


def block(name: str, words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "id": name, "text": words, **more}


async def test_51_a_missing_source_is_reported_a_failing_one_fails_an_idle_one_is_not_asked() -> None:
    missing = await advanced(request(), OPEN)
    assert read(missing) == ["[OLD]", "[NOW]"]
    assert codes(missing) == ["ASSEMBLY_SOURCE_UNAVAILABLE"]

    def explode(_: object, __: object) -> Output:
        raise RuntimeError("no memory today")

    broken = Definition(id="v.a", plugin_id="vendor", name="A", resolve=explode)
    assert "no memory today" in (await refused("SOURCE_FAILED", advanced(request(), OPEN, broken))).message
    off = changed(OPEN, v={"enabled": False})
    assert read(await advanced(request(), off, broken)) == ["[OLD]", "[NOW]"]


async def test_52_a_reference_moves_its_source_unless_the_list_owns_it() -> None:
    b = source("v.b", block("b", "B"))
    a = source("v.a", reference("v.b"), block("a", "A"), dependencies=("v.b",))
    rules = ({"id": "v", "kind": "v.a"}, "history", "input", {"id": "w", "kind": "v.b"})
    assert read(await advanced(request(), strategy(*rules, placement="st"), a, b)) == [
        "system:B", "system:A", "[OLD]", "[NOW]",
    ]  # fmt: skip
    assert read(await advanced(request(), strategy(*rules), a, b)) == [
        "system:A", "[OLD]", "[NOW]", "system:B",
    ]  # fmt: skip
    claims = source(
        "v.a", block("a", "A", claims=[{"sourceId": "v.b", "blockId": "b"}]), dependencies=("v.b",)
    )
    for order in (rules, rules[::-1]):
        assert "system:B" not in read(await advanced(request(), strategy(*order), claims, b))


async def test_53_a_reference_may_take_what_is_off_under_its_own_rule_and_what_is_only_for_it() -> None:
    b = source("v.b", block("b", "B"), block("hidden", "H", referenceOnly=True))
    rules = (
        {"id": "v", "kind": "v.a", "role": "user"},
        "history",
        "input",
        {"id": "w", "kind": "v.b", "enabled": False},
    )
    how = strategy(*rules, placement="st")
    a = source("v.a", reference("v.b", honorEnabled=False, useOwnerRule=True), dependencies=("v.b",))
    assert read(await advanced(request(), how, a, b)) == ["user:B", "[OLD]", "[NOW]"]
    a = source("v.a", reference("v.b", honorEnabled=False, blockIds=["hidden"]), dependencies=("v.b",))
    assert read(await advanced(request(), how, a, b)) == ["system:H", "[OLD]", "[NOW]"]


async def test_54_a_macro_needs_a_declaration_and_takes_its_block_along() -> None:
    b = source("v.b", block("b", "B"), macros={"recalled": "b"})
    text_of_a = block("a", "A {{ recalled }}")
    rules = ({"id": "w", "kind": "v.b"}, {"id": "v", "kind": "v.a"}, "history", "input")
    how = strategy(*rules, placement="st")
    await refused("SOURCE_DEPENDENCY_UNDECLARED", advanced(request(), how, b, source("v.a", text_of_a)))
    a = source("v.a", text_of_a, dependencies=("v.b",))
    assert read(await advanced(request(), how, b, a)) == ["system:A B", "[OLD]", "[NOW]"]
    assert read(await advanced(request(), strategy(*rules), b, a)) == [
        "system:B", "system:A ", "[OLD]", "[NOW]",
    ]  # fmt: skip
    twin = source("v.a", block("a", "A"), macros={"recalled": "a"})
    await refused("SOURCE_MACRO_INVALID", advanced(request(), how, b, twin))


async def test_54_of_two_texts_that_name_each_other_the_first_comes_out_with_the_other_in_it() -> None:
    given = request(
        preset=preset(), character=card(description="D {{personality}}", personality="P {{description}}")
    )
    assert read(await standard(given, ROLES)) == ["system:D P", "[OLD]", "[NOW]"]
    claiming = [
        block("a", "A", claims=[{"sourceId": "v.a", "blockId": "b"}]),
        block("b", "B", claims=[{"sourceId": "v.a", "blockId": "a"}]),
    ]
    assert read(await advanced(request(), OPEN, source("v.a", *claiming))) == ["system:A", "[OLD]", "[NOW]"]


async def test_55_circles_and_undeclared_references_are_refused() -> None:
    a = source("v.a", block("a", "A"), dependencies=("v.b",))
    b = source("v.b", block("b", "B"), dependencies=("v.a",))
    await refused("SOURCE_CYCLE", advanced(request(), OPEN, a, b))
    await refused(
        "SOURCE_REFERENCE_CYCLE", advanced(request(), OPEN, source("v.a", reference("v.a", blockIds=["r"])))
    )
    await refused("SOURCE_DEPENDENCY_UNDECLARED", advanced(request(), OPEN, source("v.a", reference("v.b"))))


@pytest.mark.parametrize(
    "bad",
    [
        block("a", "A", role="developer"),
        block("a", "A", depth=-1),
        {"type": "image", "id": "a"},
        {"type": "text", "id": "a"},
        {"type": "native", "id": "a", "messageIds": ["nobody"]},
        {"type": "text", "text": "A"},
    ],
)
async def test_56_invalid_blocks_are_refused(bad: dict[str, Any]) -> None:
    await refused("SOURCE_OUTPUT_INVALID", advanced(request(), OPEN, source("v.a", bad)))


async def test_56_a_native_message_comes_out_once() -> None:
    twice = source("v.a", {"type": "native", "id": "a", "messageIds": ["OLD"]})
    await refused("NATIVE_MESSAGE_NOT_ONCE", advanced(request(), OPEN, twice))
    await refused(
        "SOURCE_OUTPUT_INVALID", advanced(request(), OPEN, source("v.a", block("a", "A"), block("a", "B")))
    )


def dragged(name: str, anchor: Any = None) -> dict[str, Any]:
    it = {"sourceId": "worldbook", "positionId": name, "enabled": True, "placement": "list"}
    return it if anchor is None else {**it, "anchor": anchor}


BOOK = (lore("BEFORE", "before_character_definition"), lore("AFTER"))
SPINE = preset(
    marker("worldInfoBefore"), marker("worldInfoAfter"), marker("charDescription"), marker("chatHistory")
)


@pytest.mark.parametrize("base", [SLOTS, ST])
async def test_57_what_is_dragged_wins(base: Any) -> None:
    positions = [dragged("after"), {**dragged("before"), "placement": "source"}]
    given = request(preset=SPINE, character=card(description="CHAR"), lore=BOOK)
    how = laid_out(base, positions=positions)
    outcome = await (standard if base is SLOTS else advanced)(given, how)
    assert read(outcome)[:3] == ["system:AFTER", "system:BEFORE", "system:CHAR"]


async def test_57_dragged_to_the_end_it_is_the_users_last_word() -> None:
    outcome = await standard(
        request(preset=SPINE, lore=BOOK), laid_out(SLOTS, positions=[dragged("before", "end")])
    )
    assert read(outcome) == ["system:AFTER", "[OLD]", "[NOW]", "user:BEFORE"]


@pytest.mark.parametrize(
    ("priority", "expected"),
    [
        (["resource", "preset", "default"], ["system:BEFORE", "system:CHAR", "system:AFTER"]),
        (
            ["default", "preset", "resource"],
            ["[OLD]", "[NOW]", "system:CHAR", "system:BEFORE", "system:AFTER"],
        ),
    ],
)
async def test_58_priorities_decide_where_lore_stands(priority: list[str], expected: list[str]) -> None:
    spine = preset(marker("worldInfoAfter"), marker("charDescription"), marker("chatHistory"))
    given = request(preset=spine, character=card(description="CHAR"), lore=BOOK)
    assert read(await advanced(given, laid_out(ST, priority=priority)))[: len(expected)] == expected


async def test_59_circles_missing_anchors_and_strangers_have_codes() -> None:
    to = {"sourceId": "worldbook", "side": "before"}
    circle = [
        dragged("before", {**to, "positionId": "after"}),
        dragged("after", {**to, "positionId": "before"}),
    ]
    given = request(preset=SPINE, lore=BOOK)
    await refused("POSITION_ANCHOR_CYCLE", advanced(given, laid_out(ST, positions=circle)))
    lost = laid_out(ST, positions=[dragged("before", {**to, "positionId": "depth"})])
    assert "POSITION_ANCHOR_MISSING" in codes(await advanced(given, lost))
    await refused("POSITION_ANCHOR_MISSING", advanced(given, laid_out(lost, fallback="error")))
    stranger = laid_out(ST, priority=["vendor.tail", "preset", "resource", "default"])
    await refused("POSITION_STRATEGY_UNAVAILABLE", advanced(given, stranger))


async def test_60_a_literal_macro_is_indented_and_never_read_again() -> None:
    entry = replace(lore("L"), content="state: {{stat}}", literals={"stat": "a\nb {{user}}"})
    given = request(lore=(entry,), persona=PersonaAsset("me", "Ada"))
    assert read(await advanced(given, strategy(*KINDS)))[0] == "system:state: a\n       b {{user}}"


# Store, history, evidence: 61 to 71


def test_61_to_63_selections_are_tested_with_the_shelf_and_the_policy() -> None:
    """Here only that an applied strategy is a snapshot; test_selections and test_history have the rest."""
    shelf = apply_strategy(Shelf(), "s", "builtin-native-roles")
    newer = replace(shelf, built_in={"builtin-native-roles": SLOTS})
    applied = selection(newer, "s")
    assert applied is not None and applied.strategy == built_in_strategies()["builtin-native-roles"]


def test_65_a_running_session_refuses_a_selection() -> None:
    shelf = apply_strategy(Shelf(), "s", "builtin-native-roles")
    refuses("STRATEGY_RUNNING", apply_strategy, shelf, "s", None, running=True)
    applied = selection(shelf, "s")
    assert applied is not None and applied.id == "builtin-native-roles"


def test_69_ranges_count_utf16_units() -> None:
    assert utf16_offset("a😀b", 2) == 3


async def test_70_a_source_that_is_unloaded_while_it_is_asked_still_answers() -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slowly(_: object, __: object) -> Output:
        asked.set()
        await answer.wait()
        return Output((TextBlock("a", "A"),))

    sources = registry()
    dispose = sources.register(Definition(id="v.a", plugin_id="vendor", name="A", resolve=slowly))
    given: AssemblyRequest = request()
    work = asyncio.ensure_future(resolve_sources(given, OPEN, sources.capture()))
    await asked.wait()
    dispose()
    answer.set()
    assert (await work).jobs[0].rule.kind == "v.a"
    later = await resolve_sources(given, OPEN, sources.capture())
    assert [remark["code"] for remark in later.diagnostics] == ["ASSEMBLY_SOURCE_UNAVAILABLE"]
