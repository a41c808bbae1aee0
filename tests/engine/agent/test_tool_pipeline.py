"""What may stop a call, and what may still change its result (cases 58–61), and who has which tools on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import Field

from engine.agent import Agent
from engine.agent.tools import (
    Blocked,
    PermissionRequest,
    PostExecute,
    Tool,
    ToolArguments,
    ToolCall,
    ToolOutcome,
    ToolResult,
    Verdict,
    failed,
)
from engine.errors import AgentError, ResourceError
from engine.hooks import Next, Scope
from tests.engine.agent.harness import World, calls, order, says, u
from tests.engine.agent.toolbench import USER, Bench, answers, asks, begin, results

ONE = asks(("c1", "look"))


class Table:
    """A world with one tool, `look`, and one answer that calls it."""

    def __init__(self, answer: Any = ONE) -> None:
        self.world = World(answer, says("done"))
        self.bench = Bench(self.world)

    async def answer(self, **details: Any) -> Agent:
        self.bench.quick("look", details.pop("outcome", lambda call: ToolOutcome("a door")), **details)
        agent = await begin(self.world)
        await agent.when_idle()
        return agent

    def policy(self, verdict: Any) -> None:
        self.world.on("tools/pre-execute", lambda call, proceed: verdict)

    def guard(self, guard: Callable[[ToolCall], Any]) -> None:
        self.world.services.tools.guard(guard, owner=self.world.owner)


def fails(*args: Any) -> Any:
    raise RuntimeError("boom")


# -- before the body -----------------------------------------------------------------------------------


async def test_case_58_a_guard_denies_what_the_policy_allows() -> None:
    table = Table()
    table.policy(Verdict("allow"))
    table.guard(lambda call: None)
    table.guard(lambda call: "it is dark")
    agent = await table.answer()
    assert (table.bench.ran, results(agent.session)) == ([], {"c1": "Error: it is dark"})
    event = next(e for e in agent.session.events() if e.type == "tool/result")
    assert event.data["error"] == {
        "name": "ToolDeniedError",
        "code": "TOOL_DENIED",
        "reason": "it is dark",
    }
    assert event.data["message"]["isError"] is True


async def test_case_58_a_silent_guard_does_not_allow_what_the_policy_denies() -> None:
    table = Table()
    table.policy(Verdict("deny", "not today"))
    table.guard(lambda call: None)
    agent = await table.answer()
    assert (table.bench.ran, results(agent.session)) == ([], {"c1": "Error: not today"})


@pytest.mark.parametrize("guard", [fails, lambda call: False, lambda call: True, lambda call: 0])
async def test_case_58_a_guard_that_fails_or_answers_nonsense_denies(guard: Any) -> None:
    table = Table()
    table.guard(guard)
    agent = await table.answer()
    assert (table.bench.ran, answers(agent.session)) == ([], {"c1": "TOOL_DENIED"})
    assert order(agent.session)[-1] == "turn/end completed"


async def test_a_guard_may_take_its_time_and_ends_with_its_owner() -> None:
    table = Table()
    owner = Scope("a visitor")

    async def slow(call: ToolCall) -> str:
        await asyncio.sleep(0)
        return "wait"

    table.world.services.tools.guard(slow, owner=owner)
    agent = await table.answer()
    assert results(agent.session) == {"c1": "Error: wait"}
    await owner.aclose()
    table.world.adapter.answers = [asks(("c2", "look")), says("done")]
    table.world.adapter.requests.clear()
    agent.followup(u("again"))
    await agent.when_idle()
    assert table.bench.ran == ["c2"]


@pytest.mark.parametrize("verdict", [True, None, "allow", fails])
async def test_a_policy_that_fails_or_answers_nonsense_denies(verdict: Any) -> None:
    table = Table()
    if callable(verdict):
        table.world.on("tools/pre-execute", verdict)
    else:
        table.policy(verdict)
    agent = await table.answer()
    assert (table.bench.ran, answers(agent.session)) == ([], {"c1": "TOOL_DENIED"})


async def test_case_59_ask_with_nobody_to_ask_is_a_denial_with_a_reason() -> None:
    table = Table()
    table.policy(Verdict("ask", "May it look?"))
    agent = await table.answer()
    assert table.bench.ran == []
    assert results(agent.session) == {
        "c1": "Error: this call needs somebody's approval, and there is nobody to ask"
    }


@pytest.mark.parametrize(("answer", "ran"), [(True, True), (False, False), (None, False), ("yes", False)])
async def test_whoever_is_asked_decides_and_a_missing_answer_is_a_no(answer: Any, ran: bool) -> None:
    table = Table()
    asked: list[PermissionRequest] = []

    async def approve(request: PermissionRequest) -> Any:
        asked.append(request)
        return answer

    table.world.services.approve = approve
    table.policy(Verdict("ask", "May it look?"))
    agent = await table.answer()
    assert [(request.reason, request.call.name) for request in asked] == [("May it look?", "look")]
    assert (table.bench.ran, answers(agent.session)) == (
        (["c1"], {"c1": None}) if ran else ([], {"c1": "TOOL_DENIED"})
    )


async def test_a_guard_has_the_last_word_over_an_approval() -> None:
    table = Table()

    async def approve(request: PermissionRequest) -> bool:
        return True

    table.world.services.approve = approve
    table.policy(Verdict("ask"))
    table.guard(lambda call: "no")
    agent = await table.answer()
    assert (table.bench.ran, results(agent.session)) == ([], {"c1": "Error: no"})


async def test_a_stop_while_somebody_is_asked_ends_the_turn() -> None:
    table = Table()
    asked = asyncio.Event()

    async def approve(request: PermissionRequest) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    table.world.services.approve = approve
    table.policy(Verdict("ask"))
    table.bench.quick("look")
    agent = await begin(table.world)
    await asked.wait()
    agent.cancel(USER)
    await asyncio.wait_for(agent.when_idle(), 1)
    assert (table.bench.ran, answers(agent.session)) == ([], {"c1": "ABORTED_BEFORE_DISPATCH"})


async def test_case_60_arguments_that_are_no_json_are_an_error_that_the_model_reads() -> None:
    table = Table(calls("look", '{"at": "do'))
    agent = await table.answer()
    assert results(agent.session) == {"c1": "Error: The arguments are not valid JSON. Send one JSON object."}
    assert (table.bench.ran, order(agent.session)[-1]) == ([], "turn/end completed")
    # and what it sent is logged and sent back as it came
    call = next(e for e in agent.session.events() if e.type == "tool/call")
    assert call.data["arguments"] == '{"at": "do'


class Look(ToolArguments):
    at: str
    times: int = Field(default=1, ge=1, le=3)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("", "The arguments do not fit.\n- at: Field required"),
        ("[1]", "The arguments must be one JSON object."),
        ("null", "The arguments must be one JSON object."),
        ('{"at": 3}', "The arguments do not fit.\n- at: Input should be a valid string"),
        (
            '{"at": "door", "times": 9, "why": "?"}',
            "The arguments do not fit.\n- times: Input should be less than or equal to 3"
            "\n- why: Extra inputs are not permitted",
        ),
    ],
)
async def test_arguments_that_do_not_fit_are_named(raw: str, text: str) -> None:
    table = Table(calls("look", raw))
    agent = await table.answer(arguments=Look)
    assert (table.bench.ran, results(agent.session)) == ([], {"c1": f"Error: {text}"})
    assert answers(agent.session) == {"c1": "INVALID_ARGUMENTS"}


async def test_no_arguments_are_an_empty_object() -> None:
    seen: list[Any] = []
    table = Table(calls("look", "  "))
    table.world.on("tools/pre-execute", lambda call, proceed: seen.append(call.arguments) or proceed())
    agent = await table.answer()
    assert (seen, answers(agent.session)) == ([{}], {"c1": None})


async def test_case_61_an_unknown_tool_was_seen_by_the_policy_all_the_same() -> None:
    seen: list[str] = []
    table = Table(asks(("c1", "fly")))
    table.world.on("tools/pre-execute", lambda call, proceed: seen.append(call.name) or proceed())
    agent = await table.answer()
    assert (seen, results(agent.session)) == (["fly"], {"c1": 'Error: unknown tool "fly"'})
    assert answers(agent.session) == {"c1": "UNKNOWN_TOOL"}


# -- around and after the body -----------------------------------------------------------------------------


async def test_what_stands_around_the_body_may_answer_in_its_place() -> None:
    table = Table()
    table.world.on("tools/execute", lambda call, proceed: ToolOutcome("from memory"))
    agent = await table.answer()
    assert (table.bench.ran, results(agent.session)) == ([], {"c1": "from memory"})


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such door"), "no such door"),
        (KeyError(), "KeyError"),
        (ResourceError("The book is shut.", code="SHUT"), "The book is shut."),
    ],
)
async def test_what_a_body_raises_is_for_the_model(error: Exception, text: str) -> None:
    def breaks(call: ToolCall) -> ToolOutcome:
        raise error

    table = Table()
    agent = await table.answer(outcome=breaks)
    assert results(agent.session) == {"c1": f"Error: {text}"}
    assert order(agent.session)[-1] == "turn/end completed"


@pytest.mark.parametrize("outcome", ["text", None])
async def test_a_body_that_gives_no_outcome_is_an_error(outcome: Any) -> None:
    table = Table()
    agent = await table.answer(outcome=lambda call: outcome)
    assert answers(agent.session) == {"c1": "TOOL_FAILED"}


async def test_the_result_may_be_accepted_replaced_or_blocked() -> None:
    answered = {
        "c1": lambda payload, proceed: proceed(),
        "c2": lambda payload, proceed: ToolOutcome(payload.outcome.text.upper()),
        "c3": lambda payload, proceed: Blocked("it would spoil the end"),
    }

    def judge(payload: PostExecute, proceed: Next) -> Any:
        return answered[payload.call.call_id](payload, proceed)

    table = Table(asks(("c1", "look"), ("c2", "look"), ("c3", "look")))
    table.world.on("tools/post-execute", judge)
    agent = await table.answer()
    assert results(agent.session) == {
        "c1": "a door",
        "c2": "A DOOR",
        "c3": "Error: it would spoil the end",
    }
    assert answers(agent.session)["c3"] == "TOOL_RESULT_BLOCKED"


@pytest.mark.parametrize("judge", [fails, lambda payload, proceed: None, lambda payload, proceed: "fine"])
async def test_a_check_of_the_result_that_fails_withholds_it(judge: Any) -> None:
    table = Table()
    table.world.on("tools/post-execute", judge)
    agent = await table.answer()
    assert answers(agent.session) == {"c1": "TOOL_RESULT_BLOCKED"}
    assert "a door" not in results(agent.session)["c1"]


async def test_a_denial_passes_by_whoever_checks_results() -> None:
    seen: list[str | None] = []

    def note(payload: PostExecute, proceed: Next) -> Any:
        seen.append(payload.outcome.error and payload.outcome.error.code)
        return proceed()

    table = Table()
    table.policy(Verdict("deny"))
    table.world.on("tools/post-execute", note)
    await table.answer()
    assert seen == ["TOOL_DENIED"]


async def test_the_tool_has_the_last_word_on_the_form_of_its_result() -> None:
    table = Table()
    table.world.on("tools/post-execute", lambda payload, proceed: ToolOutcome("a gate"))
    agent = await table.answer(finalise=lambda outcome: ToolOutcome(f"<{outcome.text}>"))
    assert results(agent.session) == {"c1": "<a gate>"}


async def test_a_finaliser_that_fails_is_an_error() -> None:
    table = Table()
    agent = await table.answer(finalise=fails)
    assert answers(agent.session) == {"c1": "TOOL_FAILED"}


async def test_everybody_is_told_of_a_result_just_before_it_is_logged() -> None:
    told: list[tuple[str, str, int]] = []

    def note(result: ToolResult) -> None:
        told.append((result.call.call_id, result.outcome.text, len(result.call.events())))

    table = Table(asks(("c1", "look"), ("c2", "look")))
    table.world.on("tools/result", note)
    agent = await table.answer(outcome=lambda call: failed("dark", "DARK"))
    at = [e.seq for e in agent.session.events() if e.type == "tool/result"]
    assert told == [("c1", "dark", at[0]), ("c2", "dark", at[1])]


# -- what a session has on -------------------------------------------------------------------------------


async def test_a_tool_that_nobody_turned_on_is_neither_told_nor_run() -> None:
    world = World(ONE, says("done"))
    ran: list[str] = []

    async def look(arguments: Any, call: ToolCall) -> ToolOutcome:
        ran.append(call.call_id)
        return ToolOutcome("a door")

    world.services.tools.register(Tool("look", "Look.", look), owner=world.owner)
    agent = await begin(world)
    await agent.when_idle()
    assert (ran, answers(agent.session)) == ([], {"c1": "UNKNOWN_TOOL"})
    headers = [e.data["header"] for e in agent.session.events() if e.type == "request/header"]
    assert "tools" not in headers[0]
    # and once it is on, the next step has it
    world.on("tools/available", lambda session, proceed: {"look", "nothing of this name"})
    world.adapter.answers = [asks(("c2", "look")), says("done")]
    world.adapter.requests.clear()
    agent.followup(u("again"))
    await agent.when_idle()
    assert ran == ["c2"]
    headers = [e.data["header"] for e in agent.session.events() if e.type == "request/header"]
    assert [tool["name"] for tool in headers[-1]["tools"]] == ["look"]


async def test_each_session_has_its_own_tools_on() -> None:
    world = World(says("done"))

    async def body(arguments: Any, call: ToolCall) -> ToolOutcome:
        return ToolOutcome("")

    for name in ("b", "a"):
        world.services.tools.register(Tool(name, name, body), owner=world.owner)
    world.on("tools/available", lambda session, proceed: {"one": {"a", "b"}, "two": {"a"}}[session.id])
    names = {}
    for session_id in ("one", "two"):
        agent = await world.agents.create(session_id)
        await world.services.tools.settle(agent.session, world.hooks)
        names[session_id] = [tool["name"] for tool in world.services.tools.schemas(agent.session)]
        assert world.services.tools.get(agent.session, "b") is not None or session_id == "two"
    assert names == {"one": ["a", "b"], "two": ["a"]}


async def test_a_name_is_registered_once_until_its_owner_ends() -> None:
    world = World(says("done"))

    async def body(arguments: Any, call: ToolCall) -> ToolOutcome:
        return ToolOutcome("")

    owner = Scope("a visitor")
    world.services.tools.register(Tool("look", "Look.", body), owner=owner)
    with pytest.raises(AgentError) as caught:
        world.services.tools.register(Tool("look", "Look.", body), owner=world.owner)
    assert caught.value.error_code == "TOOL_DUPLICATE"
    await owner.aclose()
    world.services.tools.register(Tool("look", "Look.", body), owner=world.owner)


def test_the_schema_says_what_the_arguments_are_and_is_everybodys_own_copy() -> None:
    class Titled(ToolArguments):
        """For us."""

        title: str = Field(description="What it is called.")
        at: str | None = None

    async def body(arguments: Any, call: ToolCall) -> ToolOutcome:
        return ToolOutcome("")

    tool = Tool("look", "Look.", body, Titled)
    wire = tool.to_wire()
    assert wire == {
        "name": "look",
        "description": "Look.",
        "parameters": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "title": {"type": "string", "description": "What it is called."},
                "at": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            },
            "required": ["title"],
        },
    }
    wire["parameters"]["properties"].clear()
    assert tool.to_wire()["parameters"]["properties"]
    assert Tool("go", "Go.", body).to_wire()["parameters"] == {
        "type": "object",
        "additionalProperties": False,
        "properties": {},
    }
