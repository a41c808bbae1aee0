"""Requests in the shape of Anthropic's messages API: a pure function of what is in the log.

Spec agent-loop 5.10. The API wants the system prompt apart, turns that alternate, results of
tools at the head of the turn after the call, and no empty text anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from engine.codec import digest, loads
from engine.llm.adapter import LlmRequest, Message
from engine.llm.anthropic.state import PROTOCOL, paired
from engine.llm.content import EMPTY_RESULT, block_text, text_of
from engine.llm.failure import Failure, LlmFailure
from engine.llm.images import Pictures, visible_pictures
from engine.llm.model import ModelInfo
from engine.llm.replay import own_state

__all__ = ["BEGINNING", "request_body"]

BEGINNING = "(continued)"
"""What stands for a first turn of the user where the history begins with an answer: the API refuses that."""

Block: TypeAlias = dict[str, Any]

_THINKING = ("thinking", "redacted_thinking")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


def request_body(request: LlmRequest, info: ModelInfo) -> dict[str, Any]:
    """The JSON body of a streamed call. Raises LlmFailure INVALID_REQUEST.

    `max_tokens` must be in the config or the info: the API refuses a call without it.
    """
    config = request.config
    system, turns = _conversation(request, visible_pictures(request, info))
    if not any(turn["role"] == "user" for turn in turns):
        raise LlmFailure(Failure("There is nothing to answer: no user message.", "INVALID_REQUEST"))
    if turns[0]["role"] != "user":
        turns.insert(0, {"role": "user", "content": [_text(BEGINNING)]})
    max_tokens = config.max_tokens or info.default_max_tokens
    if max_tokens is None:
        raise LlmFailure(Failure("The longest answer in tokens must be named.", "INVALID_REQUEST"))
    body: dict[str, Any] = {
        "model": config.model,
        "max_tokens": max_tokens,
        "messages": turns,
        "stream": True,
    }
    if system:
        body["system"] = [_text(text) for text in system]
    if config.temperature is not None:
        body["temperature"] = config.temperature
    # A stop string of white space alone is refused.
    if stop := [text for text in config.stop or () if text.strip()]:
        body["stop_sequences"] = stop[: info.dialect.stop_limit]
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body |= _thinking(config.reasoning_effort, info, max_tokens, turns)
    if info.dialect.prompt_cache:
        _mark_for_cache(body)
    return body


def _conversation(request: LlmRequest, pictures: Pictures) -> tuple[list[str], list[dict[str, Any]]]:
    """The texts of the leading system messages, and the turns."""
    system: list[str] = []
    turns: list[dict[str, Any]] = []
    for message in request.messages:
        role, content = message["role"], message["content"]
        if role in ("system", "developer"):
            blocks = [_text(text)] if (text := text_of(content)).strip() else []
            if not turns:
                system += [block["text"] for block in blocks]
                continue
        elif role == "assistant":
            blocks = _assistant(message, request)
        elif role == "tool":
            blocks = [_result(message)]
        else:
            blocks = _user(content, pictures)
        if blocks:
            _append(turns, "assistant" if role == "assistant" else "user", blocks)
    for turn in turns:
        # After calls the API takes nothing before their results.
        turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    return system, turns


def _append(turns: list[dict[str, Any]], role: str, blocks: list[Block]) -> None:
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"] += blocks
    else:
        turns.append({"role": role, "content": blocks})


def _user(content: Sequence[Mapping[str, Any]], pictures: Pictures) -> list[Block]:
    blocks = []
    for block in content:
        if picture := pictures.of(block):
            source = {"type": "base64", "media_type": picture.media_type, "data": picture.base64}
            blocks.append({"type": "image", "source": source})
        elif (text := block_text(block)).strip():
            blocks.append(_text(text))
    return blocks


def _assistant(message: Message, request: LlmRequest) -> list[Block]:
    blocks: list[Block] = []
    for block, entry in paired(message["content"], own_state(message, request.config, PROTOCOL)):
        if block is None:
            blocks.append(dict(entry["opaque"]))
        elif block["type"] == "reasoning":
            # Thinking without its signature is refused, so thinking of other models stays out.
            if "signature" in entry:
                thinking = {"thinking": block["text"], "signature": entry["signature"]}
                blocks.append({"type": "thinking", **thinking})
        elif block["type"] == "tool-call":
            called = {"id": _call_id(block["id"]), "name": block["name"]}
            blocks.append({"type": "tool_use", **called, "input": _arguments(block["arguments"])})
        elif (text := block_text(block)).strip():
            blocks.append(_text(text))
    return blocks


def _result(message: Message) -> Block:
    block: Block = {
        "type": "tool_result",
        "tool_use_id": _call_id(message["toolCallId"]),
        "content": text if (text := text_of(message["content"])).strip() else EMPTY_RESULT,
    }
    return block | {"is_error": True} if message.get("isError") else block


def _call_id(call_id: str) -> str:
    """The id of a call with the letters that the API takes: other servers' ids have dots and colons."""
    clean = _FOREIGN.sub("_", call_id)
    return clean if clean == call_id else f"{clean}_{digest(call_id.encode()).hex()[:8]}"


def _arguments(text: str) -> Any:
    """The arguments as the object that the API wants. What a model wrote wrong is kept as text in one."""
    try:
        value = loads(text)
    except ValueError:
        return {"unreadable": text}
    return value if isinstance(value, dict) else {"unreadable": text}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    wire = {name: tool[name] for name in ("name", "description") if name in tool}
    return wire | {"input_schema": tool.get("parameters") or {"type": "object", "properties": {}}}


def _thinking(
    effort: str | None, info: ModelInfo, max_tokens: int, turns: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    if effort is None:
        return {}
    if effort == "off":
        return {"thinking": {"type": "disabled"}}
    budget = info.dialect.thinking_budgets.get(effort)
    if budget is None:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    if _amid_calls_without_thinking(turns):
        return {}
    room = max_tokens + budget
    return {
        "thinking": {"type": "enabled", "budget_tokens": budget},
        "max_tokens": room if info.max_output is None else min(room, info.max_output),
    }


def _amid_calls_without_thinking(turns: Sequence[Mapping[str, Any]]) -> bool:
    """Whether results are handed back within an answer that did not begin with thinking.

    It was begun by another model, or without thinking: the API does not let it be turned on half way.
    """
    begun = len(turns)
    while begun >= 2 and turns[begun - 1]["content"][0]["type"] == "tool_result":
        begun -= 2
    return begun < len(turns) and turns[begun]["content"][0]["type"] not in _THINKING


def _mark_for_cache(body: dict[str, Any]) -> None:
    # Tools stand before the system prompt on the wire and are cached with it.
    for blocks in (body.get("system", []), body["messages"][-1]["content"]):
        if blocks and blocks[-1]["type"] not in _THINKING:
            blocks[-1]["cache_control"] = {"type": "ephemeral"}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
