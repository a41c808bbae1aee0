"""One agent: a session, its inbox, and the single driver that answers what comes in.

A wake is synchronous up to the claim: when `send` returns on an idle agent the turn is
open and its batch taken (spec agent-loop 1.4, decision 3). There is one driver, ever; a
wake while it runs needs no latch because the driver reads the queue again before it
stops, with no await in between.

An agent that was delegated to lies in the scope of the one that delegates: what is registered
there holds for both, a stop reaches it, and it ends with it (spec agent-loop 2.4).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

import structlog

from engine.agent.attempt import FrameCounter
from engine.agent.inbox import Inbox, Target
from engine.agent.recovery import take_up_again
from engine.agent.services import Services
from engine.agent.step import StepRunner
from engine.agent.turn import TurnResult, run_turn
from engine.cancel import CancelCause, CancelToken
from engine.errors import AgentError, StorageError
from engine.hooks import Scope
from engine.session import Message, Session

__all__ = ["Agent", "Detach"]

log = structlog.get_logger(__name__)
T = TypeVar("T")

# Three turns in a row that failed mean that the provider is down, not that a message is
# bad; going on would only burn the rest of the queue (decision 5).
_FAILURES_BEFORE_PAUSE = 3

Detach: TypeAlias = "Callable[[Agent], Awaitable[None]]"
"""Takes this agent, and no later one of its id, out of the registry, and lets its session go."""


class Agent:
    """Drives one session. Made by `Agents`, which also puts it into the registry.

    `scope` ends with the agent: what is registered in it, or owned by it, holds for this agent and for
    those that it delegates to.
    """

    def __init__(
        self, services: Services, session: Session, detach: Detach, parent: Agent | None = None
    ) -> None:
        self.session = session
        self.parent = parent
        self.scope: Scope = Scope(f"agent {session.id}", parent.scope if parent is not None else None)
        self.coming = CancelToken()
        """Cancelled when the agent is to end before it has come up."""
        self.paused = False
        self.children: dict[str, Agent] = {}
        """The live agents that this one delegates to."""
        self._services = services
        self._detach = detach
        self.inbox = Inbox(session, self._inbox_changed)
        self._steps = StepRunner(services, session, self.inbox, FrameCounter(session.id), self.scope)
        self._turn = last_turn(session)
        self._token: CancelToken | None = None
        self._driver: asyncio.Task[None] | None = None
        self._maintenance: asyncio.Future[None] | None = None
        self._held = True  # until creation is complete, input is taken but not answered
        self._came_up = asyncio.Event()
        self._wake_latched = False
        self._ending: asyncio.Task[None] | None = None
        self._failures = 0
        self.idle_since = services.clock()
        """When its last turn ended, or it came up: epoch ms."""

    # -- state -----------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def status(self) -> str:
        """`running` from the waking call until the driver converged, else `idle`, in maintenance too."""
        return "running" if self._driver is not None else "idle"

    @property
    def is_resting(self) -> bool:
        """Whether nothing goes on that would be cut off by an end: no turn, no maintenance, no child."""
        return self._driver is None and not self._held and not self.children

    @property
    def is_ending(self) -> bool:
        return self._ending is not None

    @property
    def is_stopping(self) -> bool:
        """Whether its activity was told to stop and unwinds."""
        return self._token is not None and self._token.cancelled

    @property
    def is_delegated(self) -> bool:
        """Whether its session was made for another agent, which is lineage: it stays so after a restart."""
        return self.session.header.origin == "subagent"

    @property
    def open_turn(self) -> int | None:
        """The number of the turn that is being answered."""
        return self._turn if self._driver is not None else None

    async def when_idle(self) -> None:
        """Wait until neither a turn nor maintenance goes on, including one that was started while waiting.

        Whatever runs inside of either must not wait for it.
        """
        while (activity := self._driver or self._maintenance) is not None:
            await asyncio.wait({activity})

    # -- input -----------------------------------------------------------------------------

    def followup(self, message: Message) -> None:
        """An ordinary prompt: a turn of its own, after those that wait."""
        self.send(message, "next-turn", wake=True)

    def steer(self, message: Message) -> None:
        """Into the next step of the running turn; idle, it opens a turn."""
        self.send(message, "next-step", wake=True)

    def inject(self, message: Message) -> None:
        """Context for whenever the next step comes; wakes nobody."""
        self.send(message, "next-step", wake=False)

    def send(self, message: Message, target: Target, *, wake: bool) -> None:
        """Queue, and wake if asked. In memory only: `Journal.flush` makes it durable.

        Raises AgentError INBOX_DUPLICATE for an id that is pending, AGENT_DISPOSED after the end.
        """
        if self.is_ending:
            raise AgentError("This session is being closed.", code="AGENT_DISPOSED")
        if wake and self.is_stopping:
            target = "next-turn"
        self.inbox.insert(message, target)
        if wake:
            self.wake()

    def wake(self) -> None:
        """Answer what is pending. Ends a pause. An idle agent opens a turn at once."""
        self.paused = False
        self._failures = 0
        if self.is_ending:
            return
        if self._held or self.is_stopping:
            self._wake_latched = True
        elif self._driver is None:
            self._start_driver()

    # -- stopping ----------------------------------------------------------------------------

    def cancel(self, cause: CancelCause, *, keep_inbox: bool = False) -> int:
        """Stop the activity, and those of the agents it delegates to, with cause `parent`.

        The first cause wins. Returns how many messages still wait. Without `keep_inbox` the queue is
        cancelled too. Idle with an empty queue it does nothing.
        """
        # First the signal: an observer of the log may stop the turn, though it cannot clear the queue.
        if self._token is not None:
            self._token.cancel(cause)
        for child in tuple(self.children.values()):
            child.cancel(CancelCause("parent"), keep_inbox=keep_inbox)
        if not keep_inbox:
            self._wake_latched = False
            self.inbox.clear()
        return len(self.inbox.next_turn)

    async def run_maintenance(self, work: Callable[[CancelToken], Awaitable[T]]) -> T:
        """Run `work` while no turn can start; wakes are kept for afterwards. A stop cancels its token.

        Raises AgentError AGENT_RUNNING unless the agent is truly idle, AGENT_DISPOSED after the end.
        """
        if self.is_ending:
            raise AgentError("This session is being closed.", code="AGENT_DISPOSED")
        if self._driver is not None or self._held:
            raise AgentError("The session is busy.", code="AGENT_RUNNING")
        self._held = True
        self._token = CancelToken()
        over = self._maintenance = asyncio.get_running_loop().create_future()
        try:
            return await work(self._token)
        finally:
            self._token = self._maintenance = None
            over.set_result(None)
            self.release()

    def release(self) -> None:
        """End the hold of creation or maintenance, and answer what came in meanwhile."""
        self._held = False
        self._replay_latch()

    # -- the end -----------------------------------------------------------------------------

    def came_up(self) -> None:
        """Its creation is settled, one way or the other: from now on its end waits for nothing but itself."""
        self._came_up.set()

    async def dispose(self) -> None:
        """Stop, wait for quiescence, end what it owns, and let the session go.

        Concurrent calls await the same end and get the same error. What waits in the queue stays there.
        While the agent comes up its end waits until the listeners of that are done, so none of them may
        wait for it.
        """
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end())
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        disposed = CancelCause("disposed")
        self.coming.cancel(disposed)
        self.cancel(disposed, keep_inbox=True)
        await self._came_up.wait()
        await self.when_idle()
        children = [child.dispose() for child in self.children.values()]
        endings = await asyncio.gather(*children, return_exceptions=True)
        failures = [error for error in endings if isinstance(error, Exception)]
        try:
            await self.scope.aclose()
        except Exception as error:
            failures.append(error)
        for failure in failures:
            # Nobody can do anything about them now, and the session must not stay because of them.
            log.error("agent.end_failed", session=self.id, exc_info=failure)
        await self._detach(self)

    # -- the driver ------------------------------------------------------------------------------

    def _start_driver(self) -> None:
        batch = self._open_turn()
        self._driver = asyncio.ensure_future(self._drive(batch))
        self._emit("agent/status", "running")

    def _open_turn(self) -> Sequence[Message]:
        """The synchronous prefix: a new token, `turn/start`, the claim."""
        before, self._token = self._token, CancelToken()  # first: an observer of the append may stop it
        try:
            take_up_again(self.session, self.inbox, self._services.hooks)
            self.session.append("turn/start", {"turn": self._turn + 1})
        except BaseException:
            self._token = before
            raise
        self._turn += 1
        self._wake_latched = False
        return self.inbox.claim(first=True)

    async def _drive(self, batch: Sequence[Message]) -> None:
        try:
            while True:
                assert self._token is not None  # set by _open_turn
                await self._tell("agent/turn-started", self._turn, batch)
                result = await run_turn(
                    self._services, self.session, self.inbox, self._steps, self._turn, batch, self._token
                )
                await self._turn_ended(result)
                if not self._goes_on(result):
                    break
                batch = self._open_turn()
        finally:
            self._driver = None
            self._token = None
            self.idle_since = self._services.clock()
            self._emit("agent/status", "idle")
            self._replay_latch()

    async def _turn_ended(self, result: TurnResult) -> None:
        try:
            await self._services.journal.secure(self.id)
        except StorageError as error:
            # The turn stands in memory and the batch is kept in order; the next flush tries again.
            log.error("turn.flush_failed", session=self.id, exc_info=error)
            self._emit("agent/error", error)
        await self._tell("agent/turn-ended", result)

    async def _tell(self, hook: str, *args: object) -> None:
        """Serial and awaited, so that followers are never behind; their failures do not stop the turn."""
        try:
            await self._services.hooks.serial(hook, self.id, *args, scope=self.scope)
        except Exception:
            log.exception("turn.listener_failed", session=self.id, hook=hook)

    def _emit(self, hook: str, *args: object) -> None:
        self._services.hooks.emit(hook, self.id, *args, scope=self.scope)

    def _goes_on(self, result: TurnResult) -> bool:
        """No await between this decision and what follows from it."""
        if self.is_stopping:
            # Also when the stop came after the end of the turn, while that was saved and told.
            return False
        if self.is_ending or not self.inbox.wants_turn:
            self._failures = 0 if result.reason["kind"] == "completed" else self._failures
            return False
        if result.reason["kind"] in ("error", "blocked"):
            self._failures += 1
            if self._failures < _FAILURES_BEFORE_PAUSE:
                return True
            self.paused = True
            self._emit("agent/paused", len(self.inbox.next_turn))
            return False
        self._failures = 0
        return not result.parked

    def _replay_latch(self) -> None:
        if self._wake_latched and not self._held and self._driver is None and not self.is_ending:
            self._wake_latched = False
            if self.inbox.has_pending:
                self._start_driver()

    def _inbox_changed(self, kind: str, message: Message) -> None:
        self._emit(f"agent/inbox/{kind}", message)


def last_turn(session: Session) -> int:
    """The number of the last turn in the log, 0 for none."""
    for event in reversed(session.events()):
        if event.type == "turn/start":
            turn: int = event.data["turn"]
            return turn
    return 0
