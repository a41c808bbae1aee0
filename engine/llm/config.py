"""What a caller asks of a model: the call config that stands in `request/header`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["CallConfig"]

# What may be left out, by its recorded name.
_FIELDS: Mapping[str, Any] = {
    "reasoningEffort": "reasoning_effort",
    "temperature": "temperature",
    "maxTokens": "max_tokens",
    "stop": "stop",
}


@dataclass(frozen=True, slots=True)
class CallConfig:
    """Provider, model and sampling. Equality is by field; an absent `stop` is not an empty one.

    `max_tokens` counts output tokens. `reasoning_effort` is the model's own word; it is
    never translated or clamped (spec agent-loop 5.4).
    """

    provider: str
    model: str
    reasoning_effort: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None

    def to_wire(self) -> dict[str, Any]:
        """The recorded form: absent fields are left out, never null."""
        wire: dict[str, Any] = {"provider": self.provider, "model": self.model}
        if self.reasoning_effort is not None:
            wire["reasoningEffort"] = self.reasoning_effort
        if self.temperature is not None:
            wire["temperature"] = self.temperature
        if self.max_tokens is not None:
            wire["maxTokens"] = self.max_tokens
        if self.stop is not None:
            wire["stop"] = list(self.stop)
        return wire

    def without(self, *parameters: str) -> CallConfig:
        """The config with these parameters (recorded names, as `maxTokens`) left to the model."""
        nothing: dict[str, Any] = {_FIELDS[name]: None for name in parameters}
        return replace(self, **nothing)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> CallConfig:
        """Read the recorded form; fields that we do not know are ignored."""
        stop = wire.get("stop")
        return cls(
            provider=wire["provider"],
            model=wire["model"],
            reasoning_effort=wire.get("reasoningEffort"),
            temperature=wire.get("temperature"),
            max_tokens=wire.get("maxTokens"),
            stop=None if stop is None else tuple(stop),
        )
