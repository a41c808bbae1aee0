"""What the steps of one build share."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.prompting.collection import Collection, Slot
from engine.prompting.completion import Completion
from engine.prompting.history import Item
from engine.prompting.message import HISTORY, Part, PromptMessage, one
from engine.prompting.names import field_name
from engine.prompting.quirks import Quirk
from engine.prompting.settings import Settings
from engine.prompting.story import Story
from engine.prompting.words import Words

__all__ = ["Job", "Unplaced", "message_of"]


@dataclass(slots=True)
class Unplaced:
    """What has no room (yet): blocks of examples, and messages that are to stand between the lines."""

    examples: int = 0
    injected: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """One build: what is asked for, and what it is written into."""

    story: Story
    settings: Settings
    words: Words
    quirks: frozenset[Quirk]
    collection: Collection
    completion: Completion
    unplaced: Unplaced = field(default_factory=Unplaced)

    def on(self, quirk: Quirk) -> bool:
        """Whether SillyTavern's behaviour is wanted there."""
        return quirk in self.quirks

    def spoken(self, item: Item, *, named: bool = True) -> PromptMessage:
        """A message of the chat as it is sent; `named` where the field `name` may stand."""
        text, parts = item.content, item.parts
        if item.line is not None:
            if self.on(Quirk.CHAT_MACROS):
                text = self.words.authored(text)
            parts = (Part(HISTORY, text),)
        name = field_name(item.name) if named and self.settings.names == 1 else ""
        lines = () if item.line is None else (item.line,)
        return PromptMessage(item.role, text, name, parts, lines)


def message_of(slot: Slot) -> PromptMessage:
    """A prompt as a message; one without a role is the system's."""
    return one(slot.role or "system", slot.content, slot.identifier)
