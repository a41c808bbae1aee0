"""Random tables in the texts of entries: which forms are read, and which are refused."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.table.tables import RandomTable, TableError, read_table
from tests.engine.table.bench import Falling


def rows(content: str) -> list[tuple[int, int, str]]:
    table = read_table(content)
    assert table is not None
    return [(row.low, row.high, row.text) for row in table.rows]


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("- Rain\n* Wind\n+ Sun", [(1, 1, "Rain"), (2, 2, "Wind"), (3, 3, "Sun")]),
        ("Roll for the weather.\n\n- Rain (x3)\n- Sun", [(1, 3, "Rain"), (4, 4, "Sun")]),
        ("- 雨（×２）\n- 晴", [(1, 2, "雨"), (3, 3, "晴")]),
        ("1-3: Rain\n4: Wind\n5–6: Sun", [(1, 3, "Rain"), (4, 4, "Wind"), (5, 6, "Sun")]),
        ("- 1-3: Rain\n- 4-6: Sun", [(1, 3, "Rain"), (4, 6, "Sun")]),
        ("1. Rain\n2. Wind\n3. Sun", [(1, 1, "Rain"), (2, 2, "Wind"), (3, 3, "Sun")]),
        ("1-3：雨\n4至6：晴", [(1, 3, "雨"), (4, 6, "晴")]),
        ("4-6: Sun\n1-3: Rain", [(1, 3, "Rain"), (4, 6, "Sun")]),
        ("01-50 | Rain\n51-00 | Sun", [(1, 50, "Rain"), (51, 100, "Sun")]),
        ("2: Snow\n3-11: Rain\n12: Sun", [(2, 2, "Snow"), (3, 11, "Rain"), (12, 12, "Sun")]),
        (
            "| d6 | weather |\n|---|:---:|\n| 1-3 | Rain |\n| 4–6 | Sun |",
            [(1, 3, "Rain"), (4, 6, "Sun")],
        ),
        (
            "| weather | wind |\n|---|---|\n| Rain | strong |\n| Sun (x2) | |",
            [(1, 1, "Rain — strong"), (2, 3, "Sun")],
        ),
        ("1: Rain, from 3: 00 on\n2: Sun", [(1, 1, "Rain, from 3: 00 on"), (2, 2, "Sun")]),
    ],
)
def test_a_table_is_read(content: str, read: list[tuple[int, int, str]]) -> None:
    assert rows(content) == read


@pytest.mark.parametrize(
    "content",
    [
        "",
        "The inn has three rooms.",
        "- One thing only",
        "1: One line only",
        "---\n---",
        "Born in 1203.\nDied.",
    ],
)
def test_prose_is_no_table(content: str) -> None:
    assert read_table(content) is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("1-2: Rain\n4: Sun", "No line is for 3, between “Rain” and “Sun”."),
        ("1-3: Rain\n3-6: Sun", "The number 3 stands twice, for “Rain” and “Sun”."),
        ("3-1: Rain\n4-6: Sun", "The range 3-1 of “Rain” cannot be rolled."),
        ("- Rain (x0)\n- Sun", "The line “Rain (x0)” weighs nothing."),
    ],
)
def test_a_table_that_cannot_be_rolled_is_refused(content: str, told: str) -> None:
    with pytest.raises(TableError) as caught:
        read_table(content)
    assert caught.value.message.startswith(told)


def test_a_draw_is_the_line_of_the_face() -> None:
    table = read_table("2: Snow\n3-11: Rain\n12: Sun")
    assert table is not None
    source = Falling(2, 11, 12)
    assert [table.draw(source).text for _ in range(3)] == ["Snow", "Rain", "Sun"]
    assert source.asked == [(2, 12)] * 3


@given(st.lists(st.integers(1, 50), min_size=2, max_size=20), st.integers())
def test_weights_become_faces_without_gap_or_overlap(weights: list[int], seed: int) -> None:
    table = read_table("\n".join(f"- line {n} (x{weight})" for n, weight in enumerate(weights)))
    assert isinstance(table, RandomTable)
    faces = [face for row in table.rows for face in range(row.low, row.high + 1)]
    assert faces == list(range(1, sum(weights) + 1))
    drawn = table.draw(random.Random(seed))
    counted = [n for n, weight in enumerate(weights) for _ in range(weight)]
    assert drawn.text == f"line {counted[drawn.face - 1]}"


@given(st.text(max_size=300))
def test_no_text_does_worse_than_be_refused(content: str) -> None:
    try:
        table = read_table(content)
    except TableError:
        return
    if table is not None:
        assert table.draw(random.Random(0)).text
