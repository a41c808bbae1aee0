"""All live agents of one engine: creation, resume, and the way back out.

An agent and its session have one id. `agent/created` is serial and awaited: input that
arrives meanwhile is queued and answered when every listener is done; a listener that
fails undoes the creation (spec agent-loop 2.2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from engine.agent.agent import Agent
from engine.agent.recovery import requeue_unadmitted
from engine.agent.services import Services
from engine.errors import AgentError, SessionError
from engine.session import Session

__all__ = ["Agents"]

log = structlog.get_logger(__name__)


class Agents:
    """The registry. One agent per session id; concurrent openings share one result.

    After `aclose` began, nothing comes up any more: AgentError AGENTS_CLOSED.
    """

    def __init__(self, services: Services) -> None:
        self.services = services
        self._agents: dict[str, Agent] = {}
        self._opening: dict[str, asyncio.Task[Agent]] = {}
        self._closed = False

    def get(self, session_id: str) -> Agent | None:
        """The live agent, if there is one."""
        return self._agents.get(session_id)

    def idle(self, for_ms: int) -> list[str]:
        """The sessions whose agents have had nothing to do for so long."""
        before = self.services.clock() - for_ms
        return [id for id, a in self._agents.items() if a.status == "idle" and a.idle_since <= before]

    async def create(self, session_id: str) -> Agent:
        """A fresh session and its agent. Raises SessionError SESSION_ALREADY_EXISTS."""
        self._check_free(session_id)
        return await self._enter(session_id, "startup", lambda: self.services.journal.create(session_id))

    async def fork(self, source_id: str, boundary: int | None, child_id: str) -> Agent:
        """A child of `source_id` up to and including seq `boundary`, with an empty queue.

        Raises SessionForkError, and SessionError SESSION_ALREADY_EXISTS.
        """
        self._check_free(child_id)
        return await self._enter(
            child_id, "startup", lambda: self.services.journal.fork(source_id, boundary, child_id)
        )

    async def open(self, session_id: str) -> Agent:
        """The live agent, or the stored session brought back: repaired, and idle.

        Messages that a crash caught between claim and admission are queued again at the
        head (decision 4). Raises NotFound, SessionCorrupt, FormatUnsupported.
        """
        agent = self._agents.get(session_id)
        if agent is not None:
            return agent
        return await self._enter(session_id, "resume", lambda: self.services.journal.open(session_id))

    async def close(self, session_id: str) -> None:
        """Stop the agent and let its session go; it can be opened again."""
        agent = self._agents.get(session_id)
        if agent is None:
            return
        await agent.dispose()
        if self._agents.get(session_id) is agent:
            del self._agents[session_id]
            await self.services.journal.close(session_id)
            self.services.hooks.emit("agent/disposed", session_id)

    async def aclose(self) -> None:
        """Close everything, running turns first told to stop. Raises what could not be written, after all."""
        self._closed = True
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        closings = (self.close(session_id) for session_id in list(self._agents))
        outcomes = await asyncio.gather(*closings, return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if failures:
            raise ExceptionGroup("sessions could not be written to the end", failures)

    def _check_free(self, session_id: str) -> None:
        if session_id in self._opening or session_id in self._agents:
            raise SessionError(f"session {session_id} exists already", code="SESSION_ALREADY_EXISTS")

    async def _enter(self, session_id: str, source: str, acquire: Callable[[], Awaitable[Session]]) -> Agent:
        task = self._opening.get(session_id)
        if task is None:
            if self._closed:
                raise AgentError("The engine is closing.", code="AGENTS_CLOSED")
            task = asyncio.ensure_future(self._bring_up(session_id, source, acquire))
            self._opening[session_id] = task
            task.add_done_callback(lambda _: self._opening.pop(session_id, None))
        return await asyncio.shield(task)

    async def _bring_up(
        self, session_id: str, source: str, acquire: Callable[[], Awaitable[Session]]
    ) -> Agent:
        session = await acquire()
        try:
            agent = Agent(self.services, session)
            if source == "resume":
                requeue_unadmitted(session, agent.inbox, self.services.hooks)
        except BaseException:
            await self.services.journal.close(session_id)
            raise
        self._agents[session_id] = agent
        try:
            await self.services.hooks.serial("agent/created", agent, source)
        except BaseException:
            del self._agents[session_id]
            await agent.dispose()
            await self.services.journal.close(session_id)
            self.services.hooks.emit("agent/disposed", session_id)
            raise
        agent.release()
        return agent
