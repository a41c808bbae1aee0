"""The prompts that a preset has even where it does not say what they are. Source: sillytavern spec 3.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.resources import DEFAULT_ORDER, Prompt

__all__ = ["DEFAULT_PROMPTS", "EXAMPLES"]

EXAMPLES: Final = "dialogueExamples"

_TEXTS: Final[Mapping[str, str]] = {
    "main": "Write {{char}}'s next reply in a fictional chat between {{charIfNotGroup}} and {{user}}.",
    "nsfw": "",
    "jailbreak": "",
    "enhanceDefinitions": "If you have more knowledge of {{char}}, add to the character's lore and "
    "personality to enhance them but keep the Character Sheet's definitions absolute.",
}

DEFAULT_PROMPTS: Final[Mapping[str, Prompt]] = {
    identifier: Prompt(
        identifier,
        content=_TEXTS.get(identifier, ""),
        marker=identifier not in _TEXTS,
        system_prompt=True,
    )
    for identifier in DEFAULT_ORDER
}
"""A preset that lacks one of them has it all the same."""
