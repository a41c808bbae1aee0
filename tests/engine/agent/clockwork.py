"""An event loop that a test turns by hand, on a clock that stands still until it is moved.

One `tick` is one round of the loop: what was ready runs, what that makes ready waits for the next
round. So an interleaving is a list of ticks and deeds, and runs the same way every time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["Clockwork"]

T = TypeVar("T")

# Rounds after which something runs in circles: a turn with every trouble in it takes some hundred.
_TOO_MANY = 20_000

# How long a round waits for a thread (a real database's) that has work of ours: far below a disk's sync.
_THREAD_S = 0.0002


class Clockwork(asyncio.SelectorEventLoop):
    """`now` is the time of the loop in seconds. `busy` says whether a thread still works for us."""

    def __init__(self, busy: Callable[[], bool] = lambda: False) -> None:
        super().__init__()
        self.now = 0.0
        self.troubles: list[dict[str, Any]] = []
        """What nobody handled: exceptions of callbacks, and of tasks that nobody awaited."""
        self._busy = busy
        self.set_exception_handler(lambda _, context: self.troubles.append(context))

    def time(self) -> float:
        return self.now

    def tick(self, rounds: int = 1) -> None:
        """So many rounds of what is ready."""
        for _ in range(rounds):
            self.call_soon(self.stop)
            self.run_forever()

    def do(self, deed: Callable[[], T]) -> T:
        """Do something synchronous inside the loop, after what is ready in this round; its outcome."""
        outcome: list[tuple[T | None, BaseException | None]] = []

        def run() -> None:
            try:
                outcome.append((deed(), None))
            except BaseException as error:
                outcome.append((None, error))

        self.call_soon(run)
        self.tick()
        value, error = outcome[0]
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # there was no error, so it is the deed's value

    def finish(self, work: Coroutine[Any, Any, T], *, within: float = 60.0) -> T:
        """Turn until `work` is done, moving the clock where all wait for it; its outcome."""
        task = self.create_task(work)
        self.settle(within=within, until=task.done)
        assert task.done(), f"it waits for ever: {task}"
        return task.result()

    def settle(self, *, within: float = 0.0, until: Callable[[], bool] = lambda: False) -> None:
        """Turn until nothing is ready, or `until` says so; timers due in `within` seconds run too."""
        end = self.now + within
        for _ in range(_TOO_MANY):
            if until():
                return
            if self._ready:  # type: ignore[attr-defined]  # the loop's own queue: nothing public tells
                self.tick()
            elif self._busy():
                time.sleep(_THREAD_S)
                self.tick()
            elif (due := self.next_timer()) is not None and due <= end:
                self.now = max(self.now, due)
                self.tick()
            else:
                return
        raise AssertionError("it runs in circles")

    def next_timer(self) -> float | None:
        """When the next timer rings, if there is one."""
        scheduled = self._scheduled  # type: ignore[attr-defined]
        return min((timer.when() for timer in scheduled if not timer.cancelled()), default=None)

    def kill(self) -> None:
        """End every task and timer that there is, as the end of a process does; but their `finally` runs.

        What a disk is at work on by then may still be done: its own tasks are spared.
        """
        for _ in range(_TOO_MANY):
            alive = [task for task in asyncio.all_tasks(self) if not task.get_name().startswith("storage-")]
            for timer in self._scheduled:  # type: ignore[attr-defined]
                timer.cancel()
            if not alive:
                return
            for task in sorted(alive, key=_born):
                task.cancel()
            self.tick()
            if self._busy():
                time.sleep(_THREAD_S)
        raise AssertionError("a task does not let itself be ended")


def _born(task: asyncio.Task[Any]) -> int:
    """When it was made among all tasks: their names are numbered."""
    return int(task.get_name().rpartition("-")[2]) if task.get_name().startswith("Task-") else 0
