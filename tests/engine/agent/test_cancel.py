"""Stopping, at every point of a turn, and what is left of it. Cases 19 to 34 of spec agent-loop 8."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.agent import RequestProposal, TurnResult
from engine.cancel import CancelCause, CancelToken
from engine.errors import AgentError
from engine.hooks import Next
from engine.session import Event
from tests.engine.agent.harness import USAGE, Pause, World, calls, derived, order, says, u

USER = CancelCause("user")


def reasons(*parts: str) -> list[dict[str, Any]]:
    """The beginning of an answer that thinks."""
    return [
        {"type": "block-start", "index": 0, "blockType": "reasoning"},
        *({"type": "reasoning-delta", "index": 0, "text": part} for part in parts),
    ]


async def stopped(world: World, pause: Pause, *queued: str) -> Any:
    """An agent whose answer was stopped where the script pauses."""
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    for text in queued:
        agent.followup(u(text))
    await pause.reached.wait()
    agent.cancel(USER, keep_inbox=True)
    await agent.when_idle()
    return agent


# -- what is kept of an answer -------------------------------------------------------------------


async def test_the_visible_part_is_in_the_next_request() -> None:
    pause = Pause()
    world = World([*says("partial")[:2], pause], says("two"))
    agent = await stopped(world, pause)
    agent.followup(u("go on"))
    await agent.when_idle()
    assert world.adapter.requests[1][1:] == ["user:hi", "assistant:partial", "user:go on"]


async def test_reasoning_alone_is_kept_with_its_usage() -> None:
    pause = Pause()
    world = World([*reasons("hm"), USAGE, pause])
    agent = await stopped(world, pause)
    message = next(e for e in agent.session.events() if e.type == "assistant/message")
    assert message.data["message"]["content"] == ({"type": "reasoning", "text": "hm"},)
    assert (message.data["interrupted"], message.data["usage"]) == (True, USAGE["usage"])


async def test_a_half_streamed_call_is_dropped_and_the_text_before_it_kept() -> None:
    pause = Pause()
    text = says("Look: ")[:3]
    call = [
        {"type": "block-start", "index": 1, "blockType": "tool-call"},
        {"type": "tool-call-delta", "index": 1, "id": "c1", "name": "look", "argumentsDelta": "{"},
    ]
    world = World([*text, *call, pause])
    agent = await stopped(world, pause)
    assert order(agent.session)[8:] == ["interrupted Look: ", "step/end", "turn/end aborted"]
    message = next(e for e in agent.session.events() if e.type == "assistant/message")
    assert [block["type"] for block in message.data["message"]["content"]] == ["text"]


async def test_a_half_streamed_call_alone_is_an_attempt() -> None:
    pause = Pause()
    world = World([*calls("look", "{}")[:2], pause])
    agent = await stopped(world, pause)
    assert order(agent.session)[8:] == ["assistant/attempt", "step/end", "turn/end aborted"]
    assert world.frames[-1]["outcome"]["eventType"] == "assistant/attempt"


async def test_a_stop_while_a_tool_runs_answers_the_call_and_ends_the_turn() -> None:
    world = World(calls("wait", "{}"), says("two"))
    agent = await world.agents.create("s")
    started = asyncio.Event()

    async def wait(arguments: str, token: CancelToken) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    world.tool("wait", wait)
    agent.followup(u("hi"))
    await started.wait()
    agent.cancel(USER)
    await agent.when_idle()
    result = next(e for e in agent.session.events() if e.type == "tool/result")
    assert result.data["error"] == {"name": "AbortError", "code": "ABORTED"}
    assert order(agent.session)[-3:] == ["tool/result", "step/end", "turn/end aborted"]
    # and the history is one that a provider takes
    agent.followup(u("go on"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end completed"


async def test_a_stop_from_the_settlement_starts_no_tool() -> None:
    world = World(calls("look", "{}"))
    agent = await world.agents.create("s")
    ran: list[str] = []

    async def look(arguments: str, token: CancelToken) -> str:
        ran.append(arguments)
        return "done"

    def stop(event: Event) -> None:
        if event.type == "assistant/message":
            agent.cancel(USER)

    world.tool("look", look)
    agent.session.observe(stop)
    agent.followup(u("hi"))
    await agent.when_idle()
    assert ran == []
    assert order(agent.session)[8:] == [
        *("assistant ", "tool/call", "tool/result", "step/end", "turn/end aborted")
    ]
    result = next(e for e in agent.session.events() if e.type == "tool/result")
    assert result.data["error"]["code"] == "ABORTED_BEFORE_DISPATCH"


# -- before the request --------------------------------------------------------------------------


@pytest.mark.parametrize("hook", ["system-prompt/assemble", "agent/pre-step"])
async def test_a_stop_before_the_step_admits_nothing_and_gives_nothing_back(hook: str) -> None:
    world = World(says("never"))

    async def stop(payload: object, proceed: Next) -> Any:
        agent.cancel(USER, keep_inbox=True)
        return await proceed()

    world.on(hook, stop)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await asyncio.wait_for(agent.when_idle(), 5)
    assert order(agent.session) == ["insert", "turn/start", "claim", "turn/end aborted"]
    assert (world.adapter.requests, agent.inbox.has_pending) == ([], False)


async def test_a_stop_during_the_choice_of_the_model_leaves_an_empty_step() -> None:
    world = World(says("never"))

    async def stop(proposal: RequestProposal, proceed: Next) -> Any:
        agent.cancel(USER)
        return await proceed()

    world.on("agent/request", stop)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session)[3:] == ["step/start", "step/end", "turn/end aborted"]


@pytest.mark.parametrize("event_type", ["turn/start", "step/start", "user/message", "request/context"])
async def test_a_stop_from_an_observer_of_the_log_calls_no_model(event_type: str) -> None:
    world = World(says("never"))
    agent = await world.agents.create("s")

    def stop(event: Event) -> None:
        if event.type == event_type:
            agent.cancel(USER)

    agent.session.observe(stop)
    agent.followup(u("hi"))
    await agent.when_idle()
    assert world.adapter.requests == []
    assert order(agent.session)[-1] == "turn/end aborted"


# -- the queue -----------------------------------------------------------------------------------


async def test_a_kept_queue_waits_and_goes_on_in_its_order() -> None:
    pause = Pause()
    world = World([pause], says("two"), says("three"))
    agent = await stopped(world, pause, "2", "3")
    assert (agent.status, len(agent.inbox.next_turn)) == ("idle", 2)
    agent.wake()
    await agent.when_idle()
    assert [request[-1] for request in world.adapter.requests[1:]] == ["user:2", "user:3"]


async def test_words_that_come_before_the_stop_has_converged_go_to_the_end_of_the_queue() -> None:
    pause = Pause()
    world = World([pause], says("two"), says("four"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    agent.followup(u("2"))
    await pause.reached.wait()
    agent.cancel(USER, keep_inbox=True)
    # steering is a prompt then: the turn that it would steer is over
    agent.steer(u("4"))
    assert [m["id"] for m in agent.inbox.next_turn] == ["2", "4"]
    await agent.when_idle()
    assert [request[-1] for request in world.adapter.requests[1:]] == ["user:2", "user:4"]
    assert order(agent.session).count("turn/end completed") == 2


async def test_words_that_came_and_went_before_the_stop_has_converged_start_nothing() -> None:
    pause = Pause()
    world = World([pause], says("never"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    agent.cancel(USER, keep_inbox=True)
    agent.followup(u("4"))
    assert agent.inbox.remove("4")
    await agent.when_idle()
    assert (len(world.adapter.requests), order(agent.session)[-1]) == (1, "turn/end aborted")


async def test_a_stop_of_an_idle_agent_cancels_what_waits() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    agent.inject(u("C"))
    agent.cancel(USER)
    assert order(agent.session) == ["insert", "cancel"]
    # and is not kept for later
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end completed"


# -- the end of the agent ------------------------------------------------------------------------


async def test_a_wake_after_the_end_began_answers_nothing() -> None:
    pause = Pause()
    world = World([pause])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    agent.followup(u("2"))
    await pause.reached.wait()
    closing = asyncio.ensure_future(world.agents.close("s"))
    await asyncio.sleep(0)
    agent.wake()
    with pytest.raises(AgentError):
        agent.followup(u("3"))
    await closing
    await asyncio.wait_for(agent.when_idle(), 5)
    assert len(world.adapter.requests) == 1
    # what waited still does
    assert [m["id"] for m in (await world.agents.open("s")).inbox.next_turn] == ["2"]


async def test_an_end_in_the_middle_of_an_answer_is_in_the_log_before_the_session_is_let_go() -> None:
    pause = Pause()
    world = World([*says("partial")[:2], pause])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    await asyncio.gather(world.agents.close("s"), agent.dispose())
    stored = await world.services.journal.read("s")
    assert stored.events[-1].data["reason"] == {"kind": "aborted", "reason": {"kind": "disposed"}}
    assert world.services.journal.sessions.get("s") is None
    assert derived(agent.session)[1:] == ["user:hi", "assistant:partial"]


async def test_a_stopped_agent_can_be_waited_for_any_number_of_times() -> None:
    pause = Pause()
    world = World([pause], says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    waiters = [asyncio.ensure_future(agent.when_idle()) for _ in range(3)]
    agent.cancel(USER, keep_inbox=True)
    agent.followup(u("2"))
    await asyncio.wait_for(asyncio.gather(*waiters), 5)
    # a driver that was started while they waited is waited for as well
    assert (agent.status, len(world.adapter.requests)) == ("idle", 2)


@pytest.mark.parametrize("keep", [True, False])
async def test_a_stop_between_two_turns_is_one_too(keep: bool) -> None:
    world = World(says("one"), says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("a"))
    agent.followup(u("b"))

    async def stop(session_id: str, result: TurnResult) -> None:
        if result.turn == 1:
            agent.cancel(USER, keep_inbox=keep)

    world.on("agent/turn-ended", stop)
    await agent.when_idle()
    assert [m["id"] for m in agent.inbox.next_turn] == (["b"] if keep else [])
    assert len(world.adapter.requests) == 1
    # and the next words are answered, after those that were parked
    agent.followup(u("c"))
    await agent.when_idle()
    said = ["user:a", "assistant:one", *(["user:b", "assistant:two"] if keep else []), "user:c"]
    assert list(derived(agent.session)[1:-1]) == said
