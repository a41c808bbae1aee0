"""How often we may speak: a budget per channel with priorities, and an edit cadence that adapts.

Discord takes about 5 sends or edits per 5 s and channel, and about 5 per 2 s and webhook; it
publishes no numbers on purpose (spec discord B4, B5). We stay a little below, so that a final
edit always finds room, and slow down when Discord does.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["Cadence", "Pace", "Priority", "Window"]

Clock = Callable[[], float]


class Priority(IntEnum):
    """Who goes first when a channel is busy."""

    FINAL = 0
    FIRST = 1
    INTERMEDIATE = 2
    CHORE = 3  # old buttons, deletions: nobody waits for them


# How many more (or fewer) than the window's size a request may make it. A final one may use the
# fifth place that Discord has and we never plan with; chores leave one free.
_SPARE = {Priority.FINAL: 1, Priority.FIRST: 0, Priority.INTERMEDIATE: 0, Priority.CHORE: -1}


@dataclass(frozen=True, slots=True)
class Pace:
    """The numbers of the house, in seconds. Tests shorten them; tables may stretch `edit_every`."""

    mode: str = "edit"
    """`edit`: edit as text comes. `sentence`: a message per paragraph, no edits. `off`: only the end."""
    first_after: float = 1.2
    """No first post sooner after the reply was opened: one word and a cursor only flicker."""
    patience: float = 3.0
    """Post what there is this long after the first text, even without a whole sentence."""
    edit_every: float = 1.2
    """The shortest time between two edits of a growing message."""
    slow_after: float = 20.0
    slow_every: float = 2.5
    """A long answer is edited less often: people read at its top by then."""
    longest: float = 6.0
    """However slow Discord is, this often something moves."""
    channel_size: int = 4
    channel_seconds: float = 5.0
    """`channel_size` requests per `channel_seconds` in one channel: one less than Discord's."""
    hook_size: int = 4
    hook_seconds: float = 2.0
    """The same for one webhook, which serves all threads of a channel."""


class Window:
    """At most `size` requests in any `seconds`. Waiters are served by priority, then age.

    A sliding window and not a leaking bucket: a full bucket lets through twice its size in one of
    Discord's windows.
    """

    def __init__(self, size: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._taken: deque[float] = deque()
        self._waiting: list[tuple[Priority, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """True when nothing was taken lately and nobody waits: it may be forgotten."""
        return not self._waiting and self._delay(Priority.FINAL) == 0 and not self._taken

    async def take(self, priority: Priority) -> None:
        """Wait for a turn. A cancelled waiter takes nothing."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, next(self._order), turn))
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._taken.pop()  # served and cancelled in the same moment
            turn.cancel()
            self._serve()
            raise

    def _delay(self, priority: Priority) -> float:
        """Seconds until a request of this priority may go; 0 for now."""
        now = self._clock()
        while self._taken and self._taken[0] <= now - self._seconds:
            self._taken.popleft()
        too_many = len(self._taken) - max(self._size + _SPARE[priority], 1)
        return 0.0 if too_many < 0 else self._taken[too_many] + self._seconds - now

    def _serve(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            priority, _, turn = self._waiting[0]
            if turn.done():
                heapq.heappop(self._waiting)
            elif (delay := self._delay(priority)) <= 0:
                heapq.heappop(self._waiting)
                self._taken.append(self._clock())
                turn.set_result(None)
            else:
                self._timer = asyncio.get_running_loop().call_later(max(delay, 0.001), self._serve)
                return


class Cadence:
    """How long to wait between two edits of one growing answer.

    Starts at `edit_every`; grows by half when an edit was slow (over 1 s) or refused for its rate,
    and decays back; a long answer is edited less often.
    """

    _SLOW_EDIT = 1.0  # seconds; a healthy edit takes 0.1 to 0.3
    _GROW, _DECAY = 1.5, 0.9

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._period = pace.edit_every

    def period(self, age: float) -> float:
        """Seconds from the start of one edit to the start of the next, `age` seconds into the answer."""
        base = max(self._period, self._pace.slow_every) if age > self._pace.slow_after else self._period
        return min(base, max(self._pace.longest, self._pace.edit_every))

    def note(self, took: float, *, limited: bool = False) -> None:
        """An edit took so many seconds, or was refused."""
        if limited or took > self._SLOW_EDIT:
            self._period = min(self._period * self._GROW, max(self._pace.longest, self._pace.edit_every))
        else:
            self._period = max(self._period * self._DECAY, self._pace.edit_every)
