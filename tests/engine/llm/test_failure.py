"""The taxonomy of failures, and which of them are worth another try."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import LlmError
from engine.llm import Failure, LlmFailure, RetryPolicy
from engine.llm.failure import classify, error_details, retry_after_ms


@pytest.mark.parametrize(
    ("status", "text", "code"),
    [
        (401, "", "AUTH"),
        (403, "blocked", "AUTH"),
        (402, "", "QUOTA"),
        (402, "Insufficient Balance", "QUOTA"),
        (429, "You exceeded your current quota, please check your plan", "QUOTA"),
        (403, "account credits exhausted", "QUOTA"),
        (400, "Your credit balance is too low to access the Anthropic API", "QUOTA"),
        (500, "image input is not supported - hint: you may need the mmproj", "UNSUPPORTED_CONTENT"),
        (404, "No endpoints found that support image input", "UNSUPPORTED_CONTENT"),
        (400, "This model does not support images", "UNSUPPORTED_CONTENT"),
        (429, "Rate limit reached for requests", "RATE_LIMIT"),
        (400, "This model's maximum context length is 8192 tokens", "CONTEXT_WINDOW_EXCEEDED"),
        (400, "the request exceeds the available context size", "CONTEXT_WINDOW_EXCEEDED"),
        (400, "prompt is too long: 210000 tokens", "CONTEXT_WINDOW_EXCEEDED"),
        (413, "context_length_exceeded", "CONTEXT_WINDOW_EXCEEDED"),
        (400, "temperature must be at most 2", "INVALID_REQUEST"),
        (413, "body too large", "INVALID_REQUEST"),
        (500, "context length", "SERVER"),
        (503, "", "SERVER"),
        (529, "overloaded", "SERVER"),
        (404, "model not found", "HTTP_404"),
        (422, "extra fields", "HTTP_422"),
        (302, "", "HTTP_302"),
    ],
)
def test_codes_for_answers_that_are_not_a_success(status: int, text: str, code: str) -> None:
    assert classify(status, text) == code


@pytest.mark.parametrize(
    ("body", "details"),
    [
        ({"error": {"message": "No.", "type": "t", "code": "c"}}, ("No.", "c t", None)),
        ({"error": "No."}, ("No.", "", None)),
        ({"error": {"message": "No.", "code": 429}}, ("No.", "429", 429)),
        ({"object": "error", "message": "No.", "code": "503"}, ("No.", "503", 503)),
        ({"detail": "No."}, ("No.", "", None)),
        ({"detail": [{"msg": "No."}]}, ("No.", "", None)),
        (
            {"detail": [{"loc": ["body", "temperature"], "msg": "Too high."}, {"loc": [], "msg": "No."}]},
            ("temperature: Too high.; No.", "", None),
        ),
        ({"detail": ["odd", {"msg": 3}]}, ("odd; {'msg': 3}", "", None)),
        ({"error": {"message": "Bad value.", "param": "stop"}}, ("Bad value. (parameter 'stop')", "", None)),
        ({"error": {"message": "stop is bad.", "param": "stop"}}, ("stop is bad.", "", None)),
        ({"error": None}, ("", "", None)),
        ({"error": {"code": True}}, ("", "True", None)),
        ([], ("", "", None)),
        ("No.", ("No.", "", None)),
    ],
)
def test_error_bodies_of_every_shape(body: object, details: tuple[str, str, int | None]) -> None:
    assert error_details(body) == details


NOW = datetime(2025, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "3"}, 3000),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after": "Wed, 01 Jan 2025 12:00:20 GMT"}, 20_000),
        ({"retry-after": "Wed, 01 Jan 2025 11:00:00 GMT"}, 0),
        ({"retry-after": "Wed, 01 Jan 2025 12:00:20 -0000"}, 20_000),  # of no zone: taken as UTC
        ({"retry-after-ms": "250", "retry-after": "9"}, 250),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_how_long_a_server_asks_us_to_wait(headers: dict[str, str], wait: int | None) -> None:
    assert retry_after_ms(headers, NOW) == wait


def test_a_failure_is_recorded_without_empty_fields_and_comes_back_equal() -> None:
    short, full = Failure("No.", "AUTH"), Failure("No.", "RATE_LIMIT", 429, 3000, "req")
    assert short.to_wire() == {"message": "No.", "code": "AUTH"}
    assert Failure.from_wire(short.to_wire()) == short
    assert Failure.from_wire(full.to_wire()) == full
    assert Failure.from_wire({}) == Failure("The model call failed.", "UNKNOWN")


def test_the_exception_carries_code_and_record() -> None:
    failure = Failure("No.", "AUTH", 401)
    error = LlmFailure(failure)
    assert isinstance(error, LlmError)
    assert (error.error_code, str(error), error.failure) == ("AUTH", "No.", failure)


@pytest.mark.parametrize(
    ("n", "least", "most"),
    [(1, 450, 550), (2, 900, 1100), (3, 1800, 2200), (4, 3600, 4400), (5, 7200, 8800)],
)
def test_backoff_doubles_with_a_little_jitter(n: int, least: int, most: int) -> None:
    delays = [RetryPolicy().delay_ms(n, Failure("", "SERVER"), random.Random(seed)) for seed in range(50)]
    assert all(delay is not None and least <= delay <= most for delay in delays)
    assert len(set(delays)) > 10


def test_the_sixth_retry_is_not_made() -> None:
    assert RetryPolicy().delay_ms(6, Failure("", "SERVER"), random.Random(0)) is None


@pytest.mark.parametrize("code", ["EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"])
def test_passing_troubles_are_retried(code: str) -> None:
    assert RetryPolicy().delay_ms(1, Failure("", code), random.Random(0)) is not None


@pytest.mark.parametrize(
    "code",
    [
        "AUTH",
        "QUOTA",
        "INVALID_REQUEST",
        "CONTEXT_WINDOW_EXCEEDED",
        "MALFORMED_RESPONSE",
        "ABORTED",
        "HTTP_404",
    ],
)
def test_lasting_troubles_are_not(code: str) -> None:
    assert RetryPolicy().delay_ms(1, Failure("", code), random.Random(0)) is None


def test_the_providers_wait_is_kept_exactly_up_to_the_cap_and_beyond_it_we_give_up() -> None:
    policy = RetryPolicy()
    for wait, delay in ((0, 0), (3000, 3000), (10_000, 10_000), (10_001, None), (60_000, None)):
        failure = Failure("", "RATE_LIMIT", 429, wait)
        assert policy.delay_ms(1, failure, random.Random(0)) == delay


@given(st.integers(1, 40), st.integers(0, 2**32), st.integers(1, 2000), st.integers(1, 20_000))
def test_no_delay_ever_passes_the_cap(n: int, seed: int, base: int, cap: int) -> None:
    policy = RetryPolicy(max_retries=40, base_ms=base, cap_ms=cap)
    delay = policy.delay_ms(n, Failure("", "SERVER"), random.Random(seed))
    assert delay is not None
    assert 0 <= delay <= cap
