"""Dice notation: a parser, and rolls that show every die.

    roll   = part (("+" | "-") part)*
    part   = number | [count] "d" (sides | "%") mark*  |  "adv" | "dis"
    mark   = "!" | ("kh" | "kl" | "dh" | "dl") [number] | "adv" | "dis"

`2d6+3`, `4d6kh3` (keep the three highest), `4d6dl1` (drop the lowest), `3d6!` (a die that shows its
highest face is rolled again and added), `d20adv` (two dice, the higher counts; `adv` alone is `d20adv`),
`d%` (a hundred faces). White space and case do not matter, and full-width signs are read as usual ones.

Pure but for the random source. Every limit refuses; nothing is cut down in silence.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from engine.errors import InputError

__all__ = [
    "Constant",
    "Dice",
    "DiceError",
    "Die",
    "Expression",
    "Keep",
    "Roll",
    "Rolled",
    "Source",
    "parse",
    "roll",
]

MAX_TEXT = 200  # characters; nobody writes a longer roll by hand
MAX_TERMS = 20
MAX_DICE = 100  # of one term: more cannot be read off a line
MAX_SIDES = 10_000
MAX_NUMBER = 1_000_000
MAX_EXPLOSIONS = 100  # of one term; a fair d2! passes it once in 2**100 rolls

KeepKind: TypeAlias = Literal["kh", "kl", "dh", "dl"]
_KEEPS: tuple[KeepKind, ...] = ("kh", "kl", "dh", "dl")


class DiceError(InputError):
    """This is no roll of dice."""

    code = "DICE_INVALID"


class Source(Protocol):
    """Where chance comes from; `random.Random` is one."""

    def randint(self, low: int, high: int, /) -> int: ...


@dataclass(frozen=True, slots=True)
class Keep:
    """Which dice count: `kh` and `kl` keep the highest or lowest `count`, `dh` and `dl` drop them."""

    kind: KeepKind
    count: int


@dataclass(frozen=True, slots=True)
class Dice:
    """Dice of one kind. `advantage` rolls one die twice and lets the higher count, or the lower (`dis`)."""

    count: int
    sides: int
    explodes: bool = False
    keep: Keep | None = None
    advantage: Literal["adv", "dis"] | None = None

    def __str__(self) -> str:
        sides = "%" if self.sides == 100 else str(self.sides)
        text = f"{'' if self.count == 1 else self.count}d{sides}{'!' if self.explodes else ''}"
        if self.keep is not None:
            text += f"{self.keep.kind}{self.keep.count}"
        return text + (self.advantage or "")


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that is added as it is."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


Term: TypeAlias = Dice | Constant


@dataclass(frozen=True, slots=True)
class Expression:
    """Terms with their signs, at least one of them dice. `str` is its shortest form, which parses to it."""

    terms: tuple[tuple[int, Term], ...]

    def __str__(self) -> str:
        text = "".join(("-" if sign < 0 else "+") + str(term) for sign, term in self.terms)
        return text.removeprefix("+")


@dataclass(frozen=True, slots=True)
class Die:
    """One die as it fell. One that does not count is shown all the same."""

    value: int
    counts: bool = True
    exploded: bool = False

    def __str__(self) -> str:
        text = f"{self.value}{'!' if self.exploded else ''}"
        return text if self.counts else f"({text})"


@dataclass(frozen=True, slots=True)
class Rolled:
    """What a term came to: its dice in the order in which they fell, none for a constant."""

    sign: int
    term: Term
    dice: tuple[Die, ...]

    @property
    def total(self) -> int:
        """Without the sign."""
        if isinstance(self.term, Constant):
            return self.term.value
        return sum(die.value for die in self.dice if die.counts)

    def __str__(self) -> str:
        return str(self.term) if isinstance(self.term, Constant) else f"[{', '.join(map(str, self.dice))}]"


@dataclass(frozen=True, slots=True)
class Roll:
    """A whole roll. `str` shows every die: `2d6+3 → [4, 2] + 3 = 9`; dice that do not count in brackets,
    `!` behind one that exploded."""

    expression: Expression
    parts: tuple[Rolled, ...]

    @property
    def total(self) -> int:
        return sum(part.sign * part.total for part in self.parts)

    def __str__(self) -> str:
        first, *others = self.parts
        shown = ("-" if first.sign < 0 else "") + str(first)
        shown += "".join(f" {'-' if part.sign < 0 else '+'} {part}" for part in others)
        return f"{self.expression} → {shown} = {self.total}"


def parse(text: str) -> Expression:
    """The roll that a text means. Raises DiceError, saying where it stops to make sense."""
    text = unicodedata.normalize("NFKC", text).replace("−", "-").lower()
    if len(text) > MAX_TEXT:
        raise DiceError(f"A roll has at most {MAX_TEXT} characters.")
    return _Parser("".join(text.split())).expression()


def roll(expression: Expression, source: Source) -> Roll:
    """Roll it."""
    return Roll(
        expression,
        tuple(Rolled(sign, term, _fall(term, source)) for sign, term in expression.terms),
    )


# -- rolling -------------------------------------------------------------------------------------


def _fall(term: Term, source: Source) -> tuple[Die, ...]:
    if isinstance(term, Constant):
        return ()
    if term.advantage is not None:
        pair = [source.randint(1, term.sides) for _ in range(2)]
        return _counted(pair, [], Keep("kh" if term.advantage == "adv" else "kl", 1))
    fallen: list[int] = []
    exploded: list[int] = []
    for _ in range(term.count):
        fallen.append(source.randint(1, term.sides))
        while term.explodes and fallen[-1] == term.sides and len(exploded) < MAX_EXPLOSIONS:
            exploded.append(len(fallen) - 1)
            fallen.append(source.randint(1, term.sides))
    return _counted(fallen, exploded, term.keep)


def _counted(fallen: Sequence[int], exploded: Sequence[int], keep: Keep | None) -> tuple[Die, ...]:
    # Of equal dice the first counts, so that what is shown does not depend on a sort.
    ranked = sorted(range(len(fallen)), key=lambda place: fallen[place])
    if keep is None:
        kept = set(ranked)
    elif keep.kind in ("kh", "dh"):
        ranked = sorted(range(len(fallen)), key=lambda place: -fallen[place])
        kept = set(ranked[: keep.count] if keep.kind == "kh" else ranked[keep.count :])
    else:
        kept = set(ranked[: keep.count] if keep.kind == "kl" else ranked[keep.count :])
    return tuple(Die(value, place in kept, place in exploded) for place, value in enumerate(fallen))


# -- parsing -------------------------------------------------------------------------------------


class _Parser:
    """Recursive descent over a text without white space, in lower case."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def expression(self) -> Expression:
        if not self._text:
            raise DiceError("There is nothing to roll. Write for example 2d6+3.")
        terms = [(self._sign(first=True), self._term())]
        while self._at < len(self._text):
            if len(terms) == MAX_TERMS:
                raise DiceError(f"A roll has at most {MAX_TERMS} parts.")
            terms.append((self._sign(first=False), self._term()))
        if not any(isinstance(term, Dice) for _, term in terms):
            raise DiceError("There are no dice in it. Write for example 2d6+3.")
        return Expression(tuple(terms))

    def _sign(self, *, first: bool) -> int:
        if self._take("+"):
            return 1
        if self._take("-"):
            return -1
        if first:
            return 1
        raise self._stray()

    def _term(self) -> Term:
        for advantage in ("adv", "dis"):
            if self._take(advantage):
                return Dice(1, 20, advantage=advantage)
        number = self._number()
        if not self._take("d"):
            if number is None:
                raise self._stray()
            return Constant(_within(number, 0, MAX_NUMBER, "A number in a roll"))
        count = 1 if number is None else _within(number, 1, MAX_DICE, "The number of dice")
        if self._take("%"):
            sides = 100
        else:
            given = self._number()
            if given is None:
                raise self._stray("how many sides the dice have")
            sides = _within(given, 1, MAX_SIDES, "The number of sides")
        return self._marks(Dice(count, sides))

    def _marks(self, dice: Dice) -> Dice:
        explodes, keep, advantage = False, dice.keep, dice.advantage
        while True:
            if self._take("!"):
                if explodes:
                    raise DiceError("The dice explode already; one ! is enough.")
                explodes = True
            elif (kind := self._keep_kind()) is not None:
                if keep is not None:
                    raise DiceError("Only one of kh, kl, dh and dl can stand behind dice.")
                given = self._number()
                keep = Keep(kind, 1 if given is None else given)
            elif self._take("adv") or self._take("dis"):
                if advantage is not None:
                    raise DiceError("Advantage or disadvantage can stand there once.")
                advantage = "adv" if self._text[self._at - 3] == "a" else "dis"
            else:
                break
        return _checked(Dice(dice.count, dice.sides, explodes, keep, advantage))

    def _keep_kind(self) -> KeepKind | None:
        for kind in _KEEPS:
            if self._take(kind):
                return kind
        return None

    def _number(self) -> int | None:
        start = self._at
        # Digits of ASCII only: others were made such by NFKC, or are no digits of a notation.
        while self._at < len(self._text) and "0" <= self._text[self._at] <= "9":
            self._at += 1
        return int(self._text[start : self._at]) if self._at > start else None

    def _take(self, token: str) -> bool:
        if not self._text.startswith(token, self._at):
            return False
        self._at += len(token)
        return True

    def _stray(self, wanted: str = "dice or a number") -> DiceError:
        rest = self._text[self._at : self._at + 12]
        found = f"“{rest}” stands there" if rest else "the roll ends there"
        return DiceError(
            f"Expected {wanted} at character {self._at + 1}, but {found}. Write for example 2d6+3."
        )


def _checked(dice: Dice) -> Dice:
    if dice.explodes and dice.sides == 1:
        raise DiceError("A die with one side would explode for ever.")
    if dice.advantage is not None and (dice.count > 1 or dice.explodes or dice.keep is not None):
        raise DiceError("Advantage and disadvantage are for one die alone, such as d20adv.")
    if dice.keep is not None:
        word = "keep" if dice.keep.kind.startswith("k") else "drop"
        _within(dice.keep.count, 1, dice.count, f"The number of dice to {word}")
    return dice


def _within(number: int, least: int, most: int, what: str) -> int:
    if not least <= number <= most:
        raise DiceError(f"{what} is {least:,} to {most:,}, not {number:,}.")
    return number
