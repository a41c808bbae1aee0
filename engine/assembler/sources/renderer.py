"""Macros in a story's texts. Other sources' texts are never expanded. Assembler spec 2.7, decision 18."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from engine.assembler.definition import Render
from engine.assembler.request import SourceContext
from engine.macros import Authored, MacroContext, Variables, evaluate
from engine.macros.numerals import BLANK
from engine.session import message_text

__all__ = ["story_renderer"]

_UNANSWERED: Final = "MACRO_VALUE"
"""A macro that is known but cannot say anything here, as one of a chat's dates."""


def story_renderer(context: SourceContext, remark: Callable[..., None]) -> Render:
    """The renderer of one assembly: variables that one text sets are there for those that come out later."""
    macros = _macros(context)
    given = context.assets.variables
    variables = given if given is not None else Variables()
    names = {"{{user}}": macros.user, "{{char}}": macros.char}
    plain_names = not any(mark in name for name in names.values() for mark in "{}<\\")

    def render(text: str, literals: Mapping[str, str], node_id: str) -> str:
        if not literals and plain_names:
            plain = _named(text, names)
            if plain is not None:
                return plain
        here = replace(macros, literals={**macros.literals, **literals}) if literals else macros
        expansion = evaluate(Authored(text), here, variables=variables, profile="assembly")
        silent = {found.name for found in expansion.notes if found.code == _UNANSWERED}
        for name in sorted(expansion.unknown | silent):
            remark("UNSUPPORTED_MACRO", macro=name, owner=node_id)
        return expansion.text

    return render


def _named(text: str, names: Mapping[str, str]) -> str | None:
    """The text when it holds no macro but the two names; None when only the macro engine can tell."""
    # single characters are found ten times as fast as pairs, and most texts have none of these
    if "<" in text:
        return None
    if "{" in text or "}" in text:
        if "\\" in text or "{{{" in text or "}}}" in text:
            return None
        for macro, name in names.items():
            text = text.replace(macro, name)
        if "{{" in text or "}}" in text:
            return None
    return text.strip(BLANK)


def _macros(context: SourceContext) -> MacroContext:
    assets = context.assets
    if assets.expanding is not None:
        return replace(assets.expanding, extra={**assets.expanding.extra, **assets.macros})
    character, persona = assets.character, assets.persona
    macros = MacroContext(
        extra={**_last_words(context), **assets.macros},
        rng=context.chance(),
        now=context.now,
        seed=context.seed,
    )
    if character is not None and character.name:
        macros = replace(macros, char=character.name, group=(character.name,))
    if persona is not None and persona.name:
        macros = replace(macros, user=persona.name)
    return macros


def _last_words(context: SourceContext) -> dict[str, Any]:
    """The assembly knows what was said last, and nothing of a chat's dates, numbers and swipes."""
    words = {"lastUserMessage": "", "lastCharMessage": "", "lastMessage": ""}
    for message in reversed(context.native):
        if message["role"] == "user" and message["source"].get("kind") == "user":
            name = "lastUserMessage"
        elif message["role"] == "assistant":
            name = "lastCharMessage"
        else:
            continue
        text = message_text(message)
        words[name] = words[name] or text
        words["lastMessage"] = words["lastMessage"] or text
        if words["lastUserMessage"] and words["lastCharMessage"]:
            break
    return words
