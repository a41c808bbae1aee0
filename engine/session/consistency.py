"""What an event's own data must agree on, and what a restored one must have.

`check_payload` is position 5 of append; `check_restored` adds the shapes that a log needs to be usable
again. Both look at one event alone. Source: session spec 1.4, 2, 5, 11; seed 002, 2.1 and 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from engine.errors import AppendRefused
from engine.session.event import Event
from engine.session.frozen import is_seq
from engine.session.vocabulary import HEADER_REASONS, ROLE_OF

__all__ = ["blocks_of", "check_payload", "check_restored", "message_of"]

_EMPTY: Final[Mapping[str, Any]] = {}


def message_of(event: Event) -> Any:
    """The message of a surface event: the data itself for a user message, `data.message` for the others."""
    if event.type == "user/message":
        return event.data
    return event.data.get("message") if isinstance(event.data, Mapping) else None


def blocks_of(message: object) -> list[Mapping[str, Any]]:
    """The blocks of a message's content that are objects; none when it has no content to speak of."""
    content = message.get("content") if isinstance(message, Mapping) else None
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, tuple) else []


def check_payload(event: Event) -> None:
    """Raises AppendRefused when the data contradicts itself. Events of other types pass untouched."""
    check = _PAYLOAD_CHECKS.get(event.type)
    if check is not None:
        check(event)


def _check_message(event: Event) -> None:
    message = message_of(event)
    if not isinstance(message, Mapping):
        return
    developer = event.type == "developer/message"
    if developer is not (message.get("role") == "developer"):
        _refuse(event, "developer-role", "developer/message and the developer role must occur together")
    additions = False
    for block in blocks_of(message):
        kind = block.get("type")
        if kind == "tool-addition" or kind == "tool-removal":
            if not developer:
                _refuse(event, "developer-role", "tool-change blocks need the developer role")
            if type(block.get("toolName")) is not str or not block["toolName"]:
                _refuse(event, "tool-name", "a tool-change block needs a toolName")
            additions = additions or kind == "tool-addition"
    if developer and additions is not ("headerSeq" in event.data):
        _refuse(event, "developer-header-seq", "headerSeq stands exactly beside tool additions")


def _check_tool_result(event: Event) -> None:
    _check_message(event)
    if isinstance(event.data, Mapping) and "error" in event.data:
        message = message_of(event)
        if not isinstance(message, Mapping) or message.get("isError") is not True:
            _refuse(event, "tool-error-consistency", "error needs message.isError to be true")


def _check_header_form(event: Event) -> None:
    header = _object(_object(event.data).get("header"))
    if "system" in header:
        _refuse(event, "request-header-canonical", "header.system is retired; write a system/message")
    if header.get("tools") == ():
        _refuse(event, "request-header-canonical", "empty tools must be left out")
    if header.get("adapterDefaults") == {}:
        _refuse(event, "request-header-canonical", "empty adapterDefaults must be left out")


_PAYLOAD_CHECKS: Final[dict[str, Callable[[Event], None]]] = {
    "system/message": _check_message,
    "developer/message": _check_message,
    "user/message": _check_message,
    "assistant/message": _check_message,
    "tool/result": _check_tool_result,
    "request/header": _check_header_form,
}


def check_restored(event: Event) -> None:
    """Raises AppendRefused when a stored event lacks what its readers rely on."""
    if event.type in ROLE_OF:
        _check_identified_message(event)
    if event.type in ("assistant/message", "assistant/attempt"):
        if not isinstance(_object(event.data).get("stream"), tuple):
            _refuse(event, "stream-shape", "stream must be an array")
    elif event.type == "request/header":
        _check_header_form(event)
        _check_header_values(event)


def _check_identified_message(event: Event) -> None:
    message = message_of(event)
    if not isinstance(message, Mapping) or not _is_text(message.get("id")):
        _refuse(event, "message-id", "an identified message is missing")
    if message.get("role") != ROLE_OF[event.type]:
        _refuse(event, "message-role", f"the role must be {ROLE_OF[event.type]}")
    if not isinstance(message.get("content"), tuple):
        _refuse(event, "message-content", "content must be an array")
    source = _object(message.get("source"))
    kind = source.get("kind")
    if not _is_text(kind):
        _refuse(event, "message-source", "the source needs a kind")
    if event.type == "system/message" and kind != "system-prompt":
        _refuse(event, "message-source", "a system message comes from system-prompt")
    if event.type == "assistant/message" and not (
        kind == "model" and _is_text(source.get("provider")) and _is_text(source.get("model"))
    ):
        _refuse(event, "message-source", "an assistant message comes from a model of a provider")
    if event.type == "tool/result":
        call_id = source.get("callId")
        if kind != "tool" or not _is_text(call_id):
            _refuse(event, "message-source", "a tool result comes from a tool call")
        if message.get("toolCallId") != call_id:
            _refuse(event, "tool-call-id", "toolCallId must equal source.callId")


def _check_header_values(event: Event) -> None:
    data = _object(event.data)
    header = _object(data.get("header"))
    config = _object(header.get("config"))
    if not _is_text(config.get("provider")) or not _is_text(config.get("model")):
        _refuse(event, "request-header-shape", "provider and model are missing")
    if data.get("reason") not in HEADER_REASONS:
        _refuse(event, "request-header-shape", "the reason is unknown")
    if "reasoningEffort" in config and not _is_text(config["reasoningEffort"]):
        _refuse(event, "request-header-shape", "reasoningEffort must be a non-empty string")
    if "temperature" in config and type(config["temperature"]) not in (int, float):
        _refuse(event, "request-header-shape", "temperature must be a number")
    if "maxTokens" in config and not is_seq(config["maxTokens"]):
        _refuse(event, "request-header-shape", "maxTokens must be a non-negative integer")
    if "stop" in config and not (
        isinstance(config["stop"], tuple) and all(type(text) is str for text in config["stop"])
    ):
        _refuse(event, "request-header-shape", "stop must be an array of strings")
    if "adapterDefaults" in header and not _are_defaults(header["adapterDefaults"], config):
        _refuse(event, "request-header-shape", "adapterDefaults may only flag fields of the config")
    if "tools" in header and not isinstance(header["tools"], tuple):
        _refuse(event, "request-header-shape", "tools must be an array")
    if "startsSeries" in data and data["startsSeries"] is not True:
        _refuse(event, "request-header-shape", "startsSeries is absent or exactly true")


def _are_defaults(defaults: object, config: Mapping[str, Any]) -> bool:
    return isinstance(defaults, Mapping) and all(
        name in ("reasoningEffort", "maxTokens") and flag is True and name in config
        for name, flag in defaults.items()
    )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else _EMPTY


def _is_text(value: object) -> bool:
    return type(value) is str and value != ""


def _refuse(event: Event, category: str, what: str) -> NoReturn:
    raise AppendRefused(f"{event.type} at seq {event.seq}: {what}", category=category, seq=event.seq)
