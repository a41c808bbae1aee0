"""Macros: `{{char}}`, `{{random::a::b}}` and their kind, in authored texts."""

from engine.macros.chance import Dice, SeededRandom, parse_dice, seeded_fraction, string_hash
from engine.macros.context import Authored, Chat, ChatMessage, MacroContext
from engine.macros.expansion import Expansion, evaluate, expand
from engine.macros.note import MacroNote
from engine.macros.pieces import Profile
from engine.macros.variables import Value, Variables, VariableWrite

__all__ = [
    "Authored",
    "Chat",
    "ChatMessage",
    "Dice",
    "Expansion",
    "MacroContext",
    "MacroNote",
    "Profile",
    "SeededRandom",
    "Value",
    "VariableWrite",
    "Variables",
    "evaluate",
    "expand",
    "parse_dice",
    "seeded_fraction",
    "string_hash",
]
