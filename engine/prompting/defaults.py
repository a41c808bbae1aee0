"""The prompts that every preset of SillyTavern has, and their usual order. Source: sillytavern spec 3.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.resources import Prompt

__all__ = ["DEFAULT_ORDER", "DEFAULT_PROMPTS", "EXAMPLES", "OFF_BY_DEFAULT"]

EXAMPLES: Final = "dialogueExamples"

DEFAULT_ORDER: Final = (
    "main",
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "enhanceDefinitions",
    "nsfw",
    "worldInfoAfter",
    EXAMPLES,
    "chatHistory",
    "jailbreak",
)
OFF_BY_DEFAULT: Final = frozenset({"enhanceDefinitions"})

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
