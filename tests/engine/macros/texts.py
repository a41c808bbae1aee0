"""A context in which every fact is known, and expansions of plain texts in it."""

import random
from datetime import UTC, datetime
from typing import Any

from engine.macros import Authored, Chat, ChatMessage, Expansion, MacroContext, Variables, evaluate


class Middle(random.Random):
    """Chance that always falls in the middle."""

    def random(self) -> float:
        return 0.5


NOW = datetime(2024, 3, 5, 14, 7, 9, 123456, tzinfo=UTC)
CONTEXT = MacroContext(
    user="Bob",
    char="Alice",
    group=("Alice", "Cara", "Dan"),
    muted=("Dan",),
    persona="Bob is tall",
    description="Desc of Alice",
    personality="Kind",
    scenario="Cafe",
    mes_examples="<START>\nBob: hi",
    char_prompt="Prompt",
    char_instruction="Instruction",
    char_depth_prompt="Depth",
    creator_notes="Notes",
    char_version="1.2",
    first_messages=("Hello", "Hi there"),
    chat=Chat(
        [
            ChatMessage("Hi Bob", swipes=2),
            ChatMessage("Hello Alice", is_user=True, sent_at=datetime(2024, 3, 5, 13, 30, tzinfo=UTC)),
            ChatMessage("A storm begins.", is_system=True),
            ChatMessage("Reply {{user}}", swipes=3, swipe=1),
        ],
        first_id=10,
        first_included=11,
        first_displayed=10,
    ),
    summary="Sum",
    input="typed",
    outlets={"box": "Outlet text"},
    model="deepseek-chat",
    max_context=4096,
    max_response=96,
    generation_type="swipe",
    extensions=("memory",),
    templates={"authorsNote": "Note"},
    now=NOW,
    seed="chat-1",
    rng=Middle(),
)


def result(text: str, context: MacroContext = CONTEXT, **options: Any) -> Expansion:
    return evaluate(Authored(text), context, **options)


def said(text: str, context: MacroContext = CONTEXT, **options: Any) -> str:
    return result(text, context, **options).text


def codes(text: str, context: MacroContext = CONTEXT, **options: Any) -> list[tuple[str, str]]:
    """Each remark with the text it is about."""
    return [(note.code, text[note.start : note.end]) for note in result(text, context, **options).notes]


def stored(text: str, **local: object) -> tuple[str, dict[str, object]]:
    """What a text says, and the story's variables after it."""
    variables = Variables(local)
    outcome = said(text, variables=variables)
    after = dict(local)
    for effect in variables.effects:
        assert effect.store == "local"
        after.pop(effect.name, None)
        if effect.value is not None:
            after[effect.name] = effect.value
    return outcome, after
