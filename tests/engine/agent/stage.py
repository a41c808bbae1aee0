"""Where a random run of agents plays: processes that follow each other over one disk, what was promised
to whom, and what must hold at every moment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from structlog.testing import capture_logs

from engine.agent import Agent
from engine.agent.standing import Standing, standing
from engine.cancel import CancelCause
from engine.errors import AgentError, AppendRefused, EngineError
from engine.session import Event, EventStore, Message, closers, user_message
from tests.engine.agent.clockwork import Clockwork
from tests.engine.agent.ledger import ENDED, Ledger
from tests.engine.agent.process import Answer, Disk, Gates, Process, Sabotage

__all__ = ["Stage"]

# What a deed may be refused for: a disk in trouble, and moments at which it makes no sense.
_REFUSALS = {
    *("DISK_FULL", "READ_ONLY", "SESSION_ALREADY_EXISTS", "NOT_FOUND", "HANDLE_CLOSED"),
    *("AGENT_RUNNING", "AGENT_DISPOSED", "AGENTS_CLOSED"),
}
# What a turn may end for; UNKNOWN only with the words of a planned failure.
_ERRORS = {
    *("DISK_FULL", "READ_ONLY", "MAX_STEPS", "AUTH", "CONTEXT_WINDOW_EXCEEDED"),
    *("SERVER", "RATE_LIMIT", "TIMEOUT", "TRANSPORT", "EMPTY_RESPONSE"),
}
_PLANNED = ("a listener", "Sabotage", "GrammarError")
# Failures that the engine contains and logs: none of them is planned here.
_CONTAINED = {"hook.listener_failed", "session.observer_failed", "turn.listener_failed"}

_TALK = "and I look around once more, slowly. " * 2

# What only a turn that goes on may write.
_ENTERS = {"user/message", "system/message", "request/header", "llm/retry-started"}

PATIENCE_S = 60.0
"""More than all retries of a step take together."""


class Stage:
    """`disk` survives every process. Between two deeds the loop stands still."""

    def __init__(self, open_store: Callable[[Clockwork], EventStore]) -> None:
        self._logging = capture_logs()
        self.logs = self._logging.__enter__()
        self.loop = Clockwork(lambda: self.disk.busy > 0)
        self.gates = Gates()
        self.disk = Disk(open_store(self.loop), self.gates)
        self.temper: Sequence[Answer] = ()
        self.names: list[str] = []
        """The sessions that have come up at least once."""
        self.ledgers: dict[str, Ledger] = {}
        self.accepted: dict[str, set[str]] = {}
        """The ids that a flush has promised to keep, by session."""
        self.durable: dict[str, list[Event]] = {}
        """The events that were flushed."""
        self.owed: dict[str, set[str]] = {}
        """The ids that were sent to be answered, and that nothing has kept from it so far."""
        self.jobs: set[asyncio.Task[Any]] = set()
        self.made = 0
        self._stopped: dict[tuple[str, int], int] = {}
        """Where the log stood when somebody stopped a turn, by session and turn."""
        self._parked: dict[str, int] = {}
        """Where the log stood when an activity was stopped that nobody has woken since."""
        self._watchers: list[Callable[[], None]] = []
        self.process = self._start()

    def _start(self) -> Process:
        process = self.loop.do(lambda: Process(self.disk, lambda: int(self.loop.now * 1000)))
        process.voice.temper = self.temper
        process.hooks.on("agent/paused", self._paused, owner=process.owner)
        process.hooks.on("agent/dead-letter", self._dead, owner=process.owner)
        return process

    def _paused(self, session_id: str, waiting: int) -> None:
        self.owed[session_id].clear()

    def _dead(self, session_id: str, messages: Sequence[Message]) -> None:
        self.owed[session_id] -= {message["id"] for message in messages}

    def fresh(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def agent(self, which: int) -> Agent | None:
        """One of the live agents."""
        live = [agent for name in self.names if (agent := self.process.agents.get(name)) is not None]
        return live[which % len(live)] if live else None

    def waiting(self, agent: Agent) -> list[Message]:
        return [*agent.inbox.next_step, *agent.inbox.next_turn]

    # -- deeds ---------------------------------------------------------------------------------------

    def begin(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Start something that takes its time. It may fail for what is planned, and for nothing else."""

        async def job() -> None:
            try:
                await work()
            except EngineError as error:
                if error.error_code not in _REFUSALS:
                    raise
            except Sabotage:
                pass

        task = self.loop.create_task(job())
        self.jobs.add(task)
        task.add_done_callback(self.jobs.discard)

    def enter(self, name: str, opening: Callable[[], Coroutine[Any, Any, Agent]]) -> None:
        """Bring a session up; it is there for the other deeds once it is."""

        async def coming() -> None:
            agent = await opening()
            if name not in self.names:
                self.names.append(name)
                self.ledgers[name] = Ledger(agent.session.inherited_event_count)
                self.accepted[name], self.durable[name], self.owed[name] = set(), [], set()

        self.begin(coming)

    def say(self, agent: Agent, queue: Any, *, wake: bool, quiet: bool = False) -> None:
        word = self.fresh("w")
        source = {"kind": "user"} | ({"quiet": True} if quiet else {})
        message = user_message(word, f"{word}, {_TALK}", source)
        if wake:  # noted before, because whoever watches may stop it at once
            self.owed[agent.id].add(word)
            self._parked.pop(agent.id, None)
        try:
            self.loop.do(lambda: agent.send(message, queue, wake=wake))
        except AgentError as error:
            assert error.error_code == "AGENT_DISPOSED"
            self.owed[agent.id].discard(word)

    def wake(self, agent: Agent) -> None:
        self._parked.pop(agent.id, None)
        self.loop.do(agent.wake)

    def change(self, agent: Agent, place: int, how: str) -> None:
        """Do something to a message that waits."""
        self.loop.do(partial(self._change, agent, place, how))

    def _change(self, agent: Agent, place: int, how: str) -> None:
        waiting = self.waiting(agent)
        if not waiting:
            return
        message = waiting[place % len(waiting)]
        old = message["id"]
        if how == "again":
            try:
                agent.send(message, "next-turn", wake=True)
            except AgentError as error:
                assert error.error_code in ("INBOX_DUPLICATE", "AGENT_DISPOSED")
                return
            raise AssertionError("a message that waits was taken a second time")
        self.owed[agent.id].discard(old)
        if how in ("edit", "rename"):
            new = self.fresh("w") if how == "rename" else old
            assert agent.inbox.replace(old, user_message(new, f"{new}, changed"))
        else:
            assert agent.inbox.remove(old)
            if how == "move":
                agent.inbox.insert(message, "next-step")

    def splice(self, agent: Agent, start: int, removed: int, count: int) -> None:
        fresh = [user_message(word, word) for word in (self.fresh("w") for _ in range(count))]
        gone = self.loop.do(lambda: agent.inbox.splice("next-turn", start, removed, fresh))
        self.owed[agent.id] -= {message["id"] for message in gone}

    def cancel(self, agent: Agent, cause: CancelCause, *, keep: bool) -> None:
        self.owed[agent.id].clear()

        def stop() -> int:
            seq = agent.session.seq
            if _in_turn(agent) and agent.open_turn is not None:
                self._stopped.setdefault((agent.id, agent.open_turn), seq)
            if agent.status == "running" and not agent.is_stopping:
                self._parked[agent.id] = seq
            return agent.cancel(cause, keep_inbox=keep)

        waiting = self.loop.do(stop)
        assert keep or waiting == 0

    def cancel_at(self, agent: Agent, moment: str, *, keep: bool) -> None:
        """Somebody who watches the log stops the turn as soon as he sees something."""

        def stop(event: Event) -> None:
            if event.type != moment:
                return
            dispose()
            self.owed[agent.id].clear()
            try:
                agent.cancel(CancelCause("user"), keep_inbox=keep)
            except AppendRefused as error:  # who watches can stop, but not write
                assert error.data["category"] == "reentrant"

        dispose = agent.session.observe(stop)
        self._watchers.append(dispose)

    def flush(self, agent: Agent) -> None:
        """When it succeeds, what is there now must be found by every later process."""
        session, name = agent.session, agent.id

        async def promise() -> None:
            ids, events = set(Ledger.of(session).fates), list(session.events())
            await self.process.services.journal.flush(name)
            self.accepted[name] |= ids
            if len(events) > len(self.durable[name]):
                self.durable[name] = events

        self.begin(promise)

    # -- time and ends -------------------------------------------------------------------------------

    def settle(self) -> None:
        """With no gate in the way everything comes to rest, and what was to be answered was taken up."""
        self.loop.settle(within=PATIENCE_S)
        if self.gates.waiting:
            return
        assert not self.jobs
        for agent in self._live():
            assert agent.status == "idle"
            waiting = {message["id"] for message in self.waiting(agent)}
            assert not waiting & self.owed[agent.id], "it was sent to be answered, and nobody has stopped it"

    def end_process(self, *, orderly: bool) -> None:
        """A crash, or an orderly end, which asks the disk to keep all that there is."""
        if orderly:
            self.disk.trouble, self.disk.slow = None, False
            self.gates.open_all()
            # An agent that was closing while the disk was in trouble says so; its words are the journal's.
            with contextlib.suppress(ExceptionGroup):
                self.loop.finish(self.process.agents.aclose())
            self.loop.finish(self.process.services.journal.aclose())
            self.gates.free = False
        self.process.line.cut = True
        self.loop.kill()
        self._next_process()

    def _next_process(self) -> None:
        """It finds what was promised, and closes what was cut off."""
        self.process = self._start()
        self._forget_stops()  # what had not been written is forgotten, and turns are numbered anew
        self.disk.slow, trouble = False, self.disk.trouble
        self.disk.trouble = None
        for name in self.names:
            self.owed[name].clear()
            agent = self.loop.finish(self.process.agents.open(name))
            events, kept = agent.session.events(), self.durable[name]
            assert list(events[: len(kept)]) == kept, "what was flushed is what is found"
            assert closers(events) == []
            ledger = self.ledgers[name] = Ledger.of(agent.session)
            assert self.accepted[name] <= set(ledger.fates), "accepted words are lost"
            assert "cut off" not in ledger.states().values(), ledger.states()
        self.disk.trouble = trouble

    def all_is_well_again(self) -> None:
        """Whatever has happened: with a model and a disk that work, every session answers."""
        self.disk.trouble, self.disk.slow = None, False
        self.process.voice.heal()
        self.process.deeds.clear()
        for dispose in self._watchers:
            dispose()
        self.gates.open_all()
        self.loop.settle(within=PATIENCE_S)
        for name in self.names:
            agent = self.loop.finish(self.process.agents.open(name))
            last = user_message(f"last-{name}", "and now?")
            self._forget_stops()
            self.loop.do(partial(agent.followup, last))
            self.loop.settle(within=PATIENCE_S)
            self.check()
            ledger = self.ledgers[name]
            assert not agent.inbox.has_pending, "something waits for ever"
            assert ledger.last_said == last["id"]
            assert ledger.reasons[-1] == {"kind": "completed"}
            assert agent.session.derive()[-1]["role"] == "assistant"
            assert set(ledger.states().values()) <= ENDED, ledger.states()
            self.loop.finish(self.process.services.journal.flush(name))
            stored = self.loop.finish(self.process.services.journal.read(name))
            assert list(stored.events) == list(agent.session.events())

    def close(self) -> None:
        """Leave nothing behind in this process; the store is the caller's to close before the loop."""
        self.process.line.cut = True
        self.loop.kill()
        self._logging.__exit__(None, None, None)

    # -- what always holds ---------------------------------------------------------------------------

    def check(self) -> None:
        assert not self.loop.troubles, self.loop.troubles
        assert not self.process.faults, self.process.faults
        contained = [entry for entry in self.logs if entry["event"] in _CONTAINED]
        assert not contained, contained
        for agent in self._live():
            self._check_live(agent)

    def _live(self) -> list[Agent]:
        agents = map(self.process.agents.get, self.names)
        return [agent for agent in agents if agent is not None]

    def _check_live(self, agent: Agent) -> None:
        """The live state is what the log says, and the log is one that can be."""
        session, ledger = agent.session, self.ledgers[agent.id]
        if session.seq < ledger.read:  # closed and opened again, and not all of it had been written
            ledger = self.ledgers[agent.id] = Ledger(session.inherited_event_count)
            self._forget_stops()
        events = session.events()
        ledger.follow(events)
        assert list(session.surface.nodes) == ledger.nodes
        assert list(session.derive()) == ledger.history(events)
        found, afresh = standing(session), Standing(session)
        assert (found.system, found.snapshot) == (afresh.system, afresh.snapshot)
        assert [m["id"] for m in agent.inbox.next_turn] == ledger.queues["next-turn"]
        assert [m["id"] for m in agent.inbox.next_step] == ledger.queues["next-step"]
        assert all(map(agent.inbox.knows, ledger.known))
        assert agent.status == "running" or not ledger.in_turn
        assert self.accepted[agent.id] <= set(ledger.fates), "accepted words are lost"
        assert "dropped" not in ledger.states().values()
        self._check_stopped(agent)
        for reason in ledger.reasons:
            if reason["kind"] == "error":
                code, text = reason["error"]["code"], reason["error"]["message"]
                planned = code == "UNKNOWN" and any(words in text for words in _PLANNED)
                assert code in _ERRORS or planned, reason

    def _forget_stops(self) -> None:
        self._stopped.clear()
        self._parked.clear()

    def _check_stopped(self, agent: Agent) -> None:
        """After a stop nothing more enters the history of that turn but the end of what was begun, and no
        other turn begins until somebody wakes the agent.
        """
        if agent.id in self._parked:
            later = agent.session.events(self._parked[agent.id])
            assert all(event.type != "turn/start" for event in later), "a turn begins after a stop"
        for (name, turn), seq in list(self._stopped.items()):
            if name != agent.id:
                continue
            for event in agent.session.events(seq):
                assert event.type not in _ENTERS, f"{event.type} after the stop of turn {turn}"
                if event.type == "turn/end":
                    del self._stopped[name, turn]
                    break


def _in_turn(agent: Agent) -> bool:
    boundaries = (event.type for event in reversed(agent.session.events()))
    return next((kind for kind in boundaries if kind in ("turn/start", "turn/end")), "") == "turn/start"
