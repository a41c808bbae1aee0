"""The tool `roll_table`: draws from the random tables in the world books of the session.

Entries that are switched off count as well: so a table need not stand in the prompt to be rolled on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from engine.agent.tools import Tool, ToolArguments, ToolCall, ToolOutcome
from engine.resources import Entry, WorldBook
from engine.table.books import Shelf, ShelfSource
from engine.table.dice import Source
from engine.table.tables import RandomTable, TableError, read_table

__all__ = ["ROLL_TABLE", "table_tool"]

ROLL_TABLE = "roll_table"
MOST_DRAWS = 10
LISTED = 20  # names of tables in an answer; a model finds its way from there
NAME_LIMIT = 200


class TableArguments(ToolArguments):
    """Which table, and how often."""

    table: str = Field(
        max_length=NAME_LIMIT,
        description="The name of the table: the title or a key of its world book entry, or the name of the "
        "book. A name that fits none is answered with the tables that there are.",
    )
    times: int = Field(default=1, ge=1, le=MOST_DRAWS, description="How often to roll.")


@dataclass(frozen=True, slots=True)
class _Found:
    """An entry that may be a table; whether it is one is read when it is rolled on."""

    book: WorldBook
    entry: Entry

    @property
    def name(self) -> str:
        return " ".join(self.entry.label.split())[:NAME_LIMIT]


def table_tool(shelf_of: ShelfSource, source: Source) -> Tool:
    """The tool over the books that `shelf_of` gives; its dice fall as `source` says."""

    async def body(arguments: TableArguments, call: ToolCall) -> ToolOutcome:
        shelf = await shelf_of(call.session_id)
        found, table = _table(shelf, arguments.table)
        lines = []
        for _ in range(arguments.times):
            drawn = table.draw(source)
            text = " ".join(shelf.spoken(drawn.text).split())
            lines.append(f"{found.name}: d{drawn.sides} → [{drawn.face}] {text}")
        return ToolOutcome("\n".join(lines))

    return Tool(
        name=ROLL_TABLE,
        description="Roll on a random table of the story's world books, e.g. for encounters, loot, weather "
        "or rumours. The players see the roll. Weave the drawn line into the story.",
        body=body,
        arguments=TableArguments,
        parallel=True,
    )


def _table(shelf: Shelf, wanted: str) -> tuple[_Found, RandomTable]:
    """The one table that is meant. Raises TableError, naming those that there are."""
    candidates = [_Found(book, entry) for book, entry in shelf.entries()]
    name = _folded(wanted)
    # The best way of fitting decides; a table of exactly this name hides those that only contain it.
    for fits in (_is_named, _has_key, _is_of_book, _contains):
        meant = [(found, table) for found in candidates if fits(found, name) and (table := _read(found))]
        if len(meant) == 1:
            return meant[0]
        if meant:
            raise TableError(f"“{wanted}” can mean several tables: {_names([found for found, _ in meant])}.")
    tables = [found for found in candidates if _is_table(found)]
    if not tables:
        raise TableError("The world books of this story hold no tables.")
    raise TableError(f"There is no table “{wanted}”. There are: {_names(tables)}.")


def _is_named(found: _Found, name: str) -> bool:
    return _folded(found.entry.comment) == name


def _has_key(found: _Found, name: str) -> bool:
    return any(_folded(key) == name for key in found.entry.keys)


def _is_of_book(found: _Found, name: str) -> bool:
    return _folded(found.book.name) == name


def _contains(found: _Found, name: str) -> bool:
    return bool(name) and name in _folded(found.name)


def _read(found: _Found) -> RandomTable | None:
    """The table; raises TableError for one that is written wrongly, with its name."""
    try:
        return read_table(found.entry.content)
    except TableError as error:
        raise TableError(f"The table “{found.name}” cannot be rolled on. {error.message}") from error


def _is_table(found: _Found) -> bool:
    try:
        return read_table(found.entry.content) is not None
    except TableError:
        return True


def _names(tables: Sequence[_Found]) -> str:
    names = list(dict.fromkeys(f"“{found.name}”" for found in tables))
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
