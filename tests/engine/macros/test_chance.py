"""Chance that must agree with SillyTavern's to the bit. Values recorded there."""

import pytest

from engine.macros.chance import seeded_fraction, string_hash


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", 7929297801672961),
        ("hello", 4625896200565286),
        ("猫", 4666927080988313),
        ("😀", 4725715722941614),
        ("line1\nline2", 2211865008556722),
        ("chat-1", 7235048233963410),
    ],
)
def test_string_hash(text: str, value: int) -> None:
    assert string_hash(text) == value


@pytest.mark.parametrize(
    ("seed", "value"),
    [
        ("0", 0.7803563384230067),
        ("1", 0.2694488477791326),
        ("added entropy.", 0.597067214994467),
        ("7054213", 0.47669216400443803),
    ],
)
def test_seeded_fraction(seed: str, value: float) -> None:
    assert seeded_fraction(seed) == value


def test_an_empty_seed_has_a_fraction_too() -> None:
    assert 0 <= seeded_fraction("") < 1
