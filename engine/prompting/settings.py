"""What a preset says about building messages. What it does not say is as SillyTavern's defaults have it.

Source: sillytavern spec 3.1, 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from engine.codec import JsonObject

__all__ = ["Names", "PostProcessing", "Settings", "settings_of"]

Names: TypeAlias = Literal[-1, 0, 1, 2]
"""How speakers are named: not at all; groups and other people's messages by a label; by the field `name`; all
by a label."""

PostProcessing: TypeAlias = Literal[
    "", "merge", "merge_tools", "semi", "semi_tools", "strict", "strict_tools", "single"
]
_PROCESSINGS = frozenset({"merge", "merge_tools", "semi", "semi_tools", "strict", "strict_tools", "single"})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that count. `context` and `response` are tokens: the prompt may have their difference."""

    context: int = 4095
    response: int = 300
    names: Names = 0
    new_chat: str = "[Start a new Chat]"
    new_group_chat: str = "[Start a new group chat. Group members: {{group}}]"
    new_example_chat: str = "[Example Chat]"
    continue_nudge: str = "[Continue your last message without repeating its original content.]"
    group_nudge: str = "[Write the next reply only as {{char}}.]"
    impersonation: str = "[Write the next message of {{user}}, and only that.]"
    lore_format: str = "{0}"
    scenario_format: str = "{{scenario}}"
    personality_format: str = "{{personality}}"
    send_if_empty: str = ""
    squash: bool = False
    quotes: bool = False  # around what people say
    continue_prefill: bool = False
    assistant_prefill: str = ""
    provider: str = "openai"
    pin_examples: bool = False
    post_processing: PostProcessing = ""

    @property
    def budget(self) -> int:
        """Tokens that the prompt may have."""
        return self.context - self.response


_TEXTS = {
    "new_chat": "new_chat_prompt",
    "new_group_chat": "new_group_chat_prompt",
    "new_example_chat": "new_example_chat_prompt",
    "continue_nudge": "continue_nudge_prompt",
    "group_nudge": "group_nudge_prompt",
    "impersonation": "impersonation_prompt",
    "lore_format": "wi_format",
    "scenario_format": "scenario_format",
    "personality_format": "personality_format",
    "send_if_empty": "send_if_empty",
    "assistant_prefill": "assistant_prefill",
    "provider": "chat_completion_source",
}
_FLAGS = {
    "squash": "squash_system_messages",
    "continue_prefill": "continue_prefill",
    "quotes": "wrap_in_quotes",
}
_NUMBERS = {"context": "openai_max_context", "response": "openai_max_tokens"}


def settings_of(raw: JsonObject, *, pin_examples: bool = False) -> Settings:
    """The settings in a preset's object; what is missing, or of no use, is the default.

    `pin_examples` is the reader's own setting, which no preset holds.
    """
    found: dict[str, Any] = {"pin_examples": pin_examples}
    for ours, theirs in _TEXTS.items():
        if isinstance(raw.get(theirs), str):
            found[ours] = raw[theirs]
    for ours, theirs in _FLAGS.items():
        if isinstance(raw.get(theirs), bool):
            found[ours] = raw[theirs]
    for ours, theirs in _NUMBERS.items():
        value = raw.get(theirs)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            found[ours] = int(value)
    found["names"] = _names(raw)
    asked = raw.get("custom_prompt_post_processing")
    asked = "merge" if asked == "claude" else asked
    found["post_processing"] = asked if isinstance(asked, str) and asked in _PROCESSINGS else ""
    return Settings(**found)


def _names(raw: Mapping[str, Any]) -> Names:
    value = raw.get("names_behavior")
    if isinstance(value, int) and not isinstance(value, bool) and value in (-1, 0, 1, 2):
        return cast("Names", value)
    return 1 if raw.get("names_in_completion") is True else 0
