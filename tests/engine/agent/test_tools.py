"""How the calls of one answer run: side by side, answered in order, stopped, drained (cases 54–57, 61–66)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from engine.agent.tools import Tool, ToolCall, ToolOutcome, ToolPool, failed, patience
from engine.agent.tools.pipeline import Pipeline
from engine.cancel import CancelToken
from engine.errors import StorageError
from engine.session import Event, message_text
from tests.engine.agent.harness import Anything, World, calls, order, says, u
from tests.engine.agent.toolbench import USER, Bench, answers, asks, begin, logged, results

THREE = asks(("c1", "wait"), ("c2", "wait"), ("c3", "wait"))


async def settled(turns: int = 50) -> None:
    """Let everything that can run, run."""
    for _ in range(turns):
        await asyncio.sleep(0)


# -- order and overlap -----------------------------------------------------------------------------


async def test_case_54_results_stand_in_the_models_order_however_the_bodies_finish() -> None:
    world = World(THREE, says("done"))
    bench = Bench(world)
    bench.tool()
    agent = await begin(world)
    await bench.runs("c1", "c2", "c3")
    for call_id in ("c3", "c1", "c2"):
        bench.let_go(call_id)
        await settled()
    await agent.when_idle()
    assert logged(agent.session) == [
        *("call c1", "call c2", "call c3", "result c1", "result c2", "result c3"),
    ]
    assert [line for line in world.adapter.requests[1] if line.startswith("tool:")] == [
        *("tool:c1 is done", "tool:c2 is done", "tool:c3 is done"),
    ]
    # and each result cites the call that it answers
    called = {e.data["callId"]: e.seq for e in agent.session.events() if e.type == "tool/call"}
    for event in agent.session.events():
        if event.type == "tool/result":
            assert event.source_event_seqs == (called[event.data["message"]["toolCallId"]],)


async def test_a_result_is_logged_as_soon_as_those_before_it_are() -> None:
    world = World(THREE, says("done"))
    bench = Bench(world)
    bench.tool()
    agent = await begin(world)
    await bench.runs("c1", "c2", "c3")
    bench.let_go("c1")
    await settled()
    assert logged(agent.session)[3:] == ["result c1"]
    bench.let_go("c2", "c3")
    await agent.when_idle()


async def test_case_55_an_exclusive_call_overlaps_nothing() -> None:
    world = World(asks(("c1", "wait"), ("c2", "alone"), ("c3", "wait")), says("done"))
    bench = Bench(world)
    bench.tool()
    bench.tool("alone", parallel=False)
    agent = await begin(world)
    await bench.runs("c1")
    await settled()
    assert bench.running == ["c1"]
    bench.let_go("c1")
    await bench.runs("c2")
    await settled()
    assert bench.running == ["c2"]
    bench.let_go("c2")
    await bench.runs("c3")
    bench.let_go("c3")
    await agent.when_idle()
    assert bench.most == 1
    # an exclusive call is not even announced before those ahead of it are answered
    assert logged(agent.session) == [
        *("call c1", "result c1", "call c2", "result c2", "call c3", "result c3"),
    ]


async def test_case_56_a_pool_of_two_refills_as_its_bodies_settle() -> None:
    world = World(asks(*((f"c{n}", "wait") for n in range(1, 6))), says("done"))
    world.services.parallel_calls = 2
    bench = Bench(world)
    bench.tool()
    agent = await begin(world)
    await bench.runs("c1", "c2")
    bench.let_go("c2")  # the first one still runs: the pool rolls on all the same
    await bench.runs("c1", "c3")
    bench.let_go("c3")
    await bench.runs("c1", "c4")
    bench.let_go("c1", "c4", "c5")
    await agent.when_idle()
    assert (bench.most, bench.ran) == (2, ["c1", "c2", "c3", "c4", "c5"])
    assert [line for line in logged(agent.session) if line.startswith("result")] == [
        f"result c{n}" for n in range(1, 6)
    ]


@pytest.mark.parametrize("answer", [1, "yes", None, False])
async def test_only_exactly_true_is_parallel(answer: Any) -> None:
    world = World(THREE, says("done"))
    bench = Bench(world)
    bench.tool(parallel=lambda arguments: answer)
    agent = await begin(world)
    bench.let_go("c1", "c2", "c3")
    await agent.when_idle()
    assert bench.most == 1


async def test_a_predicate_that_fails_has_not_said_that_it_is_safe() -> None:
    def fails(arguments: Any) -> bool:
        raise RuntimeError("no")

    world = World(THREE, says("done"))
    bench = Bench(world)
    bench.tool(parallel=fails)
    agent = await begin(world)
    bench.let_go("c1", "c2", "c3")
    await agent.when_idle()
    assert (bench.most, set(answers(agent.session).values())) == (1, {None})


async def test_a_call_is_looked_at_again_just_before_it_starts() -> None:
    # given a pool of two, and a tool that was safe when the answer came
    safe = True
    world = World(THREE, says("done"))
    world.services.parallel_calls = 2
    bench = Bench(world)
    bench.tool(parallel=lambda arguments: safe)
    agent = await begin(world)
    await bench.runs("c1", "c2")
    # when it is not any more as room comes for the third call
    safe = False
    bench.let_go("c2")
    await bench.runs("c1")
    await settled()
    # then that waits until the pool is empty
    assert bench.running == ["c1"]
    bench.let_go("c1", "c3")
    await agent.when_idle()
    assert bench.ran == ["c1", "c2", "c3"]


async def test_the_predicate_sees_the_validated_arguments() -> None:
    class Numbered(BaseModel):
        number: int = 0

    seen: list[Any] = []

    def is_even(arguments: Numbered) -> bool:
        seen.append(arguments)
        return arguments.number % 2 == 0

    world = World(
        asks(("c1", "wait", '{"number": 2}'), ("c2", "wait", '{"number": "x"}'), ("c3", "wait", "")),
        says("done"),
    )
    bench = Bench(world)
    bench.tool(parallel=is_even, arguments=Numbered)
    agent = await begin(world)
    bench.let_go("c1", "c3")
    await agent.when_idle()
    assert {type(arguments) for arguments in seen} == {Numbered}
    assert answers(agent.session) == {"c1": None, "c2": "INVALID_ARGUMENTS", "c3": None}


# -- what a result brings along ----------------------------------------------------------------------


async def test_case_57_a_guard_denies_one_of_three() -> None:
    world = World(THREE, says("done"))
    bench = Bench(world)
    bench.tool()
    world.services.tools.guard(
        lambda call: "not in here" if call.call_id == "c2" else None, owner=world.owner
    )
    agent = await begin(world)
    bench.let_go("c1", "c3")
    await agent.when_idle()
    assert bench.ran == ["c1", "c3"]
    assert answers(agent.session) == {"c1": None, "c2": "TOOL_DENIED", "c3": None}
    assert results(agent.session)["c2"] == "Error: not in here"
    assert [line for line in logged(agent.session) if line.startswith("result")] == [
        *("result c1", "result c2", "result c3"),
    ]
    assert order(agent.session)[-1] == "turn/end completed"


async def test_case_62_contexts_come_behind_all_results_in_the_calls_order() -> None:
    world = World(THREE, says("done"))
    bench = Bench(world)
    bench.tool(outcome=lambda call: ToolOutcome("ok", contexts=(f"about {call.call_id}",)))
    agent = await begin(world)
    await bench.runs("c1", "c2", "c3")
    bench.let_go("c3", "c2", "c1")
    await agent.when_idle()
    assert world.adapter.requests[1][-6:] == [
        *("tool:ok", "tool:ok", "tool:ok"),
        *("user:about c1", "user:about c2", "user:about c3"),
    ]
    sources = [e.data["source"] for e in agent.session.events() if e.type == "user/message"][1:]
    assert [source["kind"] for source in sources] == ["tool-context"] * 3


async def test_case_63_a_conclusion_does_not_skip_what_was_steered_in() -> None:
    world = World(asks(("c1", "end")), says("heard you"), says("never"))
    bench = Bench(world)

    def end(call: ToolCall) -> ToolOutcome:
        agent.steer(u("wait!"))
        return ToolOutcome("over", concludes_turn=True)

    bench.quick("end", end)
    agent = await begin(world)
    await agent.when_idle()
    assert world.adapter.requests[1][-2:] == ["tool:over", "user:wait!"]
    assert (len(world.adapter.requests), order(agent.session).count("turn/start")) == (2, 1)
    assert order(agent.session)[-1] == "turn/end completed"


async def test_a_conclusion_ends_the_turn_without_another_request() -> None:
    world = World(asks(("c1", "end"), ("c2", "end")), says("next"))
    bench = Bench(world)
    bench.quick("end", lambda call: ToolOutcome("over", concludes_turn=True, contexts=("by the way",)))
    agent = await begin(world)
    await agent.when_idle()
    # its own context does not contradict it; it waits for whatever comes
    assert (len(world.adapter.requests), order(agent.session)[-1]) == (1, "turn/end completed")
    agent.followup(u("and?"))
    await agent.when_idle()
    assert world.adapter.requests[1][-3:] == ["user:by the way", "user:by the way", "user:and?"]


async def test_an_oversized_result_is_cut_and_says_so() -> None:
    world = World(asks(("c1", "big")), says("done"))
    bench = Bench(world)
    bench.quick("big", lambda call: ToolOutcome("好" * 20_000))
    agent = await begin(world)
    await agent.when_idle()
    text = results(agent.session)["c1"]
    assert text.startswith("好" * 16_000)
    assert text.endswith("\n[4,000 of 20,000 characters were left out: the result was too long]")


# -- stopping ------------------------------------------------------------------------------------------


async def test_case_64_a_stop_answers_every_call_and_leaves_a_valid_history() -> None:
    # given a pool of two in which c1 is answered with a context, c2 and c3 run, and c4 waits
    world = World(asks(*((f"c{n}", "wait") for n in range(1, 5))), says("two"))
    world.services.parallel_calls = 2
    bench = Bench(world)
    bench.tool(
        heeds=True, outcome=lambda call: ToolOutcome(call.call_id, contexts=(f"about {call.call_id}",))
    )
    agent = await begin(world)
    await bench.runs("c1", "c2")
    bench.let_go("c1")
    await bench.runs("c2", "c3")
    agent.cancel(USER, keep_inbox=True)
    await agent.when_idle()
    # then what ran when the stop came counts as aborted, and the rest never began
    assert bench.ran == ["c1", "c2", "c3"]
    assert answers(agent.session) == {
        "c1": None,
        "c2": "ABORTED",
        "c3": "ABORTED",
        "c4": "ABORTED_BEFORE_DISPATCH",
    }
    assert logged(agent.session)[-2:] == ["call c4", "result c4"]
    assert order(agent.session)[-1] == "turn/end aborted"
    # and the context of what had been answered waits, without waking anybody
    assert [message_text(message) for message in agent.inbox.next_step] == ["about c1"]
    assert not agent.inbox.wants_turn
    agent.followup(u("go on"))
    await agent.when_idle()
    assert world.adapter.requests[1][-2:] == ["user:about c1", "user:go on"]
    assert order(agent.session)[-1] == "turn/end completed"


async def test_an_error_that_comes_after_the_stop_is_the_result() -> None:
    world = World(THREE, says("two"))
    bench = Bench(world)
    bench.tool(heeds=True, outcome=lambda call: failed("it is locked", "LOCKED"))
    agent = await begin(world)
    await bench.runs("c1", "c2", "c3")
    agent.cancel(USER)
    await agent.when_idle()
    assert set(answers(agent.session).values()) == {"LOCKED"}


async def test_section_11_a_finished_result_that_waits_for_its_order_is_aborted_too() -> None:
    world = World(asks(("c1", "wait"), ("c2", "wait")), says("two"))
    bench = Bench(world)
    bench.tool()
    agent = await begin(world)
    await bench.runs("c1", "c2")
    bench.let_go("c2")
    await bench.runs("c1")
    agent.cancel(USER)
    await agent.when_idle()
    assert answers(agent.session) == {"c1": "ABORTED", "c2": "ABORTED"}


async def test_a_body_that_ignores_the_stop_is_cancelled_after_its_grace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.agent.tools.pipeline.GRACE", 0.05)
    world = World(asks(("c1", "wait")), says("two"))
    bench = Bench(world)
    bench.tool()  # waits for its gate alone
    agent = await begin(world)
    await bench.runs("c1")
    agent.cancel(USER)
    await asyncio.wait_for(agent.when_idle(), 1)
    assert (answers(agent.session), bench.running) == ({"c1": "ABORTED"}, [])


async def test_a_body_that_nothing_ends_does_not_hang_the_turn_and_writes_nothing_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 0.05)
    monkeypatch.setattr("engine.agent.tools.pipeline.GRACE", 0.05)
    release = asyncio.Event()
    ended = asyncio.Event()
    started = asyncio.Event()
    world = World(asks(("c1", "deaf"), ("c2", "deaf")), says("two"))

    async def deaf(arguments: Any, call: ToolCall) -> ToolOutcome:
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        return ToolOutcome("too late", concludes_turn=True, contexts=("too late",))

    world.add_tool(Tool("deaf", "deaf", deaf, Anything))
    agent = await begin(world)
    await started.wait()
    # when it is stopped
    agent.cancel(USER)
    await asyncio.wait_for(agent.when_idle(), 2)
    # then the turn ends without it
    assert answers(agent.session) == {"c1": "ABORTED", "c2": "ABORTED_BEFORE_DISPATCH"}
    assert "whether it took effect is not known" in results(agent.session)["c1"]
    before = agent.session.seq
    # and what it says in the end reaches nobody
    release.set()
    await ended.wait()
    await settled()
    assert agent.session.seq == before
    assert not agent.inbox.has_pending


async def test_a_stop_while_the_story_is_being_saved_starts_no_body() -> None:
    world = World(asks(("c1", "wait")), says("two"))
    bench = Bench(world)
    bench.tool()
    flush, saving = world.services.journal.secure, asyncio.Event()

    async def slow(session_id: str) -> None:
        if logged(agent.session):
            saving.set()
            await asyncio.Event().wait()
        await flush(session_id)

    world.services.journal.secure = slow  # type: ignore[method-assign]
    agent = await begin(world)
    await saving.wait()
    world.services.journal.secure = flush  # type: ignore[method-assign]
    agent.cancel(USER)
    await agent.when_idle()
    assert (bench.ran, answers(agent.session)) == ([], {"c1": "ABORTED_BEFORE_DISPATCH"})


async def test_a_story_that_cannot_be_saved_runs_no_body() -> None:
    world = World(asks(("c1", "wait")), says("two"))
    bench = Bench(world)
    bench.tool()
    flush = world.services.journal.secure

    async def full(session_id: str) -> None:
        if logged(agent.session) == ["call c1"]:
            raise StorageError("the disk is full", code="DISK_FULL")
        await flush(session_id)

    world.services.journal.secure = full  # type: ignore[method-assign]
    agent = await begin(world)
    await agent.when_idle()
    assert (bench.ran, answers(agent.session)) == ([], {"c1": "NOT_DURABLE"})
    assert order(agent.session)[-1] == "turn/end completed"


# -- what goes wrong inside ------------------------------------------------------------------------------


async def test_case_65_a_failure_of_the_scheduler_leaves_no_call_without_a_result() -> None:
    # given a log that refuses the second call
    world = World(THREE, says("two"))
    bench = Bench(world)
    bench.tool()
    agent = await world.agents.create("s")
    append = agent.session.append

    def refuse(event_type: str, data: Any, **more: Any) -> Event:
        if event_type == "tool/call" and data["callId"] == "c2":
            raise RuntimeError("no room")
        return append(event_type, data, **more)

    agent.session.append = refuse  # type: ignore[method-assign]
    agent.followup(u("hi"))
    await bench.runs("c1")
    await settled()
    # then what runs is drained first
    assert order(agent.session)[-1] == "tool/call"
    bench.let_go("c1")
    await agent.when_idle()
    agent.session.append = append  # type: ignore[method-assign]
    # and every call is answered before the step ends
    assert answers(agent.session) == {
        "c1": "TOOL_OUTCOME_UNKNOWN",
        "c2": "TOOL_NOT_STARTED",
        "c3": "TOOL_NOT_STARTED",
    }
    assert order(agent.session)[-5:] == ["tool/result"] * 3 + ["step/end", "turn/end error"]
    agent.followup(u("next"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end completed"


async def test_case_66_too_many_steps_consume_nothing_that_waits() -> None:
    world = World(asks(("c1", "again")), asks(("c2", "again")), says("never"))
    world.services.max_steps_per_turn = 2
    bench = Bench(world)

    def again(call: ToolCall) -> ToolOutcome:
        if call.call_id == "c2":
            agent.inject(u("aside"))
        return ToolOutcome("again")

    bench.quick("again", again)
    agent = await begin(world)
    stopped = asyncio.Event()
    world.on("agent/error", lambda *_: stopped.set())
    await stopped.wait()
    await agent.when_idle()
    ends = [e.data["reason"] for e in agent.session.events() if e.type == "turn/end"]
    assert ends[0]["error"]["code"] == "MAX_STEPS"
    end = next(e.seq for e in agent.session.events() if e.type == "turn/end")
    admitted = [e.data["id"] for e in agent.session.events(0, end) if e.type == "user/message"]
    assert admitted == ["hi"]
    assert agent.inbox.knows("aside")


async def test_the_end_of_the_process_takes_the_bodies_with_it() -> None:
    world = World(THREE)
    bench = Bench(world)
    bench.tool()
    agent = await begin(world)
    await bench.runs("c1", "c2", "c3")
    driver = agent._driver
    assert driver is not None
    driver.cancel()
    await asyncio.gather(driver, return_exceptions=True)
    assert bench.running == []
    assert set(answers(agent.session).values()) == {"TOOL_OUTCOME_UNKNOWN"}


async def test_one_call_still_works_as_before() -> None:
    world = World(calls("look", '{"at": "door"}'), says("done"))
    seen: list[Any] = []

    async def look(arguments: str, token: object) -> str:
        seen.append(arguments)
        return "a door"

    world.tool("look", look)
    agent = await begin(world)
    await agent.when_idle()
    assert (seen, results(agent.session)) == (['{"at": "door"}'], {"c1": "a door"})


async def test_a_pool_without_calls_concludes_nothing() -> None:
    world = World(says("done"))
    agent = await world.agents.create("s")
    pipeline = Pipeline(world.services.tools, world.hooks, world.services.journal.secure)
    pool = ToolPool(agent.session, pipeline, 1, 1, CancelToken(), lambda message: None)
    assert await pool.run([]) is False
