"""The tools that there are, the guards over them, and which tools a session has on.

Registering a tool turns it on for nobody. Before every step the waterfall `tools/available` is asked which
names the session has on; its innermost answer is none, and a listener adds what the session, or a strategy,
turned on. The answer holds for the whole step: what the model is told and what it may call are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from engine.agent.tools.tool import Guard, Tool
from engine.errors import AgentError
from engine.hooks import Disposer, Hooks, Scope
from engine.session import Session

__all__ = ["ToolRegistry"]

_NONE: frozenset[str] = frozenset()


class ToolRegistry:
    """Tools by name, and guards in the order of registration."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._guards: list[Guard] = []
        self._on: WeakKeyDictionary[Session, frozenset[str]] = WeakKeyDictionary()

    # -- what there is ---------------------------------------------------------------------------

    def register(self, tool: Tool, *, owner: Scope) -> Disposer:
        """Add a tool until its owner ends. Raises AgentError TOOL_DUPLICATE."""
        if tool.name in self._tools:
            raise AgentError(f"the tool {tool.name} is registered already", code="TOOL_DUPLICATE")
        self._tools[tool.name] = tool
        return owner.effect(lambda: self._tools.pop(tool.name))

    def guard(self, guard: Guard, *, owner: Scope) -> Disposer:
        """Add a guard until its owner ends. No policy and no other guard can overrule it."""

        def watched(call: Any) -> Any:  # an object of its own: one function may guard for two owners
            return guard(call)

        self._guards.append(watched)
        return owner.effect(lambda: self._guards.remove(watched))

    @property
    def names(self) -> frozenset[str]:
        """The names of all tools, whoever has them on."""
        return frozenset(self._tools)

    @property
    def guards(self) -> Sequence[Guard]:
        """The guards as they stand now."""
        return tuple(self._guards)

    # -- what a session has on -------------------------------------------------------------------

    async def settle(self, session: Session, hooks: Hooks, *, scope: Scope | None = None) -> None:
        """Ask `tools/available` which tools the session has on, and hold that until it is asked again.

        Raises what a listener raises; then the session has none on.
        """
        self._on[session] = _NONE
        self._on[session] = await _available(session, hooks, scope)

    async def coming(self, session: Session, hooks: Hooks) -> tuple[dict[str, Any], ...]:
        """What the next step's model would be told, as `schemas`; nothing is held. Raises as `settle`."""
        return self._schemas(await _available(session, hooks, None))

    def get(self, session: Session, name: str) -> Tool | None:
        """The tool, if the session has it on."""
        return self._tools.get(name) if name in self._on.get(session, _NONE) else None

    def schemas(self, session: Session) -> tuple[dict[str, Any], ...]:
        """What this session's model is told, in the order of the names; copies of the caller's own."""
        return self._schemas(self._on.get(session, _NONE))

    def _schemas(self, on: frozenset[str]) -> tuple[dict[str, Any], ...]:
        return tuple(self._tools[name].to_wire() for name in sorted(self._tools) if name in on)


async def _available(session: Session, hooks: Hooks, scope: Scope | None) -> frozenset[str]:
    names: Collection[str] = await hooks.waterfall("tools/available", session, lambda: _NONE, scope=scope)
    return frozenset(names)
