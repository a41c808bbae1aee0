"""A small story to assemble, and how tests read what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.assembler import (
    AdvancedOutcome,
    Algorithm,
    AssemblyRequest,
    Assets,
    CharacterAsset,
    Definition,
    LoreAsset,
    OfficialPart,
    PresetAsset,
    PromptAsset,
    Sources,
    StandardOutcome,
    Strategy,
    built_in_strategies,
    deliver_advanced,
    deliver_standard,
    native_sources,
    read_strategy,
    story_sources,
)
from engine.session import Message, assistant_message, system_message, tool_message, user_message

SLOTS = built_in_strategies()["builtin-native-slots"]
ROLES = built_in_strategies()["builtin-native-roles"]
ST = built_in_strategies()["builtin-st"]

KINDS = ("native-system", "preset", "persona", "character", "worldbook", "history", "input", "phi")


def strategy(*rules: str | Mapping[str, Any], **fields: Any) -> Strategy:
    """A strategy of rules by kind, or as they are; without a layout unless one is given."""
    written = [
        {"id": rule.replace(".", "-"), "kind": rule} if isinstance(rule, str) else rule for rule in rules
    ]
    head = {"format": "dsh-tavern-request-assembly", "version": 1, "name": "Test"}
    return read_strategy({**head, **fields, "rules": written})


def changed(base: Strategy, *more: Mapping[str, Any], **rules: Mapping[str, Any]) -> Strategy:
    """A strategy with members of rules changed, by id (`_` for `-`), and rules added."""
    wire = base.to_wire()
    for rule in wire["rules"]:
        rule.update(rules.get(rule["id"].replace("-", "_"), {}))
    return read_strategy({**wire, "rules": [*wire["rules"], *more]})


def laid_out(base: Strategy, **layout: Any) -> Strategy:
    """A strategy with members of its layout changed."""
    wire = base.to_wire()
    return read_strategy({**wire, "layout": {**wire["layout"], **layout}})


def text(name: str, content: str, role: Any = "system", **more: Any) -> PromptAsset:
    return PromptAsset(name, content, role=role, **more)


def marker(name: str, role: Any = "system") -> PromptAsset:
    return PromptAsset(name, marker=True, role=role)


def preset(*prompts: PromptAsset) -> PresetAsset:
    return PresetAsset("p", prompts)


def lore(name: str, position: str = "after_character_definition", **more: Any) -> LoreAsset:
    return LoreAsset(name, name, name=name, position=position, **more)


def said(name: str) -> Message:
    return user_message(name, name)


def answered(name: str) -> Message:
    return assistant_message(name, name, provider="p", model="m")


def calling(name: str, *calls: str) -> Message:
    blocks = [{"type": "tool-call", "id": call, "name": "roll", "arguments": "{}"} for call in calls]
    return assistant_message(name, blocks, provider="p", model="m")


def result(name: str, call: str) -> Message:
    return tool_message(name, call, name)


def system(name: str, content: str = "") -> Message:
    return system_message(name, content or name)


TALK = (said("OLD"), said("NOW"))


def request(*native: Message, inputs: Sequence[str] = ("NOW",), **assets: Any) -> AssemblyRequest:
    return AssemblyRequest(
        session_id="s",
        native=native or TALK,
        input_ids=frozenset(inputs),
        assets=Assets(**assets),
        turn=1,
        step=1,
    )


def registry(*more: Definition) -> Sources:
    sources = Sources()
    sources.register_all((*native_sources(), *story_sources(), *more))
    return sources


async def standard(
    given: AssemblyRequest,
    how: Strategy = SLOTS,
    *more: Definition,
    sections: Mapping[str, str] | None = None,
    contexts: Sequence[str] = (),
    algorithms: Mapping[str, Algorithm] | None = None,
) -> StandardOutcome:
    return await deliver_standard(
        given,
        how,
        registry(*more).capture(),
        sections=[OfficialPart(name, words) for name, words in (sections or {}).items()],
        contexts=[OfficialPart(name, name) for name in contexts],
        algorithms=algorithms,
    )


async def advanced(
    given: AssemblyRequest, how: Strategy = ST, *more: Definition, in_history: bool = True
) -> AdvancedOutcome:
    return await deliver_advanced(given, how, registry(*more).capture(), in_history=in_history)


def read(outcome: StandardOutcome | AdvancedOutcome) -> list[str]:
    """The logical messages: a native one as its id in brackets, others as role and text."""
    return [
        f"[{it.id}]" if it.native is not None else f"{it.role}:{it.text}" for it in outcome.logical.messages
    ]


def sent(outcome: AdvancedOutcome) -> list[str]:
    """The projected messages."""
    return [
        f"{it['role']}:{''.join(block.get('text', '') for block in it['content'])}" for it in outcome.messages
    ]


def codes(outcome: StandardOutcome | AdvancedOutcome) -> list[str]:
    found = outcome.diagnostics if isinstance(outcome, AdvancedOutcome) else outcome.logical.diagnostics
    return [remark["code"] for remark in found]


def source(source_id: str, *blocks: Mapping[str, Any], **fields: Any) -> Definition:
    """A third-party source with fixed blocks."""
    macros = fields.pop("macros", {})
    return Definition(
        id=source_id,
        plugin_id="vendor",
        name=source_id,
        resolve=lambda _, __: {"blocks": list(blocks), "macros": macros},
        **fields,
    )


def card(**fields: Any) -> CharacterAsset:
    return CharacterAsset("card", **fields)


def next_turn(
    given: AssemblyRequest, before: AdvancedOutcome, *native: Message, **more: Any
) -> AssemblyRequest:
    """The request after a recorded one."""
    kept = {"retained": before.logical.retained, "previous": before.logical.texts()}
    return replace(given, native=native, **kept, **more)
