"""Presets, stories and chats for tests of message building."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.macros import MacroContext
from engine.prompting import (
    SILLYTAVERN,
    Built,
    ChatLine,
    Extension,
    PromptMessage,
    Quirk,
    Story,
    build,
    settings_of,
)
from engine.resources import Diagnostics, Preset, parse_preset

STOCK = (
    "main",
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "nsfw",
    "worldInfoAfter",
    "dialogueExamples",
    "chatHistory",
    "jailbreak",
)
TEXTS = {"main": "Main.", "nsfw": "", "jailbreak": ""}

CHAT = (
    ChatLine("Alice", "Hello traveller"),
    ChatLine("Bob", "Hi Alice", is_user=True),
    ChatLine("Alice", "How are you"),
    ChatLine("Bob", "Fine", is_user=True),
)


def words(message: PromptMessage) -> int:
    """The counter of the recorded runs."""
    return len(message.content.split()) + bool(message.name)


def prompt(identifier: str, content: str = "", **more: Any) -> dict[str, Any]:
    """A prompt as its author's tool writes it."""
    return {
        "identifier": identifier,
        "name": identifier,
        "role": "system",
        "content": content,
        "system_prompt": False,
        **more,
    }


def in_chat(identifier: str, content: str, depth: int, **more: Any) -> dict[str, Any]:
    return prompt(identifier, content, injection_position=1, injection_depth=depth, **more)


def preset(
    *own: Mapping[str, Any],
    order: Sequence[str] | None = None,
    off: Sequence[str] = (),
    changed: Mapping[str, Mapping[str, Any]] | None = None,
    **settings: Any,
) -> Preset:
    """The stock preset with its main prompt `Main.` and more of one's own, which stand behind it."""
    listed: list[dict[str, Any]] = []
    for identifier in STOCK:
        item: dict[str, Any] = {"identifier": identifier, "name": identifier, "system_prompt": True}
        if identifier in TEXTS:
            item |= {"role": "system", "content": TEXTS[identifier]}
        else:
            item["marker"] = True
        listed.append(item | dict((changed or {}).get(identifier, {})))
    names = [str(item["identifier"]) for item in own]
    wanted = order if order is not None else ("main", *names, *STOCK[1:])
    return parse_preset(
        {
            "prompts": [*listed, *map(dict, own)],
            "prompt_order": [
                {
                    "character_id": 100001,
                    "order": [{"identifier": name, "enabled": name not in off} for name in wanted],
                }
            ],
            "openai_max_context": 4000,
            "openai_max_tokens": 100,
            **settings,
        },
        Diagnostics(),
    )


def story(**more: Any) -> Story:
    """Bob plays with Alice. Fields of the macros may be given beside those of the story."""
    facts = {
        name: more.pop(name)
        for name in ("persona", "description", "personality", "scenario", "mes_examples", "user", "char")
        if name in more
    }
    macros = MacroContext(**{"user": "Bob", "char": "Alice", **facts})
    return Story(macros=macros, **more)


def made(
    with_preset: Preset,
    of: Story | None = None,
    chat: Sequence[ChatLine] = CHAT,
    *,
    budget: int | None = None,
    pinned: bool = False,
    quirks: frozenset[Quirk] = frozenset(),
) -> Built:
    return build(
        with_preset,
        story() if of is None else of,
        chat,
        count_tokens=words,
        settings=settings_of(with_preset.raw, pin_examples=pinned),
        budget=budget,
        quirks=quirks,
    )


def sent(built: Built) -> list[str]:
    """Each message as `s: text`, a name in brackets."""
    return [
        f"{message.role[0]}{f'({message.name})' if message.name else ''}: {message.content}"
        for message in built.messages
    ]


def codes(built: Built) -> list[str]:
    return [note.code for note in built.diagnostics]


def without(*quirks: Quirk) -> frozenset[Quirk]:
    """All of SillyTavern's behaviours but these."""
    return SILLYTAVERN - frozenset(quirks)


__all__ = [
    "CHAT",
    "SILLYTAVERN",
    "STOCK",
    "Extension",
    "codes",
    "in_chat",
    "made",
    "preset",
    "prompt",
    "sent",
    "story",
    "without",
    "words",
]
