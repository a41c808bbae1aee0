"""Active lore of a profile, and the text of it that fits beside the rest.

Source: spec tavern 5, "Budget"; seed 003.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.lore import Activation, ActiveEntry, Situation, activate, seeded_rolls
from engine.macros import Authored, MacroContext, Variables, expand
from engine.resources import Diagnostics
from engine.tavern.books import own_book
from engine.tavern.profile import LoreBudget, ProfileRequest

__all__ = ["LoreText", "fit_lore", "placed_lore", "wake_lore"]

MAX_ENTRIES = 4096  # the seeds' cap on candidates of one profile
RAW_FACTOR = 2  # raw lore may have twice the profile's budget: what is more cannot fit anyway (the seeds')


@dataclass(frozen=True, slots=True)
class LoreText:
    """An active entry's text and where it goes: `before` or `after` the character."""

    place: str
    active: ActiveEntry
    text: str


def wake_lore(
    request: ProfileRequest,
    names: MacroContext,
    fields: MacroContext,
    variables: Variables,
    *,
    explain: bool = False,
) -> Activation:
    """What the request's conversation activates in its books and the card's own. `names` expands keys and
    content, `fields` has the card's texts with their macros expanded. With `explain` every entry has a
    verdict."""
    card = request.card
    own = own_book(request.card_id, card)
    books = [*request.books] if own is None else [*request.books, own]
    context = replace(names, persona="")  # a field stands in the profile once, and not in lore

    def expanded(text: str) -> str:
        return expand(Authored(text), context, variables=variables)

    situation = Situation(
        messages=request.messages,
        message_count=request.message_count,
        assistant_count=request.answer_count,
        trigger=request.trigger,
        characters=(card.name, card.speaker) if card else (),
        tags=card.tags if card else None,
        sources={
            "persona_description": names.persona,
            "character_description": fields.description,
            "character_personality": fields.personality,
            "character_depth_prompt": names.char_depth_prompt,
            "scenario": fields.scenario,
            "creator_notes": card.creator_notes if card else "",
        },
        greeting=request.greeting_index,
        effects=request.effects,
        window=request.window,
    )
    return activate(
        books,
        situation,
        roll=seeded_rolls(request.seed, request.turn),
        settings=request.lore,
        expand=expanded,
        watch=request.watch,
        explain=explain,
    )


def placed_lore(entries: Sequence[ActiveEntry], outlets_read: set[str], notes: Diagnostics) -> list[LoreText]:
    """The texts that want a place, ranked: the highest insertion order first. What this renderer cannot
    place as the entry wants it is told in `notes`; outlets stand where a text reads them."""
    ranked = (_placed(active, outlets_read, notes) for active in reversed(entries))
    return [lore for lore in ranked if lore is not None]


def fit_lore(
    ranked: Sequence[LoreText], measure: Callable[[Sequence[LoreText]], int], limit: int, notes: Diagnostics
) -> tuple[list[LoreText], LoreBudget]:
    """The longest run of whole texts from the top with which the profile has at most `limit` bytes, in
    reading order. `measure` gives the profile's UTF-8 bytes with some lore; more lore is never less."""
    candidates = ranked[:MAX_ENTRIES]
    most = RAW_FACTOR * limit
    raw = 0
    for index, lore in enumerate(candidates):
        raw += len(lore.text.encode())
        if raw > most:
            candidates = candidates[:index]
            break
    size = measure(candidates)
    fitting = len(candidates) if size <= limit else _longest(candidates, measure, limit)
    omitted = len(ranked) - fitting
    if omitted:
        notes.warn(
            "TAVERN_PROFILE_LORE_LIMITED",
            "Of {total} active world book entries only {kept} fit into the prompt, which may have {limit} "
            "bytes.",
            total=len(ranked),
            kept=fitting,
            limit=limit,
        )
    return list(reversed(candidates[:fitting])), LoreBudget(limit, size, most, fitting, omitted)


def _longest(candidates: Sequence[LoreText], measure: Callable[[Sequence[LoreText]], int], limit: int) -> int:
    fits, too_many = 0, len(candidates)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if measure(candidates[:middle]) <= limit:
            fits = middle
        else:
            too_many = middle
    return fits


def _placed(active: ActiveEntry, outlets_read: set[str], notes: Diagnostics) -> LoreText | None:
    text = active.text.strip()
    if not text:
        notes.info("WORLD_BOOK_EMPTY_CONTENT_SKIPPED", "The entry is active and has no text.", active.id)
        return None
    position = active.entry.position
    if position == "outlet":
        if active.entry.outlet not in outlets_read:
            notes.info("WORLD_BOOK_OUTLET_SKIPPED", "No text reads this entry's outlet.", active.id)
        return None
    if position in ("before", "after"):
        return LoreText(position, active, text)
    notes.info(
        "WORLD_BOOK_POSITION_APPROXIMATED",
        "“{label}” wants the place {place}; it stands after the character.",
        active.id,
        label=active.entry.label,
        place=position,
    )
    return LoreText("after", active, text)
