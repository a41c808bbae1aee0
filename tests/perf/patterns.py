"""Pattern rows: the regex keys of a large world book against the longest text that is scanned."""

from __future__ import annotations

import random

from ahocorasick_rs import AhoCorasick

from engine.patterns import PatternSet, compile_pattern
from tests.perf.measure import Row, compare

__all__ = ["measure"]

KEYS = 2_000
TEXT = 64 * 1024  # characters: what lore scans at most
BARE = 40  # keys of classes only, which no needle can rule out


async def measure() -> list[Row]:
    """All pattern rows."""
    return [
        await _row("regex keys", _words(), goal=4),
        # each of the others passes over the whole text, which one pass for all the needles cannot spare it
        await _row(f"regex keys, {BARE} of them of classes only", _mixed(), goal=16),
    ]


async def _row(name: str, sources: list[str], *, goal: float) -> Row:
    patterns = PatternSet(compile_pattern(source, "i") for source in sources)
    text = _text()
    # what cannot be done without: the text in small letters, and one pass that looks for all the words
    words = AhoCorasick([source[2:].partition("(")[0] for source in _words()])

    async def scan() -> object:
        return patterns.scan(text)

    def one_pass() -> object:
        return words.find_matches_as_indexes(text.casefold())

    return await compare(
        f"{KEYS:,} {name}, {TEXT // 1024} KiB",
        scan,
        "ahocorasick_rs: the words alone",
        one_pass,
        goal=goal,
        rounds=25,
    )


def _vocabulary(rng: random.Random) -> list[str]:
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    return ["".join(rng.choices(letters, k=rng.randint(4, 9))) for _ in range(2 * KEYS)]


def _words() -> list[str]:
    return [rf"\b{word}(?:s|ed)?\b" for word in _vocabulary(random.Random(1))[:KEYS]]


def _mixed() -> list[str]:
    return [*_words()[BARE:], *(rf"\b[{a}{b}]\d{{2,4}}\b" for a in "abcdefgh" for b in "vwxyz")]


def _text() -> str:
    rng = random.Random(2)
    words = _vocabulary(random.Random(1))
    # one word in two hundred is somebody's key: about fifty keys match
    return " ".join(
        rng.choices(words[KEYS:], k=20)[0] if rng.random() < 0.995 else words[rng.randrange(KEYS)]
        for _ in range(TEXT // 6)
    )[:TEXT]
