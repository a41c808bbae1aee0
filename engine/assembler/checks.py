"""What must be true of every assembled request. Source: assembler spec 3, step 10; 4.2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Final

from engine.assembler.faults import Remarks, refuse, source_invalid, too_large
from engine.assembler.node import NodeMessage
from engine.assembler.request import MAX_BYTES, AssemblyRequest
from engine.assembler.transactions import check_transactions
from engine.codec import dumps
from engine.session import Message

__all__ = ["added_bytes", "check_result"]

_AROUND: Final = {
    role: len(dumps({"role": role, "content": [{"type": "text", "text": ""}]})) - len(dumps(""))
    for role in ("system", "user", "assistant")
}
"""Bytes of a contributed message around its text."""


def check_result(
    messages: Sequence[NodeMessage], required: Set[str], request: AssemblyRequest, remarks: Remarks
) -> int:
    """The bytes that were added.

    Raises AssemblyError NATIVE_MESSAGE_NOT_ONCE, ASSEMBLY_NATIVE_SYSTEM_ORDER, TOOL_TRANSACTION_BROKEN or
    ASSEMBLY_TOO_LARGE.
    """
    native = [message.native for message in messages if message.native is not None]
    _once(native, required)
    _system_order(native, request)
    check_transactions(message.native for message in messages)
    if not messages:
        remarks.add("ASSEMBLY_EMPTY")
    elif all(message.role == "system" for message in reversed(messages)):  # the last one seldom is
        remarks.add("ASSEMBLY_SYSTEM_ONLY")
    extra = added_bytes(messages)
    most = min(request.max_bytes, MAX_BYTES)
    if extra > most:
        raise too_large(extra, most)
    return extra


def added_bytes(messages: Sequence[NodeMessage]) -> int:
    """UTF-8 bytes of the contributed messages as a JSON array."""
    added = [message for message in messages if message.native is None]
    if not added:
        return 0
    # the bodies differ in role and text only, so that only the texts need to be written out
    return len(dumps([message.text for message in added])) + sum(
        _AROUND[role] * count for role, count in Counter([message.role for message in added]).items()
    )


def _once(native: Sequence[Message], required: Set[str]) -> None:
    ids = {message["id"] for message in native}
    if len(ids) != len(native) or ids != required:
        raise source_invalid(
            "Each message of the conversation that the strategy takes must come out exactly once.",
            "NATIVE_MESSAGE_NOT_ONCE",
        )


def _system_order(native: Sequence[Message], request: AssemblyRequest) -> None:
    """A native system text keeps its place between the messages of the conversation that come out."""
    if all(message["role"] != "system" for message in native):
        return
    included = {message["id"] for message in native}
    place: dict[str, int] = {}
    number = 0
    for message in request.native:
        if message["id"] in included:
            place[message["id"]] = number
            number += message["role"] != "system"
    seen, furthest = 0, -1
    for message in native:
        at = place[message["id"]]
        if message["role"] != "system":
            seen += 1
            furthest = max(furthest, at)
        elif seen != at or furthest >= at:
            raise refuse(
                "ASSEMBLY_NATIVE_SYSTEM_ORDER",
                "This order moves messages of the conversation across an update of the system text.",
            )
