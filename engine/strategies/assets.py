"""What a compilation brings to the assembler: its sources as assets, its macros, and what they remember.

Source: assembler spec 2.2, 2.5, 2.6; spec tavern 5.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from engine.assembler import (
    Assets,
    CharacterAsset,
    DepthPrompt,
    Logical,
    LoreAsset,
    PersonaAsset,
    PresetAsset,
    PromptAsset,
)
from engine.assembler.assets import SpokenRole
from engine.codec import JsonObject
from engine.macros import Authored, Variables, evaluate
from engine.resources import Diagnostic, Diagnostics, Preset
from engine.strategies.formats import formatted_field, formatted_lore
from engine.tavern import Compilation, Section, SourceText
from engine.tavern.variables import changes_of

__all__ = ["amended", "assets_of", "remark_of"]

_PLACES: Final[Mapping[str, str]] = {
    "before": "before_character_definition",
    "after": "after_character_definition",
    "note_top": "before_author_note",
    "note_bottom": "after_author_note",
    "examples_top": "before_example_messages",
    "examples_bottom": "after_example_messages",
}
_LEADING: Final = frozenset({"before", "examples_top", "note_top"})
_GREETING: Final = "shown_greeting"
"""The macro in whose place the greeting stands: it was expanded when people were shown it."""
_TEXT: Final = "active_lore_text"
"""The macro in whose place active lore stands: its own macros were expanded when it woke, and what they
stood for is never read again."""


def assets_of(made: Compilation, *, greeting: str = "") -> Assets:
    """The assets of one assembly. Their variables are its own: what it writes is not the compilation's.

    With a `greeting`, as people have read it, the model is shown it as the first words of the story.
    """
    given, request, profile = made.assembly_input, made.request, made.profile
    variables = Variables(request.local_variables, request.global_variables)
    for write in profile.written:
        if write.value is None:
            variables.delete(write.store, write.name)
        else:
            variables.set(write.store, write.name, write.value)
    fields = {source.field: source for source in given.of("character")}
    if greeting:
        fields["greeting"] = replace(fields["greeting"], text=f"{{{{{_GREETING}}}}}")
    persona = next(iter(given.of("user")), None)
    prompts = [_prompt(source, request.trigger) for source in given.of("preset")]
    rng = random.Random(f"{request.seed}:{request.turn}:assembly")
    expanding = replace(given.macros, rng=rng)
    if greeting:
        expanding = replace(expanding, literals={**expanding.literals, _GREETING: greeting})

    def expand(text: str) -> str:
        return evaluate(Authored(text), given.macros, profile="assembly").text

    woken = [source for source in given.of("lore") if source.position != "outlet"]
    return Assets(
        preset=PresetAsset(request.preset_id or None, tuple(prompts)) if request.preset is not None else None,
        character=_character(fields, profile.character, request.card_id, request.preset)
        if request.card is not None
        else None,
        persona=PersonaAsset(request.persona_id or None, profile.user, persona.text if persona else ""),
        lore=tuple(map(_lore, formatted_lore(request.preset, woken, expand))),
        prefer_character_system=request.prefer_system,
        prefer_character_phi=request.prefer_post_history,
        greeting_reference=bool(greeting),
        diagnostics=tuple(map(remark_of, profile.diagnostics)),
        expanding=expanding,
        variables=variables,
    )


def amended(made: Compilation, assets: Assets, logical: Logical) -> Compilation:
    """The compilation with the parts of an assembly of these assets, and what their texts made of
    variables."""
    assert assets.variables is not None  # `assets_of` gives them
    notes = Diagnostics()
    asked = made.request
    placed = [node for node in logical.nodes if not node.native]
    sections = tuple(Section(node.source_id, node.field or node.source_id, node.text) for node in placed)
    there = {node.field for node in placed if node.source_id == "worldbook"}
    profile = replace(
        made.profile,
        sections=sections,
        system_text="\n\n".join(section.text for section in sections),
        variables=changes_of(assets.variables, asked.local_variables, asked.global_variables, notes),
        lore=tuple(active for active in made.profile.active if active.id in there),
        diagnostics=(*made.profile.diagnostics, *notes.all()),
    )
    return replace(made, profile=profile)


def remark_of(note: Diagnostic) -> JsonObject:
    """A remark of the profile as the assembler's are."""
    facts: dict[str, Any] = {"code": note.code, "severity": note.severity, "message": note.message}
    if note.where:
        facts["where"] = note.where
    return facts


def _prompt(source: SourceText, trigger: str) -> PromptAsset:
    wanted = not source.triggers or trigger in source.triggers
    return PromptAsset(
        source.field,
        source.text,
        name=source.name,
        role=_role(source.role),
        enabled=source.enabled and wanted,
        marker=source.marker,
        in_chat=source.depth is not None,
        depth=source.depth,
        order=source.order,
        forbid_overrides=source.forbid_overrides,
    )


def _character(
    fields: Mapping[str, SourceText], name: str, card_id: str, preset: Preset | None
) -> CharacterAsset:
    note = fields.get("depth_prompt")
    texts = {
        field: formatted_field(preset, field, fields[field].text) if field in fields else ""
        for field in ("description", "personality", "scenario", "examples", "system", "phi", "greeting")
    }
    return CharacterAsset(
        id=card_id or None,
        name=name,
        depth_prompt=DepthPrompt(note.text, 4 if note.depth is None else note.depth, _role(note.role))
        if note is not None
        else None,
        **texts,
    )


def _lore(source: SourceText) -> LoreAsset:
    # what has none of these has no macro either, and may stand there as it is
    inert = "{" not in source.text and "}" not in source.text and "<" not in source.text
    return LoreAsset(
        source.field,
        source.text if inert else f"{{{{{_TEXT}}}}}",
        name=source.name,
        position=_PLACES.get(source.position, source.position),
        fallback="before" if source.position in _LEADING else "after",
        role=_role(source.role),
        depth=source.depth,
        order=source.order,
        resource_id=source.resource_id or None,
        literals={} if inert else {_TEXT: source.text},
    )


def _role(role: str) -> SpokenRole:
    return cast("SpokenRole", role if role in ("system", "user", "assistant") else "system")
