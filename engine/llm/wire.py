"""Requests in the shape of an OpenAI-compatible server: a pure function of what is in the log.

Spec agent-loop 5.8, 5.9. Nothing is invented here except placeholders where a server would
refuse an empty or unseen part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.llm.adapter import LlmRequest, Message
from engine.llm.config import CallConfig
from engine.llm.content import EMPTY_RESULT, block_text, text_of
from engine.llm.details import PROTOCOL, details_of
from engine.llm.failure import Failure, LlmFailure
from engine.llm.images import Pictures, visible_pictures
from engine.llm.model import Dialect, ModelInfo
from engine.llm.replay import own_state

__all__ = ["chat_messages", "request_body"]


def request_body(request: LlmRequest, info: ModelInfo, *, include_usage: bool = True) -> dict[str, Any]:
    """The JSON body of a streamed chat completion. Raises LlmFailure INVALID_REQUEST.

    Fields that the config leaves out are left out. An empty `stop` is too: some servers refuse
    an empty list, and it asks for nothing.
    """
    config, dialect = request.config, info.dialect
    body: dict[str, Any] = {
        "model": config.model,
        "messages": chat_messages(request, dialect, visible_pictures(request, info)),
        "stream": True,
    }
    if include_usage:
        body["stream_options"] = {"include_usage": True}
    if config.temperature is not None:
        body["temperature"] = config.temperature
    if config.max_tokens is not None:
        body[dialect.max_tokens_field] = config.max_tokens
    if config.stop:
        body["stop"] = list(config.stop[: dialect.stop_limit])
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body | _effort(config.reasoning_effort, dialect)


def chat_messages(request: LlmRequest, dialect: Dialect, pictures: Pictures) -> list[dict[str, Any]]:
    """The messages in wire form, in their order. Raises LlmFailure INVALID_REQUEST without a user message."""
    if not any(message["role"] == "user" for message in request.messages):
        raise LlmFailure(Failure("There is nothing to answer: no user message.", "INVALID_REQUEST"))
    wire = []
    for message in request.messages:
        role, content = message["role"], message["content"]
        if role == "assistant":
            wire.append(_assistant(message, request.config, dialect))
        elif role == "tool":
            text = text_of(content)
            wire.append(
                {"role": "tool", "tool_call_id": message["toolCallId"], "content": text or EMPTY_RESULT}
            )
        elif role == "user":
            wire.append({"role": "user", "content": _user(content, pictures)})
        elif text := text_of(content):
            # `developer` messages announce tool changes; the tools themselves go in `tools`.
            wire.append({"role": "system", "content": text})
    return wire


def _assistant(message: Message, config: CallConfig, dialect: Dialect) -> dict[str, Any]:
    content = message["content"]
    # Null content without tool calls is refused for good by DeepSeek: always a string.
    wire: dict[str, Any] = {"role": "assistant", "content": text_of(content, between="")}
    if dialect.reasoning_history:
        reasoning = "".join(block["text"] for block in content if block["type"] == "reasoning")
        if reasoning:
            wire["reasoning_content"] = reasoning
    if dialect.reasoning_details and (details := details_of(own_state(message, config, PROTOCOL))):
        wire["reasoning_details"] = details
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


def _user(content: Sequence[Mapping[str, Any]], pictures: Pictures) -> str | list[dict[str, Any]]:
    if not any(pictures.of(block) for block in content):
        return text_of(content)
    parts: list[dict[str, Any]] = []
    for block in content:
        if picture := pictures.of(block):
            url = f"data:{picture.media_type};base64,{picture.base64}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        elif text := block_text(block):
            parts.append({"type": "text", "text": text})
    return parts


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = {name: tool[name] for name in ("name", "description", "parameters") if name in tool}
    return {"type": "function", "function": function}


def _effort(effort: str | None, dialect: Dialect) -> dict[str, Any]:
    if effort is None:
        return {}
    off = effort == "off"
    match dialect.effort:
        case "thinking":
            thinking = {"thinking": {"type": "disabled" if off else "enabled"}}
            return thinking if off else thinking | {"reasoning_effort": effort}
        case "template":
            thinks: dict[str, Any] = {"enable_thinking": not off}
            return {"chat_template_kwargs": thinks if off else thinks | {"reasoning_effort": effort}}
        case "reasoning":
            return {"reasoning": {"enabled": False} if off else {"effort": effort}}
        case _:
            return {"reasoning_effort": effort}
