"""What the parts of a request that was put together anew are: read from its record, so from nothing else.

The record says of each part its name, its source and which message carries it; a system message says several
at once, joined by blank lines, in the order of its contributors. Source: assembler spec 4.3 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from engine.agent import ASSEMBLY, Part
from engine.codec import json_hash
from engine.session import Event, Message, estimate_tokens, message_text
from engine.strategies.advanced import SECTIONS
from engine.strategies.shown import UNRECORDED, PreviewBlock, labelled_part
from engine.strategies.units import Units

__all__ = ["ASSEMBLED", "assembled_of", "blocks_of", "config_before", "only_assembled", "reference_to"]

ASSEMBLED: Final = "requestAssemblyRef"
"""The key under which the evidence of a request names its `request/assembly`: `{seq, hash, version}`."""

_JOINT: Final = "\n\n"
_OFFICIAL: Final = "native-system"


def blocks_of(
    messages: Sequence[Message], metadata: Mapping[str, Any]
) -> Mapping[str, tuple[PreviewBlock, ...]]:
    """The parts of each message that the strategy made or that instructs the model, by message id. What the
    conversation itself says is not among them."""
    reading = _Reading(metadata)
    found = ((message["id"], tuple(reading.blocks(message))) for message in messages)
    return {message_id: blocks for message_id, blocks in found if blocks}


def reference_to(assembled: Event) -> dict[str, Any]:
    """What the evidence of a request says of its `request/assembly`: where it is, and no word of it."""
    return {ASSEMBLED: {"seq": assembled.seq, "hash": json_hash(assembled.data), "version": 1}}


def assembled_of(events: Sequence[Event], evidence: Mapping[str, Any]) -> Event | None:
    """The `request/assembly` that the evidence of a request means; None where it means the history, or where
    something else stands at that place of the log by now."""
    reference = evidence.get(ASSEMBLED)
    if reference is None or not 0 <= reference["seq"] < len(events):
        return None
    event = events[reference["seq"]]
    return event if event.type == ASSEMBLY and json_hash(event.data) == reference["hash"] else None


def only_assembled(assembled: Event) -> dict[str, Any]:
    """The evidence of a request that was put together and of which nothing more is known: whoever was about
    to send it did not come to say that it had."""
    metadata = assembled.data["metadata"]
    strategy = metadata.get("strategy")
    return {
        "version": 1,
        "cut": assembled.seq,
        "messagesHash": json_hash(assembled.data["messages"]),
        "strategy": strategy,
        "sources": [],
        **reference_to(assembled),
    }


def config_before(events: Sequence[Event], seq: int) -> Mapping[str, Any]:
    """The call configuration that held at a place of the log, by recorded names."""
    header = next((event for event in reversed(events[:seq]) if event.type == "request/header"), None)
    return header.data["header"]["config"] if header is not None else {}


class _Reading:
    def __init__(self, metadata: Mapping[str, Any]) -> None:
        nodes = metadata.get("nodes", ())
        self._by_input = {given: node for node in nodes for given in node.get("inputMessageIds", ())}
        self._sections = metadata.get(SECTIONS, ())
        self._carriers = {
            it["messageId"]: it for it in metadata.get("systemProjection", {}).get("messages", ())
        }

    def blocks(self, message: Message) -> Iterator[PreviewBlock]:
        text, carrier = message_text(message), self._carriers.get(message["id"])
        if carrier is not None:
            yield from self._carried(text, [self._by_input.get(it) for it in carrier["contributorIds"]])
            return
        node = self._by_input.get(message["id"])
        if node is not None and "text" in node:
            yield _block(node, text)

    def _carried(self, text: str, nodes: Sequence[Mapping[str, Any] | None]) -> Iterator[PreviewBlock]:
        """The parts of a system text. Only of the program's own the record has no words: it is what is left
        between the others. Where the words are not as the record says they are nobody's."""
        known = [node.get("text") if node is not None else None for node in nodes]
        rest = len(text) - sum(len(part) for part in known if part is not None)
        rest -= len(_JOINT) * (len(known) - 1)
        at = 0
        blocks: list[PreviewBlock] = []
        for node, part in zip(nodes, known, strict=True):
            said = text[at : at + (rest if part is None else len(part))]
            if rest < 0 or known.count(None) > 1 or (part is not None and said != part):
                yield _plain("system", text, UNRECORDED)
                return
            blocks += self._official(said) if part is None or node is None else [_block(node, said)]
            at += len(said) + len(_JOINT)
        yield from blocks

    def _official(self, text: str) -> list[PreviewBlock]:
        """The program's own sections, where the record says which there are and they are all of it."""
        units = Units(text)
        blocks: list[PreviewBlock] = []
        at = 0
        for section in self._sections:
            end = at + section["utf16Units"]
            said = units.cut(at, end)
            label, module = labelled_part(Part(section["name"], said))
            blocks.append(_plain(label, said, module))
            at = end + len(_JOINT)
        whole = _JOINT.join(block.text for block in blocks) == text
        return blocks if whole else [_plain(_OFFICIAL, text, _OFFICIAL)]


def _block(node: Mapping[str, Any], text: str) -> PreviewBlock:
    authored = node.get("authoredRole")
    field = node["source"]["field"]
    return PreviewBlock(
        node["name"] or field or node["module"],
        text,
        estimate_tokens(text),
        module=node.get("sourceId", node["module"]),
        node_id=node["id"],
        changed_role=authored if authored not in (None, node["role"]) else None,
    )


def _plain(label: str, text: str, module: str) -> PreviewBlock:
    return PreviewBlock(label, text, estimate_tokens(text), module=module)
