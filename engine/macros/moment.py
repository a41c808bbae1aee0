"""Dates and durations as Moment writes them in English, which is what SillyTavern's macros print.

`formatted` knows the tokens of Moment's `format`; `humanized` its rounding. Source: spec
sillytavern 4.3, "Time".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime

__all__ = ["formatted", "humanized", "parsed", "since"]

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTH_DAYS = 146097 / 4800  # of a mean Gregorian month

_TOKEN = re.compile(
    r"\[[^\[\]]*\]|\\.|[Hh]mm(?:ss)?|Mo|M{1,4}|Do|DDDo|D{1,4}|do|d{1,4}|wo|ww?|Wo|WW?|Qo?|N{1,5}"
    r"|Y{1,6}|yo|y{1,4}|g{4,5}|gg|G{4,5}|GG|e|E|a|A|HH?|hh?|kk?|mm?|ss?|S{1,9}|x|X|zz?|ZZ?"
    r"|LTS|LT|L{1,4}|l{1,4}|.",
    re.DOTALL,
)
_LONG = {
    "LTS": "h:mm:ss A",
    "LT": "h:mm A",
    "L": "MM/DD/YYYY",
    "LL": "MMMM D, YYYY",
    "LLL": "MMMM D, YYYY h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "l": "M/D/YYYY",
    "ll": "MMM D, YYYY",
    "lll": "MMM D, YYYY h:mm A",
    "llll": "ddd, MMM D, YYYY h:mm A",
}


def formatted(when: datetime, pattern: str) -> str:
    """The time in Moment's format language; what is no token stays. Linear in the pattern."""
    return "".join(_token(when, found[0]) for found in _TOKEN.finditer(pattern))


def humanized(length: timedelta, *, suffix: bool = False) -> str:
    """`3 hours`; with a suffix `3 hours ago` for a negative length and `in 3 hours` for a positive one."""
    text = _rounded(abs(length.total_seconds()))
    if not suffix:
        return text
    return f"in {text}" if length > timedelta() else f"{text} ago"


def parsed(text: str, zone: tzinfo | None) -> datetime | None:
    """A date as people and programs write it: ISO 8601, RFC 2822, `March 5, 2024 2:07 PM`, `03/05/2024`.

    Without an offset it is in `zone`. None when it is no date.
    """
    text = text.strip()
    if len(text) > _LONGEST_DATE or not _DIGIT.search(text):
        return None
    when = _iso(text) or _mail(text) or _written(text)
    if when is None or when.tzinfo is not None:
        return when
    return when.replace(tzinfo=zone)


def since(earlier: datetime, later: datetime) -> timedelta | None:
    """later - earlier; None when the years are beyond what can be subtracted."""
    try:
        return later - earlier
    except OverflowError:
        return None


# Format tokens


def _ordinal(number: int) -> str:
    last = number % 10
    if number // 10 % 10 == 1 or last not in (1, 2, 3):
        return f"{number}th"
    return f"{number}{('st', 'nd', 'rd')[last - 1]}"


def _weekday(when: datetime) -> int:
    """Sunday is 0."""
    return when.isoweekday() % 7


def _american_week(when: datetime) -> tuple[int, int]:
    """(year, week) where weeks begin on Sundays and week 1 holds January 1."""
    day = when.timetuple().tm_yday
    first = date(when.year, 1, 1).isoweekday() % 7
    week = (day + first - 1) // 7 + 1
    if when.year < 9999 and week > 52:
        following = date(when.year + 1, 1, 1)
        if following.toordinal() - following.isoweekday() % 7 <= when.toordinal():
            return when.year + 1, 1
    return when.year, week


def _offset(when: datetime, colon: str) -> str:
    minutes = round((when.utcoffset() or timedelta()).total_seconds() / 60)
    hours, minutes_left = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}{colon}{minutes_left:02}"


def _zone(when: datetime) -> str:
    return "UTC" if when.tzinfo is not None and when.utcoffset() == timedelta() else ""


def _twelve(when: datetime) -> int:
    return when.hour % 12 or 12


_TOKENS: dict[str, Callable[[datetime], str]] = {
    "M": lambda t: str(t.month),
    "Mo": lambda t: _ordinal(t.month),
    "MM": lambda t: f"{t.month:02}",
    "MMM": lambda t: _MONTHS[t.month - 1][:3],
    "MMMM": lambda t: _MONTHS[t.month - 1],
    "Q": lambda t: str((t.month + 2) // 3),
    "Qo": lambda t: _ordinal((t.month + 2) // 3),
    "D": lambda t: str(t.day),
    "Do": lambda t: _ordinal(t.day),
    "DD": lambda t: f"{t.day:02}",
    "DDD": lambda t: str(t.timetuple().tm_yday),
    "DDDo": lambda t: _ordinal(t.timetuple().tm_yday),
    "DDDD": lambda t: f"{t.timetuple().tm_yday:03}",
    "d": lambda t: str(_weekday(t)),
    "do": lambda t: _ordinal(_weekday(t)),
    "dd": lambda t: _DAYS[_weekday(t)][:2],
    "ddd": lambda t: _DAYS[_weekday(t)][:3],
    "dddd": lambda t: _DAYS[_weekday(t)],
    "e": lambda t: str(_weekday(t)),
    "E": lambda t: str(t.isoweekday()),
    "w": lambda t: str(_american_week(t)[1]),
    "wo": lambda t: _ordinal(_american_week(t)[1]),
    "ww": lambda t: f"{_american_week(t)[1]:02}",
    "W": lambda t: str(t.isocalendar().week),
    "Wo": lambda t: _ordinal(t.isocalendar().week),
    "WW": lambda t: f"{t.isocalendar().week:02}",
    "Y": lambda t: str(t.year),
    "YY": lambda t: f"{t.year % 100:02}",
    "YYYY": lambda t: f"{t.year:04}",
    "YYYYY": lambda t: f"{t.year:05}",
    "YYYYYY": lambda t: f"+{t.year:06}",
    "y": lambda t: str(t.year),
    "yo": lambda t: _ordinal(t.year),
    "yy": lambda t: str(t.year),
    "yyy": lambda t: str(t.year),
    "yyyy": lambda t: str(t.year),
    "N": lambda t: "AD",
    "NN": lambda t: "AD",
    "NNN": lambda t: "AD",
    "NNNN": lambda t: "Anno Domini",
    "NNNNN": lambda t: "AD",
    "gg": lambda t: f"{_american_week(t)[0] % 100:02}",
    "gggg": lambda t: f"{_american_week(t)[0]:04}",
    "ggggg": lambda t: f"{_american_week(t)[0]:05}",
    "GG": lambda t: f"{t.isocalendar().year % 100:02}",
    "GGGG": lambda t: f"{t.isocalendar().year:04}",
    "GGGGG": lambda t: f"{t.isocalendar().year:05}",
    "a": lambda t: "am" if t.hour < 12 else "pm",
    "A": lambda t: "AM" if t.hour < 12 else "PM",
    "H": lambda t: str(t.hour),
    "HH": lambda t: f"{t.hour:02}",
    "h": lambda t: str(_twelve(t)),
    "hh": lambda t: f"{_twelve(t):02}",
    "k": lambda t: str(t.hour or 24),
    "kk": lambda t: f"{t.hour or 24:02}",
    "m": lambda t: str(t.minute),
    "mm": lambda t: f"{t.minute:02}",
    "s": lambda t: str(t.second),
    "ss": lambda t: f"{t.second:02}",
    "Hmm": lambda t: f"{t.hour}{t.minute:02}",
    "Hmmss": lambda t: f"{t.hour}{t.minute:02}{t.second:02}",
    "hmm": lambda t: f"{_twelve(t)}{t.minute:02}",
    "hmmss": lambda t: f"{_twelve(t)}{t.minute:02}{t.second:02}",
    "X": lambda t: str(math.floor(t.timestamp())),
    "x": lambda t: str(math.floor(t.timestamp() * 1000)),
    "z": _zone,
    "zz": _zone,
    "Z": lambda t: _offset(t, ":"),
    "ZZ": lambda t: _offset(t, ""),
}


def _token(when: datetime, token: str) -> str:
    say = _TOKENS.get(token)
    if say is not None:
        return say(when)
    if token in _LONG:
        return formatted(when, _LONG[token])
    if token[0] == "S":  # milliseconds are all that Moment knows
        return f"{when.microsecond // 1000:03}000000"[: len(token)]
    if token[0] == "[":
        return token[1:-1] or token
    return token[1:] if token[0] == "\\" and len(token) > 1 else token


# Durations


def _round(number: float) -> int:
    return math.floor(number + 0.5)


def _rounded(seconds: float) -> str:
    """Moment's thresholds: 45 seconds, 45 minutes, 22 hours, 26 days, 11 months."""
    minutes, hours, days = _round(seconds / 60), _round(seconds / 3600), _round(seconds / 86400)
    months, years = _round(seconds / 86400 / _MONTH_DAYS), _round(seconds / 86400 / _MONTH_DAYS / 12)
    if _round(seconds) < 45:
        return "a few seconds"
    for count, limit, one, many in (
        (minutes, 45, "a minute", "minutes"),
        (hours, 22, "an hour", "hours"),
        (days, 26, "a day", "days"),
        (months, 11, "a month", "months"),
    ):
        if count <= 1:
            return one
        if count < limit:
            return f"{count} {many}"
    return "a year" if years <= 1 else f"{years} years"


# Reading dates

_WRITTEN = (
    "%B %d, %Y %I:%M %p", "%B %d, %Y %I:%M%p", "%B %d, %Y %H:%M", "%B %d, %Y", "%b %d, %Y", "%d %B %Y",
    "%m/%d/%Y %I:%M %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y",
    "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%Y-%m-%d @%Hh %Mm %Ss", "%Y-%m-%d@%Hh%Mm%Ss",
)  # fmt: skip
_DIGIT = re.compile("[0-9]")
_LONGEST_DATE = 64  # characters; longer texts are no dates


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _mail(text: str) -> datetime | None:
    if "," not in text[:5]:  # `Tue, 5 Mar 2024 14:07:09 GMT`
        return None
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None


def _written(text: str) -> datetime | None:
    for pattern in _WRITTEN:
        try:
            return datetime.strptime(text, pattern)
        except ValueError:
            continue
    return None
