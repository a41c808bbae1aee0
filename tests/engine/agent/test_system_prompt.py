"""The registry of prompt parts: layers, variables, whole prompts, suppressed facts, the order of tools.

Cases 70, 71 and 76 of spec agent-loop 8.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine.agent import (
    REST,
    Agent,
    AgentSetup,
    AssembleContext,
    Assembly,
    Context,
    ContextOrder,
    Part,
    Section,
    SectionOrder,
    SystemPrompt,
    Variable,
)
from engine.cancel import CancelToken
from engine.errors import AgentError, HookError
from engine.hooks import Hooks, Next, Scope
from engine.session import Header, Session
from tests.engine.agent.harness import World, order, says, u


class Registry:
    """A registry by itself, what it announces, and one agent's scope."""

    def __init__(self, **settings: Any) -> None:
        self.hooks = Hooks()
        self.owner = Scope("test")
        self.prompt = SystemPrompt(self.hooks, **settings)
        self.told: list[tuple[str, str]] = []
        self.hooks.on("system-prompt/change", lambda *change: self.told.append(change), owner=self.owner)
        self.agent = Scope("agent")

    def section(
        self, name: str, text: Any, at: float = 0, scope: Scope | None = None, **options: bool
    ) -> Any:
        return self.prompt.section(Section(name, at, text, **options), owner=self.owner, scope=scope)

    def fact(self, name: str, text: Any, at: float = 0, scope: Scope | None = None, **options: bool) -> Any:
        return self.prompt.context(Context(name, at, text, **options), owner=self.owner, scope=scope)

    def variable(self, name: str, value: Any, scope: Scope | None = None) -> Any:
        def read(_: AssembleContext) -> Any:
            return value

        return self.prompt.variable(Variable(name, read), owner=self.owner, scope=scope)

    def offer(self, *names: str, scope: Scope | None = None, **options: Any) -> Any:
        schemas = [{"name": name, "description": "", "parameters": {"of": "all"}} for name in names]
        return self.prompt.tools(lambda _: schemas, owner=self.owner, scope=scope, **options)

    def transform(self, **change: Any) -> None:
        async def listen(payload: Any, proceed: Next) -> Assembly:
            return replace(await proceed(), **change)

        self.hooks.on("system-prompt/assemble", listen, owner=self.owner)

    def context(self, scope: Scope | None = None) -> AssembleContext:
        return AssembleContext(Session(Header("s", 0)), (), CancelToken(), scope)

    async def assembled(self, scope: Scope | None = None) -> Assembly:
        return await self.prompt.assemble(self.context(scope))


def told(parts: tuple[Part, ...]) -> list[str]:
    return [f"{part.name}: {part.text}" for part in parts]


async def refused(registry: Registry) -> str:
    with pytest.raises(AgentError) as caught:
        await registry.assembled()
    return caught.value.error_code


# -- registering ---------------------------------------------------------------------------------


async def test_every_registration_and_every_end_of_one_is_announced() -> None:
    registry = Registry()
    ends = [
        registry.section("s", ""),
        registry.fact("c", ""),
        registry.variable("v", ""),
        registry.offer("t"),
        registry.prompt.suppress_contexts(owner=registry.owner),
    ]
    kinds = [("section", "s"), ("context", "c"), ("variable", "v"), ("tools", ""), ("suppressor", "")]
    assert registry.told == kinds
    for end in ends:
        end()
        end()  # harmless
    assert registry.told[5:] == kinds


@pytest.mark.parametrize("kind", ["section", "fact", "variable"])
async def test_a_name_is_free_in_another_layer_and_taken_in_its_own(kind: str) -> None:
    registry = Registry()
    register = getattr(registry, kind)
    register("a", "one")
    register("a", "two", scope=registry.agent)
    for scope in (None, registry.agent):
        with pytest.raises(AgentError) as caught:
            register("a", "three", scope=scope)
        assert caught.value.error_code == "PROMPT_DUPLICATE"
    # and free again when its owner has ended
    await registry.owner.aclose()
    registry.owner = Scope("another")
    register("a", "four")


def test_an_owner_that_has_ended_registers_nothing() -> None:
    registry = Registry()
    registry.owner.active = False
    with pytest.raises(HookError):
        registry.section("a", "")
    registry.owner.active = True
    registry.section("a", "")


@pytest.mark.parametrize("at", [float("nan"), float("inf"), float("-inf")])
def test_an_order_is_a_number(at: float) -> None:
    registry = Registry()
    for register in (registry.section, registry.fact):
        with pytest.raises(AgentError) as caught:
            register("a", "", at)
        assert caught.value.error_code == "PROMPT_ORDER"


def test_a_variable_has_a_variable_s_name() -> None:
    with pytest.raises(AgentError) as caught:
        Registry().variable("User", "")
    assert caught.value.error_code == "PROMPT_VARIABLE_NAME"


# -- layers --------------------------------------------------------------------------------------


async def test_the_nearest_of_a_name_wins() -> None:
    registry = Registry()
    child = Scope("child", registry.agent)
    for scope, text in ((None, "all"), (registry.agent, "parent"), (child, "child")):
        registry.section("voice", text, 1, scope)
        registry.fact("place", text, 1, scope)
        registry.variable("who", text, scope)
    registry.section("who", "I am {{who}}.", 2, interpolate=True)
    seen = {}
    for scope in (None, registry.agent, child, Scope("other")):
        assembly = await registry.assembled(scope)
        seen[scope.name if scope else ""] = (assembly.system_text, told(assembly.facts))
    assert seen == {
        "": ("all\n\nI am all.", ["place: all"]),
        "agent": ("parent\n\nI am parent.", ["place: parent"]),
        "child": ("child\n\nI am child.", ["place: child"]),
        "other": ("all\n\nI am all.", ["place: all"]),
    }


async def test_sections_stand_by_order_and_then_by_the_code_units_of_their_names() -> None:
    registry = Registry()
    # U+FF5E is one unit; U+1F600 begins with a surrogate, which is smaller
    for name in ("\uff5e", "\U0001f600", "b", "B"):
        registry.section(name, name)
    registry.section("late", "late", SectionOrder.SUFFIX)
    registry.section("early", "early", SectionOrder.IDENTITY)
    assembly = await registry.assembled()
    assert [part.name for part in assembly.sections] == ["early", "B", "b", "\U0001f600", "\uff5e", "late"]
    assert ContextOrder.SCENE < ContextOrder.APPROVAL < ContextOrder.DELEGATION


async def test_a_preview_without_an_agent_reads_what_holds_for_all() -> None:
    registry = Registry()
    registry.section("all", lambda context: "nobody" if context.scope is None else "somebody")
    registry.section("own", "own", 1, registry.agent)
    assert (await registry.assembled()).system_text == "nobody"
    assert (await registry.assembled(registry.agent)).system_text == "somebody\n\nown"


# -- variables -----------------------------------------------------------------------------------


async def test_texts_are_literal_unless_they_ask() -> None:
    registry = Registry()
    registry.section("card", "{{user}} meets {{char}}.")
    registry.fact("scene", "{{user}} waits.")
    assembly = await registry.assembled()
    assert assembly.system_text == "{{user}} meets {{char}}."
    assert told(assembly.facts) == ["scene: {{user}} waits."]


async def test_variables_are_read_at_each_assembly() -> None:
    registry = Registry()
    count = iter(range(1, 9))

    async def number(_: AssembleContext) -> str:
        return str(next(count))

    registry.prompt.variable(Variable("n", number), owner=registry.owner)
    registry.section("s", "{{n}} {{n}}", interpolate=True)
    assert [(await registry.assembled()).system_text for _ in "ab"] == ["1 1", "2 2"]


async def test_a_transformation_sees_texts_that_are_not_filled_in_yet() -> None:
    registry = Registry()
    registry.variable("who", "Ada")
    registry.section("s", "{{who}}", interpolate=True)
    seen: list[str] = []

    async def look(payload: Any, proceed: Next) -> Assembly:
        seen.append(payload[0].sections[0].text)
        assembly: Assembly = await proceed()
        more = (Part("more", "{{who}}!", interpolate=True), Part("literal", "{{who}}?"))
        return replace(assembly, sections=(*assembly.sections, *more))

    registry.hooks.on("system-prompt/assemble", look, owner=registry.owner)
    assert (await registry.assembled()).system_text == "Ada\n\nAda!\n\n{{who}}?"
    assert seen == ["{{who}}"]


async def test_a_text_that_cannot_be_filled_in_fails_its_turn_and_the_agent_lives() -> None:
    world = World(says("ok"))
    literal = "Dear {{name}}"
    world.services.prompt.section(Section("letter", 1, literal), owner=world.owner)
    agent = await world.agents.create("s")
    agent.followup(u("a"))
    await agent.when_idle()
    assert world.adapter.requests[-1][0].endswith("Dear {{name}}")
    owner = Scope("strict")
    world.services.prompt.section(Section("strict", 2, literal, interpolate=True), owner=owner)
    agent.followup(u("b"))
    await agent.when_idle()
    error = agent.session.events()[-1].data["reason"]["error"]
    assert error["code"] == "PROMPT_VARIABLE"
    assert "strict" in error["message"]
    await owner.aclose()
    agent.followup(u("c"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end completed"


async def test_a_fact_that_cannot_be_filled_in_at_admission_admits_nothing() -> None:
    world = World(says("ok"))
    texts = iter(["fine", "{{nowhere}}"])
    world.services.prompt.context(
        Context("scene", 0, lambda _: next(texts), interpolate=True), owner=world.owner
    )
    agent = await world.agents.create("s")
    agent.followup(u("a"))
    await agent.when_idle()
    assert agent.session.events()[-1].data["reason"]["error"]["code"] == "PROMPT_VARIABLE"
    assert not any(word.startswith(("system", "user")) for word in order(agent.session))


# -- the whole prompt in one section -------------------------------------------------------------


async def test_a_complete_section_is_the_only_one_whatever_a_transformation_says() -> None:
    registry = Registry()
    registry.section("other", "other")
    registry.section("whole", "whole", complete=True)
    registry.transform(sections=(Part("mine", "mine"), Part("whole", "changed")))
    assembly = await registry.assembled()
    assert told(assembly.sections) == ["whole: whole"]


async def test_two_complete_sections_are_an_error_and_a_nearer_one_of_the_same_name_is_not() -> None:
    registry = Registry()
    registry.section("whole", "all", complete=True)
    registry.section("whole", "own", scope=registry.agent, complete=True)
    assert (await registry.assembled(registry.agent)).system_text == "own"
    registry.section("another", "", complete=True)
    assert await refused(registry) == "PROMPT_COMPLETE"


async def test_two_complete_sections_end_a_turn() -> None:
    world = World(says("never"))
    for name in "ab":
        world.services.prompt.section(Section(name, 0, name, complete=True), owner=world.owner)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert agent.session.events()[-1].data["reason"]["error"]["code"] == "PROMPT_COMPLETE"


# -- transformations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"sections": (Part("a", "1"), Part("a", "2"))},
        {"contexts": (Part("a", "1"), Part("a", "2"))},
        {"tools": ({"name": "a"}, {"name": "a"})},
    ],
)
async def test_a_transformation_that_doubles_a_name_is_an_error(change: Any) -> None:
    registry = Registry()
    registry.transform(**change)
    assert await refused(registry) == "PROMPT_DUPLICATE"


async def test_required_facts_come_back_as_they_are() -> None:
    registry = Registry()
    registry.fact("place", "inn", required=True)
    registry.fact("hour", "ten", 1, required=True)
    registry.fact("mood", "grim", 2)
    registry.transform(contexts=(Part("place", "nowhere"), Part("extra", "dusk")))
    assembly = await registry.assembled()
    assert told(assembly.facts) == ["place: inn", "extra: dusk", "hour: ten"]


# -- suppressed facts ----------------------------------------------------------------------------


async def test_while_anything_suppresses_them_only_required_facts_are_sent() -> None:
    registry = Registry()
    registry.fact("mood", "grim")
    registry.fact("place", "inn", 1, required=True)
    both = ["mood: grim", "place: inn"]
    first = registry.prompt.suppress_contexts(owner=registry.owner)
    second = registry.prompt.suppress_contexts(owner=registry.owner, scope=registry.agent)

    async def facts() -> tuple[list[str], list[str]]:
        assembly = await registry.assembled(registry.agent)
        return told((await registry.assembled()).facts), told(assembly.facts)

    assert await facts() == (["place: inn"], ["place: inn"])
    first()
    assert await facts() == (both, ["place: inn"])
    second()
    assert await facts() == (both, both)


async def test_a_suppressor_that_comes_later_empties_what_was_assembled() -> None:
    registry = Registry()
    registry.fact("mood", "grim")
    assembly = await registry.assembled()
    end = registry.prompt.suppress_contexts(owner=registry.owner)
    assert registry.prompt.refresh(assembly, registry.context()).facts == ()
    end()
    assert told(registry.prompt.refresh(assembly, registry.context()).facts) == ["mood: grim"]


# -- reading facts again -------------------------------------------------------------------------


async def test_only_facts_are_read_again() -> None:
    registry = Registry()
    texts = {"mood": "grim", "place": "inn", "who": "Ada", "section": "one"}

    def reads(name: str) -> Any:
        return lambda _: texts[name]

    registry.prompt.variable(Variable("who", reads("who")), owner=registry.owner)
    registry.section("section", reads("section"))
    registry.fact("mood", reads("mood"))
    registry.fact("gone", "gone", 1)
    registry.fact("place", reads("place"), 2, required=True)
    registry.fact("name", "{{who}}", 3, interpolate=True)
    registry.offer("dice")

    async def edit(payload: Any, proceed: Next) -> Assembly:
        assembly: Assembly = await proceed()
        kept = tuple(part for part in assembly.contexts if part.name not in ("gone", "place"))
        return replace(assembly, contexts=(*kept, Part("extra", "dusk")))

    registry.hooks.on("system-prompt/assemble", edit, owner=registry.owner)
    assembly = await registry.assembled()
    assert told(assembly.facts) == ["mood: grim", "name: Ada", "extra: dusk", "place: inn"]
    texts.update(mood="gay", place="road", who="Ben", section="two")
    registry.fact("late", "late", 4)
    registry.fact("law", "stay", 5, required=True)
    renewed = registry.prompt.refresh(assembly, registry.context())
    # what was removed stays removed, what was added stays, what is required is there, also a new one;
    # and variables are those of the assembly
    assert told(renewed.facts) == ["mood: gay", "name: Ada", "extra: dusk", "place: road", "law: stay"]
    assert (renewed.system_text, renewed.tools) == ("one", assembly.tools)


# -- tools ---------------------------------------------------------------------------------------


def names(assembly: Assembly) -> list[str]:
    return [tool["name"] for tool in assembly.tools]


async def test_tools_stand_by_their_names_and_nearer_ones_hide_others() -> None:
    registry = Registry()
    registry.offer("b", "a")
    registry.offer("B")
    own = {"name": "a", "description": "own", "parameters": {}}
    registry.prompt.tools(lambda _: [own], owner=registry.owner, scope=registry.agent)
    assembly = await registry.assembled(registry.agent)
    assert names(assembly) == ["B", "a", "b"]
    assert assembly.tools[1]["description"] == "own"


@pytest.mark.parametrize(
    ("tool_order", "expected"),
    [
        ((), ["a", "b", "c", "d"]),
        ((REST,), ["a", "b", "c", "d"]),
        (("c", REST), ["c", "a", "b", "d"]),
        ((REST, "a"), ["b", "c", "d", "a"]),
        (("d", "b", REST, "a"), ["d", "b", "c", "a"]),
        (("away", "d", REST), ["d", "a", "b", "c"]),
    ],
)
async def test_tools_stand_as_configured(tool_order: tuple[str, ...], expected: list[str]) -> None:
    registry = Registry(tool_order=tool_order)
    registry.offer("d", "b", known=lambda: ["away"])
    registry.offer("c", "a")
    with capture_logs() as logs:
        assert names(await registry.assembled()) == expected
    assert logs == []


async def test_a_name_in_the_order_that_nobody_knows_is_warned_of_once() -> None:
    registry = Registry(tool_order=("dise", REST))
    registry.offer("dice")
    with capture_logs() as logs:
        for _ in "ab":
            await registry.assembled()
    assert [entry["tools"] for entry in logs] == [["dise"]]


@pytest.mark.parametrize("tool_order", [("a",), (REST, REST), ("a", REST, "a")])
def test_an_order_has_one_place_for_the_rest(tool_order: tuple[str, ...]) -> None:
    with pytest.raises(AgentError) as caught:
        SystemPrompt(Hooks(), tool_order)
    assert caught.value.error_code == "PROMPT_TOOL_ORDER"


async def test_two_tools_of_one_name_in_a_layer_are_an_error() -> None:
    registry = Registry()
    registry.offer("a")
    registry.offer("a")
    assert await refused(registry) == "PROMPT_DUPLICATE"


async def test_schemas_are_copies_that_nobody_can_change() -> None:
    registry = Registry()
    schema = {"name": "a", "description": "", "parameters": {"properties": {"n": {"type": "integer"}}}}
    registry.prompt.tools(lambda _: [schema], owner=registry.owner)
    assembly = await registry.assembled()
    schema["parameters"]["properties"]["n"]["type"] = "string"  # type: ignore[index]
    assert assembly.tools[0]["parameters"]["properties"]["n"]["type"] == "integer"
    with pytest.raises(TypeError):
        assembly.tools[0]["parameters"]["properties"]["n"]["type"] = "string"


# -- one agent's own -----------------------------------------------------------------------------


async def test_what_a_setup_registers_is_its_agent_s_and_goes_with_it() -> None:
    world = World(says("ok"))
    heard: list[str] = []

    def setup(own: AgentSetup) -> None:
        own.section(Section("persona", 0, "You are {{who}}.", interpolate=True))
        own.variable(Variable("who", lambda _: "Ben"))
        own.context(Context("place", 0, "inn", required=True))
        own.context(Context("mood", 1, "grim"))
        own.suppress_contexts()
        own.on("agent/status", lambda session_id, status: heard.append(f"{session_id} {status}"))

    async def play(agent: Agent) -> list[str]:
        agent.followup(u("hi"))
        await agent.when_idle()
        return world.adapter.requests[-1]

    one = await world.agents.create("one", setup=setup)
    two = await world.agents.create("two")
    heading = "Current facts; this list replaces every earlier one:"
    assert await play(one) == ["system:You are Ben.", "user:hi", f"user:{heading}\n\ninn"]
    assert await play(two) == ["system:You are Ada.", "user:hi"]
    assert heard == ["one running", "one idle"]
    await world.agents.close("one")
    again = await world.agents.open("one")
    assert (await play(again))[0] == "system:You are Ada."
    assert heard == ["one running", "one idle"]
