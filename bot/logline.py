"""One event of a session in one line that a person can read."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from engine.codec import canonical
from engine.session import Event, message_text

__all__ = ["describe", "line", "one_line"]

# Control characters, line and paragraph separators.
_UNPRINTED = {"Cc", "Zl", "Zp"}


def line(event: Event, *, inherited: bool = False, width: int | None = None, zone: tzinfo = UTC) -> str:
    """`seq  time  type  content`, cut to `width` columns. A `↑` marks what was inherited by a fork."""
    time = datetime.fromtimestamp(event.time / 1000, zone).strftime("%H:%M:%S.%f")[:-3]
    text = f"{event.seq:>5}{'↑' if inherited else ' '} {time}  {event.type:<20} {describe(event)}".rstrip()
    return text if width is None or len(text) <= width else text[: width - 1] + "…"


def describe(event: Event) -> str:
    """What the event says, without its type. Events of unknown types show their JSON."""
    words = _WORDS.get(event.type)
    if words is None or not isinstance(event.data, Mapping):
        return one_line(canonical(event.data).decode())
    try:
        text = words(event.data)
    except (KeyError, TypeError, AttributeError, IndexError):
        # An ignorable or foreign event may have any shape; its JSON is still worth reading.
        text = canonical(event.data).decode()
    if isinstance(event.surface_op, Mapping):
        text += f" [replaces {event.surface_op.get('startSeq')}–{event.surface_op.get('endSeq')}]"
    return one_line(text)


def one_line(text: str) -> str:
    """The text on one line, without characters that would move a terminal's cursor or colour it."""
    shown = text.replace("\r\n", "\n").replace("\n", "⏎").replace("\t", " ")
    return "".join("�" if unicodedata.category(char) in _UNPRINTED else char for char in shown)


def _message(message: Mapping[str, Any]) -> str:
    source = message.get("source", {})
    kind = source.get("kind")
    text = message_text(message)
    others = [_other(block) for block in message["content"] if block["type"] != "text"]
    parts = [
        f"({kind})" if kind not in (None, "user", "model") else "",
        text,
        *(f"[{other}]" for other in others),
    ]
    return " ".join(part for part in parts if part)


def _other(block: Mapping[str, Any]) -> str:
    """The kind of a block that is no text, and the name of what it shows."""
    name = block.get("attachment", {}).get("name")
    shown = f"{block['type']}: {name}" if name else str(block["type"])
    return f"{shown}, offloaded" if block.get("offloaded") else shown


def _assistant(data: Mapping[str, Any]) -> str:
    return _message(data["message"]) + _usage(data) + (" [interrupted]" if data.get("interrupted") else "")


def _usage(data: Mapping[str, Any]) -> str:
    usage = data.get("usage")
    return f" [{usage['inputTokens']} → {usage['outputTokens']} tokens]" if usage else ""


def _attempt(data: Mapping[str, Any]) -> str:
    chunks = [entry["chunk"] for entry in data["stream"] if entry["type"] == "chunk"]
    reasons = [chunk["reason"] for chunk in chunks if chunk["type"] == "finish"]
    text = "".join("".join(entry["texts"]) for entry in data["stream"] if entry["type"] == "text-chunks")
    return " ".join(part for part in (_reason(reasons[-1]) if reasons else "cut off", text) if part)


def _reason(reason: Mapping[str, Any]) -> str:
    detail = reason.get("failure") or reason.get("error")
    if detail:
        return f"{reason['kind']} {detail['code']}: {detail['message']}"
    inner = reason.get("reason")
    return f"{reason['kind']} ({inner['kind']})" if isinstance(inner, Mapping) else str(reason["kind"])


def _spliced(data: Mapping[str, Any]) -> str:
    removed = data.get("removedCount", 0)
    parts = []
    if removed:
        parts.append(
            f"{'cancels' if data.get('outcome') == 'canceled' else 'claims'} {removed} at {data['start']}"
        )
    parts += [f"takes “{_message(message)}”" for message in data["inserted"]]
    return f"{data['target']}: {', '.join(parts)}"


def _header(data: Mapping[str, Any]) -> str:
    config = data["header"]["config"]
    rest = [f"{key} {value}" for key, value in config.items() if key not in ("provider", "model")]
    tools = data["header"].get("tools")
    if tools:
        rest.append(f"{len(tools)} tools")
    return f"{data['reason']}: {config['provider']}/{config['model']}" + "".join(f", {fact}" for fact in rest)


def _context(data: Mapping[str, Any]) -> str:
    window = data.get("contextWindow")
    return f"{data['provider']}/{data['model']}" + (f", window {window}" if window else "")


def _assembly(data: Mapping[str, Any]) -> str:
    """Which strategy put the request together, and how much is its own; the texts are many."""
    metadata = data["metadata"]
    strategy, count = metadata["strategy"], len(data["messages"])
    left = [d for d in metadata.get("historyPolicy", {}).get("decisions", ()) if d["action"] != "keep"]
    words = f"“{strategy['name']}”: {count} messages, {metadata['extraBytes']} bytes added"
    return words + (f", {len(left)} old messages cut or left out" if left else "")


def _evidence(data: Mapping[str, Any]) -> str:
    """What can be proved of the request: by which strategy, how many of its parts are known, and which
    messages. Where each part stands is for a program to read."""
    strategy = data["strategy"]
    named = f"“{strategy['name']}”" if strategy is not None else "no strategy"
    return f"{named}: {len(data['sources'])} parts known, messages {data['messagesHash'][:12]}"


def _parameters(data: Mapping[str, Any]) -> str:
    """What a preset asked for, and what went out instead."""
    parts = [f"asked for {_named(data['requested'])}", f"sent {_named(data['effective']) or 'none of it'}"]
    if data["omitted"]:
        parts.append("without " + ", ".join(f"{name} ({why})" for name, why in data["omitted"].items()))
    return "; ".join(parts)


def _scripts(data: Mapping[str, Any]) -> str:
    """Which regex scripts changed what was said, which failed, and how long it took."""
    parts = [
        f"{message['id']}: {', '.join(message['scripts'])}"
        for message in data["messages"]
        if message["scripts"]
    ]
    parts += [f"{problem['script']} failed ({problem['code']})" for problem in data["problems"]]
    return f"{'; '.join(parts)} in {data['ms']} ms"


def _named(values: Mapping[str, Any]) -> str:
    shown = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def _developer(data: Mapping[str, Any]) -> str:
    message = data["message"]
    signs = {"tool-addition": "+", "tool-removal": "-"}
    tools = [signs[b["type"]] + b["toolName"] for b in message["content"] if b["type"] in signs]
    return " ".join([f"({message['source']['kind']})", message_text(message), *tools]).replace("  ", " ")


def _retry(data: Mapping[str, Any]) -> str:
    failure = data["failure"]
    return f"number {data['retry']} in {data['delayMs']} ms after {failure['code']}: {failure['message']}"


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "turn/start": lambda data: str(data["turn"]),
    "turn/end": lambda data: f"{data['turn']} {_reason(data['reason'])}",
    "step/start": lambda data: f"{data['turn']}.{data['step']}",
    "step/end": lambda data: f"{data['turn']}.{data['step']}",
    "system/message": lambda data: _message(data["message"]),
    "developer/message": _developer,
    "user/message": _message,
    "assistant/message": _assistant,
    "assistant/attempt": _attempt,
    "tool/call": lambda data: f"{data['name']}({data['arguments']})",
    "tool/result": lambda data: _message(data["message"]),
    "agent/inbox/spliced": _spliced,
    "request/header": _header,
    "request/context": _context,
    "request/assembly": _assembly,
    "llm/retry": _retry,
    "llm/retry-started": lambda data: f"number {data['retry']}",
    "plugin:tavern/parameters": _parameters,
    "plugin:tavern/request": _evidence,
    "plugin:tavern/scripts": _scripts,
    "session/end-seed": lambda data: "inherited" if data.get("inherited") else "",
    "session/title": lambda data: str(data["title"]),
}
