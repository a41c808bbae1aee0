"""A preset's call parameters: asked for at each request, and left out where a server refuses one.

A preset that was made for one model must not keep another from answering. A parameter is
left out only when it was explicitly refused, before any output, each at most once a step;
the preset itself stays as it is (seed 000, section 3; spec agent-loop 5.4).
"""

from __future__ import annotations

from dataclasses import replace

import structlog

from engine.agent import RequestFailure, RequestProposal
from engine.hooks import Hooks, Next, Scope
from engine.llm import CallConfig, Llm, LlmFailure, rejected_parameter
from engine.session import Event
from engine.tavern.profile import CallParameters

__all__ = ["PresetParameters"]

log = structlog.get_logger(__name__)

_SILENT = frozenset({"usage", "finish"})


class PresetParameters:
    """Answers `agent/request` and `agent/request-error` for every session that has a preset.

    What a preset leaves open is as in `defaults`.
    """

    def __init__(self, hooks: Hooks, llm: Llm, defaults: CallConfig, owner: Scope) -> None:
        self._llm = llm
        self._defaults = defaults
        self._wanted: dict[str, CallParameters] = {}
        self._omitted: dict[str, tuple[tuple[int, int], set[str]]] = {}
        hooks.on("agent/request", self._request, owner=owner)
        hooks.on("agent/request-error", self._refused, owner=owner)
        hooks.on("agent/disposed", self._disposed, owner=owner)

    def keep(self, session_id: str, parameters: CallParameters) -> None:
        """The parameters of the rendering that this step's request is made of."""
        self._wanted[session_id] = parameters

    async def _request(self, proposal: RequestProposal, proceed: Next) -> CallConfig:
        config: CallConfig = await proceed()
        wanted = self._wanted.get(proposal.session.id)
        if wanted is None:
            return config
        step = (proposal.turn, proposal.step)
        return self._preflighted(self._asked(config, wanted, self._left_out(proposal.session.id, step)))

    def _asked(self, config: CallConfig, wanted: CallParameters, omitted: set[str]) -> CallConfig:
        # Not from `config`: that is the last request's, with what another preset may have asked for.
        base = self._defaults
        asked = replace(
            config,
            temperature=base.temperature if wanted.temperature is None else wanted.temperature,
            max_tokens=base.max_tokens if wanted.max_tokens is None else wanted.max_tokens,
            reasoning_effort=wanted.reasoning_effort or base.reasoning_effort,
            stop=wanted.stop or base.stop,
        )
        return asked.without(*omitted)

    def _preflighted(self, config: CallConfig) -> CallConfig:
        """Without an effort that the model is known not to have; its own default then stands."""
        try:
            self._llm.resolve_call_config(config)
        except LlmFailure as error:
            if rejected_parameter(error.failure, ("reasoningEffort",)) is None:
                raise
            return config.without("reasoningEffort")
        return config

    async def _refused(self, failed: RequestFailure, proceed: Next) -> str | None:
        session_id, step = failed.session.id, (failed.turn, failed.step)
        failure = failed.outcome.failure
        if failure is not None and not failed.token.cancelled and not _said_anything(failed.outcome.event):
            omitted = self._left_out(session_id, step)
            owned = _owned(self._wanted.get(session_id, CallParameters())) - omitted
            refused = rejected_parameter(failure, owned)
            if refused is not None:
                omitted.add(refused)
                log.info("preset.parameter_left_out", session=session_id, parameter=refused)
                return "retry"
        decision: str | None = await proceed()
        return decision

    def _left_out(self, session_id: str, step: tuple[int, int]) -> set[str]:
        """What was refused in this step; there are four parameters, so at most four retries."""
        known = self._omitted.get(session_id)
        if known is None or known[0] != step:
            known = self._omitted[session_id] = (step, set())
        return known[1]

    def _disposed(self, session_id: str) -> None:
        self._wanted.pop(session_id, None)
        self._omitted.pop(session_id, None)


def _owned(parameters: CallParameters) -> set[str]:
    """The recorded names of what the preset itself asks for; what the host set is not ours to drop."""
    values = {
        "temperature": parameters.temperature,
        "maxTokens": parameters.max_tokens,
        "reasoningEffort": parameters.reasoning_effort,
        "stop": parameters.stop,
    }
    return {name for name, value in values.items() if value is not None and value != ()}


def _said_anything(attempt: Event) -> bool:
    """Any chunk but usage and finish is output, even the start of a block."""
    return any(
        record["type"] != "chunk" or record["chunk"]["type"] not in _SILENT
        for record in attempt.data["stream"]
    )
