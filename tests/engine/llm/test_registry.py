"""Call configs, prepared calls and the registry."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from engine.cancel import CancelToken
from engine.errors import LlmError
from engine.llm import CallConfig, Chunk, Dialect, Llm, LlmFailure, LlmRequest, ModelInfo, RetryPolicy
from engine.llm import chunks as make


class Fake:
    """An adapter with one thinking model; it answers with its own mark."""

    def __init__(self, provider: str = "fake", mark: str = "a") -> None:
        self.provider = provider
        self.mark = mark
        self.requests: list[LlmRequest] = []
        self.closed = 0

    def model_info(self, model: str) -> ModelInfo:
        return ModelInfo(
            self.provider,
            model,
            context_window=8192,
            default_max_tokens=512,
            reasoning_efforts=("low", "high"),
            default_effort="low",
        )

    async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncGenerator[Chunk, None]:
        self.requests.append(request)
        yield make.block_start(0, "text")
        yield make.text_delta(0, self.mark)
        yield make.block_end(0, {"type": "text", "text": self.mark})
        yield make.finished("stop")

    async def aclose(self) -> None:
        self.closed += 1


def registry(*adapters: Fake) -> Llm:
    llm = Llm()
    for adapter in adapters or (Fake(),):
        llm.register(adapter)
    return llm


CONFIG = CallConfig("fake", "m")


def test_the_wire_form_leaves_absent_fields_out_and_comes_back_equal() -> None:
    full = CallConfig("p", "m", reasoning_effort="low", temperature=0.5, max_tokens=10, stop=("a", "b"))
    assert CONFIG.to_wire() == {"provider": "fake", "model": "m"}
    assert full.to_wire() == {
        "provider": "p",
        "model": "m",
        "reasoningEffort": "low",
        "temperature": 0.5,
        "maxTokens": 10,
        "stop": ["a", "b"],
    }
    assert CallConfig.from_wire(full.to_wire()) == full
    assert CallConfig.from_wire(CONFIG.to_wire() | {"unknown": 1}) == CONFIG


def test_an_absent_stop_is_not_an_empty_one() -> None:
    assert replace(CONFIG, stop=()) != CONFIG
    assert CallConfig.from_wire(replace(CONFIG, stop=()).to_wire()) == replace(CONFIG, stop=())


def test_the_adapter_fills_what_the_call_leaves_open_and_says_so() -> None:
    call = registry().prepare_call(CONFIG)
    assert call.config == CallConfig("fake", "m", reasoning_effort="low", max_tokens=512)
    assert call.adapter_defaults == {"reasoningEffort", "maxTokens"}
    assert call.context_window == 8192
    assert call.system_prompt_update == "none"
    assert call.modalities == {"text"}


def test_explicit_values_stick() -> None:
    call = registry().prepare_call(replace(CONFIG, reasoning_effort="high", max_tokens=9))
    assert call.config == CallConfig("fake", "m", reasoning_effort="high", max_tokens=9)
    assert call.adapter_defaults == frozenset()


def test_resolving_gives_the_same_config_and_binds_nothing() -> None:
    llm = registry()
    assert llm.resolve_call_config(CONFIG) == llm.prepare_call(CONFIG).config


@pytest.mark.parametrize("effort", ["max", "LOW", "off", ""])
def test_an_unsupported_effort_is_refused_and_never_bent(effort: str) -> None:
    llm = registry()
    for ask in (llm.resolve_call_config, llm.prepare_call):
        with pytest.raises(LlmFailure) as caught:
            ask(replace(CONFIG, reasoning_effort=effort))
        assert caught.value.error_code == "UNSUPPORTED_REASONING_EFFORT"


def test_a_model_of_unknown_efforts_leaves_the_judgement_to_the_server() -> None:
    class Unknown(Fake):
        def model_info(self, model: str) -> ModelInfo:
            return ModelInfo(self.provider, model)

    config = replace(CONFIG, reasoning_effort="anything")
    assert registry(Unknown()).prepare_call(config).config == config


def test_a_missing_provider_is_named() -> None:
    with pytest.raises(LlmFailure, match="elsewhere") as caught:
        registry().prepare_call(CallConfig("elsewhere", "m"))
    assert caught.value.failure.code == "NO_ADAPTER"


def test_a_provider_name_is_taken_once() -> None:
    llm = registry()
    with pytest.raises(LlmError) as caught:
        llm.register(Fake())
    assert caught.value.error_code == "DUPLICATE_PROVIDER"
    assert llm.providers == ("fake",)


async def test_a_prepared_call_is_sent_once() -> None:
    adapter = Fake()
    call = registry(adapter).prepare_call(CONFIG)
    request = LlmRequest(call.config, ())
    assert [chunk["type"] async for chunk in call.stream(request, CancelToken())][-1] == "finish"
    with pytest.raises(LlmFailure) as caught:
        call.stream(request, CancelToken())
    assert caught.value.failure.code == "INVALID_PREPARED_CALL"
    assert adapter.requests == [request]


async def test_a_changed_config_is_refused_and_does_not_use_the_call_up() -> None:
    call = registry().prepare_call(CONFIG)
    with pytest.raises(LlmFailure) as caught:
        call.stream(LlmRequest(CONFIG, ()), CancelToken())  # without the defaults that were filled in
    assert caught.value.failure.code == "INVALID_PREPARED_CALL"
    assert [chunk async for chunk in call.stream(LlmRequest(call.config, ()), CancelToken())]


async def test_a_call_stays_with_the_adapter_that_it_was_prepared_for() -> None:
    llm = Llm()
    dispose = llm.register(Fake(mark="old"))
    call = llm.prepare_call(CONFIG)
    stream = call.stream(LlmRequest(call.config, ()), CancelToken())
    waiting = llm.prepare_call(CONFIG)
    dispose()
    llm.register(Fake(mark="new"))
    # given a stream under way, when the provider is replaced, then it goes on with the old one
    assert [chunk["text"] async for chunk in stream if chunk["type"] == "text-delta"] == ["old"]
    # and a call that was not yet sent is refused
    with pytest.raises(LlmFailure) as caught:
        waiting.stream(LlmRequest(waiting.config, ()), CancelToken())
    assert caught.value.failure.code == "INVALID_PREPARED_CALL"
    # and an old disposer does not take the new one away
    dispose()
    assert llm.providers == ("fake",)


def test_the_retry_policy_is_the_one_of_the_registration() -> None:
    llm = Llm()
    policy = RetryPolicy(max_retries=1)
    llm.register(Fake(), retry_policy=policy)
    llm.register(Fake("other"))
    assert llm.prepare_call(CONFIG).retry_policy is policy
    assert llm.prepare_call(CallConfig("other", "m")).retry_policy == RetryPolicy()


async def test_closing_closes_every_adapter_once() -> None:
    first, second = Fake(), Fake("second")
    llm = Llm()
    llm.register(first)()  # registered and disposed of
    llm.register(second)
    await llm.aclose()
    await llm.aclose()
    assert (first.closed, second.closed) == (1, 1)
    assert llm.providers == ()


# -- what the model is known to refuse -----------------------------------------------------------


class Picky(Fake):
    """An adapter whose model takes no stop strings, and no temperature while it thinks."""

    def model_info(self, model: str) -> ModelInfo:
        dialect = Dialect(refuses=frozenset({"stop"}), thinking_refuses=frozenset({"temperature"}))
        return ModelInfo(self.provider, model, dialect=dialect)


@pytest.mark.parametrize(
    ("effort", "omitted"),
    [(None, {"stop"}), ("off", {"stop"}), ("none", {"stop"}), ("low", {"stop", "temperature"})],
)
def test_what_the_model_refuses_is_left_out_and_said(effort: str | None, omitted: set[str]) -> None:
    asked = replace(CONFIG, temperature=0.5, stop=("Ana:",), reasoning_effort=effort)
    call = registry(Picky()).prepare_call(asked)
    assert call.omitted == omitted
    assert call.config == asked.without(*omitted)
    assert registry(Picky()).resolve_call_config(asked) == call.config


def test_what_nobody_asked_for_is_not_said_to_be_left_out() -> None:
    call = registry(Picky()).prepare_call(replace(CONFIG, reasoning_effort="low"))
    assert call.omitted == frozenset()


# -- replay state --------------------------------------------------------------------------------


def answered(provider: str) -> dict[str, Any]:
    source = {"kind": "model", "provider": provider, "model": "m", "replayState": {"adapter": "x"}}
    return {"id": f"m_{provider}", "role": "assistant", "content": [], "source": source}


async def test_replay_state_goes_only_to_the_provider_that_made_it() -> None:
    fake = Fake()
    own, foreign = answered("fake"), answered("other")
    call = registry(fake).prepare_call(CONFIG)
    request = LlmRequest(call.config, (own, foreign))
    _ = [chunk async for chunk in call.stream(request, CancelToken())]
    bare = {"kind": "model", "provider": "other", "model": "m"}
    assert list(fake.requests[0].messages) == [own, {**foreign, "source": bare}]
    # what stands in the log is as it was
    assert foreign["source"]["replayState"] == {"adapter": "x"}


async def test_a_request_with_nothing_to_strip_goes_as_it_is() -> None:
    fake = Fake()
    call = registry(fake).prepare_call(CONFIG)
    request = LlmRequest(call.config, (answered("fake"),))
    _ = [chunk async for chunk in call.stream(request, CancelToken())]
    assert fake.requests[0] is request
