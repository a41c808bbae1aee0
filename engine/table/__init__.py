"""The table's own tools: dice, random tables, and the memory of the story."""

from engine.table.books import Shelf, ShelfSource
from engine.table.dice import DiceError, Source
from engine.table.tables import RandomTable, TableError, read_table
from engine.table.toolbox import SHOWN, TOOLS, Toolbox

__all__ = [
    "SHOWN",
    "TOOLS",
    "DiceError",
    "RandomTable",
    "Shelf",
    "ShelfSource",
    "Source",
    "TableError",
    "Toolbox",
    "read_table",
]
