"""Why an entry is in, or is not: one verdict for each entry that was considered.

A verdict is data. Its reason has a slug for programs, the number of the rule in
spec sillytavern 2 for those who look it up, and an English sentence; a translator finds
sentences of other languages under the slug.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal

from engine.resources import Entry

__all__ = ["WHERE", "Hit", "PassKind", "Reason", "Verdict"]

PassKind = Literal["initial", "recursion", "min-activations"]


class Reason(Enum):
    """(slug, number, English text with the verdict's facts in braces)."""

    # In
    CONSTANT = ("constant", "2.3.B12", "It is always on.")
    KEY = ("key", "2.3.B15", "Its key “{key}” stands in {where}.")
    STICKY = ("sticky", "2.3.B13", "It stays until message {end}.")
    DECORATED = ("decorated", "2.3.B9", "Its text says @@activate.")
    FORCED = ("forced", "2.3.B11", "It was asked for from outside.")
    KEPT_ON = ("kept-on", "2.9", "It was active once and stays (@@keep_activate_after_match).")

    # Out, in the order in which the rules are asked
    BOOK_LIMIT = ("book-limit", "tavern 3", "Its book was skipped: all books together are too large.")
    DISABLED = ("disabled", "2.3.B1", "It is switched off.")
    TRIGGER = ("trigger", "2.3.B2", "It is not for this kind of generation ({trigger}).")
    CHARACTER = ("character-filter", "2.3.B3", "It is not for this character.")
    TAGS = ("tag-filter", "2.3.B3", "It is not for characters with these tags.")
    DELAY = ("delay", "2.3.B4", "It waits until there are {until} messages; now there are {count}.")
    COOLDOWN = ("cooldown", "2.3.B5", "It rests until message {until}.")
    NOT_YET_RECURSION = ("delayed-until-recursion", "2.3.B6", "It waits for another entry to wake it.")
    LEVEL = ("level-not-open", "2.3.B7", "Its level {level} was not reached.")
    EXCLUDED = ("excluded-from-recursion", "2.3.B8", "Other entries must not wake it.")
    DONT_ACTIVATE = ("dont-activate", "2.3.B10", "Its text says @@dont_activate.")
    CONDITION = ("decorator-condition", "2.9", "Its condition @@{decorator} is not met.")
    NO_KEYS = ("no-keys", "2.3.B14", "It has no keys and is not constant.")
    VECTOR = ("external-vector-match-required", "2.10", "It needs a search by meaning, which is not there.")
    PRIMARY = ("primary-key-miss", "2.3.B15", "None of its keys stands in the text.")
    SECONDARY_ANY = ("secondary-and-any-miss", "2.3.B16", "None of its secondary keys stands in the text.")
    SECONDARY_NOT_ALL = ("secondary-not-all-miss", "2.3.B16", "All its secondary keys stand in the text.")
    SECONDARY_NOT_ANY = ("secondary-not-any-miss", "2.3.B16", "A secondary key stands in the text.")
    SECONDARY_ALL = ("secondary-and-all-miss", "2.3.B16", "Not all secondary keys stand in the text.")
    EXCLUDE_KEYS = ("exclude-key-hit", "2.9", "The text has a key of @@exclude_keys.")
    ADDITIONAL_KEYS = ("additional-key-miss", "2.9", "The text has no key of @@additional_keys.")
    GROUP_STICKY = ("group-sticky", "2.6.2", "A sticky entry holds the group “{group}”.")
    GROUP_COOLDOWN = ("group-cooldown", "2.6.2", "It rests, so it cannot win the group “{group}”.")
    GROUP_SCORE = ("group-score", "2.6.3", "Others of the group “{group}” have more matching keys.")
    GROUP_TAKEN = ("group-taken", "2.6.4", "The group “{group}” has an active entry since an earlier pass.")
    GROUP_LOSER = ("inclusion-group-loser", "2.6.7", "“{winner}” won the group “{group}”.")
    PROBABILITY = ("probability-failed", "2.3.D", "Its chance is {probability} %, and it was not lucky.")
    BUDGET = ("budget-exceeded", "2.7", "It does not fit into the budget of {budget} tokens.")
    BOOK_BUDGET = ("book-budget-exceeded", "2.7", "It does not fit into its book's {budget} tokens.")

    # In, and yet not in the prompt
    EMPTY = ("empty-content", "2.5", "It is active, but its text is empty.")
    OUTLET_UNNAMED = ("outlet-unnamed", "2.5", "It is active, but its outlet has no name.")
    OUTLET_UNUSED = ("outlet-unsupported", "2.5", "It is active, but nothing reads its outlet “{outlet}”.")
    NOTE_NOT_DUE = ("note-not-due", "2.5", "It is active, but the author's note is not due this turn.")

    def __init__(self, slug: str, number: str, text: str) -> None:
        self.slug = slug
        self.number = number
        self.text = text


@dataclass(frozen=True, slots=True)
class Hit:
    """A key that was found. `where` is `message`, a match source's name, `injection` or `recursion`, or
    `text` for a pattern, which sees the whole text; `at` counts messages from the newest (0), and
    recursion by the pass (1 first) whose entries wrote the text."""

    key: str
    where: str
    at: int = 0
    secondary: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one entry. `id` is qualified by its book; `entry` has its decorators applied.

    `number` is the pass (1 first) and `kind` its kind, both of the pass that decided. `facts` fill the
    reason's text; `tokens` is the cost of an entry that is in.
    """

    id: str
    entry: Entry
    fired: bool
    reason: Reason
    number: int = 0
    kind: PassKind = "initial"
    hits: tuple[Hit, ...] = ()
    tokens: int = 0
    facts: Mapping[str, str | int | float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The reason in English."""
        facts = dict(self.facts)
        if "where" in facts:
            facts["where"] = WHERE[str(facts["where"])]
        return self.reason.text.format_map(facts)


WHERE: Final[Mapping[str, str]] = {
    "message": "the conversation",
    "persona_description": "the persona",
    "character_description": "the character's description",
    "character_personality": "the character's personality",
    "character_depth_prompt": "the character's note",
    "scenario": "the scenario",
    "creator_notes": "the creator's notes",
    "injection": "the author's note",
    "recursion": "another entry",
    "text": "the text",
}
"""Where a key was found, in English; translators find theirs under the same names."""
