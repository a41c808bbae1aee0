"""Prompts and notes between the messages of the chat: by depth, order and role.

Depth 0 is behind the last message; what is deeper than the chat stands on top of it. At one depth a low
order stands higher; within an order first the assistant's, then the user's, then the system's; what has all
three in common is one message, the preset's text before the notes. Source: sillytavern spec 3.3.6.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from engine.macros.numerals import BLANK
from engine.prompting.collection import Slot, SlotRole
from engine.prompting.history import Item
from engine.prompting.message import Part
from engine.prompting.quirks import Quirk
from engine.prompting.story import Extension
from engine.prompting.words import Words

__all__ = ["inject"]

MAX_DEPTH: Final = 10_000
USUAL_DEPTH: Final = 4
NOTES_ORDER: Final = 100  # notes and lore at a depth have no order of their own
_FROM_THE_END: Final[tuple[SlotRole, ...]] = ("system", "user", "assistant")


def inject(
    items: list[Item],
    slots: Iterable[Slot],
    extensions: Iterable[Extension],
    words: Words,
    quirks: frozenset[Quirk],
) -> list[Item]:
    """The chat (newest first, as it comes) with all that stands in it."""
    prompts = _by_depth(slots, quirks)
    notes = _notes_by_depth(extensions)
    found = list(items)
    inserted = 0
    for depth in sorted({*prompts, *notes}):
        if not 0 <= depth <= MAX_DEPTH:
            continue
        new = _at_depth(prompts.get(depth, ()), notes.get(depth, ()), words)
        at = depth + inserted
        found[at:at] = new
        inserted += len(new)
    return found


def _by_depth(slots: Iterable[Slot], quirks: frozenset[Quirk]) -> dict[int, list[tuple[SlotRole, Slot]]]:
    found: dict[int, list[tuple[SlotRole, Slot]]] = defaultdict(list)
    for slot in slots:
        depth, role = slot.depth, slot.role
        if Quirk.INCOMPLETE_LOST not in quirks:
            depth, role = USUAL_DEPTH if depth is None else depth, role or "system"
        if slot.content and depth is not None and role is not None:
            found[depth].append((role, slot))
    return found


def _notes_by_depth(extensions: Iterable[Extension]) -> dict[int, list[Extension]]:
    """Those in the chat, in the order of their keys (as JavaScript sorts them: by UTF-16)."""
    found: dict[int, list[Extension]] = defaultdict(list)
    for note in sorted(extensions, key=lambda note: note.key.encode("utf-16-be", "surrogatepass")):
        if note.place == "chat" and note.text:
            found[note.depth].append(note)
    return found


def _at_depth(
    prompts: Sequence[tuple[SlotRole, Slot]], notes: Sequence[Extension], words: Words
) -> list[Item]:
    """The messages of one depth, nearest to the end first."""
    orders = {NOTES_ORDER, *(_order(slot) for _, slot in prompts)}
    found: list[Item] = []
    for order in sorted(orders, reverse=True):
        for role in _FROM_THE_END:
            own = [slot for its, slot in prompts if its == role and _order(slot) == order]
            others = [note for note in notes if note.role == role] if order == NOTES_ORDER else []
            item = _joined(role, own, others, words)
            if item is not None:
                found.append(item)
    return found


def _order(slot: Slot) -> int:
    return NOTES_ORDER if slot.order is None else slot.order


def _joined(role: SlotRole, slots: Sequence[Slot], notes: Sequence[Extension], words: Words) -> Item | None:
    told = words.told("\n".join(note.text.strip(BLANK) for note in notes))
    texts = ["\n".join(slot.content for slot in slots), told]
    content = "\n".join(text.strip(BLANK) for text in texts if text)
    if not content:
        return None
    parts = [Part(slot.identifier, slot.content.strip(BLANK)) for slot in slots]
    if told:
        name = notes[0].key if len(notes) == 1 else "+".join(note.key for note in notes)
        parts.append(Part(name, told.strip(BLANK)))
    return Item(role, content, parts=tuple(parts))
