"""A preset as a source: its texts and markers are the spine that slots are. Assembler spec 2.6, 11."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from engine.assembler.arrangement import Arrangement
from engine.assembler.assets import PresetAsset, PromptAsset
from engine.assembler.blocks import Block, Output, ReferenceBlock, TextBlock
from engine.assembler.definition import Definition, Position
from engine.assembler.faults import note, too_large
from engine.assembler.request import MAX_BYTES, SourceContext
from engine.assembler.sources.pieces import PLACES, references, split_text
from engine.assembler.sources.renderer import story_renderer
from engine.assembler.strategy import Rule
from engine.codec import JsonObject

__all__ = ["EXAMPLES", "NOTES", "preset_source"]

EXAMPLES: Final = ("dialogueExamples",)
NOTES: Final = ("authorNote", "authorsNote")
"""Prompts around which lore may stand, in SillyTavern's words."""

_FIELDS: Final = {
    "charDescription": ("character", "description"),
    "charPersonality": ("character", "personality"),
    "scenario": ("character", "scenario"),
    "dialogueExamples": ("character", "examples"),
    "personaDescription": ("persona", "persona"),
    "userDescription": ("persona", "persona"),
    "userPersona": ("persona", "persona"),
}
_AROUND: Final = (
    (EXAMPLES, "before_example_messages", "after_example_messages"),
    (NOTES, "before_author_note", "after_author_note"),
)
_OVERRIDDEN: Final = {"main": "system", "jailbreak": "phi"}
_MARKED_PLACES = {name.casefold() for name in PLACES} - {"worldinfo"}
_ORIGINAL = re.compile(r"\{\{\s*original\s*\}\}", re.IGNORECASE)
_ORDER = 100  # SillyTavern's injection order when a prompt says none
_POSITIONS = (
    Position("main", ("主提示词", "Main prompt"), field="main"),
    Position("jailbreak", ("后置指令", "Post-history instructions"), field="jailbreak"),
    Position("depth", ("指定深度", "At a depth"), depth=True),
    Position("body", ("其他条目", "Other prompts")),
)


def preset_source(plugin_id: str) -> Definition:
    """The definition."""
    return Definition(
        id="preset",
        plugin_id=plugin_id,
        name="Preset",
        resolve=_resolve,
        stability="asset",
        dependencies=("character", "persona", "history", "input", "worldbook", "phi"),
        lifetimes=("request",),
        owns_slots=True,
        positions=_POSITIONS,
        render_text=story_renderer,
    )


def _resolve(context: SourceContext, rule: Rule) -> Output:
    preset = context.assets.preset
    if preset is None:
        return Output()
    reading = _Reading(context, preset)
    return Output(tuple(reading.blocks()), diagnostics=tuple(reading.remarks))


class _Reading:
    def __init__(self, context: SourceContext, preset: PresetAsset) -> None:
        self._context = context
        self._preset = preset
        self._arrangement = Arrangement(context.strategy)
        self._anchored = context.strategy.slots or context.strategy.adaptive
        self._around = list(_AROUND) if self._anchored else []
        self.remarks: list[JsonObject] = []

    def blocks(self) -> Iterator[Block]:
        for prompt in self._preset.prompts:
            if not prompt.enabled:
                continue
            blocks = self._prompt(prompt)
            around = next((it for it in self._around if prompt.identifier in it[0]), None)
            if around is None:
                yield from blocks
                continue
            self._around.remove(around)
            yield self._lore(prompt, "world-before", around[1])
            yield from blocks
            yield self._lore(prompt, "world-after", around[2])

    def _prompt(self, prompt: PromptAsset) -> list[Block]:
        if not prompt.marker:
            return self._text(prompt)
        name, owner = prompt.identifier, _id(prompt)
        if name in _FIELDS:
            source, field = _FIELDS[name]
            return [
                ReferenceBlock(
                    owner,
                    source,
                    (field,),
                    role=prompt.role,
                    owner=owner,
                    honor_enabled=False,
                    use_owner_rule=True,
                )
            ]
        if name.casefold() in _MARKED_PLACES:
            return list(references(name, owner, prompt.role))
        if name in NOTES:
            return [TextBlock(owner, "", role=prompt.role, field=name)]  # only a place for lore
        self.remarks.append(note("UNSUPPORTED_MARKER", owner=owner, marker=name))
        return []

    def _text(self, prompt: PromptAsset) -> list[Block]:
        text, claims = self._overridden(prompt)
        depth = (prompt.depth or 0) if prompt.in_chat else None
        block = TextBlock(
            _id(prompt),
            text,
            role=prompt.role,
            name=prompt.name or prompt.identifier,
            depth=depth,
            order=_ORDER if prompt.order is None else prompt.order,
            position_id=_position(prompt),
            resource_id=self._preset.id,
            field=prompt.identifier,
            claims=claims,
            target_source_id=self._target(prompt),
        )
        return split_text(block)

    def _overridden(self, prompt: PromptAsset) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The prompt's text, or the card's in its place, in which `{{original}}` is the prompt's."""
        field = _OVERRIDDEN.get(prompt.identifier)
        assets = self._context.assets
        if field is None or prompt.forbid_overrides or assets.character is None:
            return prompt.content, ()
        if not (assets.prefer_character_system if field == "system" else assets.prefer_character_phi):
            return prompt.content, ()
        moved = self._arrangement.dragged("character", field)
        own = getattr(assets.character, field)
        if moved or self._arrangement.default_first or not own.strip():
            return prompt.content, ()
        return _with_original(own, prompt.content), (("character", field),)

    def _target(self, prompt: PromptAsset) -> str | None:
        """In a list of modules the last instructions belong to their own module."""
        routed = prompt.identifier == "jailbreak" and self._context.strategy.placement == "modules"
        return "phi" if routed else None

    def _lore(self, prompt: PromptAsset, side: str, group: str) -> ReferenceBlock:
        owner = _id(prompt)
        return ReferenceBlock(f"{owner}:{side}", "worldbook", group=group, role=prompt.role, owner=owner)


def _id(prompt: PromptAsset) -> str:
    return f"preset:{prompt.identifier}"


def _position(prompt: PromptAsset) -> str:
    if prompt.in_chat:
        return "depth"
    return prompt.identifier if prompt.identifier in _OVERRIDDEN else "body"


def _with_original(text: str, original: str) -> str:
    size = len(_ORIGINAL.findall(text)) * len(original)
    if size > MAX_BYTES:
        raise too_large(size, MAX_BYTES)
    return _ORIGINAL.sub(lambda _: original, text)
