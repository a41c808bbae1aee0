"""Chance that must agree with SillyTavern's to the bit. Values recorded there."""

import random

import pytest

from engine.macros import Dice, SeededRandom, parse_dice, seeded_fraction, string_hash


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


def test_half_a_surrogate_pair_has_a_hash() -> None:
    assert 0 <= string_hash("\ud83d") < 1 << 53


@pytest.mark.parametrize(
    ("seed", "value"),
    [
        ("0", 0.7803563384230067),
        ("1", 0.2694488477791326),
        ("added entropy.", 0.597067214994467),
        ("7054213", 0.47669216400443803),
        (0, 0.038085370776470735),
        (4294967296123, 0.5638349310028559),
    ],
)
def test_seeded_fraction(seed: str | int, value: float) -> None:
    assert seeded_fraction(seed) == value


def test_numbers_of_one_seed_follow_each_other() -> None:
    source = SeededRandom("1")
    assert [source.random() for _ in range(3)] == [
        0.2694488477791326,
        0.43440878183925163,
        0.8740779300873869,
    ]


def test_an_empty_seed_has_a_fraction_too() -> None:
    assert 0 <= seeded_fraction("") < 1
    assert 0 <= seeded_fraction("x" * 1000) < 1


def test_dice_know_their_bounds_and_keep_to_them() -> None:
    dice = parse_dice("2d6-3")
    assert dice == Dice(2, 6, -3)
    assert (dice.least, dice.most) == (-1, 9)
    rng = random.Random(1)
    assert {dice.roll(rng.random) for _ in range(500)} == set(range(-1, 10))


def test_at_most_a_hundred_dice_are_thrown() -> None:
    assert Dice(1000, 6, 0).roll(lambda: 0.5) == 400
