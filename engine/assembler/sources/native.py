"""The program's own sources: its system text, the history, this step's input, and texts with its variables.

They are registered like any other. Source: assembler spec 2.5; seed 001.
"""

from __future__ import annotations

import re
from typing import Final

from engine.assembler.arrangement import HISTORY, INPUT, NATIVE_SYSTEM
from engine.assembler.blocks import NativeBlock, Output, TextBlock
from engine.assembler.definition import CONTENT, Definition
from engine.assembler.faults import refuse
from engine.assembler.request import SourceContext
from engine.assembler.strategy import Rule

__all__ = ["NATIVE_PLUGIN", "native_sources"]

NATIVE_PLUGIN: Final = "dsh"
"""Whose sources these are, and so what their parts are called after."""

_VARIABLE = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")


def native_sources() -> tuple[Definition, ...]:
    """Their definitions."""
    return (
        _native(NATIVE_SYSTEM, "Program instructions", _system),
        _native(HISTORY, "History", _history),
        _native(INPUT, "Input of this step", _input),
        Definition(
            id="dsh.text",
            plugin_id=NATIVE_PLUGIN,
            name="Text with program variables",
            parse_text=_text,
            stability="assembly",
            multiple=True,
            roles=("user", "system", "assistant"),
        ),
    )


def _native(source_id: str, name: str, resolve: object) -> Definition:
    return Definition(
        id=source_id,
        plugin_id=NATIVE_PLUGIN,
        name=name,
        resolve=resolve,  # type: ignore[arg-type]
        roles=("preserve",),
        lifetimes=("request",),
        depth=False,
        positions=(CONTENT,),
        generation_requires_plugin=False,
    )


def _history(context: SourceContext, rule: Rule) -> Output:
    ids = tuple(m["id"] for m in context.native if m["role"] != "system" and m["id"] not in context.input_ids)
    return Output((NativeBlock(HISTORY, ids),))


def _input(context: SourceContext, rule: Rule) -> Output:
    ids = tuple(m["id"] for m in context.native if m["role"] != "system" and m["id"] in context.input_ids)
    return Output((NativeBlock(INPUT, ids),))


def _system(context: SourceContext, rule: Rule) -> Output:
    """One block for each system message."""
    ids = [message["id"] for message in context.native if message["role"] == "system"]
    names = [NATIVE_SYSTEM if not at else f"{NATIVE_SYSTEM}:{each}" for at, each in enumerate(ids)]
    return Output(tuple(NativeBlock(name, (each,)) for name, each in zip(names, ids, strict=True)))


def _text(context: SourceContext, rule: Rule) -> Output:
    def value(found: re.Match[str]) -> str:
        text = context.variables.get(found[1])
        if text is None:
            raise refuse(
                "NATIVE_TEXT_VARIABLE_UNAVAILABLE",
                f"The program has no value for {{{{{found[1]}}}}} now.",
                variable=found[1],
            )
        return text

    text = _VARIABLE.sub(value, rule.text)
    return Output((TextBlock("text", text, name=rule.name or None, field=rule.id),))
