"""A process that dies: what the next one finds in the log, and what it does about it.

Cases 35 to 41 of spec agent-loop 8, decision 4. A crash is a new world over the same store.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agent import Agent, Decision
from engine.agent.recovery import DEAD, REQUEUED, unadmitted, was_cut_off
from engine.cancel import CancelCause, CancelToken
from engine.errors import StorageError
from engine.hooks import Next
from engine.session import Session, closers
from tests.engine.agent.harness import Pause, World, calls, derived, fails, order, says, u


def hold(world: World, hook: str = "system-prompt/assemble") -> Pause:
    """Every turn waits there until the pause is opened."""
    pause = Pause()

    async def wait(payload: object, proceed: Next) -> Any:
        pause.reached.set()
        await pause.opened.wait()
        return await proceed()

    world.on(hook, wait)
    return pause


async def crash(world: World, *answers: Any) -> tuple[World, Agent]:
    """The next process, with the session opened in it."""
    again = await world.crash(*answers)
    return again, await again.agents.open("s")


# -- words ---------------------------------------------------------------------------------------


async def test_words_that_were_only_queued_wait_in_the_next_process() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    agent.send(u("hi"), "next-turn", wake=False)
    await world.services.journal.flush("s")
    again, agent = await crash(world)
    assert (agent.status, [m["id"] for m in agent.inbox.next_turn]) == ("idle", ["hi"])
    agent.wake()
    await agent.when_idle()
    assert again.adapter.requests == [["system:You are Ada.", "user:hi"]]


async def test_words_that_were_claimed_are_queued_again_once() -> None:
    world = World(says("one"))
    pause = hold(world)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    agent.followup(u("later"))
    await pause.reached.wait()
    await world.services.journal.flush("s")
    again, found = await crash(world)
    # then they stand at the head of the queue, and the log says how they came there
    assert order(found.session) == [
        *("insert", "turn/start", "claim", "insert", "turn/end interrupted"),
        *("session/end-seed", REQUEUED, "insert"),
    ]
    assert [m["id"] for m in found.inbox.next_turn] == ["hi", "later"]
    found.wake()
    await found.when_idle()
    assert [request[-1] for request in again.adapter.requests] == ["user:hi", "user:later"]
    # and opening it once more does nothing
    await again.agents.close("s")
    reopened = await again.agents.open("s")
    assert not reopened.inbox.has_pending
    pause.opened.set()


async def test_words_that_three_processes_died_on_are_dead_letters() -> None:
    world = World(says("one"))
    pauses = [hold(world)]
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    for _ in range(2):
        await pauses[-1].reached.wait()
        await world.services.journal.flush("s")
        world, agent = await crash(world)
        assert [m["id"] for m in agent.inbox.next_turn] == ["hi"]
        pauses.append(hold(world))
        agent.wake()
    await pauses[-1].reached.wait()
    await world.services.journal.flush("s")
    # when it happens a third time
    world = await world.crash()
    dead: list[str] = []
    world.on("agent/dead-letter", lambda _, lost: dead.extend(m["id"] for m in lost))
    agent = await world.agents.open("s")
    assert (dead, agent.inbox.has_pending) == (["hi"], False)
    assert order(agent.session)[-1] == DEAD
    # and they are told once
    await world.agents.close("s")
    await world.agents.open("s")
    assert dead == ["hi"]
    # other words are not concerned
    agent = await world.agents.open("s")
    agent.followup(u("next"))
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:next", "assistant:one"]
    for pause in pauses:
        pause.opened.set()


async def test_words_that_were_claimed_survive_a_shutdown() -> None:
    world = World(says("one"))
    pause = hold(world)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    closing = asyncio.ensure_future(world.agents.close("s"))
    await asyncio.sleep(0)
    pause.opened.set()
    await closing
    assert order(agent.session)[-1] == "turn/end aborted"
    _, found = await crash(world)
    assert [m["id"] for m in found.inbox.next_turn] == ["hi"]


async def test_words_whose_turn_somebody_stopped_are_not_queued_again() -> None:
    world = World(says("one"))
    pause = hold(world)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    agent.cancel(CancelCause("user"))
    pause.opened.set()
    await agent.when_idle()
    await world.agents.close("s")
    _, found = await crash(world)
    assert not found.inbox.has_pending


async def test_words_that_were_admitted_are_in_the_history_once_and_turns_are_numbered_on() -> None:
    pause = Pause()
    world = World([*says("partial")[:2], pause])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    again, agent = await crash(world, says("two"))
    assert order(agent.session)[-3:] == ["step/end", "turn/end interrupted", "session/end-seed"]
    # nothing of what streamed is in the history
    assert derived(agent.session) == ["system:You are Ada.", "user:hi"]
    agent.followup(u("next"))
    await agent.when_idle()
    assert again.adapter.requests[-1] == ["system:You are Ada.", "user:hi", "user:next"]
    turns = [e.data["turn"] for e in agent.session.events() if e.type == "turn/start"]
    headers = [e.data["reason"] for e in agent.session.events() if e.type == "request/header"]
    assert (turns, headers) == ([1, 2], ["initial", "resume"])


async def test_a_failed_attempt_before_the_crash_stays_an_attempt() -> None:
    pause = Pause()
    world = World(fails("SERVER", "doomed"), [pause])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    _, agent = await crash(world)
    assert order(agent.session)[8:] == [
        *("assistant/attempt", "llm/retry", "llm/retry-started"),
        *("step/end", "turn/end interrupted", "session/end-seed"),
    ]
    assert derived(agent.session)[1:] == ["user:hi"]


# -- tools ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("started", "code"), [(True, "TOOL_OUTCOME_UNKNOWN"), (False, "TOOL_NOT_STARTED")])
async def test_a_call_that_the_crash_left_open_is_answered(started: bool, code: str) -> None:
    world = World(calls("wait", "{}"))
    agent = await world.agents.create("s")
    running = asyncio.Event()

    async def wait(arguments: str, token: CancelToken) -> str:
        await world.services.journal.flush("s")
        running.set()
        await asyncio.Event().wait()
        return "never"

    world.tool("wait", wait)
    agent.followup(u("hi"))
    await running.wait()
    if not started:  # the process died before the call was recorded
        stored = world.store._sessions["s"].rows
        assert stored.pop().type == "tool/call"
    again, found = await crash(world, says("two"))
    result = next(e for e in found.session.events() if e.type == "tool/result")
    assert (result.data["error"]["code"], result.data["message"]["isError"]) == (code, True)
    # and the next request pairs
    found.followup(u("next"))
    await found.when_idle()
    assert [line.split(":")[0] for line in again.adapter.requests[0]] == [
        *("system", "user", "assistant", "tool", "user")
    ]
    agent.cancel(CancelCause("user"))
    await agent.when_idle()


async def test_a_repaired_log_is_not_repaired_again() -> None:
    pause = Pause()
    world = World([pause])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    world, agent = await crash(world)
    await world.services.journal.flush("s")
    repaired = order(agent.session)
    for _ in range(2):
        world, agent = await crash(world)
        assert [word for word in order(agent.session) if word != "session/end-seed"] == [
            word for word in repaired if word != "session/end-seed"
        ]


# -- a disk that fails ---------------------------------------------------------------------------


async def test_no_model_is_called_for_what_could_not_be_stored() -> None:
    world = World(says("never"), says("one"))

    async def break_the_disk(proposal: object, proceed: Next) -> Any:
        world.store.faults.append(StorageError("full", code="DISK_FULL"))
        return await proceed()

    world.on("agent/request", break_the_disk)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert world.adapter.requests == []
    assert agent.session.events()[-1].data["reason"]["error"]["code"] == "DISK_FULL"
    # nothing of it is lost, and all of it is stored when the disk is back
    await world.services.journal.flush("s")
    assert await world.store.head("s") == agent.session.seq


async def test_words_whose_claim_could_not_be_stored_call_no_model() -> None:
    world = World(says("never"))
    world.store.faults.clear()
    agent = await world.agents.create("s")
    world.store.faults.append(StorageError("full", code="DISK_FULL"))
    agent.followup(u("hi"))
    await agent.when_idle()
    assert world.adapter.requests == []
    assert order(agent.session) == ["insert", "turn/start", "claim", "turn/end error"]


async def test_a_turn_whose_end_could_not_be_stored_does_not_stop_the_next() -> None:
    world = World(says("one"), says("two"))
    errors: list[str] = []
    world.on("agent/error", lambda _, error: errors.append(error.error_code))
    agent = await world.agents.create("s")

    def break_the_disk(event: Any) -> None:
        if event.type == "turn/end" and event.data["turn"] == 1:
            world.store.faults.append(StorageError("full", code="DISK_FULL"))

    agent.session.observe(break_the_disk)
    agent.followup(u("a"))
    agent.followup(u("b"))
    await agent.when_idle()
    assert errors == ["DISK_FULL"]
    assert derived(agent.session)[1:] == ["user:a", "assistant:one", "user:b", "assistant:two"]
    await world.services.journal.flush("s")
    assert await world.store.head("s") == agent.session.seq


# -- a turn that fails before its words are in the history ----------------------------------------


def break_assembly(world: World, times: int, error: Exception | None = None) -> None:
    """The first turns fail before anything of them is admitted."""
    left = [times]

    async def fail(payload: object, proceed: Next) -> Any:
        if left[0]:
            left[0] -= 1
            raise error or RuntimeError("no lore today")
        return await proceed()

    world.on("system-prompt/assemble", fail)


async def test_words_that_a_turn_failed_on_enter_with_the_next_words() -> None:
    world = World(says("one"))
    break_assembly(world, 1)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    # the failure was told, and is not tried again by itself
    assert (order(agent.session)[-1], agent.inbox.has_pending) == ("turn/end error", False)
    agent.inject(u("aside"))
    agent.followup(u("hello?"))
    await agent.when_idle()
    assert world.adapter.requests == [["system:You are Ada.", "user:hi", "user:aside", "user:hello?"]]
    assert order(agent.session)[4:9] == ["insert", "insert", REQUEUED, "insert", "turn/start"]


async def test_a_wake_alone_answers_what_a_turn_failed_on() -> None:
    world = World(says("one"))
    break_assembly(world, 1)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    agent.wake()
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:hi", "assistant:one"]
    agent.wake()
    await agent.when_idle()
    assert len(world.adapter.requests) == 1


async def test_words_that_a_turn_failed_on_are_not_forgotten_by_the_next_process() -> None:
    world = World(says("one"))
    break_assembly(world, 1)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    again, found = await crash(world)
    assert (found.status, found.inbox.has_pending) == ("idle", False)
    found.followup(u("hello?"))
    await found.when_idle()
    assert again.adapter.requests == [["system:You are Ada.", "user:hi", "user:hello?"]]


async def test_a_queue_behind_a_failure_loses_nothing() -> None:
    world = World(says("one"))
    break_assembly(world, 2)
    agent = await world.agents.create("s")
    for text in "abc":
        agent.followup(u(text))
    await agent.when_idle()
    assert world.adapter.requests == [["system:You are Ada.", "user:a", "user:b", "user:c"]]


async def test_words_that_every_turn_fails_on_are_dead_letters_at_last() -> None:
    world = World(says("one"))
    dead: list[str] = []
    world.on("agent/dead-letter", lambda _, lost: dead.extend(m["id"] for m in lost))

    async def choke(payload: Any, proceed: Next) -> Any:
        if any(message["id"] == "poison" for message in payload.messages):
            raise RuntimeError("no")
        return await proceed()

    world.on("agent/pre-step", choke)
    agent = await world.agents.create("s")
    agent.followup(u("poison"))
    await agent.when_idle()
    for number in range(6):
        assert dead == []
        agent.followup(u(f"w{number}"))
        await agent.when_idle()
    assert dead == ["poison"]
    assert world.adapter.requests[0][1:] == [f"user:w{number}" for number in range(6)]


async def test_a_full_disk_is_not_held_against_the_words() -> None:
    world = World(says("one"))
    break_assembly(world, 12, StorageError("full", code="DISK_FULL"))
    agent = await world.agents.create("s")
    for number in range(12):
        agent.followup(u(f"w{number}"))
        await agent.when_idle()
    agent.followup(u("at last"))
    await agent.when_idle()
    assert world.adapter.requests[0][1:] == [*(f"user:w{number}" for number in range(12)), "user:at last"]
    assert REQUEUED not in order(agent.session)


@pytest.mark.parametrize("how", ["stop", "reject"])
async def test_words_that_somebody_kept_out_stay_out(how: str) -> None:
    world = World(says("one"))
    kept_out: list[str] = []

    async def keep_out(payload: Any, proceed: Next) -> Any:
        if not kept_out:
            kept_out.append(how)
            if how == "reject":
                return Decision("reject")
            agent.cancel(CancelCause("user"))
        return await proceed()

    world.on("agent/pre-step", keep_out)
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    agent.followup(u("hello?"))
    await agent.when_idle()
    assert world.adapter.requests == [["system:You are Ada.", "user:hello?"]]


# -- any moment ----------------------------------------------------------------------------------


async def played() -> Session:
    """A log with everything that a turn can hold: tools, retries, stops, failures, a queue."""
    pause = Pause()
    world = World(
        calls("look", "{}"),
        says("seen"),
        fails("SERVER", "x"),
        says("ok"),
        [*says("par")[:2], pause],
        says("z"),
    )

    async def look(arguments: str, token: CancelToken) -> str:
        agent.inject(u("aside"))
        return "a door"

    world.tool("look", look)
    agent = await world.agents.create("s")
    for text in "abcd":
        agent.followup(u(text))
    await pause.reached.wait()
    agent.cancel(CancelCause("user"), keep_inbox=True)
    await agent.when_idle()
    agent.wake()
    await agent.when_idle()
    return agent.session


@given(data=st.data())
def test_a_crash_at_any_event_loses_no_words_and_says_none_twice(data: st.DataObject) -> None:
    asyncio.run(crash_somewhere(data))


async def crash_somewhere(data: st.DataObject) -> None:
    # given a played log of which an arbitrary part was stored
    session = await played()
    kept = data.draw(st.integers(1, session.seq))
    world = World(says("again"))
    await world.services.journal.create("s")
    for event in session.events(0, kept):
        live = world.services.journal.sessions.get("s")
        assert live is not None
        live.append(
            event.type,
            event.data,
            surface_op=event.surface_op,
            source_event_seqs=event.source_event_seqs,
            ignorable=event.ignorable,
        )
    await world.services.journal.flush("s")
    # when the process dies there, and once more at once
    for _ in range(data.draw(st.integers(1, 2))):
        world, agent = await crash(world)
        await world.services.journal.flush("s")
    agent.wake()
    await agent.when_idle()
    # then each word that was stored was admitted once or was taken back, and nothing waits
    events = agent.session.events()
    stored = {m["id"] for e in events if e.type == "agent/inbox/spliced" for m in e.data["inserted"]}
    admitted = [e.data["id"] for e in events if e.type == "user/message"]
    assert len(admitted) == len(set(admitted))
    assert set(admitted) == stored
    assert not agent.inbox.has_pending
    # and turns, steps and calls are closed
    for opening, ending in (
        ("turn/start", "turn/end"),
        ("step/start", "step/end"),
        ("tool/call", "tool/result"),
    ):
        types = [e.type for e in events]
        assert types.count(opening) <= types.count(ending) + (opening == "tool/call")
    assert closers(events) == []
    await world.agents.close("s")


# -- the parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "cut"),
    [
        ({"kind": "interrupted"}, True),
        ({"kind": "aborted", "reason": {"kind": "disposed"}}, True),
        ({"kind": "aborted", "reason": {"kind": "user"}}, False),
        ({"kind": "completed"}, False),
        ({"kind": "error", "error": {"message": "m", "code": "c"}}, False),
    ],
)
def test_a_turn_is_cut_off_when_its_process_ended(reason: dict[str, Any], cut: bool) -> None:
    assert was_cut_off(reason) is cut


async def test_nothing_is_lost_in_a_log_without_an_interruption() -> None:
    assert unadmitted((await played()).own_events()) == []
