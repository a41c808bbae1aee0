"""A preset's call parameters: asked for at each request, and left out where a server refuses one.

A preset that was made for one model must not keep another from answering. A parameter is
left out only when it was explicitly refused, before any output, each at most once a step;
the preset itself stays as it is (seed 000, section 3; spec agent-loop 5.4). What was asked
for, what was sent and what was left out stands in the log, as a `plugin:` record.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from engine.agent import RequestFailure, RequestProposal
from engine.hooks import Hooks, Next, Scope
from engine.llm import CallConfig, Chunk, Llm, LlmFailure, LlmRequest, rejected_parameter
from engine.session import Event, Session, freeze
from engine.tavern.profile import CallParameters

__all__ = ["RECORD", "PresetParameters"]

log = structlog.get_logger(__name__)

RECORD = "plugin:tavern/parameters"
"""`{turn, step, provider, model, requested, effective, omitted, filled}`, by recorded names.

Written when a request is sent with other parameters than the preset asks for, and again when that
changes. `omitted` gives the reason for each that is missing: `refused` by the server in this step, or
`unsupported`, as we knew. `filled` are those that the preset says nothing of.
"""

_SILENT = frozenset({"usage", "finish"})
_ROUTE = ("provider", "model")


@dataclass(frozen=True, slots=True)
class _Key:
    """For what a refusal holds: one step on one route, and what was asked for in it."""

    turn: int
    step: int
    provider: str
    model: str
    requested: CallParameters


@dataclass(slots=True)
class _Asked:
    """What one step asks for, and what was left out of it and why."""

    session: Session
    key: _Key
    omitted: dict[str, str] = field(default_factory=dict)


class PresetParameters:
    """Answers `agent/request` and `agent/request-error` for every session that has a preset.

    What a preset leaves open is as in `defaults`.
    """

    def __init__(self, hooks: Hooks, llm: Llm, defaults: CallConfig, owner: Scope) -> None:
        self._llm = llm
        self._defaults = defaults
        self._wanted: dict[str, CallParameters] = {}
        self._asked: dict[str, _Asked] = {}
        self._recorded: dict[str, Any] = {}
        hooks.on("agent/request", self._request, owner=owner)
        hooks.on("agent/request-error", self._refused, owner=owner)
        hooks.on("llm/stream", self._sent, owner=owner)
        hooks.on("agent/disposed", self._disposed, owner=owner)

    def keep(self, session_id: str, parameters: CallParameters) -> None:
        """The parameters of the rendering that this step's request is made of."""
        self._wanted[session_id] = parameters

    def proposed(self, wanted: CallParameters) -> CallConfig:
        """What a first request would ask of the model with a preset that wants this."""
        return self._wished(self._defaults, wanted)

    async def _request(self, proposal: RequestProposal, proceed: Next) -> CallConfig:
        config: CallConfig = await proceed()
        session = proposal.session
        wanted = self._wanted.get(session.id)
        if wanted is None:
            return config
        key = _Key(proposal.turn, proposal.step, config.provider, config.model, wanted)
        asked = self._asked.get(session.id)
        if asked is None or asked.key != key:
            asked = self._asked[session.id] = _Asked(session, key)
        return self._preflighted(self._wished(config, wanted).without(*asked.omitted), asked)

    def _wished(self, config: CallConfig, wanted: CallParameters) -> CallConfig:
        # Not from `config`: that is the last request's, with what another preset may have asked for.
        base = self._defaults
        return replace(
            config,
            temperature=base.temperature if wanted.temperature is None else wanted.temperature,
            max_tokens=base.max_tokens if wanted.max_tokens is None else wanted.max_tokens,
            reasoning_effort=wanted.reasoning_effort or base.reasoning_effort,
            stop=wanted.stop or base.stop,
        )

    def _preflighted(self, config: CallConfig, asked: _Asked) -> CallConfig:
        """Without an effort that the model is known not to have; its own default then stands."""
        try:
            self._llm.resolve_call_config(config)
        except LlmFailure as error:
            if rejected_parameter(error.failure, ("reasoningEffort",)) is None:
                raise
            asked.omitted["reasoningEffort"] = "unsupported"
            return config.without("reasoningEffort")
        return config

    async def _refused(self, failed: RequestFailure, proceed: Next) -> str | None:
        failure, asked = failed.outcome.failure, self._asked.get(failed.session.id)
        mine = asked is not None and (asked.key.turn, asked.key.step) == (failed.turn, failed.step)
        if asked is not None and mine and failure is not None and not failed.token.cancelled:
            # At most one retry for each of the four parameters.
            owned = _wire(asked.key.requested).keys() - asked.omitted.keys()
            refused = rejected_parameter(failure, owned)
            if refused is not None and not _said_anything(failed.outcome.event):
                asked.omitted[refused] = "refused"
                log.info("preset.parameter_left_out", session=failed.session.id, parameter=refused)
                return "retry"
        decision: str | None = await proceed()
        return decision

    # -- what the log is told ------------------------------------------------------------------------

    def _sent(self, request: LlmRequest, proceed: Callable[[], AsyncIterator[Chunk]]) -> AsyncIterator[Chunk]:
        """Record what really went out, which is only known here."""
        asked = self._asked.get(request.session_id or "")
        if asked is not None and request.purpose is None:
            self._record(asked, request.config.to_wire())
        return proceed()

    def _record(self, asked: _Asked, sent: Mapping[str, Any]) -> None:
        session, requested = asked.session, _wire(asked.key.requested)
        effective = {name: value for name, value in sent.items() if name not in _ROUTE}
        facts: Any = freeze(
            {
                **{name: sent[name] for name in _ROUTE},
                "requested": requested,
                "effective": effective,
                "omitted": {
                    name: asked.omitted.get(name, "unsupported")
                    for name in requested
                    if name not in effective
                },
                "filled": sorted(effective.keys() - requested.keys()),
            }
        )
        before = self._last_record(session)
        if not _differs(facts) and not _differs(before):
            return
        if facts == before:
            return
        self._recorded[session.id] = facts
        where = {"turn": asked.key.turn, "step": asked.key.step}
        session.append(RECORD, {**where, **facts}, ignorable=True)

    def _last_record(self, session: Session) -> Any:
        """What the log says by now, without where it says it; nothing before the first record."""
        if session.id not in self._recorded:
            data: Mapping[str, Any] = next(
                (event.data for event in reversed(session.events()) if event.type == RECORD), {}
            )
            facts = {name: value for name, value in data.items() if name not in ("turn", "step")}
            self._recorded[session.id] = freeze(facts)
        return self._recorded[session.id]

    def _disposed(self, session_id: str) -> None:
        for states in (self._wanted, self._asked, self._recorded):
            states.pop(session_id, None)


def _wire(parameters: CallParameters) -> dict[str, Any]:
    """By recorded names, what the preset itself asks for; what the host set is not ours to drop."""
    values: dict[str, Any] = {
        "temperature": parameters.temperature,
        "maxTokens": parameters.max_tokens,
        "reasoningEffort": parameters.reasoning_effort,
        "stop": parameters.stop,
    }
    return {name: _listed(value) for name, value in values.items() if value is not None and value != ()}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _differs(facts: Mapping[str, Any]) -> bool:
    """Whether what was sent is not what was asked for."""
    requested, effective = facts.get("requested", {}), facts.get("effective", {})
    return any(effective.get(name) != value for name, value in requested.items())


def _said_anything(attempt: Event) -> bool:
    """Any chunk but usage and finish is output, even the start of a block."""
    return any(
        record["type"] != "chunk" or record["chunk"]["type"] not in _SILENT
        for record in attempt.data["stream"]
    )
