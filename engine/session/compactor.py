"""Compaction, the transaction: a summary takes the place of what it sums up, or nothing changes.

`compaction/start` is both the record and the lock: while it stands without its end, nothing else compacts.
Source: session spec 7.5; agent-loop spec 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

import structlog

from engine.errors import EngineError, SessionError
from engine.ids import new_id
from engine.session.compaction import Price, Rewrite, Span, oversized_results
from engine.session.compaction_prompt import checkpoint_text, instruction
from engine.session.event import Event
from engine.session.log import Session, last_of
from engine.session.messages import Message, text_block, user_message
from engine.session.tokens import message_tokens

__all__ = ["Compacted", "Summarise", "Summary", "compact", "is_compacting", "prune", "summary_request"]

log = structlog.get_logger(__name__)

Failure: TypeAlias = Literal["BUSY", "CANCELLED", "CHANGED", "SUMMARY", "COMMIT", "PERSISTENCE"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the model wrote. `truncated` says that it was cut off; `usage` is in wire form."""

    text: str
    provider: str
    model: str
    usage: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    truncated: bool = False


Summarise: TypeAlias = Callable[[Sequence[Message]], Awaitable[Summary]]
"""Sends the messages to a model, the last of which asks for the summary. Raises what the call raised."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction that was committed: its id, and the event that stands for the span now."""

    compaction_id: str
    checkpoint: Event
    span: Span


async def compact(
    session: Session,
    span: Span,
    summarise: Summarise,
    *,
    flush: Callable[[], Awaitable[None]] | None = None,
    command_id: str | None = None,
    language: str | None = None,
    price: Price = message_tokens,
    mint: Callable[[str], str] = new_id,
) -> Compacted:
    """Sum up the span and put the summary in its place.

    Between turns it is a *manual* compaction: others may append meanwhile, only the span must stay as it is,
    and `flush` makes the outcome durable. In an open turn it is an *automatic* one: the whole surface must
    stay. Either way exactly one `compaction/end` follows the start, whatever happens, a cancellation included
    (which is passed on then). `command_id` names the command that asked for it.

    Raises SessionError with code COMPACTION_ and one of BUSY (another is under way), CHANGED (the span is not
    there, or not any more), SUMMARY (the model failed, or its summary is empty, cut off or no shorter),
    COMMIT (the log did not take it), PERSISTENCE (it is committed, and could not be made durable).
    """
    turn = _open_turn(session)
    _check_start(session, span)
    compaction_id = mint("compaction")
    bracket = _bracket(compaction_id, command_id)
    start = session.append("compaction/start", {**bracket, "turn": turn})
    before = _fingerprint(session)
    try:
        summary = await _summarised(summarise, summary_request(session, span, language))
        _check_unchanged(session, span, before, whole_surface=turn is not None)
        _check_summary(summary, span, price)
        checkpoint = _commit(session, span, summary, start, bracket, mint("message"))
    except BaseException as error:
        _end(session, {**bracket, "turn": turn}, error)
        raise
    session.append("compaction/end", {**bracket, "turn": turn})
    if flush is not None:
        await _made_durable(flush)
    return Compacted(compaction_id, checkpoint, span)


def summary_request(session: Session, span: Span, language: str | None = None) -> list[Message]:
    """What the model is sent: its system prompt, the span as it was sent before, and the instruction.

    The beginning is the same as in the story's own requests, so that a provider's cache is used again.
    """
    head = [session.surface.nodes[0]] if session.surface.has_system_head else []
    said = (session.derive_event(seq) for seq in [*head, *span.seqs])
    asking = user_message("compaction-instruction", instruction(language), {"kind": "compaction"})
    return [*(message for message in said if message is not None), asking]


def is_compacting(session: Session) -> bool:
    """Whether a compaction is under way: a start without its end. One from before an end-seed is a dead
    process's."""
    for event in reversed(session.events()):
        if event.type in ("compaction/end", "session/end-seed"):
            return False
        if event.type == "compaction/start":
            return True
    return False


def prune(session: Session, *, price: Price = message_tokens) -> list[Event]:
    """Shorten every tool result that is too long, without a model. The rewrites, oldest first.

    Needs an open turn, as every change of a tool result does; without one nothing is done.
    """
    if _open_turn(session) is None:
        return []
    return [_pruned(session, rewrite) for rewrite in oversized_results(session, price=price)]


def _pruned(session: Session, rewrite: Rewrite) -> Event:
    seq, original = rewrite.seq, session.event(rewrite.seq).data
    session.append(
        "compaction/prune",
        {
            "shadowedRange": {"start": seq, "end": seq},
            "shadowedSeqs": [seq],
            "shadowedTokenCount": rewrite.tokens,
        },
    )
    return session.append(
        "tool/result",
        {**original, "message": {**original["message"], "content": list(rewrite.content)}},
        surface_op={"op": "replace", "startSeq": seq, "endSeq": seq},
        source_event_seqs=[seq],
    )


# -- the transaction ----------------------------------------------------------------------------------


def _open_turn(session: Session) -> int | None:
    events = session.events()
    started, ended = last_of("turn/start", events), last_of("turn/end", events)
    if started is None or (ended is not None and ended.seq > started.seq):
        return None
    turn: int = started.data["turn"]
    return turn


def _check_start(session: Session, span: Span) -> None:
    if is_compacting(session):
        _fail("BUSY", "another compaction is under way")
    if not span.seqs or session.surface.span(span.start, span.end) != list(span.seqs):
        _fail("CHANGED", "the span is not a part of the history any more")


def _bracket(compaction_id: str, command_id: str | None) -> dict[str, Any]:
    command = {} if command_id is None else {"sourceCommandId": command_id}
    return {"compactionId": compaction_id, **command}


def _fingerprint(session: Session) -> tuple[int, int]:
    return session.surface.content_generation, len(session.surface.nodes)


async def _summarised(summarise: Summarise, request: Sequence[Message]) -> Summary:
    try:
        return await summarise(request)
    except EngineError as error:
        raise _failure("SUMMARY", f"the model gave no summary: {error.message}") from error


def _check_unchanged(session: Session, span: Span, before: tuple[int, int], *, whole_surface: bool) -> None:
    """The world after the summary was written is still the one that it was asked for."""
    if not session.attached:
        _fail("CHANGED", "the session was closed meanwhile")
    if not is_compacting(session):
        _fail("CHANGED", "the compaction was ended by somebody else")
    if whole_surface and _fingerprint(session) != before:
        _fail("CHANGED", "the history was changed meanwhile")
    if session.surface.span(span.start, span.end) != list(span.seqs):
        _fail("CHANGED", "the span was changed meanwhile")


def _check_summary(summary: Summary, span: Span, price: Price) -> None:
    if summary.truncated:
        _fail("SUMMARY", "the summary was cut off")
    if not summary.text.strip():
        _fail("SUMMARY", "the summary is empty")
    if price(_checkpoint("", summary, {})) >= span.tokens:
        _fail("SUMMARY", "the summary is not shorter than what it stands for")


def _checkpoint(message_id: str, summary: Summary, source: Mapping[str, Any]) -> Message:
    return user_message(message_id, checkpoint_text(summary.text), {"kind": "compact-checkpoint", **source})


def _commit(
    session: Session,
    span: Span,
    summary: Summary,
    start: Event,
    bracket: Mapping[str, Any],
    message_id: str,
) -> Event:
    """Write summary and checkpoint, with nothing in between."""
    said: dict[str, Any] = {
        **bracket,
        "summary": [text_block(summary.text)],
        "shadowedRange": {"start": span.start, "end": span.end},
        "shadowedSeqs": list(span.seqs),
        "shadowedTokenCount": span.tokens,
        "provider": summary.provider,
        "model": summary.model,
    }
    if summary.usage is not None:
        said["usage"] = summary.usage
    if summary.max_tokens is not None:
        said["maxTokens"] = summary.max_tokens
    try:
        recorded = session.append("compaction/summary", said)
        return session.append(
            "user/message",
            _checkpoint(message_id, summary, bracket),
            surface_op={"op": "replace", "startSeq": span.start, "endSeq": span.end},
            source_event_seqs=[start.seq, recorded.seq, *span.seqs],
        )
    except SessionError as error:
        raise _failure("COMMIT", f"the log did not take the summary: {error.message}") from error


def _end(session: Session, bracket: Mapping[str, Any], error: BaseException) -> None:
    """Close the bracket of a compaction that failed. Its own failure is logged: the first one counts."""
    code = error.error_code if isinstance(error, EngineError) else "COMPACTION_FAILED"
    if isinstance(error, asyncio.CancelledError):
        code = "COMPACTION_CANCELLED"
    if not session.attached or not is_compacting(session):
        return  # a later lifecycle has dropped the bracket, or will
    try:
        session.append("compaction/end", {**bracket, "error": {"code": code, "message": str(error)}})
    except SessionError:
        log.exception("compaction.end_failed", session=session.id)


async def _made_durable(flush: Callable[[], Awaitable[None]]) -> None:
    try:
        await flush()
    except EngineError as error:
        raise _failure("PERSISTENCE", f"the compaction is not durable yet: {error.message}") from error


def _failure(code: Failure, message: str) -> SessionError:
    return SessionError(message, code=f"COMPACTION_{code}", category=code.lower())


def _fail(code: Failure, message: str) -> NoReturn:
    raise _failure(code, message)
