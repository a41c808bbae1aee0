"""What the system prompt is made of: registered sections and runtime contexts.

A section is part of the system text. A context is a runtime fact that enters history as
a snapshot message, sent once and again only when it changed (spec agent-loop 4). Texts
are literal: whoever registers one has expanded its macros.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from engine.cancel import CancelToken
from engine.errors import AgentError
from engine.hooks import Disposer, Hooks, Scope
from engine.session import Message, Session

__all__ = ["AssembleContext", "Assembly", "Context", "Part", "Section", "SystemPrompt"]


@dataclass(frozen=True, slots=True)
class AssembleContext:
    """For whom a prompt is assembled: the session, and the batch that was just claimed for this step.

    The batch is not in the session's history yet; activation of lore must read it here,
    since after assembly the system text is frozen (seed 000, section 5).
    """

    session: Session
    claimed: Sequence[Message]
    token: CancelToken


Text: TypeAlias = str | Callable[[AssembleContext], str | Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Section:
    """A named part of the system text; sections stand in the order of (order, name)."""

    name: str
    order: float
    text: Text


@dataclass(frozen=True, slots=True)
class Context:
    """A named runtime fact. `required` ones survive any transformation of the assembly.

    A context's text is read again, synchronously, when the step is admitted, so its
    provider must not be a coroutine.
    """

    name: str
    order: float
    text: str | Callable[[AssembleContext], str]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One evaluated section or context."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Assembly:
    """The frozen outcome of one assembly."""

    sections: tuple[Part, ...]
    contexts: tuple[Part, ...]
    tools: tuple[Any, ...] = field(default=())

    @property
    def system_text(self) -> str:
        """Non-empty sections joined by a blank line."""
        return "\n\n".join(part.text for part in self.sections if part.text)


class SystemPrompt:
    """The registry. Names are unique within a kind; a duplicate raises AgentError."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._sections: dict[str, Section] = {}
        self._contexts: dict[str, Context] = {}

    def section(self, section: Section, *, owner: Scope) -> Disposer:
        return self._register(self._sections, section.name, section, owner)

    def context(self, context: Context, *, owner: Scope) -> Disposer:
        return self._register(self._contexts, context.name, context, owner)

    async def assemble(self, context: AssembleContext) -> Assembly:
        """Evaluate everything, then let `system-prompt/assemble` transform it.

        The waterfall's result stands, except that required contexts come back if it lost
        or changed them.
        """
        sections: list[Part] = []
        for section in _sorted(self._sections.values()):
            sections.append(Part(section.name, await _text(section.text, context)))
        contexts = tuple(self._evaluate(c, context) for c in _sorted(self._contexts.values()))
        proposed = Assembly(tuple(sections), tuple(part for part in contexts if part.text))
        accepted = await self._hooks.waterfall(
            "system-prompt/assemble", (proposed, context), lambda: proposed
        )
        return self._with_required(accepted, context)

    def refresh(self, assembly: Assembly, context: AssembleContext) -> Assembly:
        """Read the contexts again now; sections and tools stay frozen (spec agent-loop 4.5).

        What the waterfall removed stays removed, what it added stays; required ones are put back.
        """
        renewed = tuple(
            self._evaluate(self._contexts[part.name], context) if part.name in self._contexts else part
            for part in assembly.contexts
        )
        kept = tuple(part for part in renewed if part.text)
        return self._with_required(replace(assembly, contexts=kept), context)

    def _with_required(self, assembly: Assembly, context: AssembleContext) -> Assembly:
        required = {c.name: self._evaluate(c, context) for c in self._contexts.values() if c.required}
        if not required:
            return assembly
        parts = [required.pop(part.name, part) for part in assembly.contexts]
        parts += required.values()
        return replace(assembly, contexts=tuple(part for part in parts if part.text))

    @staticmethod
    def _evaluate(item: Context, context: AssembleContext) -> Part:
        return Part(item.name, item.text if isinstance(item.text, str) else item.text(context))

    @staticmethod
    def _register(registry: dict[str, Any], name: str, item: Any, owner: Scope) -> Disposer:
        if name in registry:
            raise AgentError(f"{name} is registered already", code="PROMPT_DUPLICATE")
        registry[name] = item
        return owner.effect(lambda: registry.pop(name))


def _sorted(items: Any) -> list[Any]:
    return sorted(items, key=lambda item: (item.order, item.name))


async def _text(text: Text, context: AssembleContext) -> str:
    if isinstance(text, str):
        return text
    outcome = text(context)
    if inspect.isawaitable(outcome):
        outcome = await outcome
        context.token.check()
    return outcome
