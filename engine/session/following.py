"""Following a session: its events as they come, each once and in order, and what streams in between.

Source: session spec 7.4.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from engine.errors import SessionError
from engine.hooks import Disposer
from engine.session.event import Event
from engine.session.log import Session
from engine.session.registry import Sessions

__all__ = ["FRAMES_BEHIND", "Following", "FrameSource", "LiveFrame"]

FRAMES_BEHIND: Final = 8_192
"""How many frames wait for a follower: more than a whole answer has, so only who has stopped reading loses
any. Events wait without limit: they are those of the log, which is in memory anyway."""

FrameSource: TypeAlias = Callable[[str, Callable[[Mapping[str, Any]], None]], Disposer]
"""Tells a listener of every frame that the model of a session streams, until it is disposed of."""


@dataclass(frozen=True, slots=True)
class LiveFrame:
    """A piece of an answer that is being written. It is no fact yet: what it becomes is an event."""

    frame: Mapping[str, Any]


class Following(AsyncIterator["Event | LiveFrame"]):
    """`snapshot` holds the events until now; iterating gives those after it.

    The session may be stored, become live, be closed and opened again meanwhile: its events go on where they
    were. Frames are no facts: when more than FRAMES_BEHIND of them wait they are dropped, and what they said
    comes with its event. Iteration ends with `aclose`. Raises SessionError (code
    SESSION_QUERY_SOURCE_CONFLICT) when a log came back shorter than it was followed, which happens to events
    that were never stored.
    """

    def __init__(
        self,
        sessions: Sessions,
        session_id: str,
        snapshot: Sequence[Event],
        *,
        frames: FrameSource | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._session_id = session_id
        self._next_seq = len(snapshot)
        self._items: deque[Event | LiveFrame | SessionError | None] = deque()
        self._frames_waiting = 0
        self._arrived = asyncio.Event()
        self._stop_observing: Disposer | None = None
        self._disposers = [sessions.on_created(self._created)]
        if frames is not None:
            self._disposers.append(frames(session_id, self._frame))
        live = sessions.get(session_id)
        if live is not None:
            self._created(live)

    @property
    def cursor(self) -> int:
        """The last seq that was handed to this follower, counting the snapshot; -1 before the first."""
        waiting = sum(isinstance(item, Event) for item in self._items)
        return self._next_seq - waiting - 1

    async def __anext__(self) -> Event | LiveFrame:
        while not self._items:
            self._arrived.clear()
            await self._arrived.wait()
        item = self._items[0]
        if item is None:
            raise StopAsyncIteration
        if isinstance(item, SessionError):
            raise item
        self._frames_waiting -= isinstance(item, LiveFrame)
        return self._items.popleft()  # type: ignore[return-value]  # the two others were ruled out

    async def aclose(self) -> None:
        """Stop following. What has not been read is dropped."""
        for dispose in self._disposers:
            dispose()
        if self._stop_observing is not None:
            self._stop_observing()
        self._items.clear()
        self._push(None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _created(self, session: Session) -> None:
        """The session became live: take what came since, then every event after it."""
        if session.id != self._session_id:
            return
        if session.seq < self._next_seq:
            self._push(
                SessionError(
                    f"session {self._session_id} has {session.seq} events, {self._next_seq} were followed",
                    code="SESSION_QUERY_SOURCE_CONFLICT",
                    session=self._session_id,
                )
            )
            return
        if self._stop_observing is not None:
            self._stop_observing()
        for event in session.events(self._next_seq):
            self._event(event)
        self._stop_observing = session.observe(self._event)

    def _event(self, event: Event) -> None:
        assert event.seq == self._next_seq, "a session publishes every event once, in order"
        self._next_seq += 1
        self._push(event)

    def _frame(self, frame: Mapping[str, Any]) -> None:
        if self._frames_waiting == FRAMES_BEHIND:
            self._items = deque(item for item in self._items if not isinstance(item, LiveFrame))
            self._frames_waiting = 0
        self._frames_waiting += 1
        self._push(LiveFrame(frame))

    def _push(self, item: Event | LiveFrame | SessionError | None) -> None:
        self._items.append(item)
        self._arrived.set()
