"""One step: attempts until one settles as a message, then the tools it called.

The order is that of spec agent-loop 3.4. Up to the prepared call nothing is admitted: a
cancel before that leaves neither system nor user message. Accepted input is admitted on
the first attempt only; a retry happens in the same step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.agent.assembling import RequestAssembly, assemble_request
from engine.agent.attempt import Finished, FrameCounter, run_attempt
from engine.agent.inbox import Inbox
from engine.agent.invariants import check_request
from engine.agent.projection import admit_system, announce_tools, lacks, propose_snapshot
from engine.agent.prompt import AssembleContext, Assembly
from engine.agent.services import Services
from engine.agent.tools import Pipeline, ToolPool
from engine.cancel import CancelToken
from engine.errors import AgentError
from engine.hooks import Scope
from engine.ids import new_id
from engine.llm import CallConfig, LlmFailure, LlmRequest, PreparedCall, has_pictures, wanted_pictures
from engine.session import Event, Message, Session, freeze, message_text

__all__ = ["Entry", "RequestFailure", "RequestProposal", "StepRunner", "told_tools"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What pre-step let in: `messages` in order; `snapshot_id` names the proposed facts among them.

    `system_text` is that of the assembly, rendered once for all attempts.
    """

    turn: int
    step: int
    assembly: Assembly
    system_text: str
    messages: Sequence[Message]
    snapshot_id: str | None
    context: AssembleContext
    starts_series: bool = False


@dataclass(frozen=True, slots=True)
class RequestProposal:
    """The payload of `agent/request`: its listeners answer with the call configuration of this attempt."""

    session: Session
    turn: int
    step: int
    token: CancelToken


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """The payload of `agent/request-error`: a listener answers "retry" to own the recovery."""

    session: Session
    turn: int
    step: int
    call: PreparedCall
    outcome: Finished
    token: CancelToken


@dataclass(slots=True)
class StepRunner:
    """Runs the steps of one loop instance; remembers what one instance must remember about its requests."""

    services: Services
    session: Session
    inbox: Inbox
    counter: FrameCounter
    scope: Scope
    _dispatched: bool = False
    _content_generation: int | None = None
    _retries: dict[tuple[int, int], int] = field(default_factory=dict)

    async def run(self, entry: Entry, token: CancelToken) -> str | None:
        """`completed`, `max-tokens`, or None when tool results need another request.

        Raises Cancelled after a settled stop, and LlmFailure when the attempts are used up.
        """
        first = True
        while True:
            call = await self._prepare(entry, token)
            self._admit(entry, call, first)
            first = False
            outcome = await self._dispatch(entry, call, token)
            if outcome.failure is None:
                break
            await self._recover(entry, call, outcome, token)
        if outcome.finish == "max-tokens":
            return "max-tokens"
        if not outcome.calls:
            return "completed"
        concluded = await self._answer_calls(entry, outcome.calls, token)
        return "completed" if concluded else None

    async def _answer_calls(self, entry: Entry, calls: Sequence[Any], token: CancelToken) -> bool:
        services = self.services
        pipeline = Pipeline(
            services.tools, services.hooks, services.journal.secure, services.approve, self.scope
        )
        pool = ToolPool(
            session=self.session,
            pipeline=pipeline,
            turn=entry.turn,
            step=entry.step,
            token=token,
            push=lambda message: self.inbox.insert(message, "next-step"),
            limit=services.parallel_calls,
        )
        return await pool.run(calls)

    # -- before anything is admitted ---------------------------------------------------------

    async def _prepare(self, entry: Entry, token: CancelToken) -> PreparedCall:
        proposal = RequestProposal(self.session, entry.turn, entry.step, token)
        config = await self.services.hooks.waterfall(
            "agent/request", proposal, self._seed_config, scope=self.scope
        )
        token.check()
        if not config.provider or not config.model:
            raise AgentError("No model is chosen.", code="NO_MODEL")
        return self.services.llm.prepare_call(config)

    def _seed_config(self) -> CallConfig:
        defaults, header = self.services.defaults, self.session.request_header()
        if header is None:
            return defaults
        config = dict(header["header"]["config"])
        for filled in header["header"].get("adapterDefaults", {}):
            config.pop(filled, None)
        last = CallConfig.from_wire(config)
        if self._dispatched:
            return last
        # A new life starts from the settings of now; only an effort that somebody chose for this very
        # model is still meant (spec agent-loop 2.4).
        same = (last.provider, last.model) == (defaults.provider, defaults.model)
        if same and defaults.reasoning_effort is None:
            return replace(defaults, reasoning_effort=last.reasoning_effort)
        return defaults

    # -- admission: synchronous, so that no cancel can leave it half done ------------------------

    def _admit(self, entry: Entry, call: PreparedCall, first: bool) -> None:
        # Before anything is written: a provider of facts may fail.
        batch = self._refreshed(entry, first)
        tools = entry.assembly.tools
        told = told_tools(self.session)
        generation = self.session.surface.content_generation
        series = first and entry.starts_series
        if self._content_generation is not None and generation != self._content_generation:
            series = True
        if told is not None and told != tools and call.tool_update == "none":
            series = True
        admit_system(
            self.session,
            entry.system_text,
            turn=entry.turn,
            step=entry.step,
            in_history=call.system_prompt_update == "in-history",
            starts_series=series,
        )
        for message in batch:
            self.session.append("user/message", message, surface_op="append")
        changed = self.session.surface.content_generation
        if self._content_generation is not None and changed != self._content_generation:
            series = True
        header = self._record_header(call, tools, series)
        if header is not None and told is not None and call.tool_update == "in-history":
            announce_tools(self.session, told, tools, header, turn=entry.turn, step=entry.step)
        self._record_context(call)
        self._content_generation = changed
        if first:
            services = self.services
            # (session, turn, step, context): what the assembly promised to remember is written now, beside
            # the input that it was made for, and before the request is sent.
            services.hooks.emit(
                "agent/admitted", self.session, entry.turn, entry.step, entry.context, scope=self.scope
            )

    def _refreshed(self, entry: Entry, first: bool) -> list[Message]:
        """The accepted batch with its runtime facts read again now; on a retry only facts that changed.

        Facts that pre-step left out stay out, unless required ones would be missing (spec agent-loop 4.5).
        """
        renewed = self.services.prompt.refresh(entry.assembly, entry.context)
        facts = renewed.facts
        snapshot = propose_snapshot(self.session, facts)
        entered = next((m for m in entry.messages if m["id"] == entry.snapshot_id), None)
        left_out = entry.snapshot_id is not None and entered is None
        if left_out and not lacks(self.session, [p for p in facts if p.name in renewed.required]):
            snapshot = None
        if not first:
            return [snapshot] if snapshot is not None else []
        batch: list[Message] = []
        for message in entry.messages:
            if message is not entered:
                batch.append(message)
            elif snapshot is not None:
                same = message_text(message) == message_text(snapshot)
                batch.append(message if same else snapshot)
        if snapshot is not None and entered is None:
            batch.append(snapshot)
        return batch

    def _record_header(self, call: PreparedCall, tools: Sequence[Any], series: bool) -> Event | None:
        """The new header's event; None where the last one still says it."""
        header: dict[str, Any] = {"config": call.config.to_wire()}
        if call.adapter_defaults:
            header["adapterDefaults"] = {name: True for name in sorted(call.adapter_defaults)}
        if tools:
            header["tools"] = list(tools)
        last = self.session.request_header()
        if last is None:
            reason = "initial"
        elif not self._dispatched:
            reason = "resume"
        elif last["header"] != freeze(header):  # a logged list is a tuple
            reason = "change"
        elif series:
            reason = "series"
        else:
            return None
        data: dict[str, Any] = {"header": header, "reason": reason}
        if series and reason != "series":
            data["startsSeries"] = True
        return self.session.append("request/header", data)

    def _record_context(self, call: PreparedCall) -> None:
        context: dict[str, Any] = {"provider": call.config.provider, "model": call.config.model}
        if call.context_window is not None:
            context["contextWindow"] = call.context_window
        if call.system_prompt_update == "in-history":
            context["systemPromptUpdate"] = call.system_prompt_update
        if self.session.request_context() != context:
            self.session.append("request/context", context)

    # -- the request -----------------------------------------------------------------------------

    async def _dispatch(self, entry: Entry, call: PreparedCall, token: CancelToken) -> Finished:
        self._dispatched = True
        if has_pictures(entry.messages) and "image" not in call.modalities:
            self.services.hooks.emit("agent/pictures-unseen", self.session.id)
        assembled = await self._assembled(entry, call, token)
        messages = self.session.derive() if assembled is None else assembled.data["messages"]
        pictures = await self.services.pictures(wanted_pictures(messages, call.info))
        # Nothing may reach a model that a crash could make us forget.
        await self.services.journal.secure(self.session.id)
        token.check()
        request = LlmRequest(
            config=call.config,
            messages=self.session.derive() if assembled is None else messages,
            tools=entry.assembly.tools,
            session_id=self.session.id,
            images=pictures,
        )
        check_request(self.session, request, self.services.journal.sessions.projections)
        return await run_attempt(
            self.services,
            self.session,
            call,
            request,
            self.counter,
            turn=entry.turn,
            step=entry.step,
            token=token,
            scope=self.scope,
        )

    async def _assembled(self, entry: Entry, call: PreparedCall, token: CancelToken) -> Event | None:
        """What is sent instead of the history, logged; None when that is sent as it is."""
        payload = RequestAssembly(
            session=self.session,
            turn=entry.turn,
            step=entry.step,
            context=entry.context,
            call=call,
            messages=self.session.derive(),
            tools=entry.assembly.tools,
            config=call.config,
            token=token,
        )
        return await assemble_request(self.services.hooks, payload, self.scope)

    async def _recover(self, entry: Entry, call: PreparedCall, outcome: Finished, token: CancelToken) -> None:
        """Return to try again; raise LlmFailure to give up, Cancelled when a stop came first."""
        payload = RequestFailure(self.session, entry.turn, entry.step, call, outcome, token)
        decision = await self.services.hooks.waterfall(
            "agent/request-error", payload, lambda: self._retry_transient(payload), scope=self.scope
        )
        token.check()
        if decision != "retry":
            failure = outcome.failure
            assert failure is not None  # only failed outcomes come here
            raise LlmFailure(failure)

    async def _retry_transient(self, failed: RequestFailure) -> str | None:
        """Wait and try again what time may heal (spec agent-loop 5.6)."""
        failure, policy = failed.outcome.failure, failed.call.retry_policy
        assert failure is not None
        where = (failed.turn, failed.step)
        retry = self._retries.get(where, 0) + 1
        delay = policy.delay_ms(retry, failure, self.services.rng)
        if delay is None:
            return None
        self._retries = {where: retry}
        chain = {"retryId": new_id("retry"), "turn": failed.turn, "step": failed.step}
        self.session.append(
            "llm/retry",
            chain
            | {
                "provider": failed.call.config.provider,
                "mode": "normal",
                "policyKey": failed.call.config.provider,
                "retry": retry,
                "maxRetries": policy.max_retries,
                "delayMs": delay,
                "failure": failure.to_wire(),
            },
        )
        self.services.hooks.emit("agent/retrying", self.session.id, failure, delay, scope=self.scope)
        await failed.token.race(asyncio.sleep(delay / 1000))
        self.session.append("llm/retry-started", chain | {"retry": retry})
        return "retry"


def told_tools(session: Session) -> tuple[Any, ...] | None:
    """The tools of the last request, None before the first."""
    header = session.request_header()
    return tuple(header["header"].get("tools", ())) if header is not None else None
