"""Excerpts: short enough, whole characters, and no markup of somebody else's."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.excerpts import bare, clip, one_line, plain, prose, size


def test_what_fits_is_left_alone() -> None:
    assert clip("a fine day", 10) == "a fine day"
    assert clip("三个字", 3, 9) == "三个字"


def test_what_is_too_long_ends_in_an_ellipsis() -> None:
    assert clip("a very fine day", 11) == "a very…"
    assert clip("a very fine day", 12) == "a very fine…"
    assert clip("incomprehensibilities", 9) == "incompre…"
    assert clip("风雨同舟", 4, 9) == "风雨…"


def test_no_visible_character_is_cut_in_two() -> None:
    assert clip("ab👩‍🚀cd", 5) == "ab…"
    assert clip("cafe\u0301s", 5) == "caf…"


def test_an_escape_is_not_cut_in_two() -> None:
    assert clip(r"ab\*cd", 4) == "ab…"
    assert clip(r"ab\\cd", 5) == r"ab\\…"


@given(st.text(max_size=400), st.integers(1, 60), st.integers(3, 200))
def test_a_clipped_text_always_fits(text: str, chars: int, most_bytes: int) -> None:
    clipped = clip(text, chars, most_bytes)
    assert len(clipped) <= chars
    assert len(clipped.encode()) <= most_bytes


def test_lines_become_one() -> None:
    assert one_line("  It\nis\t\nraining. ", 40) == "It is raining."


def test_markup_shows_as_it_is() -> None:
    assert plain("**Bold** _Ada_", 40) == r"\*\*Bold\*\* \_Ada\_"
    assert plain("# Title", 40) == r"\# Title"


@pytest.mark.parametrize(
    "name", ["<@1>", "<@&1>", "<#5>", "<:a:12>", "<a:b:12>", "</play:1>", "<t:1:R>", "@everyone", "@here"]
)
def test_no_name_is_a_mention(name: str) -> None:
    assert plain(f"Ada {name}", 40) == f"Ada \\{name}"


@given(st.text(alphabet="ab_*`~|\\<>@#[(:- ", max_size=30))
@example("my_cards <@1> @everyone")
def test_what_was_made_fit_for_markup_is_as_before_where_there_is_none(name: str) -> None:
    assert bare(plain(name, 100)) == one_line(name, 100)


def test_no_link_can_be_hidden_behind_another() -> None:
    assert plain("[a](https://b.c) **d** [e](https://f.g)", 60) == (
        r"\[a](https://b.c) \*\*d\*\* \[e](https://f.g)"
    )
    assert plain("https://a.b [c](https://d.e)", 60) == r"https://a.b \[c](https://d.e)"
    assert plain("x](https://a.b)[c](https://d.e)", 60).count(r"\[") == 1


def test_prose_is_shown_without_its_emphasis() -> None:
    assert prose("*The rain* has **followed** you, `Ada`.\nCome in.", 80) == (
        "The rain has followed you, Ada. Come in."
    )
    assert prose("[a link](https://example.com)", 80) == r"\[a link](https://example.com)"


@pytest.mark.parametrize(
    ("count", "words"),
    [(640, "640 B"), (12_800, "12 KiB"), (33_554_432, "32.0 MiB"), (33_030_144, "31.5 MiB")],
)
def test_sizes_are_said_as_people_say_them(count: int, words: str) -> None:
    assert size(count) == words


def test_a_text_with_the_sign_that_stands_in_for_links_gains_nothing() -> None:
    assert plain("a\0b", 20) == "ab"
    assert plain("x](y\0z)", 20) == r"x]\(yz)"
