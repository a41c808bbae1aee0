"""`python -m bot log SESSION`: what a session recorded, for people or as stored."""

from __future__ import annotations

import shutil
import sys
from datetime import datetime
from typing import TextIO

from bot.logline import line
from bot.settings import Settings
from bot.snapshot import opened
from engine.errors import EngineError
from engine.session import Header, StoredSession, closers, read_log
from engine.storage import EventTable

__all__ = ["run", "write"]


async def run(settings: Settings, session_id: str, *, as_json: bool) -> int:
    """Print the session to standard output; 1 and one line on standard error when it cannot be read."""
    try:
        async with opened(settings.storage.path) as store:
            stored = await EventTable(store).read(session_id)
        write(session_id, stored, sys.stdout, as_json=as_json)
        sys.stdout.flush()
    except EngineError as error:
        sys.stderr.write(f"inglenook: {error}\n")
        return 1
    except BrokenPipeError:  # `… | head` has read enough
        sys.stderr.close()
    return 0


def write(session_id: str, stored: StoredSession, out: TextIO, *, as_json: bool) -> None:
    """Each event in one line: its stored JSON, byte for byte, or words cut to the terminal's width."""
    if as_json:
        for row in stored.rows:
            out.write(row.body.decode() + "\n")
        return
    width = shutil.get_terminal_size().columns if out.isatty() else None
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    read = read_log(session_id, stored)
    out.write(_title(read.header, stored) + "\n")
    for event in read.events:
        out.write(line(event, inherited=event.seq < read.inherited, width=width, zone=zone) + "\n")
    if closing := closers(read.events):
        ends = ", ".join(event.type for event in closing)
        out.write(f"The last turn is open: opening the session writes {ends} (interrupted).\n")


def _title(header: Header, stored: StoredSession) -> str:
    begun = datetime.fromtimestamp(header.created_at / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
    facts = [
        f"session {header.id}",
        f"format {header.version}",
        f"begun {begun}",
        f"{len(stored.rows)} events",
    ]
    if stored.parent is not None:
        facts.append(f"forked from {stored.parent[0]} after event {stored.parent[1]}")
    return " · ".join(facts)
