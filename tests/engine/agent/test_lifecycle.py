"""How agents come up, are found, and go. Cases 80 to 87 of spec agent-loop 8."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine.agent import Agent, AgentSetup, Section
from engine.cancel import CancelCause, CancelToken
from engine.errors import AgentError, NotFound, SessionError, StorageError
from engine.llm import CallConfig
from tests.engine.agent.harness import Pause, World, derived, order, says, u

# -- coming up -----------------------------------------------------------------------------------


async def test_words_that_come_while_listeners_set_up_wait_for_them() -> None:
    world = World(says("one"))
    opened = asyncio.Event()
    seen: list[str] = []

    async def slow(agent: Agent, source: str, token: CancelToken) -> None:
        agent.followup(u("hi"))
        await opened.wait()
        seen.append(f"{source} {agent.status} {order(agent.session)}")

    world.on("agent/created", slow)
    world.on("agent/created", lambda *_: seen.append("second"))
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

    def hasty(agent: Agent, *_: Any) -> None:
        agent.followup(u("hi"))
        agent.inbox.remove("hi")

    world.on("agent/created", hasty)
    agent = await world.agents.create("s")
    assert (agent.status, order(agent.session)) == ("idle", ["insert", "cancel"])


async def test_a_listener_that_fails_undoes_the_creation() -> None:
    world = World(says("one"))
    told: list[str] = []
    failing = True

    def broken(*_: Any) -> None:
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
    again.on("agent/created", lambda agent, source, token: sources.append(source))
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


# -- the transaction -----------------------------------------------------------------------------


async def test_a_setup_composes_before_anybody_knows_and_listeners_come_after_it() -> None:
    world = World(says("one"))
    told: list[str] = []

    async def setup(own: AgentSetup) -> None:
        await asyncio.sleep(0)
        known = world.agents.get("s") is not None
        own.agent.followup(u("hi"))
        told.append(f"setup, known {known}, {own.agent.status}")
        own.on("agent/created", lambda agent, source, token: told.append(f"own {source}"))

    world.on("session/created", lambda session, source: told.append(f"session {session.id} {source}"))
    world.on("agent/created", lambda agent, source, token: told.append(f"agent {agent.id} {source}"))
    for hook in ("agent/disposed", "session/disposed"):
        world.on(hook, lambda session_id, hook=hook: told.append(f"{hook} {session_id}"))
    agent = await world.agents.create("s", setup=setup)
    assert told == ["setup, known False, idle", "session s startup", "agent s startup", "own startup"]
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:hi", "assistant:one"]
    told.clear()
    await world.agents.close("s")
    assert told == ["agent/disposed s", "session/disposed s"]


async def test_a_setup_that_fails_undoes_what_it_did_and_nobody_was_told() -> None:
    world = World(says("one"))
    told: list[str] = []
    hooks = ("session/created", "agent/created", "agent/disposed", "session/disposed")
    for hook in hooks:
        world.on(hook, lambda *_, hook=hook: told.append(hook))

    def live() -> bool:
        return world.services.journal.sessions.get("s") is not None

    async def setup(own: AgentSetup) -> None:
        own.section(Section("card", 1, "It rains."))
        own.agent.scope.effect(lambda: told.append(f"undone, session live: {live()}"))
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        await world.agents.create("s", setup=setup)
    # the scope first, then the session
    assert (told, live(), world.agents.get("s")) == (["undone, session live: True"], False, None)
    agent = await world.agents.open("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    assert derived(agent.session)[0] == "system:You are Ada."


async def test_every_created_that_was_told_is_followed_by_its_disposed() -> None:
    world = World(says("one"))
    told: list[str] = []
    for hook in ("session/created", "agent/created", "agent/disposed", "session/disposed"):
        world.on(hook, lambda *_, hook=hook: told.append(hook))

    def broken(*_: Any) -> None:
        raise RuntimeError("no")

    world.on("agent/created", broken)
    with pytest.raises(RuntimeError):
        await world.agents.create("s")
    assert told == ["session/created", "agent/created", "agent/disposed", "session/disposed"]


async def test_an_end_while_listeners_set_up_waits_for_them_and_undoes_the_creation() -> None:
    world = World(says("never"))
    reached, opened = asyncio.Event(), asyncio.Event()
    told: list[str] = []

    async def slow(agent: Agent, source: str, token: CancelToken) -> None:
        if source == "resume":
            return
        agent.followup(u("hi"))
        reached.set()
        await opened.wait()
        live = world.services.journal.sessions.get("s") is agent.session
        told.append(f"{token.cause and token.cause.kind}, live {live}, active {agent.scope.active}")

    world.on("agent/created", slow)
    coming = asyncio.ensure_future(world.agents.create("s"))
    await reached.wait()
    closing = asyncio.ensure_future(world.agents.close("s"))
    await asyncio.sleep(0.01)
    assert not closing.done()
    opened.set()
    with pytest.raises(AgentError) as undone:
        await coming
    await closing
    assert (undone.value.error_code, told) == ("AGENT_DISPOSED", ["disposed, live True, active True"])
    # what came in meanwhile waits in the log
    assert [m["id"] for m in (await world.agents.open("s")).inbox.next_turn] == ["hi"]


async def test_the_end_of_all_agents_does_not_wait_for_a_setup() -> None:
    world = World(says("one"))
    reached, ended = asyncio.Event(), asyncio.Event()

    async def setup(own: AgentSetup) -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    coming = asyncio.ensure_future(world.agents.create("s", setup=setup))
    await reached.wait()
    await asyncio.wait_for(world.agents.aclose(), 5)
    with pytest.raises(AgentError) as undone:
        await coming
    assert (undone.value.error_code, ended.is_set()) == ("AGENTS_CLOSED", True)


async def test_an_opening_during_a_creation_waits_for_the_whole_of_it() -> None:
    world = World(says("one"))
    opened = asyncio.Event()

    async def slow(*_: Any) -> None:
        await opened.wait()

    world.on("agent/created", slow)
    creating = asyncio.ensure_future(world.agents.create("s"))
    await asyncio.sleep(0.01)
    opening = asyncio.ensure_future(world.agents.open("s"))
    await asyncio.sleep(0.01)
    assert not opening.done()
    opened.set()
    assert await opening is await creating


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


async def test_the_end_of_all_agents_undoes_those_that_come_up_and_lets_no_more_in() -> None:
    pause = Pause()
    world = World([*says("partial")[:2], pause])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    world.store.delay = 0.01
    coming = asyncio.ensure_future(world.agents.create("late"))
    await asyncio.sleep(0)
    await world.agents.aclose()
    with pytest.raises(AgentError) as undone:
        await coming
    assert undone.value.error_code == "AGENTS_CLOSED"
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


async def test_an_opening_during_an_end_brings_a_new_agent() -> None:
    world = World([*says("partial")[:2], Pause()])
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    ending = asyncio.ensure_future(world.agents.close("s"))
    await asyncio.sleep(0)
    again = await world.agents.open("s")
    await ending
    assert again is not agent
    again.inject(u("C"))  # it takes words
    assert world.agents.get("s") is again


async def test_an_old_agent_s_end_does_not_touch_a_newer_one_of_its_id() -> None:
    world = World(says("one"))
    old = await world.agents.create("s")
    await old.dispose()
    again = await world.agents.open("s")
    told: list[str] = []
    world.on("agent/disposed", told.append)
    await old.dispose()
    await world.agents._detach(old)  # the capability that it was made with
    assert (world.agents.get("s"), told) == (again, [])
    again.followup(u("hi"))
    await again.when_idle()
    await world.services.journal.flush("s")


async def test_an_agent_ends_its_scope_after_its_turn_and_before_it_is_let_go() -> None:
    pause = Pause()
    world = World([*says("partial")[:2], pause])
    ended: list[str] = []

    def setup(own: AgentSetup) -> None:
        def undo() -> None:
            known = world.agents.get("s") is own.agent
            live = world.services.journal.sessions.get("s") is own.agent.session
            ended.append(f"{order(own.agent.session)[-1]}, known {known}, live {live}")

        own.agent.scope.effect(undo)

    agent = await world.agents.create("s", setup=setup)
    agent.followup(u("hi"))
    await pause.reached.wait()
    await asyncio.gather(agent.dispose(), agent.dispose(), world.agents.close("s"))
    assert ended == ["turn/end aborted, known True, live True"]


async def test_an_end_that_a_scope_spoils_lets_the_session_go_all_the_same() -> None:
    world = World(says("one"))

    def broken() -> None:
        raise RuntimeError("no")

    agent = await world.agents.create("s", setup=lambda own: own.agent.scope.effect(broken) and None)
    with capture_logs() as logs:
        await agent.dispose()
    assert [entry["event"] for entry in logs] == ["agent.end_failed"]
    assert (world.agents.get("s"), world.services.journal.sessions.get("s")) == (None, None)


# -- maintenance ---------------------------------------------------------------------------------


async def test_maintenance_holds_turns_off_and_lets_them_go_on_after_it() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")

    async def work(token: CancelToken) -> str:
        agent.followup(u("hi"))
        await asyncio.sleep(0)
        assert agent.status == "idle"
        return "done"

    assert await agent.run_maintenance(work) == "done"
    assert agent.status == "running"
    with pytest.raises(AgentError) as busy:
        await agent.run_maintenance(work)
    assert busy.value.error_code == "AGENT_RUNNING"
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:hi", "assistant:one"]


async def test_maintenance_that_fails_lets_turns_go_on() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")

    async def work(token: CancelToken) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await agent.run_maintenance(work)
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end completed"


async def test_a_stop_reaches_maintenance_and_its_words_are_answered_afterwards() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    reached = asyncio.Event()

    async def work(token: CancelToken) -> str:
        reached.set()
        await token.wait()
        agent.followup(u("late"))  # while it unwinds
        return str(token.cause and token.cause.kind)

    working = asyncio.ensure_future(agent.run_maintenance(work))
    await reached.wait()
    agent.followup(u("hi"))
    agent.cancel(CancelCause("user"), keep_inbox=True)
    assert await working == "user"
    await agent.when_idle()
    assert [request[-1] for request in world.adapter.requests] == ["user:hi", "user:late"]


async def test_whoever_waits_for_an_idle_agent_waits_for_maintenance_and_for_what_it_held_off() -> None:
    pause = Pause()
    world = World([pause, *says("one")])
    agent = await world.agents.create("s")
    opened = asyncio.Event()
    working = asyncio.ensure_future(agent.run_maintenance(lambda token: opened.wait()))
    await asyncio.sleep(0)
    agent.followup(u("hi"))
    waiting = asyncio.ensure_future(agent.when_idle())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    opened.set()
    await working
    await pause.reached.wait()
    assert not waiting.done()
    pause.opened.set()
    await waiting
    assert order(agent.session)[-1] == "turn/end completed"


async def test_an_end_stops_maintenance_and_answers_nothing_after_it() -> None:
    world = World(says("never"))
    agent = await world.agents.create("s")
    working = asyncio.ensure_future(agent.run_maintenance(lambda token: token.wait()))
    await asyncio.sleep(0)
    agent.followup(u("hi"))
    await world.agents.close("s")
    await working
    assert (world.adapter.requests, order(agent.session)) == ([], ["insert"])
    with pytest.raises(AgentError) as refused:
        await agent.run_maintenance(lambda token: token.wait())
    assert refused.value.error_code == "AGENT_DISPOSED"


async def test_an_agent_in_maintenance_is_not_let_rest() -> None:
    world = World(says("one"))
    now = 1_000
    world.services.clock = lambda: now
    agent = await world.agents.create("s")
    now = 9_000
    opened = asyncio.Event()
    working = asyncio.ensure_future(agent.run_maintenance(lambda token: opened.wait()))
    await asyncio.sleep(0)
    assert world.agents.idle(5_000) == []
    opened.set()
    await working
    assert world.agents.idle(5_000) == ["s"]


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
