"""Lossless JSON, frozen: how every value that enters a log is copied and made immutable.

`freeze` copies a value once and hands back read-only containers: objects become
`FrozenDict`, arrays become tuples. Both are what the stored bytes are written from.
Source: session spec 2 (lossless JSON); seed 002, 1.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeGuard

from engine.codec import Json
from engine.errors import AppendRefused

__all__ = ["MAX_DEPTH", "MAX_SAFE_INTEGER", "NULL", "FrozenDict", "Null", "adopt", "freeze", "is_seq", "thaw"]

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""Integers beyond this lose digits in every JSON reader that has only doubles."""

MAX_DEPTH: Final = 200
"""The JSON writer gives up at 254 levels; an event wraps its data in a few of its own."""


class Null:
    """The type of `NULL`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NULL"


NULL: Final = Null()
"""A JSON null where a plain None means "absent": optional fields of an event's envelope."""


def _refuse(*_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError("a logged value is frozen; append a replacement instead")


class FrozenDict(dict[str, Any]):
    """A JSON object that cannot change. Every value below it is frozen too.

    It is made by `freeze` and `adopt` only: code that meets a FrozenDict trusts it to be deep-frozen.
    All mutators raise TypeError. Equal to a dict with the same members; `copy()` gives a plain dict.
    """

    __slots__ = ()

    __setitem__ = _refuse
    __delitem__ = _refuse
    __ior__ = _refuse
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse
    update = _refuse

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], FrozenDict], tuple[dict[str, Any]]]:
        return (FrozenDict, (dict(self),))


class _NotJson(Exception):
    """A value that JSON cannot hold; the message names where."""


def freeze(value: object, *, category: str = "json-data") -> Json:
    """A detached, deep-frozen copy of a JSON value.

    Accepted: dict with str keys, list, str, bool, None, int within ±(2^53-1), finite float except -0.0,
    and what `freeze` itself made (handed back as it is). A value that occurs twice is copied twice.
    Refused with AppendRefused(category): everything else, namely NaN, ±Infinity, -0.0, larger integers,
    text with lone surrogates (it has no UTF-8), subclasses, cycles, and nesting deeper than MAX_DEPTH.
    """
    try:
        frozen: Json = _freeze(value, ())
        return frozen
    except _NotJson as error:
        raise AppendRefused(f"not lossless JSON: {error}", category=category) from None


def _freeze(value: Any, path: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value)
    if kind is dict:
        inner = _enter(value, path)
        # Most members are plain text: deciding that here saves them a call.
        return FrozenDict(
            {
                key if type(key) is str and key.isascii() else _key(key): (
                    member if type(member) is str and member.isascii() else _freeze(member, inner)
                )
                for key, member in value.items()
            }
        )
    if kind is FrozenDict or value is None or kind is bool:
        return value
    if kind is int:
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            raise _NotJson("an integer beyond 2^53-1")
        return value
    if kind is list or kind is tuple:
        inner = _enter(value, path)
        return tuple(
            [item if type(item) is str and item.isascii() else _freeze(item, inner) for item in value]
        )
    if kind is float:
        if not math.isfinite(value) or (value == 0.0 and math.copysign(1.0, value) < 0):
            raise _NotJson(f"the number {value!r}")
        return value
    raise _NotJson(f"a {kind.__name__}")


def _key(key: Any) -> str:
    if type(key) is not str:
        raise _NotJson(f"a member name that is a {type(key).__name__}")
    return _text(key)


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _NotJson("text with a lone surrogate") from None
    return value


def _enter(value: object, path: tuple[int, ...]) -> tuple[int, ...]:
    identity = id(value)
    if identity in path:
        raise _NotJson("a cycle")
    if len(path) >= MAX_DEPTH:
        raise _NotJson(f"nesting deeper than {MAX_DEPTH}")
    return (*path, identity)


def adopt(value: Any, _depth: int = MAX_DEPTH) -> Any:
    """Freeze a value that a JSON reader has just made: the same result as `freeze`, without its checks.

    Raises ValueError for nesting deeper than MAX_DEPTH, which nothing of ours can have written.
    """
    kind = type(value)
    if kind is dict:
        if not _depth:
            raise ValueError(f"nesting deeper than {MAX_DEPTH}")
        below = _depth - 1
        # Most members are text or numbers: deciding here saves them a call.
        return FrozenDict(
            {
                key: adopt(member, below) if type(member) in _CONTAINERS else member
                for key, member in value.items()
            }
        )
    if kind is list:
        if not _depth:
            raise ValueError(f"nesting deeper than {MAX_DEPTH}")
        below = _depth - 1
        return tuple([adopt(item, below) if type(item) in _CONTAINERS else item for item in value])
    return value


_CONTAINERS: Final = frozenset({dict, list})


def thaw(value: Any) -> Any:
    """A plain, mutable copy: dicts and lists all the way down."""
    if isinstance(value, Mapping):
        return {key: thaw(member) for key, member in value.items()}
    if isinstance(value, (list, tuple, Iterator)):
        return [thaw(item) for item in value]
    return value


def is_seq(value: object) -> TypeGuard[int]:
    """Whether the value is a position in a log: an integer from 0 to 2^53-1 (a bool is none)."""
    return type(value) is int and 0 <= value <= MAX_SAFE_INTEGER
