"""What an activation starts from. A pure value: the same situation, the same lore."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.lore.effects import TimedEffects
from engine.resources import Entry

__all__ = ["Rolls", "Situation", "seeded_rolls"]

Rolls = Callable[[str], float]
"""A number in [0, 1) for what is decided: an entry's qualified id, or `group:<name>`, with `#<pass>` in
passes after the first. Chance is the caller's."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A conversation and who is in it.

    `messages` are the newest ones, oldest first, each `Name: text`. `message_count` is the length of the
    branch (None: as many as there are messages), `assistant_count` how many of them are answers.
    `sources` are texts by the name of a match source; `injections` are scanned by every entry (an author's
    note that allows it). `characters` are the names that a character filter may mean; `tags` is None when
    the character has no list of tags. `forced` are entries asked for from outside, by qualified id, each
    with the copy to take (None: the entry itself). `window` is the model's context in tokens; None means
    no budget. A `dry_run` neither heeds nor starts sticky and cooldown.
    """

    messages: Sequence[str] = ()
    message_count: int | None = None
    assistant_count: int = 0
    trigger: str = "normal"
    characters: Sequence[str] = ()
    tags: Sequence[str] | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    injections: Sequence[str] = ()
    greeting: int | None = None
    effects: TimedEffects = field(default_factory=TimedEffects)
    forced: Mapping[str, Entry | None] = field(default_factory=dict)
    window: int | None = None
    dry_run: bool = False

    @property
    def count(self) -> int:
        """The length of the branch in messages."""
        return len(self.messages) if self.message_count is None else self.message_count


def seeded_rolls(seed: str, turn: int) -> Rolls:
    """Chance that is the same for the same story, exchange and entry, whatever else is rolled for.

    So a retried or repeated assembly of a turn activates the same lore, and an edit of one entry does not
    change another's luck.
    """

    def roll(what: str) -> float:
        digest = hashlib.sha256(f"{seed}:{turn}:lore:{what}".encode()).digest()
        return int.from_bytes(digest[:7], "big") / 2**56

    return roll
