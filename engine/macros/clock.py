"""Macros of time, by the clock that the context gives. Spec sillytavern 4.3, "Time"."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from itertools import islice

from engine.macros.context import LOOKED_BACK, MacroContext
from engine.macros.definition import Definition, Function, Run, Table
from engine.macros.moment import formatted, humanized, parsed, since
from engine.macros.nodes import Macro

__all__ = ["CLOCK"]

_UTC_OFFSET = re.compile(r"UTC([+-][0-9]{1,2}(?:\.[0-9]{1,2})?)", re.IGNORECASE)
_WIDEST_OFFSET = 16  # hours: Moment reads smaller numbers as hours


def _format(pattern: str) -> Function:
    return lambda run, macro, args: formatted(run.context.now, pattern)


def _time(run: Run, macro: Macro, args: list[str]) -> str | None:
    now = run.context.now
    if args and args[0]:
        offset = _UTC_OFFSET.fullmatch(args[0])
        if offset is None or abs(float(offset[1])) >= _WIDEST_OFFSET:
            return None
        now = _moved(now, float(offset[1]))
    return formatted(now, "LT")


def _moved(now: datetime, hours: float) -> datetime:
    try:
        return now.astimezone(timezone(timedelta(hours=hours)))
    except OverflowError:  # a clock at either end of time
        return now


def _datetime(run: Run, macro: Macro, args: list[str]) -> str:
    return formatted(run.context.now, args[0])


def _idle(run: Run, macro: Macro, args: list[str]) -> str | None:
    """How long ago the last user message before the newest message was; unknown without its time."""
    context = run.context
    if context.chat is None:
        return None
    spoken = 0
    earlier = None
    for message in islice(reversed(context.chat.messages), LOOKED_BACK):
        if message.is_system:
            continue
        spoken += 1
        if spoken > 1 and message.is_user:
            earlier = message
            break
    if earlier is None:
        return "just now"
    idle = since(_aware(earlier.sent_at, context), _aware(context.now, context)) if earlier.sent_at else None
    return humanized(idle) if idle is not None else None


def _aware(when: datetime, context: MacroContext) -> datetime:
    if when.tzinfo is not None:
        return when if context.now.tzinfo is not None else when.replace(tzinfo=None)
    return when.replace(tzinfo=context.now.tzinfo)


def _difference(run: Run, macro: Macro, args: list[str]) -> str | None:
    """From the second time to the first: `3 hours ago` when the first is earlier."""
    context = run.context
    first, second = (parsed(arg, context.now.tzinfo) for arg in args)
    if first is None or second is None:
        return None
    length = since(_aware(second, context), _aware(first, context))
    return humanized(length, suffix=True) if length is not None else None


CLOCK: Table = {
    "time": Definition(0, 1, _time),
    "date": Definition(0, 0, _format("LL")),
    "weekday": Definition(0, 0, _format("dddd")),
    "isotime": Definition(0, 0, _format("HH:mm")),
    "isodate": Definition(0, 0, _format("YYYY-MM-DD")),
    "datetimeformat": Definition(1, 1, _datetime, cost=2),
    "idleduration": Definition(0, 0, _idle, cost=20),
    "idle_duration": Definition(0, 0, _idle, cost=20),
    "timediff": Definition(2, 2, _difference, cost=100),
}
