"""Lines of prose from templates: slots, alternatives, and the care not to say the same thing twice.

A template is a sentence or two with

- `{slot}`: a word of the scene; a template whose slot has no word is passed over;
- `<one|two|three>`: one of several wordings, drawn by the seed;
- `[look/looks]`: the verb after `{they}` or `{They}`, plural or singular as the pronoun asks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from engine.llm.narrator.scene import plain, sentences

__all__ = ["Composer", "capital"]

T = TypeVar("T")

_SLOT = re.compile(r"\{(\w+)\}")
_CHOICE = re.compile(r"<([^<>]*)>")
_VERB = re.compile(r"\[([^\[\]/]*)/([^\[\]/]*)\]")

# A template with choices is worth a few draws before another one is taken.
DRAWS = 3


class Composer:
    """Draws lines from pools. Sentences of `spoken`, and those that it has drawn, do not come again."""

    def __init__(
        self, rng: random.Random, slots: Mapping[str, str], spoken: Iterable[str], *, plural: bool = False
    ) -> None:
        self._rng = rng
        self._slots = {name: word for name, word in slots.items() if word}
        self._spoken = set(spoken)
        self._plural = plural

    def has(self, slot: str) -> bool:
        return slot in self._slots

    def chance(self, probability: float) -> bool:
        return self._rng.random() < probability

    def line(self, *pools: Sequence[str]) -> str:
        """A fresh line from the first pool that has one; empty when all are used up or lack their words."""
        for pool in pools:
            for template in self._rng.sample(pool, len(pool)):
                if any(slot not in self._slots for slot in _SLOT.findall(template)):
                    continue
                for _ in range(DRAWS):
                    line = self._fill(template)
                    said = {plain(sentence) for sentence in sentences(line)}
                    if not said & self._spoken:
                        self._spoken |= said
                        return line
        return ""

    def pick(self, options: Sequence[T]) -> T:
        return self._rng.choice(options)

    def _fill(self, template: str) -> str:
        text = _CHOICE.sub(lambda match: self._rng.choice(match.group(1).split("|")), template)
        text = _VERB.sub(lambda match: match.group(1 if self._plural else 2), text)
        # Slots last: what people wrote may hold any of the marks.
        return _SLOT.sub(lambda match: self._slots[match.group(1)], text)


def capital(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]
