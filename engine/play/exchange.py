"""Reading exchanges out of a session's log: what was said, what was answered, where it ends.

Bubbles go by a message's origin, not by its model role: injected context has role user
and is nobody's words (spec tavern 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.agent.inbox import QUIET, SPLICED, InboxState, is_claim
from engine.agent.tools import CONTEXT
from engine.play.attachments import blocks_of
from engine.play.model import ExchangeText, Piece, UserText, Utterance
from engine.session import Event, Message, message_text, text_block, user_message
from engine.table import SHOWN
from engine.tavern import EDITED, labelled

__all__ = [
    "SKIPPED",
    "TurnRange",
    "belongs_here",
    "exchange_text",
    "exchanges",
    "is_human",
    "is_quiet",
    "is_skipped",
    "quietly",
    "spoken_message",
    "user_text",
    "words_since",
]

SKIPPED = "plugin:play/skipped"
"""A person has left unanswered what waited, or what was cut off, before this."""


@dataclass(frozen=True, slots=True)
class TurnRange:
    """An answered turn, with the unanswered ones directly before it. Seqs are inclusive."""

    start_seq: int
    end_seq: int
    interrupted: bool
    reason: Any


def spoken_message(
    utterance: Utterance, message_id: str, *, quiet: bool = False, before: Message | None = None
) -> Message:
    """The logged form: the speaker's label is part of the content, the raw text stands in the source.

    (Decision 34: model-visible means logged.) What regex scripts make of it is put in when a step lets it
    in; `before` is what words were before they were changed, and those are marked as edited for them. What is
    attached follows the words. `quiet` words wait for others to be answered.
    """
    blocks, entries = blocks_of(utterance.attachments, before)
    source = {
        "kind": "user",
        "key": utterance.key,
        "authorId": utterance.author_id,
        "authorName": utterance.author_name,
        "persona": utterance.persona_name,
        "text": utterance.text,
        **utterance.extra,
    }
    if quiet:
        source[QUIET] = True
    if entries:
        source["attachments"] = entries
    if before is not None and _is_edited(before, utterance):
        source[EDITED] = True
    said = labelled(utterance.persona_name, utterance.text)
    return user_message(message_id, [text_block(said), *blocks], source)


def _is_edited(before: Message, utterance: Utterance) -> bool:
    source = before["source"]
    return EDITED in source or source.get("text") != utterance.text


def is_human(message: Message) -> bool:
    """Whether a person said this."""
    return bool(message["role"] == "user" and message["source"].get("kind") == "user")


def belongs_here(message: Message) -> bool:
    """Whether this was left for the next step by a tool: it goes with the call, and with no other line of
    the story."""
    return bool(message["source"].get("kind") == CONTEXT)


def is_quiet(message: Message) -> bool:
    """Whether these words wait for others to be answered."""
    return message["source"].get(QUIET) is True


def quietly(message: Message) -> Message:
    """The same words, waiting for others to be answered."""
    return dict(message) | {"source": dict(message["source"]) | {QUIET: True}}


def is_skipped(events: Sequence[Event]) -> bool:
    """Whether a person has chosen to leave unanswered all that the events hold."""
    for event in reversed(events):
        if event.type == SKIPPED:
            return True
        if event.type == "turn/start" or (event.type == SPLICED and event.data["inserted"]):
            return False
    return False


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
        attachments=tuple(entry["name"] for entry in source.get("attachments", ())),
    )


def exchange_text(events: Sequence[Event]) -> ExchangeText:
    """What the events of one variant say. Several answers of one turn are joined by a blank line."""
    inputs: list[UserText] = []
    pieces: list[Piece] = []
    tools: dict[str, str] = {}
    interrupted = False
    for event in events:
        if event.type == "user/message" and event.surface_op == "append" and is_human(event.data):
            inputs.append(user_text(event.data))
        elif event.type == "assistant/message":
            text = message_text(event.data["message"])
            if text.strip():
                pieces.append(Piece(text))
                interrupted = bool(event.data.get("interrupted"))
        elif event.type == "tool/call":
            tools[event.data["callId"]] = event.data["name"]
        elif event.type == "tool/result" and event.surface_op == "append":
            message = event.data["message"]
            tool = tools.get(message["toolCallId"])
            if tool in SHOWN and not message["isError"]:
                pieces.append(Piece(message_text(message), tool))
    answer = "\n\n".join(piece.text for piece in pieces if piece.tool is None)
    ended_at = events[-1].time if events else 0
    return ExchangeText(tuple(inputs), answer, interrupted, tuple(pieces), ended_at)


def exchanges(events: Sequence[Event], after_seq: int) -> list[TurnRange]:
    """The answered, closed turns after `after_seq`, one exchange each.

    Turns before an answered one that brought no answer belong to its exchange: what was said in
    them is answered together. A turn that is still open is not looked at.
    """
    found: list[TurnRange] = []
    start: int | None = None
    answered = interrupted = unfinished = False
    for event in events[after_seq + 1 :]:
        if event.type == "turn/start":
            start = event.seq if start is None else start
            answered = interrupted = unfinished = False
        elif event.type == "assistant/message":
            message = event.data["message"]
            if message_text(message).strip():
                answered, interrupted = True, bool(event.data.get("interrupted"))
            # What the model was going to say about the results is still to come.
            unfinished = any(block["type"] == "tool-call" for block in message["content"])
        elif event.type == "turn/end" and start is not None and answered:
            reason = event.data["reason"]
            cut_off = unfinished and reason["kind"] not in ("completed", "max-tokens")
            found.append(TurnRange(start, event.seq, interrupted or cut_off, reason))
            start = None
    return found


def words_since(events: Sequence[Event], inherited: int, after_seq: int) -> list[Message]:
    """What people said after `after_seq` and a turn took up, in that order, each message once.

    Also what a turn took and never admitted, because it was stopped or failed before its request.
    `inherited` is how many events are the parent's: its queue is not this session's.
    """
    taken: dict[str, Message] = {}
    queues = InboxState()
    for event in events[min(inherited, after_seq + 1) :]:
        if event.type == SPLICED and event.seq >= inherited:
            removed = queues.apply(event.data)
            if is_claim(event.data) and event.seq > after_seq:
                for message in removed:
                    taken.setdefault(message["id"], message)
        elif event.type == "user/message" and event.surface_op == "append" and event.seq > after_seq:
            taken[event.data["id"]] = event.data
    return [message for message in taken.values() if is_human(message)]
