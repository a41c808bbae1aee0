"""A playthrough: a tree of exchanges over several sessions, and the head where it stands now.

A variant is a range of a session's log; text is never copied into the tree (spec tavern 6.1).
The session a story "is in" is always derived from its head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.play.attachments import Attachment
from engine.session import Message

__all__ = [
    "ExchangeEnded",
    "ExchangeStarted",
    "ExchangeText",
    "Head",
    "Node",
    "Piece",
    "Playthrough",
    "Receipt",
    "Recovered",
    "Rewound",
    "Swiped",
    "Timeline",
    "UserText",
    "Utterance",
    "Variant",
]


@dataclass(frozen=True, slots=True)
class Head:
    """Where a story stands. Without node and variant: before the first exchange."""

    session_id: str
    node_id: str | None = None
    variant_id: str | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """One answer to an exchange: events `start_seq`…`end_seq`, both inclusive, of a session."""

    id: str
    node_id: str
    session_id: str
    start_seq: int
    end_seq: int
    interrupted: bool


@dataclass(frozen=True, slots=True)
class Node:
    """One exchange: what was said, and every answer to it; one of them stands."""

    id: str
    parent_variant_id: str | None
    adopted_variant_id: str
    variants: tuple[Variant, ...]

    @property
    def adopted(self) -> Variant:
        return self.variants[self.position]

    @property
    def position(self) -> int:
        """Index of the standing answer, from 0."""
        return next(i for i, v in enumerate(self.variants) if v.id == self.adopted_variant_id)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The whole tree. `nodes` in the order in which they came to be."""

    nodes: tuple[Node, ...]
    head: Head

    def node(self, node_id: str) -> Node | None:
        return next((node for node in self.nodes if node.id == node_id), None)

    def owner_of(self, variant_id: str) -> Node | None:
        return next((n for n in self.nodes for v in n.variants if v.id == variant_id), None)

    def is_tip(self, head: Head) -> bool:
        """Whether no exchange comes after `head` in its own session, so that the story can go on there."""
        owner = self.owner_of(head.variant_id) if head.variant_id is not None else None
        end = next((v.end_seq for v in owner.variants if v.id == head.variant_id), -1) if owner else -1
        variants = (variant for node in self.nodes for variant in node.variants)
        return not any(v.session_id == head.session_id and v.end_seq > end for v in variants)

    def path(self) -> tuple[Node, ...]:
        """The exchanges from the first to the head."""
        return self.path_to(self.head.variant_id)

    def path_to(self, variant_id: str | None) -> tuple[Node, ...]:
        """The exchanges from the first to the one that owns `variant_id`, each once."""
        # Each owner is taken once: a tree that bites its own tail ends here, not never.
        owners = {variant.id: node for node in self.nodes for variant in node.variants}
        walked: list[Node] = []
        while variant_id is not None:
            node = owners.get(variant_id)
            if node is None:
                raise ValueError(f"the timeline is broken at {variant_id}")
            for variant in node.variants:
                del owners[variant.id]
            walked.append(node)
            variant_id = node.parent_variant_id
        return tuple(reversed(walked))


@dataclass(frozen=True, slots=True)
class Playthrough:
    """A story. `number` counts those of one card in one library; times are epoch ms."""

    id: str
    owner: str
    number: int
    title: str
    card_id: str
    created_by: str
    head: Head
    revision: int
    created_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class Utterance:
    """What a person said. `key` names its delivery: saying it twice is saying it once."""

    key: str
    text: str
    author_id: str
    author_name: str
    persona_name: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    attachments: Sequence[Attachment] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """`accepted` means durable. `waiting` counts what stands before this one."""

    state: str
    session_id: str
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Swiped:
    """`adopted` when the answer existed and stands now; `writing` when a new one has begun."""

    state: str
    session_id: str
    variant_id: str | None = None


@dataclass(frozen=True, slots=True)
class UserText:
    """One message of a person inside an exchange, as it was said."""

    id: str
    key: str
    author_id: str
    author_name: str
    persona_name: str
    text: str
    avatar_url: str | None = None
    attachments: tuple[str, ...] = ()
    """The names of what was attached."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """Where the story stood, where it stands, and what was set aside between: exchanges, and all words."""

    previous: Head
    head: Head
    set_aside: tuple[Node, ...]
    words: tuple[UserText, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer: prose, or with `tool` the result of a tool that everybody may see."""

    text: str
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class ExchangeText:
    """What an exchange says, read from the log. `answer` is its prose; `pieces` hold that and what tools
    showed, in the order in which it came. `ended_at` is when its newest event was logged, epoch ms."""

    inputs: tuple[UserText, ...]
    answer: str
    interrupted: bool
    pieces: tuple[Piece, ...] = ()
    ended_at: int = 0


@dataclass(frozen=True, slots=True)
class ExchangeStarted:
    """`play/exchange-started`: a turn begins. `swipe_of` is the exchange that gets another answer."""

    play_id: str
    session_id: str
    turn: int
    swipe_of: str | None
    inputs: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class ExchangeEnded:
    """`play/exchange-ended`: the turn is over, and in the tree if it brought an answer.

    `reason` is that of `turn/end`; without an answer `node_id` is the swiped exchange or None.
    """

    play_id: str
    session_id: str
    turn: int
    reason: Mapping[str, Any]
    node_id: str | None
    variant_id: str | None
    swipe_of: str | None
    inputs: tuple[Message, ...]
    waiting: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a restart found in a story: `waiting` messages that were never answered.

    `interrupted` when a turn was cut off by the restart; `swipe_of` when that was a swipe.
    `age_ms` is the age of the newest waiting or interrupted words.
    """

    play_id: str
    session_id: str
    interrupted: bool
    swipe_of: str | None
    waiting: int
    resumed: bool
    age_ms: int
