"""How agents come up, are found, and go. Cases 80 to 87 of spec agent-loop 8."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.agent import Agent
from engine.errors import AgentError, NotFound, SessionError, StorageError
from engine.llm import CallConfig
from tests.engine.agent.harness import Pause, World, derived, order, says, u

# -- coming up -----------------------------------------------------------------------------------


async def test_words_that_come_while_listeners_set_up_wait_for_them() -> None:
    world = World(says("one"))
    opened = asyncio.Event()
    seen: list[str] = []

    async def slow(agent: Agent, source: str) -> None:
        agent.followup(u("hi"))
        await opened.wait()
        seen.append(f"{source} {agent.status} {order(agent.session)}")

    world.on("agent/created", slow)
    world.on("agent/created", lambda agent, source: seen.append("second"))
    creating = asyncio.ensure_future(world.agents.create("s"))
    await asyncio.sleep(0.02)
    assert not creating.done()
    opened.set()
    agent = await creating
    assert seen == ["startup idle ['insert']", "second"]
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:hi", "assistant:one"]


async def test_words_that_were_taken_back_meanwhile_start_nothing() -> None:
    world = World(says("never"))

    def hasty(agent: Agent, source: str) -> None:
        agent.followup(u("hi"))
        agent.inbox.remove("hi")

    world.on("agent/created", hasty)
    agent = await world.agents.create("s")
    assert (agent.status, order(agent.session)) == ("idle", ["insert", "cancel"])


async def test_a_listener_that_fails_undoes_the_creation() -> None:
    world = World(says("one"))
    told: list[str] = []
    failing = True

    def broken(agent: Agent, source: str) -> None:
        if failing:
            raise RuntimeError("no")

    world.on("agent/created", broken)
    world.on("agent/created", lambda *_: told.append("later"))
    world.on("agent/disposed", told.append)
    with pytest.raises(RuntimeError, match="no"):
        await world.agents.create("s")
    assert (told, world.agents.get("s")) == (["s"], None)
    # the id is free in this process, and its stored session can be opened
    failing = False
    agent = await world.agents.open("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:hi", "assistant:one"]


async def test_of_two_creations_of_one_id_one_wins() -> None:
    world = World(says("one"))
    outcomes = await asyncio.gather(
        world.agents.create("s"), world.agents.create("s"), return_exceptions=True
    )
    assert isinstance(outcomes[0], Agent)
    assert isinstance(outcomes[1], SessionError)
    assert outcomes[1].error_code == "SESSION_ALREADY_EXISTS"
    for again in (world.agents.create("s"), world.agents.fork("s", None, "s")):
        with pytest.raises(SessionError) as taken:
            await again
        assert taken.value.error_code == "SESSION_ALREADY_EXISTS"
    assert world.agents.get("s") is outcomes[0]


async def test_openings_at_the_same_time_share_one_agent() -> None:
    world = World(says("one"))
    await world.agents.create("s")
    again = await world.crash()
    sources: list[str] = []
    again.on("agent/created", lambda agent, source: sources.append(source))
    first, second = await asyncio.gather(again.agents.open("s"), again.agents.open("s"))
    assert first is second is await again.agents.open("s")
    assert sources == ["resume"]


async def test_an_unknown_session_is_not_found() -> None:
    world = World(says("one"))
    with pytest.raises(NotFound):
        await world.agents.open("nothing")
    assert world.agents.get("nothing") is None


async def test_a_cancelled_caller_leaves_the_opening_to_the_others() -> None:
    world = World(says("one"))
    world.store.delay = 0.01
    impatient = asyncio.ensure_future(world.agents.create("s"))
    await asyncio.sleep(0)
    patient = asyncio.ensure_future(world.agents.open("s"))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).id == "s"


# -- forks ---------------------------------------------------------------------------------------


async def test_a_fork_in_an_open_turn_is_closed_in_the_child_only() -> None:
    pause = Pause()
    world = World([pause, *says("one")], says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    child = await world.agents.fork("s", None, "child")
    assert order(child.session)[-3:] == ["session/end-seed", "step/end", "turn/end forked"]
    assert order(agent.session)[-1] == "request/context"
    # the child goes on by itself, with the next number
    child.followup(u("other"))
    await child.when_idle()
    assert derived(child.session)[1:] == ["user:hi", "user:other", "assistant:two"]
    assert [e.data["turn"] for e in child.session.events() if e.type == "turn/start"] == [1, 2]
    pause.opened.set()
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:hi", "assistant:one"]


# -- going ---------------------------------------------------------------------------------------


async def test_a_closed_session_can_be_opened_again() -> None:
    world = World(says("one"), says("two"))
    told: list[str] = []
    world.on("agent/disposed", told.append)
    agent = await world.agents.create("s")
    agent.followup(u("a"))
    await agent.when_idle()
    await asyncio.gather(world.agents.close("s"), world.agents.close("s"))
    assert (told, world.agents.get("s")) == (["s"], None)
    again = await world.agents.open("s")
    assert again is not agent
    again.followup(u("b"))
    await again.when_idle()
    assert derived(again.session)[1:] == ["user:a", "assistant:one", "user:b", "assistant:two"]
    await world.agents.close("never opened")


async def test_the_end_of_all_agents_waits_for_those_that_come_up_and_lets_no_more_in() -> None:
    pause = Pause()
    world = World([*says("partial")[:2], pause])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    world.store.delay = 0.01
    coming = asyncio.ensure_future(world.agents.create("late"))
    await asyncio.sleep(0)
    await world.agents.aclose()
    assert (await coming).status == "idle"
    assert (world.agents.get("s"), world.agents.get("late")) == (None, None)
    assert order(agent.session)[-1] == "turn/end aborted"
    for opening in (world.agents.open("s"), world.agents.create("new")):
        with pytest.raises(AgentError) as refused:
            await opening
        assert refused.value.error_code == "AGENTS_CLOSED"


async def test_a_session_that_cannot_be_written_to_its_end_does_not_keep_the_others() -> None:
    world = World(says("one"))
    for session_id in ("a", "b"):
        agent = await world.agents.create(session_id)
        agent.inject(u("C"))
    world.store.faults.append(StorageError("full", code="DISK_FULL"))
    with pytest.raises(ExceptionGroup) as caught:
        await world.agents.aclose()
    assert [error.error_code for error in caught.value.exceptions] == ["DISK_FULL"]  # type: ignore[attr-defined]
    assert await world.store.head("b") == 1


# -- maintenance ---------------------------------------------------------------------------------


async def test_maintenance_holds_turns_off_and_lets_them_go_on_after_it() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")

    async def work() -> str:
        agent.followup(u("hi"))
        await asyncio.sleep(0)
        assert agent.status == "idle"
        return "done"

    assert await agent.run_idle(work) == "done"
    assert agent.status == "running"
    with pytest.raises(AgentError) as busy:
        await agent.run_idle(work)
    assert busy.value.error_code == "AGENT_RUNNING"
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:hi", "assistant:one"]


async def test_maintenance_that_fails_lets_turns_go_on() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")

    async def work() -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await agent.run_idle(work)
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end completed"


# -- listeners -----------------------------------------------------------------------------------


async def test_a_listener_that_fails_disturbs_neither_the_turn_nor_the_other_listeners() -> None:
    world = World(says("one"))
    told: list[str] = []

    def broken(*_: Any) -> None:
        raise RuntimeError("no")

    for hook in ("agent/status", "agent/inbox/claimed", "agent/turn-started", "agent/turn-ended"):
        world.on(hook, broken)
    world.on("agent/status", lambda _, status: told.append(status))
    world.on("agent/inbox/claimed", lambda _, message: told.append(message["id"]))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert told == ["hi", "running", "idle"]
    assert order(agent.session)[-1] == "turn/end completed"


async def test_followers_of_a_turn_are_awaited_before_the_next_one() -> None:
    world = World(says("one"), says("two"))
    told: list[str] = []

    async def started(session_id: str, turn: int, batch: Any) -> None:
        told.append(f"{turn} starts with {[m['id'] for m in batch]}")

    async def ended(session_id: str, result: Any) -> None:
        await asyncio.sleep(0.01)
        told.append(f"{result.turn} {result.reason['kind']}")

    world.on("agent/turn-started", started)
    world.on("agent/turn-ended", ended)
    agent = await world.agents.create("s")
    agent.followup(u("a"))
    agent.followup(u("b"))
    await agent.when_idle()
    assert told == ["1 starts with ['a']", "1 completed", "2 starts with ['b']", "2 completed"]


# -- what a resumed agent calls ------------------------------------------------------------------


async def test_a_resumed_agent_starts_from_the_settings_of_now() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    agent.followup(u("a"))
    await agent.when_idle()
    again = await world.crash(says("two"))
    again.services.defaults = CallConfig("scripted", "m2")
    agent = await again.agents.open("s")
    agent.followup(u("b"))
    await agent.when_idle()
    headers = [e.data for e in agent.session.events() if e.type == "request/header"]
    assert [(h["reason"], h["header"]["config"]["model"]) for h in headers] == [
        ("initial", "m1"),
        ("resume", "m2"),
    ]


async def test_without_a_model_the_turn_ends_with_that_and_the_agent_lives() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    world.services.defaults = CallConfig("scripted", "")
    agent.followup(u("a"))
    await agent.when_idle()
    assert agent.session.events()[-1].data["reason"]["error"]["code"] == "NO_MODEL"
    world.services.defaults = CallConfig("scripted", "m1")
    agent.followup(u("b"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end completed"
