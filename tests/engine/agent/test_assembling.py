"""A request that a listener puts together anew: when, what the log keeps of it, and what it cannot undo."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from engine.agent import ASSEMBLY, Assembled, Compactor, RequestAssembly, invariants, last_assembly
from engine.cancel import CancelCause, CancelToken
from engine.errors import AgentError, StorageError
from engine.hooks import Next
from engine.llm import CallConfig, Llm, LlmRequest
from engine.session import Event, MemoryEventStore, Message, StoredEvent, message_text, user_message
from tests.engine.agent.harness import Pause, ScriptedAdapter, World, calls, derived, fails, order, says, u

Maker = Callable[[RequestAssembly], Awaitable[Assembled | None]]


def listening(world: World, make: Maker) -> list[RequestAssembly]:
    """Let `make` put the requests together; what it was asked."""
    asked: list[RequestAssembly] = []

    async def answer(payload: RequestAssembly, proceed: Next) -> Assembled | None:
        asked.append(payload)
        made = await make(payload)
        if made is not None:
            return made
        passed: Assembled | None = await proceed()
        return passed

    world.on("agent/assemble-request", answer)
    return asked


def extra(text: str = "EXTRA") -> Message:
    return user_message("extra", text, {"kind": "test"})


async def with_extra(payload: RequestAssembly) -> Assembled:
    return Assembled((*payload.messages, extra()), {"step": payload.step})


async def told(world: World, *texts: str) -> Any:
    """An agent that has answered these words."""
    agent = await world.agents.create("s1")
    for text in texts:
        agent.followup(u(text))
        await agent.when_idle()
    return agent


def logged(session: Any) -> Sequence[Event]:
    return [event for event in session.events() if event.type == ASSEMBLY]


async def test_what_a_listener_makes_is_logged_and_sent_and_is_no_history() -> None:
    world = World(says("Hello."))
    asked = listening(world, with_extra)
    agent = await told(world, "Hi")
    assert world.adapter.requests == [["system:You are Ada.", "user:Hi", "user:EXTRA"]]
    assert derived(agent.session) == ["system:You are Ada.", "user:Hi", "assistant:Hello."]
    (event,) = logged(agent.session)
    assert event.ignorable
    assert event.surface_op is None
    assert set(event.data) == {"messages", "metadata"}
    assert [message_text(m) for m in event.data["messages"]] == ["You are Ada.", "Hi", "EXTRA"]
    assert event.data["metadata"] == {"step": 1}
    (payload,) = asked
    assert (payload.session, payload.turn, payload.step) == (agent.session, 1, 1)
    assert payload.config == CallConfig("scripted", "m1") and payload.tools == ()
    assert payload.call.system_prompt_update == "none"
    assert [m["id"] for m in payload.context.claimed] == ["Hi"]
    # admitted first, then put together, then sent
    words = order(agent.session)
    assert words.index("user Hi") < words.index("header initial") < words.index(ASSEMBLY)
    assert words.index(ASSEMBLY) < words.index("assistant Hello.")


async def test_who_asks_nobody_sends_the_history() -> None:
    world = World(says("Hello."))

    async def nothing(_: RequestAssembly) -> None:
        return None

    listening(world, nothing)
    agent = await told(world, "Hi")
    assert world.adapter.requests == [["system:You are Ada.", "user:Hi"]]
    assert logged(agent.session) == []


async def test_every_step_and_every_attempt_is_put_together_again() -> None:
    world = World(fails("SERVER", "ha"), calls("look", "{}"), says("Done."))

    async def look(arguments: str, token: Any) -> str:
        return "a door"

    world.tool("look", look)
    asked = listening(world, with_extra)
    agent = await told(world, "Hi")
    assert [payload.step for payload in asked] == [1, 1, 2]
    assert [event.data["metadata"]["step"] for event in logged(agent.session)] == [1, 1, 2]
    assert world.adapter.requests[-1][-2:] == ["tool:a door", "user:EXTRA"]
    assert order(agent.session).count("user Hi") == 1


class Disk(MemoryEventStore):
    """A disk that has no room for a request while it is `full`."""

    full = False

    async def append(self, session_id: str, epoch: int, rows: Sequence[StoredEvent]) -> None:
        if self.full and any(row.type == ASSEMBLY for row in rows):
            raise StorageError("full", code="DISK_FULL")
        await super().append(session_id, epoch, rows)


async def test_it_is_on_the_disk_before_it_is_sent() -> None:
    stored: list[str] = []

    class Watching(ScriptedAdapter):
        async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncIterator[Any]:
            stored.extend(row.type for row in (await world.store.read("s1")).rows)
            async for chunk in super().stream(request, token):
                yield chunk

    world = World()
    world.services.llm = Llm()
    world.services.llm.register(Watching(says("Hello.")))
    listening(world, with_extra)
    await told(world, "Hi")
    assert stored[-1] == ASSEMBLY


async def test_a_disk_that_is_full_lets_nothing_out() -> None:
    disk = Disk()
    world = World(says("Hello."), store=disk)
    disk.full = True
    listening(world, with_extra)
    agent = await told(world, "Hi")
    assert world.adapter.requests == []
    assert order(agent.session)[-1] == "turn/end error"
    disk.full = False
    agent.followup(u("Again"))
    await agent.when_idle()
    assert world.adapter.requests == [["system:You are Ada.", "user:Hi", "user:Again", "user:EXTRA"]]


async def test_a_stop_while_somebody_works_on_it_sends_nothing_and_keeps_the_words() -> None:
    world = World(says("Hello."))
    pause = Pause()

    async def slow(payload: RequestAssembly) -> Assembled:
        pause.reached.set()
        await pause.opened.wait()
        return await with_extra(payload)

    listening(world, slow)
    agent = await world.agents.create("s1")
    agent.followup(u("Hi"))
    await pause.reached.wait()
    agent.cancel(CancelCause("user"))
    pause.opened.set()
    await agent.when_idle()
    assert world.adapter.requests == []
    assert logged(agent.session) == []
    assert order(agent.session)[-3:] == ["request/context", "step/end", "turn/end aborted"]
    assert derived(agent.session) == ["system:You are Ada.", "user:Hi"]


@pytest.mark.parametrize(
    ("make", "code"),
    [("nothing", "ASSEMBLY_EMPTY"), ("raises", "MINE"), ("changes", "REQUEST_STALE")],
)
async def test_what_cannot_be_sent_ends_the_turn_with_its_code(make: str, code: str) -> None:
    world = World(says("Hello."))

    async def answer(payload: RequestAssembly) -> Assembled:
        if make == "nothing":
            return Assembled((), {})
        if make == "raises":
            raise AgentError("mine", code="MINE")
        payload.session.append("user/message", u("between"), surface_op="append")
        return await with_extra(payload)

    listening(world, answer)
    agent = await told(world, "Hi")
    assert world.adapter.requests == []
    assert logged(agent.session) == []
    end = agent.session.events()[-1].data["reason"]
    assert (end["kind"], end["error"]["code"]) == ("error", code)
    assert "user:Hi" in derived(agent.session)


async def test_a_summary_is_not_put_together() -> None:
    talk = "and I look around once more, slowly. " * 40
    world = World(says("Hello."))
    asked = listening(world, with_extra)
    compactor = Compactor(world.services, world.owner)
    agent = await told(world, *(f"{n} {talk}" for n in range(4)))
    before = len(asked)
    world.adapter.answers = [list(says("They looked around."))]
    assert await compactor.compact_now(agent) is not None
    assert len(asked) == before
    assert "EXTRA" not in "".join(world.adapter.requests[-1])


async def test_the_check_of_requests_knows_what_was_put_together() -> None:
    world = World(says("Hello."), says("Again."))
    listening(world, with_extra)

    def other(request: LlmRequest, proceed: Any) -> Any:
        assembled = last_assembly(agent.session)
        assert assembled is not None and request.messages == assembled.data["messages"]
        forged = LlmRequest(request.config, (*request.messages[:-1],), request.tools, request.session_id)
        with pytest.raises(AgentError) as refused:
            invariants.check_request(agent.session, forged, world.services.journal.sessions.projections)
        assert refused.value.error_code == "REQUEST_INVARIANT"
        return proceed()

    world.on("llm/stream", other)
    assert invariants.CHECKED
    agent = await world.agents.create("s1")
    agent.followup(u("Hi"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end completed"
    assert last_assembly(agent.session) is None
    assert last_assembly(agent.session, settled=True) is logged(agent.session)[-1]


async def test_a_log_that_holds_one_is_read_by_whoever_does_not_know_it() -> None:
    world = World(says("Hello."))
    listening(world, with_extra)
    await told(world, "Hi")
    after = await world.crash(says("Back."))
    agent = await after.agents.open("s1")
    agent.followup(u("You there?"))
    await agent.when_idle()
    assert after.adapter.requests == [
        ["system:You are Ada.", "user:Hi", "assistant:Hello.", "user:You there?"]
    ]


async def test_what_a_request_adds_presses_on_the_window_too() -> None:
    # given a history far below the window, and requests that add more than that
    answer = [chunk for chunk in says("Hello.") if chunk["type"] != "usage"]  # only estimates count here
    world = World(answer)
    world.adapter.window = 2_000
    source = {"kind": "dsh-prompt-assembler", "form": "projection"}
    lore = user_message("lore", "and so the river went on, and on. " * 150, source)

    async def with_lore(payload: RequestAssembly) -> Assembled:
        return Assembled((*payload.messages, lore), {})

    listening(world, with_lore)
    Compactor(world.services, world.owner)
    words = [f"{n} " + "I look around once more, slowly. " * 12 for n in range(6)]
    agent = await told(world, *words)
    # then a part of it is summed up, which a history of this length alone would not be
    assert any(event.type == "compaction/start" for event in agent.session.events())
    same = World(answer)
    same.adapter.window = 2_000
    Compactor(same.services, same.owner)
    other = await told(same, *words)
    assert not any(event.type == "compaction/start" for event in other.session.events())
