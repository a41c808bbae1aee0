"""Macros that shape the text: blanks, comments, conditions, chance. Spec sillytavern 4.2 to 4.4."""

from __future__ import annotations

import re

from engine.macros.chance import parse_dice
from engine.macros.definition import ANY, Definition, Function, Run, Table
from engine.macros.nodes import Arg, Macro, Store, Text
from engine.macros.numerals import BLANK
from engine.macros.pieces import NOOP, TRIM
from engine.macros.variables import truthy

__all__ = ["LAYOUT"]

MAX_REPEAT = 1000  # of {{newline::n}} and {{space::n}}: a page; nobody means more
_COMMA = re.compile(r"(?<!\\),")
_SHORTHAND = re.compile(r"([.$])\s*([A-Za-z](?:[\w-]*\w)?)", re.ASCII)
_NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


def _nothing(run: Run, macro: Macro, out: list[str]) -> None:
    """Comments: what is inside them is not evaluated. A stray `{{else}}` too."""


def _trim(run: Run, macro: Macro, out: list[str]) -> None:
    """Takes the line breaks around it away; with a content, only that is trimmed."""
    if macro.scope is not None:
        run.scope(macro, 0, None, out)
    elif macro.args:
        run.branch(macro.args[0], out)
    else:
        out.append(TRIM)


def _noop(run: Run, macro: Macro, out: list[str]) -> None:
    out.append(NOOP)


def _repeated(text: str) -> Function:
    def repeat(run: Run, macro: Macro, args: list[str]) -> str | None:
        if not args:
            return text
        if not (args[0].isascii() and args[0].isdigit()):
            return None
        count = int(args[0][:10])
        if count > MAX_REPEAT:
            run.note("MACRO_TOO_MANY_BLANKS", macro, count=count, most=MAX_REPEAT)
        return text * min(count, MAX_REPEAT)

    return repeat


def _reverse(run: Run, macro: Macro, args: list[str]) -> str:
    return args[0][::-1]


def _banned(run: Run, macro: Macro, args: list[str]) -> str:
    """Words for samplers of text completion; chat models have none."""
    return ""


# Conditions


def _if(run: Run, macro: Macro, out: list[str]) -> None:
    """`{{if cond}}…{{else}}…{{/if}}` or `{{if::cond::text}}`: only the chosen branch is evaluated."""
    holds = _holds(run, macro.args[0])
    if macro.scope is None:
        if holds:
            run.branch(macro.args[1], out)
        return
    nodes = macro.scope.nodes
    other = next(
        (
            i
            for i, node in enumerate(nodes)
            if isinstance(node, Macro) and node.name == "else" and not node.args
        ),
        None,
    )
    if holds:
        run.scope(macro, 0, other, out)
    elif other is not None:
        run.scope(macro, other + 1, None, out)


def _holds(run: Run, arg: Arg) -> bool:
    """Macros in a condition are resolved, and so is a variable or the bare name of a macro."""
    first = arg.nodes[0] if arg.nodes else None
    lead = run.source[first.start : first.end].strip(BLANK) if isinstance(first, Text) else ""
    negated = lead.startswith("!")
    if len(arg.nodes) > 1 or not isinstance(first, Text):
        resolved = run.value(arg)
        return truthy(resolved[1:] if negated else resolved) != negated
    text = lead[1:].strip(BLANK) if negated else lead
    shorthand = _SHORTHAND.fullmatch(text)
    if shorthand:
        store: Store = "local" if shorthand[1] == "." else "global"
        return truthy(run.variables.text(store, shorthand[2])) != negated
    value = run.named(text.lower(), arg) if _NAME.fullmatch(text) else None
    return truthy(text if value is None else value) != negated


# Chance


def _items(macro: Macro, args: list[str]) -> list[str]:
    """The choices: `a::b`, or in one argument `a::b` or a comma list where `\\,` is a comma."""
    if len(args) != 1:
        return args or [""]
    text = args[0]
    if "::" in text:
        return [item.strip(BLANK) for item in text.split("::")]
    return [item.replace("\\,", ",").strip(BLANK) for item in _COMMA.split(text)]


def _random(run: Run, macro: Macro, args: list[str]) -> str:
    items = _items(macro, args)
    return items[min(int(run.context.rng.random() * len(items)), len(items) - 1)]


def _pick(run: Run, macro: Macro, args: list[str]) -> str:
    """The same choice each time: by the story's seed, the text around it and its place there."""
    items = _items(macro, args)
    return items[int(run.stable_fraction(macro.start) * len(items))]


def _roll(run: Run, macro: Macro, args: list[str]) -> str:
    """Dice; a number alone is one die of so many sides. What is no formula rolls nothing."""
    formula = args[0]
    dice = parse_dice(f"1d{formula}" if formula.isascii() and formula.isdigit() else formula)
    return str(dice.roll(run.context.rng.random)) if dice else ""


LAYOUT: Table = {
    "//": Definition(0, ANY, form=_nothing),
    "comment": Definition(0, ANY, form=_nothing),
    "else": Definition(0, 0, form=_nothing),
    "if": Definition(2, 2, form=_if),
    "trim": Definition(0, 1, form=_trim),
    "noop": Definition(0, 0, form=_noop),
    "newline": Definition(0, 1, _repeated("\n")),
    "space": Definition(0, 1, _repeated(" ")),
    "reverse": Definition(1, 1, _reverse),
    "banned": Definition(1, 1, _banned),
    "random": Definition(0, ANY, _random),
    # Keying seedrandom costs as much as some thirty other macros, a hundred dice as five.
    "pick": Definition(0, ANY, _pick, cost=30),
    "roll": Definition(1, 1, _roll, cost=5),
}
