"""What a session uses is settled when its first agent comes up: as its parent does at that moment, or as
is usual. Nothing links the two afterwards. Source: spec tavern 2, seed 003.

The same goes for the strategy that places its sources. A session that has its own already keeps it: one
that comes back, or a continuation of a story, which gets what the story's head uses from whoever makes it.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.agent import Agent
from engine.hooks import Hooks, Scope
from engine.library import Selection, Selections
from engine.strategies import Strategies

__all__ = ["Inheritance"]


class Inheritance:
    """Awaited before the agent is usable: it never runs with a wrong selection."""

    def __init__(
        self,
        hooks: Hooks,
        selections: Selections,
        strategies: Strategies,
        owner: Scope,
        defaults: Callable[[], Selection] = Selection,
    ) -> None:
        """`defaults` are for sessions without a parent."""
        self._selections = selections
        self._strategies = strategies
        self._defaults = defaults
        hooks.on("agent/created", self._created, owner=owner)

    async def _created(self, agent: Agent, source: str, token: object) -> None:
        parent = agent.session.header.parent_session
        if parent is not None:
            await self._strategies.inherit(parent, agent.id)
        if await self._selections.get(agent.id) is not None:
            return
        if parent is not None:
            await self._selections.copy(parent, agent.id)
        await self._selections.freeze(agent.id, self._defaults())
