"""SillyTavern's reproducible randomness, so that a `{{pick}}` picks what it picks there.

Its string hash (53 bits over UTF-16 units), the numbers of `seedrandom` (ARC4 keyed by the
seed text) and its dice. Source: spec sillytavern 4.4.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Dice", "SeededRandom", "parse_dice", "seeded_fraction", "string_hash"]

MAX_DICE = 100  # spec tavern 1.2
_DICE = re.compile(r"([1-9][0-9]{0,5})?d([1-9][0-9]{0,8})([+-][0-9]{1,9})?", re.IGNORECASE | re.ASCII)
_MASK = 0xFFFFFFFF
_WIDTH = 256


@lru_cache(maxsize=64)  # the texts of a profile are expanded anew for each step
def string_hash(text: str) -> int:
    """A 53-bit hash of a text (cyrb53 over UTF-16 code units)."""
    high, low = 0xDEADBEEF, 0x41C6CE57
    for unit in _units(text):
        high = ((high ^ unit) * 2654435761) & 0xFFFFFFFF
        low = ((low ^ unit) * 1597334677) & 0xFFFFFFFF
    high = (((high ^ high >> 16) * 2246822507) & _MASK) ^ (((low ^ low >> 13) * 3266489909) & _MASK)
    low = (((low ^ low >> 16) * 2246822507) & _MASK) ^ (((high ^ high >> 13) * 3266489909) & _MASK)
    return 4294967296 * (2097151 & low) + high


class SeededRandom:
    """`seedrandom(seed)`. A number as seed gives other values than its text does, as there."""

    def __init__(self, seed: str | int) -> None:
        self._stream = _Arc4(_mixed(seed if isinstance(seed, str) else f"{seed}\0"))

    def random(self) -> float:
        """The next number in [0, 1)."""
        value, scale = self._stream.take(6), 1 << 48  # 48 bits to start with …
        spare = 0
        while value < 1 << 52:  # … widened until 52 significant bits are there
            value = (value + spare) * _WIDTH
            scale *= _WIDTH
            spare = self._stream.take(1)
        while value >= 1 << 53:
            value >>= 1
            scale >>= 1
            spare >>= 1
        return (value + spare) / scale


def seeded_fraction(seed: str | int) -> float:
    """The first number of `seedrandom(seed)`."""
    return SeededRandom(seed).random()


@dataclass(frozen=True, slots=True)
class Dice:
    """So many dice of so many sides, and what is added to their sum."""

    count: int
    sides: int
    modifier: int

    @property
    def least(self) -> int:
        """The lowest total."""
        return self.count + self.modifier

    @property
    def most(self) -> int:
        """The highest total."""
        return self.count * self.sides + self.modifier

    def roll(self, random: Callable[[], float]) -> int:
        """Throw them, at most MAX_DICE, each by a number in [0, 1)."""
        thrown = min(self.count, MAX_DICE)
        return sum(int(random() * self.sides) + 1 for _ in range(thrown)) + self.modifier


def parse_dice(formula: str) -> Dice | None:
    """`d6`, `2d6+3`; None when it is no formula. Blanks are none."""
    found = _DICE.fullmatch(formula)
    return Dice(int(found[1] or 1), int(found[2]), int(found[3] or 0)) if found else None


def _units(text: str) -> array[int]:
    """The UTF-16 code units of a text."""
    units = array("H")
    units.frombytes(text.encode("utf-16-le", "surrogatepass"))
    if _BIG_ENDIAN:
        units.byteswap()
    return units


_BIG_ENDIAN = array("H", [1]).tobytes()[0] == 0


def _mixed(seed: str) -> list[int]:
    """seedrandom's key schedule: the seed's UTF-16 units smeared over at most 256 bytes."""
    key: list[int] = []
    smear = 0
    for index, unit in enumerate(_units(seed)):
        place = index & 255
        old = key[place] if place < len(key) else 0
        smear ^= old * 19
        # JavaScript's ^= works on signed 32 bits; only the low byte is kept, so the sign does not matter.
        value = (smear + unit) & 255
        if place < len(key):
            key[place] = value
        else:
            key.append(value)
    return key


class _Arc4:
    """The ARC4 stream as seedrandom keys it: the first 256 numbers are thrown away."""

    def __init__(self, key: list[int]) -> None:
        key = key or [0]
        length = len(key)
        state = list(range(_WIDTH))
        self._state = state
        self._i = self._j = 0
        j = 0
        for i in range(_WIDTH):
            value = state[i]
            j = (j + key[i % length] + value) & 255
            state[i], state[j] = state[j], value
        j = 0
        for i in (*range(1, _WIDTH), 0):
            value = state[i]
            j = (j + value) & 255
            state[i], state[j] = state[j], value
        self._j = j

    def take(self, count: int) -> int:
        """The next `count` bytes as one number, most significant first."""
        result = 0
        state = self._state
        for _ in range(count):
            self._i = (self._i + 1) & 255
            value = state[self._i]
            self._j = (self._j + value) & 255
            state[self._i] = state[self._j]
            state[self._j] = value
            result = result * _WIDTH + state[(state[self._i] + state[self._j]) & 255]
        return result
