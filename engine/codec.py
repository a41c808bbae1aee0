"""JSON bytes and their hashes: the one place where values become bytes and back.

Canonical bytes have sorted keys and no spaces, so equal values have equal hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import orjson

__all__ = ["Json", "JsonObject", "canonical", "digest", "dumps", "json_hash", "loads", "text_hash"]

# A JSON value, read-only where it comes from a log. `Any` in the containers keeps
# access to nested wire fields readable; the shapes are checked where values enter.
Json: TypeAlias = bool | int | float | str | Sequence[Any] | Mapping[str, Any] | None
JsonObject: TypeAlias = Mapping[str, Any]


def dumps(value: Json) -> bytes:
    """Compact JSON bytes in the value's own key order. Raises TypeError for what JSON cannot hold."""
    return _trimmed(orjson.dumps(value))


def canonical(value: Json) -> bytes:
    """Compact JSON bytes with sorted keys: the form that is stored and hashed."""
    return _trimmed(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def loads(data: bytes | str) -> Any:
    """The value of JSON text. Raises ValueError when it is not JSON."""
    return orjson.loads(data)


def digest(data: bytes) -> bytes:
    """SHA-256, 32 bytes."""
    return hashlib.sha256(data).digest()


def json_hash(value: Json) -> str:
    """SHA-256 of the canonical bytes of a value, in hex: equal for equal values, frozen or not."""
    return digest(canonical(value)).hex()


def text_hash(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hex. Halves of a character are hashed as they are."""
    return digest(text.encode("utf-8", "surrogatepass")).hex()


def _trimmed(data: bytes) -> bytes:
    # orjson hands out a buffer of at least 1 KiB (about 8 KiB held, measured);
    # what is kept must be copied to its real size.
    return bytes(memoryview(data))
