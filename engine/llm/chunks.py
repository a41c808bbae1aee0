"""Builders of the chunks that adapters yield."""

from __future__ import annotations

from typing import Any

from engine.codec import Json
from engine.llm.adapter import Chunk
from engine.llm.failure import Failure

__all__ = [
    "DELTA_OF",
    "aborted",
    "block_end",
    "block_start",
    "failed",
    "finished",
    "reasoning_delta",
    "text_delta",
    "tool_call_delta",
    "usage",
]

DELTA_OF = {"text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "tool-call"}
"""Which type of block a delta belongs to."""


def block_start(index: int, block_type: str) -> Chunk:
    return {"type": "block-start", "index": index, "blockType": block_type}


def text_delta(index: int, text: str) -> Chunk:
    return {"type": "text-delta", "index": index, "text": text}


def reasoning_delta(index: int, text: str) -> Chunk:
    return {"type": "reasoning-delta", "index": index, "text": text}


def tool_call_delta(index: int, call_id: str, arguments: str, name: str | None = None) -> Chunk:
    chunk: dict[str, Any] = {"type": "tool-call-delta", "index": index, "id": call_id}
    if name is not None:
        chunk["name"] = name
    return chunk | {"argumentsDelta": arguments}


def block_end(index: int, block: dict[str, Any]) -> Chunk:
    return {"type": "block-end", "index": index, "block": block}


def usage(counts: dict[str, int]) -> Chunk:
    return {"type": "usage", "usage": counts}


def finished(kind: str, replay_state: Json = None) -> Chunk:
    """A successful end: `stop`, `tool-calls` or `max-tokens`; with what the adapter wants back later."""
    chunk: dict[str, Any] = {"type": "finish", "reason": {"kind": kind}}
    return chunk if replay_state is None else chunk | {"replayState": replay_state}


def failed(failure: Failure) -> Chunk:
    return {"type": "finish", "reason": {"kind": "error", "failure": failure.to_wire()}}


def aborted() -> Chunk:
    """The end of a call that its caller stopped."""
    failure = Failure("The answer was stopped.", "ABORTED")
    return {"type": "finish", "reason": {"kind": "aborted", "failure": failure.to_wire()}}
