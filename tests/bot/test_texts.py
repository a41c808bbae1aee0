"""Texts that fit into a form and texts that do not, and what forms make of what they are given."""

from __future__ import annotations

import pytest

from bot import forms, texts
from bot.forms import ChoiceField, FileField, TextField


async def test_a_form_says_what_discord_wants_to_hear() -> None:
    # given a form of every kind of field, with names longer than Discord takes
    form = forms.form(
        "card-text",
        "c_8f3k0m2x91az",
        3,
        title="T" * 100,
        fields=[
            TextField("a", "L" * 100, "now", long=True, hint="H" * 200, example="E" * 200),
            FileField("b", "File"),
            ChoiceField("c", "One", [("Left", "l", False), ("Right", "r", True)]),
        ],
    )

    # then all of it is within the limits, and says where its answer goes
    told = form.to_dict()
    assert told["custom_id"] == "in1:card-text:c_8f3k0m2x91az:3"
    assert len(str(told["title"])) == 45
    assert [part["type"] for part in told["components"]] == [18, 18, 18]
    assert len(told["components"][0]["label"]) == 45
    assert len(told["components"][0]["description"]) == 100


async def test_a_text_that_a_form_would_cut_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="longer than its field"):
        forms.form("x", title="T", fields=[TextField("a", "L", "x" * 4001)])


@pytest.mark.parametrize("count", [0, 6])
async def test_a_form_has_one_to_five_fields(count: int) -> None:
    with pytest.raises(ValueError, match="one to five"):
        forms.form("x", title="T", fields=[TextField(str(n), "L") for n in range(count)])


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [("a", "a", True), ("  a\n", "a", True), ("a", "b", False), ("", " ", True), ("a b", "a  b", False)],
)
def test_white_space_at_the_ends_is_no_change(before: str, after: str, same: bool) -> None:
    assert texts.same(before, after) is same
