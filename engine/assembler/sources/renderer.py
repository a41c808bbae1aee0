"""Macros in a story's texts. Other sources' texts are never expanded. Assembler spec 2.7, decision 18."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from engine.assembler.definition import Render
from engine.assembler.request import SourceContext
from engine.macros import Authored, MacroContext, Variables, evaluate
from engine.macros.evaluation import MAX_OUTPUT
from engine.macros.numerals import BLANK
from engine.session import message_text

__all__ = ["story_renderer"]

_ALONE: Final = re.compile(r"\{\{\s*([a-z][\w-]*)\s*\}\}", re.ASCII | re.IGNORECASE)
_MARKS: Final = re.compile(r"[{}<\\]")
_UNANSWERED: Final = "MACRO_VALUE"
"""A macro that is known but cannot say anything here, as one of a chat's dates."""


def story_renderer(context: SourceContext, remark: Callable[..., None]) -> Render:
    """The renderer of one assembly: variables that one text sets are there for those that come out later."""
    macros = _macros(context)
    given = context.assets.variables
    variables = given if given is not None else Variables()
    common = _folded(macros.literals)
    names = {"{{user}}": macros.user, "{{char}}": macros.char}
    if {"user", "char"} & {*common, *_folded(macros.extra)} or _MARKS.search("".join(names.values())):
        names = {}  # they are other macros here, or what they stand for is to be looked at

    def render(text: str, literals: Mapping[str, str], node_id: str) -> str:
        # single characters are found ten times as fast as pairs, and most texts have none of these
        if "{" not in text and "}" not in text and "<" not in text:
            return text.strip(BLANK)
        short = _literal(text, literals) if literals else _named(text, names)
        if short is not None:
            return short
        here = replace(macros, literals={**common, **_folded(literals)}) if literals else macros
        expansion = evaluate(Authored(text), here, variables=variables, profile="assembly")
        silent = {found.name for found in expansion.notes if found.code == _UNANSWERED}
        for name in sorted(expansion.unknown | silent):
            remark("UNSUPPORTED_MACRO", macro=name, owner=node_id)
        return expansion.text

    return render


def _folded(texts: Mapping[str, str]) -> dict[str, str]:
    """By the names as the macro engine compares them."""
    return {name.strip(BLANK).lower(): text for name, text in texts.items()}


def _literal(text: str, literals: Mapping[str, str]) -> str | None:
    """The value, when the text is its one literal and no more, as lore that was expanded when it woke; None
    when only the macro engine can tell."""
    alone = _ALONE.fullmatch(text) if len(literals) == 1 else None
    value = literals.get(alone[1]) if alone is not None else None
    return value.strip(BLANK) if value is not None and len(value) <= MAX_OUTPUT else None


def _named(text: str, names: Mapping[str, str]) -> str | None:
    """The text when it holds no macro but the two names; None when only the macro engine can tell."""
    if not names or "<" in text or "\\" in text:
        return None
    plain = text
    for macro, name in names.items():
        plain = plain.replace(macro, name)
    # a single brace is only a brace, unless it stood beside one of the macros
    left = "{" in plain or "}" in plain
    if left and ("{{" in plain or "}}" in plain or "{{{" in text or "}}}" in text):
        return None
    return plain.strip(BLANK)


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
