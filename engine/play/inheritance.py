"""What a session uses is settled when its first agent comes up: as its parent does at that moment, or as
is usual. Nothing links the two afterwards. Source: spec tavern 2, seed 003.

A session that has its selection already keeps it: one that comes back, or a continuation of a story, which
gets the selection of the story's head from whoever makes it.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.agent import Agent
from engine.hooks import Hooks, Scope
from engine.library import Selection, Selections

__all__ = ["Inheritance"]


class Inheritance:
    """Awaited before the agent is usable: it never runs with a wrong selection."""

    def __init__(
        self,
        hooks: Hooks,
        selections: Selections,
        owner: Scope,
        defaults: Callable[[], Selection] = Selection,
    ) -> None:
        """`defaults` are for sessions without a parent."""
        self._selections = selections
        self._defaults = defaults
        hooks.on("agent/created", self._created, owner=owner)

    async def _created(self, agent: Agent, source: str, token: object) -> None:
        if await self._selections.get(agent.id) is not None:
            return
        parent = agent.session.header.parent_session
        if parent is not None:
            await self._selections.copy(parent, agent.id)
        await self._selections.freeze(agent.id, self._defaults())
