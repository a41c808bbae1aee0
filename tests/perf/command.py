"""Prints the table; exit status 1 when a goal was missed. Further areas add their module here."""

from __future__ import annotations

from bot.garbage import settle
from tests.perf import agent, assembler, lore, patterns, resources, session, storage, tavern
from tests.perf.measure import table

AREAS = {
    "agent": agent.measure,
    "assembler": assembler.measure,
    "patterns": patterns.measure,
    "lore": lore.measure,
    "resources": resources.measure,
    "session": session.measure,
    "storage": storage.measure,
    "tavern": tavern.measure,
}


async def main(names: list[str]) -> int:
    """Measures the named areas, or all, in a process that is set up as the bot's."""
    settle()
    rows = [row for name, measure in AREAS.items() if name in names or not names for row in await measure()]
    print(table(rows))
    return 0 if all(row.reached for row in rows) else 1
