"""Notes on a story that got too long, made of its own sentences: the narrator quotes, it invents nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.llm.adapter import Message
from engine.llm.narrator.scene import attached, is_cjk, is_notes, read_line, sentences

__all__ = ["summarise"]

SHARE = 8
"""Notes take an eighth of what they stand for: far shorter, and still something of every scene."""

LONGEST = 2_400
"""Characters; about what a person would read."""

QUOTED = 160
"""Characters of one quotation."""

SHORTEST = 2 * QUOTED
"""Room for a question and its answer."""

_EARLIER = re.compile(r"^- (.+)$", re.MULTILINE)
_HEADINGS = {False: ("## Cast", "## What was said"), True: ("## 人物", "## 说过的话")}


def summarise(messages: Sequence[Message], character: str) -> str:
    """Who spoke, and quotations in order, the newest always among them. Empty when nobody said anything.

    `character` is who answers. What earlier notes quote is taken over, as far as there is room.
    """
    quotes = [quote for message in messages for quote in _quotes(message, character)]
    if not quotes:
        return ""
    room = min(LONGEST, max(SHORTEST, sum(len(_said(message)) for message in messages) // SHARE))
    cast = list(dict.fromkeys(speaker for speaker, _ in quotes if speaker))
    kept = _thinned([f"- {speaker}: {words}" if speaker else f"- {words}" for speaker, words in quotes], room)
    who, what = _HEADINGS[is_cjk("".join(words for _, words in quotes))]
    opening = [who, ", ".join(cast), ""] if cast else []
    return "\n".join([*opening, what, *kept])


def _quotes(message: Message, character: str) -> Iterator[tuple[str, str]]:
    """(speaker, words): the first sentence of what was said and the names of what was shown with it, or what
    earlier notes quote."""
    if is_notes(message):
        for quote in _EARLIER.findall(_said(message)):
            speaker, mark, words = quote.partition(": ")
            yield (speaker, words) if mark else ("", quote)
        return
    line = read_line(message)
    first = next(iter(sentences(line.text if _said(message) else "")), "")
    words = first if len(first) <= QUOTED else first[: QUOTED - 1] + "…"
    if message["role"] == "user" and (names := attached(message)):
        words = " ".join([*filter(None, [words]), *(f"[{name}]" for name in names)])
    if words:
        yield (character if message["role"] == "assistant" else line.speaker), words


def _said(message: Message) -> str:
    """The words of a person, of the character, or of earlier notes; nothing for prompts and instructions."""
    kind = message.get("source", {}).get("kind", "user")
    spoken = message["role"] == "assistant" or (message["role"] == "user" and kind == "user")
    if not spoken and not is_notes(message):
        return ""
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def _thinned(lines: list[str], room: int) -> list[str]:
    """Every second line, again and again until they fit; counted from the newest, which stays."""
    while len(lines) > 1 and sum(map(len, lines)) > room:
        lines = lines[::-1][::2][::-1]
    return lines
