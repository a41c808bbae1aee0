"""A recorded build of SillyTavern's prompt manager, done again with ours and all of its behaviours."""

from typing import Any

from engine.macros import MacroContext
from engine.prompting import (
    SILLYTAVERN,
    Built,
    ChatLine,
    Extension,
    PromptMessage,
    Story,
    build,
    settings_of,
)
from engine.resources import Diagnostics, Preset, parse_preset
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector

_PLACES = {-1: "none", 0: "end", 1: "chat", 2: "start"}
_ROLES = ("system", "user", "assistant")
_IN_PROMPT = 0  # the persona's position in which the preset places it


def run(vector: Vector) -> None:
    body = vector.body
    built = rebuilt(body)
    agree("messages", body["expected"], [message.to_wire() for message in built.messages])
    agree("errors", body.get("errors", []), list(built.errors))


def rebuilt(body: dict[str, Any]) -> Built:
    """The build that a recording describes."""
    preset = _preset(body)
    power = body.get("powerUser", {})
    return build(
        preset,
        _story(body),
        [_line(message) for message in body["chat"]],
        count_tokens=_words,
        settings=settings_of(preset.raw, pin_examples=bool(power.get("pin_examples"))),
        quirks=SILLYTAVERN,
    )


def _words(message: PromptMessage) -> int:
    return len(message.content.split()) + bool(message.name)


def _preset(body: dict[str, Any]) -> Preset:
    return parse_preset({**body["settings"], **body["preset"]}, Diagnostics())


def _story(body: dict[str, Any]) -> Story:
    context, power = body["context"], body.get("powerUser", {})
    group = _members(body.get("group"))
    return Story(
        macros=MacroContext(
            user=body["user"],
            char=body["char"],
            group=group,
            persona=power.get("persona_description") or "",
            description=context.get("charDescription") or "",
            personality=context.get("charPersonality") or "",
            scenario=context.get("scenario") or "",
            mes_examples=context.get("messageExamples") or "",
        ),
        type=context.get("type") or "normal",
        lore_before=context.get("worldInfoBefore") or "",
        lore_after=context.get("worldInfoAfter") or "",
        extensions=tuple(
            _extension(key, given) for key, given in context.get("extensionPrompts", {}).items()
        ),
        system_prompt=context.get("systemPromptOverride") or "",
        post_history=context.get("jailbreakPromptOverride") or "",
        persona_in_prompt=power.get("persona_description_position", _IN_PROMPT) == _IN_PROMPT,
        quiet=context.get("quietPrompt") or "",
        bias=context.get("bias") or "",
        continued=context.get("cyclePrompt") or "",
        group=group,
    )


def _members(group: Any) -> tuple[str, ...]:
    """The members' names: a list of them or of their picture files, alone or within an object."""
    if isinstance(group, dict):
        group = group.get("names") or group.get("members")
    names = (str(member["name"] if isinstance(member, dict) else member) for member in group or ())
    return tuple(name.removesuffix(".png") for name in names)


def _extension(key: str, given: dict[str, Any]) -> Extension:
    return Extension(
        key,
        given.get("value") or "",
        _PLACES[given.get("position", -1)],  # type: ignore[arg-type]
        4 if given.get("depth") is None else given["depth"],
        _ROLES[given.get("role") or 0],  # type: ignore[arg-type]
    )


def _line(message: dict[str, Any]) -> ChatLine:
    return ChatLine(
        message.get("name", ""),
        message["mes"],
        is_user=bool(message.get("is_user")),
        narrator=(message.get("extra") or {}).get("type") == "narrator",
        labelled=bool(message.get("force_avatar")),
        hidden=bool(message.get("is_system")),
    )
