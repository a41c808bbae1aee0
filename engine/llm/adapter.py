"""The seam to a provider: a request goes in, chunks come out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from engine.cancel import CancelToken
from engine.llm.config import CallConfig
from engine.llm.model import ModelInfo

__all__ = ["Adapter", "Chunk", "LlmRequest", "Message"]

Chunk: TypeAlias = Mapping[str, Any]
"""Part of a stream in wire form (agent-loop 5.2): `{"type": "text-delta", "index": 0, "text": "Hi"}`."""

Message: TypeAlias = Mapping[str, Any]
"""A frozen message of the log in wire form: `id`, `role`, `content` blocks, `source`."""


@dataclass(frozen=True, slots=True)
class LlmRequest:
    """One call in full. `messages` are sent as they stand: nothing is added on the way.

    `tools` are `{"name", "description", "parameters"}` with a JSON schema. `images` holds the
    bytes of attachments by attachment id; an image without bytes is named to the model instead.
    """

    config: CallConfig
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    session_id: str | None = None
    purpose: str | None = None
    images: Mapping[str, bytes] = field(default_factory=dict)


class Adapter(Protocol):
    """One provider.

    `stream` yields chunks and ends with a `finish`; what it raises becomes one. It must end
    soon after `token` is cancelled, with its connection closed, even when the other side
    never answers. Closing the iterator early frees everything too.
    """

    @property
    def provider(self) -> str: ...

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model; a name that nobody knows gives an empty record, not an error."""
        ...

    def stream(self, request: LlmRequest, token: CancelToken) -> AsyncIterator[Chunk]: ...

    async def aclose(self) -> None: ...
