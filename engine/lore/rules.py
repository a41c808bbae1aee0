"""How lore is matched: the settings, and the behaviours of SillyTavern that one may want or not.

Decision 16: SillyTavern's code is followed except for its listed defects. Each such
behaviour has a name here and can be had either way; `KEPT` are those that its recorded
runs treat as right, the others are mended.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

__all__ = ["KEPT", "MENDED", "SILLYTAVERN", "DecoratorSet", "LoreSettings", "Quirk"]

DecoratorSet = Literal["v3", "sillytavern"]


class Quirk(StrEnum):
    """A behaviour of SillyTavern that can be switched. The text says what it does when it is on."""

    # Defects: off unless asked for.
    BLANK_KEY_MATCHES = "blank-key-matches"
    """A key of only white space is trimmed to nothing and so matches every text. Off: it never matches."""
    DECORATOR_PREFIX = "decorator-prefix"
    """A decorator is known by its beginning: `@@activate_only_after` uses its fallbacks up as if it were
    known, and does nothing. Off: the whole name counts."""
    ONLY_DECORATORS_STAY = "only-decorators-stay"
    """Content that is nothing but decorator lines is sent as it is. Off: it is empty."""
    GROUP_DOUBLE_REMOVAL = "group-double-removal"
    """Removing an entry that two groups reject removes an unrelated last one too. Off: it is removed once."""
    GROUP_REMOVED_STILL_WINS = "group-removed-still-wins"
    """An entry that one group removed may still win another, which then stays empty. Off: it is ignored."""
    SCORE_RAW_KEYS = "score-raw-keys"
    """Group scores count keys as written: macros stay, blanks are not trimmed, an empty key scores.
    Off: as keys are matched."""

    # Behaviours that the recorded runs keep: on unless switched off.
    ACTIVE_GROUP_BY_WHOLE_TEXT = "active-group-by-whole-text"
    """An active entry of the groups `g, h` does not keep others of `g` out in later passes. Off: it does."""
    CHANCE_INCLUSIVE = "chance-inclusive"
    """A roll equal to the probability passes, even 0 of 0. Off: it fails, and 0 is never rolled."""
    BUDGET_STOPS = "budget-stops"
    """The first entry that does not fit, or fits exactly, ends the budget; entries that ignore the budget
    are charged all the same. Off: smaller ones are still tried, an exact fit fits, ignoring ones are free."""
    BUDGET_FORGETS_PREVENTED = "budget-forgets-prevented"
    """Entries that prevent recursion do not count in later passes. Off: every accepted entry counts."""


MENDED: Final = frozenset(
    {
        Quirk.BLANK_KEY_MATCHES,
        Quirk.DECORATOR_PREFIX,
        Quirk.ONLY_DECORATORS_STAY,
        Quirk.GROUP_DOUBLE_REMOVAL,
        Quirk.GROUP_REMOVED_STILL_WINS,
        Quirk.SCORE_RAW_KEYS,
    }
)
KEPT: Final = frozenset(Quirk) - MENDED
SILLYTAVERN: Final = frozenset(Quirk)
"""Every behaviour of SillyTavern, its defects included."""


@dataclass(frozen=True, slots=True)
class LoreSettings:
    """As SillyTavern's settings file for new installs has them: recursion and whole words on (decision 16).

    `budget_percent` is of the context window, `budget_cap` in tokens (0 = none); a window must be known
    for either to count. `max_steps` counts passes, the first too (0 = until nothing new comes).
    `regex_keys` off leaves pattern keys unmatched, with a note (decision 17). `book_settings` honours what a
    book says of its own scan depth, budget and recursion, which SillyTavern ignores.
    """

    scan_depth: int = 2
    case_sensitive: bool = False
    whole_words: bool = True
    recursive: bool = True
    max_steps: int = 0
    min_activations: int = 0
    min_activations_depth: int = 0
    budget_percent: float = 25
    budget_cap: int = 0
    group_scoring: bool = False
    include_names: bool = True
    regex_keys: bool = True
    max_pattern: int = 4096  # characters; the seeds' guard of 256 refuses keys of working books
    decorators: DecoratorSet = "v3"
    book_settings: bool = True
    quirks: frozenset[Quirk] = KEPT
