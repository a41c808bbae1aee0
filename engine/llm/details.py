"""OpenRouter's `reasoning_details`: what a reasoning model must get back unchanged, opaque to us.

They stream in pieces: pieces of one index are one detail, whose texts are joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["PROTOCOL", "Details", "details_of"]

PROTOCOL = "openai"
"""The name under which an OpenAI-compatible adapter keeps replay state."""

# The fields that arrive bit by bit; in all others the last word counts.
_GROWING = ("text", "summary", "data")


class Details:
    """The details of one answer, put together."""

    def __init__(self) -> None:
        self._details: list[dict[str, Any]] = []

    def feed(self, pieces: Any) -> int:
        """Take `delta.reasoning_details`; returns how many characters it brought."""
        if not isinstance(pieces, list):
            return 0
        size = 0
        for piece in pieces:
            if isinstance(piece, Mapping):
                size += sum(len(piece[name]) for name in _GROWING if isinstance(piece.get(name), str))
                self._take(piece)
        return size

    @property
    def replay_state(self) -> dict[str, Any] | None:
        return {"adapter": PROTOCOL, "reasoningDetails": self._details} if self._details else None

    def _take(self, piece: Mapping[str, Any]) -> None:
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(name) != piece.get(name) for name in ("type", "index")):
            self._details.append(dict(piece))
            return
        for name, value in piece.items():
            if name in _GROWING and isinstance(value, str) and isinstance(last.get(name), str):
                last[name] += value
            elif value is not None:
                last[name] = value


def details_of(state: Mapping[str, Any] | None) -> list[Any]:
    """The details in a replay state, as they go back."""
    return list(state.get("reasoningDetails", ())) if state is not None else []
