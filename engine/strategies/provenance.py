"""Which words of a request are from where, as far as the evidence in the log proves it.

A source counts where its message and its words are what the evidence says; what nobody claims is said to be
nobody's. Source: assembler spec 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from engine.agent.projection import CLEARED
from engine.agent.standing import SNAPSHOT_KIND
from engine.assembler import ASSEMBLER_KIND
from engine.codec import json_hash, text_hash
from engine.session import Event, Message, estimate_tokens, message_text, message_tokens
from engine.strategies.projected import blocks_of
from engine.strategies.shown import UNRECORDED, PreviewBlock, PreviewMessage
from engine.strategies.units import Units

__all__ = [
    "CALLED",
    "VERSION",
    "KnownSources",
    "known_sources",
    "said_in_turn",
    "shown_messages",
]

CALLED: Final = "tool-call"
"""The module of a block that is a call of a tool: the label is the tool, the text its arguments."""

VERSION: Final = 1
"""The version of the evidence that is understood here."""

KnownSources: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]
"""The recorded sources of each message, by its id."""


def known_sources(records: Sequence[Mapping[str, Any]]) -> KnownSources:
    """The sources of each message, by its id. What a request before has put into the conversation is named in
    that one's evidence; of two, the later counts."""
    found: dict[str, Sequence[Mapping[str, Any]]] = {}
    for record in records:
        if record.get("version") != VERSION:
            continue
        of_this: dict[str, list[Mapping[str, Any]]] = {}
        for source in record["sources"]:
            of_this.setdefault(source["reference"]["messageId"], []).append(source)
        found |= of_this
    return found


def said_in_turn(events: Sequence[Event], until: int) -> frozenset[str]:
    """The ids of what entered the conversation since the turn began that `until` is in."""
    found: set[str] = set()
    for event in reversed(events[:until]):
        if event.type == "turn/start":
            break
        if event.type == "user/message":
            found.add(event.data["id"])
    return frozenset(found)


def shown_messages(
    messages: Sequence[Message],
    sources: KnownSources,
    answered: frozenset[str] = frozenset(),
    assembled: Event | None = None,
) -> Iterator[PreviewMessage]:
    """`answered` are the ids of what the answer is to, `assembled` is the record of a request that is no
    history."""
    made = blocks_of(messages, assembled.data["metadata"]) if assembled is not None else {}
    for message in messages:
        text = message_text(message)
        held = list(_proven(message, text, sources.get(message["id"], ())))
        blocks = made.get(message["id"]) or (*_with_gaps(message, text, held), *_calls(message))
        kind = _kind(message)
        if kind == "history" and message["id"] in answered:
            kind = "input"
        yield PreviewMessage(message["role"], text, message_tokens(message), kind, blocks)


def _proven(
    message: Message, text: str, sources: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """The sources whose words are where they say; of those that overlap, none."""
    units = Units(text)
    content = json_hash(message["content"]) if sources else ""
    ranges = []
    for source in sources:
        reference = source["reference"]
        start, end = reference["startUtf16"], reference["endUtf16"]
        words = units.cut(start, end)
        if reference["messageHash"] == content and text_hash(words) == source["hash"] and end > start:
            ranges.append((start, end, source))
    ranges.sort(key=lambda found: found[:2])
    for at, (start, end, source) in enumerate(ranges):
        others = [*ranges[:at], *ranges[at + 1 :]]
        if not any(start < other[1] and other[0] < end for other in others):
            yield start, end, source


def _with_gaps(
    message: Message, text: str, held: Sequence[tuple[int, int, Mapping[str, Any]]]
) -> Iterator[PreviewBlock]:
    units = Units(text)
    source = message["source"]
    at = 0

    def gap(end: int) -> Iterator[PreviewBlock]:
        said = units.cut(at, end)
        if held and not said.strip():
            return
        if message["role"] == "system" or source.get("kind") == ASSEMBLER_KIND:
            label, module = "", UNRECORDED
        elif source.get("kind") == SNAPSHOT_KIND:
            label, module = "", "native-context-framing" if held or text == CLEARED else UNRECORDED
        else:
            label, module = source.get("persona") or (source.get("kind") or message["role"]), "native"
        yield PreviewBlock(label, said, estimate_tokens(said), module=module)

    for start, end, found in held:
        if start > at:
            yield from gap(start)
        said = units.cut(start, end)
        yield PreviewBlock(
            found["name"], said, estimate_tokens(said), module=found["module"], node_id=found["id"]
        )
        at = end
    if at < len(units) or (not held and (text or not any(_calls(message)))):
        yield from gap(len(units))


def _calls(message: Message) -> Iterator[PreviewBlock]:
    """What the model asked of tools, which is in no text."""
    for block in message["content"]:
        if block["type"] == "tool-call":
            yield PreviewBlock(
                block["name"], block["arguments"], estimate_tokens(block["arguments"]), module=CALLED
            )


def _kind(message: Message) -> str:
    kind = message["source"].get("kind")
    if message["role"] == "system":
        return "system"
    return {ASSEMBLER_KIND: "pre-step", SNAPSHOT_KIND: "context"}.get(kind, "history")
