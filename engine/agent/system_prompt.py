"""The registry of prompt parts, in layers, and how an assembly comes out of them.

What is registered for all agents lies in the lowest layer; what is registered in a scope lies
above it, and hides what has the same name below. Source: spec agent-loop 4.1, 4.2, 4.5.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, TypeVar

import structlog

from engine.agent.interpolation import is_variable_name
from engine.agent.prompt import AssembleContext, Assembly, Context, Part, Section, Variable
from engine.errors import AgentError
from engine.hooks import Disposer, Hooks, Scope
from engine.session import freeze

__all__ = ["REST", "SystemPrompt", "ToolsProvider"]

log = structlog.get_logger(__name__)

T = TypeVar("T")

ToolsProvider: TypeAlias = Callable[[AssembleContext], Sequence[Mapping[str, Any]]]
"""The schemas that it offers in this step: `{"name", "description", "parameters"}`."""

REST: Final = "*"
"""In a configured order of tools: all that are not named, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class _Tools:
    provider: ToolsProvider
    known: Callable[[], Collection[str]]


@dataclass(slots=True)
class _Layer:
    """What is registered for all agents, or in one scope."""

    sections: dict[str, Section] = field(default_factory=dict)
    contexts: dict[str, Context] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    tools: list[_Tools] = field(default_factory=list)
    suppressors: int = 0


class SystemPrompt:
    """The registry. Every registration, and every end of one, announces `system-prompt/change`.

    With `scope` a registration holds for the agent of that scope and for those that it delegates to; the
    nearest of a name wins. A name that its layer has already raises AgentError PROMPT_DUPLICATE, an order
    that is no number PROMPT_ORDER.

    `tool_order` names the tools that stand first and last, with `REST` between them for all others;
    without it tools stand by their names. Raises AgentError PROMPT_TOOL_ORDER unless `REST` is in it once.
    """

    def __init__(self, hooks: Hooks, tool_order: Sequence[str] = ()) -> None:
        if tool_order and (tool_order.count(REST) != 1 or len(set(tool_order)) != len(tool_order)):
            raise AgentError(
                f"An order of tools names each once, and {REST} once for all others.",
                code="PROMPT_TOOL_ORDER",
            )
        self._hooks = hooks
        self._tool_order = tuple(tool_order)
        self._layers: dict[Scope | None, _Layer] = {}
        self._warned: set[str] = set()

    # -- registering ---------------------------------------------------------------------------

    def section(self, section: Section, *, owner: Scope, scope: Scope | None = None) -> Disposer:
        _check_order(section)
        return self._register("section", self._layer(scope).sections, section, owner, scope)

    def context(self, context: Context, *, owner: Scope, scope: Scope | None = None) -> Disposer:
        _check_order(context)
        return self._register("context", self._layer(scope).contexts, context, owner, scope)

    def variable(self, variable: Variable, *, owner: Scope, scope: Scope | None = None) -> Disposer:
        """Raises AgentError PROMPT_VARIABLE_NAME too."""
        if not is_variable_name(variable.name):
            raise AgentError(f"{variable.name!r} cannot name a variable", code="PROMPT_VARIABLE_NAME")
        return self._register("variable", self._layer(scope).variables, variable, owner, scope)

    def tools(
        self,
        provider: ToolsProvider,
        *,
        owner: Scope,
        scope: Scope | None = None,
        known: Callable[[], Collection[str]] = tuple,
    ) -> Disposer:
        """Offer tools. `known` names those that exist though they may not be offered now."""
        layer, tools = self._layer(scope), _Tools(provider, known)
        layer.tools.append(tools)
        return self._announced("tools", "", lambda: layer.tools.remove(tools), owner, scope)

    def suppress_contexts(self, *, owner: Scope, scope: Scope | None = None) -> Disposer:
        """While any suppressor stands, facts that are not required are not sent."""
        layer = self._layer(scope)
        layer.suppressors += 1

        def undo() -> None:
            layer.suppressors -= 1

        return self._announced("suppressor", "", undo, owner, scope)

    # -- assembling ------------------------------------------------------------------------------

    async def assemble(self, context: AssembleContext) -> Assembly:
        """Evaluate everything, then let `system-prompt/assemble` transform it; nothing is filled in yet.

        The waterfall's result stands, except that a complete section is put back as the only one, that a
        suppressor empties the contexts, and that required contexts come back if it lost or changed them.
        Raises AgentError PROMPT_COMPLETE for two complete sections, PROMPT_DUPLICATE when a name stands
        twice in the result; what a provider raises passes through.
        """
        layers = self._around(context.scope)
        variables: dict[str, str | None] = {}
        for name, variable in _merged(layer.variables for layer in layers).items():
            variables[name] = await _read(variable.value, context)
        registered = _sorted(_merged(layer.sections for layer in layers).values())
        complete = [section.name for section in registered if section.complete]
        if len(complete) > 1:
            raise AgentError(
                f"More than one section is the whole prompt: {', '.join(complete)}.", code="PROMPT_COMPLETE"
            )
        sections = [
            Part(
                section.name,
                section.text if isinstance(section.text, str) else await _read(section.text, context),
                section.interpolate,
            )
            for section in registered
        ]
        contexts = _sorted(_merged(layer.contexts for layer in layers).values())
        facts = [_evaluate(item, context) for item in contexts]
        proposed = Assembly(
            sections=tuple(sections),
            contexts=tuple(part for part in facts if part.text),
            tools=self._offered(layers, context),
            variables=variables,
            required=frozenset(item.name for item in contexts if item.required),
        )
        accepted: Assembly = await self._hooks.waterfall(
            "system-prompt/assemble", (proposed, context), lambda: proposed, scope=context.scope
        )
        whole = [part for part in sections if part.name in complete]
        accepted = replace(
            accepted,
            sections=tuple(whole) or accepted.sections,
            tools=tuple(freeze(tool) for tool in accepted.tools),
            variables=variables,
            required=proposed.required,
        )
        _refuse_twins("sections", (part.name for part in accepted.sections))
        _refuse_twins("facts", (part.name for part in accepted.contexts))
        _refuse_twins("tools", (tool["name"] for tool in accepted.tools))
        return self._settled(accepted, [part for part in facts if part.name in proposed.required], layers)

    def refresh(self, assembly: Assembly, context: AssembleContext) -> Assembly:
        """Read the contexts again now; sections, tools and variables stay frozen (spec agent-loop 4.5).

        What the waterfall removed stays removed, what it added stays; required ones are put back.
        """
        layers = self._around(context.scope)
        registered = _merged(layer.contexts for layer in layers)
        required = [item for item in _sorted(registered.values()) if item.required]
        read = {
            part.name: _evaluate(registered[part.name], context)
            for part in assembly.contexts
            if part.name in registered
        }
        renewed = tuple(read.get(part.name, part) for part in assembly.contexts)
        facts = [read.get(item.name) or _evaluate(item, context) for item in required]
        assembly = replace(assembly, contexts=renewed, required=frozenset(item.name for item in required))
        return self._settled(assembly, facts, layers)

    @staticmethod
    def _settled(assembly: Assembly, required: Sequence[Part], layers: Sequence[_Layer]) -> Assembly:
        """With the required facts in place, and none but those while a suppressor stands."""
        missing = {part.name: part for part in required}
        if any(layer.suppressors for layer in layers):
            parts: list[Part] = []
        else:
            parts = [missing.pop(part.name, part) for part in assembly.contexts]
        parts += missing.values()
        return replace(assembly, contexts=tuple(part for part in parts if part.text))

    # -- tools -------------------------------------------------------------------------------------

    def _offered(self, layers: Sequence[_Layer], context: AssembleContext) -> tuple[Any, ...]:
        offered: dict[str, Mapping[str, Any]] = {}
        known: set[str] = set()
        for layer in layers:
            here = [tool for tools in layer.tools for tool in tools.provider(context)]
            _refuse_twins("tools", (tool["name"] for tool in here))
            offered |= {tool["name"]: tool for tool in here}
            known.update(*(tools.known() for tools in layer.tools))
        self._warn_of_strangers(known | offered.keys())
        return tuple(freeze(dict(offered[name])) for name in self._ordered(offered))

    def _ordered(self, names: Collection[str]) -> list[str]:
        by_name = sorted(names, key=_code_units)
        if not self._tool_order:
            return by_name
        rest = [name for name in by_name if name not in self._tool_order]
        at = self._tool_order.index(REST)
        first, last = self._tool_order[:at], self._tool_order[at + 1 :]
        named = names.__contains__
        return [*filter(named, first), *rest, *filter(named, last)]

    def _warn_of_strangers(self, known: Collection[str]) -> None:
        """A misspelt name in the order would silently stand among the rest."""
        strangers = {name for name in self._tool_order if name != REST and name not in known} - self._warned
        if strangers:
            self._warned |= strangers
            log.warning("prompt.tool_order_unknown", tools=sorted(strangers))

    # -- layers --------------------------------------------------------------------------------------

    def _layer(self, scope: Scope | None) -> _Layer:
        return self._layers.setdefault(scope, _Layer())

    def _around(self, scope: Scope | None) -> Sequence[_Layer]:
        """The layers that hold in a scope, the lowest first."""
        scopes = (None, *(scope.lineage if scope is not None else ()))
        return [self._layers[each] for each in scopes if each in self._layers]

    def _register(
        self, kind: str, registry: dict[str, Any], item: Any, owner: Scope, scope: Scope | None
    ) -> Disposer:
        if item.name in registry:
            raise AgentError(f"{item.name} is registered already", code="PROMPT_DUPLICATE")
        registry[item.name] = item
        return self._announced(kind, item.name, lambda: registry.pop(item.name), owner, scope)

    def _announced(
        self, kind: str, name: str, undo: Callable[[], object], owner: Scope, scope: Scope | None
    ) -> Disposer:
        def end() -> None:
            undo()
            if scope in self._layers and self._layers[scope] == _Layer():
                del self._layers[scope]
            self._hooks.emit("system-prompt/change", kind, name, scope=scope)

        try:
            disposer = owner.effect(end)
        except BaseException:
            undo()  # an owner that has ended owns nothing
            raise
        self._hooks.emit("system-prompt/change", kind, name, scope=scope)
        return disposer


def _check_order(item: Section | Context) -> None:
    if not math.isfinite(item.order):
        raise AgentError(f"{item.name} has no place: its order is {item.order}", code="PROMPT_ORDER")


def _merged(layers: Iterable[Mapping[str, T]]) -> dict[str, T]:
    merged: dict[str, T] = {}
    for layer in layers:
        merged |= layer
    return merged


def _sorted(items: Iterable[Any]) -> list[Any]:
    return sorted(items, key=lambda item: (item.order, _code_units(item.name)))


def _code_units(text: str) -> bytes:
    """Sorts as JavaScript does, by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def _evaluate(item: Context, context: AssembleContext) -> Part:
    text = item.text if isinstance(item.text, str) else item.text(context)
    return Part(item.name, text, item.interpolate)


async def _read(source: Callable[[AssembleContext], T | Awaitable[T]], context: AssembleContext) -> T:
    outcome = source(context)
    if isinstance(outcome, Awaitable):
        outcome = await outcome
        context.token.check()
    return outcome


def _refuse_twins(kind: str, names: Iterable[str]) -> None:
    twins = sorted(name for name, count in Counter(names).items() if count > 1)
    if twins:
        raise AgentError(
            f"Two {kind} of the prompt have one name: {', '.join(twins)}", code="PROMPT_DUPLICATE"
        )
