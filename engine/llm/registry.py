"""The registry of providers, and the one-shot handle that binds a call to one of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

from engine.cancel import CancelToken
from engine.errors import LlmError
from engine.hooks import Disposer
from engine.llm.adapter import Adapter, Chunk, LlmRequest
from engine.llm.boundary import guarded
from engine.llm.config import CallConfig
from engine.llm.failure import Failure, LlmFailure
from engine.llm.model import ModelInfo, SystemPromptUpdate, ToolUpdate
from engine.llm.replay import stripped
from engine.llm.retry import RetryPolicy

__all__ = ["Llm", "PreparedCall"]

# Efforts with which a model does not reason; without a word most hybrid models do not either.
_NO_REASONING = (None, "off", "none")


@dataclass(slots=True)
class _Registration:
    adapter: Adapter
    retry_policy: RetryPolicy
    active: bool = True


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A config as it will be sent; `defaults` and `omitted` are recorded names of its fields."""

    config: CallConfig
    defaults: frozenset[str]
    omitted: frozenset[str]


class PreparedCall:
    """A call that is checked, filled in and bound to one registration. It is dispatched once.

    `adapter_defaults` names the fields of `config` (wire names) that the adapter filled; they
    are taken out before the next call is configured, so that another route fills its own.
    `omitted` names those that were asked for and taken out, because the model is known to refuse them.
    """

    def __init__(self, registration: _Registration, resolved: _Resolved, info: ModelInfo) -> None:
        self.config = resolved.config
        self.info = info
        self.adapter_defaults = resolved.defaults
        self.omitted = resolved.omitted
        self._registration = registration
        self._spent = False

    @property
    def context_window(self) -> int | None:
        return self.info.context_window

    @property
    def modalities(self) -> frozenset[str]:
        return self.info.modalities

    @property
    def system_prompt_update(self) -> SystemPromptUpdate:
        return self.info.system_prompt_update

    @property
    def tool_update(self) -> ToolUpdate:
        return self.info.tool_update

    @property
    def retry_policy(self) -> RetryPolicy:
        return self._registration.retry_policy

    def stream(self, request: LlmRequest, token: CancelToken) -> AsyncGenerator[Chunk, None]:
        """Send it. The stream always ends with one `finish`; failures and stops arrive as that.

        Raises LlmFailure INVALID_PREPARED_CALL at once when the handle was used before, when
        `request.config` is not the prepared one, or when the provider has been removed since.
        """
        if self._spent:
            raise _refused("INVALID_PREPARED_CALL", "This prepared call was sent before.")
        if request.config != self.config:
            raise _refused("INVALID_PREPARED_CALL", "The call was changed after it was prepared.")
        if not self._registration.active:
            raise _refused("INVALID_PREPARED_CALL", "The provider was removed after the call was prepared.")
        self._spent = True
        adapter = self._registration.adapter
        messages = stripped(request.messages, adapter.provider)
        if messages is not request.messages:
            request = replace(request, messages=messages)
        return guarded(adapter.stream(request, token), token, provider=adapter.provider)


class Llm:
    """Providers by name."""

    def __init__(self) -> None:
        self._registrations: dict[str, _Registration] = {}
        self._owned: list[Adapter] = []

    @property
    def providers(self) -> tuple[str, ...]:
        """The registered names, sorted."""
        return tuple(sorted(self._registrations))

    def register(self, adapter: Adapter, *, retry_policy: RetryPolicy | None = None) -> Disposer:
        """Serve `adapter.provider` until the disposer is called; the adapter is closed by `aclose`.

        Raises LlmError DUPLICATE_PROVIDER when the name is taken. Streams that are under way
        when the registration ends go on; calls prepared but not yet sent are refused.
        """
        provider = adapter.provider
        if provider in self._registrations:
            raise LlmError(f"The provider {provider} is registered already.", code="DUPLICATE_PROVIDER")
        registration = _Registration(adapter, retry_policy or RetryPolicy())
        self._registrations[provider] = registration
        self._owned.append(adapter)

        def dispose() -> None:
            registration.active = False
            if self._registrations.get(provider) is registration:
                del self._registrations[provider]

        return dispose

    def model_info(self, provider: str, model: str) -> ModelInfo:
        """What the provider knows of a model. Raises LlmFailure NO_ADAPTER."""
        return self._registration(provider).adapter.model_info(model)

    def resolve_call_config(self, config: CallConfig) -> CallConfig:
        """The config with the adapter's defaults filled in, without what the model is known to refuse.

        A preflight: it binds nothing.

        Raises LlmFailure NO_ADAPTER, or UNSUPPORTED_REASONING_EFFORT for an effort that the
        model does not have: nothing is clamped and no alias is guessed (spec agent-loop 5.4).
        """
        return _resolve(config, self.model_info(config.provider, config.model)).config

    def prepare_call(self, config: CallConfig) -> PreparedCall:
        """Resolve and bind to the adapter that serves the provider now. Raises as `resolve_call_config`."""
        registration = self._registration(config.provider)
        info = registration.adapter.model_info(config.model)
        return PreparedCall(registration, _resolve(config, info), info)

    async def aclose(self) -> None:
        """Close every adapter that was ever registered. Safe to call twice."""
        for registration in self._registrations.values():
            registration.active = False
        self._registrations.clear()
        while self._owned:
            await self._owned.pop().aclose()

    def _registration(self, provider: str) -> _Registration:
        registration = self._registrations.get(provider)
        if registration is None:
            raise _refused("NO_ADAPTER", f"No model provider named “{provider}” is set up.")
        return registration


def _resolve(config: CallConfig, info: ModelInfo) -> _Resolved:
    efforts, effort = info.reasoning_efforts, config.reasoning_effort
    if effort is not None and efforts is not None and effort not in efforts:
        known = ", ".join(efforts) or "none"
        raise _refused(
            "UNSUPPORTED_REASONING_EFFORT",
            f"{config.model} does not support the reasoning effort “{effort}” (it has: {known}).",
        )
    defaults: set[str] = set()
    if effort is None and info.default_effort is not None:
        config = replace(config, reasoning_effort=info.default_effort)
        defaults.add("reasoningEffort")
    if config.max_tokens is None and info.default_max_tokens is not None:
        config = replace(config, max_tokens=info.default_max_tokens)
        defaults.add("maxTokens")
    refused: frozenset[str] = info.dialect.refuses
    if config.reasoning_effort not in _NO_REASONING:
        refused = refused | info.dialect.thinking_refuses
    omitted = refused & config.to_wire().keys()
    return _Resolved(config.without(*omitted), frozenset(defaults), omitted)


def _refused(code: str, message: str) -> LlmFailure:
    return LlmFailure(Failure(message, code))
