"""A process as a test sees it: agents on a journal, over a disk that outlives them, with a model and tools
that do what was planned.

Everything that can wait waits at a gate until the test opens it, and everything that can fail fails
when the test has planned that.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from engine.agent import (
    ASSEMBLY,
    Agents,
    AssembleContext,
    Assembled,
    Compactor,
    Context,
    Decision,
    PreStep,
    RequestAssembly,
    Section,
    Services,
    SystemPrompt,
    TurnResult,
)
from engine.agent.compaction import PURPOSE
from engine.agent.tools import Tool, ToolCall, ToolOutcome
from engine.cancel import CancelToken
from engine.errors import DISK_CODES, StorageError
from engine.hooks import Hooks, Next, Scope
from engine.llm import CallConfig, Chunk, Failure, Llm, LlmFailure, LlmRequest, ModelInfo, RetryPolicy
from engine.session import (
    EventStore,
    Journal,
    Session,
    Sessions,
    StoredEvent,
    StoredHead,
    StoredSession,
    StrictValidator,
    user_message,
)
from tests.engine.agent.harness import Anything
from tests.engine.agent.ledger import Ledger

__all__ = ["Answer", "Disk", "Gates", "Process", "Sabotage"]

# Nothing is written by the mere passing of time: what is on the disk was flushed, or the clock was moved.
DRAIN_AFTER_S = 3600.0


class Sabotage(Exception):
    """A listener, a tool or an adapter that fails because the test wants it to."""


class Gates:
    """Places where something waits, in the order in which it came there."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Event] = []
        self.free = False
        """Nobody waits any more."""

    async def wait(self) -> None:
        if self.free:
            return
        gate = asyncio.Event()
        self.waiting.append(gate)
        try:
            await gate.wait()
        finally:
            self.waiting.remove(gate)

    def open(self, which: int) -> None:
        self.waiting[which].set()

    def open_all(self) -> None:
        self.free = True
        for gate in self.waiting:
            gate.set()


@dataclass
class Disk:
    """What survives. `trouble` is the code that every write fails with; `slow` writes wait at a gate."""

    store: EventStore
    gates: Gates
    trouble: str | None = None
    slow: bool = False
    busy: int = 0
    """Operations that the store is at work on."""


@dataclass
class Line:
    """A process's way to the disk. Once it is cut nothing goes there and nothing comes back."""

    disk: Disk
    cut: bool = False
    stored: dict[str, int] = field(default_factory=dict)
    """How many events of each session this process knows to be on the disk."""
    failures: int = 0

    async def create(
        self,
        session_id: str,
        header: bytes,
        *,
        inherited: int,
        parent: tuple[str, int] | None,
        rows: Sequence[StoredEvent],
    ) -> int:
        store = self.disk.store
        made = partial(store.create, session_id, header, inherited=inherited, parent=parent, rows=rows)
        epoch = int(await self._write(made))
        self.stored[session_id] = inherited + len(rows) if parent is not None else len(rows)
        return epoch

    async def take(self, session_id: str) -> int:
        return int(await self._write(lambda: self.disk.store.take(session_id)))

    async def append(self, session_id: str, epoch: int, rows: Sequence[StoredEvent]) -> None:
        await self._write(lambda: self.disk.store.append(session_id, epoch, rows))
        self.stored[session_id] = rows[-1].seq + 1

    async def supersede(
        self, session_id: str, epoch: int, header: bytes, *, inherited: int, rows: Sequence[StoredEvent]
    ) -> int:
        raise AssertionError("no log here is of an older format")

    async def read(self, session_id: str, start: int = 0, stop: int | None = None) -> StoredSession:
        found: StoredSession = await self._work(lambda: self.disk.store.read(session_id, start, stop))
        if stop is None:
            self.stored[session_id] = start + len(found.rows)
        return found

    async def head(self, session_id: str) -> int:
        return int(await self._work(lambda: self.disk.store.head(session_id)))

    async def list(self, *, before: str | None = None, limit: int | None = None) -> Sequence[StoredHead]:
        raise AssertionError("nobody asks for a list")

    async def _write(self, work: Callable[[], Any]) -> Any:
        if self.disk.slow:
            await self.disk.gates.wait()
        if self.disk.trouble is not None:
            self.failures += 1
            raise StorageError("the test says so", code=self.disk.trouble)
        return await self._work(work)

    async def _work(self, work: Callable[[], Any]) -> Any:
        await self._only_alive()
        self.disk.busy += 1
        try:
            return await work()
        finally:
            self.disk.busy -= 1
            await self._only_alive()

    async def _only_alive(self) -> None:
        if self.cut:
            await asyncio.Event().wait()


GOOD = frozenset({"stop", "max-tokens", "tool-calls"})


@dataclass(frozen=True)
class Answer:
    """What the model does with one request. `parts` are (kind, text) with kind `text`, `reasoning`, `call`
    (a tool's name; the text is its arguments) or `wait`; `half` leaves the blocks of a failure open."""

    parts: tuple[tuple[str, ...], ...] = (("text", "well"),)
    ending: str = "stop"
    half: bool = False


# Tokens: a story of a dozen lines has to be summed up.
WINDOW = 300
NOTES = Answer((("text", "They looked around."), ("wait",)))


@dataclass
class Voice:
    """The model server of a process. Without a plan it answers as its temper is, one after the other."""

    gates: Gates
    plans: deque[Answer] = field(default_factory=deque)
    temper: Sequence[Answer] = ()
    asked: int = 0
    gone: bool = False
    provider: str = "scripted"
    calls: int = 0

    def model_info(self, model: str) -> ModelInfo:
        return ModelInfo("scripted", model, context_window=WINDOW)

    def heal(self) -> None:
        """From now on every request is answered, and well."""
        self.plans.clear()
        self.temper, self.gone = (), False

    async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncIterator[Chunk]:
        self.asked += 1
        plan = NOTES if request.purpose == PURPOSE else Answer()
        if self.plans:
            plan = self.plans.popleft()
        elif self.temper and request.purpose != PURPOSE:
            plan = self.temper[self.asked % len(self.temper)]
        if self.gone:
            plan = Answer((), "TRANSPORT")
        for index, part in enumerate(plan.parts):
            if part[0] == "wait":
                await token.race(self.gates.wait())
                continue
            async for chunk in self._block(index, part, token):
                cut = plan.half and plan.ending not in GOOD
                if not (cut and chunk["type"] == "block-end"):
                    yield chunk
        yield {"type": "usage", "usage": {"inputTokens": 7, "outputTokens": 2}}
        match plan.ending:
            case "raise":
                raise Sabotage("an adapter that fails")
            case "truncate":
                return
            case good if good in GOOD:
                yield {"type": "finish", "reason": {"kind": good}}
            case code:
                raise LlmFailure(Failure(code.lower(), code))

    async def _block(self, index: int, part: tuple[str, ...], token: CancelToken) -> AsyncIterator[Chunk]:
        kind, text = part[0], part[1]
        if kind == "call":
            self.calls += 1
            call_id = f"c{self.calls}"
            delta = {"type": "tool-call-delta", "index": index, "id": call_id}
            yield {"type": "block-start", "index": index, "blockType": "tool-call"}
            yield {**delta, "name": text, "argumentsDelta": part[2]}
            block = {"type": "tool-call", "id": call_id, "name": text, "arguments": part[2]}
        else:
            yield {"type": "block-start", "index": index, "blockType": kind}
            yield {"type": f"{kind}-delta", "index": index, "text": text[:2]}
            if len(text) > 2:
                await asyncio.sleep(0)
                yield {"type": f"{kind}-delta", "index": index, "text": text[2:]}
            block = {"type": kind, "text": text}
        yield {"type": "block-end", "index": index, "block": block}

    async def aclose(self) -> None:
        pass


_WATERFALLS = (
    "system-prompt/assemble",
    "agent/pre-step",
    "agent/request",
    "agent/request-error",
    "agent/assemble-request",
    "tools/pre-execute",
    "tools/post-execute",
)

Deed: TypeAlias = str
"""`raise`, `wait`, `reject`: what a listener does the next time that it is asked."""


class Process:
    """All that one process holds in memory."""

    def __init__(self, disk: Disk, clock: Callable[[], int]) -> None:
        self.line = Line(disk)
        self.gates = disk.gates
        self.voice = Voice(disk.gates)
        self.hooks = Hooks()
        self.owner = Scope("test")
        self.prompt_text = "You are Ada."
        self.facts = ""
        self.deeds: dict[str, deque[Deed]] = {}
        self.requests = 0
        self.faults: list[str] = []
        """What was seen from inside and must not be."""
        self.attempts: dict[str, str] = {}
        """The attempt whose frames are coming, by session."""
        self._failures_before: dict[str, int] = {}
        llm = Llm()
        llm.register(self.voice, retry_policy=RetryPolicy(base_ms=10, cap_ms=50))
        prompt = SystemPrompt(self.hooks)
        prompt.section(Section("persona", 0, lambda _: self.prompt_text), owner=self.owner)
        prompt.context(Context("facts", 0, self._facts), owner=self.owner)
        sessions = Sessions(validators=[StrictValidator], clock=clock)
        self.services = Services(
            hooks=self.hooks,
            journal=Journal(sessions, self.line, clock=clock, drain_after_s=DRAIN_AFTER_S),
            llm=llm,
            prompt=prompt,
            defaults=CallConfig("scripted", "m1"),
            clock=clock,
            rng=random.Random(0),
        )
        self.agents = Agents(self.services)
        self._register_tools()
        for hook in _WATERFALLS:
            self._on(hook, self._waterfall(hook))
        self._on("agent/turn-stopping", self._stopping)
        self._on("agent/created", self._created)
        self._on("llm/stream", self._stream)
        self._on("agent/assistant-stream", self._frame)
        self._on("agent/turn-started", self._turn_started)
        self._on("agent/turn-ended", self._turn_ended)
        Compactor(self.services, self.owner)

    def plan(self, hook: str, deed: Deed) -> None:
        """What the next dispatch of the hook meets."""
        self.deeds.setdefault(hook, deque()).append(deed)

    def _on(self, hook: str, listener: Callable[..., Any]) -> None:
        self.hooks.on(hook, listener, owner=self.owner)

    def _facts(self, _: AssembleContext) -> str:
        return self.facts

    async def _act(self, hook: str) -> Deed:
        planned = self.deeds.get(hook)
        deed = planned.popleft() if planned else ""
        if deed == "raise":
            raise Sabotage(f"a listener of {hook}")
        if deed == "wait":
            await self.gates.wait()
        return deed

    def _waterfall(self, hook: str) -> Callable[[Any, Next], Any]:
        async def listen(payload: Any, proceed: Next) -> Any:
            deed = await self._act(hook)
            if deed == "reject" and isinstance(payload, PreStep):
                return Decision("reject")
            outcome = await proceed()
            if deed == "series" and isinstance(outcome, Decision):
                return replace(outcome, starts_series=True)
            if deed == "assemble" and isinstance(payload, RequestAssembly):
                return Assembled((*payload.messages, user_message("aside", "It is late.")), {"n": 1})
            return outcome

        return listen

    async def _stopping(self, session: Session, turn: int, token: CancelToken) -> None:
        await self._act("agent/turn-stopping")

    async def _created(self, agent: Any, source: str, token: CancelToken) -> None:
        await self._act("agent/created")

    def _stream(self, request: LlmRequest, proceed: Callable[[], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        planned = self.deeds.get("llm/stream")
        deed = planned.popleft() if planned else ""
        if deed == "raise":
            raise Sabotage("a listener of llm/stream")
        self.requests += 1
        session = self.services.journal.sessions.get(request.session_id or "")
        if session is None:
            self.faults.append(f"a request of {request.session_id}, which is not live")
        elif list(request.messages) != _logged(session):
            self.faults.append(f"the request at {session.seq} is not what the log says")
        elif _newest(session) >= self.line.stored.get(session.id, 0):
            self.faults.append(f"the request at {session.seq} holds what a crash would make us forget")
        return _breaking(proceed()) if deed == "break" else proceed()

    def _frame(self, session_id: str, frame: Any) -> None:
        """Every attempt that began is settled, once, and before the next."""
        attempt, open_attempt = frame["attemptId"], self.attempts.get(session_id)
        if frame["kind"] == "start":
            expected, self.attempts[session_id] = None, attempt
        else:
            expected = attempt
        if open_attempt != expected:
            self.faults.append(f"{frame['kind']} of {attempt}, while {open_attempt} was open")
        if frame["kind"] == "end":
            self.attempts.pop(session_id, None)
            session, outcome = self.services.journal.sessions.get(session_id), frame["outcome"]
            if session is None or outcome.get("eventType") != session.event(outcome["seq"]).type:
                self.faults.append(f"{attempt} was not settled: {outcome}")

    async def _turn_started(self, session_id: str, turn: int, batch: Sequence[Any]) -> None:
        self._failures_before[session_id] = self.line.failures

    async def _turn_ended(self, session_id: str, result: TurnResult) -> None:
        error = result.reason.get("error", {"code": ""})
        no_failure = self.line.failures == self._failures_before[session_id]
        if error["code"] in DISK_CODES and no_failure:
            self.faults.append(f"turn {result.turn} of {session_id} failed on a disk that was well")
        if session_id in self.attempts:
            self.faults.append(f"turn {result.turn} of {session_id} ended with an attempt unsettled")

    def _register_tools(self) -> None:
        async def look(arguments: Any, call: ToolCall) -> ToolOutcome:
            await asyncio.sleep(0)
            return ToolOutcome("a door", contexts=("it is dark",) if len(call.raw) % 2 else ())

        async def dig(arguments: Any, call: ToolCall) -> ToolOutcome:
            await self.gates.wait()
            return ToolOutcome("a hole")

        async def fall(arguments: Any, call: ToolCall) -> ToolOutcome:
            raise Sabotage("a tool that fails")

        async def leave(arguments: Any, call: ToolCall) -> ToolOutcome:
            return ToolOutcome("a way", concludes_turn=True)

        for body, parallel in ((look, True), (dig, _digs_beside_others), (fall, False), (leave, True)):
            tool = Tool(body.__name__, "A tool.", body, Anything, parallel=parallel)
            self.services.tools.register(tool, owner=self.owner)
        self._on("tools/available", self._all_tools)

    async def _all_tools(self, session: Session, proceed: Next) -> set[str]:
        return {*await proceed(), "look", "dig", "fall", "leave"}


def _digs_beside_others(arguments: Any) -> bool:
    return bool(arguments.model_extra)


def _logged(session: Session) -> list[Any]:
    """What the log says of the request that is about to be sent: the history, or what was put together since
    the last attempt ended."""
    for event in reversed(session.events()):
        if event.type == ASSEMBLY:
            return list(event.data["messages"])
        if event.type in ("assistant/message", "assistant/attempt", "step/start"):
            break
    return list(Ledger.of(session).history(session.events()))


def _newest(session: Session) -> int:
    """The seq of the newest event that a request is made of."""
    return max(e.seq for e in session.events() if e.seq in session.surface.nodes or e.type == ASSEMBLY)


async def _breaking(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """A listener that fails in the middle of the answer that it passes on."""
    async for chunk in stream:
        yield chunk
        raise Sabotage("a listener in mid-stream")
