"""Stored rows of older formats, said shortly."""

from typing import Any

PROMPT = "@deepseek-ai/dsh-system-prompt"
STEP = {"turn": 1, "step": 1}


def header(version: int, **fields: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"type": "session", "version": version, "id": "s", "createdAt": 5}
    base["delegationDepth"] = 0
    if version >= 2:
        base["isSeeded"] = False
    return {**base, **fields}


def log(*events: tuple[str, dict[str, Any]] | tuple[str, dict[str, Any], dict[str, Any]]) -> list[Any]:
    """Rows from `(type, data)` or `(type, data, further fields)`: seqs from 0, times from 100."""
    return [
        {"type": event[0], "seq": seq, "time": 100 + seq, "data": event[1], **(event[2] if event[2:] else {})}
        for seq, event in enumerate(events)
    ]


APPEND = {"surfaceOp": "append"}


def user(message_id: str, text: str = "hi", **source: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"id": message_id, "role": "user", "content": content, "source": source or {"kind": "user"}}


def answer(message_id: str, text: str = "yo") -> dict[str, Any]:
    message = {"id": message_id, "role": "assistant", "content": [{"type": "text", "text": text}]}
    return {**STEP, "message": {**message, "source": {"kind": "model", "provider": "p", "model": "m"}}}


def chunk(text: str) -> tuple[str, dict[str, Any]]:
    return ("assistant/chunk", {**STEP, "chunk": {"type": "text-delta", "index": 0, "text": text}})


def prompt(message_id: str, text: str = "P") -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    source = {"kind": "plugin", "plugin": PROMPT}
    return {**STEP, "message": {"id": message_id, "role": "system", "content": content, "source": source}}


def request(system: str) -> tuple[str, dict[str, Any]]:
    config = {"provider": "p", "model": "m"}
    return ("request/header", {"header": {"config": config, "system": system}, "reason": "initial"})


START = (("turn/start", {"turn": 1}), ("step/start", STEP))
END = (("step/end", STEP), ("turn/end", {"turn": 1, "reason": {"kind": "completed"}}))
