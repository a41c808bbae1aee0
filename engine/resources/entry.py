"""One entry of a world book. Source: spec sillytavern 1.5, tavern 1.5.

The model carries every field of an entry, also those that activation does not use yet,
so that what was read need not be read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.codec import JsonObject

__all__ = ["LOGICS", "POSITIONS", "ROLES", "Entry", "Position", "SecondaryLogic"]

Position = Literal[
    "before", "after", "note_top", "note_bottom", "at_depth", "examples_top", "examples_bottom", "outlet"
]
SecondaryLogic = Literal["and_any", "not_all", "not_any", "and_all"]

POSITIONS: tuple[Position, ...] = (  # SillyTavern's integers, in their order
    "before",
    "after",
    "note_top",
    "note_bottom",
    "at_depth",
    "examples_top",
    "examples_bottom",
    "outlet",
)
LOGICS: tuple[SecondaryLogic, ...] = ("and_any", "not_all", "not_any", "and_all")
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of lore. `uid` is unique in its book; `order` is the insertion order (higher = later)."""

    uid: int
    keys: tuple[str, ...]
    content: str
    secondary_keys: tuple[str, ...] = ()
    comment: str = ""
    enabled: bool = True
    constant: bool = False
    selective: bool = False
    vectorized: bool = False
    logic: SecondaryLogic = "and_any"
    logic_given: bool = True  # false where the file leaves it open: secondary keys then score nothing
    order: int = 100
    position: Position = "before"
    depth: int = 4
    role: str = "system"
    outlet: str = ""
    probability: float = 100
    use_probability: bool = True
    scan_depth: int | None = None
    case_sensitive: bool | None = None
    whole_words: bool | None = None
    group_scoring: bool | None = None
    group: str = ""
    group_override: bool = False
    group_weight: int = 100
    exclude_recursion: bool = False
    prevent_recursion: bool = False
    delay_until_recursion: int = 0  # the recursion level at which it opens; 0 = at once
    sticky: int | None = None
    cooldown: int | None = None
    delay: int | None = None
    ignore_budget: bool = False
    display_index: int = 0
    automation_id: str = ""
    triggers: tuple[str, ...] = ()
    match_sources: tuple[str, ...] = ()
    character_filter: JsonObject | None = None

    @property
    def label(self) -> str:
        """How to name the entry to a person."""
        return self.comment or next((key for key in self.keys if key.strip()), f"#{self.uid}")
