"""SillyTavern's reproducible randomness, so that a `{{pick}}` picks what it picks there.

Its string hash (53 bits over UTF-16 units), the first number of `seedrandom` (ARC4
keyed by the seed text) and its dice. Source: spec sillytavern 4.4.
"""

from __future__ import annotations

import random
import re

__all__ = ["roll", "seeded_fraction", "string_hash"]

MAX_DICE = 100  # spec tavern 1.2
_DICE = re.compile(r"([1-9][0-9]{0,5})?d([1-9][0-9]{0,8})([+-][0-9]{1,9})?", re.IGNORECASE | re.ASCII)
_MASK = 0xFFFFFFFF
_WIDTH = 256


def string_hash(text: str) -> int:
    """A 53-bit hash of a text (cyrb53 over UTF-16 code units)."""
    high, low = 0xDEADBEEF, 0x41C6CE57
    units = text.encode("utf-16-le", "surrogatepass")
    for index in range(0, len(units), 2):
        unit = units[index] | units[index + 1] << 8
        high = ((high ^ unit) * 2654435761) & _MASK
        low = ((low ^ unit) * 1597334677) & _MASK
    high = (((high ^ high >> 16) * 2246822507) & _MASK) ^ (((low ^ low >> 13) * 3266489909) & _MASK)
    low = (((low ^ low >> 16) * 2246822507) & _MASK) ^ (((high ^ high >> 13) * 3266489909) & _MASK)
    return 4294967296 * (2097151 & low) + high


def seeded_fraction(seed: str) -> float:
    """The first number in [0, 1) of `seedrandom(seed)` for a text seed."""
    stream = _Arc4(_mix(seed))
    value, scale = stream.take(6), 1 << 48  # 48 bits to start with …
    spare = 0
    while value < 1 << 52:  # … widened until 52 significant bits are there
        value = (value + spare) * _WIDTH
        scale *= _WIDTH
        spare = stream.take(1)
    while value >= 1 << 53:
        value >>= 1
        scale >>= 1
        spare >>= 1
    return (value + spare) / scale


def roll(formula: str, rng: random.Random) -> str:
    """Throw dice: `d6`, `2d6+3`, or `20` for one die of twenty sides. Empty when it is no formula."""
    text = formula.strip()
    if text.isascii() and text.isdigit():
        text = "1d" + text
    found = _DICE.fullmatch(text)
    if found is None:
        return ""
    count = min(int(found[1] or 1), MAX_DICE)
    sides = int(found[2])
    return str(sum(rng.randint(1, sides) for _ in range(count)) + int(found[3] or 0))


def _mix(seed: str) -> list[int]:
    """seedrandom's key schedule: the seed's UTF-16 units smeared over at most 256 bytes."""
    key: list[int] = []
    smear = 0
    units = seed.encode("utf-16-le", "surrogatepass")
    for index in range(0, len(units), 2):
        unit = units[index] | units[index + 1] << 8
        place = (index // 2) & 255
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
        self._state = list(range(_WIDTH))
        self._i = self._j = 0
        j = 0
        for i in range(_WIDTH):
            value = self._state[i]
            j = (j + key[i % len(key)] + value) & 255
            self._state[i], self._state[j] = self._state[j], value
        self.take(_WIDTH)

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
