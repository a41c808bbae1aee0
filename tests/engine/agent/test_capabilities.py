"""Routes that take news in their history, and routes that do not: system prompts, tools, headers.

Cases 72 to 74 and 79 of spec agent-loop 8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from engine.agent import Agent, Decision, PreStep, invariants
from engine.errors import AgentError
from engine.hooks import Next
from engine.llm import CallConfig, Llm, LlmRequest, ModelInfo
from engine.session import Event, message_text, system_message
from tests.engine.agent.harness import ScriptedAdapter, World, derived, fails, order, says, u


class Capable(World):
    """A world whose model has what the test says."""

    def __init__(self, *answers: Iterable[Any], **info: Any) -> None:
        super().__init__(*answers)
        self.info = info
        self.sent: list[LlmRequest] = []
        self.services.llm = Llm()
        self.services.llm.register(_Adapter(self, *answers))
        self.offered: set[str] = set()
        self.on("tools/available", self._available)

    def offers(self, *names: str) -> None:
        """These tools are on from now on, and no others."""

        async def body(arguments: str, token: Any) -> str:
            return "four"

        for name in names:
            if name not in self.services.tools.names:
                self.tool(name, body)
        self.offered = set(names)

    async def _available(self, session: Any, proceed: Next) -> set[str]:
        await proceed()
        return self.offered

    async def played(self, *texts: str) -> Agent:
        agent = self.agents.get("s") or await self.agents.create("s")
        for text in texts:
            agent.followup(u(text))
            await agent.when_idle()
            assert order(agent.session)[-1] == "turn/end completed"
        return agent


class _Adapter(ScriptedAdapter):
    def __init__(self, world: Capable, *answers: Iterable[Any]) -> None:
        super().__init__(*answers)
        self.world = world

    def model_info(self, model: str) -> ModelInfo:
        return ModelInfo("scripted", model, **self.world.info)

    def stream(self, request: LlmRequest, token: Any) -> Any:
        self.world.sent.append(request)
        return super().stream(request, token)


def of(agent: Agent, event_type: str) -> list[Event]:
    return [event for event in agent.session.events() if event.type == event_type]


def headers(agent: Agent) -> list[tuple[str, list[str], bool]]:
    """Reason, tools, and whether a series starts, of each header."""
    return [
        (
            event.data["reason"],
            [tool["name"] for tool in event.data["header"].get("tools", ())],
            event.data.get("startsSeries", False),
        )
        for event in of(agent, "request/header")
    ]


def systems(agent: Agent) -> list[str]:
    return [line.partition(":")[2] for line in derived(agent.session) if line.startswith("system:")]


# -- the system prompt in the history ------------------------------------------------------------


async def test_a_capable_route_gets_the_whole_new_prompt_at_the_end_and_keeps_its_prefix() -> None:
    world = Capable(says("ok"), system_prompt_update="in-history")
    agent = await world.played("a")
    world.prompt_text = "You are Bob."
    await world.played("b", "c")
    assert derived(agent.session) == [
        *("system:You are Ada.", "user:a", "assistant:ok"),
        *("system:You are Bob.", "user:b", "assistant:ok", "user:c", "assistant:ok"),
    ]
    first, second, _ = (request.messages for request in world.sent)
    assert list(second[: len(first)]) == list(first)
    assert headers(agent) == [("initial", [], False)]
    # cleared: no system text is left anywhere
    world.prompt_text = ""
    await world.played("d")
    assert systems(agent) == []
    assert all(not message_text(e.data["message"]) for e in of(agent, "system/message")[-2:])


async def test_an_incapable_route_reads_one_prompt_at_its_head() -> None:
    world = Capable(says("ok"))
    agent = await world.played("a")
    world.prompt_text = "You are Bob."
    await world.played("b")
    assert systems(agent) == ["You are Bob."]
    assert world.sent[1].messages[0]["role"] == "system"


async def test_a_new_series_makes_one_prompt_of_several() -> None:
    # given a history with two prompts on a capable route
    world = Capable(says("ok"), system_prompt_update="in-history")
    agent = await world.played("a")
    world.prompt_text = "You are Bob."
    await world.played("b")
    assert systems(agent) == ["You are Ada.", "You are Bob."]

    async def again(payload: PreStep, proceed: Next) -> Decision:
        return replace(await proceed(), starts_series=True)

    world.on("agent/pre-step", again)
    # when pre-step asks for a new series
    await world.played("c")
    assert systems(agent) == ["You are Bob."]
    assert headers(agent)[-1] == ("series", [], False)


async def test_a_series_that_pre_step_asked_for_starts_once_a_step() -> None:
    world = Capable(fails("SERVER"), says("ok"))
    asked = iter([False, True])

    async def again(payload: PreStep, proceed: Next) -> Decision:
        return replace(await proceed(), starts_series=next(asked))

    world.on("agent/pre-step", again)
    agent = await world.played("a", "b")
    assert headers(agent) == [("initial", [], False), ("series", [], False)]


# -- tools that come and go ----------------------------------------------------------------------


async def test_an_incapable_route_learns_of_its_tools_from_the_header_and_starts_a_series() -> None:
    world = Capable(says("ok"))
    agent = await world.played("a")
    world.offers("dice", "cards")
    await world.played("b", "c")
    world.offers()
    await world.played("d")
    assert headers(agent) == [
        ("initial", [], False),
        ("change", ["cards", "dice"], True),
        ("change", [], True),
    ]
    assert of(agent, "developer/message") == []
    assert [[tool["name"] for tool in request.tools] for request in world.sent] == [
        *([], ["cards", "dice"], ["cards", "dice"], []),
    ]


async def test_a_capable_route_is_told_in_its_history_and_goes_on() -> None:
    world = Capable(says("ok"), tool_update="in-history")
    world.offers("cards", "dice")
    agent = await world.played("a")
    world.offers("dice", "map")
    await world.played("b", "c")
    world.offers()
    await world.played("d")
    assert headers(agent) == [
        ("initial", ["cards", "dice"], False),
        ("change", ["dice", "map"], False),
        ("change", [], False),
    ]
    changed, cleared = of(agent, "developer/message")
    assert changed.data["message"]["content"] == (
        {"type": "tool-removal", "toolName": "cards"},
        {"type": "tool-addition", "toolName": "map"},
    )
    assert changed.data["message"]["source"] == {"kind": "tool-registry"}
    # an addition names the header that describes the tool; removals name none
    assert changed.data["headerSeq"] == of(agent, "request/header")[1].seq
    assert "headerSeq" not in cleared.data
    assert [block["type"] for block in cleared.data["message"]["content"]] == ["tool-removal"] * 2
    # the model reads it where it happened: after the words of its step
    assert [m["role"] for m in world.sent[1].messages] == [
        *("system", "user", "assistant", "user", "developer"),
    ]


async def test_a_tool_with_another_schema_goes_and_comes() -> None:
    world = Capable(says("ok"), tool_update="in-history")
    texts = iter(["Throw.", "Throw one."])

    async def offer(payload: Any, proceed: Next) -> Any:
        tool = {"name": "dice", "description": next(texts), "parameters": {"type": "object"}}
        return replace(await proceed(), tools=(tool,))

    world.on("system-prompt/assemble", offer)
    agent = await world.played("a", "b")
    (change,) = of(agent, "developer/message")
    assert [(block["type"], block["toolName"]) for block in change.data["message"]["content"]] == [
        ("tool-removal", "dice"),
        ("tool-addition", "dice"),
    ]


async def test_another_order_of_the_same_tools_is_a_change_that_is_not_told() -> None:
    world = Capable(says("ok"), tool_update="in-history")
    orders = iter([("a", "b"), ("b", "a")])

    async def offer(payload: Any, proceed: Next) -> Any:
        tools = [{"name": n, "description": "", "parameters": {"type": "object"}} for n in next(orders)]
        return replace(await proceed(), tools=tuple(tools))

    world.on("system-prompt/assemble", offer)
    agent = await world.played("a", "b")
    assert headers(agent) == [("initial", ["a", "b"], False), ("change", ["b", "a"], False)]
    assert of(agent, "developer/message") == []


async def test_a_retry_tells_of_tools_once() -> None:
    world = Capable(says("ok"), fails("SERVER"), fails("SERVER"), says("ok"), tool_update="in-history")
    agent = await world.played("a")
    world.offers("dice")
    await world.played("b")
    assert len(of(agent, "developer/message")) == 1


# -- what the adapter filled in ------------------------------------------------------------------


async def test_what_a_model_filled_in_is_flagged_and_another_model_fills_in_its_own() -> None:
    world = Capable(says("ok"), default_max_tokens=500, default_effort="high")
    agent = await world.played("a")
    world.info = {"default_max_tokens": 900}
    seen: list[CallConfig] = []

    async def look(proposal: object, proceed: Next) -> CallConfig:
        config: CallConfig = await proceed()
        seen.append(config)
        return config

    world.on("agent/request", look)
    await world.played("b")
    first, second = (event.data["header"] for event in of(agent, "request/header"))
    assert first["config"]["maxTokens"] == 500
    assert first["adapterDefaults"] == {"maxTokens": True, "reasoningEffort": True}
    assert seen == [CallConfig("scripted", "m1")]
    assert second == {
        "config": {"provider": "scripted", "model": "m1", "maxTokens": 900},
        "adapterDefaults": {"maxTokens": True},
    }


@pytest.mark.parametrize(
    ("before", "now", "restored"),
    [
        (CallConfig("scripted", "m1", "low"), CallConfig("scripted", "m1"), "low"),
        (CallConfig("scripted", "m1", "low"), CallConfig("scripted", "m1", "high"), "high"),
        (CallConfig("scripted", "m1", "low"), CallConfig("scripted", "m2"), None),
        (CallConfig("scripted", "m1"), CallConfig("scripted", "m1"), None),
    ],
    ids=["the same model", "another wish", "another model", "filled in by the adapter"],
)
async def test_a_resumed_agent_keeps_an_effort_that_was_chosen_for_its_model(
    before: CallConfig, now: CallConfig, restored: str | None
) -> None:
    world = Capable(says("ok"), default_effort="medium" if before.reasoning_effort is None else None)
    world.services.defaults = before
    await world.played("a")
    await world.agents.close("s")
    world.info = {}
    world.services.defaults = now
    agent = await world.agents.open("s")
    await world.played("b")
    header = of(agent, "request/header")[-1].data
    assert header["reason"] == "resume"
    assert header["header"]["config"].get("reasoningEffort") == restored


# -- what is sent is what is logged --------------------------------------------------------------


async def test_a_request_that_is_not_what_its_log_says_is_found_out() -> None:
    world = Capable(says("ok"))
    agent = await world.played("a")
    session, projections = agent.session, world.services.journal.sessions.projections
    (request,) = world.sent
    honest = replace(request, messages=session.derive())
    invariants.check_request(session, honest, projections)
    for fault, lie in (
        ("messages", replace(honest, messages=session.derive()[1:])),
        ("frozen, messages", replace(honest, messages=[*session.derive(), dict(u("b"))])),
        ("frozen, messages", replace(honest, messages=[*session.derive(), dict(system_message("x", "y"))])),
        ("config", replace(honest, config=replace(honest.config, temperature=0.5))),
        ("tools", replace(honest, tools=({"name": "dice"},))),
    ):
        with pytest.raises(AgentError, match=f"{fault}\\.$") as caught:
            invariants.check_request(session, lie, projections)
        assert caught.value.error_code == "REQUEST_INVARIANT"


async def test_it_is_checked_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Capable(says("ok"))
    agent = await world.played("a")
    lie = replace(world.sent[0], messages=())
    monkeypatch.setattr(invariants, "CHECKED", False)
    invariants.check_request(agent.session, lie, world.services.journal.sessions.projections)
