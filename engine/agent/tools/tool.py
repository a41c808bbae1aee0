"""What a tool is, what one call of it carries, and what comes of that call.

A body gets its arguments validated, and a `ToolCall` that it can read the story from but not write
to: whatever is to become of a call stands in its outcome, which the pool logs. A body that was given up
because it did not stop can therefore change nothing any more.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from engine.cancel import CancelToken
from engine.session import Event

__all__ = ["Guard", "NoArguments", "Tool", "ToolArguments", "ToolCall", "ToolError", "ToolOutcome", "failed"]


class ToolArguments(BaseModel):
    """The arguments of a tool. A field that the tool does not know is an error that the model reads:
    to pass over it in silence would do something else than was asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoArguments(ToolArguments):
    """The arguments of a tool that takes none."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call, as policies, guards and bodies see it.

    `arguments` is the JSON value that the model sent, its text as it came (`raw`) where that is no JSON.
    `events` reads the session's log as it stands when it is called; `token` says when to stop.
    """

    session_id: str
    turn: int
    step: int
    call_id: str
    name: str
    raw: str
    arguments: Any
    token: CancelToken
    events: Callable[[], Sequence[Event]]


@dataclass(frozen=True, slots=True)
class ToolError:
    """Why there is no result: `name` and `code` for machines, `reason` what a person gave for it."""

    name: str
    code: str
    reason: str | None = None

    def to_wire(self) -> dict[str, str]:
        wire = {"name": self.name, "code": self.code}
        return wire if self.reason is None else wire | {"reason": self.reason}


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of a call: the text that the model reads, and what else follows from it.

    `concludes_turn` ends the turn with this step, though not before what already waits for the next
    step was answered. `contexts` are texts that enter the next step behind all results of this one; by
    themselves they are no reason for a step.
    """

    text: str
    error: ToolError | None = None
    concludes_turn: bool = False
    contexts: tuple[str, ...] = ()

    @property
    def is_error(self) -> bool:
        return self.error is not None


def failed(text: str, code: str, name: str = "ToolError", reason: str | None = None) -> ToolOutcome:
    """An outcome that the model reads as `Error: text`."""
    return ToolOutcome(text, ToolError(name, code, reason))


Body: TypeAlias = Callable[[Any, ToolCall], Awaitable[ToolOutcome]]
"""Validated arguments and the call in, the outcome out. What it raises becomes an error for the model."""

Guard: TypeAlias = Callable[[ToolCall], "str | Awaitable[str | None] | None"]
"""A reason to refuse the call, or nothing. A guard that fails refuses."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `arguments` is the model of its arguments, whose JSON schema the language model is told.

    `parallel` says whether a call may run beside others: exactly True, or a function of the validated
    arguments that returns exactly True. `finalise` has the last word on the outcome of every call that
    reached the tool.
    """

    name: str
    description: str
    body: Body
    arguments: type[BaseModel] = NoArguments
    parallel: bool | Callable[[Any], bool] = False
    finalise: Callable[[ToolOutcome], ToolOutcome] | None = None
    _schema: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_schema", _schema_of(self.arguments))

    def to_wire(self) -> dict[str, Any]:
        """What a language model is told of it; the caller's own copy."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": copy.deepcopy(self._schema),
        }


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of the arguments without the titles that pydantic makes up from field names."""
    schema = model.model_json_schema()
    schema.pop("description", None)  # the docstring of the class is for us
    schema.setdefault("properties", {})
    untitled: dict[str, Any] = _untitled(schema)
    return untitled


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _untitled(value) for key, value in schema.items() if key != "title"}
    properties = schema.get("properties")
    if isinstance(properties, dict):  # a field may be called title
        kept["properties"] = {name: _untitled(value) for name, value in properties.items()}
    return kept
