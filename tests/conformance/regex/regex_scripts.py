"""What SillyTavern's regex scripts make of a text, compared with what ours make of it.

A group that there is not is empty with us, where SillyTavern reads JavaScript's own arguments and may throw
(the README of the vectors): then it is enough that ours does not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.macros import MacroContext
from engine.resources import Diagnostics, RegexScript, parse_scripts, script_json
from engine.scripts import ContextMacros, Occasion, ScriptBook, apply_scripts
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    body = vector.body
    extra = body.get("extra", {})
    defaults = vector.document.get("scriptDefaults", {})
    scripts = ScriptBook(
        everywhere=_scripts(body.get("scripts", ()), defaults),
        preset=_scripts(extra.get("preset", ()), defaults),
        character=_scripts(extra.get("scoped", ()), defaults),
        preset_allowed=bool(extra.get("allowPreset")),
        character_allowed=bool(extra.get("allowScoped")),
    )
    options = body.get("options", {})
    depth = options.get("depth")
    occasion = Occasion(
        body["placement"],
        display=bool(options.get("isMarkdown")),
        prompt=bool(options.get("isPrompt")),
        edit=bool(options.get("isEdit")),
        depth=depth if isinstance(depth, int) else None,
    )
    applied = apply_scripts(
        body["input"], scripts, occasion, macros=_macros(vector.document.get("macros", {}), options)
    )
    agree("problems", [], [p.code for p in applied.problems if not p.code.startswith("PATTERN_")])
    if "throws" not in body:
        agree("text", body["expected"], applied.text)


def _scripts(items: Sequence[Mapping[str, Any]], defaults: Mapping[str, Any]) -> tuple[RegexScript, ...]:
    whole = [{**defaults, **item} for item in items]
    scripts = parse_scripts(whole, Diagnostics())
    agree("written back", whole, [script_json(script) for script in scripts])
    return scripts


def _macros(values: Mapping[str, str], options: Mapping[str, Any]) -> ContextMacros:
    rest = {name: value for name, value in values.items() if name not in ("user", "char")}
    char = options.get("characterOverride") or values.get("char", "")
    # SillyTavern expands what a match captured
    context = MacroContext(user=values.get("user", ""), char=char, extra=rest)
    return ContextMacros(context, captured=True)
