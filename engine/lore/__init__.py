"""Lore: which entries a conversation wakes, why, and where they go."""

from engine.lore.activation import activate
from engine.lore.composition import ORDER, BookOrder, Origin, admitted, compose, embedded_id, tier_of
from engine.lore.context import ActivationContext, ContextMessage, activation_context
from engine.lore.effects import EFFECTS_RECORD, Effect, TimedEffects
from engine.lore.index import Book, Indexes
from engine.lore.outcome import Activation, ActiveEntry, Budget
from engine.lore.places import DepthBlock, Example, Piece, Places, place
from engine.lore.reasons import Hit, Reason, Verdict
from engine.lore.rules import KEPT, MENDED, SILLYTAVERN, LoreSettings, Quirk
from engine.lore.situation import Rolls, Situation, seeded_rolls

__all__ = [
    "EFFECTS_RECORD",
    "KEPT",
    "MENDED",
    "ORDER",
    "SILLYTAVERN",
    "Activation",
    "ActivationContext",
    "ActiveEntry",
    "Book",
    "BookOrder",
    "Budget",
    "ContextMessage",
    "DepthBlock",
    "Effect",
    "Example",
    "Hit",
    "Indexes",
    "LoreSettings",
    "Origin",
    "Piece",
    "Places",
    "Quirk",
    "Reason",
    "Rolls",
    "Situation",
    "TimedEffects",
    "Verdict",
    "activate",
    "activation_context",
    "admitted",
    "compose",
    "embedded_id",
    "place",
    "seeded_rolls",
    "tier_of",
]
