"""Runners for the session families."""

from collections.abc import Callable

from tests.conformance.session import (
    inbox,
    loop,
    migrations,
    paging,
    persistence,
    scripted,
    seqranges,
    stored,
    streams,
    system_prompt,
)
from tests.conformance.vectors import Vector

SCRIPTED = ("append", "surface", "derive", "projections", "fork_restore", "repair", "invariants")

RUNNERS: dict[str, Callable[[Vector], None]] = {
    **{f"session/{name}": scripted.run for name in SCRIPTED},
    "session/inbox": inbox.run,
    "session/loop": loop.run,
    "session/migrations": migrations.run,
    "session/paging": paging.run,
    "session/persistence": persistence.run,
    "session/seqranges": seqranges.run,
    "session/stored": stored.run,
    "session/streams": streams.run,
    "session/system_prompt": system_prompt.run,
}
