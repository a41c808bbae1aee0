"""What must be true of every assembled request. Source: assembler spec 3, step 10; 4.2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from engine.assembler.faults import Remarks, refuse, source_invalid, too_large
from engine.assembler.node import NodeMessage
from engine.assembler.request import MAX_BYTES, AssemblyRequest
from engine.assembler.transactions import check_transactions
from engine.codec import dumps

__all__ = ["added_bytes", "check_result"]

_AROUND: Final = {
    role: len(dumps({"role": role, "content": [{"type": "text", "text": ""}]})) - len(dumps(""))
    for role in ("system", "user", "assistant")
}
"""Bytes of a contributed message around its text."""


def check_result(
    messages: Sequence[NodeMessage], required: Sequence[str], request: AssemblyRequest, remarks: Remarks
) -> int:
    """The bytes that were added.

    Raises AssemblyError NATIVE_MESSAGE_NOT_ONCE, ASSEMBLY_NATIVE_SYSTEM_ORDER, TOOL_TRANSACTION_BROKEN or
    ASSEMBLY_TOO_LARGE.
    """
    _once(messages, required)
    _system_order(messages, request)
    check_transactions(message.native for message in messages)
    if not messages:
        remarks.add("ASSEMBLY_EMPTY")
    elif all(message.role == "system" for message in messages):
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
    return len(dumps([message.text for message in added])) + sum(_AROUND[message.role] for message in added)


def _once(messages: Sequence[NodeMessage], required: Sequence[str]) -> None:
    counts = Counter(message.id for message in messages if message.native is not None)
    if any(counts[message_id] != 1 for message_id in required) or len(counts) != len(required):
        raise source_invalid(
            "Each message of the conversation that the strategy takes must come out exactly once.",
            "NATIVE_MESSAGE_NOT_ONCE",
        )


def _system_order(messages: Sequence[NodeMessage], request: AssemblyRequest) -> None:
    """A native system text keeps its place between the messages of the conversation that come out."""
    included = {message.id for message in messages if message.native is not None}
    place: dict[str, int] = {}
    number = 0
    for message in request.native:
        if message["id"] in included:
            place[message["id"]] = number
            number += message["role"] != "system"
    seen, furthest = 0, -1
    for entry in messages:
        if entry.native is None:
            continue
        if entry.role != "system":
            seen += 1
            furthest = max(furthest, place[entry.id])
        elif seen != place[entry.id] or furthest >= place[entry.id]:
            raise refuse(
                "ASSEMBLY_NATIVE_SYSTEM_ORDER",
                "This order moves messages of the conversation across an update of the system text.",
            )
