"""What a strategy places: the authored texts of a request, each with where it is from.

The texts are as their authors wrote them, macros unexpanded, except active lore, whose macros were expanded
when it was activated. Source: spec tavern 5, assembler 2.5 and 2.6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.lore import ActiveEntry
from engine.macros import MacroContext
from engine.resources import Card, Prompt
from engine.tavern.profile import Profile, ProfileRequest

__all__ = ["AssemblyInput", "SourceKind", "SourceText", "assembly_input"]

SourceKind = Literal["preset", "character", "user", "lore"]


@dataclass(frozen=True, slots=True)
class SourceText:
    """One text. `kind` and `field` name it: of a preset the prompt's identifier, of lore the entry's
    qualified id. `resource_id` is what it stands in; of an embedded book, the book's id.

    `position` is where a lore entry wants to be; `depth` counts messages from the end, None for no such
    place. `enabled` is false for prompts that the preset has switched off, `marker` true for those that only
    mark a place and have no text.
    """

    kind: SourceKind
    field: str
    text: str
    resource_id: str = ""
    name: str = ""
    role: str = "system"
    position: str = ""
    depth: int | None = None
    order: int = 100
    enabled: bool = True
    marker: bool = False
    forbid_overrides: bool = False
    triggers: tuple[str, ...] = ()
    expanded: bool = False


@dataclass(frozen=True, slots=True)
class AssemblyInput:
    """The sources: prompts in the preset's order, the character's fields, the user, lore in reading order.

    `macros` is what authored texts are expanded with; its fields of card and persona are expanded. The
    greeting is among the sources in the first turn only; what the session does not prefer of a card is not.
    """

    sources: tuple[SourceText, ...]
    macros: MacroContext
    first_turn: bool
    input_ids: tuple[str, ...] = ()

    def of(self, kind: SourceKind, field: str | None = None) -> tuple[SourceText, ...]:
        """The sources of a kind, or of one field."""
        return tuple(
            source for source in self.sources if source.kind == kind and field in (None, source.field)
        )


def assembly_input(
    request: ProfileRequest, profile: Profile, input_ids: tuple[str, ...] = ()
) -> AssemblyInput:
    """The sources of a request. `profile` is its profile, rendered or not."""
    return AssemblyInput(
        sources=tuple(_sources(request, profile)),
        macros=profile.macros,
        first_turn=request.first_turn,
        input_ids=input_ids,
    )


def _sources(request: ProfileRequest, profile: Profile) -> Iterator[SourceText]:
    if request.preset is not None:
        yield from (_prompt(prompt, request.preset_id) for prompt in request.preset.prompts)
    if request.card is not None:
        yield from _card(request.card, request)
    if request.persona is not None and request.persona.description.strip():
        persona = request.persona
        yield SourceText(
            "user", "persona", persona.description, resource_id=request.persona_id, name=persona.name
        )
    yield from (_lore(active) for active in profile.active if active.text.strip())


def _prompt(prompt: Prompt, preset_id: str) -> SourceText:
    return SourceText(
        "preset",
        prompt.identifier,
        prompt.content,
        resource_id=preset_id,
        name=prompt.name,
        role=prompt.role,
        depth=prompt.depth if prompt.in_chat else None,
        order=prompt.order,
        enabled=prompt.enabled,
        marker=prompt.marker,
        forbid_overrides=prompt.forbid_overrides,
        triggers=prompt.triggers,
    )


def _card(card: Card, request: ProfileRequest) -> Iterator[SourceText]:
    texts = {
        "description": card.description,
        "personality": card.personality,
        "scenario": card.scenario,
        "examples": card.mes_example,
        "system": card.system_prompt if request.prefer_system else "",
        "phi": card.post_history_instructions if request.prefer_post_history else "",
    }
    for field, text in texts.items():
        if text.strip():
            yield SourceText("character", field, text, resource_id=request.card_id, name=card.speaker)
    if request.first_turn and card.greetings:
        index = min(max(request.greeting_index, 0), len(card.greetings) - 1)
        yield SourceText(
            "character",
            "greeting",
            card.greetings[index],
            resource_id=request.card_id,
            name=card.speaker,
            role="assistant",
        )
    note = card.depth_prompt
    if note is not None and note.prompt.strip():
        yield SourceText(
            "character",
            "depth_prompt",
            note.prompt,
            resource_id=request.card_id,
            name=card.speaker,
            role=note.role,
            depth=note.depth,
        )


def _lore(active: ActiveEntry) -> SourceText:
    entry = active.entry
    return SourceText(
        "lore",
        active.id,
        active.text,
        resource_id=active.id.rpartition(":")[0],
        name=entry.label,
        role=entry.role,
        position=entry.position,
        depth=entry.depth if entry.position == "at_depth" else None,
        order=entry.order,
        expanded=True,
    )
