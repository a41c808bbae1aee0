"""Tool pairing along the surface: where a history may be cut without parting a call from its result.

Source: session spec 7.5.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import SessionError
from engine.session.consistency import blocks_of, message_of
from engine.session.log import Session

__all__ = ["Balance", "balance"]


@dataclass(frozen=True, slots=True)
class Balance:
    """Whether every call has its result in the nodes before one node, and in those up to and with it."""

    before: bool
    after: bool


def balance(session: Session, seq: int) -> Balance:
    """The balance around a current node. Raises SessionError(category='not-current')."""
    waiting: set[str] = set()
    for node in session.surface.nodes:
        before = not waiting
        event = session.event(node)
        if event.type == "assistant/message":
            blocks = blocks_of(message_of(event))
            waiting.update(block["id"] for block in blocks if block.get("type") == "tool-call")
        elif event.type == "tool/result":
            waiting.discard(event.data["message"]["toolCallId"])
        if node == seq:
            return Balance(before, not waiting)
    raise SessionError(f"seq {seq} is not a current node", code="NOT_CURRENT", category="not-current")
