"""Reading exchanges out of a session's log: what was said, what was answered, where it ends.

Bubbles go by a message's origin, not by its model role: injected context has role user
and is nobody's words (spec tavern 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.play.model import ExchangeText, UserText, Utterance
from engine.session import Event, Message, message_text, user_message

__all__ = ["TurnRange", "exchange_text", "is_human", "last_turn_range", "spoken_message", "user_text"]


@dataclass(frozen=True, slots=True)
class TurnRange:
    """The newest turn, with the unanswered ones directly before it. Seqs are inclusive."""

    start_seq: int
    end_seq: int
    answered: bool
    interrupted: bool
    reason: Any


def spoken_message(utterance: Utterance, message_id: str) -> Message:
    """The logged form: the speaker's label is part of the content, the raw text stands in the source.

    (Decision 34: model-visible means logged.)
    """
    source = {
        "kind": "user",
        "key": utterance.key,
        "authorId": utterance.author_id,
        "authorName": utterance.author_name,
        "persona": utterance.persona_name,
        "text": utterance.text,
        **utterance.extra,
    }
    return user_message(message_id, f"{utterance.persona_name}: {utterance.text}", source)


def is_human(message: Message) -> bool:
    """Whether a person said this."""
    return bool(message["role"] == "user" and message["source"].get("kind") == "user")


def user_text(message: Message) -> UserText:
    source = message["source"]
    return UserText(
        id=message["id"],
        key=source.get("key", message["id"]),
        author_id=source.get("authorId", ""),
        author_name=source.get("authorName", ""),
        persona_name=source.get("persona", ""),
        text=source.get("text", message_text(message)),
        avatar_url=source.get("avatarUrl"),
    )


def exchange_text(events: Sequence[Event]) -> ExchangeText:
    """What the events of one variant say. Several answers of one turn are joined by a blank line."""
    inputs: list[UserText] = []
    answers: list[str] = []
    interrupted = False
    for event in events:
        if event.type == "user/message" and event.surface_op == "append" and is_human(event.data):
            inputs.append(user_text(event.data))
        elif event.type == "assistant/message":
            text = message_text(event.data["message"])
            if text.strip():
                answers.append(text)
                interrupted = bool(event.data.get("interrupted"))
    return ExchangeText(tuple(inputs), "\n\n".join(answers), interrupted)


def last_turn_range(events: Sequence[Event], after_seq: int) -> TurnRange | None:
    """The newest closed turn after `after_seq`, stretched back to the first turn after it.

    Turns before it that brought no answer belong to the same exchange: what was said in
    them is answered together.
    """
    start: int | None = None
    end: Event | None = None
    answered = interrupted = False
    for event in events[after_seq + 1 :]:
        if event.type == "turn/start":
            start = event.seq if start is None else start
            answered = interrupted = False
        elif event.type == "assistant/message" and message_text(event.data["message"]).strip():
            answered, interrupted = True, bool(event.data.get("interrupted"))
        elif event.type == "turn/end":
            end = event
    if start is None or end is None:
        return None
    return TurnRange(start, end.seq, answered, interrupted, end.data["reason"])
