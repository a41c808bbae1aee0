"""Content as files: cards, presets, world books, personas. Read losslessly, bounded, without I/O."""

from engine.resources.card import Card, DepthPrompt, parse_card
from engine.resources.card_file import read_card
from engine.resources.diagnostic import Diagnostic, Diagnostics
from engine.resources.entry import Entry
from engine.resources.persona import Persona, make_persona
from engine.resources.portrait import Avatar, make_avatar
from engine.resources.preset import Preset, Prompt, parse_preset, read_preset
from engine.resources.world_book import WorldBook, parse_world_book, read_world_book

__all__ = [
    "Avatar",
    "Card",
    "DepthPrompt",
    "Diagnostic",
    "Diagnostics",
    "Entry",
    "Persona",
    "Preset",
    "Prompt",
    "WorldBook",
    "make_avatar",
    "make_persona",
    "parse_card",
    "parse_preset",
    "parse_world_book",
    "read_card",
    "read_preset",
    "read_world_book",
]
