"""Compaction in the loop: when a story gets too long for its model, its oldest part is summed up.

Before a step, once the history presses on the window; after a request that a provider refused as
too long; and when a person asks for it (spec agent-loop 6, session 7.5; decision 11). A summary
that fails costs nothing but the attempt: the turn goes on with what there was.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from engine.agent.agent import Agent
from engine.agent.assembling import last_assembly
from engine.agent.services import Services
from engine.agent.standing import CONTRIBUTION_KIND
from engine.agent.step import RequestFailure
from engine.agent.turn import Decision, PreStep
from engine.cancel import Cancelled, CancelToken
from engine.codec import dumps
from engine.errors import AgentError, EngineError, SessionError
from engine.hooks import Next, Scope
from engine.llm import CallConfig, Chunk, Failure, LlmFailure, LlmRequest, has_pictures
from engine.session import (
    BlockAssembler,
    Calibration,
    Compacted,
    Event,
    Message,
    Session,
    Summary,
    compact,
    estimate_tokens,
    is_pressed,
    message_tokens,
    prune,
    retained_tokens,
    select,
)

__all__ = ["PURPOSE", "Compactor"]

log = structlog.get_logger(__name__)

PURPOSE: Final = "compaction"
"""What a summary's request says that it is for."""

TOO_LONG: Final = "CONTEXT_WINDOW_EXCEEDED"

_TRIES: Final = 3
"""A summary's own request may be too long as well; a quarter of the history is the least that is tried."""

_NOTES_SHARE, _NOTES_LIMIT = 8, 8_192
"""An eighth of the window, and no more than this, is what notes may take: reasoning counts too."""


@dataclass(frozen=True, slots=True)
class _Route:
    """Where the session's last request went, and how that model counts."""

    config: CallConfig
    window: int | None
    factor: float

    @property
    def reserved(self) -> int:
        """What an answer may take. A preset made for a larger model must not leave nothing for the story."""
        return min(self.config.max_tokens or 0, (self.window or 0) // 2)

    def price(self, message: Message) -> int:
        return round(message_tokens(message) * self.factor)

    def told(self, session: Session) -> int:
        """What the story takes by itself, without the system prompt."""
        return sum(self.price(message) for message in session.derive() if message["role"] != "system")

    def is_pressed(self, estimated: int) -> bool:
        assert self.window is not None  # asked only where it is known
        tokens = round(estimated * self.factor)
        return is_pressed(tokens, context_window=self.window, reserved=self.reserved)

    def for_summary(self) -> CallConfig:
        """The story's own configuration, without what is meant for its answers.

        Stop strings would cut the notes, and the length of an answer is not theirs. Where the story
        asks for no length, its server may not take one, or knows better.
        """
        config = self.config.without("stop")
        if config.max_tokens is None:
            return config
        window = self.window or _NOTES_LIMIT
        return replace(config, max_tokens=min(window // _NOTES_SHARE, _NOTES_LIMIT))


class _Meter:
    """What the history of one session is estimated at; each message is counted once.

    It is asked twice a turn: only what came since is looked at, unless something was replaced.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, int]] = {}
        """By identity, which a message keeps for as long as it says the same."""
        self._generation = -1
        self._counted = self._tokens = 0
        self._added = (-1, 0)

    def request(self, session: Session) -> int:
        """What a request of the session takes now: its history, and what whoever put the last one together
        added to that, which the next one will hold again."""
        assembled = last_assembly(session, settled=True)
        if assembled is None:
            return self.tokens(session)
        if self._added[0] != assembled.seq:
            self._added = (
                assembled.seq,
                sum(map(message_tokens, filter(_is_added, assembled.data["messages"]))),
            )
        return self.tokens(session) + self._added[1]

    def tokens(self, session: Session) -> int:
        history, generation = session.derive(), session.surface.content_generation
        before: dict[int, tuple[Message, int]] = {}
        if generation != self._generation:
            before, self._known = self._known, {}
            self._generation, self._counted, self._tokens = generation, 0, 0
        for message in history[self._counted :]:
            key = id(message)
            counted = before[key] if key in before else (message, message_tokens(message))
            self._known[key] = counted
            self._tokens += counted[1]
        self._counted = len(history)
        return self._tokens + _tools_tokens(session)


class Compactor:
    """Answers `agent/pre-step` and `agent/request-error`, and compacts by hand.

    What providers report of their input corrects the estimates, for each model.
    """

    def __init__(self, services: Services, owner: Scope) -> None:
        self._services = services
        self._calibration = Calibration()
        self._meters: dict[str, _Meter] = {}
        self._overflows: dict[str, tuple[int, int]] = {}
        self._warned: set[tuple[str, str]] = set()
        services.hooks.on("agent/created", self._created, owner=owner)
        services.hooks.on("agent/pre-step", self._before_step, owner=owner)
        services.hooks.on("agent/request-error", self._refused, owner=owner)
        services.hooks.on("agent/disposed", self._disposed, owner=owner)

    async def compact_now(self, agent: Agent) -> Compacted | None:
        """Sum up all but the newest messages, durably. None when there is nothing to sum up yet.

        What comes in meanwhile is answered afterwards. Raises AgentError AGENT_RUNNING unless the agent
        is idle, COMPACTION_STOPPED when somebody stopped it, AGENT_DISPOSED when it was closed meanwhile,
        and SessionError as `compact` does.
        """
        return await agent.run_maintenance(lambda token: self._manual(agent.session, token))

    async def _manual(self, session: Session, token: CancelToken) -> Compacted | None:
        route = self._route(session)
        if route is None:
            return None
        # Whoever asks wants it shorter than it is, however much the model could still read.
        keep = retained_tokens(context_window=route.told(session))
        if route.window is not None:
            keep = min(keep, retained_tokens(context_window=route.window, reserved=route.reserved))
        try:
            return await self._sum_up(
                session, route, keep, token, flush=lambda: self._services.journal.secure(session.id)
            )
        except Cancelled:
            if token.cause is not None and token.cause.kind != "disposed":
                raise AgentError("The summary was stopped.", code="COMPACTION_STOPPED") from None
            raise AgentError("This session is being closed.", code="AGENT_DISPOSED") from None

    # -- before a step -------------------------------------------------------------------------------

    async def _before_step(self, payload: PreStep, proceed: Next) -> Decision:
        decision: Decision = await proceed()
        payload.token.check()
        # A first step without a message makes no request.
        if decision.kind == "enter" and (decision.messages or payload.step > 1):
            await self._relieve(payload.session, decision.messages, payload.token)
        return decision

    async def _relieve(self, session: Session, coming: Sequence[Message], token: CancelToken) -> None:
        route = self._route(session)
        if route is None:
            return
        if route.window is None:
            self._warn(route.config)
            return
        entering = sum(map(message_tokens, coming))
        if not route.is_pressed(self._estimate(session) + entering):
            return
        try:
            if prune(session, price=route.price) and not route.is_pressed(self._estimate(session) + entering):
                return
            keep = retained_tokens(context_window=route.window, reserved=route.reserved)
            await self._sum_up(session, route, keep, token)
        except EngineError as error:
            log.warning("compaction.failed", session=session.id, code=error.error_code, reason=str(error))

    def _warn(self, config: CallConfig) -> None:
        model = (config.provider, config.model)
        if model not in self._warned:
            self._warned.add(model)
            log.warning("compaction.window_unknown", provider=config.provider, model=config.model)

    # -- after a refused request ---------------------------------------------------------------------

    async def _refused(self, failed: RequestFailure, proceed: Next) -> str | None:
        failure, step = failed.outcome.failure, (failed.turn, failed.step)
        too_long = failure is not None and failure.code == TOO_LONG and not failed.token.cancelled
        if too_long and self._overflows.get(failed.session.id) != step:
            self._overflows[failed.session.id] = step
            if await self._shrink(failed.session, failed.token):
                return "retry"
        decision: str | None = await proceed()
        return decision

    async def _shrink(self, session: Session, token: CancelToken) -> bool:
        """Whether the history got shorter at all."""
        route = self._route(session)
        pruned = False
        try:
            if route is not None:
                pruned = bool(prune(session, price=route.price))
                return await self._sum_up(session, route, 0, token) is not None or pruned
        except EngineError as error:
            log.warning("compaction.failed", session=session.id, code=error.error_code, reason=str(error))
        return pruned

    # -- the summary ---------------------------------------------------------------------------------

    async def _sum_up(
        self,
        session: Session,
        route: _Route,
        keep: int,
        token: CancelToken,
        *,
        flush: Callable[[], Awaitable[None]] | None = None,
    ) -> Compacted | None:
        """Compact all but the newest `keep` tokens; less where that is too much for one request.

        None when there is nothing to sum up. Raises Cancelled, and SessionError as `compact` does.
        """

        async def summarise(messages: Sequence[Message]) -> Summary:
            return await self._summary(session, route, messages, token)

        span = select(session, keep_tokens=keep, price=route.price)
        for left in reversed(range(_TRIES)):
            if span is None:
                break
            try:
                return await compact(session, span, summarise, flush=flush, price=route.price)
            except SessionError as error:
                keep += span.tokens // 2
                shorter = select(session, keep_tokens=keep, price=route.price)
                if not left or not _was_too_long(error) or shorter is None or shorter.seqs == span.seqs:
                    raise
                span = shorter
        return None

    async def _summary(
        self, session: Session, route: _Route, messages: Sequence[Message], token: CancelToken
    ) -> Summary:
        call = self._services.llm.prepare_call(route.for_summary())
        request = LlmRequest(
            config=call.config,
            messages=tuple(messages),
            tools=_tools(session),  # as the story's requests: the provider's cache holds
            session_id=session.id,
            purpose=PURPOSE,
        )
        blocks = await token.race(_read(call.stream(request, token)))
        token.check()
        kind = blocks.finish["kind"]
        if kind in ("error", "aborted"):
            raise LlmFailure(Failure.from_wire(blocks.finish.get("failure") or {}))
        content = blocks.blocks()
        if any(block["type"] == "tool-call" for block in content):
            raise AgentError("It called a tool instead.", code="SUMMARY_NOT_TEXT")
        return Summary(
            text="".join(block["text"] for block in content if block["type"] == "text"),
            provider=call.config.provider,
            model=call.config.model,
            usage=blocks.usage,
            max_tokens=call.config.max_tokens,
            truncated=kind == "max-tokens",
        )

    # -- what is known of a session ------------------------------------------------------------------

    def _route(self, session: Session) -> _Route | None:
        """None before the first request, or when nobody serves that provider any more."""
        header = session.request_header()
        if header is None:
            return None
        config = CallConfig.from_wire(header["header"]["config"])
        try:
            window = self._services.llm.model_info(config.provider, config.model).context_window
        except LlmFailure:
            return None
        return _Route(config, window, self._calibration.factor(config.provider, config.model))

    def _estimate(self, session: Session) -> int:
        return self._meters.setdefault(session.id, _Meter()).request(session)

    def _created(self, agent: Agent, source: str, token: CancelToken) -> None:
        session = agent.session
        session.observe(lambda event: self._follow(session, event))

    def _follow(self, session: Session, event: Event) -> None:
        """Learn from an answer: while it was written, nothing but itself came to the history."""
        header = session.request_header()
        if event.type != "assistant/message" or "usage" not in event.data or header is None:
            return
        # What a picture takes differs from model to model far more than words do: it teaches nothing.
        if has_pictures(session.derive()):
            return
        config = header["header"]["config"]
        said = session.derive_event(event.seq)
        sent = self._estimate(session) - (0 if said is None else message_tokens(said))
        usage = event.data["usage"]
        reported = usage.get("inputTokens", 0) + usage.get("cachedInputTokens", 0)
        self._calibration.observe(config["provider"], config["model"], estimated=sent, reported=reported)

    def _disposed(self, session_id: str) -> None:
        self._meters.pop(session_id, None)
        self._overflows.pop(session_id, None)


async def _read(stream: AsyncGenerator[Chunk, None]) -> BlockAssembler:
    blocks = BlockAssembler()
    async with aclosing(stream):
        async for chunk in stream:
            blocks.add(chunk)
    return blocks


def _is_added(message: Message) -> bool:
    """Whether it stands in a request alone, and in no history."""
    source = message["source"]
    return bool(source.get("kind") == CONTRIBUTION_KIND and source.get("form") == "projection")


def _was_too_long(error: SessionError) -> bool:
    cause = error.__cause__
    return isinstance(cause, LlmFailure) and cause.failure.code == TOO_LONG


def _tools(session: Session) -> tuple[Any, ...]:
    """What the model was last told of tools, as the log holds it."""
    header = session.request_header()
    return tuple(header["header"].get("tools", ())) if header is not None else ()


def _tools_tokens(session: Session) -> int:
    tools = _tools(session)
    return estimate_tokens(dumps(tools).decode()) if tools else 0
