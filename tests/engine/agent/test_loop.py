"""The order of a turn, as spec agent-loop 3 and the recorded golden orders say it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine.agent import Decision, PreStep, Section
from engine.cancel import CancelCause
from engine.errors import AgentError, AppendRefused
from tests.engine.agent.harness import Pause, World, calls, derived, fails, order, says, u

PLAIN = [
    "insert",
    "turn/start",
    "claim",
    "step/start",
    "system/message",
    "user hi",
    "header initial",
    "request/context",
    "assistant one",
    "step/end",
    "turn/end completed",
]


async def test_a_plain_turn_is_logged_in_the_golden_order() -> None:
    world = World(says("o", "ne"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session) == PLAIN
    assert [frame["kind"] for frame in world.frames] == ["start", *["chunk"] * 6, "end"]
    assert world.frames[-1]["outcome"] == {"kind": "committed", "eventType": "assistant/message", "seq": 8}


async def test_a_second_turn_repeats_neither_prompt_nor_header() -> None:
    world = World(says("one"), says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    agent.followup(u("again"))
    await agent.when_idle()
    assert order(agent.session)[len(PLAIN) + 1 :] == [
        "turn/start",
        "claim",
        "step/start",
        "user again",
        "assistant two",
        "step/end",
        "turn/end completed",
    ]
    assert world.adapter.requests == [
        ["system:You are Ada.", "user:hi"],
        ["system:You are Ada.", "user:hi", "assistant:one", "user:again"],
    ]


async def test_an_empty_prompt_still_reserves_the_head_of_the_surface() -> None:
    world = World(says("one"))
    world.prompt_text = ""
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session) == PLAIN
    assert world.adapter.requests == [["user:hi"]]


async def test_a_changed_prompt_rewrites_the_head_and_starts_a_series() -> None:
    world = World(says("one"), says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("a"))
    await agent.when_idle()
    world.prompt_text = "You are Bob."
    agent.followup(u("b"))
    await agent.when_idle()
    assert order(agent.session)[len(PLAIN) :] == [
        "insert",
        "turn/start",
        "claim",
        "step/start",
        "system/message",
        "user b",
        "header series",
        "assistant two",
        "step/end",
        "turn/end completed",
    ]
    assert derived(agent.session)[0] == "system:You are Bob."


async def test_a_transient_failure_is_retried_in_the_same_step_and_admits_input_once() -> None:
    world = World(fails("SERVER", "doomed"), says("ok"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session)[5:] == [
        "user hi",
        "header initial",
        "request/context",
        "assistant/attempt",
        "llm/retry",
        "llm/retry-started",
        "assistant ok",
        "step/end",
        "turn/end completed",
    ]
    ends = [frame["outcome"]["eventType"] for frame in world.frames if frame["kind"] == "end"]
    assert ends == ["assistant/attempt", "assistant/message"]
    assert derived(agent.session) == ["system:You are Ada.", "user:hi", "assistant:ok"]


async def test_six_rate_limits_with_five_retries_end_the_turn() -> None:
    world = World(fails("RATE_LIMIT"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert len(world.adapter.requests) == 6
    assert agent.session.events()[-1].data["reason"]["error"]["code"] == "RATE_LIMIT"


@pytest.mark.parametrize("code", ["AUTH", "QUOTA", "CONTEXT_WINDOW_EXCEEDED"])
async def test_what_time_does_not_heal_is_not_retried(code: str) -> None:
    world = World(fails(code))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert len(world.adapter.requests) == 1
    assert order(agent.session)[-1] == "turn/end error"


async def test_an_answer_cut_at_its_limit_keeps_that_reason() -> None:
    world = World(says("long", finish="max-tokens"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end max-tokens"


async def test_a_rejected_batch_ends_the_turn_blocked_without_a_step() -> None:
    world = World(says("never"))

    async def reject(payload: object, proceed: object) -> Decision:
        return Decision("reject")

    world.on("agent/pre-step", reject)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session) == ["insert", "turn/start", "claim", "turn/end blocked"]
    assert world.adapter.requests == []


async def test_an_unknown_tool_is_answered_with_an_error_and_the_turn_goes_on() -> None:
    world = World(calls("nope", "{}"), says("sorry"))
    agent = await world.agents.create("s")
    agent.followup(u("x"))
    await agent.when_idle()
    assert order(agent.session)[8:] == [
        "assistant ",
        "tool/call",
        "tool/result",
        "step/end",
        "step/start",
        "assistant sorry",
        "step/end",
        "turn/end completed",
    ]
    assert world.adapter.requests[1][-1] == 'tool:Error: unknown tool "nope"'


async def test_a_model_that_never_stops_calling_tools_is_stopped_before_it_consumes_what_waits() -> None:
    world = World(calls("nope", "{}"))
    agent = await world.agents.create("s")
    agent.followup(u("x"))
    await agent.when_idle()
    assert len(world.adapter.requests) == 16
    assert agent.session.events()[-1].data["reason"]["error"]["code"] == "MAX_STEPS"


# -- stopping -----------------------------------------------------------------------------------


async def test_a_stop_keeps_the_visible_part_as_an_interrupted_message() -> None:
    pause = Pause()
    world = World([*says("partial")[:2], pause, *says("partial")[2:]])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    agent.cancel(CancelCause("user"))
    await agent.when_idle()
    assert order(agent.session)[8:] == ["interrupted partial", "step/end", "turn/end aborted"]
    assert agent.session.events()[-1].data["reason"] == {"kind": "aborted", "reason": {"kind": "user"}}


async def test_a_stop_before_anything_visible_leaves_an_attempt() -> None:
    pause = Pause()
    world = World([pause, *says("late")])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    agent.cancel(CancelCause("user"))
    await agent.when_idle()
    assert order(agent.session)[8:] == ["assistant/attempt", "step/end", "turn/end aborted"]


async def test_the_first_cause_of_a_stop_wins() -> None:
    pause = Pause()
    world = World([pause, *says("late")])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    agent.cancel(CancelCause("user"))
    await world.agents.close("s")
    assert agent.session.events()[-1].data["reason"]["reason"] == {"kind": "user"}


async def test_a_stop_that_keeps_the_queue_parks_it_until_the_next_wake() -> None:
    pause = Pause()
    world = World([pause, *says("late")], says("two"), says("three"))
    agent = await world.agents.create("s")
    agent.followup(u("1"))
    agent.followup(u("2"))
    await pause.reached.wait()
    assert agent.cancel(CancelCause("user"), keep_inbox=True) == 1
    await agent.when_idle()
    assert [m["id"] for m in agent.inbox.next_turn] == ["2"]
    agent.followup(u("3"))
    await agent.when_idle()
    assert [request[-1] for request in world.adapter.requests] == ["user:1", "user:2", "user:3"]


async def test_words_that_come_while_a_stopped_turn_unwinds_are_answered_without_another_wake() -> None:
    pause = Pause()
    world = World([pause, *says("late")], says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("1"))
    await pause.reached.wait()
    agent.cancel(CancelCause("user"), keep_inbox=True)
    agent.followup(u("2"))
    await agent.when_idle()
    assert order(agent.session)[-2:] == ["step/end", "turn/end completed"]


async def test_a_stop_between_claim_and_request_admits_nothing() -> None:
    world = World(says("never"))
    hold = asyncio.Event()

    async def slow(payload: object, proceed: object) -> Decision:
        hold.set()
        await asyncio.sleep(0)
        return Decision("enter")

    world.on("agent/pre-step", slow)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await hold.wait()
    agent.cancel(CancelCause("user"))
    await agent.when_idle()
    assert order(agent.session) == ["insert", "turn/start", "claim", "turn/end aborted"]


async def test_a_stop_during_the_wait_before_a_retry_is_obeyed() -> None:
    world = World(fails("SERVER", "partial"))
    world.services.llm._registrations["scripted"].retry_policy = type(
        world.services.llm._registrations["scripted"].retry_policy
    )(base_ms=60_000, cap_ms=60_000)
    agent = await world.agents.create("s")
    waiting = asyncio.Event()
    world.on("agent/retrying", lambda *_: waiting.set())
    agent.followup(u("hi"))
    await waiting.wait()
    agent.cancel(CancelCause("user"))
    await agent.when_idle()
    assert order(agent.session)[8:] == ["assistant/attempt", "llm/retry", "step/end", "turn/end aborted"]


async def test_stopping_an_idle_agent_with_an_empty_queue_does_nothing() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    agent.cancel(CancelCause("user"))
    assert order(agent.session) == []
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session) == PLAIN


# -- failures and the queue ------------------------------------------------------------------------


async def test_after_a_failed_turn_the_next_words_are_answered() -> None:
    world = World(fails("AUTH"), says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("1"))
    agent.followup(u("2"))
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:1", "user:2", "assistant:two"]


async def test_three_failed_turns_in_a_row_pause_the_session() -> None:
    world = World(fails("AUTH"))
    paused: list[int] = []
    world.on("agent/paused", lambda _, waiting: paused.append(waiting))
    agent = await world.agents.create("s")
    for text in "12345":
        agent.followup(u(text))
    await agent.when_idle()
    assert (len(world.adapter.requests), paused, agent.paused) == (3, [2], True)
    assert [m["id"] for m in agent.inbox.next_turn] == ["4", "5"]


async def test_a_listener_that_breaks_the_stream_ends_the_turn_with_its_error() -> None:
    world = World(says("one"))

    async def broken(request: object, proceed: object) -> object:
        raise RuntimeError("no")
        yield

    world.on("llm/stream", broken)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session)[8:] == ["assistant/attempt", "step/end", "turn/end error"]
    assert len(world.adapter.requests) == 0


async def test_a_disposed_agent_takes_nothing() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    await world.agents.close("s")
    with pytest.raises(AgentError) as refused:
        agent.followup(u("hi"))
    assert refused.value.error_code == "AGENT_DISPOSED"


async def test_a_listener_that_breaks_the_recovery_ends_the_turn_with_its_error() -> None:
    world = World(fails("SERVER"), says("never"))

    def broken(payload: object, proceed: object) -> None:
        raise ValueError("no recovery today")

    world.on("agent/request-error", broken)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert len(world.adapter.requests) == 1
    error = agent.session.events()[-1].data["reason"]["error"]
    assert error == {"message": "no recovery today", "code": "UNKNOWN"}
    assert "assistant/attempt" in order(agent.session)


@pytest.mark.parametrize("refused", ["assistant/message", "assistant/attempt"])
async def test_an_attempt_that_the_log_does_not_take_is_abandoned_and_the_turn_says_so(
    refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    append = agent.session.append

    def refusing(event_type: str, *args: Any, **options: Any) -> Any:
        if event_type == refused:
            raise AppendRefused("the log is full", category="test")
        return append(event_type, *args, **options)

    async def broken(payload: object, proceed: Any) -> AsyncIterator[Any]:
        async for chunk in proceed():
            yield chunk
            if refused == "assistant/attempt":
                raise ValueError("a broken listener")

    monkeypatch.setattr(agent.session, "append", refusing)
    world.on("llm/stream", broken)
    agent.followup(u("hi"))
    await agent.when_idle()
    assert [frame["outcome"] for frame in world.frames if frame["kind"] == "end"] == [{"kind": "abandoned"}]
    assert order(agent.session)[-2:] == ["step/end", "turn/end error"]
    # both are told: what went wrong, and that it could not be written down
    message = agent.session.events()[-1].data["reason"]["error"]["message"]
    both = "the log is full: a broken listener"
    assert message == ("the log is full" if refused == "assistant/message" else both)


async def test_a_call_that_was_cut_off_at_the_limit_is_dropped_and_its_text_kept() -> None:
    call = [dict(chunk) | {"index": 1} for chunk in calls("dice", "{")[:3]]
    cut = [*says("I throw")[:3], *call, {"type": "finish", "reason": {"kind": "max-tokens"}}]
    world = World(cut, says("never"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert len(world.adapter.requests) == 1
    assert order(agent.session)[-3:] == ["assistant I throw", "step/end", "turn/end max-tokens"]
    assert not any(event.type == "tool/call" for event in agent.session.events())


async def test_a_turn_that_was_cut_short_stays_so_though_a_later_step_is_whole() -> None:
    pause = Pause()
    world = World([pause, *says("long", finish="max-tokens")], says("whole"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    agent.steer(u("go on"))
    pause.opened.set()
    await agent.when_idle()
    assert order(agent.session)[-3:] == ["assistant whole", "step/end", "turn/end max-tokens"]


async def test_what_was_claimed_is_that_step_s_only() -> None:
    # (cases 77 and 78: keywords are looked for in what was claimed, and never in what was rejected)
    world = World(says("ok"))
    seen: list[list[str]] = []
    world.services.prompt.section(
        Section("lore", 1, lambda context: seen.append([m["id"] for m in context.claimed]) or ""),
        owner=world.owner,
    )
    rejecting = True

    async def reject(payload: PreStep, proceed: Any) -> Decision:
        decision: Decision = Decision("reject") if rejecting else await proceed()
        return decision

    world.on("agent/pre-step", reject)
    agent = await world.agents.create("s")
    agent.followup(u("dragon"))
    await agent.when_idle()
    rejecting = False
    agent.followup(u("hello"))
    await agent.when_idle()
    assert seen == [["dragon"], ["hello"]]
    assert derived(agent.session)[1:] == ["user:hello", "assistant:ok"]
