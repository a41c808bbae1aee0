"""What is always true of an assembly, whatever people write into strategies, presets, cards and books."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.assembler import (
    AssemblyRequest,
    Assets,
    CharacterAsset,
    DepthPrompt,
    LoreAsset,
    PersonaAsset,
    PresetAsset,
    PromptAsset,
    Strategy,
    assemble,
    deliver_standard,
    read_strategy,
    resolve_sources,
)
from engine.assembler.checks import added_bytes
from engine.assembler.node import NodeMessage
from engine.assembler.request import SourceContext
from engine.assembler.sources.renderer import story_renderer
from engine.assembler.transactions import check_transactions
from engine.cancel import CancelToken
from engine.codec import dumps
from engine.errors import AssemblyError
from engine.macros import Authored, MacroContext, evaluate
from engine.session import Message, thaw
from tests.engine.assembler.stage import KINDS, answered, calling, registry, result, said, system

TEXTS = st.sampled_from(
    ["", "A", "{{user}} and {{char}}", "x{{chatHistory}}y", "{{history}}m{{input}}", "{{description}}",
     "{{worldInfo}}", "{{persona}}", "{{getvar::m}}", "{{setvar::m::1}}", "{ {{nope}} }", "{{original}}"]
)  # fmt: skip
ROLES = st.sampled_from(["system", "user", "assistant"])
MARKERS = (
    "chatHistory",
    "worldInfoBefore",
    "worldInfoAfter",
    "charDescription",
    "dialogueExamples",
    "authorNote",
    "odd",
)
POSITIONS = (
    "before_character_definition", "after_character_definition", "before_example_messages",
    "after_author_note", "at_depth",
)  # fmt: skip


@st.composite
def presets(draw: st.DrawFn) -> PresetAsset:
    names = draw(
        st.lists(st.sampled_from(("main", "jailbreak", "a", "b", *MARKERS)), unique=True, max_size=7)
    )
    return PresetAsset(
        "p",
        tuple(
            PromptAsset(
                name,
                draw(TEXTS),
                role=draw(ROLES),
                enabled=draw(st.booleans()),
                marker=name in MARKERS,
                in_chat=name not in MARKERS and draw(st.booleans()),
                depth=draw(st.integers(0, 5)),
            )
            for name in names
        ),
    )


@st.composite
def assets(draw: st.DrawFn) -> Assets:
    entries = draw(
        st.lists(st.tuples(TEXTS, st.sampled_from(POSITIONS), ROLES, st.integers(0, 3)), max_size=4)
    )
    return Assets(
        preset=draw(st.none() | presets()),
        character=draw(
            st.none()
            | st.builds(
                CharacterAsset,
                id=st.just("c"),
                name=st.just("Maren"),
                description=TEXTS,
                system=TEXTS,
                phi=TEXTS,
                greeting=TEXTS,
                depth_prompt=st.none() | st.builds(DepthPrompt, TEXTS, st.integers(0, 6), ROLES),
            )
        ),
        persona=draw(st.none() | st.builds(PersonaAsset, st.just("u"), st.just("Ada"), TEXTS)),
        lore=tuple(
            LoreAsset(f"e{n}", words, position=place, role=role, depth=depth)
            for n, (words, place, role, depth) in enumerate(entries)
        ),
        greeting_reference=draw(st.booleans()),
    )


@st.composite
def talks(draw: st.DrawFn) -> tuple[Message, ...]:
    """A conversation with whole tool transactions and updates of the system text."""
    messages: list[Message] = []
    for n, kind in enumerate(draw(st.lists(st.sampled_from("uatts"), max_size=7))):
        if kind == "u":
            messages.append(said(f"u{n}"))
        elif kind == "a":
            messages.append(answered(f"a{n}"))
        elif kind == "s":
            messages.append(system(f"s{n}"))
        else:
            calls = [f"c{n}-{call}" for call in range(draw(st.integers(1, 3)))]
            messages.append(calling(f"t{n}", *calls))
            messages += [result(f"r{call}", call) for call in draw(st.permutations(calls))]
    return (*messages, said("NOW"))


@st.composite
def documents(draw: st.DrawFn) -> Strategy:
    back_end = draw(st.sampled_from([None, "core", "native"]))
    rules = [
        {
            "id": f"r{n}",
            "kind": kind,
            "enabled": draw(st.integers(0, 4)) > 0,
            "role": draw(st.sampled_from(["preserve", "system", "user"]))
            if kind in ("character", "custom")
            else None,
            "depth": draw(st.none() | st.integers(0, 4)) if kind in ("worldbook", "custom") else None,
            "delivery": draw(st.sampled_from([None, "context", "pre-step"])),
            "text": draw(TEXTS),
        }
        for n, kind in enumerate([*draw(st.permutations(KINDS)), "custom", "vendor.missing"])
    ]
    layout = None
    if draw(st.booleans()):
        layout = {
            "version": 1,
            "source": draw(st.sampled_from(["manual", "preset-slots"])),
            "identity": draw(st.sampled_from(["preserve", "position"])),
            "fallback": "source-order",
            "overrides": [],
            "priority": draw(st.none() | st.permutations(["preset", "resource", "default"])),
            "positions": [
                {"sourceId": "worldbook", "positionId": name, "enabled": draw(st.booleans()),
                 "placement": draw(st.sampled_from(["list", "source"])),
                 "anchor": draw(st.sampled_from([None, "end"]))}
                for name in draw(st.sets(st.sampled_from(["before", "after", "depth"])))
            ],
        }  # fmt: skip
    placement = draw(
        st.sampled_from(["modules", "st"] + ["native-roles", "native-slots"] * (back_end == "native"))
    )
    return read_strategy(
        {"format": "dsh-tavern-request-assembly", "version": 1, "name": "Any", "backend": back_end,
         "placement": placement, "layout": layout, "rules": rules}
    )  # fmt: skip


def requests(talk: tuple[Message, ...], found: Assets, preview: bool = False) -> AssemblyRequest:
    return AssemblyRequest("s", talk, frozenset({"NOW"}), found, turn=1, step=1, preview=preview)


def assembled(request: AssemblyRequest, how: Strategy) -> Any:
    """The result, or the code of a refusal."""

    async def work() -> Any:
        return assemble(request, await resolve_sources(request, how, registry().capture()))

    try:
        return asyncio.run(work())
    except AssemblyError as error:
        return error.error_code


EVERY = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@EVERY
@given(talks(), assets(), documents())
def test_native_messages_come_out_once_in_order_and_transactions_stay_whole(
    talk: tuple[Message, ...], found: Assets, how: Strategy
) -> None:
    logical = assembled(requests(talk, found), how)
    if isinstance(logical, str):
        return
    out = [message.native["id"] for message in logical.messages if message.native is not None]
    assert len(out) == len(set(out))
    assert set(out) <= {message["id"] for message in talk}
    # a module's messages never change their order, whatever stands between them
    for ids in (["NOW"], [m["id"] for m in talk if m["id"] != "NOW" and m["role"] != "system"]):
        kept = [message_id for message_id in out if message_id in ids]
        assert kept in ([], ids)
    check_transactions(message.native for message in logical.messages)
    assert len({node.id for node in logical.nodes}) == len(logical.nodes)


@EVERY
@given(talks(), assets(), documents(), st.booleans())
def test_the_same_request_gives_the_same_result_and_is_not_changed(
    talk: tuple[Message, ...], found: Assets, how: Strategy, preview: bool
) -> None:
    request = requests(talk, found, preview)
    before = deepcopy([thaw(message) for message in talk]), how.to_wire(), repr(found)

    def told(logical: Any) -> Any:
        if isinstance(logical, str):
            return logical
        nodes = [node.to_wire() for node in logical.nodes]
        return [(it.id, it.role, it.text) for it in logical.messages], nodes, list(logical.diagnostics)

    assert told(assembled(request, how)) == told(assembled(request, how))
    assert ([thaw(message) for message in talk], how.to_wire(), repr(found)) == before


@EVERY
@given(talks(), assets(), documents())
def test_the_standard_plan_is_the_logical_order(
    talk: tuple[Message, ...], found: Assets, how: Strategy
) -> None:
    request = requests(talk, found)
    try:
        outcome = asyncio.run(deliver_standard(request, how, registry().capture()))
    except AssemblyError:
        return
    parts = [part.text for part in outcome.sections]
    parts += [it.text for it in outcome.before_input]
    contexts = [part.text for part in outcome.contexts]
    order = [message.text for message in outcome.logical.messages if message.native is None]
    assert order == [*parts, *contexts, *(it.text for it in outcome.after_input)]
    conversation = [message["id"] for message in talk if message["role"] != "system"]
    assert [m.native["id"] for m in outcome.logical.messages if m.native is not None] == conversation


@EVERY
@given(documents())
def test_normalising_a_normalised_strategy_changes_nothing(how: Strategy) -> None:
    again = read_strategy(how.to_wire())
    assert again == how
    assert again.to_wire() == how.to_wire()
    assert again.revision == how.revision


PIECES = st.lists(
    st.sampled_from(
        ["{{user}}", "{{char}}", "{{USER}}", "{", "}", "}}", "<USER>", "<", "\\", " ", "\n", "x", "é\u3000"]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(PIECES, st.sampled_from(["Ada", "{A}", "A\\", "<b>"]), st.sampled_from(["", "user", "CHAR", "x"]))
def test_the_short_way_of_the_renderer_is_the_macro_engines(text: str, name: str, taken: str) -> None:
    """Also where a name is taken by a macro of the story's own."""
    own = {taken: "{{MINE}}"} if taken else {}
    found = Assets(persona=PersonaAsset("u", name), character=CharacterAsset("c", "Maren"), macros=own)
    oracle = MacroContext(user=name, char="Maren", extra=own)
    assert rendered(found, text, {}) == evaluate(Authored(text), oracle, profile="assembly").text


NAMES = st.sampled_from(["a", "A", " a ", "user", "active_lore_text", "if", "trim", "random::x", "é", "//"])


@settings(max_examples=500, deadline=None)
@given(
    st.dictionaries(NAMES, PIECES, max_size=2),
    st.dictionaries(NAMES, PIECES, max_size=1),
    NAMES,
    st.sampled_from(
        ["{{%s}}", "{{ %s }}", "{{%s}}{{%s}}", "- {{%s}}", "\\{{%s}}", "{{{%s}}}", "\n{{%s}}\u3000"]
    ),
)
def test_the_short_way_of_a_literal_is_the_macro_engines(
    literals: dict[str, str], common: dict[str, str], name: str, around: str
) -> None:
    """A text's own literals go before those of the whole assembly."""
    text = around.replace("%s", name)
    found = Assets(expanding=MacroContext(user="Ada", char="Maren", literals=common))
    known = {name.strip().lower(): value for name, value in (*common.items(), *literals.items())}
    oracle = MacroContext(user="Ada", char="Maren", literals=known)
    assert rendered(found, text, literals) == evaluate(Authored(text), oracle, profile="assembly").text


@settings(max_examples=300, deadline=None)
@given(PIECES.filter(lambda text: not set("{}<") & set(text)))
def test_a_text_without_marks_is_the_same_as_a_literal(text: str) -> None:
    found = Assets(expanding=MacroContext())
    assert rendered(found, text, {}) == rendered(found, "{{t}}", {"t": text})


def rendered(found: Assets, text: str, literals: dict[str, str]) -> str:
    context = SourceContext.of(requests((), found), read_strategy(EMPTY), CancelToken())
    return story_renderer(context, lambda *_, **__: None)(text, literals, "n")


MESSAGES = st.lists(st.tuples(ROLES, st.text(st.sampled_from('aé漢😀"\\\n\x01'), max_size=6)), max_size=5)


@settings(max_examples=300, deadline=None)
@given(MESSAGES)
def test_added_bytes_are_those_of_the_messages_as_json(messages: list[tuple[str, str]]) -> None:
    bodies = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in messages]
    native = NodeMessage("user", None, "n", said("NOW"))
    added = [NodeMessage(role, text, "n") for role, text in messages]
    assert added_bytes([native, *added]) == (len(dumps(bodies)) if bodies else 0)


EMPTY = {"format": "dsh-tavern-request-assembly", "version": 1, "name": "Empty", "rules": []}
