"""One agent: a session, its inbox, and the single driver that answers what comes in.

A wake is synchronous up to the claim: when `send` returns on an idle agent the turn is
open and its batch taken (spec agent-loop 1.4, decision 3). There is one driver, ever; a
wake while it runs needs no latch because the driver reads the queue again before it
stops, with no await in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from engine.agent.attempt import FrameCounter
from engine.agent.inbox import Inbox, Target
from engine.agent.services import Services
from engine.agent.step import StepRunner
from engine.agent.turn import TurnResult, run_turn
from engine.cancel import CancelCause, CancelToken
from engine.errors import AgentError, StorageError
from engine.session import Message, Session

__all__ = ["Agent"]

log = structlog.get_logger(__name__)
T = TypeVar("T")

# Three turns in a row that failed mean that the provider is down, not that a message is
# bad; going on would only burn the rest of the queue (decision 5).
_FAILURES_BEFORE_PAUSE = 3


class Agent:
    """Drives one session. Made by `Agents`, which also puts it into the registry."""

    def __init__(self, services: Services, session: Session) -> None:
        self.session = session
        self.paused = False
        self._services = services
        self.inbox = Inbox(session, self._inbox_changed)
        self._steps = StepRunner(services, session, FrameCounter(session.id))
        self._turn = last_turn(session)
        self._token: CancelToken | None = None
        self._driver: asyncio.Task[None] | None = None
        self._held = True  # until creation is complete, input is taken but not answered
        self._wake_latched = False
        self._disposing: asyncio.Task[None] | None = None
        self._failures = 0
        self.idle_since = services.clock()
        """When its last turn ended, or it came up: epoch ms."""

    # -- state -----------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def status(self) -> str:
        """`running` from the waking call until the driver converged, else `idle`."""
        return "running" if self._driver is not None else "idle"

    @property
    def open_turn(self) -> int | None:
        """The number of the turn that is being answered."""
        return self._turn if self._driver is not None else None

    async def when_idle(self) -> None:
        """Wait until no driver runs, including one that was started while waiting."""
        while (driver := self._driver) is not None:
            await asyncio.wait({driver})

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
        if self._disposing is not None:
            raise AgentError("This session is being closed.", code="AGENT_DISPOSED")
        if wake and self._aborting:
            target = "next-turn"
        self.inbox.insert(message, target)
        if wake:
            self.wake()

    def wake(self) -> None:
        """Answer what is pending. Ends a pause. An idle agent opens a turn at once."""
        self.paused = False
        self._failures = 0
        if self._disposing is not None:
            return
        if self._held or self._aborting:
            self._wake_latched = True
        elif self._driver is None:
            self._start_driver()

    # -- stopping ----------------------------------------------------------------------------

    def cancel(self, cause: CancelCause, *, keep_inbox: bool = False) -> int:
        """Stop the activity; the first cause wins. Returns how many messages still wait.

        Without `keep_inbox` the queue is cancelled too. Idle with an empty queue it does nothing.
        """
        # First the signal: an observer of the log may stop the turn, though it cannot clear the queue.
        if self._token is not None:
            self._token.cancel(cause)
        if not keep_inbox:
            self._wake_latched = False
            self.inbox.clear()
        return len(self.inbox.next_turn)

    async def run_idle(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run maintenance while no turn can start; wakes are kept for afterwards.

        Raises AgentError AGENT_RUNNING unless the agent is truly idle.
        """
        if self._driver is not None or self._held:
            raise AgentError("The session is busy.", code="AGENT_RUNNING")
        self._held = True
        try:
            return await work()
        finally:
            self.release()

    def release(self) -> None:
        """End the hold of creation or maintenance, and answer what came in meanwhile."""
        self._held = False
        self._replay_latch()

    async def dispose(self) -> None:
        """Stop, wait for quiescence. Concurrent calls await the same end. The queue stays parked."""
        if self._disposing is None:
            self._disposing = asyncio.ensure_future(self._quiesce())
        await asyncio.shield(self._disposing)

    async def _quiesce(self) -> None:
        self.cancel(CancelCause("disposed"), keep_inbox=True)
        await self.when_idle()

    # -- the driver ------------------------------------------------------------------------------

    @property
    def _aborting(self) -> bool:
        return self._token is not None and self._token.cancelled

    def _start_driver(self) -> None:
        batch = self._open_turn()
        self._driver = asyncio.ensure_future(self._drive(batch))
        self._services.hooks.emit("agent/status", self.id, "running")

    def _open_turn(self) -> Sequence[Message]:
        """The synchronous prefix: a new token, `turn/start`, the claim."""
        before, self._token = self._token, CancelToken()  # first: an observer of the append may stop it
        try:
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
            self._services.hooks.emit("agent/status", self.id, "idle")
            self._replay_latch()

    async def _turn_ended(self, result: TurnResult) -> None:
        try:
            await self._services.journal.flush(self.id)
        except StorageError as error:
            # The turn stands in memory and the batch is kept in order; the next flush tries again.
            log.error("turn.flush_failed", session=self.id, exc_info=error)
            self._services.hooks.emit("agent/error", self.id, error)
        await self._tell("agent/turn-ended", result)

    async def _tell(self, hook: str, *args: object) -> None:
        """Serial and awaited, so that followers are never behind; their failures do not stop the turn."""
        try:
            await self._services.hooks.serial(hook, self.id, *args)
        except Exception:
            log.exception("turn.listener_failed", session=self.id, hook=hook)

    def _goes_on(self, result: TurnResult) -> bool:
        """No await between this decision and what follows from it."""
        if self._disposing is not None or not self.inbox.wants_turn:
            self._failures = 0 if result.reason["kind"] == "completed" else self._failures
            return False
        if result.reason["kind"] in ("error", "blocked"):
            self._failures += 1
            if self._failures < _FAILURES_BEFORE_PAUSE:
                return True
            self.paused = True
            self._services.hooks.emit("agent/paused", self.id, len(self.inbox.next_turn))
            return False
        self._failures = 0
        return not result.parked

    def _replay_latch(self) -> None:
        if self._wake_latched and not self._held and self._driver is None and self._disposing is None:
            self._wake_latched = False
            if self.inbox.has_pending:
                self._start_driver()

    def _inbox_changed(self, kind: str, message: Message) -> None:
        self._services.hooks.emit(f"agent/inbox/{kind}", self.id, message)


def last_turn(session: Session) -> int:
    """The number of the last turn in the log, 0 for none."""
    for event in reversed(session.events()):
        if event.type == "turn/start":
            turn: int = event.data["turn"]
            return turn
    return 0
