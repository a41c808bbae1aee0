"""A preset's parameters and what is done when a server refuses one (spec agent-loop 5.4, cases 51 and 52)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from engine.hooks import Next
from engine.llm import CallConfig, Dialect, Failure, Llm, ModelInfo
from engine.session import Session, thaw
from engine.tavern import CallParameters, PresetParameters
from engine.tavern.parameters import RECORD
from tests.engine.agent.harness import ScriptedAdapter, World, fails, order, says, u


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


class Known(World):
    """A world whose model is known."""

    def __init__(self, info: ModelInfo, *answers: Iterable[Any]) -> None:
        super().__init__(*answers)
        self.adapter = _KnownAdapter(info, *answers)
        self.services.llm = Llm()
        self.services.llm.register(self.adapter)
        services = self.services
        self.parameters = PresetParameters(services.hooks, services.llm, services.defaults, self.owner)

    def with_preset(self, **wanted: Any) -> Known:
        self.parameters.keep("s", CallParameters(**wanted))
        return self


class _KnownAdapter(ScriptedAdapter):
    def __init__(self, info: ModelInfo, *answers: Iterable[Any]) -> None:
        super().__init__(*answers)
        self.info = info

    def model_info(self, model: str) -> ModelInfo:
        return self.info


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


# -- what the log is told ------------------------------------------------------------------------


def records(session: Session) -> list[dict[str, Any]]:
    return [thaw(event.data) for event in session.events() if event.type == RECORD]


async def played(made: World, *texts: str) -> Session:
    agent = await made.agents.open("s") if made.agents.get("s") else await made.agents.create("s")
    for text in texts:
        agent.followup(u(text))
        await agent.when_idle()
    return agent.session


async def test_a_request_as_it_was_asked_for_needs_no_record() -> None:
    session = await played(world(says("ok"), temperature=1.4, stop=("X", "Y")), *"ab")
    assert records(session) == []


async def test_what_was_left_out_and_why_stands_in_the_log_once() -> None:
    made = world(refuses("temperature is not supported"), says("ok"), temperature=1.4, stop=("X",))
    made.adapter.answers = [*made.adapter.answers, *made.adapter.answers]
    session = await played(made, "a", "b")
    expected = {
        "turn": 1,
        "step": 1,
        "provider": "scripted",
        "model": "m1",
        "requested": {"temperature": 1.4, "stop": ["X"]},
        "effective": {"stop": ["X"]},
        "omitted": {"temperature": "refused"},
        "filled": [],
    }
    # each turn asks for it again, is refused again, and says so again
    first, whole, again = records(session)
    assert first == expected
    assert (whole["turn"], whole["omitted"], whole["effective"]["temperature"]) == (2, {}, 1.4)
    assert again == expected | {"turn": 2}
    # a reader that does not know it passes over it
    assert all(event.ignorable for event in session.events() if event.type == RECORD)


async def test_what_is_known_to_be_unsupported_is_recorded_as_that_and_what_stands_instead() -> None:
    made = Known(ModelInfo("scripted", "m1", reasoning_efforts=("low",), default_effort="low"), says("ok"))
    session = await played(made.with_preset(reasoning_effort="max"), *"ab")
    (record,) = records(session)
    assert record["requested"] == {"reasoningEffort": "max"}
    assert record["effective"] == {"reasoningEffort": "low"}
    assert (record["omitted"], record["filled"]) == ({}, [])
    # after a restart it is still said, and not said again
    await made.agents.close("s")
    made.with_preset(reasoning_effort="max")
    await made.agents.open("s")
    assert len(records(await played(made, "c"))) == 1


async def test_what_a_model_refuses_is_left_out_before_it_is_asked() -> None:
    dialect = Dialect(refuses=frozenset({"temperature"}))
    made = Known(ModelInfo("scripted", "m1", default_max_tokens=99, dialect=dialect), says("ok"))
    session = await played(made.with_preset(temperature=0.5), "a")
    (record,) = records(session)
    assert (record["omitted"], record["filled"]) == ({"temperature": "unsupported"}, ["maxTokens"])
    assert len(made.adapter.requests) == 1


async def test_another_route_in_the_same_step_is_asked_for_everything_again() -> None:
    # given a server that refuses the temperature, and after it another one for the same step
    made = world(refuses("temperature is not supported"), fails("SERVER"), says("ok"), temperature=1.4)
    models = iter(["m1", "m1", "m2"])

    async def route(proposal: object, proceed: Next) -> CallConfig:
        return replace(await proceed(), model=next(models))

    made.hooks.on("agent/request", route, owner=made.owner)  # inside of the preset's own listener
    session = await played(made, "a")
    headers = [e.data["header"]["config"] for e in session.events() if e.type == "request/header"]
    assert [(h["model"], h.get("temperature")) for h in headers] == [("m1", 1.4), ("m1", None), ("m2", 1.4)]
