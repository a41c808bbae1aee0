"""Example dialogue as messages. Source: sillytavern spec 3.3.7."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.macros.numerals import BLANK
from engine.prompting.defaults import EXAMPLES
from engine.prompting.message import PromptMessage, one
from engine.prompting.quirks import Quirk

__all__ = ["Cast", "example_blocks"]

_START: Final = "<START>"
_STARTS = re.compile(_START, re.IGNORECASE)
_USER, _ASSISTANT = "example_user", "example_assistant"


@dataclass(frozen=True, slots=True)
class Cast:
    """Who may speak in an example; `group` are the members' names, empty in a story of two."""

    user: str
    char: str
    group: tuple[str, ...] = ()

    def side(self, line: str) -> tuple[str, str]:
        """(field name, speaker) of a line with a label; empty without one."""
        if line.startswith(f"{self.user}:"):
            return _USER, self.user
        if line.startswith(f"{self.char}:"):
            return _ASSISTANT, self.char
        named = any(line.startswith(f"{name}:") for name in self.group)
        return (_ASSISTANT, line.partition(":")[0]) if named else ("", "")


def example_blocks(
    text: str, cast: Cast, quirks: frozenset[Quirk] = frozenset()
) -> tuple[tuple[PromptMessage, ...], ...]:
    """The messages of each block of an example text whose macros are expanded.

    A block that has no message stands for its header alone; there is none without `SPEAKERLESS_LOST`.
    """
    blocks = (_messages(block, cast, quirks) for block in _split(text))
    if Quirk.SPEAKERLESS_LOST in quirks:
        return tuple(blocks)
    return tuple(block for block in blocks if block)


def _split(text: str) -> list[list[str]]:
    """The lines of each block."""
    if not text or text == _START:
        return []
    if not text.startswith(_START):
        text = f"{_START}\n{text.strip(BLANK)}"
    # SillyTavern ends each block with a line break, which makes one more, empty line
    return [f"{block.strip(BLANK)}\n".replace("\r", "").split("\n") for block in _STARTS.split(text)[1:]]


def _messages(lines: list[str], cast: Cast, quirks: frozenset[Quirk]) -> tuple[PromptMessage, ...]:
    read = _by_change_of_side if Quirk.EXAMPLE_LABELS in quirks else _by_label
    found = read(lines, cast)
    if not found and Quirk.SPEAKERLESS_LOST not in quirks:
        narration = "\n".join(lines).strip(BLANK)
        return (one("system", narration, EXAMPLES),) if narration else ()
    return tuple(found)


def _by_change_of_side(lines: list[str], cast: Cast) -> list[PromptMessage]:
    """As SillyTavern reads them, see `EXAMPLE_LABELS`."""
    found: list[PromptMessage] = []
    held: list[str] = []
    side, speaker = "", cast.char
    for line in lines:
        here, name = cast.side(line)
        if here == _ASSISTANT and name != cast.char:
            speaker = name
        if here and side and here != side:
            found.append(_whole(held, side, speaker, cast))
            held = []
        side = here or side
        held.append(line)
    if side:
        found.append(_whole(held, side, speaker, cast))
    return found


def _whole(lines: Sequence[str], side: str, speaker: str, cast: Cast) -> PromptMessage:
    name = cast.user if side == _USER else speaker
    text = "\n".join(lines).replace(f"{name}:", "", 1).strip(BLANK)
    return _message(side, name, text, cast)


def _by_label(lines: list[str], cast: Cast) -> list[PromptMessage]:
    """Every label begins a message; what stands before the first one goes with it."""
    found: list[PromptMessage] = []
    held: list[str] = []
    side, speaker = "", ""
    for line in lines:
        here, name = cast.side(line)
        if here:
            if side:
                found.append(_message(side, speaker, "\n".join(held).strip(BLANK), cast))
                held = []
            side, speaker = here, name
            line = line[len(name) + 1 :].lstrip(BLANK)
        held.append(line)
    if side:
        found.append(_message(side, speaker, "\n".join(held).strip(BLANK), cast))
    return found


def _message(side: str, name: str, text: str, cast: Cast) -> PromptMessage:
    """In a group the field tells only the side, so the text tells who it is."""
    return one("system", f"{name}: {text}" if cast.group else text, EXAMPLES, side)
