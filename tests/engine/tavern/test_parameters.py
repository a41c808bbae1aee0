"""A preset's parameters and what is done when a server refuses one (spec agent-loop 5.4, cases 51 and 52)."""

from __future__ import annotations

from typing import Any

from engine.llm import Failure
from engine.tavern import CallParameters, PresetParameters
from tests.engine.agent.harness import World, order, says, u


def refuses(message: str, *before: str, code: str = "INVALID_REQUEST") -> list[dict[str, Any]]:
    opening = says(*before)[: 1 + len(before)] if before else []
    failure = Failure(message, code, status=400).to_wire()
    return [*opening, {"type": "finish", "reason": {"kind": "error", "failure": failure}}]


def world(*answers: list[dict[str, Any]], **wanted: Any) -> World:
    made = World(*answers)
    services = made.services
    parameters = PresetParameters(services.hooks, services.llm, services.defaults, made.owner)
    parameters.keep("s", CallParameters(**wanted))
    return made


async def answered(made: World) -> list[dict[str, Any]]:
    """Play one turn; the configs that were recorded for its requests."""
    agent = await made.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    headers = [event for event in agent.session.events() if event.type == "request/header"]
    return [dict(event.data["header"]["config"]) for event in headers]


async def test_what_the_preset_asks_for_is_asked_for() -> None:
    configs = await answered(world(says("ok"), temperature=0.0, max_tokens=300))
    assert configs == [{"provider": "scripted", "model": "m1", "temperature": 0.0, "maxTokens": 300}]


async def test_a_refused_temperature_is_left_out_and_the_answer_comes() -> None:
    made = world(refuses("temperature is not supported"), says("ok"), temperature=1.4, max_tokens=300)
    first, second = await answered(made)
    assert first["temperature"] == 1.4
    assert second == {"provider": "scripted", "model": "m1", "maxTokens": 300}
    session = (await made.agents.open("s")).session
    assert order(session)[-3:] == ["assistant ok", "step/end", "turn/end completed"]


async def test_after_the_first_word_nothing_is_left_out() -> None:
    made = world(refuses("temperature is not supported", "Hel"), says("ok"), temperature=1.4)
    assert len(await answered(made)) == 1
    assert len(made.adapter.requests) == 1


async def test_a_full_context_is_no_refused_parameter() -> None:
    made = world(
        refuses("maximum context length exceeded", code="CONTEXT_WINDOW_EXCEEDED"), says("ok"), max_tokens=300
    )
    await answered(made)
    assert len(made.adapter.requests) == 1


async def test_what_the_host_set_is_not_the_preset_s_to_drop() -> None:
    made = world(refuses("temperature is not supported"), says("ok"), max_tokens=300)
    await answered(made)
    assert len(made.adapter.requests) == 1


async def test_a_server_that_refuses_everything_is_asked_once_for_each_and_then_no_more() -> None:
    made = world(
        refuses("temperature is not supported"),
        refuses("max_tokens is not supported"),
        refuses("parameter 'stop' is not supported"),
        refuses("temperature is not supported"),
        temperature=1.4,
        max_tokens=300,
        stop=("X",),
    )
    await answered(made)
    assert len(made.adapter.requests) == 4
    session = (await made.agents.open("s")).session
    assert order(session)[-1] == "turn/end error"
