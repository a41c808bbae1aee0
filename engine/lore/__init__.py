"""Lore: which entries of world books a conversation activates."""

from engine.lore.activation import Activation, ActiveEntry, Book, LoreSettings, activate

__all__ = ["Activation", "ActiveEntry", "Book", "LoreSettings", "activate"]
