"""Waiting for foreign code that may not stop when it is told to.

`CancelToken.race` waits for its work to end, however long that takes. What policies, bodies and
approvals do is not ours; a turn must be able to end without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

import structlog

from engine.cancel import Cancelled, CancelToken

__all__ = ["GRACE", "PATIENCE", "Unresponsive", "patiently"]

log = structlog.get_logger(__name__)
T = TypeVar("T")

GRACE = 0.5
"""Seconds after a stop that a body which heeds the token has to return by itself. It may be in the middle of
something that is better finished than broken off, and a person who pressed Stop still looks on."""

PATIENCE = 2.0
"""Seconds that a cancelled task has to clean up before it is given up. Long enough to close a connection,
short enough that nobody believes the stop failed."""

_abandoned: set[asyncio.Future[Any]] = set()


class Unresponsive(Cancelled):
    """The work did not end when it was cancelled and was given up; what it still does counts for nothing."""


async def patiently(work: Awaitable[T], token: CancelToken, *, grace: float = 0.0) -> T:
    """Await `work`. After the stop it has `grace` seconds to end by itself, and is cancelled then.

    Returns or raises what the work does, also after the stop. Raises Cancelled when the stop ended it,
    Unresponsive when nothing could within PATIENCE. If this call itself is cancelled, so is the work.
    """
    task = asyncio.ensure_future(work)
    stop = asyncio.ensure_future(token.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and grace:
            await asyncio.wait({task}, timeout=grace)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=PATIENCE)
        if not task.done():
            _give_up(task)
            raise Unresponsive
        if task.cancelled():
            raise Cancelled
        return task.result()
    except asyncio.CancelledError:
        task.cancel()
        _give_up(task)  # also when it is done by now: nobody else reads how
        raise
    finally:
        stop.cancel()


def _give_up(task: asyncio.Future[Any]) -> None:
    """Keep it from being collected while it runs, and read its outcome for nobody."""
    _abandoned.add(task)

    def ended(done: asyncio.Future[Any]) -> None:
        _abandoned.discard(done)
        if not done.cancelled() and (error := done.exception()) is not None:
            log.warning("tool.abandoned_failed", exc_info=error)

    task.add_done_callback(ended)
