"""Format 3 to 4: tool results get a role of their own, sources name their producer.

Source: session spec 5.2, 1.4; seed 002, 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.errors import SessionCorrupt
from engine.session.formats.interrupted import interrupted_turns
from engine.session.formats.log import Log, Wire, check_types
from engine.session.formats.renumbering import Renumbering
from engine.session.vocabulary import KNOWN_TYPES

__all__ = ["upgrade"]

_BLOCKS: Final = frozenset({"text", "reasoning", "image", "file", "tool-call"})

_PRODUCERS: Final[Mapping[tuple[str, str], str]] = {
    ("system", "@deepseek-ai/dsh-system-prompt"): "system-prompt",
    ("user", "@deepseek-ai/dsh-system-prompt"): "runtime-context",
    ("user", "compact"): "compact-checkpoint",
    ("user", "goal"): "goal",
}
"""The producers that format 4 has a kind for, by the role that they speak in."""


def upgrade(log: Log) -> Log:
    """Raises FormatUnsupported for an unknown type that is required, SessionCorrupt for a tool result that
    does not wrap exactly one block."""
    check_types(log, ignorable_pass=True)
    out = Renumbering()
    ends = interrupted_turns(log.events)
    cut = log.inherited
    for event in log.events:
        if event["seq"] in ends:
            out.add(ends[event["seq"]])
            cut += event["seq"] < log.inherited
        out.keep(_lifted(event))
    return Log({**log.header, "version": 4}, cut, out.events)


def _lifted(event: Wire) -> Wire:
    kind, data = event["type"], event["data"]
    if kind not in KNOWN_TYPES:  # ignorable, or `check_types` had refused it
        return {**event, "type": kind if kind.startswith("plugin:") else f"plugin:{kind}"}
    if kind == "user/message":
        return {**event, "data": _message(data)}
    if kind == "tool/result":
        return {**event, "data": {**data, "message": _tool_message(data["message"])}}
    if kind in ("system/message", "assistant/message"):
        return {**event, "data": {**data, "message": _message(data["message"])}}
    if kind == "agent/inbox/spliced":
        return {**event, "data": {**data, "inserted": _messages(data["inserted"])}}
    if kind == "session/title-llm-request":
        return {**event, "data": {**data, "messages": _messages(data["messages"])}}
    return event


def _messages(messages: Sequence[Wire]) -> list[Wire]:
    return [_message(message) for message in messages]


def _message(message: Wire) -> Wire:
    source = message["source"]
    if source["kind"] == "plugin":
        producer = _PRODUCERS.get((message["role"], source["plugin"]), f"plugin:{source['plugin']}")
        rest = {key: value for key, value in source.items() if key not in ("kind", "plugin")}
        source = {"kind": producer, **rest}
    return {**message, "source": source, "content": _content(message["content"])}


def _content(blocks: Sequence[Any]) -> list[Any]:
    return [_block(block) for block in blocks]


def _block(block: Any) -> Any:
    if not isinstance(block, Mapping) or block["type"] in _BLOCKS or block["type"].startswith("plugin:"):
        return block
    return {**block, "type": f"plugin:{block['type']}"}


def _tool_message(message: Wire) -> Wire:
    """The wrapper of role user around one result block becomes a message of role tool."""
    blocks = message["content"]
    if len(blocks) != 1 or blocks[0]["type"] != "tool-result":
        raise SessionCorrupt("a tool result wraps exactly one result block", category="migration")
    block = blocks[0]
    lifted = {
        "id": message["id"],
        "role": "tool",
        "source": message["source"],
        "toolCallId": block["toolCallId"],
        "content": _content(block["content"]),
    }
    return {**lifted, "isError": block["isError"]} if "isError" in block else lifted
