"""What is known of a model: its limits, what it can read, what it costs, how it wants to be asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Dialect", "ModelInfo", "Price", "SystemPromptUpdate"]

SystemPromptUpdate = Literal["none", "in-history"]
"""Whether a model takes further system messages in the middle of its history (decision 10)."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. `cached_input` is for input that the provider had cached."""

    input: float
    output: float
    cached_input: float | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where OpenAI-compatible servers differ in what they accept (spec agent-loop 5.8, 5.9).

    - `max_tokens_field`: OpenAI's reasoning models refuse `max_tokens`.
    - `reasoning_history`: send `reasoning_content` back with every assistant message that had
      reasoning. DeepSeek needs it with tool calls; several others refuse the unknown field.
    - `thinking_switch`: DeepSeek's top-level `thinking: {type}`; effort `off` turns it off.
    """

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    reasoning_history: bool = False
    thinking_switch: bool = False


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model at one provider. None means that we do not know.

    `context_window` and `max_output` are tokens. `default_max_tokens` and `default_effort`
    fill a call that names none. `reasoning_efforts` None leaves the judgement to the server;
    an empty tuple says that the model has no efforts.
    """

    provider: str
    model: str
    context_window: int | None = None
    max_output: int | None = None
    default_max_tokens: int | None = None
    reasoning_efforts: tuple[str, ...] | None = None
    default_effort: str | None = None
    modalities: frozenset[str] = frozenset({"text"})
    system_prompt_update: SystemPromptUpdate = "none"
    price: Price | None = None
    dialect: Dialect = field(default=Dialect())
