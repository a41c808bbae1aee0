"""Whatever is done to agents, in whatever order, and whatever fails meanwhile, these hold (case 90):

- turns and steps are balanced and numbered, and every call is answered once, in the model's order;
- what a model is sent is what the log says, and nothing is said twice;
- the live state (queues, known ids, surface, history) is what a reading of the log from nothing gives;
- accepted words are never lost: they wait, were said, or somebody made them go;
- what was flushed is what the next process finds;
- a session can always go on: once all is well, what waits is answered, and new words too.

`stage` says how each is checked, `ledger` what a log may be.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.cancel import CancelCause
from engine.session import EventStore, MemoryEventStore
from engine.storage import EventTable, Store
from tests.engine.agent.clockwork import Clockwork
from tests.engine.agent.process import Answer
from tests.engine.agent.stage import Stage
from tests.engine.agent.troubles import answers, causes, deeds, moments, numbers, plans, queues

SESSIONS = 3


class Agents(RuleBasedStateMachine):
    """What is drawn never depends on where the agents are: over a disk that is not the same every time."""

    def __init__(self) -> None:
        super().__init__()
        self.born = 0
        self.stage = Stage(self.open_store)

    def open_store(self, loop: Clockwork) -> EventStore:
        return MemoryEventStore()

    def close_store(self) -> None:
        pass

    @initialize(temper=st.lists(answers, min_size=1, max_size=5), planned=st.lists(deeds, max_size=5))
    def begin(self, temper: list[Answer], planned: list[tuple[str, str]]) -> None:
        """How the model answers where nothing else is planned, and where the listeners first meddle."""
        self.stage.temper = self.stage.process.voice.temper = temper
        for deed in planned:
            self.stage.process.plan(*deed)
        self.new_session()
        self.stage.settle()

    # -- sessions ------------------------------------------------------------------------------------

    @precondition(lambda self: self.born < SESSIONS)
    @rule()
    def new_session(self) -> None:
        self.born += 1
        name, agents = self.stage.fresh("s"), self.stage.process.agents
        self.stage.enter(name, lambda: agents.create(name))

    @precondition(lambda self: self.born < SESSIONS)
    @rule(which=numbers, where=numbers)
    def fork(self, which: int, where: int) -> None:
        self.born += 1
        agent, agents = self.stage.agent(which), self.stage.process.agents
        if agent is not None and agent.session.seq:
            child, source = self.stage.fresh("f"), agent.id
            boundary = (where - 1) * agent.session.seq // 11 if where else None
            self.stage.enter(child, lambda: agents.fork(source, boundary, child))

    @rule(which=numbers, open_again=st.booleans())
    def close(self, which: int, open_again: bool) -> None:
        if not self.stage.names:
            return
        name, agents = self.stage.names[which % len(self.stage.names)], self.stage.process.agents
        if agents.get(name) is not None:
            self.stage.owed[name].clear()
            self.stage.begin(lambda: agents.close(name))
        if open_again or agents.get(name) is None:
            self.stage.enter(name, lambda: agents.open(name))

    # -- input ---------------------------------------------------------------------------------------

    @rule(which=numbers, count=st.integers(1, 3))
    def followups(self, which: int, count: int) -> None:
        agent = self.stage.agent(which)
        for _ in range(count if agent is not None else 0):
            assert agent is not None
            self.stage.say(agent, "next-turn", wake=True)

    @rule(which=numbers, queue=queues, wake=st.booleans(), quiet=st.booleans())
    def send(self, which: int, queue: Any, wake: bool, quiet: bool) -> None:
        agent = self.stage.agent(which)
        if agent is not None:
            self.stage.say(agent, queue, wake=wake, quiet=quiet and queue == "next-step" and not wake)

    @rule(
        which=numbers,
        place=numbers,
        how=st.sampled_from(["again", "edit", "rename", "remove", "move"]),
    )
    def change_what_waits(self, which: int, place: int, how: str) -> None:
        agent = self.stage.agent(which)
        if agent is not None:
            self.stage.change(agent, place, how)

    @rule(which=numbers, start=st.integers(-3, 5), removed=st.integers(-1, 3), count=st.integers(0, 2))
    def splice(self, which: int, start: int, removed: int, count: int) -> None:
        agent = self.stage.agent(which)
        if agent is not None:
            self.stage.splice(agent, start, removed, count)

    # -- stopping and waking -------------------------------------------------------------------------

    @rule(which=numbers, cause=causes, keep=st.booleans())
    def cancel(self, which: int, cause: CancelCause, keep: bool) -> None:
        agent = self.stage.agent(which)
        if agent is not None:
            self.stage.cancel(agent, cause, keep=keep)

    @rule(which=numbers, moment=moments, keep=st.booleans())
    def cancel_at(self, which: int, moment: str, keep: bool) -> None:
        agent = self.stage.agent(which)
        if agent is not None:
            self.stage.cancel_at(agent, moment, keep=keep)

    @rule(which=numbers, maintain=st.booleans())
    def wake(self, which: int, maintain: bool) -> None:
        agent, gates = self.stage.agent(which), self.stage.gates
        if agent is not None and maintain:
            self.stage.begin(lambda: agent.run_maintenance(lambda _: gates.wait()))
        elif agent is not None:
            self.stage.wake(agent)

    # -- the model, the listeners, the world ---------------------------------------------------------

    @rule(plan=plans)
    def plan_answers(self, plan: list[Answer]) -> None:
        self.stage.process.voice.plans.extend(plan)

    @rule(deed=deeds)
    def plan_deed(self, deed: tuple[str, str]) -> None:
        self.stage.process.plan(*deed)

    @rule(text=st.sampled_from(["", "You are Ada.", "You are Eve."]), facts=st.sampled_from(["", "rain"]))
    def change_prompt(self, text: str, facts: str) -> None:
        self.stage.process.prompt_text, self.stage.process.facts = text, facts

    @rule(
        code=st.sampled_from([None, None, "DISK_FULL", "READ_ONLY"]), slow=st.booleans(), gone=st.booleans()
    )
    def the_world_turns(self, code: str | None, slow: bool, gone: bool) -> None:
        """The disk fails, or is slow, or the provider is gone; or all is well."""
        self.stage.disk.trouble, self.stage.disk.slow, self.stage.process.voice.gone = code, slow, gone

    @rule(which=numbers)
    def flush(self, which: int) -> None:
        agent = self.stage.agent(which)
        if agent is not None:
            self.stage.flush(agent)

    # -- time ----------------------------------------------------------------------------------------

    @rule(rounds=st.integers(1, 15))
    def tick(self, rounds: int) -> None:
        self.stage.loop.tick(rounds)

    @rule(seconds=st.sampled_from([0.02, 1.0, 60.0, 4000.0]))
    def time_passes(self, seconds: float) -> None:
        self.stage.loop.settle(within=seconds)

    @rule(which=numbers, rounds=st.integers(0, 15))
    def open_gate(self, which: int, rounds: int) -> None:
        gates = self.stage.gates
        if gates.waiting:
            gates.open(which % len(gates.waiting))
        self.stage.loop.tick(rounds)

    @rule()
    def open_gates(self) -> None:
        """Everybody goes on, and waits at the next one."""
        for place in range(len(self.stage.gates.waiting)):
            self.stage.gates.open(place)
        self.stage.settle()

    @rule()
    def settle(self) -> None:
        self.stage.settle()

    @rule(orderly=st.booleans())
    def end_of_the_process(self, orderly: bool) -> None:
        self.stage.end_process(orderly=orderly)

    # -- what always holds ---------------------------------------------------------------------------

    @invariant()
    def all_is_as_the_log_says(self) -> None:
        self.stage.check()

    def teardown(self) -> None:
        try:
            self.stage.all_is_well_again()
        finally:
            self.stage.close()
            self.close_store()
            self.stage.loop.close()


class AgentsOnADisk(Agents):
    """The same over the real database, whose threads make the interleaving a little less than fixed."""

    def open_store(self, loop: Clockwork) -> EventStore:
        self.folder = Path(tempfile.mkdtemp())
        self.store = loop.run_until_complete(Store.open(self.folder / "story.db"))
        return EventTable(self.store)

    def close_store(self) -> None:
        self.stage.loop.run_until_complete(self.store.aclose())
        shutil.rmtree(self.folder)


PATIENT = [hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large]

TestAgents = Agents.TestCase
TestAgents.settings = hypothesis.settings(
    max_examples=250, stateful_step_count=50, deadline=None, suppress_health_check=PATIENT
)

TestAgentsOnADisk = AgentsOnADisk.TestCase
TestAgentsOnADisk.settings = hypothesis.settings(
    max_examples=20, stateful_step_count=40, deadline=None, suppress_health_check=PATIENT
)
