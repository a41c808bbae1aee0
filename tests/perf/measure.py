"""How a row of the table is measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

__all__ = ["Row", "compare", "table"]


@dataclass(frozen=True)
class Row:
    """One comparison. Times are medians in seconds, sizes are in bytes; `goal` is the ratio not to exceed."""

    name: str
    ours: float
    yardstick_name: str
    yardstick: float
    goal: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.ours / self.yardstick

    @property
    def reached(self) -> bool:
        return self.ratio <= self.goal


async def compare(
    name: str,
    ours: Callable[[], Awaitable[object]],
    yardstick_name: str,
    yardstick: Callable[[], object],
    *,
    goal: float,
    rounds: int,
    ours_does: int = 1,
    yardstick_does: int = 1,
) -> Row:
    """Runs both in turns, so that a disturbance of the machine meets both. `ours_does` and
    `yardstick_does` are how many of the thing one call does, where a single one is too short to time."""
    ours_s: list[float] = []
    yardstick_s: list[float] = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        yardstick()
        middle = time.perf_counter()
        await ours()
        end = time.perf_counter()
        yardstick_s.append((middle - begin) / yardstick_does)
        ours_s.append((end - middle) / ours_does)
    # the first round warms files and statements up
    return Row(name, statistics.median(ours_s[1:]), yardstick_name, statistics.median(yardstick_s[1:]), goal)


def table(rows: list[Row]) -> str:
    """The rows as text, one a line, with what missed its goal marked."""
    lines = [f"{'path':<34} {'ours':>11} {'yardstick':>11} {'ratio':>7} {'goal':>7}  yardstick"]
    for row in rows:
        mark = "" if row.reached else "  MISSED"
        lines.append(
            f"{row.name:<34} {_said(row, row.ours):>11} {_said(row, row.yardstick):>11} "
            f"{row.ratio:>7.2f} {row.goal:>7.2f}  {row.yardstick_name}{mark}"
        )
    return "\n".join(lines)


def _said(row: Row, value: float) -> str:
    return _time(value) if row.unit == "s" else f"{value:,.0f} {row.unit}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"
