"""One turn: steps until nothing is left to answer, and its one `turn/end`.

The order is that of spec agent-loop 3.2 and 3.3. Every ending goes through `finally`, so
a turn that was opened is always closed with the reason it ended for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import structlog

from engine.agent.inbox import Inbox
from engine.agent.projection import propose_snapshot
from engine.agent.prompt import AssembleContext
from engine.agent.services import Services
from engine.agent.step import Entry, StepRunner
from engine.cancel import Cancelled, CancelToken
from engine.errors import AgentError, AssemblyError, EngineError, ResourceError
from engine.llm import LlmFailure
from engine.session import Message, Session, recovery_results

__all__ = ["Decision", "PreStep", "TurnResult", "run_turn"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Decision:
    """What pre-step lets in. `reject` ends the turn as blocked; messages left out are gone."""

    kind: Literal["enter", "reject"]
    messages: Sequence[Message] = ()
    starts_series: bool = False


@dataclass(frozen=True, slots=True)
class PreStep:
    """The payload of `agent/pre-step`. The system text is frozen by then."""

    session: Session
    messages: Sequence[Message]
    turn: int
    step: int
    token: CancelToken


@dataclass(frozen=True, slots=True)
class TurnResult:
    """`reason` as in `turn/end`; `parked` when the queue must not go on by itself."""

    turn: int
    reason: dict[str, Any]
    parked: bool


async def run_turn(
    services: Services,
    session: Session,
    inbox: Inbox,
    steps: StepRunner,
    turn: int,
    batch: Sequence[Message],
    token: CancelToken,
) -> TurnResult:
    """Run the open turn `turn`, whose first batch is claimed already, to its `turn/end`. Never raises."""
    reason: dict[str, Any] = {"kind": "completed"}
    parked = False
    try:
        reason, parked = await _run_steps(services, session, inbox, steps, turn, batch, token)
    except BaseException as error:
        reason, parked = _reason_of(error, token, session.id), True
        if reason["kind"] == "error":
            services.hooks.emit("agent/error", session.id, error, scope=steps.scope)
        if not isinstance(error, Exception):
            raise  # the process is ending; the turn is closed all the same, below
    finally:
        session.append("turn/end", {"turn": turn, "reason": reason})
    return TurnResult(turn, reason, parked)


async def _run_steps(
    services: Services,
    session: Session,
    inbox: Inbox,
    steps: StepRunner,
    turn: int,
    batch: Sequence[Message],
    token: CancelToken,
) -> tuple[dict[str, Any], bool]:
    step = 0
    ending: str | None = None
    cut_short = False
    while True:
        token.check()
        if step == services.max_steps_per_turn:
            # Checked before the claim, so that what waits is not consumed (decision 8).
            raise AgentError("The turn took too many steps.", code="MAX_STEPS")
        step += 1
        claimed = batch if step == 1 else inbox.claim(first=False)
        entry = await _pre_step(services, session, steps, claimed, turn, step, token)
        if entry is None:
            return {"kind": "blocked"}, True
        # A batch of nothing but changed facts does not spend a model call (decision 12).
        empty = all(message["id"] == entry.snapshot_id for message in entry.messages)
        if empty and ending is not None:
            break
        if empty and step == 1:
            return {"kind": "completed"}, False  # what comes until the driver looks again is answered
        token.check()
        session.append("step/start", {"turn": turn, "step": step})
        ending = await _step(session, steps, entry, token)
        cut_short = cut_short or ending == "max-tokens"
        token.check()
        if ending is not None and not inbox.wants_step:
            await services.hooks.serial("agent/turn-stopping", session, turn, token, scope=steps.scope)
            token.check()
        if ending is not None and not inbox.wants_step:
            break
    return {"kind": "max-tokens" if cut_short else "completed"}, False


async def _step(session: Session, steps: StepRunner, entry: Entry, token: CancelToken) -> str | None:
    try:
        return await steps.run(entry, token)
    except BaseException:
        # A call without an answer would make every later request invalid.
        for data in recovery_results(session.events(), entry.turn, entry.step):
            session.append(
                data.type, data.data, surface_op="append", source_event_seqs=data.source_event_seqs
            )
        raise
    finally:
        session.append("step/end", {"turn": entry.turn, "step": entry.step})


async def _pre_step(
    services: Services,
    session: Session,
    steps: StepRunner,
    claimed: Sequence[Message],
    turn: int,
    step: int,
    token: CancelToken,
) -> Entry | None:
    context = AssembleContext(session, tuple(claimed), token, steps.scope)
    await services.tools.settle(session, services.hooks, scope=steps.scope)
    token.check()
    assembly = await services.prompt.assemble(context)
    token.check()
    system_text = assembly.system_text
    snapshot = propose_snapshot(session, assembly.facts)
    proposed = [*claimed, snapshot] if snapshot is not None else list(claimed)
    payload = PreStep(session, tuple(proposed), turn, step, token)
    decision: Decision = await services.hooks.waterfall(
        "agent/pre-step", payload, lambda: Decision("enter", tuple(proposed)), scope=steps.scope
    )
    token.check()
    # What was claimed must be on disk before it can be answered; otherwise a crash
    # would bring it back as new.
    await services.journal.secure(session.id)
    token.check()
    if decision.kind == "reject":
        return None
    snapshot_id = snapshot["id"] if snapshot is not None else None
    return Entry(
        turn, step, assembly, system_text, decision.messages, snapshot_id, context, decision.starts_series
    )


def _reason_of(error: BaseException, token: CancelToken, session_id: str) -> dict[str, Any]:
    if token.cause is not None:
        return {"kind": "aborted", "reason": token.cause.to_wire()}
    if isinstance(error, Cancelled):
        return {"kind": "aborted", "reason": {"kind": "user"}}
    if isinstance(error, LlmFailure):
        return {"kind": "error", "error": error.failure.to_wire()}
    if not isinstance(error, Exception):
        return {"kind": "aborted", "reason": {"kind": "disposed"}}
    code = error.error_code if isinstance(error, EngineError) else "UNKNOWN"
    if isinstance(error, (AssemblyError, ResourceError)):
        # what somebody wrote or chose cannot be sent; it is told to them, and is no fault of the program
        log.warning("turn.refused", session=session_id, code=code, reason=str(error))
    else:
        log.error("turn.failed", session=session_id, code=code, exc_info=error)
    return {"kind": "error", "error": {"message": _told(error), "code": code}}


def _told(error: BaseException) -> str:
    """The texts of an error and of what it came from, the last one first."""
    texts: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        text = str(cause) or type(cause).__name__
        if text not in texts:
            texts.append(text)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return ": ".join(texts)
