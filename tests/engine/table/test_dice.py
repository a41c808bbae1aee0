"""Dice notation: what it means, what it shows, and what it refuses."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.table.dice import (
    MAX_EXPLOSIONS,
    Constant,
    Dice,
    DiceError,
    Expression,
    Keep,
    parse,
    roll,
)
from tests.engine.table.bench import Falling


@pytest.mark.parametrize(
    ("text", "faces", "shown"),
    [
        ("2d6+3", (4, 2), "2d6+3 → [4, 2] + 3 = 9"),
        ("d20", (17,), "d20 → [17] = 17"),
        ("1D20", (17,), "d20 → [17] = 17"),
        ("2d6 - 1d4 - 2", (4, 2, 3), "2d6-d4-2 → [4, 2] - [3] - 2 = 1"),
        ("-d6+1", (4,), "-d6+1 → -[4] + 1 = -3"),
        ("3+2d6", (4, 2), "3+2d6 → 3 + [4, 2] = 9"),
        ("d%", (42,), "d% → [42] = 42"),
        ("2d100", (42, 1), "2d% → [42, 1] = 43"),
        ("4d6kh3", (1, 6, 3, 5), "4d6kh3 → [(1), 6, 3, 5] = 14"),
        ("4d6dl1", (1, 6, 3, 5), "4d6dl1 → [(1), 6, 3, 5] = 14"),
        ("4d6dl", (1, 6, 3, 5), "4d6dl1 → [(1), 6, 3, 5] = 14"),
        ("4d6kl2", (1, 6, 3, 5), "4d6kl2 → [1, (6), 3, (5)] = 4"),
        ("4d6dh1", (1, 6, 3, 5), "4d6dh1 → [1, (6), 3, 5] = 9"),
        ("3d6kh1", (5, 5, 5), "3d6kh1 → [5, (5), (5)] = 5"),
        ("2d6!", (6, 6, 2, 3), "2d6! → [6!, 6!, 2, 3] = 17"),
        ("2d6!kh1", (6, 2, 3), "2d6!kh1 → [6!, (2), (3)] = 6"),
        ("d20adv+5", (8, 19), "d20adv+5 → [(8), 19] + 5 = 24"),
        ("d20 dis", (8, 19), "d20dis → [8, (19)] = 8"),
        ("adv", (8, 19), "d20adv → [(8), 19] = 19"),
        ("dis + 1", (8, 19), "d20dis+1 → [8, (19)] + 1 = 9"),
        ("２ｄ６＋３", (4, 2), "2d6+3 → [4, 2] + 3 = 9"),
        ("2d6−1", (4, 2), "2d6-1 → [4, 2] - 1 = 5"),
    ],
)
def test_a_roll_shows_every_die(text: str, faces: tuple[int, ...], shown: str) -> None:
    source = Falling(*faces)
    assert str(roll(parse(text), source)) == shown
    assert source.faces == []


def test_a_die_that_explodes_for_ever_stops() -> None:
    class Highest:
        def randint(self, low: int, high: int, /) -> int:
            return high

    rolled = roll(parse("d6!"), Highest())
    assert (len(rolled.parts[0].dice), rolled.total) == (MAX_EXPLOSIONS + 1, (MAX_EXPLOSIONS + 1) * 6)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "There is nothing to roll."),
        ("   ", "There is nothing to roll."),
        ("5", "There are no dice in it."),
        ("2d", "Expected how many sides the dice have at character 3, but the roll ends there."),
        ("2d6+", "Expected dice or a number at character 5, but the roll ends there."),
        ("2d6d8", "Expected dice or a number at character 4, but “d8” stands there."),
        ("2d6 x3", "Expected dice or a number at character 4, but “x3” stands there."),
        ("attack", "Expected dice or a number at character 1, but “attack” stands there."),
        ("0d6", "The number of dice is 1 to 100, not 0."),
        ("101d6", "The number of dice is 1 to 100, not 101."),
        ("d0", "The number of sides is 1 to 10,000, not 0."),
        ("d10001", "The number of sides is 1 to 10,000, not 10,001."),
        ("d6+1000001", "A number in a roll is 0 to 1,000,000, not 1,000,001."),
        ("3d6kh4", "The number of dice to keep is 1 to 3, not 4."),
        ("3d6dl0", "The number of dice to drop is 1 to 3, not 0."),
        ("3d6kh1dl1", "Only one of kh, kl, dh and dl can stand behind dice."),
        ("d6!!", "The dice explode already"),
        ("d1!", "A die with one side would explode for ever."),
        ("2d20adv", "Advantage and disadvantage are for one die alone"),
        ("d20advdis", "Advantage or disadvantage can stand there once."),
        ("+".join(["d6"] * 21), "A roll has at most 20 parts."),
        ("d6" + " " * 200, "A roll has at most 200 characters."),
        ("½d6", "Expected dice or a number at character 2"),
    ],
)
def test_what_is_no_roll_is_refused_with_a_reason(text: str, told: str) -> None:
    with pytest.raises(DiceError) as caught:
        parse(text)
    assert caught.value.message.startswith(told)
    assert caught.value.error_code == "DICE_INVALID"


keeps = st.sampled_from(["kh", "kl", "dh", "dl"])


@st.composite
def dice(draw: st.DrawFn) -> Dice:
    if draw(st.booleans()) and draw(st.booleans()):
        return Dice(1, draw(st.integers(1, 10_000)), advantage=draw(st.sampled_from(["adv", "dis"])))
    count, sides = draw(st.integers(1, 100)), draw(st.integers(1, 10_000))
    keep = Keep(draw(keeps), draw(st.integers(1, count))) if draw(st.booleans()) else None
    return Dice(count, sides, explodes=sides > 1 and draw(st.booleans()), keep=keep)


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    terms: list[Dice | Constant] = draw(
        st.lists(dice() | st.builds(Constant, st.integers(0, 1_000_000)), max_size=4)
    )
    terms.insert(draw(st.integers(0, len(terms))), draw(dice()))
    return Expression(tuple((draw(st.sampled_from([1, -1])), term) for term in terms))


@given(expressions())
def test_what_is_written_means_what_was_meant(expression: Expression) -> None:
    assert parse(str(expression)) == expression


@given(expressions(), st.integers())
def test_the_total_is_what_the_shown_dice_add_up_to(expression: Expression, seed: int) -> None:
    """Against a count of its own: from the text alone, as a person at the table would check it."""
    rolled = roll(expression, random.Random(seed))
    shown, _, total = str(rolled).partition(" → ")[2].rpartition(" = ")
    counted = 0
    for sign, part in _parts(shown):
        dice = [die for die in part.strip("[]").split(", ") if not die.startswith("(")]
        counted += sign * sum(int(die.rstrip("!")) for die in dice)
    assert counted == int(total) == rolled.total


def _parts(shown: str) -> list[tuple[int, str]]:
    text = shown.replace(" - ", "\n-").replace(" + ", "\n+")
    return [(-1 if part.startswith("-") else 1, part.lstrip("+-")) for part in text.split("\n")]


@given(expressions(), st.integers())
def test_every_die_lies_on_a_face_and_as_many_count_as_are_kept(expression: Expression, seed: int) -> None:
    for part in roll(expression, random.Random(seed)).parts:
        if isinstance(part.term, Constant):
            assert part.dice == ()
            continue
        values = [die.value for die in part.dice]
        kept = [die.value for die in part.dice if die.counts]
        assert all(1 <= value <= part.term.sides for value in values)
        keep, ranked = part.term.keep, sorted(values)
        if part.term.advantage is not None:
            assert (len(values), kept) == (2, [max(values) if part.term.advantage == "adv" else min(values)])
        elif keep is None:
            assert kept == values
        else:
            wanted = {
                "kh": ranked[-keep.count :],
                "kl": ranked[: keep.count],
                "dh": ranked[: len(ranked) - keep.count],
                "dl": ranked[keep.count :],
            }[keep.kind]
            assert sorted(kept) == wanted


@given(st.text(alphabet="0123456789d%+-!khlasvi .ｄ６", max_size=30) | st.text(max_size=60))
@example("d" * 200)
def test_no_text_does_worse_than_be_refused(text: str) -> None:
    try:
        rolled = roll(parse(text), random.Random(0))
    except DiceError:
        return
    assert str(rolled.total) in str(rolled)
