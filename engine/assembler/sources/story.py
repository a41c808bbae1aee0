"""The sources of a story: character, persona, world book, texts of the strategy.

Source: assembler spec 2.5; seed 001.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

from engine.assembler.arrangement import Arrangement
from engine.assembler.assets import CharacterAsset, LoreAsset, PresetAsset
from engine.assembler.blocks import Output, ReferenceBlock, TextBlock
from engine.assembler.definition import Definition, Position, PositionAnchor
from engine.assembler.faults import note, refuse, too_large
from engine.assembler.request import MAX_BYTES, SourceContext, conversation
from engine.assembler.sources.pieces import split_text
from engine.assembler.sources.preset import EXAMPLES, NOTES, preset_source
from engine.assembler.sources.renderer import story_renderer
from engine.assembler.strategy import Rule
from engine.codec import JsonObject

__all__ = ["STORY_PLUGIN", "Template", "story_sources"]

STORY_PLUGIN: Final = "tavern"
"""Whose sources these are, and so what their parts are called after."""

Template: TypeAlias = Callable[[str, SourceContext], str | Awaitable[str]]
"""Expands a template of a text; what it inserts is text and no macro."""

_FIELDS: Final = ("description", "personality", "scenario", "examples", "system", "phi")
_FIELD_MACROS: Final = {
    "description": "description",
    "charDescription": "description",
    "personality": "personality",
    "charPersonality": "personality",
    "scenario": "scenario",
    "mesexamples": "examples",
}
_DEFINITION = ("description", "personality", "scenario")
_TEMPLATE = "<%"


def story_sources(template: Template | None = None) -> tuple[Definition, ...]:
    """Their definitions. Without a `template` service a text with a template is refused."""
    ours = partial(Definition, plugin_id=STORY_PLUGIN, render_text=story_renderer)
    return (
        preset_source(STORY_PLUGIN),
        ours(id="persona", name="Persona", resolve=_persona, stability="asset", positions=_PERSONA),
        ours(
            id="character",
            name="Character",
            resolve=_character,
            stability="asset",
            dependencies=("persona",),
            positions=_CHARACTER,
        ),
        ours(
            id="worldbook",
            name="World books",
            resolve=_lore,
            stability="evaluation",
            dependencies=("character", "persona"),
            entry_roles=True,
            positions=_WORLDBOOK,
        ),
        ours(
            id="phi",
            name="Post-history instructions",
            resolve=_phi,
            dependencies=("character", "persona"),
        ),
        ours(
            id="custom",
            name="Custom text",
            resolve=_custom,
            parse_text=_custom,
            stability="assembly",
            dependencies=_EVERYTHING,
            multiple=True,
            roles=("user", "system", "assistant"),
            generation_requires_plugin=False,
        ),
        ours(
            id="tavern.text",
            name="Text with macros and templates",
            parse_text=_parser(template),
            stability="assembly",
            dependencies=_EVERYTHING,
            multiple=True,
            lifetimes=("request",),
        ),
    )


_EVERYTHING = ("history", "input", "worldbook", "character", "persona")
_PERSONA = (Position("persona", ("用户设定", "Persona"), field="persona", macros=("persona",)),)
_CHARACTER = (
    Position("description", ("角色描述", "Description"), field="description", macros=("description",)),
    Position("personality", ("性格", "Personality"), field="personality", macros=("personality",)),
    Position("scenario", ("场景", "Scenario"), field="scenario", macros=("scenario",)),
    Position("examples", ("对话示例", "Examples"), field="examples", macros=("mesexamples",)),
    Position("system", ("角色系统提示词", "System prompt"), field="system"),
    Position("phi", ("角色后置指令", "Post-history instructions"), field="phi"),
    Position("greeting", ("开场白", "Greeting"), field="greeting"),
    Position("depth_prompt", ("角色深度提示", "Character's note"), field="depth_prompt"),
)
_AROUND_EXAMPLES = ("before_example_messages", "after_example_messages")
_AROUND_NOTE = ("before_author_note", "after_author_note")
_WORLDBOOK = (
    Position(
        "before",
        ("角色前", "Before the character"),
        anchor=PositionAnchor("character", "before", _DEFINITION),
    ),
    Position(
        "after", ("角色后", "After the character"), anchor=PositionAnchor("character", "after", _DEFINITION)
    ),
    Position(
        _AROUND_EXAMPLES[0],
        ("示例前", "Before the examples"),
        anchor=PositionAnchor("character", "before", ("examples",)),
    ),
    Position(
        _AROUND_EXAMPLES[1],
        ("示例后", "After the examples"),
        anchor=PositionAnchor("character", "after", ("examples",)),
    ),
    Position(
        _AROUND_NOTE[0],
        ("作者注释前", "Before the author's note"),
        anchor=PositionAnchor("preset", "before", NOTES),
    ),
    Position(
        _AROUND_NOTE[1],
        ("作者注释后", "After the author's note"),
        anchor=PositionAnchor("preset", "after", NOTES),
    ),
    Position("depth", ("指定深度", "At a depth"), depth=True),
)
_PLACES = {"before_character_definition": "before", "after_character_definition": "after"}
_MACRO = re.compile(r"\{\{\s*([A-Za-z]+)\s*\}\}")
_PASSES = 5  # of fields that name each other; what is left then names itself


def _persona(context: SourceContext, rule: Rule) -> Output:
    persona = context.assets.persona
    block = TextBlock(
        "persona",
        _with_card(persona.description, context.assets.character) if persona is not None else "",
        resource_id=persona.id if persona is not None else None,
        field="persona",
    )
    return Output((block,), {"persona": "persona"})


def _with_card(text: str, character: CharacterAsset | None) -> str:
    """The text with the card's fields that it names.

    A character may depend on the persona, so the persona cannot depend on the character; it takes the
    words in by itself, and the card's own block stays where it is.
    """
    fields = {macro.casefold(): field for macro, field in _FIELD_MACROS.items()}

    room = MAX_BYTES

    def words(found: re.Match[str]) -> str:
        nonlocal room
        field = fields.get(found[1].casefold())
        if field is None:
            return found[0]
        said: str = getattr(character, field) if character is not None else ""
        room -= len(said)
        if room < 0:
            raise too_large(MAX_BYTES - room, MAX_BYTES)
        return said

    for _ in range(_PASSES):
        expanded = _MACRO.sub(words, text) if "{{" in text else text
        if expanded == text:
            return text
        text = expanded
    return _MACRO.sub(lambda found: "" if found[1].casefold() in fields else found[0], text)


def _character(context: SourceContext, rule: Rule) -> Output:
    character = context.assets.character or CharacterAsset()
    arrangement = Arrangement(context.strategy)
    # what the preset does not take in comes out by itself (assembler spec 11)
    alone = arrangement.default_first or arrangement.dragged("character", "phi")
    blocks = []
    for name in _FIELDS:
        text = getattr(character, name)
        if name == "system" and not context.assets.prefer_character_system:
            text = ""
        if name == "phi" and not context.assets.prefer_character_phi:
            text = ""
        blocks.append(
            TextBlock(
                name,
                text,
                resource_id=character.id,
                field=name,
                reference_only=name == "phi" and not alone,
            )
        )
    note_at_depth = character.depth_prompt
    if note_at_depth is not None:
        blocks.append(
            TextBlock(
                "depth_prompt",
                note_at_depth.text,
                role=note_at_depth.role,
                depth=note_at_depth.depth,
                resource_id=character.id,
                field="depth_prompt",
            )
        )
    # the standard back end has no place for an assistant's text before the conversation
    if context.assets.greeting_reference and not context.strategy.adaptive:
        before = max(1, len(conversation(context.native)))
        blocks.append(
            TextBlock(
                "greeting",
                character.greeting,
                role="assistant",
                depth=before if rule.depth is None else rule.depth,
                resource_id=character.id,
                field="greeting",
            )
        )
    return Output(tuple(blocks), _FIELD_MACROS)


def _lore(context: SourceContext, rule: Rule) -> Output:
    anchored = context.strategy.slots or context.strategy.adaptive
    there = _anchors(context.assets.preset) if anchored else frozenset()
    blocks: list[TextBlock] = []
    remarks: list[JsonObject] = []
    for entry in context.assets.lore:
        group, position = _group(entry, there)
        if anchored and position in _ANCHORS and group != position:
            remarks.append(
                note(
                    "WORLD_BOOK_SLOT_MISSING",
                    name=entry.name or entry.id,
                    position=position,
                    anchor=_ANCHORS[position],
                )
            )
        depth = None
        if position == "depth":
            depth = _LORE_DEPTH if entry.depth is None else entry.depth
        blocks.append(_entry(entry, group, position, depth))
    return Output(tuple(blocks), diagnostics=tuple(remarks))


def _entry(entry: LoreAsset, group: str, position: str, depth: int | None) -> TextBlock:
    # by position: there are hundreds of entries, and arguments by name take a class twice as long
    stability = None
    return TextBlock(
        f"worldbook:{entry.id}",
        entry.content,
        entry.role,
        entry.name or f"worldbook:{entry.id}",
        depth,
        entry.order,
        group,
        position,
        stability,
        entry.resource_id,
        entry.id,
        entry.literals,
    )


_LORE_DEPTH = 4  # SillyTavern's, for an entry at a depth that says none
_ANCHORS = {
    **dict.fromkeys(_AROUND_EXAMPLES, EXAMPLES[0]),
    **dict.fromkeys(_AROUND_NOTE, NOTES[0]),
}


def _anchors(preset: PresetAsset | None) -> frozenset[str]:
    on = {prompt.identifier for prompt in preset.prompts if prompt.enabled} if preset is not None else set()
    return frozenset(names[0] for names in (EXAMPLES, NOTES) if on.intersection(names))


def _group(entry: LoreAsset, there: frozenset[str]) -> tuple[str, str]:
    """(the group that references take it by, its position)."""
    wanted = entry.position
    if wanted == "at_depth":
        return "depth", "depth"
    if wanted in _ANCHORS:
        return (wanted if _ANCHORS[wanted] in there else entry.fallback), wanted
    position = _PLACES.get(wanted, entry.fallback)
    return position, position


def _phi(context: SourceContext, rule: Rule) -> Output:
    reference = ReferenceBlock(
        "phi", "character", ("phi",), honor_enabled=False, use_owner_rule=True, lock=False
    )
    own = TextBlock("additional-phi", rule.text, name=rule.name or None, field="phi")
    return Output((reference, own))


def _custom(context: SourceContext, rule: Rule) -> Output:
    return Output(tuple(split_text(_authored(rule, rule.text, "custom"))))


def _authored(rule: Rule, text: str, block_id: str) -> TextBlock:
    written = rule.role if rule.input_mode == "text" and rule.role != "preserve" else None
    return TextBlock(block_id, text, role=written, name=rule.name or None, field=rule.id)


def _parser(template: Template | None) -> Any:
    async def parse(context: SourceContext, rule: Rule) -> Output:
        text = rule.text
        if _TEMPLATE in text:
            if template is None:
                raise refuse(
                    "TAVERN_TEMPLATE_PARSER_UNAVAILABLE",
                    "Templates are not available, so this text cannot be sent.",
                    rule_id=rule.id,
                )
            expanded = template(text, context)
            text = expanded if isinstance(expanded, str) else await expanded
        return Output(tuple(split_text(_authored(rule, text, "text"))))

    return parse
