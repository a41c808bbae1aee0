"""What the system prompt is made of: sections, runtime facts, variables, and their assembly.

A section is part of the system text. A context is a runtime fact that enters history as
a snapshot message, sent once and again only when it changed (spec agent-loop 4). Texts are
literal unless they ask to be interpolated: whoever registers a text of a card, a preset or a
book has expanded its macros, and what is left of braces in it is meant to be read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from engine.agent.interpolation import interpolate
from engine.cancel import CancelToken
from engine.hooks import Scope
from engine.session import Message, Session

__all__ = [
    "AssembleContext",
    "Assembly",
    "Context",
    "ContextOrder",
    "Part",
    "Section",
    "SectionOrder",
    "Text",
    "Variable",
]


class SectionOrder:
    """Where sections stand (spec agent-loop 4.1). Between two of these there is room for others."""

    IDENTITY: Final = -1000
    """What the program is."""
    PREFIX: Final = 0
    """The deployment's own words before the story."""
    STORY: Final = 10
    """The profile of cast, preset and lore (seed 003)."""
    FEATURES: Final = 500
    """What parts of the program ask of the model, up to 900."""
    TOOLS: Final = 1000
    """How to use tools, up to 3100."""
    OUTPUT: Final = 9_900
    """The form of the answer."""
    SOURCES: Final = 10_000
    """Where an answer is read, up to 10100."""
    SUFFIX: Final = 10_200
    """The deployment's last words."""


class ContextOrder:
    """Where runtime facts stand in a snapshot."""

    SCENE: Final = 0
    """What a table wants known: place, time, weather."""
    APPROVAL: Final = 115
    """What needs somebody's consent."""
    DELEGATION: Final = 120
    """For whom a delegated agent works."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class AssembleContext:
    """For whom a prompt is assembled: the session, and the batch that was just claimed for this step.

    Each assembly has its own, equal to no other: what belongs to one assembly is held by it.

    The batch is not in the session's history yet; activation of lore must read it here, since after
    assembly the system text is frozen (seed 000, section 5). `scope` is that of the agent; without
    one (a preview) only what is registered for all agents is assembled.
    """

    session: Session
    claimed: Sequence[Message]
    token: CancelToken
    scope: Scope | None = None


Text: TypeAlias = str | Callable[[AssembleContext], str | Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Section:
    """A named part of the system text; sections stand in the order of (order, name).

    `interpolate` fills in variables; without it the text is literal. A `complete` section is the whole
    system text, whatever else is registered; two of them are an error.
    """

    name: str
    order: float
    text: Text
    interpolate: bool = False
    complete: bool = False


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
    interpolate: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """What `{{name}}` stands for; read at each assembly. None says that it has no value now.

    Names are lower-case letters, digits and underscores, a letter first.
    """

    name: str
    value: Callable[[AssembleContext], str | Awaitable[str | None] | None]


@dataclass(frozen=True, slots=True)
class Part:
    """One evaluated section or context, before its variables are filled in."""

    name: str
    text: str
    interpolate: bool = False


@dataclass(frozen=True, slots=True)
class Assembly:
    """The frozen outcome of one assembly. `required` names the contexts that no transformation removes.

    `tools` are what the model is offered, deep-frozen: `{"name", "description", "parameters"}`.
    """

    sections: tuple[Part, ...]
    contexts: tuple[Part, ...]
    tools: tuple[Any, ...] = ()
    variables: Mapping[str, str | None] = field(default_factory=dict)
    required: frozenset[str] = frozenset()

    @property
    def system_text(self) -> str:
        """Sections joined by a blank line, empty ones left out. Raises AgentError PROMPT_VARIABLE."""
        return "\n\n".join(part.text for part in self.said)

    @property
    def said(self) -> tuple[Part, ...]:
        """The sections as they are said, empty ones left out. Raises AgentError PROMPT_VARIABLE."""
        return self._rendered(self.sections)

    @property
    def facts(self) -> tuple[Part, ...]:
        """The contexts as a snapshot says them, empty ones left out. Raises AgentError PROMPT_VARIABLE."""
        return self._rendered(self.contexts)

    def _rendered(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(rendered for part in parts if (rendered := self._render(part)).text)

    def _render(self, part: Part) -> Part:
        if not part.interpolate:
            return part
        return Part(part.name, interpolate(part.text, self.variables, where=part.name).text)
