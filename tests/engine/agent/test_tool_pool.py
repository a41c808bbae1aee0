"""Random pools: whatever the calls are, how long they take, and when the stop comes (cases 54–56, 64, 90)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.agent.tools import Tool, ToolCall, ToolOutcome
from engine.errors import InputError
from tests.engine.agent.harness import Anything, World, order, says, u
from tests.engine.agent.toolbench import USER, answers, asks, logged


@dataclass(frozen=True)
class Planned:
    """One call: whether it may run beside others, how many turns of the loop it takes, whether it fails."""

    parallel: bool
    takes: int
    fails: bool


plans = st.lists(st.builds(Planned, st.booleans(), st.integers(0, 6), st.booleans()), min_size=1, max_size=9)


@settings(max_examples=60, deadline=None)
@given(plans=plans, limit=st.integers(1, 4), stop_at=st.none() | st.integers(0, 30))
def test_every_call_is_answered_once_in_order_and_nothing_overlaps_that_must_not(
    plans: list[Planned], limit: int, stop_at: int | None
) -> None:
    asyncio.run(_check(plans, limit, stop_at))


async def _check(plans: list[Planned], limit: int, stop_at: int | None) -> None:
    ids = [f"c{n}" for n in range(len(plans))]
    world = World(asks(*((call_id, f"t{n}") for n, call_id in enumerate(ids))), says("done"))
    world.services.parallel_calls = limit
    running: set[int] = set()
    seen: list[frozenset[int]] = []
    ran: list[int] = []
    begun = asyncio.Event()

    def tool(n: int, plan: Planned) -> Tool:
        async def body(arguments: Any, call: ToolCall) -> ToolOutcome:
            begun.set()
            ran.append(n)
            running.add(n)
            seen.append(frozenset(running))
            for _ in range(plan.takes):
                await asyncio.sleep(0)
            running.discard(n)
            if plan.fails:
                raise InputError(f"no {n}")
            return ToolOutcome(f"yes {n}")

        return Tool(f"t{n}", "", body, Anything, plan.parallel)

    for n, plan in enumerate(plans):
        world.add_tool(tool(n, plan))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await begun.wait()
    if stop_at is not None:
        for _ in range(stop_at):
            await asyncio.sleep(0)
        agent.cancel(USER)
    await agent.when_idle()
    # every call has one result, in the model's order, each behind its own call
    lines = logged(agent.session)
    assert [line for line in lines if line.startswith("call")] == [f"call {call_id}" for call_id in ids]
    assert [line for line in lines if line.startswith("result")] == [f"result {call_id}" for call_id in ids]
    assert all(lines.index(f"call {call_id}") < lines.index(f"result {call_id}") for call_id in ids)
    # bodies start in that order, never too many, an exclusive one always alone
    assert ran == sorted(ran)
    assert all(len(together) <= limit for together in seen)
    assert all(len(together) == 1 or all(plans[n].parallel for n in together) for together in seen)
    # what is said of a call is true
    told = answers(agent.session)
    for n, (call_id, plan) in enumerate(zip(ids, plans, strict=True)):
        if n not in ran:
            assert told[call_id] == "ABORTED_BEFORE_DISPATCH"
        elif plan.fails:
            assert told[call_id] in ("TOOL_FAILED", "ABORTED")
        else:
            assert told[call_id] in (None, "ABORTED")
        if stop_at is None:
            assert n in ran
            assert told[call_id] == ("TOOL_FAILED" if plan.fails else None)
    # and the story can go on
    agent.followup(u("next"))
    await agent.when_idle()
    assert order(agent.session)[-1] == "turn/end completed"
