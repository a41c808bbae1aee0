"""Which requests brought an answer: those of the last turn of its stretch of the log, a step each.

A step that was tried several times was answered to its last request. Source: assembler spec 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from engine.session import Event

__all__ = ["REQUEST_RECORD", "Missing", "SentStep", "missing", "sent_steps"]

REQUEST_RECORD: Final = "plugin:tavern/request"
"""`{version, cut, messagesHash, strategy: {id, name, revision} | None, sources: [...], private: [...]}`.

`cut` is the seq of the last event that the request was derived from. A source is `{id, name, module, ruleId,
source: {resourceId, field}, hash, reference: {messageId, messageHash, startUtf16, endUtf16}}`, its hashes
SHA-256 of the text and of the message's content. `private` is as `privacy.PRIVATE`. Of a request that was put
together anew there is a `requestAssemblyRef` as well (`projected.ASSEMBLED`): its messages and sources stand
there.
"""

Missing: TypeAlias = Literal[
    "imported", "not-recorded", "version-unknown", "hash-mismatch", "derivation-unavailable"
]
"""Why the log does not say what was sent: the answer came in from elsewhere; it is of a version that kept no
evidence; of a later version; the evidence does not fit; the log cannot be folded."""


@dataclass(frozen=True, slots=True)
class SentStep:
    """One request of a turn. `record` is the seq of its evidence, `tools` what the model called after it."""

    number: int
    record: int
    tools: tuple[str, ...] = ()


def sent_steps(events: Sequence[Event], start: int, end: int) -> tuple[SentStep, ...]:
    """The requests of the last turn between two seqs (both inclusive) that have evidence, oldest first."""
    found: list[SentStep] = []
    number = 0
    for event in events[start : end + 1]:
        if event.type == "turn/start":
            found, number = [], 0
        elif event.type == "step/start":
            number = event.data["step"]
        elif event.type == REQUEST_RECORD:
            if found and found[-1].number == number:
                found.pop()
            found.append(SentStep(number, event.seq))
        elif event.type == "tool/call" and found and found[-1].number == number:
            found[-1] = replace(found[-1], tools=(*found[-1].tools, event.data["name"]))
    return tuple(found)


def missing(events: Sequence[Event], end: int) -> Missing:
    """Why an answer that ends at this seq has no evidence."""
    asked = any(event.type == "request/header" for event in events[: end + 1])
    return "not-recorded" if asked else "imported"
