"""Agents that work for another one. Spec agent-loop 2.4 and 2.5."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.agent import MAX_DELEGATION_DEPTH, Agent, AgentSetup, Section
from engine.cancel import CancelCause, CancelToken
from engine.errors import AgentError
from engine.session import Header
from tests.engine.agent.harness import Pause, World, derived, order, says, u


def ends(agent: Agent) -> list[dict[str, Any]]:
    return [dict(e.data["reason"]) for e in agent.session.events() if e.type == "turn/end"]


async def test_the_header_says_whose_it_is_and_how_deep_durably() -> None:
    world = World(says("one"))
    parent = await world.agents.create("s")
    child = await world.agents.create("child", parent=parent)
    grandchild = await world.agents.create("grandchild", parent=child)
    assert parent.session.header.origin is None
    for agent, lineage in ((child, ("s", 1)), (grandchild, ("child", 2))):
        header = agent.session.header
        assert (header.parent_session, header.delegation_depth) == lineage
        assert (header.origin, header.is_seeded, agent.is_delegated) == ("subagent", False, True)
    assert list(parent.children) == ["child"]
    # and what is stored says the same; whose it is in the running program does not outlive it
    again = await (await world.crash()).agents.open("child")
    assert isinstance(again.session.header, Header)
    assert (again.session.header.parent_session, again.is_delegated, again.parent) == ("s", True, None)


async def test_it_may_be_delegated_only_so_deep() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    for depth in range(MAX_DELEGATION_DEPTH):
        agent = await world.agents.create(f"s{depth}", parent=agent)
    with pytest.raises(AgentError) as refused:
        await world.agents.create("deeper", parent=agent)
    assert refused.value.error_code == "DELEGATION_TOO_DEEP"
    assert world.services.journal.sessions.get("deeper") is None


async def test_what_holds_for_the_parent_holds_for_the_child() -> None:
    world = World(says("one"))
    heard: list[str] = []

    def setup(own: AgentSetup) -> None:
        own.section(Section("law", 1, "Be brief."))
        own.section(Section("who", 2, "You lead."))
        own.on("agent/inbox/claimed", lambda session_id, message: heard.append(session_id))

    parent = await world.agents.create("s", setup=setup)
    child = await world.agents.create(
        "child", parent=parent, setup=lambda own: own.section(Section("who", 2, "You help.")) and None
    )
    other = await world.agents.create("other")
    for agent in (parent, child, other):
        agent.followup(u("hi"))
        await agent.when_idle()
    assert [request[0] for request in world.adapter.requests] == [
        "system:You are Ada.\n\nBe brief.\n\nYou lead.",
        "system:You are Ada.\n\nBe brief.\n\nYou help.",
        "system:You are Ada.",
    ]
    assert heard == ["s", "child"]


async def test_a_stop_of_the_parent_reaches_everybody_below_it() -> None:
    pauses = [Pause(), Pause(), Pause()]
    world = World(*([*says("partial")[:2], pause] for pause in pauses))
    parent = await world.agents.create("s")
    child = await world.agents.create("child", parent=parent)
    grandchild = await world.agents.create("grandchild", parent=child)
    for agent, pause in zip((parent, child, grandchild), pauses, strict=True):
        agent.followup(u("hi"))
        await pause.reached.wait()
    parent.cancel(CancelCause("user"))
    for agent in (parent, child, grandchild):
        await agent.when_idle()
    assert [ends(agent)[0]["reason"]["kind"] for agent in (parent, child, grandchild)] == [
        *("user", "parent", "parent"),
    ]
    assert derived(child.session)[-1] == "assistant:partial"


async def test_a_stop_of_an_idle_parent_reaches_a_child_that_works() -> None:
    pause = Pause()
    world = World([pause, *says("never")])
    parent = await world.agents.create("s")
    child = await world.agents.create("child", parent=parent)
    child.followup(u("hi"))
    await pause.reached.wait()
    child.followup(u("later"))
    parent.cancel(CancelCause("user"))
    await child.when_idle()
    assert (ends(child)[0]["reason"], child.inbox.has_pending) == ({"kind": "parent"}, False)
    assert order(parent.session) == []


async def test_a_child_s_stop_is_its_own() -> None:
    pauses = [Pause(), Pause()]
    world = World(*([pause, *says("done")] for pause in pauses))
    parent = await world.agents.create("s")
    child = await world.agents.create("child", parent=parent)
    for agent, pause in zip((parent, child), pauses, strict=True):
        agent.followup(u("hi"))
        await pause.reached.wait()
    child.cancel(CancelCause("user"))
    await child.when_idle()
    pauses[0].opened.set()
    await parent.when_idle()
    assert [end["kind"] for end in (*ends(parent), *ends(child))] == ["completed", "aborted"]


async def test_a_child_ends_with_its_parent_before_it_and_durably() -> None:
    pause = Pause()
    world = World([*says("partial")[:2], pause])
    told: list[str] = []
    world.on("agent/disposed", told.append)
    parent = await world.agents.create("s")
    child = await world.agents.create("child", parent=parent)
    child.followup(u("hi"))
    await pause.reached.wait()
    await world.agents.close("s")
    assert told == ["child", "s"]
    assert (world.agents.get("child"), ends(child)) == (
        None,
        [{"kind": "aborted", "reason": {"kind": "parent"}}],
    )
    assert await world.store.head("child") == child.session.seq


async def test_a_child_that_ended_is_forgotten_and_its_id_can_come_back() -> None:
    world = World(says("one"))
    parent = await world.agents.create("s")
    child = await world.agents.create("child", parent=parent)
    await child.dispose()
    assert (parent.children, world.agents.get("child")) == ({}, None)
    again = await world.agents.open("child")
    await world.agents.close("s")
    assert world.agents.get("child") is again


async def test_a_parent_that_ends_takes_no_child() -> None:
    world = World(says("one"))
    parent = await world.agents.create("s")
    await world.agents.close("s")
    with pytest.raises(AgentError) as refused:
        await world.agents.create("child", parent=parent)
    assert refused.value.error_code == "AGENT_DISPOSED"
    # nor one that was on its way
    parent = await world.agents.open("s")
    world.store.delay = 0.01
    coming = asyncio.ensure_future(world.agents.create("late", parent=parent))
    await asyncio.sleep(0)
    await world.agents.close("s")
    with pytest.raises(AgentError) as refused:
        await coming
    assert refused.value.error_code == "AGENT_DISPOSED"
    assert world.agents.get("late") is None


async def test_a_parent_s_end_undoes_a_child_that_comes_up() -> None:
    world = World(says("one"))
    parent = await world.agents.create("s")
    reached = asyncio.Event()
    told: list[str] = []

    async def slow(agent: Agent, source: str, token: CancelToken) -> None:
        reached.set()
        await token.wait()
        told.append(f"{agent.id} is told: {token.cause and token.cause.kind}")

    world.on("agent/created", slow)
    world.on("agent/disposed", lambda session_id: told.append(f"{session_id} disposed"))
    coming = asyncio.ensure_future(world.agents.create("child", parent=parent))
    await reached.wait()
    await world.agents.close("s")
    with pytest.raises(AgentError) as undone:
        await coming
    assert undone.value.error_code == "AGENT_DISPOSED"
    assert told == ["child is told: disposed", "child disposed", "s disposed"]


async def test_a_resting_parent_with_a_child_is_not_idle() -> None:
    world = World(says("one"))
    now = 1_000
    world.services.clock = lambda: now
    parent = await world.agents.create("s")
    await world.agents.create("child", parent=parent)
    now = 9_000
    assert world.agents.idle(5_000) == ["child"]
    await world.agents.close("child")
    assert world.agents.idle(5_000) == ["s"]
