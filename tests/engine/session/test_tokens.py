"""Estimates of tokens (decision 11)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.session import (
    Calibration,
    estimate_tokens,
    message_tokens,
    reasoning_block,
    tool_call_block,
    user_message,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("word", 1),
        ("hello world", 3),
        ("今天下雨了", 5),
        ("雨の夜に", 4),
        ("비가 온다", 5),
        ("Mira 说：你好", 6),
        ("é" * 8, 2),
    ],
)
def test_a_wide_character_is_a_token_and_four_others_are_one(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_a_longer_text_never_counts_less(text: str, more: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + more) <= len(text + more)


def test_a_message_counts_everything_that_is_sent_of_it() -> None:
    image = {"type": "image", "attachment": {}}
    blocks = [
        {"type": "text", "text": "four" * 4},
        reasoning_block("deep"),
        tool_call_block("c", "dice", "{}"),
    ]

    assert message_tokens(user_message("u", "")) == 4
    assert message_tokens(user_message("u", blocks)) == 4 + 4 + 1 + (4 + 1 + 1)
    assert message_tokens(user_message("u", [image])) == 1004
    assert message_tokens(user_message("u", [{**image, "offloaded": True}])) == 4
    assert message_tokens(user_message("u", [{"type": "poll"}])) == 4


def test_a_model_that_was_never_heard_of_is_taken_at_its_estimate() -> None:
    assert Calibration().tokens("p", "m", 100) == 100


def test_reports_move_the_factor_of_their_model_only() -> None:
    calibration = Calibration()
    calibration.observe("p", "m", estimated=100, reported=150)
    calibration.observe("p", "m", estimated=100, reported=110)

    assert calibration.factor("p", "m") == pytest.approx(1.4)
    assert calibration.tokens("p", "m", 1000) == 1400
    assert calibration.factor("p", "other") == 1.0


@given(st.lists(st.tuples(st.integers(-5, 10**6), st.integers(-5, 10**6))))
def test_no_report_leads_out_of_bounds(reports: list[tuple[int, int]]) -> None:
    calibration = Calibration()
    for estimated, reported in reports:
        calibration.observe("p", "m", estimated=estimated, reported=reported)

    assert 0.5 <= calibration.factor("p", "m") <= 3.0
