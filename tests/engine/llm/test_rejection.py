"""Which failures say that a parameter is at fault."""

from __future__ import annotations

import pytest

from engine.llm import CallConfig, Failure, rejected_parameter

ALL = ("temperature", "maxTokens", "reasoningEffort", "stop")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        # OpenAI
        ("Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1)"
         " value is supported.", "temperature"),
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use"
         " 'max_completion_tokens' instead.", "maxTokens"),
        ("max_tokens is too large: 50000. This model supports at most 16384 completion tokens", "maxTokens"),
        ("Unsupported parameter: 'stop' is not supported with this model.", "stop"),
        ("Invalid 'stop': array too long. Expected an array with maximum length 4.", "stop"),
        ("Unrecognized request argument supplied: reasoning_effort", "reasoningEffort"),
        ("Unsupported value: 'reasoning_effort' does not support 'max'", "reasoningEffort"),
        ("Bad value, must be a number. (parameter 'temperature')", "temperature"),
        # Anthropic
        ("temperature: range: 0..1", "temperature"),
        ("`temperature` may only be set to 1 when thinking is enabled: 0.5 is not valid", "temperature"),
        ("temperature: Input should be less than or equal to 1", "temperature"),
        ("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens", "maxTokens"),
        ("stop_sequences: each stop sequence must contain non-whitespace", "stop"),
        ("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", "reasoningEffort"),
        ("thinking: Extra inputs are not permitted", "reasoningEffort"),
        ("output_config.effort: Input should be 'low', 'medium' or 'high'", "reasoningEffort"),
        # DeepSeek, vLLM, llama.cpp, Gemini behind a gateway
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", "maxTokens"),
        ("temperature must be non-negative, got -1.0.", "temperature"),
        ("temperature: Input should be a valid number; stop: Input should be a valid list", "temperature"),
        ("stop: Input should be a valid list; temperature: Input should be a valid number", "stop"),
        ("Unknown parameter: stop", "stop"),
        ("Unable to submit request because maxOutputTokens must be less than 8193", "maxTokens"),
        ("Field 'temperature': type must be number, but is string", "temperature"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("code", ["INVALID_REQUEST", "UNSUPPORTED_PARAMETER", "HTTP_422"])
def test_a_parameter_that_is_named_and_refused(text: str, field: str, code: str) -> None:
    failure = Failure(f"The model server answered with 400 Bad Request: {text}", code, 400)
    assert rejected_parameter(failure, ALL) == field
    # and only if it is one of those asked about
    assert rejected_parameter(failure, [name for name in ALL if name != field]) != field


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The model server answered with 400 Bad Request.",
        "model: claude-nothing is not supported",
        "messages.0: Input should be a valid dictionary",
        "We must stop here: the request is invalid",  # the word, not the parameter
        "The effort of thinking was too large, please stop",
        "Running at temperature 0.7",  # named, and nothing said against it
        "The max_tokens_per_minute limit is invalid",
    ],
)
def test_a_text_that_is_not_sure_refuses_nothing(text: str) -> None:
    assert rejected_parameter(Failure(text, "INVALID_REQUEST", 400), ALL) is None


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("AUTH", 401),
        ("AUTH", 403),
        ("QUOTA", 402),
        ("QUOTA", 400),
        ("RATE_LIMIT", 429),
        ("CONTEXT_WINDOW_EXCEEDED", 400),
        ("UNSUPPORTED_CONTENT", 400),
        ("INVALID_SOMETHING", 413),
        ("HTTP_408", 408),
        ("SERVER", 500),
        ("TIMEOUT", None),
        ("TRANSPORT", None),
        ("ABORTED", None),
        ("UNKNOWN", None),
    ],
)
def test_other_failures_are_never_a_parameters_fault(code: str, status: int | None) -> None:
    assert rejected_parameter(Failure("temperature is not supported", code, status), ALL) is None


@pytest.mark.parametrize(
    ("code", "status"), [("SOMETHING_NEW", 400), ("SOMETHING_NEW", 422), ("HTTP_400", None)]
)
def test_the_status_counts_for_a_code_that_says_nothing(code: str, status: int | None) -> None:
    assert rejected_parameter(Failure("temperature is not supported", code, status), ALL) == "temperature"


def test_our_own_refusal_of_an_effort_needs_no_reading() -> None:
    failure = Failure("m does not support the reasoning effort “max”.", "UNSUPPORTED_REASONING_EFFORT")
    assert rejected_parameter(failure, ALL) == "reasoningEffort"
    assert rejected_parameter(failure, ("temperature",)) is None


def test_what_was_refused_can_be_left_out() -> None:
    full = CallConfig("p", "m", reasoning_effort="low", temperature=0.5, max_tokens=10, stop=("a",))
    assert full.without("temperature", "maxTokens") == CallConfig(
        "p", "m", reasoning_effort="low", stop=("a",)
    )
    assert full.without() == full
    assert full.without(*ALL) == CallConfig("p", "m")
