"""Runs every check and prints what each found as soon as it is known."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import TextIO

from bot.doctor import database, model, server, sources
from bot.doctor.finding import Finding, good
from bot.settings import Settings

__all__ = ["run"]


async def run(settings: Settings, out: TextIO | None = None) -> int:
    """Check settings, database, model and Discord; 1 when anything is bad, else 0."""
    out = out or sys.stdout
    broken = 0
    async for finding in _findings(settings):
        out.write(f"{finding}\n")
        out.flush()
        broken += finding.kind == "bad"
    if broken:
        out.write(f"\n{broken} {'thing needs' if broken == 1 else 'things need'} mending.\n")
    else:
        out.write("\nAll is well.\n")
    return 1 if broken else 0


async def _findings(settings: Settings) -> AsyncIterator[Finding]:
    yield good("Settings: all can be read.")
    for check in (database.check, sources.check, model.check, server.check):
        async for finding in check(settings):
            yield finding
