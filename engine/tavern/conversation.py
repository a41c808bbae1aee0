"""A session's conversation as a profile looks at it: what was said, by whom, and what has just been claimed.

Who plays and how far the story is go by what was said, not by what a summary left of it; lore is
woken by what the model reads. Runtime facts, what a strategy says and what tools leave for the model
are nobody's words and count for neither. Source: spec tavern 4; seed 003, "Activation input contract".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from engine.agent.inbox import SPLICED, is_claim
from engine.agent.standing import CONTRIBUTION_KIND, SNAPSHOT_KIND
from engine.agent.tools import CONTEXT
from engine.lore import ActivationContext, activation_context
from engine.macros import Chat, ChatMessage
from engine.session import Event, Message, Session, message_text, transcript
from engine.tavern.adapters import Speaker

__all__ = ["GENERATION", "NORMAL", "Conversation", "conversation", "scanned_texts", "words_of"]

GENERATION: Final = "generation"
"""Where the source of a person's message names the kind of answer that it is put in for: `swipe`. Without it
the answer is a normal one. Lore and prompts may be for some kinds only (sillytavern spec 2.3, 3.3.1)."""

NORMAL: Final = "normal"

_NOBODY = frozenset({SNAPSHOT_KIND, CONTEXT, CONTRIBUTION_KIND})
_CHAT_MESSAGES = 1_000  # as many as a macro looks through (`engine.macros.context`)


@dataclass(frozen=True, slots=True)
class Conversation:
    """`said` are the messages as people saw them with their times (epoch ms), `claimed` those of the step
    that comes; `history` is what the model is shown. `turn` counts what people had said before the turn;
    `trigger` is the kind of answer that the turn writes.
    """

    said: tuple[tuple[Message, int], ...]
    history: tuple[Message, ...]
    claimed: tuple[Message, ...]
    claim_seqs: tuple[int, ...]
    turn: int
    trigger: str = NORMAL

    @property
    def count(self) -> int:
        """How many messages the branch has, the claimed ones included."""
        return len(self.said) + len(self.claimed)

    @property
    def answers(self) -> int:
        """How many of them are the model's."""
        return sum(message["role"] == "assistant" for message, _ in self.said)

    @property
    def speakers(self) -> tuple[Speaker, ...]:
        """Who plays, in the order in which they first spoke; each under the name they spoke as."""
        names: dict[str, str] = {}
        for message in (*(message for message, _ in self.said), *self.claimed):
            source = message["source"]
            if source.get("kind") == "user" and source.get("persona"):
                names.setdefault(source["persona"], source.get("authorId", ""))
        return tuple(Speaker(name, author_id) for name, author_id in names.items())

    def activation(self) -> ActivationContext:
        """What lore may look at."""
        return activation_context(self.history, self.claimed, spoken=_text, claim_seqs=self.claim_seqs)

    def chat(self, now: datetime) -> Chat:
        """The conversation as macros see it, without the labels of speakers."""
        messages = [
            *(
                (message, datetime.fromtimestamp(at / 1000, UTC))
                for message, at in self.said[-_CHAT_MESSAGES:]
            ),
            *((message, now) for message in self.claimed),
        ][-_CHAT_MESSAGES:]
        return Chat(
            tuple(
                ChatMessage(words_of(message), is_user=message["role"] == "user", sent_at=at)
                for message, at in messages
            ),
            first_id=self.count - len(messages),
        )


def conversation(session: Session, claimed: Sequence[Message] = ()) -> Conversation:
    """The conversation of a session with the batch that was claimed for its next step."""
    events = session.events()
    said = tuple((message, event.time) for event, message in _said(events))
    opened = _turn_opened(events)
    return Conversation(
        said=said,
        history=tuple(message for message in session.derive() if _is_said(message) and _speaks(message)),
        claimed=tuple(message for message in claimed if _is_said(message)),
        claim_seqs=_claims(session),
        turn=sum(
            message["role"] == "user"
            for event, message in _said(events)
            if opened is None or event.seq < opened
        ),
        trigger=_trigger(events, claimed),
    )


def scanned_texts(activation: ActivationContext, character: str) -> tuple[str, ...]:
    """The scanned messages, each `Name: text`. People's words carry their label already (decision 34)."""
    return tuple(
        f"{character}: {message.text}" if character and message.role == "assistant" else message.text
        for message in activation.messages
    )


def _said(events: Sequence[Event]) -> Iterator[tuple[Event, Message]]:
    for event in transcript(events):
        if event.type == "user/message" and _is_said(event.data):
            yield event, event.data
        elif event.type == "assistant/message" and _speaks(event.data["message"]):
            yield event, event.data["message"]


def _is_said(message: Message) -> bool:
    return message["role"] != "system" and message["source"].get("kind") not in _NOBODY


def _speaks(message: Message) -> bool:
    """Whether it is more than a call of tools."""
    return message["role"] == "user" or bool(message_text(message).strip())


def _text(message: Message) -> str:
    """A message's words, its blocks (what people attach is one of its own) on lines of their own."""
    return "\n".join(block["text"] for block in message["content"] if block["type"] == "text")


def _turn_opened(events: Sequence[Event]) -> int | None:
    """The seq at which the turn that is open now was opened."""
    for event in reversed(events):
        if event.type == "turn/start":
            return event.seq
        if event.type == "turn/end":
            return None
    return None


def _trigger(events: Sequence[Event], claimed: Sequence[Message]) -> str:
    """The kind of answer that the newest words of this turn ask for; its later steps go on with it."""
    opened = _turn_opened(events)
    earlier = (
        [event.data for event in events[opened:] if event.type == "user/message"]
        if opened is not None
        else []
    )
    for message in reversed((*earlier, *claimed)):
        if message["source"].get("kind") == "user":
            return str(message["source"].get(GENERATION, NORMAL))
    return NORMAL


def _claims(session: Session) -> tuple[int, ...]:
    """The seqs of the claims that the step which comes was made by; none that an earlier step has used."""
    seqs: list[int] = []
    for event in reversed(session.own_events()):
        if event.type in ("turn/start", "turn/end", "step/start", "step/end"):
            break
        if event.type == SPLICED and is_claim(event.data):
            seqs.append(event.seq)
    return tuple(reversed(seqs))


def words_of(message: Message) -> str:
    """What was said, without the speaker's label."""
    text = message_text(message)
    persona = message["source"].get("persona")
    label = f"{persona}:"
    return text[len(label) :].lstrip(" ") if persona and text.startswith(label) else text
