"""Given any name, when a character speaks under it, then Discord takes it and people can read it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.markdown import is_blank
from bot.personas import webhook_name


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("Mira", "Mira"),
        ("  Mira   the Grey ", "Mira the Grey"),
        ("Clyde", "C\u200alyde"),
        ("my DISCORD kitten", "my D\u200aISCORD kitten"),
        ("everyone", "e\u200averyone"),
        ("Here", "H\u200aere"),
        ("here we go", "here we go"),
        ("Q", "Q\u17b5"),
        ("火", "火\u17b5"),
        ("```", "`\u200a`\u200a`"),
        ("", "…\u17b5"),
        ("\u200b", "…\u17b5"),
    ],
)
def test_names_are_mended_so_that_they_look_the_same(name: str, taken: str) -> None:
    assert webhook_name(name) == taken


def test_a_long_name_is_not_cut_through_a_visible_character() -> None:
    assert webhook_name("x" * 79 + "👩‍👩‍👧") == "x" * 79


@given(st.one_of(st.text(), st.text("cClydeisorDISCO` @erynvh\u200a", max_size=200)))
def test_every_name_is_one_that_discord_takes(name: str) -> None:
    taken = webhook_name(name)
    assert 2 <= len(taken) <= 80
    assert taken == taken.strip() and not is_blank(taken)
    lowered = taken.lower()
    assert "clyde" not in lowered and "discord" not in lowered and "```" not in lowered
    assert lowered not in ("everyone", "here")
