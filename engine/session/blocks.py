"""Block assembly: a stream of chunks becomes the content of an assistant message.

Source: session spec 1.5, 11; agent-loop spec 5.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from engine.session.messages import reasoning_block, text_block, tool_call_block

__all__ = ["BlockAssembler"]

_KIND_OF_DELTA: Final = {"text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "tool-call"}
_VISIBLE: Final = frozenset({"text", "reasoning"})


class _Block:
    """One block being written; `final` once its end came."""

    __slots__ = ("call_id", "final", "kind", "name", "parts")

    def __init__(self, kind: str, call_id: str = "") -> None:
        self.kind = kind
        self.parts: list[str] = []
        self.call_id = call_id
        self.name = ""
        self.final: Mapping[str, Any] | None = None

    def value(self) -> Mapping[str, Any]:
        if self.final is not None:
            return self.final
        text = "".join(self.parts)
        if self.kind == "tool-call":
            return tool_call_block(self.call_id, self.name, text)
        return reasoning_block(text) if self.kind == "reasoning" else text_block(text)


class BlockAssembler:
    """Feed it every chunk; read the blocks when the stream is over, or whenever it was cut.

    Blocks stand in the order in which their index first appeared. The first kind of an index stays its
    kind; deltas of another kind are ignored. A block-end is authoritative and final.
    """

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._replay_state: Any = None
        self.usage: Mapping[str, Any] | None = None
        self.finish: Mapping[str, Any] = {"kind": "stop"}

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Take the next chunk. Types that are not known are ignored."""
        kind = chunk["type"]
        if kind in _KIND_OF_DELTA:
            self._delta(_KIND_OF_DELTA[kind], chunk)
        elif kind == "block-start":
            self._start(chunk["blockType"], chunk["index"])
        elif kind == "block-end":
            self._end(chunk)
        elif kind == "usage":
            self.usage = chunk["usage"]
        elif kind == "finish":
            self.finish = chunk["reason"]
            self._replay_state = chunk.get("replayState")

    def blocks(self) -> list[Mapping[str, Any]]:
        """The content of the message. After a max-tokens finish without its tool calls: they may be cut."""
        values = [block.value() for block in self._blocks.values()]
        if self.finish["kind"] == "max-tokens":
            return [value for value in values if value.get("type") != "tool-call"]
        return values

    def interrupted_blocks(self) -> list[Mapping[str, Any]]:
        """What may be kept of a stream that a person stopped: text and reasoning that are not blank."""
        values = (block.value() for block in self._blocks.values())
        return [value for value in values if value.get("type") in _VISIBLE and value["text"].strip()]

    @property
    def replay_state(self) -> Any:
        """What the adapter wants back with this message; None once blocks of it were dropped."""
        return self._replay_state if len(self.blocks()) == len(self._blocks) else None

    def _start(self, kind: str, index: int) -> None:
        if index not in self._blocks and kind in _KIND_OF_DELTA.values():
            self._blocks[index] = _Block(kind, call_id=f"call-{index}")

    def _delta(self, kind: str, chunk: Mapping[str, Any]) -> None:
        block = self._blocks.setdefault(chunk["index"], _Block(kind))
        if block.final is not None or block.kind != kind:
            return
        if kind != "tool-call":
            block.parts.append(chunk["text"])
            return
        block.parts.append(chunk["argumentsDelta"])
        block.call_id = chunk["id"]
        block.name = chunk.get("name") or block.name

    def _end(self, chunk: Mapping[str, Any]) -> None:
        final = chunk["block"]
        block = self._blocks.setdefault(chunk["index"], _Block(str(final.get("type"))))
        if block.final is None:
            block.final = final
