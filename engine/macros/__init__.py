"""Macros: `{{char}}`, `{{random::a::b}}` and their kind, in trusted texts."""

from engine.macros.expansion import Expansion, MacroContext, evaluate, expand

__all__ = ["Expansion", "MacroContext", "evaluate", "expand"]
