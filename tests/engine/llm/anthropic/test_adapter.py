"""The Anthropic adapter against real HTTP servers on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from engine.cancel import CancelCause, CancelToken
from engine.codec import dumps
from engine.llm import AnthropicAdapter, Catalogue, ServerSettings
from engine.session import BlockAssembler, assistant_message
from tests.engine.llm.server import KEY, ask, claude, message, reason_of, replies, run, serve, text_of

SHIPPED = (Path(__file__).parents[4] / "config" / "models.toml").read_text(encoding="utf-8")


def event(**payload: Any) -> bytes:
    return b"event: " + payload["type"].encode() + b"\ndata: " + dumps(payload) + b"\n\n"


def said(words: str) -> bytes:
    return event(type="content_block_start", index=0, content_block={"type": "text", "text": words})


END = event(type="message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1})
HELLO = (said("Hello"), event(type="content_block_stop", index=0), END, event(type="message_stop"))


async def test_an_answer_streams_and_the_request_is_as_configured() -> None:
    async with serve(replies(*HELLO)) as server:
        chunks = await run(claude(server.url, SHIPPED), ask(provider="anthropic", temperature=0.5))
        assert text_of(chunks) == "Hello"
        assert reason_of(chunks) == {"kind": "stop"}
        assert server.bodies == [
            {
                "model": "test-model",
                "max_tokens": 4096,
                "messages": [{"role": "user", "content": [{"type": "text", "text": "Ana: Hello."}]}],
                "stream": True,
                "temperature": 0.5,
            }
        ]
        assert server.headers[0]["x-api-key"] == KEY
        assert server.headers[0]["anthropic-version"] == "2023-06-01"
        assert "authorization" not in server.headers[0]


async def test_while_it_thinks_the_temperature_is_left_out() -> None:
    async with serve(replies(*HELLO)) as server:
        request = ask("claude-sonnet-4-5", "anthropic", temperature=0.5, reasoning_effort="low")
        await run(claude(server.url, SHIPPED), request)
        assert "temperature" not in server.bodies[0]
        assert server.bodies[0]["thinking"] == {"type": "enabled", "budget_tokens": 2048}
        assert server.bodies[0]["max_tokens"] == 4096 + 2048


@pytest.mark.parametrize(
    ("catalogue", "tokens"), [("", 4096), ('[[model]]\nmodel = "*"\nmax_output = 99', 99)]
)
async def test_a_call_without_a_limit_gets_one_that_is_on_record(catalogue: str, tokens: int) -> None:
    target = claude("http://127.0.0.1:1/v1", catalogue)
    assert target.model_info("m").default_max_tokens == tokens
    await target.aclose()


@pytest.mark.parametrize("suffix", ["", "/", "/messages"])
async def test_the_address_may_end_as_people_write_it(suffix: str) -> None:
    async with serve(replies(*HELLO)) as server:
        assert text_of(await run(claude(server.url + suffix, api_key=None))) == "Hello"


async def test_thinking_comes_back_to_the_server_as_it_left_it() -> None:
    recorded = (Path(__file__).parents[1] / "recorded" / "anthropic_thinking.sse").read_bytes()
    async with serve(replies(recorded)) as server:
        first = await run(claude(server.url), ask("claude", "anthropic"))
        blocks = BlockAssembler()
        for chunk in first:
            blocks.add(chunk)
        answer = assistant_message(
            "m2", blocks.blocks(), provider="anthropic", model="claude", replay_state=blocks.replay_state
        )
        request = ask("claude", "anthropic")
        results = [
            message("tool", "17", toolCallId="toolu_01T1x1fJ34qAmk2tNTrN7Up6"),
            message("tool", "", toolCallId="toolu_02"),
        ]
        object.__setattr__(request, "messages", (*request.messages, answer, *results))
        await run(claude(server.url), request)
    sent = server.bodies[1]["messages"]
    assert sent[1]["content"] == [
        {
            "type": "thinking",
            "thinking": "He asks\nfor luck. ",
            "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h",
        },
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"},
        {"type": "text", "text": "Let fate decide."},
        {
            "type": "tool_use",
            "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6",
            "name": "dice",
            "input": {"expression": "1d20"},
        },
        {"type": "tool_use", "id": "toolu_02", "name": "look", "input": {}},
    ]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "tool_result"]


async def test_a_whole_message_from_a_server_that_does_not_stream() -> None:
    body = dumps(
        {"type": "message", "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"}
    )
    async with serve(replies(body, content_type="application/json")) as server:
        chunks = await run(claude(server.url))
    assert (text_of(chunks), reason_of(chunks)) == ("Hello", {"kind": "stop"})


@pytest.mark.parametrize(
    ("status", "kind", "text", "code"),
    [
        (400, "invalid_request_error", "max_tokens: Field required", "INVALID_REQUEST"),
        (400, "invalid_request_error", "prompt is too long: 208310 > 200000", "CONTEXT_WINDOW_EXCEEDED"),
        (400, "invalid_request_error", "Your credit balance is too low", "QUOTA"),
        (401, "authentication_error", "invalid x-api-key", "AUTH"),
        (404, "not_found_error", "model: claude-nothing", "HTTP_404"),
        (413, "request_too_large", "Request exceeds the maximum size", "INVALID_REQUEST"),
        (429, "rate_limit_error", "This request would exceed your rate limit", "RATE_LIMIT"),
        (529, "overloaded_error", "Overloaded", "SERVER"),
    ],
)  # fmt: skip
async def test_a_refusal_by_status(status: int, kind: str, text: str, code: str) -> None:
    body = dumps({"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"})
    answer = replies(body, status=status, content_type="application/json", **{"request-id": "req_1"})
    async with serve(answer) as server:
        failure = reason_of(await run(claude(server.url)))["failure"]
    assert (failure["code"], failure["status"], failure["requestId"]) == (code, status, "req_1")
    assert text in failure["message"]


async def test_a_key_that_the_server_repeats_is_not_passed_on() -> None:
    body = dumps({"type": "error", "error": {"type": "authentication_error", "message": f"no: {KEY}"}})
    async with serve(replies(body, status=401)) as server:
        failure = reason_of(await run(claude(server.url)))["failure"]
    assert KEY not in failure["message"]


async def test_pings_without_an_answer_end_at_last() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(event(type="ping"))
            await asyncio.sleep(0.01)

    async with serve(answer) as server:
        chunks = await asyncio.wait_for(run(claude(server.url, progress_timeout_s=0.2)), 5)
        assert reason_of(chunks)["failure"]["code"] == "TIMEOUT"
        await asyncio.wait_for(server.gone.wait(), 5)


async def test_a_stop_closes_the_connection_at_once_though_the_server_hangs() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(said("Hel"))
        await asyncio.sleep(60)
        raise AssertionError("nobody waits a minute for this")

    async with serve(answer) as server:
        token, heard = CancelToken(), asyncio.Event()
        call = asyncio.create_task(run(claude(server.url), token=token, heard=heard))
        await asyncio.wait_for(heard.wait(), 5)
        token.cancel(CancelCause("user"))
        chunks = await asyncio.wait_for(call, 2)
        assert (text_of(chunks), reason_of(chunks)["kind"]) == ("Hel", "aborted")
        await asyncio.wait_for(server.gone.wait(), 5)


async def test_a_consumer_that_leaves_early_closes_the_connection() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(said("Hel"))
        await asyncio.sleep(60)
        raise AssertionError("nobody waits a minute for this")

    async with serve(answer) as server:
        target = claude(server.url)
        stream = target.stream(ask(provider="anthropic"), CancelToken())
        assert (await anext(stream))["type"] == "block-start"
        await stream.aclose()
        await asyncio.wait_for(server.gone.wait(), 5)
        await target.aclose()


def test_secrets_never_show() -> None:
    target = AnthropicAdapter(
        "anthropic", ServerSettings("https://models.example/v1", api_key=KEY), Catalogue()
    )
    assert "models.example" in repr(target)
    assert KEY not in repr(target)
