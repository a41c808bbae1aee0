"""The way of one call: policy, approval, guards, the body, and what may still change its outcome.

    prepare   tools/pre-execute → approval → guards → the arguments validated      in the model's order
    dispatch  the durability barrier → tools/execute around the body               may overlap
    finish    tools/post-execute → the tool's finaliser → the cap                  in the model's order

Everything fails closed: a policy, approval or guard that raises or answers nonsense denies, a
post-execute that does so withholds. Whatever happens becomes an outcome that the model can read;
only a stop goes through, as Cancelled. Source: spec agent-loop 3.7.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import structlog
from pydantic import BaseModel

from engine.agent.tools.arguments import validate
from engine.agent.tools.patience import GRACE, Unresponsive, patiently
from engine.agent.tools.registry import ToolRegistry
from engine.agent.tools.tool import Tool, ToolCall, ToolOutcome, failed
from engine.cancel import Cancelled
from engine.errors import EngineError
from engine.hooks import Hooks, Scope

__all__ = [
    "MAX_RESULT",
    "Approval",
    "Blocked",
    "PermissionRequest",
    "Pipeline",
    "PostExecute",
    "Prepared",
    "Verdict",
]

log = structlog.get_logger(__name__)

MAX_RESULT = 16_000
"""Code points of one result. A small model's window of 16,000 tokens still holds it beside a short story;
what is cut off is told. (Under pressure compaction shortens results further.)"""


_STOPPED = ("ABORTED", "ABORTED_BEFORE_DISPATCH")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a listener of `tools/pre-execute` decides. `ask` needs somebody's approval; the `reason` of
    `deny` is told to the model, that of `ask` to whoever is asked."""

    kind: Literal["allow", "deny", "ask"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """A call that waits for somebody's approval, and what they are asked."""

    call: ToolCall
    reason: str


Approval: TypeAlias = Callable[[PermissionRequest], Awaitable[bool | None]]
"""Asks a person. True approves, False declines, None when nobody could answer."""


@dataclass(frozen=True, slots=True)
class PostExecute:
    """The payload of `tools/post-execute`. A listener returns the outcome as it is (accept), another one
    (replace), or `Blocked`."""

    call: ToolCall
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class Blocked:
    """The result of the call is not given to the model, which reads the reason instead."""

    reason: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that may be dispatched, or whose `outcome` is known already: it was denied, or is no call."""

    call: ToolCall
    tool: Tool | None
    arguments: BaseModel | None
    outcome: ToolOutcome | None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`flush` is the durability barrier of a session; `approve` None when there is nobody to ask."""

    registry: ToolRegistry
    hooks: Hooks
    flush: Callable[[str], Awaitable[None]]
    approve: Approval | None = None
    scope: Scope | None = None

    # -- before the body -------------------------------------------------------------------------

    async def prepare(self, call: ToolCall, tool: Tool | None) -> Prepared:
        """Decide whether the call may run. Raises Cancelled when the turn was stopped meanwhile."""
        denied = await self._judged(call)
        if denied is not None:
            return Prepared(call, tool, None, denied)
        if tool is None:
            unknown = failed(f'unknown tool "{call.name}"', "UNKNOWN_TOOL", "ToolNotFoundError")
            return Prepared(call, None, None, unknown)
        arguments = validate(tool, call.arguments)
        if isinstance(arguments, ToolOutcome):
            return Prepared(call, tool, None, arguments)
        return Prepared(call, tool, arguments, None)

    async def _judged(self, call: ToolCall) -> ToolOutcome | None:
        """The denial, if there is one: of the policy, of who was asked, or of a guard."""
        for judge in (self._policy, self._guards):
            try:
                reason = await patiently(judge(call), call.token)
            except Cancelled:
                call.token.check()
                reason = "the check of this call broke off"
            except Exception as error:
                log.exception("tool.check_failed", tool=call.name, session=call.session_id, error=repr(error))
                reason = "this call could not be checked, so it was not allowed"
            call.token.check()
            if reason is not None:
                return failed(reason, "TOOL_DENIED", "ToolDeniedError", reason)
        return None

    async def _policy(self, call: ToolCall) -> str | None:
        verdict: object = await self.hooks.waterfall(
            "tools/pre-execute", call, lambda: Verdict("allow"), scope=self.scope
        )
        if not isinstance(verdict, Verdict):
            raise TypeError(f"tools/pre-execute answered {type(verdict).__name__}, which is no verdict")
        if verdict.kind == "allow":
            return None
        if verdict.kind == "ask":
            return await self._asked(PermissionRequest(call, verdict.reason))
        return verdict.reason or "this call is not allowed"

    async def _asked(self, request: PermissionRequest) -> str | None:
        if self.approve is None:
            return "this call needs somebody's approval, and there is nobody to ask"
        answer = await self.approve(request)
        if answer is True:
            return None
        if answer is False:
            return "the approval that this call needs was declined"
        return "this call needs somebody's approval, and nobody answered"

    async def _guards(self, call: ToolCall) -> str | None:
        for guard in self.registry.guards:
            found = guard(call)
            reason: object = await found if inspect.isawaitable(found) else found
            if reason is None:
                continue
            if not isinstance(reason, str):
                raise TypeError(f"a guard answered {type(reason).__name__}, which is no reason")
            return reason or "this call is not allowed"
        return None

    # -- the body --------------------------------------------------------------------------------

    async def dispatch(self, prepared: Prepared) -> ToolOutcome:
        """Run the body of a call that may run. Never raises but for the end of the process."""
        call, tool = prepared.call, prepared.tool
        if prepared.outcome is not None or tool is None:
            return prepared.outcome or failed("it did not run", "TOOL_FAILED")
        unsaved = await self._unsaved(call)
        if unsaved is not None:
            return unsaved
        body = self.hooks.waterfall(
            "tools/execute", call, lambda: tool.body(prepared.arguments, call), scope=self.scope
        )
        try:
            outcome = await patiently(body, call.token, grace=GRACE)
        except Unresponsive:
            log.error("tool.unresponsive", tool=call.name, session=call.session_id)
            return failed(
                "the turn was stopped, and this did not stop with it; whether it took effect is not known",
                "ABORTED",
                "AbortError",
            )
        except Cancelled:
            return aborted() if call.token.cancelled else failed("it broke off", "TOOL_FAILED")
        except EngineError as error:  # what was asked for cannot be; for the model to read
            log.debug("tool.refused", tool=call.name, session=call.session_id, code=error.error_code)
            return failed(error.message, "TOOL_FAILED", type(error).__name__)
        except Exception as error:  # not for the loop to die of
            log.warning("tool.failed", tool=call.name, session=call.session_id, exc_info=error)
            return failed(str(error) or type(error).__name__, "TOOL_FAILED", type(error).__name__)
        if not isinstance(outcome, ToolOutcome):
            log.error("tool.no_outcome", tool=call.name, answer=type(outcome).__name__)
            return failed("it gave no result", "TOOL_FAILED")
        return outcome

    async def _unsaved(self, call: ToolCall) -> ToolOutcome | None:
        """The durability barrier: an outcome when the body must not run. What a body does in the world must
        not be done twice because a crash forgot that it was done."""
        try:
            await patiently(self.flush(call.session_id), call.token)
            call.token.check()
        except Cancelled:
            return not_begun()
        except Exception as error:
            log.error("tool.not_durable", tool=call.name, session=call.session_id, exc_info=error)
            return failed("the story could not be saved, so this did not run", "NOT_DURABLE")
        return None

    # -- after the body --------------------------------------------------------------------------

    async def finish(self, prepared: Prepared, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome that is logged. Never raises but for the end of the process."""
        call = prepared.call
        if call.token.cancelled and not outcome.is_error:
            return aborted()
        if outcome.error is not None and outcome.error.code in _STOPPED:
            return outcome  # these words are ours: there is nothing to check or to put into form
        accepted = await self._accepted(call, outcome)
        if prepared.tool is not None and prepared.tool.finalise is not None:
            try:
                accepted = prepared.tool.finalise(accepted)
            except Exception:
                log.exception("tool.finaliser_failed", tool=call.name, session=call.session_id)
                accepted = failed("its result could not be put into words", "TOOL_FAILED")
        if call.token.cancelled and not accepted.is_error:
            return aborted()
        return _capped(accepted)

    async def _accepted(self, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        payload = PostExecute(call, outcome)
        judged = self.hooks.waterfall("tools/post-execute", payload, lambda: outcome, scope=self.scope)
        try:
            verdict: object = await patiently(judged, call.token, grace=GRACE)
        except Cancelled:
            return aborted() if call.token.cancelled else _withheld("the check of its result broke off")
        except Exception:
            log.exception("tool.post_failed", tool=call.name, session=call.session_id)
            return _withheld("its result could not be checked")
        if isinstance(verdict, Blocked):
            return _withheld(verdict.reason or "its result is not given out")
        if not isinstance(verdict, ToolOutcome):
            log.error("tool.post_answer", tool=call.name, answer=type(verdict).__name__)
            return _withheld("its result could not be checked")
        return verdict


def not_begun() -> ToolOutcome:
    """The outcome of a call that the stop came before."""
    return failed("the turn was stopped before this began", "ABORTED_BEFORE_DISPATCH", "AbortError")


def aborted() -> ToolOutcome:
    """The outcome of a call that ran when the stop came, whatever it might have said."""
    return failed("the turn was stopped while this ran", "ABORTED", "AbortError")


def _withheld(reason: str) -> ToolOutcome:
    return failed(reason, "TOOL_RESULT_BLOCKED", "ToolBlockedError", reason)


def _capped(outcome: ToolOutcome) -> ToolOutcome:
    left = len(outcome.text) - MAX_RESULT
    if left <= 0:
        return outcome
    note = f"\n[{left:,} of {len(outcome.text):,} characters were left out: the result was too long]"
    return replace(outcome, text=outcome.text[:MAX_RESULT] + note)
