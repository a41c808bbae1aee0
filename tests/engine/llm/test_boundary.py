"""The runtime boundary: adapters of every kind of wrongness, and one well-formed stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest

from engine.cancel import CancelCause, Cancelled, CancelToken
from engine.llm import Chunk, Failure, LlmFailure, guarded
from engine.llm import chunks as make
from engine.llm.boundary import GrammarError, StreamGrammar

USER = CancelCause("user")


class Script:
    """An adapter's stream: yields chunks, raises exceptions, and remembers that it was closed."""

    def __init__(self, *steps: Any) -> None:
        self._steps = steps
        self.closed = False
        self.asked = 0

    async def stream(self) -> AsyncGenerator[Chunk, None]:
        try:
            for step in self._steps:
                self.asked += 1
                if isinstance(step, BaseException):
                    raise step
                if callable(step):
                    step()
                else:
                    yield step
        finally:
            self.closed = True


async def through(script: Script, token: CancelToken | None = None) -> list[Chunk]:
    return [chunk async for chunk in guarded(script.stream(), token or CancelToken(), provider="test")]


TEXT = [make.block_start(0, "text"), make.text_delta(0, "Hi")]
WHOLE = [
    *TEXT,
    make.block_end(0, {"type": "text", "text": "Hi"}),
    make.usage({"inputTokens": 1, "outputTokens": 1}),
]


async def test_a_good_stream_passes_unchanged() -> None:
    script = Script(*WHOLE, make.finished("stop"))
    assert await through(script) == [*WHOLE, make.finished("stop")]
    assert script.closed


async def test_nothing_after_the_finish_is_even_asked_for() -> None:
    script = Script(*WHOLE, make.finished("stop"), make.text_delta(0, "more"))
    assert (await through(script))[-1] == make.finished("stop")
    assert script.asked == 5


async def test_a_failure_becomes_an_error_finish() -> None:
    failure = Failure("Slow down.", "RATE_LIMIT", 429, 3000, "req-1")
    chunks = await through(Script(*TEXT, LlmFailure(failure)))
    assert chunks == [
        *TEXT,
        {
            "type": "finish",
            "reason": {
                "kind": "error",
                "failure": {
                    "message": "Slow down.",
                    "code": "RATE_LIMIT",
                    "status": 429,
                    "providerRetryAfterMs": 3000,
                    "requestId": "req-1",
                },
            },
        },
    ]


async def test_an_adapters_bug_becomes_an_error_without_its_text() -> None:
    chunks = await through(Script(*TEXT, RuntimeError("key sk-secret was wrong")))
    failure = chunks[-1]["reason"]["failure"]
    assert failure["code"] == "UNKNOWN"
    assert "RuntimeError" in failure["message"]
    assert "sk-secret" not in failure["message"]


async def test_a_stream_without_a_finish_broke_off() -> None:
    chunks = await through(Script(*WHOLE))
    assert chunks[-1]["reason"]["failure"]["code"] == "TRANSPORT"


@pytest.mark.parametrize(
    "steps",
    [
        [make.text_delta(0, "Hi")],
        [make.block_start(0, "text"), make.block_start(0, "text")],
        [make.block_start(0, "text"), make.reasoning_delta(0, "Hi")],
        [make.block_start(0, "text"), make.tool_call_delta(0, "c", "{}")],
        [*TEXT, make.block_end(0, {"type": "reasoning", "text": "Hi"})],
        [*TEXT, make.block_end(0, {"type": "text", "text": "Hi"}), make.text_delta(0, "!")],
        [*TEXT, make.block_end(0, {"type": "text", "text": "Hi"}), make.block_start(0, "text")],
        [make.usage({"inputTokens": 1, "outputTokens": 1})] * 2,
        [*TEXT, make.finished("stop")],
        [*TEXT, make.finished("max-tokens")],
        [{"type": "surprise"}],
        [{"type": "text-delta"}],
        [{}],
    ],
)
async def test_a_break_of_the_grammar_ends_the_stream_as_an_error(steps: list[Any]) -> None:
    chunks = await through(Script(*steps, *WHOLE, make.finished("stop")))
    assert chunks[-1]["reason"]["failure"]["code"] == "UNKNOWN"
    assert chunks[:-1] == steps[: len(chunks) - 1]


async def test_an_error_finish_may_leave_blocks_open() -> None:
    ending = make.failed(Failure("Gone.", "SERVER"))
    assert await through(Script(*TEXT, ending)) == [*TEXT, ending]


async def test_cancelled_inside_the_adapter_is_an_aborted_finish() -> None:
    chunks = await through(Script(*TEXT, Cancelled()))
    assert chunks[-1]["reason"]["kind"] == "aborted"
    assert chunks[-1]["reason"]["failure"]["code"] == "ABORTED"


async def test_chunks_after_a_stop_are_dropped_even_when_the_adapter_does_not_look() -> None:
    token = CancelToken()
    script = Script(*TEXT, lambda: token.cancel(USER), make.text_delta(0, " there"), make.text_delta(0, "!"))
    chunks = await through(script, token)
    assert chunks[:-1] == TEXT
    assert chunks[-1]["reason"]["kind"] == "aborted"
    assert script.closed


async def test_an_error_after_a_stop_is_the_stop() -> None:
    token = CancelToken()
    chunks = await through(Script(*TEXT, lambda: token.cancel(USER), OSError("socket closed")), token)
    assert chunks[-1]["reason"]["kind"] == "aborted"


async def test_a_finish_that_had_come_before_the_stop_was_seen_stands() -> None:
    token = CancelToken()
    chunks = await through(Script(*WHOLE, lambda: token.cancel(USER), make.finished("stop")), token)
    assert chunks[-1] == make.finished("stop")


async def test_a_consumer_that_stops_early_closes_the_adapter() -> None:
    script = Script(*WHOLE, make.finished("stop"))
    stream = guarded(script.stream(), CancelToken(), provider="test")
    await anext(stream)
    await stream.aclose()
    assert script.closed


async def test_the_consumers_own_exception_stays_one() -> None:
    script = Script(*WHOLE, make.finished("stop"))
    stream = guarded(script.stream(), CancelToken(), provider="test")
    with pytest.raises(ZeroDivisionError):
        async for _ in stream:
            raise ZeroDivisionError
    await stream.aclose()
    assert script.closed


async def test_the_cancelling_of_the_task_passes_through() -> None:
    async def forever() -> AsyncGenerator[Chunk, None]:
        yield make.block_start(0, "text")
        await asyncio.sleep(60)

    async def consume() -> None:
        async for _ in guarded(forever(), CancelToken(), provider="test"):
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_iterator_that_cannot_be_closed_is_fine_too() -> None:
    class Plain:
        def __init__(self) -> None:
            self._chunks = iter([*WHOLE, make.finished("stop")])

        def __aiter__(self) -> AsyncIterator[Chunk]:
            return self

        async def __anext__(self) -> Chunk:
            return next(self._chunks)

    chunks = [chunk async for chunk in guarded(Plain(), CancelToken(), provider="test")]
    assert chunks[-1] == make.finished("stop")


def test_the_grammar_knows_nothing_after_the_finish() -> None:
    grammar = StreamGrammar()
    grammar.check(make.failed(Failure("Gone.", "SERVER")))
    with pytest.raises(GrammarError):
        grammar.check(make.usage({"inputTokens": 1, "outputTokens": 1}))


async def test_a_failing_clean_up_does_not_spoil_the_answer() -> None:
    class Stubborn:
        def __init__(self) -> None:
            self._chunks = iter([*WHOLE, make.finished("stop")])

        def __aiter__(self) -> AsyncIterator[Chunk]:
            return self

        async def __anext__(self) -> Chunk:
            return next(self._chunks)

        async def aclose(self) -> None:
            raise OSError("cannot close")

    chunks = [chunk async for chunk in guarded(Stubborn(), CancelToken(), provider="test")]
    assert chunks[-1] == make.finished("stop")
