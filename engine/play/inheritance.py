"""A delegated agent uses what its parent uses at that moment. Source: spec tavern 2, seed 003.

Forks of a story get the selection of its head from whoever forks them; this is for the sessions that an
agent makes for its own work.
"""

from __future__ import annotations

from engine.agent import Agent
from engine.hooks import Hooks, Scope
from engine.library import Selections

__all__ = ["Inheritance"]


class Inheritance:
    """Awaited before the agent is usable: it never runs with a wrong selection."""

    def __init__(self, hooks: Hooks, selections: Selections, owner: Scope) -> None:
        self._selections = selections
        hooks.on("agent/created", self._created, owner=owner)

    async def _created(self, agent: Agent, source: str, token: object) -> None:
        parent = agent.session.header.parent_session
        if agent.is_delegated and parent is not None:
            # A session that comes back has its own already, and keeps it.
            await self._selections.copy(parent, agent.id)
