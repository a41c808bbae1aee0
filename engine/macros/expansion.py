"""Expands the macros of an authored text: one pass, left to right, inner first, results are final.

Texts of people and models are never expanded: what may be is of the type `Authored`, and everything
else comes in as a value. Source: spec sillytavern 4, decision 18.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.macros.braces import MARKER
from engine.macros.context import Authored, MacroContext
from engine.macros.evaluation import Evaluator
from engine.macros.note import MacroNote
from engine.macros.pieces import Profile, finished
from engine.macros.variables import Variables, VariableWrite

__all__ = ["Expansion", "evaluate", "expand"]


@dataclass(frozen=True, slots=True)
class Expansion:
    """The text, and what came of making it.

    `used` are the canonical names of the macros that were expanded, `unknown` the names that nothing
    is known of. `effects` are this text's writes to variables in order: nothing has been stored yet.
    `hidden_keys` stand nowhere, but the scan of lore may find them. `cut` tells that the output passed
    its limit and results after that are missing.
    """

    text: str
    used: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    notes: tuple[MacroNote, ...] = ()
    effects: tuple[VariableWrite, ...] = ()
    hidden_keys: tuple[str, ...] = ()
    cut: bool = False


def expand(
    text: Authored,
    context: MacroContext,
    *,
    variables: Variables | None = None,
    profile: Profile = "keep",
) -> str:
    """The text with its macros expanded."""
    return evaluate(text, context, variables=variables, profile=profile).text


def evaluate(
    text: Authored,
    context: MacroContext,
    *,
    variables: Variables | None = None,
    profile: Profile = "keep",
    inserts: Sequence[tuple[int, int, str]] = (),
    escape: Callable[[str], str] | None = None,
) -> Expansion:
    """As `expand`, telling what came of it. Never raises on any text; time and output are bounded.

    `variables` are shared by the texts of one assembly; without them each text starts from the
    context's own. `inserts` are spans of the text, in order and apart, in whose place other people's
    words come (`$1` of a regex script): nothing in them is a macro, also inside a macro's argument.
    `escape` is applied to what each macro yields, for the profile `pattern`.
    """
    variables = variables or Variables(context.local_variables, context.global_variables)
    if not inserts and "{{" not in text and not ("<" in text and MARKER.search(text)):
        return Expansion(finished([text], profile))
    before = len(variables.effects)
    evaluator = Evaluator(text, context, variables, profile, inserts)
    pieces = evaluator.pieces()
    return Expansion(
        text=finished(pieces, profile, escape),
        used=frozenset(evaluator.used),
        unknown=frozenset(evaluator.unknown),
        notes=tuple(evaluator.notes),
        effects=tuple(variables.effects[before:]),
        hidden_keys=tuple(evaluator.hidden_keys),
        cut=evaluator.cut,
    )
