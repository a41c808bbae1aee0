"""Bytes of a file that a person gave us → a JSON value that is safe to walk, store and hash.

Lenient where SillyTavern's files are known to be broken (byte order marks, invalid
UTF-8, control characters, lone surrogates, JSON inside a JSON string), strict where
leniency would cost: size, depth, NaN. Source: spec sillytavern 1.2, 1.3.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

from engine.errors import ResourceError
from engine.resources.diagnostic import Diagnostics

__all__ = ["DocumentKind", "Shape", "check_shape", "depth_of", "read_document"]

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_INTEGERS = range(-(2**63), 2**64)  # what the stored JSON can hold
_INT_DIGITS = 20
_MARKS = (
    1_000_000  # of `[`, `{` and `,`: a value of that many pieces takes 200 MB, and no honest file has them
)
_WRAPPINGS = 2  # how often a card was seen to be JSON inside a JSON string, and one more


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """What kind of file is read: its name for people, the code of a refusal, its limits."""

    noun: str  # with article: "a character card"
    invalid: str
    too_large: str
    max_bytes: int
    max_depth: int = 64


@dataclass(frozen=True, slots=True)
class Shape:
    """How deep, wide and long a JSON value is. Depth counts containers; a scalar has depth 0."""

    depth: int
    nodes: int
    longest_string: int
    longest_key: int


def read_document(data: bytes, kind: DocumentKind, notes: Diagnostics) -> Any:
    """The JSON value of a file.

    Guarantees: no deeper than `kind.max_depth`, no NaN or infinity, integers that fit 64 bits,
    no lone surrogates, so it can be stored as canonical JSON. Raises ResourceError with
    `kind.invalid` (and line and column when it is not JSON) or `kind.too_large`.
    """
    if len(data) > kind.max_bytes:
        raise ResourceError(
            f"The text of {kind.noun} may have {_size(kind.max_bytes)}; this one has {_size(len(data))}.",
            code=kind.too_large,
            bytes=len(data),
            max_bytes=kind.max_bytes,
        )
    if sum(map(data.count, (b"[", b"{", b","))) > _MARKS:
        raise ResourceError(f"This is not {kind.noun}: it has far too many values.", code=kind.too_large)
    value = _parse(_text(data, notes), kind, notes)
    for _ in range(_WRAPPINGS):
        if not isinstance(value, str):
            break
        notes.warn("double-encoded-json", "The file held JSON inside a JSON string; it was unpacked.")
        value = _parse(value, kind, notes)
    _check_depth(value, kind)
    return value


def depth_of(value: Any) -> int:
    """How many containers a JSON value has inside one another; a scalar has depth 0. No recursion."""
    depth = 0
    level: list[Any] = [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def check_shape(value: Any) -> Shape:
    """Measure a JSON value without recursion, so that no depth can overflow the stack."""
    depth = nodes = longest = longest_key = 0
    level: list[Any] = [value]
    while level:
        below: list[Any] = []
        containers = False
        for item in level:
            nodes += 1
            if isinstance(item, str):
                longest = max(longest, len(item))
            elif isinstance(item, dict):
                containers = True
                if item:
                    longest_key = max(longest_key, max(map(len, item)))
                    below.extend(item.values())
            elif isinstance(item, list):
                containers = True
                below.extend(item)
        depth += containers
        level = below
    return Shape(depth, nodes, longest, longest_key)


def _text(data: bytes, notes: Diagnostics) -> str:
    encoding = "utf-8"
    for mark, name in _BOMS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], name
            notes.info("byte-order-mark", "A byte order mark at the start was skipped.")
            break
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        notes.warn("invalid-utf8", "Some bytes were no valid text and became \N{REPLACEMENT CHARACTER}.")
        return data.decode(encoding, "replace")


def _parse(text: str, kind: DocumentKind, notes: Diagnostics) -> Any:
    try:
        return orjson.loads(text)  # strict, so what it takes needs no mending; and five times as fast
    except orjson.JSONDecodeError:
        value = _parse_leniently(text, kind)
        _check_depth(value, kind)  # before it is walked by recursion
        return _storable(value, notes)


def _check_depth(value: Any, kind: DocumentKind) -> None:
    if depth_of(value) > kind.max_depth:
        _refuse(
            f"This file is nested more than {kind.max_depth} levels deep.",
            kind,
            why="nested-deep",
            limit=kind.max_depth,
        )


def _parse_leniently(text: str, kind: DocumentKind) -> Any:
    try:
        return json.loads(
            text,
            strict=False,  # raw control characters inside strings, as the wild has them
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        _refuse(
            f"This is not {kind.noun}: its JSON breaks off at line {error.lineno}, "
            f"column {error.colno} ({error.msg}).",
            kind,
            line=error.lineno,
            column=error.colno,
        )
    except RecursionError:
        _refuse(
            f"This file is nested more than {kind.max_depth} levels deep.",
            kind,
            why="nested-deep",
            limit=kind.max_depth,
        )
    except ValueError as error:
        _refuse(f"This is not {kind.noun}: {error}.", kind)


def _refuse(message: str, kind: DocumentKind, **data: Any) -> NoReturn:
    raise ResourceError(message, code=kind.invalid, **data) from None


def _integer(digits: str) -> int | float:
    if len(digits) <= _INT_DIGITS and (number := int(digits)) in _INTEGERS:
        return number
    return _finite(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _storable(value: Any, notes: Diagnostics) -> Any:
    try:
        orjson.dumps(value)
    except TypeError:
        notes.warn("lone-surrogates", "Broken characters became \N{REPLACEMENT CHARACTER}.")
        return _whole(value)
    return value


def _whole(value: Any) -> Any:
    # Recursion is safe: the depth has been checked.
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return value


def _size(count: int) -> str:
    return f"{count / 1048576:.1f} MiB" if count >= 1048576 else f"{max(1, count // 1024)} KiB"
