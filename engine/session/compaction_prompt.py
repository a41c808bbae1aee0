"""What a model is asked when a story has grown too long for it, and how its summary is handed on.

The instruction is for role-play: it asks for what a game master would need in order to go on.
Source: decision 11; session spec 7.5.
"""

from __future__ import annotations

from typing import Final

__all__ = ["INSTRUCTION", "checkpoint_text", "instruction"]

INSTRUCTION: Final = """\
[The story pauses here. This is a note from the program, not from anyone in the story.]

The conversation above has become too long to be kept word for word. Write the notes that the next writer \
needs in order to continue it as if nothing had been cut. They will see your notes and the newest messages, \
and nothing else of what came before.

Write under these headings, and leave out a heading that has nothing under it:

## Scene
Where and when we are now, what is going on at this moment, who is present and what each of them is doing.

## Cast
Everyone who matters: name, who they are, looks and manner as far as they were established, how they speak, \
what they want, what they know and what they do not know. Say who is played by a person and who is not.

## Relationships
Who stands how to whom, what changed between them and why. Pet names, debts, secrets, tensions.

## Facts
What has happened, in order, and what is now true of this world: places, objects and who holds them, wounds, \
abilities, rules, numbers. Exact names, quantities and wording wherever they may matter again.

## Promises
What was agreed, sworn, threatened, planned or foretold, by whom and to whom, and what came of it so far.

## Open threads
Questions without an answer, goals that are under way, dangers that are near, hints that were laid.

## Tone
How the story is told: person and tense, mood, pace, length and shape of the answers, how intimate or \
violent it is, running jokes, and anything the players asked for about the way of telling.

Rules:
- Write in the language in which the story itself is told. Keep names as they are written there.
- Write only what the conversation says. Do not guess, judge, soften or continue the story.
- Keep words that will be needed exactly: vows, riddles, passwords, nicknames, the last line that was spoken.
- If earlier notes stand at the beginning, carry over what still holds; drop only what is over and done with.
- Be brief: notes, not prose. They must be far shorter than what they stand for.
- Answer with the notes alone: no greeting, no comment, no call of a tool."""

_LANGUAGE: Final = "\n- The story is told in {language}: write the notes in it."

_PREAMBLE: Final = (
    "[The story so far was longer than can be kept here. These notes stand for what came before, and are "
    "true. Go on from the messages after them, and do not mention the notes.]"
)
_OPEN, _CLOSE = "<story-so-far>", "</story-so-far>"


def instruction(language: str | None = None) -> str:
    """The request that is put after the messages. `language` names the story's one, where it is known."""
    return INSTRUCTION if language is None else INSTRUCTION + _LANGUAGE.format(language=language)


def checkpoint_text(summary: str) -> str:
    """What the model reads in place of the messages that were summed up."""
    return f"{_PREAMBLE}\n{_OPEN}\n{summary.strip()}\n{_CLOSE}"
