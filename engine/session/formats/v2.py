"""Format 2 to 3: the system prompt leaves the request header and becomes a message of the surface.

Source: session spec 5.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.codec import dumps
from engine.session.formats.log import Log, Wire, check_types, unsupported
from engine.session.formats.renumbering import Renumbering
from engine.session.vocabulary import SURFACE_TYPES

__all__ = ["upgrade"]

_RENAMED: Final = {
    "tool/code-dispatch": "tool/ptc-dispatch",
    "tool/code-dispatch-start": "tool/ptc-dispatch-start",
}
_PROMPT_SOURCE: Final = {"kind": "plugin", "plugin": "@deepseek-ai/dsh-system-prompt"}


def upgrade(log: Log) -> Log:
    """The first step gets an empty system head; every changed prompt then replaces it.

    Raises FormatUnsupported for a message before the first step and a prompt that changes outside a step:
    neither could get its system message without changing what came when.
    """
    check_types(log, ignorable_pass=True)
    promotion = _Promotion(str(log.header["id"]))
    cut = 0
    for event in log.events:
        if event["type"] == "session/end-seed" and event["data"] == {"inherited": True}:
            cut = len(promotion.out)
        promotion.take(event)
    header = {**log.header, "version": 3}
    if header.get("agentPreset") == "code":
        header["agentPreset"] = "ptc"
    return Log(header, cut, promotion.out.events)


class _Promotion:
    def __init__(self, session_id: str) -> None:
        self.out = Renumbering()
        self._session_id = session_id
        self._step: Wire | None = None
        self._head: int | None = None
        self._prompt = ""

    def take(self, event: Wire) -> None:
        kind, data = event["type"], event["data"]
        if kind == "request/header":
            prompt = data["header"].get("system") or ""
            if prompt != self._prompt:
                self._say(prompt, event)
            header = {key: value for key, value in data["header"].items() if key != "system"}
            event = {**event, "data": {**data, "header": header}}
        if kind in SURFACE_TYPES and self._head is None:
            unsupported(f"{kind} at {event['seq']} stands before the first step")
        self.out.keep(_renamed(event))
        if kind == "step/start":
            self._step = {"turn": data["turn"], "step": data["step"]}
            if self._head is None:
                self._say("", event)
        elif kind in ("step/end", "turn/end"):
            self._step = None

    def _say(self, prompt: str, anchor: Wire) -> None:
        """Put the prompt at the head of the surface, beside the event that made it known."""
        if self._step is None:
            unsupported(f"the prompt changes at {anchor['seq']}, outside a step")
        message = {
            "id": self._message_id(anchor),
            "role": "system",
            "source": _PROMPT_SOURCE,
            "content": [{"type": "text", "text": prompt}] if prompt else [],
        }
        data = {**self._step, "message": message}
        said: dict[str, Any] = {"type": "system/message", "time": anchor["time"], "data": data}
        if self._head is None:
            said["surfaceOp"] = "append"
        else:
            said["surfaceOp"] = {"op": "replace", "startSeq": self._head, "endSeq": self._head}
            said["sourceEventSeqs"] = [self._head]
        self._head, self._prompt = self.out.add(said), prompt

    def _message_id(self, anchor: Wire) -> str:
        """The same for every reader of the same log, so that two migrations agree."""
        identity = ["session-format-v2-to-v3", self._session_id, anchor["seq"], anchor["type"]]
        return f"v2-to-v3-system-{hashlib.sha256(dumps(identity)).hexdigest()}"


def _renamed(event: Wire) -> Wire:
    kind, data = event["type"], event["data"]
    event = {**event, "type": _RENAMED.get(kind, kind)}
    op = event.get("surfaceOp")
    if kind in SURFACE_TYPES and isinstance(op, Mapping):
        event["surfaceOp"] = {"op": op["op"], "startSeq": op["start"], "endSeq": op["end"]}
    if kind == "agent-preset/selected" and data.get("agentPreset") == "code":
        event["data"] = {**data, "agentPreset": "ptc"}
    elif kind == "user/message":
        event["data"] = _renamed_source(data)
    elif kind == "agent/inbox/spliced":
        event["data"] = {**data, "inserted": _renamed_sources(data["inserted"])}
    elif kind == "session/title-llm-request":
        event["data"] = {**data, "messages": _renamed_sources(data["messages"])}
    return event


def _renamed_sources(messages: Sequence[Wire]) -> list[Wire]:
    return [_renamed_source(message) for message in messages]


def _renamed_source(message: Wire) -> Wire:
    source = message["source"]
    if source.get("kind") != "plugin" or source.get("plugin") != "tools-code-mode":
        return message
    return {**message, "source": {**source, "plugin": "tools-ptc"}}
