"""Random tables: the entries of a world book from which one line is drawn.

An entry is a table when its content holds at least two lines of one of these forms; everything else in it
is commentary and is passed over:

    - A lone rider            every line is equally likely
    - A patrol (x3)           three times as likely as a line without a weight; `×3` does as well
    1-3: Nothing              the line for a range of the die, whose highest number is the table's;
    4: A lone rider           with or without a leading dash; `.`, `)`, `|` or a wide colon do as well
    | 1-3 | Nothing |         a Markdown table: a first cell with a range, or rows that are equally likely

In a table with ranges every number from the lowest to the highest must belong to exactly one line; `00` is
100. Pure but for the random source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.errors import InputError
from engine.table.dice import Source

__all__ = ["Drawn", "RandomTable", "Row", "TableError", "read_table"]

MAX_FACE = 1_000_000

_RANGE = r"(\d{1,7})(?:\s*[-–—~～至到]\s*(\d{1,7}))?"
_RANGED = re.compile(rf"^(?:[-*+•]\s+)?{_RANGE}\s*[:：.．、)）|]\s*(.*\S)\s*$")
_BULLET = re.compile(r"^[-*+•]\s+(.*\S)\s*$")
_WEIGHT = re.compile(r"\s*[(（]\s*[x×]\s*(\d{1,4})\s*[)）]\s*$", re.IGNORECASE)
_CELL_RANGE = re.compile(rf"^{_RANGE}$")
_RULE = re.compile(r"^:?-{1,}:?$")


class TableError(InputError):
    """This is no table that can be rolled on."""

    code = "TABLE_INVALID"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table, and the faces of the die that mean it, both inclusive."""

    low: int
    high: int
    text: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """One draw: the face of the die, and the line that it means."""

    sides: int
    face: int
    text: str


@dataclass(frozen=True, slots=True)
class RandomTable:
    """Rows in the order of their faces, without gaps."""

    rows: tuple[Row, ...]

    @property
    def sides(self) -> int:
        """The highest face."""
        return self.rows[-1].high

    def draw(self, source: Source) -> Drawn:
        """Roll the table's die."""
        face = source.randint(self.rows[0].low, self.sides)
        row = next(row for row in self.rows if row.low <= face <= row.high)
        return Drawn(self.sides, face, row.text)


def read_table(content: str) -> RandomTable | None:
    """The table in a text, None when there is none.

    Raises TableError for ranges that leave a number out, name one twice, or run backwards.
    """
    lines = [line.strip() for line in content.splitlines()]
    ranged = [*_cells_with_ranges(lines), *_ranged(lines)]
    if len(ranged) > 1:
        return RandomTable(_complete(ranged))
    plain = [*_cells(lines), *_bullets(lines)]
    if len(plain) < 2:
        return None
    rows: list[Row] = []
    low = 1
    for text, weight in plain:
        rows.append(Row(low, low + weight - 1, text))
        low += weight
    return RandomTable(tuple(rows))


def _ranged(lines: Sequence[str]) -> Iterator[Row]:
    for line in lines:
        if not line.startswith("|") and (match := _RANGED.match(line)) is not None:
            yield _row(match[1], match[2], match[3])


def _cells_with_ranges(lines: Sequence[str]) -> Iterator[Row]:
    for cells in _table_rows(lines):
        match = _CELL_RANGE.match(cells[0])
        if match is not None and any(cells[1:]):
            yield _row(match[1], match[2], _joined(cells[1:]))


def _row(low: str, high: str | None, text: str) -> Row:
    return Row(_face(low), _face(high if high is not None else low), text)


def _face(digits: str) -> int:
    # On percentile tables the highest number is written as it falls: 00.
    return 100 if digits == "00" else int(digits)


def _bullets(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    for line in lines:
        if (match := _BULLET.match(line)) is not None and not _RULE.match(line):
            yield _weighted(match[1])


def _cells(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    for cells in _table_rows(lines):
        yield _weighted(_joined(cells))


def _weighted(text: str) -> tuple[str, int]:
    match = _WEIGHT.search(text)
    if match is None:
        return text, 1
    weight = int(match[1])
    if weight < 1:
        raise TableError(f"The line “{text[:60]}” weighs nothing. Leave it out, or give it a weight from 1.")
    return text[: match.start()], weight


def _table_rows(lines: Sequence[str]) -> Iterator[list[str]]:
    """The rows of Markdown tables: those after the rule under a head, or all where there is no rule."""
    block: list[list[str]] = []
    for line in (*lines, ""):
        if line.startswith("|") and line.count("|") > 1:
            block.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        rules = [index for index, cells in enumerate(block) if all(map(_RULE.match, cells))]
        body = block[rules[0] + 1 :] if rules else block
        yield from (cells for cells in body if any(cells))
        block = []


def _joined(cells: Sequence[str]) -> str:
    return " — ".join(cell for cell in cells if cell)


def _complete(rows: Sequence[Row]) -> tuple[Row, ...]:
    ordered = sorted(rows, key=lambda row: row.low)
    for row in ordered:
        if not row.low <= row.high <= MAX_FACE:
            raise TableError(f"The range {row.low}-{row.high} of “{row.text[:60]}” cannot be rolled.")
    for before, after in pairwise(ordered):
        if after.low <= before.high:
            raise TableError(
                f"The number {after.low} stands twice, for “{before.text[:40]}” and “{after.text[:40]}”."
            )
        if after.low > before.high + 1:
            raise TableError(
                f"No line is for {before.high + 1}, between “{before.text[:40]}” and “{after.text[:40]}”."
            )
    return tuple(ordered)
