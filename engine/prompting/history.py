"""The chat as messages, before any of it is chosen. Source: sillytavern spec 3.3.6, 3.3.8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.prompting.message import HISTORY, Part, Role
from engine.prompting.names import role_of, said
from engine.prompting.quirks import Quirk
from engine.prompting.settings import Settings
from engine.prompting.story import ChatLine

__all__ = ["Item", "items_of"]


@dataclass(frozen=True, slots=True)
class Item:
    """A message of the chat, or one that was put between (`line` is None then)."""

    role: Role
    content: str
    name: str = ""
    line: int | None = None
    parts: tuple[Part, ...] = ()

    @property
    def injected(self) -> bool:
        """Whether nobody said it."""
        return self.line is None


def items_of(
    chat: Sequence[ChatLine], settings: Settings, *, user: str, group: bool, quirks: frozenset[Quirk]
) -> list[Item]:
    """What was said, newest first, without what is hidden."""
    found: list[Item] = []
    for number, line in enumerate(chat):
        if not line.hidden:
            text = said(line, settings, user=user, group=group, quirks=quirks)
            found.append(Item(role_of(line), text, line.name, number, (Part(HISTORY, text),)))
    found.reverse()
    return found
