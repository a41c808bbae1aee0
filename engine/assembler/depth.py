"""Texts at a depth: before the n-th message from the end of the conversation. Source: assembler spec 4.1.

All places are found on the conversation as it is before anything is inserted: what is inserted counts for
nothing, so that one walk serves any number of texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.assembler.node import Node
from engine.assembler.transactions import safe_places, unfinished

__all__ = ["at_depths"]


def at_depths(nodes: Sequence[Node], deferred: Sequence[Node]) -> list[Node]:
    """The nodes with the deferred ones where they belong; a native node around such a place is split.

    Raises AssemblyError TOOL_TRANSACTION_BROKEN when a place is inside an unfinished transaction.
    """
    if not deferred:
        return list(nodes)
    messages = [message.native for node in nodes for message in node.messages]
    counted = [
        at for at, message in enumerate(messages) if message is not None and message["role"] != "system"
    ]
    places = safe_places(messages)
    inserted: dict[int, list[Node]] = {}
    for node in _in_order(deferred):
        wanted = _place(node.depth or 0, counted, len(messages))
        place = places[wanted]
        if place is None:
            raise unfinished()
        node.lock_reason = "depth"
        node.adjusted_for_tools = place != wanted
        inserted.setdefault(place, []).append(node)
    return _merged(nodes, inserted)


def _in_order(deferred: Sequence[Node]) -> list[Node]:
    """Depths in the order in which they were first met; inside one by order, lower first."""
    depths: dict[int, list[Node]] = {}
    for node in deferred:
        depths.setdefault(node.depth or 0, []).append(node)
    return [node for group in depths.values() for node in sorted(group, key=lambda node: node.order)]


def _place(depth: int, counted: Sequence[int], end: int) -> int:
    if depth == 0 or not counted:
        return end
    return counted[max(0, len(counted) - depth)]


def _merged(nodes: Sequence[Node], inserted: dict[int, list[Node]]) -> list[Node]:
    merged: list[Node] = []
    at = 0
    for node in nodes:
        merged += inserted.pop(at, ())
        size = len(node.messages)
        inside = sorted(place - at for place in inserted if at < place < at + size)
        if inside:
            messages = node.messages
            node.messages = messages[: inside[0]]
            merged.append(node)
            for offset, following in zip(inside, [*inside[1:], size], strict=True):
                merged += inserted.pop(at + offset)
                merged.append(node.part(offset, messages[offset:following]))
        else:
            merged.append(node)
        at += size
    return merged + inserted.pop(at, [])
