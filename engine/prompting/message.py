"""A message that is built, and what it was made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

__all__ = [
    "GROUP_NUDGE",
    "HISTORY",
    "NEW_CHAT",
    "NEW_EXAMPLE",
    "CountTokens",
    "Part",
    "PromptMessage",
    "Role",
    "one",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

HISTORY: Final = "chatHistory"
"""The source of what was said in the chat."""
NEW_CHAT: Final = "newMainChat"
"""The source of the header over the chat."""
NEW_EXAMPLE: Final = "newChat"
"""The source of the header over a block of examples."""
GROUP_NUDGE: Final = "groupNudge"
"""The source of what asks for one member of a group."""


@dataclass(frozen=True, slots=True)
class Part:
    """A text within a message. `source` is the identifier of the prompt or marker that it is from."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of the request. `parts` joined are its content (without a label that was put before it).

    `lines` are the numbers of the chat lines in it. The fields of tools are for post-processing, which may
    have to take them away.
    """

    role: Role
    content: str
    name: str = ""
    parts: tuple[Part, ...] = ()
    lines: tuple[int, ...] = ()
    tool_calls: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    tool_call_id: str = ""

    @property
    def source(self) -> str:
        """Where its first part is from."""
        return self.parts[0].source if self.parts else ""

    def to_wire(self) -> dict[str, Any]:
        """As it is sent: absent fields are left out."""
        found: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.name:
            found["name"] = self.name
        if self.tool_calls:
            found["tool_calls"] = list(self.tool_calls)
        if self.tool_call_id:
            found["tool_call_id"] = self.tool_call_id
        return found


CountTokens: TypeAlias = Callable[[PromptMessage], int]
"""What a message costs, its name included. It is not asked about messages that are empty and nameless."""


def one(role: Role, text: str, source: str, name: str = "") -> PromptMessage:
    """A message of one part."""
    return PromptMessage(role, text, name, (Part(source, text),))
