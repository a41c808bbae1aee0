"""Typed shapes of what events hold: what may be appended, field by field.

The log itself carries frozen JSON; `parse` gives an event's data as its model to whoever wants
attributes. Source: session spec 1.2, 1.3; seed 002, 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from engine.errors import AppendRefused
from engine.session.event import Event
from engine.session.shapes import (
    AssistantMessage,
    Content,
    Count,
    DeveloperMessage,
    Ordinal,
    Shape,
    Source,
    SystemMessage,
    Text,
    ToolMessage,
    UserMessage,
)

__all__ = ["AssistantData", "CallConfig", "RequestHeader", "TokenUsage", "check_shape", "parse"]

Object: TypeAlias = dict[str, Any]


class TokenUsage(Shape):
    input_tokens: Count
    output_tokens: Count
    cached_input_tokens: Count | None = None
    reasoning_tokens: Count | None = None


class InTurn(Shape):
    turn: Ordinal


class InStep(InTurn):
    step: Ordinal


class EndReason(Shape):
    kind: Literal["completed", "aborted", "blocked", "error", "max-tokens", "interrupted", "forked"]
    reason: Source | None = None
    error: Object | None = None

    @model_validator(mode="after")
    def _cause_given(self) -> EndReason:
        if (self.kind == "aborted") is not (self.reason is not None):
            raise ValueError("an aborted turn, and no other, has a reason")
        if (self.kind == "error") is not (self.error is not None):
            raise ValueError("a failed turn, and no other, has an error")
        return self


class TurnEnd(InTurn):
    reason: EndReason


class SystemData(InStep):
    message: SystemMessage


class DeveloperData(InStep):
    message: DeveloperMessage
    header_seq: Count | None = None


class AssistantData(InStep):
    message: AssistantMessage
    stream: tuple[Any, ...]
    usage: TokenUsage | None = None
    interrupted: Literal[True] | None = None


class AttemptData(InStep):
    stream: tuple[Any, ...]


class ToolCallData(InStep):
    call_id: Text
    name: str
    arguments: str


class ToolFailure(Shape):
    name: Text
    code: Text
    reason: str | None = None


class ToolResultData(InStep):
    message: ToolMessage
    error: ToolFailure | None = None


class CallConfig(Shape):
    provider: Text
    model: Text
    reasoning_effort: Text | None = None
    temperature: float | int | None = None
    max_tokens: Count | None = None
    stop: tuple[str, ...] | None = None


class AdapterDefaults(Shape):
    model_config = ConfigDict(extra="forbid")

    reasoning_effort: Literal[True] | None = None
    max_tokens: Literal[True] | None = None


class RequestHeader(Shape):
    config: CallConfig
    adapter_defaults: AdapterDefaults | None = None
    tools: tuple[Object, ...] | None = None

    @model_validator(mode="after")
    def _defaults_are_of_the_config(self) -> RequestHeader:
        defaults = self.adapter_defaults
        if defaults is not None and any(
            getattr(defaults, name) and getattr(self.config, name) is None
            for name in ("reasoning_effort", "max_tokens")
        ):
            raise ValueError("adapterDefaults flag a field that the config lacks")
        return self


class RequestHeaderData(Shape):
    header: RequestHeader
    reason: Literal["initial", "resume", "change", "series"]
    starts_series: Literal[True] | None = None


class RequestContextData(Shape):
    provider: Text
    model: Text
    context_window: Count | None = None
    system_prompt_update: Literal["in-history"] | None = None


class EndSeedData(Shape):
    inherited: Literal[True] | None = None


class InboxSplice(Shape):
    target: Literal["next-turn", "next-step"]
    start: Count
    inserted: tuple[UserMessage, ...]
    removed_count: Count | None = None
    outcome: Literal["canceled"] | None = None


class Range(Shape):
    start: Count
    end: Count


class CompactionStart(Shape):
    compaction_id: Text
    turn: Ordinal | None
    source_command_id: Text | None = None


class CompactionSummary(Shape):
    compaction_id: Text
    summary: Content
    shadowed_range: Range
    shadowed_seqs: tuple[Count, ...]
    shadowed_token_count: Count
    provider: Text
    model: Text
    max_tokens: Count | None = None
    usage: TokenUsage | None = None
    source_command_id: Text | None = None


class CompactionEnd(CompactionStart):
    error: Any = None


class CompactionPrune(Shape):
    shadowed_range: Range
    shadowed_seqs: tuple[Count, ...]
    shadowed_token_count: Count


class OffloadTarget(Shape):
    seq: Count
    image_indexes: tuple[Count, ...]


class ImageOffload(Shape):
    targets: tuple[OffloadTarget, ...]


class Retry(InStep):
    retry_id: Text
    provider: Text
    mode: Text
    policy_key: Text
    retry: Ordinal
    max_retries: Count | None = None
    delay_ms: Annotated[float | int, Field(ge=0)]
    failure: Object


class RetryStarted(InStep):
    retry_id: Text
    retry: Ordinal


class ModelSelection(Shape):
    provider: Text
    model: Text
    reasoning_effort: Text | None = None


class Title(Shape):
    title: str
    message_seqs: tuple[Count, ...]
    source: Source


_SHAPE_OF: Final[Mapping[str, type[Shape]]] = {
    "turn/start": InTurn,
    "turn/end": TurnEnd,
    "step/start": InStep,
    "step/end": InStep,
    "system/message": SystemData,
    "developer/message": DeveloperData,
    "user/message": UserMessage,
    "assistant/message": AssistantData,
    "assistant/attempt": AttemptData,
    "tool/call": ToolCallData,
    "tool/result": ToolResultData,
    "request/header": RequestHeaderData,
    "request/context": RequestContextData,
    "session/end-seed": EndSeedData,
    "agent/inbox/spliced": InboxSplice,
    "compaction/start": CompactionStart,
    "compaction/summary": CompactionSummary,
    "compaction/end": CompactionEnd,
    "compaction/prune": CompactionPrune,
    "image/offload": ImageOffload,
    "llm/retry": Retry,
    "llm/retry-started": RetryStarted,
    "model/selection": ModelSelection,
    "session/title": Title,
}
_VALIDATOR_OF: Final = {kind: TypeAdapter(shape).validator for kind, shape in _SHAPE_OF.items()}


def check_shape(event: Event) -> None:
    """Raises AppendRefused(category='shape') when the data is not what events of the type hold.

    Types without a shape here pass.
    """
    validator = _VALIDATOR_OF.get(event.type)
    if validator is None:
        return
    try:
        validator.validate_python(event.data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "data"
        raise AppendRefused(
            f"{event.type} at seq {event.seq}: {where}: {first['msg']}", category="shape", seq=event.seq
        ) from None


def parse(event: Event) -> Shape:
    """The data of an event as its model. Raises KeyError for a type without one, AppendRefused as above."""
    check_shape(event)
    return _SHAPE_OF[event.type].model_validate(event.data)
