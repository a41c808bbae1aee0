"""All live agents of one engine: creation, resume, delegation, and the way back out.

An agent and its session have one id. Coming up is a transaction: the session is acquired, the
agent is composed in private, then both are published and `agent/created` is told, serially and
awaited. Input that arrives meanwhile is queued and answered when every listener is done;
whatever fails undoes the rest, and every `created` that was told is followed by its `disposed`
(spec agent-loop 2.2).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from engine.agent.agent import Agent
from engine.agent.recovery import requeue_unadmitted
from engine.agent.services import Services
from engine.agent.setup import AgentSetup, Setup
from engine.cancel import CancelCause, Cancelled
from engine.errors import AgentError, SessionError
from engine.hooks import Scope
from engine.session import Session

__all__ = ["MAX_DELEGATION_DEPTH", "Agents"]

log = structlog.get_logger(__name__)

# Each level can ask the model as often as all above it together. A game master who asks for a
# scene, whose writer asks for a look into the lore, are two; one more is left for what we
# have not thought of.
MAX_DELEGATION_DEPTH = 3


@dataclass(frozen=True, slots=True)
class _Birth:
    """How an agent comes up: `source` is `startup` or `resume`."""

    source: str
    acquire: Callable[[], Awaitable[Session]]
    setup: Setup | None
    parent: Agent | None


class Agents:
    """The registry. One agent per session id; concurrent openings share one result.

    Told, in this order: `session/created` (session, source); `agent/created` (agent, source, token),
    serially, where the token is cancelled when the agent is to end before it has come up; later
    `agent/disposed` (session id) and `session/disposed` (session id). After `aclose` began, nothing comes
    up any more: AgentError AGENTS_CLOSED.
    """

    def __init__(self, services: Services) -> None:
        self.services = services
        self._owner = Scope("agents")
        self._agents: dict[str, Agent] = {}
        self._opening: dict[str, asyncio.Task[Agent]] = {}
        self._coming: set[Agent] = set()
        self._told: set[Agent] = set()
        self._closed = False
        services.prompt.tools(
            lambda context: services.tools.schemas(context.session),
            owner=self._owner,
            known=lambda: services.tools.names,
        )

    def get(self, session_id: str) -> Agent | None:
        """The live agent, if there is one."""
        return self._agents.get(session_id)

    def idle(self, for_ms: int) -> list[str]:
        """The sessions whose agents have had nothing to do for so long."""
        before = self.services.clock() - for_ms
        return [id for id, a in self._agents.items() if a.is_resting and a.idle_since <= before]

    # -- coming up -------------------------------------------------------------------------------

    async def create(
        self, session_id: str, *, parent: Agent | None = None, setup: Setup | None = None
    ) -> Agent:
        """A fresh session and its agent. Raises SessionError SESSION_ALREADY_EXISTS.

        With `parent` it is delegated: the header says whose and how deep, the parent's stops reach it, and
        it ends with the parent. Raises AgentError DELEGATION_TOO_DEEP, and AGENT_DISPOSED for a parent
        that ends. `setup` composes the agent before it is published; what it raises undoes the creation.
        """
        self._check_free(session_id)
        header = self._delegation(parent) if parent is not None else {}
        acquire = partial(self.services.journal.create, session_id, **header)
        return await self._enter(session_id, _Birth("startup", acquire, setup, parent))

    async def fork(
        self, source_id: str, boundary: int | None, child_id: str, *, setup: Setup | None = None
    ) -> Agent:
        """A child of `source_id` up to and including seq `boundary`, with an empty queue.

        Raises SessionForkError, and SessionError SESSION_ALREADY_EXISTS.
        """
        self._check_free(child_id)
        acquire = partial(self.services.journal.fork, source_id, boundary, child_id)
        return await self._enter(child_id, _Birth("startup", acquire, setup, None))

    async def open(self, session_id: str, *, setup: Setup | None = None) -> Agent:
        """The live agent, or the stored session brought back: repaired, and idle.

        Messages that a crash caught between claim and admission are queued again at the head (decision 4).
        One that comes up is waited for, one that ends likewise, and then comes up anew; `setup` is for an
        agent that is made here. A delegated session comes back without its parent: who owns it is a
        matter of the running program. Raises NotFound, SessionCorrupt, FormatUnsupported.
        """
        while session_id not in self._opening and (agent := self._agents.get(session_id)) is not None:
            if not agent.is_ending:
                return agent
            await asyncio.gather(agent.dispose(), return_exceptions=True)
        acquire = partial(self.services.journal.open, session_id)
        return await self._enter(session_id, _Birth("resume", acquire, setup, None))

    # -- and out -----------------------------------------------------------------------------------

    async def close(self, session_id: str) -> None:
        """Stop the agent and let its session go; it can be opened again."""
        agent = self._agents.get(session_id)
        if agent is not None:
            await agent.dispose()

    async def aclose(self) -> None:
        """Close everything, running turns first told to stop. Raises what could not be written, after all."""
        self._closed = True
        for agent in self._coming:
            agent.coming.cancel(CancelCause("disposed"))
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        endings = (agent.dispose() for agent in list(self._agents.values()))
        outcomes = await asyncio.gather(*endings, return_exceptions=True)
        await self._owner.aclose()
        failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if failures:
            raise ExceptionGroup("sessions could not be written to the end", failures)

    # -- inside ------------------------------------------------------------------------------------

    def _check_free(self, session_id: str) -> None:
        if session_id in self._opening or session_id in self._agents:
            raise SessionError(f"session {session_id} exists already", code="SESSION_ALREADY_EXISTS")

    def _delegation(self, parent: Agent) -> dict[str, Any]:
        if parent.is_ending or self._agents.get(parent.id) is not parent:
            raise AgentError("The agent that delegates is being closed.", code="AGENT_DISPOSED")
        depth = (parent.session.header.delegation_depth or 0) + 1
        if depth > MAX_DELEGATION_DEPTH:
            raise AgentError(
                f"An agent may delegate at most {MAX_DELEGATION_DEPTH} levels deep.",
                code="DELEGATION_TOO_DEEP",
            )
        return {"parent_session": parent.id, "origin": "subagent", "delegation_depth": depth}

    async def _enter(self, session_id: str, birth: _Birth) -> Agent:
        task = self._opening.get(session_id)
        if task is None:
            self._check_open()
            task = asyncio.ensure_future(self._bring_up(session_id, birth))
            self._opening[session_id] = task
            task.add_done_callback(lambda _: self._opening.pop(session_id, None))
        return await asyncio.shield(task)

    async def _bring_up(self, session_id: str, birth: _Birth) -> Agent:
        session = await birth.acquire()
        try:
            self._check_open()
            agent = Agent(self.services, session, self._detach, birth.parent)
            if birth.source == "resume":
                requeue_unadmitted(session, agent.inbox, self.services.hooks)
        except BaseException:
            await self.services.journal.close(session_id)
            raise
        self._coming.add(agent)
        try:
            await self._compose(agent, birth)
            await self._publish(agent, birth.source)
        except BaseException as error:
            agent.came_up()
            await self._undo(agent)
            if isinstance(error, Cancelled):
                self._check_open()
                raise AgentError("This session is being closed.", code="AGENT_DISPOSED") from None
            raise
        finally:
            self._coming.discard(agent)
        agent.came_up()
        agent.release()
        return agent

    async def _compose(self, agent: Agent, birth: _Birth) -> None:
        """In private: what fails here was never told to anybody."""
        parent = birth.parent
        if parent is not None:
            if parent.is_ending:
                raise AgentError("The agent that delegates is being closed.", code="AGENT_DISPOSED")
            parent.children[agent.id] = agent
        if birth.setup is not None:
            outcome = birth.setup(AgentSetup(agent, self.services))
            if inspect.isawaitable(outcome):
                await agent.coming.race(outcome)
            agent.coming.check()

    async def _publish(self, agent: Agent, source: str) -> None:
        self._agents[agent.id] = agent
        self._told.add(agent)
        hooks = self.services.hooks
        hooks.emit("session/created", agent.session, source, scope=agent.scope)
        await hooks.serial("agent/created", agent, source, agent.coming, scope=agent.scope)
        agent.coming.check()

    async def _undo(self, agent: Agent) -> None:
        try:
            await agent.dispose()
        except Exception as error:  # the caller is told why it could not come up
            log.error("agent.undo_failed", session=agent.id, exc_info=error)

    async def _detach(self, agent: Agent) -> None:
        """The last steps of an agent's end. A later agent of the same id is none of its business."""
        if self._agents.get(agent.id) is agent:
            del self._agents[agent.id]
        if agent.parent is not None and agent.parent.children.get(agent.id) is agent:
            del agent.parent.children[agent.id]
        told = agent in self._told
        self._told.discard(agent)
        if told:
            self.services.hooks.emit("agent/disposed", agent.id, scope=agent.scope)
        try:
            if self.services.journal.sessions.get(agent.id) is agent.session:
                await self.services.journal.close(agent.id)
        finally:
            if told:
                self.services.hooks.emit("session/disposed", agent.id, scope=agent.scope)

    def _check_open(self) -> None:
        if self._closed:
            raise AgentError("The engine is closing.", code="AGENTS_CLOSED")
