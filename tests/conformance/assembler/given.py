"""What a vector gives, as the assembler takes it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.assembler import (
    Algorithms,
    AssemblyRequest,
    Assets,
    CharacterAsset,
    Definition,
    DepthPrompt,
    LoreAsset,
    PersonaAsset,
    Position,
    PositionAnchor,
    PresetAsset,
    PromptAsset,
    Sources,
    Strategy,
    native_sources,
    read_strategy,
    story_sources,
)

ALGORITHMS = Algorithms().capture()


def strategy(given: Mapping[str, Any]) -> Strategy:
    head = {"name": "Vector", "format": "dsh-tavern-request-assembly", "version": 1}
    return read_strategy({**head, **given})


def request(given: Mapping[str, Any], **more: Any) -> AssemblyRequest:
    made = AssemblyRequest(
        session_id="s",
        native=tuple(given.get("nativeMessages", ())),
        input_ids=frozenset(given.get("inputIds", ())),
        assets=assets(given.get("assets", {})),
        variables=given.get("variables", {}),
        turn=1,
        step=1,
        preview=given.get("preview", False),
    )
    made = replace(made, max_bytes=given["maxBytes"]) if "maxBytes" in given else made
    return replace(made, **more)


def sources(given: Mapping[str, Any]) -> Sources:
    registry = Sources()
    registry.register_all(native_sources())
    if given.get("registry") != "dsh":
        registry.register_all(story_sources())
    for extra in given.get("sources", ()):
        registry.register(definition(extra))
    return registry


def definition(given: Mapping[str, Any]) -> Definition:
    """A source of a vector; `output`, `throws` and `echoText` say how it answers."""
    calls: dict[str, Any] = {}
    if given.get("echoText"):
        calls["parse_text"] = lambda _, rule: {"blocks": [{"type": "text", "id": "text", "text": rule.text}]}
    if "output" in given:
        calls["resolve"] = lambda _, __: given["output"]
    if "throws" in given:
        calls["resolve"] = lambda _, __: _raise(given["throws"])
    callbacks: dict[str, tuple[str, Any]] = {
        "resolve": ("resolve", lambda _, __: {"blocks": []}),
        "parseText": ("parse_text", lambda _, __: {"blocks": []}),
        "moduleAvailable": ("module_available", lambda _: True),
        "validateResolved": ("validate_resolved", lambda _: None),
        "renderText": ("render_text", lambda _, __: lambda text, ___, ____: text),
    }
    if not calls:
        for name in given.get("callbacks", ["resolve"]):
            argument, call = callbacks[name]
            calls[argument] = call
    fields = {
        "id": "id",
        "pluginId": "plugin_id",
        "name": "name",
        "version": "version",
        "stability": "stability",
        "dependencies": "dependencies",
        "multiple": "multiple",
        "roles": "roles",
        "lifetimes": "lifetimes",
        "depth": "depth",
        "ownsSlots": "owns_slots",
        "supportsModule": "supports_module",
        "textParserAliasFor": "text_parser_alias_for",
        "contentGuide": "content_guide",
        "generationRequiresPlugin": "generation_requires_plugin",
    }
    arguments = {python: given[wire] for wire, python in fields.items() if wire in given}
    if isinstance(given.get("positions"), list):
        arguments["positions"] = [position(item) for item in given["positions"]]
    elif "positions" in given:
        arguments["positions"] = given["positions"]
    return Definition(**{"id": "", "plugin_id": "", "name": ""} | arguments, **calls)


def position(given: Any) -> Any:
    """A position; what is none is handed on as it is, to be refused."""
    if not isinstance(given, Mapping) or not isinstance(given.get("match", {}), Mapping):
        return given
    match, anchor, note = given.get("match", {}), given.get("anchor"), given.get("note")
    if isinstance(anchor, Mapping):
        fields = anchor.get("fields")
        anchor = PositionAnchor(anchor.get("sourceId", ""), anchor.get("side", ""), _tuple(fields))
    return Position(
        given.get("id", ""),
        _tuple(given.get("name", ())),
        field=match.get("field"),
        group=match.get("group"),
        depth=match.get("depth", False),
        anchor=anchor,
        macros=_tuple(given.get("macros", ())),
        configurable=given.get("configurable", True),
        note=_tuple(note),
    )


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def assets(given: Mapping[str, Any]) -> Assets:
    selection = given.get("characterSelection") or {}
    return Assets(
        preset=_preset(given["preset"]) if given.get("preset") else None,
        character=_character(given["character"]) if given.get("character") else None,
        persona=_persona(given["user"]) if given.get("user") else None,
        lore=tuple(_lore(entry) for entry in given.get("loreEntries", ())),
        prefer_character_system=selection.get("preferCharacterSystemPrompt") is not False,
        prefer_character_phi=selection.get("preferCharacterPostHistory") is not False,
        greeting_reference=given.get("includeGreetingReference", False),
        diagnostics=tuple(given.get("diagnostics", ())),
    )


def _preset(given: Mapping[str, Any]) -> PresetAsset:
    return PresetAsset(given.get("id"), tuple(_prompt(prompt) for prompt in given["prompts"]))


def _prompt(given: Mapping[str, Any]) -> PromptAsset:
    st = given.get("st") or {}
    return PromptAsset(
        given["identifier"],
        content=given.get("content") or "",
        name=given.get("name") or "",
        role=given.get("role") or "system",
        enabled=given.get("enabled", False) is True,
        marker=given.get("marker", False),
        in_chat=given.get("injectionPosition") == 1,
        depth=given.get("injectionDepth"),
        order=st.get("injection_order") if given.get("injectionOrder") is None else given["injectionOrder"],
        forbid_overrides=st.get("forbid_overrides", False),
    )


def _character(given: Mapping[str, Any]) -> CharacterAsset:
    data = given.get("data") or {}
    note = (data.get("extensions") or {}).get("depth_prompt")
    return CharacterAsset(
        id=given.get("id"),
        name=data.get("name") or "",
        description=data.get("description") or "",
        personality=data.get("personality") or "",
        scenario=data.get("scenario") or "",
        examples=data.get("messageExample") or data.get("mes_example") or "",
        system=data.get("system_prompt") or "",
        phi=data.get("post_history_instructions") or "",
        greeting=data.get("first_mes") or "",
        depth_prompt=None
        if note is None
        else DepthPrompt(note.get("prompt", ""), note.get("depth", 4), note.get("role", "system")),
    )


def _persona(given: Mapping[str, Any]) -> PersonaAsset:
    return PersonaAsset(given.get("id"), given.get("name") or "", given.get("description") or "")


def _lore(given: Mapping[str, Any]) -> LoreAsset:
    return LoreAsset(
        str(given["id"]),
        given.get("content") or "",
        name=given.get("comment") or "",
        position=given.get("requestedPosition") or "",
        fallback=given.get("position") or "after",
        role=given.get("role"),
        depth=given.get("depth"),
        order=given.get("order", 100),
        resource_id=given.get("resourceId"),
        literals=given.get("literalMacros") or {},
    )


def _raise(message: object) -> Any:
    raise RuntimeError(str(message))
