"""What is known of a model: its limits, what it can read, what it costs, how it wants to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

__all__ = [
    "Dialect",
    "ImageLimits",
    "Modality",
    "ModelInfo",
    "Price",
    "Refusable",
    "SystemPromptUpdate",
    "ToolUpdate",
]

SystemPromptUpdate = Literal["none", "in-history"]
"""Whether a model takes further system messages in the middle of its history (decision 10)."""

ToolUpdate = Literal["none", "in-history"]
"""Whether a model is told in its history that its tools changed, and keeps its cache when they do."""

Modality: TypeAlias = Literal["text", "image"]
"""What a model can read."""

Refusable: TypeAlias = Literal["temperature", "stop"]
"""Fields of a call config that whole families of models refuse."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. `cached_input` is for input that the provider had cached."""

    input: float
    output: float
    cached_input: float | None = None


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """Which pictures a model takes; the others are named to it in words.

    The defaults are what all hosted models with eyes take. `max_bytes` is for one picture as it
    is stored: Anthropic's 5 MiB hold for base64, which is a third longer. `max_total_bytes` keeps
    a request under its 32 MB. `max_count` is the number up to which it takes large pictures, and
    `max_side` the longest side in pixels.
    """

    formats: frozenset[str] = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif"})
    max_bytes: int = 3_932_160
    max_total_bytes: int = 20_971_520
    max_count: int = 20
    max_side: int = 8000


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where servers of one protocol differ in what they accept (spec agent-loop 5.8 to 5.10).

    - `max_tokens_field`: OpenAI's reasoning models refuse `max_tokens`.
    - `effort`: how the reasoning effort is asked for. A field `reasoning_effort`; DeepSeek's
      top-level `thinking: {type}` beside it; OpenRouter's object `reasoning`; or variables of the
      chat template, as llama.cpp hands them on. Effort `off` turns a switch off where there is one.
    - `reasoning_history`: send `reasoning_content` back with every assistant message that had
      reasoning. DeepSeek needs it with tool calls; several others refuse the unknown field.
    - `reasoning_details`: send OpenRouter's opaque `reasoning_details` back with the message that
      they came with.
    - `refuses`, `thinking_refuses`: fields that the model refuses always, or while it reasons;
      they are left out of the call.
    - `stop_limit`: how many stop strings are taken; the first ones are sent.
    - `thinking_budgets`: tokens of thinking for each effort of an Anthropic model that wants a
      number; they come on top of the tokens of the answer. 1024 is the least that it takes.
    - `prompt_cache`: mark the system prompt and the end of the conversation for Anthropic's cache.
      A write costs a quarter more than plain input, a read a tenth of it: it pays when the system
      prompt stays the same from turn to turn.
    """

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    effort: Literal["reasoning_effort", "thinking", "reasoning", "template"] = "reasoning_effort"
    reasoning_history: bool = False
    reasoning_details: bool = False
    refuses: frozenset[Refusable] = frozenset()
    thinking_refuses: frozenset[Refusable] = frozenset()
    stop_limit: Annotated[int, Field(gt=0)] | None = None
    thinking_budgets: Mapping[str, Annotated[int, Field(ge=1024)]] = field(default_factory=dict)
    prompt_cache: bool = False


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
    images: ImageLimits = field(default=ImageLimits())
    system_prompt_update: SystemPromptUpdate = "none"
    tool_update: ToolUpdate = "none"
    price: Price | None = None
    dialect: Dialect = field(default_factory=Dialect)
