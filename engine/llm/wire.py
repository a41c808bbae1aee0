"""Requests in the shape of an OpenAI-compatible server: a pure function of what is in the log.

Spec agent-loop 5.8, 5.9. Nothing is invented here except placeholders where a server would
refuse an empty or unseen part.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from engine.llm.adapter import LlmRequest, Message
from engine.llm.failure import Failure, LlmFailure
from engine.llm.model import Dialect, ModelInfo

__all__ = ["EMPTY_RESULT", "chat_messages", "request_body"]

EMPTY_RESULT = "(no output)"
"""What stands for an empty tool result: several servers refuse an empty string there."""


def request_body(request: LlmRequest, info: ModelInfo, *, include_usage: bool = True) -> dict[str, Any]:
    """The JSON body of a streamed chat completion. Raises LlmFailure INVALID_REQUEST.

    Fields that the config leaves out are left out. An empty `stop` is too: some servers refuse
    an empty list, and it asks for nothing.
    """
    config = request.config
    images = request.images if "image" in info.modalities else {}
    body: dict[str, Any] = {
        "model": config.model,
        "messages": chat_messages(request.messages, info.dialect, images),
        "stream": True,
    }
    if include_usage:
        body["stream_options"] = {"include_usage": True}
    if config.temperature is not None:
        body["temperature"] = config.temperature
    if config.max_tokens is not None:
        body[info.dialect.max_tokens_field] = config.max_tokens
    if config.stop:
        body["stop"] = list(config.stop)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body |= _effort(config.reasoning_effort, info.dialect)
    return body


def chat_messages(
    messages: Sequence[Message], dialect: Dialect, images: Mapping[str, bytes]
) -> list[dict[str, Any]]:
    """`messages` in wire form, in their order. Raises LlmFailure INVALID_REQUEST without a user message."""
    if not any(message["role"] == "user" for message in messages):
        raise LlmFailure(Failure("There is nothing to answer: no user message.", "INVALID_REQUEST"))
    wire = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "assistant":
            wire.append(_assistant(content, dialect))
        elif role == "tool":
            text = _text(content)
            wire.append(
                {"role": "tool", "tool_call_id": message["toolCallId"], "content": text or EMPTY_RESULT}
            )
        elif role == "user":
            wire.append({"role": "user", "content": _user(content, images)})
        elif text := _text(content):
            # `developer` messages announce tool changes; the tools themselves go in `tools`.
            wire.append({"role": "system", "content": text})
    return wire


def _assistant(content: Sequence[Mapping[str, Any]], dialect: Dialect) -> dict[str, Any]:
    # Null content without tool calls is refused for good by DeepSeek: always a string.
    wire: dict[str, Any] = {"role": "assistant", "content": _text(content, between="")}
    if dialect.reasoning_history:
        reasoning = "".join(block["text"] for block in content if block["type"] == "reasoning")
        if reasoning:
            wire["reasoning_content"] = reasoning
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": block["arguments"]},
        }
        for block in content
        if block["type"] == "tool-call"
    ]
    if calls:
        wire["tool_calls"] = calls
    return wire


def _user(content: Sequence[Mapping[str, Any]], images: Mapping[str, bytes]) -> str | list[dict[str, Any]]:
    if not any(_image_bytes(block, images) for block in content):
        return _text(content)
    parts: list[dict[str, Any]] = []
    for block in content:
        if data := _image_bytes(block, images):
            encoded = base64.b64encode(data).decode("ascii")
            url = f"data:{block['attachment']['mediaType']};base64,{encoded}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        elif text := _block_text(block):
            parts.append({"type": "text", "text": text})
    return parts


def _image_bytes(block: Mapping[str, Any], images: Mapping[str, bytes]) -> bytes | None:
    if block["type"] != "image" or block.get("offloaded"):
        return None
    return images.get(block["attachment"]["attachmentId"])


def _text(content: Sequence[Mapping[str, Any]], between: str = "\n\n") -> str:
    """The text of the blocks: paragraphs of their own, except where a model wrote them in one go."""
    return between.join(text for block in content if (text := _block_text(block)))


def _block_text(block: Mapping[str, Any]) -> str:
    """What a block says in words: its text, a name for what cannot be shown, nothing for the rest."""
    kind = block["type"]
    if kind == "text":
        return str(block["text"])
    if kind in ("image", "file"):
        attachment = block.get("attachment", {})
        facts = [str(attachment.get("name") or "without a name")]
        if kind == "image" and attachment.get("width") and attachment.get("height"):
            facts.append(f"{attachment['width']}×{attachment['height']}")
        return f"[{kind}: {', '.join(facts)}]"
    return ""


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = {name: tool[name] for name in ("name", "description", "parameters") if name in tool}
    return {"type": "function", "function": function}


def _effort(effort: str | None, dialect: Dialect) -> dict[str, Any]:
    if effort is None:
        return {}
    if not dialect.thinking_switch:
        return {"reasoning_effort": effort}
    if effort == "off":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled"}, "reasoning_effort": effort}
