"""Replay state: what an adapter hides in its own messages to send it back later (spec agent-loop 5.1).

It stands in the message's source. Nobody else reads it: another provider, another model or
another protocol has no use for it, and some servers refuse a request that holds a foreign one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.llm.adapter import Message
from engine.llm.config import CallConfig

__all__ = ["own_state", "stripped"]


def stripped(messages: Sequence[Message], provider: str) -> Sequence[Message]:
    """The messages without the replay state of other providers; themselves if there is none."""
    if not any(_foreign(message, provider) for message in messages):
        return messages
    return tuple(_bare(message) if _foreign(message, provider) else message for message in messages)


def own_state(message: Message, config: CallConfig, protocol: str) -> Mapping[str, Any] | None:
    """What `protocol` (the state's `adapter`) kept with a message of the very model that is asked now."""
    source = message["source"]
    state = source.get("replayState")
    same = source.get("provider") == config.provider and source.get("model") == config.model
    if same and isinstance(state, Mapping) and state.get("adapter") == protocol:
        return state
    return None


def _foreign(message: Message, provider: str) -> bool:
    source = message["source"]
    return "replayState" in source and source.get("provider") != provider


def _bare(message: Message) -> Message:
    source = {name: value for name, value in message["source"].items() if name != "replayState"}
    return {**message, "source": source}
