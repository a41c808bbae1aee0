"""Compaction, the pure part: when a history is too long, what of it is summed up, what is shortened.

Nothing here changes a session; `compactor` does. Source: session spec 7.5; agent-loop spec 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from engine.session.consistency import blocks_of, message_of
from engine.session.log import Session
from engine.session.messages import Message
from engine.session.tokens import message_tokens

__all__ = [
    "Price",
    "Rewrite",
    "Span",
    "is_pressed",
    "oversized_results",
    "retained_tokens",
    "select",
    "span_between",
]

PRESSED: Final = 0.8
"""Share of the window from which on a history is compacted."""

HEADROOM: Final = 65_536
"""Tokens that must stay free in a large window, for the turn that is coming."""

RETAINED: Final = 0.16
"""Share of the room for input that the newest messages keep: about the last scene."""

LONG_RESULT: Final = 8_192
"""Code points of a tool result beyond which it is shortened."""

HEAD_KEPT: Final = 4_096
TAIL_KEPT: Final = 1_024
"""What a shortened result keeps: its beginning says what it is, its end how it ended."""

Price: TypeAlias = Callable[[Message], int]
"""The tokens of one message."""


@dataclass(frozen=True, slots=True)
class Span:
    """Current nodes next to each other, and the tokens that their messages take."""

    seqs: Sequence[int]
    tokens: int

    @property
    def start(self) -> int:
        return self.seqs[0]

    @property
    def end(self) -> int:
        return self.seqs[-1]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A tool result that says the same shorter: the node, its new content, and what it took before."""

    seq: int
    content: Sequence[Any]
    tokens: int


def is_pressed(tokens: int, *, context_window: int, reserved: int = 0) -> bool:
    """Whether a history of so many tokens is too long for a model's window.

    `reserved` is what its answer may take. In a window where the headroom would leave the history less than
    what a compaction keeps, a share of the room is left free instead.
    """
    room = context_window - reserved
    below_headroom = room - HEADROOM
    limit = below_headroom if below_headroom > RETAINED * room else PRESSED * room
    return tokens >= min(limit, PRESSED * context_window)


def retained_tokens(*, context_window: int, reserved: int = 0) -> int:
    """How much of the newest history is kept word for word."""
    return int(RETAINED * max(0, context_window - reserved))


def select(session: Session, *, keep_tokens: int, price: Price = message_tokens) -> Span | None:
    """What to sum up so that about `keep_tokens` of the newest messages stay; None when there is nothing.

    It begins after the system head and never ends between a tool call and its result. With `keep_tokens` 0
    it is everything.
    """
    nodes = session.surface.nodes
    first = 1 if session.surface.has_system_head else 0
    cut, kept = len(nodes), 0
    while cut > first and kept < keep_tokens:
        cut -= 1
        kept += _price(session, nodes[cut], price)
    whole = _whole_cuts(session, nodes)
    while cut > first and not whole[cut]:
        cut -= 1
    if not any(session.derive_event(seq) is not None for seq in nodes[first:cut]):
        return None  # what stands there says nothing, so that nothing would be summed up
    return _span(session, nodes[first:cut], price)


def span_between(
    session: Session, start_seq: int, end_seq: int, *, price: Price = message_tokens
) -> Span | None:
    """The span that a person chose; None unless both are current nodes in order, past the system head, and
    no tool call is parted from its result."""
    seqs = session.surface.span(start_seq, end_seq)
    nodes = session.surface.nodes
    if not seqs or (session.surface.has_system_head and seqs[0] == nodes[0]):
        return None
    whole = _whole_cuts(session, nodes)
    start = nodes.index(seqs[0])
    if not whole[start] or not whole[start + len(seqs)]:
        return None
    return _span(session, seqs, price)


def oversized_results(session: Session, *, price: Price = message_tokens) -> list[Rewrite]:
    """The current tool results that are too long, each with its shortened content."""
    rewrites: list[Rewrite] = []
    for seq in session.surface.nodes:
        if session.event(seq).type != "tool/result":
            continue
        content = [_shortened(block) for block in message_of(session.event(seq))["content"]]
        if any(new is not old for new, old in zip(content, _content(session, seq), strict=True)):
            rewrites.append(Rewrite(seq, content, _price(session, seq, price)))
    return rewrites


def _content(session: Session, seq: int) -> Sequence[Any]:
    content: Sequence[Any] = message_of(session.event(seq))["content"]
    return content


def _shortened(block: Any) -> Any:
    if not isinstance(block, Mapping) or block.get("type") != "text" or len(block["text"]) <= LONG_RESULT:
        return block
    text: str = block["text"]
    left_out = len(text) - HEAD_KEPT - TAIL_KEPT
    marker = f"\n[… {left_out} characters were left out here …]\n"
    return {**block, "text": text[:HEAD_KEPT] + marker + text[-TAIL_KEPT:]}


def _span(session: Session, seqs: Sequence[int], price: Price) -> Span:
    return Span(tuple(seqs), sum(_price(session, seq, price) for seq in seqs))


def _price(session: Session, seq: int, price: Price) -> int:
    message = session.derive_event(seq)
    return 0 if message is None else price(message)


def _whole_cuts(session: Session, nodes: Sequence[int]) -> list[bool]:
    """For every position between nodes: whether each call before it has its result before it too."""
    waiting: set[str] = set()
    whole = [True]
    for seq in nodes:
        event = session.event(seq)
        if event.type == "assistant/message":
            calls = (block for block in blocks_of(message_of(event)) if block.get("type") == "tool-call")
            waiting.update(block["id"] for block in calls)
        elif event.type == "tool/result":
            waiting.discard(message_of(event)["toolCallId"])
        whole.append(not waiting)
    return whole
