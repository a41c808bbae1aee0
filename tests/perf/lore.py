"""Lore rows: a book of 10,000 entries with 30,000 keys against 64 KiB of conversation."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable

from engine.lore import Book, Indexes, LoreSettings, Situation, activate
from engine.resources import WorldBook, read_world_book
from tests.perf.measure import Row

__all__ = ["measure"]

ENTRIES = 10_000
KEYS = 3  # of each entry
CHARACTERS = 64 * 1024
MESSAGES = 128
ALLOWED = 0.005  # seconds, once the index exists
ROUNDS = 15


async def measure() -> list[Row]:
    """All lore rows."""
    return [row for script in ("latin", "cjk") for row in _rows(script)]


def _rows(script: str) -> list[Row]:
    rng = random.Random(script)
    words = _words(rng, script)
    document = _document(words)
    reading = _timed(lambda: read_world_book(document), rounds=1)
    book = read_world_book(document)
    situation = Situation(messages=_messages(rng, words, script))
    settings = LoreSettings(scan_depth=MESSAGES, whole_words=script == "latin", recursive=True)
    indexes = Indexes()
    held = Book("book", book, revision="1")

    def ours() -> int:
        found = activate([held], situation, roll=lambda _: 0.5, settings=settings, indexes=indexes)
        return len(found.entries)

    building = _timed(lambda: Indexes().of(held, settings), rounds=3)
    woken = ours()
    took = _timed(ours, rounds=ROUNDS)
    text = "\n".join(situation.messages).lower()
    naive = _timed(lambda: _naive(book, text), rounds=1)
    name = f"lore, {script}, {woken} of {ENTRIES:,} wake"
    return [
        Row(name, took, "the goal of 5 ms", ALLOWED, 1.0),
        Row(f"lore, {script}, keys one by one", took, "`key in text` 30,000 times", naive, 0.1),
        Row(f"lore, {script}, index build", building, "reading the book's file", reading, 3.0),
    ]


def _timed(what: Callable[[], object], rounds: int) -> float:
    """Seconds of this thread's own work, so that what else the machine does is not counted."""
    times = []
    for _ in range(rounds):
        begin = time.thread_time()
        what()
        times.append(time.thread_time() - begin)
    return statistics.median(times)


def _naive(book: WorldBook, text: str) -> list[bool]:
    return [key.lower() in text for entry in book.entries for key in entry.keys]


def _words(rng: random.Random, script: str) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz" if script == "latin" else [chr(0x4E00 + n) for n in range(3000)]
    sizes = (5, 9) if script == "latin" else (2, 4)
    found: dict[str, None] = {}
    while len(found) < ENTRIES * KEYS:
        found["".join(rng.choice(letters) for _ in range(rng.randint(*sizes)))] = None
    return list(found)


def _document(words: list[str]) -> bytes:
    entries = {
        str(uid): {
            "uid": uid,
            "key": words[uid * KEYS : uid * KEYS + KEYS],
            "content": f"Lore number {uid}, which is told when somebody speaks of it.",
            "order": uid % 300,
        }
        for uid in range(ENTRIES)
    }
    return json.dumps({"name": "Large", "entries": entries}).encode()


def _messages(rng: random.Random, words: list[str], script: str) -> list[str]:
    """A conversation in which a key stands in about every three hundred characters."""
    filler = ["the", "and", "of", "rain", "night", "she", "said", "door", "light", "over", "hand", "cold"]
    if script == "cjk":
        filler = ["的", "了", "雨", "夜", "她", "说", "门", "光", "手", "冷", "在", "是"]
    joint = " " if script == "latin" else ""
    chance = 1 / 60 if script == "latin" else 1 / 300
    each = CHARACTERS // MESSAGES
    messages = []
    for _ in range(MESSAGES):
        text = ""
        while len(text) < each:
            text += (rng.choice(words) if rng.random() < chance else rng.choice(filler)) + joint
        messages.append(text[:each])
    return messages
