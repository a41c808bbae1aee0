"""The replay state of an Anthropic message: signatures of its thinking, and blocks that nobody may read.

`blocks` has one entry for each block of the message in order, `{}` or `{"signature"}`, and between
them `{"opaque"}` entries with wire blocks that are not in the message at all. If the message lost
a block since, the entries do not fit any more and the whole state is worth nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["PROTOCOL", "paired", "replay_state"]

PROTOCOL = "anthropic"


def replay_state(entries: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The state to keep with a message, or None when there is nothing in it."""
    return {"adapter": PROTOCOL, "blocks": list(entries)} if any(entries) else None


def paired(
    content: Sequence[Mapping[str, Any]], state: Mapping[str, Any] | None
) -> Iterator[tuple[Mapping[str, Any] | None, Mapping[str, Any]]]:
    """(block, entry) in wire order. The block is None where the entry is opaque; without a state
    that fits, the entries are empty."""
    entries = state.get("blocks", ()) if state is not None else ()
    if sum("opaque" not in entry for entry in entries) != len(content):
        entries = [{}] * len(content)
    blocks = iter(content)
    for entry in entries:
        yield (None if "opaque" in entry else next(blocks)), entry
