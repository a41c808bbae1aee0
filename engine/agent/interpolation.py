"""Variables in prompt texts: `{{name}}`, strictly.

A placeholder that cannot be filled in fails the turn and names the text it stands in, because
a model that reads `{{weather}}` plays on with it. Only texts that were registered with
`interpolate` are looked at: cards are full of `{{user}}`, and those texts arrive expanded.
Source: spec agent-loop 4.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import AgentError

__all__ = ["Filled", "Span", "interpolate", "is_variable_name"]

# From an opening pair to the next closing one, whatever stands between: `{{` alone is text.
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Span:
    """Where the value of a variable stands in a filled text: code points from `start` to before `end`."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its values in place."""

    text: str
    spans: tuple[Span, ...] = ()


def is_variable_name(name: str) -> bool:
    """Lower-case letters, digits and underscores, a letter first."""
    return _NAME.fullmatch(name) is not None


def interpolate(text: str, variables: Mapping[str, str | None], *, where: str) -> Filled:
    """Fill in the variables. Values are not looked at again.

    Raises AgentError PROMPT_VARIABLE, which names `where`, for a placeholder that is no variable's name,
    and for a variable that nobody registered or that has no value now (None). Its data says which
    `placeholder` and its place: `start` and `end` in `text`.
    """
    parts: list[str] = []
    spans: list[Span] = []
    read = written = 0
    for found in _PLACEHOLDER.finditer(text):
        name = found[1]
        value = variables.get(name)
        if value is None:
            raise AgentError(
                f"The prompt section {where} cannot be filled in: {found[0]} {_fault(name, variables)}.",
                code="PROMPT_VARIABLE",
                section=where,
                placeholder=found[0],
                start=found.start(),
                end=found.end(),
            )
        literal = text[read : found.start()]
        written += len(literal)
        spans.append(Span(name, written, written + len(value)))
        parts += [literal, value]
        written += len(value)
        read = found.end()
    return Filled("".join([*parts, text[read:]]), tuple(spans))


def _fault(name: str, variables: Mapping[str, str | None]) -> str:
    if not is_variable_name(name):
        return "is not the name of a variable"
    return "has no value now" if name in variables else "is a variable that nobody registered"
