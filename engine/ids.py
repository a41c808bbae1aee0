"""Typed ids and the one way to make a new one."""

from __future__ import annotations

import secrets
from typing import NewType

__all__ = [
    "MessageId",
    "NodeId",
    "OwnerId",
    "PlayId",
    "ResourceId",
    "SessionId",
    "VariantId",
    "new_id",
]

SessionId = NewType("SessionId", str)
MessageId = NewType("MessageId", str)
ResourceId = NewType("ResourceId", str)
PlayId = NewType("PlayId", str)
NodeId = NewType("NodeId", str)
VariantId = NewType("VariantId", str)
OwnerId = NewType("OwnerId", str)
"""Whose library: `guild:<id>` or `user:<id>`."""

_ALPHABET = "0123456789abcdefghijkmnpqrstuvwxyz"  # no l, no o: ids are read aloud in bug reports
_LENGTH = 12  # 34^12 = 2^61: no collision in practice, and short enough for a 100-character custom_id


def new_id(prefix: str) -> str:
    """A fresh random id such as `p_8f3k0m2x91az`; `prefix` is one lower-case letter or word."""
    return prefix + "_" + "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
