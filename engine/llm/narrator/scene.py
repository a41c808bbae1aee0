"""What the narrator understands of a request: who speaks, what was said, what the world knows of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.llm.adapter import LlmRequest, Message
from engine.llm.narrator.stock import load

__all__ = [
    "Line",
    "Scene",
    "attached",
    "estimate_tokens",
    "is_cjk",
    "is_notes",
    "read_line",
    "read_scene",
    "sentences",
]

NARRATOR = "The narrator"
"""Who speaks when the request names no character."""

RECENT_ANSWERS = 6
"""So many of the latest answers are not repeated, sentence by sentence."""

LORE_LIMIT = 220
"""Longer sentences are explanations for a model, not something that a character says."""

SHOWN_LIMIT = 60
"""Characters of a file's name that are said."""

_FILE = re.compile(r"\A\[file: ([^\]\n]+)\]")
_CHARACTER = re.compile(r"^[ \t]*Character:[ \t]*(.{1,80}?)[ \t]*$", re.MULTILINE)
_LABEL = re.compile(r"\A([^\n:：*\"“]{1,48})[:：][ \t]*")
_OUT_OF_CHARACTER = re.compile(r"[(（]{2}|\booc\b", re.IGNORECASE)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_SENTENCE = re.compile(r"[^.!?…。！？\n]+[.!?…。！？]*[\"”’」』]*")
_MARKS = re.compile(r"[*_\"'“”‘’「」『』]")
# Sentences that speak to the model, not about the world.
_INSTRUCTION = re.compile(
    r"\b(?:you are|you must|you should|do not|don't|write|reply|respond|role-?play|user|model|assistant"
    r"|markdown|prose|paragraph|narrat|instruction|prompt|in character|stay in)\b|\{\{|^\W*<"
    r"|你是|请|不要|必须|扮演|回复|用户|模型",
    re.IGNORECASE,
)
# Notes with a label, and example dialogues.
_NOT_PROSE = re.compile(r"[*\"“”]|^\W*[^:：.。]{1,40}[:：]")
_WORD = re.compile(r"[a-z][a-z'’-]{3,}")
_COMMON = load("english").words["common"]


@dataclass(frozen=True, slots=True)
class Line:
    """One user message: the speaker's label and the words after it."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A request, read. `lines` are all user messages, oldest first.

    `lore` are sentences of the prompt that touch on what was just said, the closest first.
    `spoken` are the sentences of the latest answers, bare of marks, in lower case. `picture` says that a
    picture was shown since the last answer, and `shown` is the name of the last thing that was.
    """

    character: str
    lines: tuple[Line, ...]
    prompt: str
    lore: tuple[str, ...]
    spoken: frozenset[str]
    picture: bool
    shown: str
    result: str | None
    seed: int

    @property
    def last(self) -> Line:
        return self.lines[-1] if self.lines else Line("", "")

    @property
    def chinese(self) -> bool:
        return is_cjk(self.last.text)

    @property
    def out_of_character(self) -> bool:
        return bool(_OUT_OF_CHARACTER.search(self.last.text))


def read_scene(request: LlmRequest) -> Scene:
    """Read the request; nothing else goes into an answer, so equal requests get equal answers."""
    messages = request.messages
    users = [message for message in messages if _is_said(message)]
    # Each system message says all that holds from there on, so that the last one is what holds now.
    systems = [message for message in messages if message["role"] == "system"]
    prompt = "\n".join(
        _text(message)
        for message in messages
        if message in systems[-1:]
        or message["role"] == "developer"
        or (message["role"] == "user" and not _is_said(message) and not is_notes(message))
    )
    # The first one: the line stands at the top of the prompt, and a card may hold a like one below.
    named = _CHARACTER.findall(prompt)
    lines = tuple(read_line(message) for message in users)
    answers = [_text(message) for message in messages if message["role"] == "assistant"]
    spoken = {plain(sentence) for answer in answers[-RECENT_ANSWERS:] for sentence in sentences(answer)}
    # what a strategy or a fact says behind a tool's result does not take its place
    heard = (message for message in reversed(messages) if message["role"] != "user" or _is_said(message))
    last = next(heard, None)
    kinds, shown = _shown(messages)
    return Scene(
        character=named[0] if named else NARRATOR,
        lines=lines,
        prompt=prompt,
        lore=_lore(prompt, lines[-1].text if lines else ""),
        spoken=frozenset(spoken),
        picture="image" in kinds,
        shown=shown,
        result=_text(last) if last and last["role"] == "tool" and not last.get("isError") else None,
        seed=_seed(request, lines),
    )


def sentences(text: str) -> list[str]:
    """The sentences of a text, trimmed."""
    return [found for match in _SENTENCE.findall(text) if (found := match.strip())]


def plain(sentence: str) -> str:
    """A sentence without marks, for comparison."""
    return _MARKS.sub("", sentence).strip(" .!?…。！？,，").lower()


def is_cjk(text: str) -> bool:
    """Whether a text is mainly Chinese, Japanese or Korean: one such character weighs two letters."""
    if text.isascii():
        return False
    letters = sum(character.isalpha() for character in text)
    cjk = len(_CJK.findall(text))
    return cjk > 0 and cjk * 2 >= letters - cjk


def estimate_tokens(text: str) -> int:
    """About one token for a CJK character and one for four others: the usual measure of such models."""
    cjk = 0 if text.isascii() else len(_CJK.findall(text))
    return cjk + (len(text) - cjk + 3) // 4


def is_notes(message: Message) -> bool:
    """Whether this is a summary in place of earlier messages: they were said, and are no lore."""
    return bool(message.get("source", {}).get("kind") == "compact-checkpoint")


def _is_said(message: Message) -> bool:
    """Whether a person said it. Runtime contexts are user messages that nobody said."""
    kind: object = message.get("source", {}).get("kind", "user")
    return bool(message["role"] == "user" and kind == "user")


def _shown(messages: Sequence[Message]) -> tuple[set[str], str]:
    """What kinds of blocks people's messages since the last answer have, and the name of the last thing."""
    answers = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    new = [message for message in messages[answers[-1] + 1 if answers else 0 :] if _is_said(message)]
    kinds = {block["type"] for message in new for block in message["content"]}
    names = [name for message in new for name in attached(message)]
    # Between backticks; and a picture's description is not its name.
    name = names[-1].replace("`", "'").partition(" (")[0].strip() if names else ""
    return kinds, name if len(name) <= SHOWN_LIMIT else name[: SHOWN_LIMIT - 1] + "…"


def _text(message: Mapping[str, Any]) -> str:
    return "".join(block["text"] for block in message.get("content", ()) if block["type"] == "text")


def read_line(message: Message) -> Line:
    """Who said it, as far as the message names them, and the words."""
    # The first block is what was said; what follows is what was attached.
    text = _text({"content": message["content"][:1]}).strip()
    label = _LABEL.match(text)
    if label is None:
        return Line("", text)
    return Line(label.group(1).strip(), text[label.end() :].strip())


def attached(message: Message) -> Sequence[str]:
    """The names of what somebody attached to their words."""
    names = []
    for block in message["content"]:
        text_file = _FILE.match(block["text"]) if block["type"] == "text" else None
        if block["type"] in ("image", "file"):
            names.append(block["attachment"].get("name", ""))
        elif text_file is not None:
            names.append(text_file.group(1))
    return [name for name in names if name]


def _lore(prompt: str, said: str) -> tuple[str, ...]:
    """Sentences of the prompt that share a word with what was said, best first, each once."""
    wanted = _subjects(said)
    if not wanted:
        return ()
    found: dict[str, int] = {}
    prose = "\n".join(line for line in prompt.splitlines() if not _NOT_PROSE.search(line))
    for sentence in sentences(prose):
        if not 12 <= len(sentence) * (2 if is_cjk(sentence) else 1) <= LORE_LIMIT:
            continue
        if _INSTRUCTION.search(sentence):
            continue
        score = len(wanted & _subjects(sentence))
        if score:
            found.setdefault(sentence, score)
    return tuple(sorted(found, key=lambda sentence: -found[sentence]))


def _subjects(text: str) -> set[str]:
    """What a text is about: longer words, roughly without their plurals, and pairs of CJK characters."""
    words = {word.rstrip("s") for word in _WORD.findall(text.lower()) if word not in _COMMON}
    runs = re.findall(_CJK.pattern + "+", text)
    return words | {run[i : i + 2] for run in runs for i in range(len(run) - 1)}


def _seed(request: LlmRequest, lines: Sequence[Line]) -> int:
    """Differs between sessions, so that a swipe (a forked session) gets another answer."""
    facts = (
        request.session_id,
        len(request.messages),
        request.config.temperature,
        lines[-1].text if lines else "",
    )
    return int.from_bytes(hashlib.sha256(repr(facts).encode()).digest()[:8], "big")
