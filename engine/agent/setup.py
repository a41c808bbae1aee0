"""What an agent is composed of before anybody else knows it (spec agent-loop 2.2).

A setup registers for one agent and drives nothing: input is held until the agent has come up.
What it registers is owned by the agent's scope, and goes first when the creation fails.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.agent.agent import Agent
from engine.agent.prompt import Context, Section, Variable
from engine.agent.services import Services
from engine.hooks import Disposer

__all__ = ["AgentSetup", "Setup"]


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """An agent that is not published yet, and where to register for it and for those it delegates to."""

    agent: Agent
    services: Services

    def on(self, hook: str, fn: Callable[..., Any], *, prepend: bool = False) -> Disposer:
        """Listen to what happens in this agent."""
        scope = self.agent.scope
        return self.services.hooks.on(hook, fn, owner=scope, scope=scope, prepend=prepend)

    def section(self, section: Section) -> Disposer:
        return self.services.prompt.section(section, owner=self.agent.scope, scope=self.agent.scope)

    def context(self, context: Context) -> Disposer:
        return self.services.prompt.context(context, owner=self.agent.scope, scope=self.agent.scope)

    def variable(self, variable: Variable) -> Disposer:
        return self.services.prompt.variable(variable, owner=self.agent.scope, scope=self.agent.scope)

    def suppress_contexts(self) -> Disposer:
        return self.services.prompt.suppress_contexts(owner=self.agent.scope, scope=self.agent.scope)


Setup: TypeAlias = Callable[[AgentSetup], "Awaitable[None] | None"]
