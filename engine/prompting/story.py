"""What is told to the model beside the preset: the card, the lore, the notes, and what was said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from engine.macros import MacroContext

__all__ = ["ChatLine", "Extension", "Generation", "Place", "Story"]

Place: TypeAlias = Literal["none", "start", "end", "chat"]
"""Where a note goes: nowhere, before the main prompt, behind it, or into the chat at its depth."""

Generation: TypeAlias = str
"""The kind of answer: normal, continue, impersonate, swipe, regenerate, quiet."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A text that is no prompt of the preset: the author's note, a card's depth prompt, lore at a depth.

    `key` names it; notes of one depth and role are joined in the order of their keys.
    """

    key: str
    text: str
    place: Place = "chat"
    depth: int = 4
    role: Literal["system", "user", "assistant"] = "system"


@dataclass(frozen=True, slots=True)
class ChatLine:
    """One message of the chat. `labelled` is a message under an avatar of its own, which tells who speaks
    where several people use one side; `hidden` ones are not sent."""

    name: str
    text: str
    is_user: bool = False
    narrator: bool = False
    labelled: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """The texts of one request.

    `macros` holds the names, and the fields of card and persona. `final` says that the macros in these, in
    lore, examples and extensions were expanded before; else they are expanded here, once. Lore's examples
    stand in reading order. `system_prompt` and `post_history` are the card's, as written; empty where the
    session does not prefer them. `continued` is the text that a continuation goes on with; None is the newest
    line's. `group` are the members' names, empty in a story of two.
    """

    macros: MacroContext = field(default_factory=MacroContext)
    type: Generation = "normal"
    lore_before: str = ""
    lore_after: str = ""
    examples_before: tuple[str, ...] = ()
    examples_after: tuple[str, ...] = ()
    extensions: tuple[Extension, ...] = ()
    system_prompt: str = ""
    post_history: str = ""
    persona_in_prompt: bool = True
    quiet: str = ""
    bias: str = ""
    continued: str | None = None
    group: tuple[str, ...] = ()
    final: bool = False
