"""Messages of the model's history: how they are built, and what is read from them.

A message is a frozen mapping `{id, role, content, source}` with the wire's names, the same object
in the event, in the derived history and in the request. Source: session spec 1.4; seed 002, 2.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from engine.codec import Json
from engine.session.frozen import FrozenDict, freeze

__all__ = [
    "HUMAN",
    "SYSTEM_SOURCE",
    "Message",
    "assistant_message",
    "developer_message",
    "message_text",
    "reasoning_block",
    "system_message",
    "text_block",
    "tool_call_block",
    "tool_message",
    "user_message",
]

Message: TypeAlias = Mapping[str, Any]

HUMAN: Final = FrozenDict({"kind": "user"})
"""The source of what a person wrote, when nothing more is known of them."""

SYSTEM_SOURCE: Final = FrozenDict({"kind": "system-prompt"})


def text_block(text: str) -> FrozenDict:
    return _frozen({"type": "text", "text": text})


def reasoning_block(text: str) -> FrozenDict:
    return _frozen({"type": "reasoning", "text": text})


def tool_call_block(call_id: str, name: str, arguments: str) -> FrozenDict:
    """`arguments` is the raw JSON text that the model wrote, unparsed."""
    return _frozen({"type": "tool-call", "id": call_id, "name": name, "arguments": arguments})


def user_message(
    message_id: str, content: str | Iterable[Json], source: Mapping[str, Any] = HUMAN
) -> FrozenDict:
    """A user message. Text becomes one text block; `source` needs a non-empty `kind`."""
    return _message(message_id, "user", content, source)


def system_message(message_id: str, content: str | Iterable[Json]) -> FrozenDict:
    """A system prompt. Empty text gives a message without blocks, which derives to nothing."""
    return _message(message_id, "system", content or (), SYSTEM_SOURCE)


def developer_message(
    message_id: str, content: str | Iterable[Json], source: Mapping[str, Any]
) -> FrozenDict:
    """What the program tells the model of itself: blocks `tool-addition` and `tool-removal`, or text."""
    return _message(message_id, "developer", content, source)


def assistant_message(
    message_id: str,
    content: str | Iterable[Json],
    *,
    provider: str,
    model: str,
    replay_state: Json = None,
) -> FrozenDict:
    """A model's answer. `replay_state` is kept for the adapter that made it and never read by others."""
    source: dict[str, Json] = {"kind": "model", "provider": provider, "model": model}
    if replay_state is not None:
        source["replayState"] = replay_state
    return _message(message_id, "assistant", content, source)


def tool_message(
    message_id: str, call_id: str, content: str | Iterable[Json], *, is_error: bool = False
) -> FrozenDict:
    """The result of the tool call `call_id`."""
    return _frozen(
        {
            "id": message_id,
            "role": "tool",
            "toolCallId": call_id,
            "isError": is_error,
            "source": {"kind": "tool", "callId": call_id},
            "content": _content(content),
        }
    )


def message_text(message: Message) -> str:
    """The text blocks of the message, joined; reasoning, images and tool calls are left out."""
    return "".join(
        block["text"]
        for block in message.get("content", ())
        if isinstance(block, Mapping) and block.get("type") == "text"
    )


def _message(
    message_id: str, role: str, content: str | Iterable[Json], source: Mapping[str, Any]
) -> FrozenDict:
    source = source if isinstance(source, FrozenDict) else dict(source)
    return _frozen({"id": message_id, "role": role, "content": _content(content), "source": source})


def _content(content: str | Iterable[Json]) -> list[Json]:
    return [text_block(content)] if isinstance(content, str) else list(content)


def _frozen(value: dict[str, Any]) -> FrozenDict:
    return cast("FrozenDict", freeze(value))
