"""The text of active lore that fits beside a profile. Source: spec tavern 5, "Budget"; seed 003."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.lore import ActiveEntry
from engine.macros import MacroContext, expand
from engine.resources import Diagnostics

__all__ = ["LoreText", "fit_lore"]

MAX_ENTRIES = 4096  # the seeds' cap on candidates of one profile
_JOINT = 2  # bytes between an entry and the next, at most


@dataclass(frozen=True, slots=True)
class LoreText:
    """An active entry's text and where it goes: `before` or `after` the character."""

    place: str
    active: ActiveEntry
    text: str


def fit_lore(
    entries: Sequence[ActiveEntry], context: MacroContext, room: int, notes: Diagnostics
) -> list[LoreText]:
    """The texts in reading order: of the entries ranked by insertion order, the longest run of
    whole ones from the top that fits into `room` UTF-8 bytes. What is left out is told in `notes`.
    """
    ranked = [placed for active in reversed(entries) if (placed := _place(active, notes)) is not None]
    kept: list[LoreText] = []
    for place, active in ranked[:MAX_ENTRIES]:
        text = expand(active.entry.content, context).strip()
        room -= len(text.encode()) + _JOINT
        if room < 0:
            break
        kept.append(LoreText(place, active, text))
    if len(kept) < len(ranked):
        notes.warn(
            "TAVERN_PROFILE_LORE_LIMITED",
            f"Of {len(ranked):,} active world book entries only {len(kept):,} fit into the prompt.",
        )
    return [lore for lore in reversed(kept) if lore.text]


def _place(active: ActiveEntry, notes: Diagnostics) -> tuple[str, ActiveEntry] | None:
    position = active.entry.position
    if position == "outlet":
        notes.info("WORLD_BOOK_OUTLET_SKIPPED", "Outlets need a strategy.", active.id)
        return None
    if position in ("before", "after"):
        return position, active
    notes.info(
        "WORLD_BOOK_POSITION_APPROXIMATED",
        f"“{active.entry.label}” wants the place {position}; it stands after the character.",
        active.id,
    )
    return "after", active
