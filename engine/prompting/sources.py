"""The texts that do not stand in the preset, put into the places that it has for them.

A text takes from its marker what that says of role, depth and order; one without a place of its own stands
behind everything, or, mended, where the default order has it. Source: sillytavern spec 3.3.2, 3.3.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from engine.macros.numerals import BLANK
from engine.prompting.collection import Collection, Side, Slot
from engine.prompting.defaults import EXAMPLES
from engine.prompting.message import GROUP_NUDGE, HISTORY
from engine.prompting.quirks import Quirk
from engine.prompting.settings import Settings
from engine.prompting.story import Extension, Place, Story
from engine.prompting.words import Words
from engine.resources import DEFAULT_ORDER, Diagnostics

__all__ = [
    "BIAS",
    "IMPERSONATE",
    "NOTES",
    "QUIET",
    "early_texts",
    "mend_places",
    "place_sources",
]

IMPERSONATE: Final = "impersonate"
QUIET: Final = "quietPrompt"
BIAS: Final = "bias"

_KNOWN: Final[Mapping[str, str]] = {
    "1_memory": "summary",
    "2_floating_prompt": "authorsNote",
    "3_vectors": "vectorsMemory",
    "4_vectors_data_bank": "vectorsDataBank",
    "chromadb": "smartContext",
}
NOTES: Final = tuple(_KNOWN.values())
"""The notes that have names of their own, in the order in which they come to the main prompt."""

_ROLELESS: Final = frozenset({"3_vectors", "chromadb"})  # always the system's
_PLACELESS: Final = frozenset({"chromadb"})
_ELSEWHERE: Final = frozenset({"PERSONA_DESCRIPTION", "QUIET_PROMPT", "DEPTH_PROMPT"})  # never beside main
_SIDES: Final[Mapping[Place, Side]] = {"start": "start", "end": "end"}
_HOLE: Final = "\x00"  # where lore stands while the macros around it are expanded; no text has it
_NUMBERED = re.compile(r"\{0\}")
_SIGNS = re.compile(r"\W", re.ASCII)


def early_texts(story: Story, settings: Settings, words: Words) -> dict[str, str]:
    """What the preset's formats and control prompts say, by source. SillyTavern expands these before any
    prompt of the preset."""
    context = words.context
    fields = {
        "scenario": (context.scenario, settings.scenario_format),
        "charPersonality": (context.personality, settings.personality_format),
    }
    texts = {
        name: words.authored(wanted) if text and wanted else text for name, (text, wanted) in fields.items()
    }
    texts[GROUP_NUDGE] = words.authored(settings.group_nudge)
    texts[IMPERSONATE] = words.authored(settings.impersonation)
    return texts


def place_sources(
    collection: Collection,
    early: Mapping[str, str],
    story: Story,
    settings: Settings,
    words: Words,
    quirks: frozenset[Quirk],
    notes: Diagnostics,
) -> None:
    """Put every source into the collection, in SillyTavern's order. `early` is from `early_texts`."""
    for slot in _sources(early, story, settings, words):
        there = collection.get(slot.identifier)
        if there is not None:
            collection.put(
                replace(
                    slot,
                    in_chat=slot.in_chat if there.in_chat is None else there.in_chat,
                    depth=slot.depth if there.depth is None else there.depth,
                    order=slot.order if there.order is None else there.order,
                    role=there.role or slot.role,
                )
            )
        elif Quirk.MISSING_AT_END in quirks or slot.identifier not in DEFAULT_ORDER:
            collection.add(slot)
        elif slot.content and not collection.disabled(slot.identifier):
            _place_by_default(collection, slot, notes)


def mend_places(
    collection: Collection, *, history: bool, examples: bool, noted: bool, notes: Diagnostics
) -> None:
    """Give what is there to be said a place that the order does not have: the main prompt that notes stand
    beside, examples, and the history."""
    for identifier, needed in (("main", noted), (EXAMPLES, examples), (HISTORY, history)):
        slot = Slot(identifier, role="system", system_prompt=True)
        if not needed or identifier in collection:
            continue
        if identifier == "main":
            collection.insert(slot, 0)  # without a text of its own
        elif not collection.disabled(identifier):
            _place_by_default(collection, slot, notes)


def _sources(early: Mapping[str, str], story: Story, settings: Settings, words: Words) -> Iterator[Slot]:
    """Each with its text; a generator, because what one text sets the next can read."""
    context = words.context
    yield Slot("worldInfoBefore", _lore(story.lore_before, settings, words), role="system")
    yield Slot("worldInfoAfter", _lore(story.lore_after, settings, words), role="system")
    yield Slot("charDescription", context.description, role="system")
    for identifier in ("charPersonality", "scenario", IMPERSONATE):
        yield Slot(identifier, early[identifier], role="system")
    yield Slot(QUIET, words.authored(story.quiet), role="system")
    yield Slot(GROUP_NUDGE, early[GROUP_NUDGE], role="system")
    yield Slot(BIAS, words.authored(story.bias), role="assistant")
    extensions = {note.key: note for note in story.extensions if note.text}
    for key, identifier in _KNOWN.items():
        if key in extensions:
            yield _note(extensions[key], identifier, words)
    if context.persona and story.persona_in_prompt:
        yield Slot("personaDescription", context.persona, role="system")
    for note in extensions.values():
        if note.key not in _KNOWN and note.key not in _ELSEWHERE and note.place in _SIDES:
            yield replace(_note(note, _SIGNS.sub("_", note.key), words), extension=True)


def _note(note: Extension, identifier: str, words: Words) -> Slot:
    return Slot(
        identifier,
        words.told(note.text),
        role="system" if note.key in _ROLELESS else note.role,
        side=None if note.key in _PLACELESS else _SIDES.get(note.place),
    )


def _lore(text: str, settings: Settings, words: Words) -> str:
    """Lore in the preset's format; a blank format is none."""
    wanted = settings.lore_format
    if not text or not wanted.strip(BLANK):
        return words.told(text)
    if words.final:
        return words.authored(_NUMBERED.sub(_HOLE, wanted)).replace(_HOLE, text)
    return words.authored(_NUMBERED.sub(lambda _: text, wanted))


def _place_by_default(collection: Collection, slot: Slot, notes: Diagnostics) -> None:
    notes.warn(
        "marker-missing",
        "The preset has no marker “{marker}”; its text stands where the default order has it.",
        slot.identifier,
        marker=slot.identifier,
    )
    collection.insert(slot, _default_place(collection, slot.identifier))


def _default_place(collection: Collection, identifier: str) -> int:
    """Behind the nearest neighbour that stands before it in the default order, else before the next one."""
    at = DEFAULT_ORDER.index(identifier)
    for neighbour in reversed(DEFAULT_ORDER[:at]):
        if neighbour in collection:
            return collection.index(neighbour) + 1
    for neighbour in DEFAULT_ORDER[at + 1 :]:
        if neighbour in collection:
            return collection.index(neighbour)
    return 0
