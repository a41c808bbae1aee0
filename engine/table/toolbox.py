"""The tools of the table in one engine, and who has them on: each session those that its selection names."""

from __future__ import annotations

import random

from engine.agent.tools import ToolRegistry
from engine.hooks import Hooks, Next, Scope
from engine.library import Library, Selection
from engine.session import Session
from engine.table.books import ShelfSource
from engine.table.dice import Source
from engine.table.dice_tool import DICE, dice_tool
from engine.table.recall_tool import RECALL, recall_tool
from engine.table.table_tool import ROLL_TABLE, table_tool

__all__ = ["SHOWN", "TOOLS", "Toolbox"]

TOOLS = (DICE, ROLL_TABLE, RECALL)
"""Every tool of the table, in the order in which people are offered them."""

SHOWN = frozenset({DICE, ROLL_TABLE})
"""Tools whose results everybody at the table may see."""


class Toolbox:
    """Registers the tools. `shelf_of` finds the books that they read; `source` is where chance comes from,
    without one from the system."""

    def __init__(
        self,
        registry: ToolRegistry,
        hooks: Hooks,
        library: Library,
        owner: Scope,
        shelf_of: ShelfSource,
        source: Source | None = None,
    ) -> None:
        self._library = library
        chance = source or random.SystemRandom()
        for tool in (dice_tool(chance), table_tool(shelf_of, chance), recall_tool(shelf_of)):
            registry.register(tool, owner=owner)
        hooks.on("tools/available", self._available, owner=owner)

    async def _available(self, session: Session, proceed: Next) -> frozenset[str]:
        selection = await self._library.selections.get(session.id) or Selection()
        return frozenset(await proceed()).union(name for name in selection.tools if name in TOOLS)
