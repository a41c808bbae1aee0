"""Typed shapes of blocks, sources and messages, with the wire's names.

Unknown fields are ignored and unknown block types pass through, so that newer producers can be read.
Source: session spec 1.4; seed 002, 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic.alias_generators import to_camel

__all__ = [
    "AssistantMessage",
    "Block",
    "Content",
    "Count",
    "DeveloperMessage",
    "Ordinal",
    "Shape",
    "Source",
    "SystemMessage",
    "Text",
    "ToolMessage",
    "UserMessage",
]

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
Ordinal: TypeAlias = Annotated[int, Field(ge=1)]


class Shape(BaseModel):
    """A frozen value with camelCase names on the wire; nothing is coerced."""

    model_config = ConfigDict(
        frozen=True, strict=True, alias_generator=to_camel, extra="ignore", protected_namespaces=()
    )


# -- blocks -----------------------------------------------------------------------------------------


class TextBlock(Shape):
    type: Literal["text"]
    text: str


class ReasoningBlock(Shape):
    type: Literal["reasoning"]
    text: str


class ImageAttachment(Shape):
    attachment_id: Text
    media_type: Text
    bytes: Count
    width: Count
    height: Count
    name: str | None = None


class ImageBlock(Shape):
    type: Literal["image"]
    attachment: ImageAttachment
    offloaded: Literal[True] | None = None


class FileAttachment(Shape):
    attachment_id: Text
    name: str
    bytes: Count


class FileBlock(Shape):
    type: Literal["file"]
    attachment: FileAttachment


class ToolCallBlock(Shape):
    type: Literal["tool-call"]
    id: Text
    name: str
    arguments: str


class ToolChangeBlock(Shape):
    type: Literal["tool-addition", "tool-removal"]
    tool_name: Text


class OtherBlock(Shape):
    """A block of a type that this program does not know; kept as it is."""

    type: Text


_BLOCK_TAGS: Final = {
    "text": "text",
    "reasoning": "reasoning",
    "image": "image",
    "file": "file",
    "tool-call": "tool-call",
    "tool-addition": "tool-change",
    "tool-removal": "tool-change",
}


def _block_tag(block: Any) -> str:
    kind = block.get("type") if isinstance(block, Mapping) else getattr(block, "type", None)
    return _BLOCK_TAGS.get(kind, "other") if isinstance(kind, str) else "other"


Block: TypeAlias = Annotated[
    Annotated[TextBlock, Tag("text")]
    | Annotated[ReasoningBlock, Tag("reasoning")]
    | Annotated[ImageBlock, Tag("image")]
    | Annotated[FileBlock, Tag("file")]
    | Annotated[ToolCallBlock, Tag("tool-call")]
    | Annotated[ToolChangeBlock, Tag("tool-change")]
    | Annotated[OtherBlock, Tag("other")],
    Discriminator(_block_tag),
]
Content: TypeAlias = tuple[Block, ...]


# -- messages ---------------------------------------------------------------------------------------


class Source(Shape):
    kind: Text


class SystemSource(Shape):
    kind: Literal["system-prompt"]


class ModelSource(Shape):
    kind: Literal["model"]
    provider: Text
    model: Text
    replay_state: Any = None


class ToolSource(Shape):
    kind: Literal["tool"]
    call_id: Text


class SystemMessage(Shape):
    id: Text
    role: Literal["system"]
    content: Content
    source: SystemSource


class DeveloperMessage(Shape):
    id: Text
    role: Literal["developer"]
    content: Content
    source: Source


class UserMessage(Shape):
    id: Text
    role: Literal["user"]
    content: Content
    source: Source


class AssistantMessage(Shape):
    id: Text
    role: Literal["assistant"]
    content: Content
    source: ModelSource


class ToolMessage(Shape):
    id: Text
    role: Literal["tool"]
    tool_call_id: Text
    is_error: bool | None = None
    content: Content
    source: ToolSource

    @model_validator(mode="after")
    def _same_call(self) -> ToolMessage:
        if self.tool_call_id != self.source.call_id:
            raise ValueError("toolCallId must equal source.callId")
        return self
