"""The behaviours of SillyTavern's message building that one may want or not, by name.

`SILLYTAVERN` are all of them: with it the messages are the ones that SillyTavern itself would build. Without
any, nothing that was written is lost silently, and what cannot fit is refused. Decisions 14 and 16.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["OURS", "SILLYTAVERN", "Quirk"]


class Quirk(StrEnum):
    """A behaviour of SillyTavern that can be switched. The text says what it does when it is on."""

    TRUNCATES = "truncates"
    """Prompts that must be there and do not fit end the building; what stands by then is sent, with an error.
    Off: refused, with the numbers."""
    RESERVES_LATE = "reserves-late"
    """Nothing of the history is reserved before examples that are pinned, so these may leave no room even for
    the newest words of a person. Off: those, the header and the nudges are reserved first."""
    MISSING_AT_END = "missing-at-end"
    """A text whose marker the order does not name, or has for other kinds of answers, stands behind
    everything; without the markers of history or examples these are not sent. Off: what the order does not
    name stands at the place of the default order, with a warning; what is for others is not sent."""
    DUPLICATE_ENTRIES = "duplicate-entries"
    """A prompt that the order names twice is paid for twice, and said twice when it is in the chat.
    Off: the first entry counts."""
    UNFLAGGED_LOST = "unflagged-lost"
    """Of the prompts of the preset's author only those are sent whose `system_prompt` is expressly false.
    Off: every prompt that the order names."""
    INCOMPLETE_LOST = "incomplete-lost"
    """A prompt in the chat without a depth or without a role is not sent. Off: depth 4, role system."""
    NOTES_NEED_MAIN = "notes-need-main"
    """Notes that stand beside the main prompt are not sent when there is none. Off: they stand at the top."""
    GROUP_NARRATOR_LABELLED = "group-narrator-labelled"
    """In a group the narrator's messages begin with a name like those of the members. Off: they do not."""
    CHAT_MACROS = "chat-macros"
    """Macros in what people and the model said are expanded. Off: what was said stays as it is."""
    RAW_SEND_IF_EMPTY = "raw-send-if-empty"
    """The macros of what is said for a person who says nothing stay as they are. Off: they are expanded."""
    EXAMPLE_LABELS = "example-labels"
    """In example dialogue only the other side's label begins a new message, one name is taken out of it where
    it first stands, and the last named member of a group speaks for the character from then on.
    Off: every label begins a message and is taken out, with the blanks behind it."""
    SPEAKERLESS_LOST = "speakerless-lost"
    """Of an example block in which nobody speaks only the header is sent. Off: its text too, as narration,
    and no header over nothing."""
    SQUASH_UNCOUNTED = "squash-uncounted"
    """What joining messages costs is not held against the budget. Off: they stay apart if joined they would
    not fit."""


SILLYTAVERN: Final = frozenset(Quirk)
"""Every behaviour of SillyTavern, its defects included."""
OURS: Final[frozenset[Quirk]] = frozenset()
"""None of them: nothing is lost silently."""
