"""The tools that a step may call, and how one call becomes a logged result.

A call is recorded before anything happens and its result afterwards, in the model's
order, so that history always pairs (spec agent-loop 3.7). A call to a tool that nobody
registered is answered with an error that the model can read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.cancel import Cancelled, CancelToken
from engine.errors import AgentError
from engine.hooks import Disposer, Scope
from engine.ids import new_id
from engine.session import Session, tool_message

__all__ = ["Tool", "ToolRegistry", "run_calls"]

ToolBody: TypeAlias = Callable[[str, CancelToken], Awaitable[str]]
"""Raw JSON arguments and the turn's token in, the text of the result out; what it raises becomes an error."""


@dataclass(frozen=True, slots=True)
class Tool:
    """`parameters` is a JSON schema object."""

    name: str
    description: str
    parameters: Any
    body: ToolBody

    def to_wire(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


class ToolRegistry:
    """Tools by name. Empty unless somebody turns tools on."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool, *, owner: Scope) -> Disposer:
        if tool.name in self._tools:
            raise AgentError(f"the tool {tool.name} is registered already", code="TOOL_DUPLICATE")
        self._tools[tool.name] = tool
        return owner.effect(lambda: self._tools.pop(tool.name))

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def schemas(self) -> tuple[dict[str, Any], ...]:
        """What the model is told, in the order of the names."""
        return tuple(self._tools[name].to_wire() for name in sorted(self._tools))


async def run_calls(
    session: Session, registry: ToolRegistry, calls: list[Any], turn: int, step: int, token: CancelToken
) -> None:
    """Answer every call of one assistant message, one after the other.

    After a cancel no further body starts: those calls get an `ABORTED_BEFORE_DISPATCH`
    result, and Cancelled is raised when all are answered.
    """
    for call in calls:
        recorded = session.append(
            "tool/call",
            {
                "turn": turn,
                "step": step,
                "callId": call["id"],
                "name": call["name"],
                "arguments": call["arguments"],
            },
        )
        text, error = await _answer(registry, call, token)
        data: dict[str, Any] = {
            "turn": turn,
            "step": step,
            "message": tool_message(
                new_id("tool"), call["id"], f"Error: {text}" if error else text, is_error=error is not None
            ),
        }
        if error is not None:
            data["error"] = error
        session.append("tool/result", data, surface_op="append", source_event_seqs=[recorded.seq])
    token.check()


async def _answer(registry: ToolRegistry, call: Any, token: CancelToken) -> tuple[str, dict[str, str] | None]:
    if token.cancelled:
        return "the turn was stopped before this began", _error("AbortError", "ABORTED_BEFORE_DISPATCH")
    tool = registry.get(call["name"])
    if tool is None:
        return f'unknown tool "{call["name"]}"', _error("ToolNotFoundError", "UNKNOWN_TOOL")
    try:
        text = await token.race(tool.body(call["arguments"], token))
    except Cancelled:
        return "the turn was stopped while this ran", _error("AbortError", "ABORTED")
    except Exception as failure:  # what a tool raises is for the model to read, not for the loop to die of
        return str(failure) or type(failure).__name__, _error(type(failure).__name__, "TOOL_FAILED")
    return text, None


def _error(name: str, code: str) -> dict[str, str]:
    return {"name": name, "code": code}
