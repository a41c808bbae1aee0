"""ActivationContext: the messages that lore may look at, for one step. A pure value.

The claimed batch is not in the history yet when the system text is made, and yet the very
first request must know its words. Messages are told apart by id, never by text. Source:
spec tavern 4, seed 003 "Activation input contract"; lengths are code points (decision 33).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.session import Message, message_text

__all__ = ["ActivationContext", "ContextMessage", "activation_context"]

_MESSAGES: Final = 128
_CHARACTERS: Final = 64 * 1024
_HARD_MESSAGES: Final = 1024
_HARD_CHARACTERS: Final = 1024 * 1024
_CLAIMS: Final = 4  # claim sequence numbers that the metadata names


@dataclass(frozen=True, slots=True)
class ContextMessage:
    """One message: its words as lore reads them, and whether it was claimed and is not durable yet."""

    id: str
    role: str
    text: str
    pending: bool = False


@dataclass(frozen=True, slots=True)
class ActivationContext:
    """The newest messages, oldest first, within both limits; the oldest may have lost its beginning.

    `message_count` and `assistant_count` are of the whole branch with the claimed batch: what timed effects
    and V3's conditions count. `metadata` holds numbers only, no words and no hashes of words.
    """

    messages: tuple[ContextMessage, ...]
    message_count: int
    assistant_count: int
    metadata: dict[str, Any]

    @property
    def texts(self) -> tuple[str, ...]:
        """The words of each message, oldest first."""
        return tuple(message.text for message in self.messages)

    @property
    def text(self) -> str:
        """All words, a line break between messages."""
        return "\n".join(self.texts)


def activation_context(
    durable: Sequence[Message],
    claimed: Iterable[Message] = (),
    *,
    spoken: Callable[[Message], str] = message_text,
    max_messages: int = _MESSAGES,
    max_characters: int = _CHARACTERS,
    claim_seqs: Sequence[int] = (),
    invalid_events: int = 0,
) -> ActivationContext:
    """The context of a step.

    `durable` is the history (only what users and the model said counts), `claimed` the batch of this step:
    one whose id is durable already is not read twice. `spoken` gives a message's words as lore reads them.
    """
    max_messages = max(0, min(max_messages, _HARD_MESSAGES))
    max_characters = max(0, min(max_characters, _HARD_CHARACTERS))
    said = [message for message in durable if message["role"] in ("user", "assistant")]
    known = {message["id"] for message in said}
    pending: list[Message] = []
    duplicates = 0
    for message in claimed:
        if message["id"] in known:
            duplicates += 1
            continue
        known.add(message["id"])
        pending.append(message)
    newest = [*((message, False) for message in said), *((message, True) for message in pending)]
    total = len(newest)
    newest = newest[-max_messages:] if max_messages else []
    kept, characters, offered = _tail(newest, spoken, max_characters)
    return ActivationContext(
        messages=kept,
        message_count=total,
        assistant_count=sum(1 for message in said if message["role"] == "assistant"),
        metadata={
            "kind": "durable-plus-pending-input",
            "durableMessageCount": len(said),
            "pendingMessageCount": len(pending) + duplicates,
            "includedPendingMessageCount": sum(message.pending for message in kept),
            "duplicatePendingMessageCount": duplicates,
            "scannedMessageCount": len(kept),
            "scannedCharacters": characters,
            "inputCharacters": offered,
            "truncated": len(kept) < total or characters < offered,
            "claimEventSeqs": list(claim_seqs)[-_CLAIMS:],
            "invalidEventCount": invalid_events,
        },
    )


def _tail(
    messages: Sequence[tuple[Message, bool]], spoken: Callable[[Message], str], room: int
) -> tuple[tuple[ContextMessage, ...], int, int]:
    """(the newest messages that fit, their characters, the characters of all)."""
    kept: list[ContextMessage] = []
    offered = used = 0
    full = False
    for number, (message, pending) in enumerate(reversed(messages)):
        text = spoken(message)
        joint = 1 if number else 0
        offered += len(text) + joint
        left = room - used - joint
        if full or left < 0 or (left == 0 and text):
            full = True
            continue
        full = len(text) > left
        text = text[len(text) - left :] if full else text
        used += len(text) + joint
        kept.append(ContextMessage(message["id"], message["role"], text, pending))
    kept.reverse()
    return tuple(kept), used, offered
