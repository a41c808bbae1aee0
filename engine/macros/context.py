"""What macros stand for: pure data that the caller gives."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NewType

__all__ = ["LOOKED_BACK", "Authored", "Chat", "ChatMessage", "MacroContext"]

LOOKED_BACK = 1000  # messages that a macro looks through for one of a kind

Authored = NewType("Authored", str)
"""A text whose macros may be expanded: of a card, a preset, a book, a persona, a script, a greeting.

The words of people at the table and of the model are never one: they may stand in a `MacroContext`
or an insert, whose values come out as they are.
"""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as chat macros see it. `swipes` counts its versions, `swipe` is the chosen one's index."""

    text: str
    is_user: bool = False
    is_system: bool = False
    swipes: int = 0
    swipe: int = 0
    sent_at: datetime | None = None

    @property
    def in_progress(self) -> bool:
        """Whether the chosen version is still being written."""
        return self.swipes > 0 and self.swipe >= self.swipes


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages, oldest first; `first_id` is the number of the first one given.

    `first_included` and `first_displayed` are the numbers of the first message in the prompt and on
    the screen, where there is such a thing.
    """

    messages: Sequence[ChatMessage] = ()
    first_id: int = 0
    first_included: int | None = None
    first_displayed: int | None = None


@dataclass(frozen=True, slots=True)
class MacroContext:
    """What macros stand for. Field texts are already expanded; `original` serves one use per text.

    `group` lists the cast (empty: a story of two), `muted` those who do not speak. `seed` makes
    `{{pick}}` stable; it is SillyTavern's chat id, or `seed_hash` is the hash of it that an imported
    chat brought along. `rng` serves `{{random}}` and `{{roll}}`. `now` is the clock, in the reader's
    time zone. With `once`, persona and card fields are empty at their second use in a text.

    `extra` are macros without arguments that go before the built-in ones. `literals` too, by everything
    between their braces (`format_message_variable::stat_data`); their values are data, of which no
    character is changed, and whose lines are indented to where the macro stands. `templates` are the
    texts of templates by macro name (`systemPrompt`, `authorsNote`). Names are case-insensitive.
    """

    user: str = "User"
    char: str = "Assistant"
    group: Sequence[str] = ()
    muted: Collection[str] = ()

    persona: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    mes_examples: str = ""
    char_prompt: str = ""
    char_instruction: str = ""
    char_depth_prompt: str = ""
    creator_notes: str = ""
    char_version: str = ""
    first_messages: Sequence[str] = ()
    original: str | None = None

    chat: Chat | None = None
    summary: str = ""
    input: str = ""
    outlets: Mapping[str, str] = field(default_factory=dict)

    model: str = ""
    max_context: int | None = None
    max_response: int | None = None
    generation_type: str = ""
    extensions: Collection[str] = ()
    templates: Mapping[str, str] = field(default_factory=dict)

    local_variables: Mapping[str, object] = field(default_factory=dict)
    global_variables: Mapping[str, object] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    literals: Mapping[str, str] = field(default_factory=dict)

    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    seed: str = ""
    seed_hash: int | None = None
    once: bool = False
    rng: random.Random = field(default_factory=random.Random)
