"""The event types of format 4, and the shapes of chunks that a model stream delivers.

Source: session spec 1.1 to 1.5; seed 002, 2.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "FORMAT_VERSION",
    "HEADER_REASONS",
    "KNOWN_TYPES",
    "LOG_ONLY_TYPES",
    "PROJECTION_TYPES",
    "ROLE_OF",
    "SURFACE_TYPES",
    "BlockEnd",
    "BlockStart",
    "Chunk",
    "Finish",
    "FinishReason",
    "ReasoningDelta",
    "TextDelta",
    "ToolCallDelta",
    "Usage",
    "UsageChunk",
    "is_plugin_type",
]

FORMAT_VERSION: Final = 4

ROLE_OF: Final = {
    "system/message": "system",
    "developer/message": "developer",
    "user/message": "user",
    "assistant/message": "assistant",
    "tool/result": "tool",
}
"""The surface types (they make model messages) and the role of the message that each carries."""

SURFACE_TYPES: Final = frozenset(ROLE_OF)

PROJECTION_TYPES: Final = frozenset({"image/offload"})
"""Declared message projections: without an interpreter for them a log cannot be read."""

HEADER_REASONS: Final = frozenset({"initial", "resume", "change", "series"})

LOG_ONLY_TYPES: Final = frozenset(
    {
        "agent-preset/selected",
        "agent/inbox/spliced",
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "assistant/attempt",
        "command/done",
        "command/run",
        "compaction/end",
        "compaction/prune",
        "compaction/start",
        "compaction/summary",
        "deliverables/presented",
        "feedback/message-delete",
        "feedback/message-put",
        "feedback/record",
        "goal/change",
        "hook/invoked",
        "hook/result",
        "image/offload",
        "job/registered",
        "job/settled",
        "llm/retry",
        "llm/retry-started",
        "model/selection",
        "permission/preset",
        "plan/mode",
        "request/context",
        "request/header",
        "sandbox/mode",
        "schedule/change",
        "session-log-deepseek/delivery-accepted",
        "session/end-seed",
        "session/title",
        "session/title-llm-request",
        "step/end",
        "step/start",
        "subagent/catalog",
        "subagent/descriptor",
        "subagent/model-selection-policy",
        "todo/write",
        "tool/call",
        "tool/ptc-dispatch",
        "tool/ptc-dispatch-start",
        "turn/end",
        "turn/start",
        "web/deepseek-search-llm-request",
        "working-directory/change",
        "workspace/changes",
    }
)

KNOWN_TYPES: Final = SURFACE_TYPES | LOG_ONLY_TYPES

_PLUGIN_TYPE: Final = re.compile(r"plugin:[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*")


def is_plugin_type(event_type: str) -> bool:
    """Whether the type names a plugin record: `plugin:` and lower-case segments, split by slashes."""
    return _PLUGIN_TYPE.fullmatch(event_type) is not None


FinishKind: TypeAlias = Literal["stop", "tool-calls", "max-tokens", "aborted", "error"]


class Usage(TypedDict):
    """Tokens of one call, as the provider counted them."""

    inputTokens: int
    outputTokens: int
    cachedInputTokens: NotRequired[int]
    reasoningTokens: NotRequired[int]


class FinishReason(TypedDict):
    """How a stream ended; `failure` only with aborted and error."""

    kind: FinishKind
    failure: NotRequired[dict[str, Any]]


class BlockStart(TypedDict):
    type: Literal["block-start"]
    index: int
    blockType: str


class TextDelta(TypedDict):
    type: Literal["text-delta"]
    index: int
    text: str


class ReasoningDelta(TypedDict):
    type: Literal["reasoning-delta"]
    index: int
    text: str


class ToolCallDelta(TypedDict):
    type: Literal["tool-call-delta"]
    index: int
    id: str
    name: NotRequired[str]
    argumentsDelta: str


class BlockEnd(TypedDict):
    type: Literal["block-end"]
    index: int
    block: dict[str, Any]


class UsageChunk(TypedDict):
    type: Literal["usage"]
    usage: Usage


class Finish(TypedDict):
    type: Literal["finish"]
    reason: FinishReason
    replayState: NotRequired[Any]


Chunk: TypeAlias = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | Finish
"""One part of a model stream, in wire form."""
