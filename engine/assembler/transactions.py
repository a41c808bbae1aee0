"""Tool calls and their results: a unit that nothing may stand inside of. Assembler spec 4.1 and 4.2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.assembler.faults import refuse
from engine.session import Message

__all__ = ["check_transactions", "insertion_index", "safe_places"]


def insertion_index(messages: Sequence[Message], depth: int) -> int:
    """The index that is `depth` messages from the end, moved right out of a tool transaction.

    Raises AssemblyError TOOL_TRANSACTION_BROKEN when the transaction there is not finished.
    """
    place = safe_places(messages)[max(0, len(messages) - depth)]
    if place is None:
        raise unfinished()
    return place


def safe_places(messages: Sequence[Message | None]) -> list[int | None]:
    """For each index 0..n the first one from there on that is in no transaction, or None.

    A contributed message is None here.
    """
    opened: set[str] = set()
    free = [True]
    for message in messages:
        if message is not None:
            opened |= calls(message)
            opened.discard(result_of(message) or "")
        free.append(not opened)
    places: list[int | None] = [None] * len(free)
    at: int | None = None
    for index in range(len(free) - 1, -1, -1):
        at = index if free[index] else at
        places[index] = at
    return places


def check_transactions(messages: Iterable[Message | None]) -> None:
    """Raises AssemblyError TOOL_TRANSACTION_BROKEN unless all results follow their calls at once."""
    opened: set[str] = set()
    for message in messages:
        if opened:
            result = result_of(message) if message is not None else None
            if result not in opened:
                raise _broken("Something stands between a tool call and its results.")
            opened.discard(result)
        elif message is not None:
            if message["role"] == "tool":
                raise _broken("A tool result does not follow its call.")
            opened |= calls(message)
    if opened:
        raise unfinished()


def unfinished() -> Exception:
    """The refusal for a call without all its results."""
    return _broken("A tool call has not got all its results yet.")


def calls(message: Message) -> set[str]:
    """The ids of the calls that a message makes."""
    if message["role"] != "assistant":
        return set()
    return {block["id"] for block in message["content"] if block.get("type") == "tool-call"}


def result_of(message: Message) -> str | None:
    """The call that a message is the result of."""
    if message["role"] != "tool":
        return None
    call_id = message.get("toolCallId") or message.get("source", {}).get("callId")
    return str(call_id)


def _broken(message: str) -> Exception:
    return refuse("TOOL_TRANSACTION_BROKEN", message, status=500)
