"""Tool calls put together from the fragments of a stream.

Servers number fragments by `index`, but some leave it out, use 0 for every call, send a whole
call at once, repeat the name, or bring the id late (spec agent-loop 5.8, 5.9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.codec import dumps, loads
from engine.llm import chunks
from engine.llm.adapter import Chunk

__all__ = ["ToolCalls"]


class _Call:
    """One call being put together. `wire_id` is the server's own id, once it came."""

    def __init__(self, index: int, slot: int | None, call_id: str) -> None:
        self.index = index
        self.slot = slot
        self.id = call_id
        self.wire_id = ""
        self.name = ""
        self.arguments: list[str] = []

    @property
    def complete(self) -> bool:
        """Whether the arguments so far are a whole JSON value."""
        try:
            loads("".join(self.arguments))
        except ValueError:
            return False
        return True


class ToolCalls:
    """The calls of one answer, in the order in which they first appeared."""

    def __init__(self, take_index: Callable[[], int], new_call_id: Callable[[], str]) -> None:
        self._take_index = take_index
        self._new_call_id = new_call_id
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def feed(self, fragment: Mapping[str, Any]) -> tuple[list[Chunk], int]:
        """The chunks of one entry of `delta.tool_calls`, and how many characters of arguments it brought."""
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else fragment
        slot = fragment.get("index")
        slot = slot if isinstance(slot, int) and not isinstance(slot, bool) else None
        wire_id = fragment.get("id")
        wire_id = wire_id if isinstance(wire_id, str) else ""
        name = function.get("name")
        name = name if isinstance(name, str) else ""
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping | list):
            arguments = dumps(arguments).decode("utf-8")
        arguments = arguments if isinstance(arguments, str) else ""

        out: list[Chunk] = []
        call = self._find(slot, wire_id, name if arguments.strip() else "")
        if call is None:
            call = _Call(self._take_index(), slot, "")
            self._calls.append(call)
            out.append(chunks.block_start(call.index, "tool-call"))
        self._identify(call, wire_id)
        call.name = name or call.name
        call.arguments.append(arguments)
        out.append(chunks.tool_call_delta(call.index, call.id, arguments, name or None))
        return out, len(arguments)

    def end(self) -> list[Chunk]:
        """The ends of all calls. A call without arguments gets an empty object, which always parses."""
        return [
            chunks.block_end(
                call.index,
                {
                    "type": "tool-call",
                    "id": call.id,
                    "name": call.name,
                    "arguments": "".join(call.arguments).strip() or "{}",
                },
            )
            for call in self._calls
        ]

    def _find(self, slot: int | None, wire_id: str, name: str) -> _Call | None:
        """The call that a fragment continues, or None for a new one."""
        if slot is not None:
            # The newest call of that number: some servers number every call 0.
            same = [call for call in self._calls if call.slot == slot]
        elif wire_id and (known := [call for call in self._calls if call.wire_id == wire_id]):
            return known[0]
        else:
            same = self._calls
        if not same:
            return None
        call = same[-1]
        if wire_id and call.wire_id:
            return call if wire_id == call.wire_id else None
        if wire_id and slot is None and name:
            return None  # a whole call after one that never had an id
        # A name again after complete arguments opens the next call; otherwise it is a repetition.
        return None if name and call.name and call.complete else call

    def _identify(self, call: _Call, wire_id: str) -> None:
        """Keep the server's id unless another call has it: two calls of one id could not be answered."""
        if wire_id and not call.wire_id:
            call.wire_id = wire_id
            if not any(other is not call and other.id == wire_id for other in self._calls):
                call.id = wire_id
        call.id = call.id or self._new_call_id()
