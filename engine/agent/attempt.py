"""One attempt: a prepared call is streamed, shown live, and settled in the log exactly once.

Settlement (spec agent-loop 3.5): a finished stream is an `assistant/message`, even an
empty one; a failed one is an `assistant/attempt`; a user's stop keeps what was visible
as an interrupted message. The live `end` frame follows the append, never precedes it.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import structlog

from engine.agent.services import Services
from engine.cancel import Cancelled, CancelToken
from engine.hooks import Scope
from engine.ids import new_id
from engine.llm import Failure, LlmRequest, PreparedCall
from engine.session import BlockAssembler, Event, Session, StreamRecorder, assistant_message

__all__ = ["Finished", "FrameCounter", "run_attempt"]

log = structlog.get_logger(__name__)


class FrameCounter:
    """Revisions of one attached session's live frames, and numbers for its attempts."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._revisions = itertools.count(1)
        self._attempts = itertools.count(1)

    def attempt_id(self) -> str:
        return f"{self._session_id}#{next(self._attempts)}"

    def revision(self) -> int:
        return next(self._revisions)


@dataclass(frozen=True, slots=True)
class Finished:
    """How an attempt ended: with a logged message, or with a failure that may be retried."""

    event: Event
    finish: str
    calls: tuple[Any, ...] = ()
    failure: Failure | None = None


class _Live:
    """The live frames of one attempt: `start`, `chunk`…, `end`."""

    def __init__(self, services: Services, session_id: str, counter: FrameCounter, scope: Scope) -> None:
        self._hooks = services.hooks
        self._scope = scope
        self._session_id = session_id
        self._counter = counter
        self._id = counter.attempt_id()
        self._index = 0

    def start(self, turn: int, step: int) -> None:
        self._emit({"kind": "start", "turn": turn, "step": step})

    def chunk(self, time: int, chunk: Any) -> None:
        self._emit({"kind": "chunk", "index": self._index, "time": time, "chunk": chunk})
        self._index += 1

    def committed(self, event: Event) -> None:
        self._end({"kind": "committed", "eventType": event.type, "seq": event.seq})

    def abandoned(self) -> None:
        self._end({"kind": "abandoned"})

    def _end(self, outcome: dict[str, Any]) -> None:
        self._emit({"kind": "end", "index": self._index, "outcome": outcome})

    def _emit(self, frame: dict[str, Any]) -> None:
        frame |= {"attemptId": self._id, "revision": self._counter.revision()}
        self._hooks.emit("agent/assistant-stream", self._session_id, frame, scope=self._scope)


async def run_attempt(
    services: Services,
    session: Session,
    call: PreparedCall,
    request: LlmRequest,
    counter: FrameCounter,
    *,
    turn: int,
    step: int,
    token: CancelToken,
    scope: Scope,
) -> Finished:
    """Stream and settle. Raises Cancelled after a stop was settled.

    What a listener of `llm/stream` raises is settled as an attempt and propagates: it is
    our fault, not the provider's, and is not offered to recovery.
    """
    stream = services.hooks.stream("llm/stream", request, lambda: call.stream(request, token), scope=scope)
    live = _Live(services, session.id, counter, scope)
    live.start(turn, step)
    recorder, blocks = StreamRecorder(), BlockAssembler()
    where: dict[str, Any] = {"turn": turn, "step": step}
    try:
        await _consume(services, stream, recorder, blocks, live, token)
    except BaseException:
        # Nothing more can come of this attempt; what streamed stays on record.
        _settle(session, live, "assistant/attempt", where | {"stream": recorder.records()})
        raise
    finish = blocks.finish
    where["stream"] = recorder.records()
    if token.cancelled:
        _settle_cancelled(session, live, call, blocks, where)
        raise Cancelled
    if finish["kind"] in ("error", "aborted"):
        event = _settle(session, live, "assistant/attempt", where)
        failure = finish.get("failure") or {"message": "The model stopped.", "code": "ABORTED"}
        return Finished(event, finish["kind"], failure=Failure.from_wire(failure))
    event = _settle_message(session, live, call, blocks.blocks(), blocks, where)
    calls = tuple(block for block in event.data["message"]["content"] if block["type"] == "tool-call")
    return Finished(event, finish["kind"], calls)


async def _consume(
    services: Services,
    stream: AsyncIterator[Any],
    recorder: StreamRecorder,
    blocks: BlockAssembler,
    live: _Live,
    token: CancelToken,
) -> None:
    try:
        async for chunk in stream:
            now = services.clock()
            recorder.add(now, chunk)
            blocks.add(chunk)
            live.chunk(now, chunk)
            if token.cancelled:
                return
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


def _settle_cancelled(
    session: Session, live: _Live, call: PreparedCall, blocks: BlockAssembler, where: dict[str, Any]
) -> None:
    visible = blocks.interrupted_blocks()
    if visible:
        _settle_message(session, live, call, visible, blocks, where | {"interrupted": True})
    else:
        _settle(session, live, "assistant/attempt", where)


def _settle_message(
    session: Session,
    live: _Live,
    call: PreparedCall,
    content: Any,
    blocks: BlockAssembler,
    data: dict[str, Any],
) -> Event:
    message = assistant_message(
        new_id("msg"),
        content,
        provider=call.config.provider,
        model=call.config.model,
        replay_state=blocks.replay_state,
    )
    data = data | {"message": message}
    if blocks.usage is not None:
        data["usage"] = blocks.usage
    return _settle(session, live, "assistant/message", data, surface_op="append")


def _settle(
    session: Session, live: _Live, event_type: str, data: dict[str, Any], surface_op: str | None = None
) -> Event:
    try:
        event = session.append(event_type, data, surface_op=surface_op)
    except BaseException:
        live.abandoned()
        raise
    live.committed(event)
    return event
