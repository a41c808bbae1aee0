"""The OpenAI-compatible adapter against real HTTP servers on loopback."""

from __future__ import annotations

import asyncio
import gc
import gzip
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from engine.cancel import CancelCause, CancelToken
from engine.codec import dumps
from engine.errors import InputError
from engine.llm import Catalogue, Chunk, LlmFailure, OpenAiAdapter, ServerSettings, guarded
from tests.engine.llm.server import (
    DONE,
    KEY,
    adapter,
    ask,
    message,
    part,
    reason_of,
    replies,
    run,
    serve,
    text_of,
)

USER = CancelCause("user")
HELLO = (part("Hel"), part("lo"), part(finish="stop"), DONE)


async def outcome(*pieces: bytes, **options: Any) -> tuple[str, dict[str, Any]]:
    """Text and finish reason of a call that the server answers with `pieces`."""
    settings = options.pop("settings", {})
    async with serve(replies(*pieces, **options)) as server:
        chunks = await run(adapter(server.url, **settings))
    return text_of(chunks), reason_of(chunks)


# -- the request ---------------------------------------------------------------------------------


async def test_an_answer_streams_and_the_request_is_as_configured() -> None:
    async with serve(replies(*HELLO)) as server:
        chunks = await run(adapter(server.url, headers={"X-Title": "table"}), ask(temperature=0.5))
        assert text_of(chunks) == "Hello"
        assert reason_of(chunks) == {"kind": "stop"}
        assert server.bodies == [
            {
                "model": "test-model",
                "messages": [{"role": "user", "content": "Ana: Hello."}],
                "stream": True,
                "stream_options": {"include_usage": True},
                "temperature": 0.5,
            }
        ]
        headers = server.headers[0]
        assert headers["authorization"] == f"Bearer {KEY}"
        assert headers["x-title"] == "table"
        assert headers["accept-encoding"] == "identity"
        assert headers["content-type"] == "application/json"


async def test_a_server_at_home_needs_no_key() -> None:
    async with serve(replies(*HELLO)) as server:
        await run(adapter(server.url, api_key=None))
        assert "authorization" not in server.headers[0]


@pytest.mark.parametrize("suffix", ["", "/", "/chat/completions"])
async def test_the_address_may_end_as_people_write_it(suffix: str) -> None:
    async with serve(replies(*HELLO)) as server:
        assert text_of(await run(adapter(server.url + suffix))) == "Hello"


async def test_the_catalogue_shapes_the_request() -> None:
    catalogue = """
        [[model]]
        model = "thinker"
        dialect = { max_tokens_field = "max_completion_tokens", effort = "thinking" }
    """
    async with serve(replies(*HELLO)) as server:
        await run(adapter(server.url, catalogue), ask("thinker", max_tokens=7, reasoning_effort="off"))
        assert server.bodies[0]["max_completion_tokens"] == 7
        assert server.bodies[0]["thinking"] == {"type": "disabled"}


async def test_a_request_that_nobody_could_answer_is_not_sent() -> None:
    async with serve(replies(*HELLO)) as server:
        request = ask()
        object.__setattr__(request, "messages", (message("system", "You are Mara."),))
        assert reason_of(await run(adapter(server.url), request))["failure"]["code"] == "INVALID_REQUEST"
        assert server.bodies == []


async def test_a_connection_is_used_again_for_the_next_call() -> None:
    ports: list[int] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        return await replies(*HELLO)(request)

    async with serve(answer) as server:
        target = adapter(server.url)
        for _ in range(3):
            assert [chunk async for chunk in target.stream(ask(), CancelToken())][-1]["type"] == "finish"
        await target.aclose()
    assert len(set(ports)) == 1


# -- streams that are odd but whole --------------------------------------------------------------


async def test_every_byte_on_its_own() -> None:
    stream = b"data: " + dumps({"choices": [{"delta": {"content": "鱼\u2028🐟\u0085."}}]}) + b"\r\n\r\n"
    pieces = [bytes([byte]) for byte in stream + part(finish="stop") + DONE]
    assert await outcome(*pieces) == ("鱼\u2028🐟\u0085.", {"kind": "stop"})


async def test_comments_and_named_events_are_read_over() -> None:
    pieces = (b": OPENROUTER PROCESSING\n\n", b"event: message\n", *HELLO)
    assert await outcome(*pieces) == ("Hello", {"kind": "stop"})


@pytest.mark.parametrize("content_type", ["text/plain", "application/json", "application/octet-stream"])
async def test_a_stream_under_a_wrong_label_is_still_a_stream(content_type: str) -> None:
    assert await outcome(*HELLO, content_type=content_type) == ("Hello", {"kind": "stop"})


async def test_a_whole_completion_from_a_server_that_does_not_stream() -> None:
    body = dumps(
        {
            "choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 1},
        }
    )
    async with serve(replies(b" \n", body[:20], body[20:], content_type="application/json")) as server:
        chunks = await run(adapter(server.url))
    assert text_of(chunks) == "Hello"
    assert chunks[-2]["usage"] == {"inputTokens": 3, "outputTokens": 1}
    assert reason_of(chunks) == {"kind": "stop"}


async def test_a_compressed_stream_is_unpacked() -> None:
    packed = gzip.compress(b"".join(HELLO))
    assert await outcome(packed[:9], packed[9:], **{"content-encoding": "gzip"}) == (
        "Hello",
        {"kind": "stop"},
    )


async def test_a_missing_end_marker_is_forgiven_after_a_finish_reason() -> None:
    assert await outcome(part("Hello"), part(finish="stop")) == ("Hello", {"kind": "stop"})


async def test_what_a_proxy_appends_after_the_end_marker_does_no_harm() -> None:
    assert await outcome(*HELLO, b"data: oops\n\nupstream reset\n") == ("Hello", {"kind": "stop"})


async def test_a_server_that_never_closes_after_its_finish_does_not_hold_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.llm.server.AFTER_FINISH_SECONDS", 0.05)

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(part("Hello") + part(finish="stop"))
        await asyncio.sleep(60)
        return response

    async with serve(answer) as server:
        chunks = await asyncio.wait_for(run(adapter(server.url)), 5)
        assert (text_of(chunks), reason_of(chunks)) == ("Hello", {"kind": "stop"})
        await asyncio.wait_for(server.gone.wait(), 5)


async def test_a_connection_that_breaks_after_the_finish_has_delivered() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(part("Hello") + part(finish="stop"))
        await asyncio.sleep(0.02)
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serve(answer) as server:
        chunks = await run(adapter(server.url))
    assert (text_of(chunks), reason_of(chunks)) == ("Hello", {"kind": "stop"})


async def test_a_huge_answer_arrives_whole() -> None:
    piece = "words and more words " * 50
    pieces = [part(piece) for _ in range(400)]  # 420,000 characters
    text, reason = await outcome(*pieces, part(finish="stop"), DONE)
    assert (text, reason) == (piece * 400, {"kind": "stop"})


async def test_a_runaway_answer_is_cut_and_its_connection_closed() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(part("again " * 10_000))

    async with serve(answer) as server:
        chunks = await asyncio.wait_for(run(adapter(server.url)), 30)
        assert len(text_of(chunks)) == 1024 * 1024
        assert reason_of(chunks) == {"kind": "max-tokens"}
        await asyncio.wait_for(server.gone.wait(), 5)


async def test_calls_with_duplicate_indices_stay_apart() -> None:
    def call(call_id: str, value: int) -> bytes:
        function = {"name": "dice", "arguments": f'{{"n":{value}}}'}
        return part(tool_calls=[{"index": 0, "id": call_id, "function": function}])

    async with serve(replies(call("a", 1), call("b", 2), part(finish="tool_calls"), DONE)) as server:
        chunks = await run(adapter(server.url))
    blocks = [chunk["block"] for chunk in chunks if chunk["type"] == "block-end"]
    assert [(block["id"], block["arguments"]) for block in blocks] == [("a", '{"n":1}'), ("b", '{"n":2}')]
    assert reason_of(chunks) == {"kind": "tool-calls"}


# -- streams that fail ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "text", "code"),
    [
        ((part("Hel"),), "Hel", "TRANSPORT"),  # a clean end of the body is no end of the answer
        ((part("Hel"), b"data: {\"choices\": [{\"delta\": {\"content\": \"lo"), "Hel", "TRANSPORT"),
        ((part("Hel"), b"data: {broken\n\n", part("lo"), DONE), "Hel", "TRANSPORT"),
        ((part("Hel"), b"upstream connect error\n"), "Hel", "TRANSPORT"),
        ((part("Hel"), b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'), "Hel", "SERVER"),
        ((b'data: {"error": {"message": "Rate limit", "code": 429}}\n\n', DONE), "", "RATE_LIMIT"),
        ((b'event: error\ndata: {"message": "Insufficient balance"}\n\n',), "", "QUOTA"),
        ((part(finish="stop"), DONE), "", "EMPTY_RESPONSE"),
        ((DONE,), "", "EMPTY_RESPONSE"),
        ((), "", "TRANSPORT"),
        ((b": only a comment\n\n",), "", "TRANSPORT"),
        ((part("Hel", finish="content_filter"), DONE), "Hel", "CONTENT_FILTER"),
        ((part("Hel", finish="insufficient_system_resource"), DONE), "Hel", "SERVER"),
        ((b"<!doctype html><title>UI</title>",), "", "MALFORMED_RESPONSE"),
        ((b'{"ok": true}',), "", "MALFORMED_RESPONSE"),
        ((b'{"choices": [{"mess',), "", "TRANSPORT"),
        ((b'{"error": {"message": "model is loading", "type": "unavailable_error"}}',), "", "SERVER"),
    ],
)  # fmt: skip
async def test_a_stream_that_fails_keeps_its_beginning_and_says_why(
    pieces: tuple[bytes, ...], text: str, code: str
) -> None:
    said, reason = await outcome(*pieces)
    assert said == text
    assert (reason["kind"], reason["failure"]["code"]) == ("error", code)


async def test_a_web_page_tells_where_to_look() -> None:
    _, reason = await outcome(b"hello", content_type="text/html; charset=utf-8")
    assert reason["failure"]["code"] == "MALFORMED_RESPONSE"
    assert "/v1" in reason["failure"]["message"]


async def test_a_cut_stream_is_a_transport_failure_with_what_had_come() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(part("Hel"))
        await asyncio.sleep(0.02)
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serve(answer) as server:
        chunks = await run(adapter(server.url))
    assert text_of(chunks) == "Hel"
    assert reason_of(chunks)["failure"]["code"] == "TRANSPORT"


async def test_an_event_without_end_is_given_up() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"data: ")
        while True:
            await response.write(b"x" * 1_000_000)

    async with serve(answer) as server:
        chunks = await asyncio.wait_for(run(adapter(server.url)), 30)
        assert reason_of(chunks)["failure"]["code"] == "TRANSPORT"
        await asyncio.wait_for(server.gone.wait(), 5)


# -- answers that refuse -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, b'{"error": {"message": "Incorrect API key provided"}}', "AUTH"),
        (402, b'{"error": {"message": "Insufficient Balance"}}', "QUOTA"),
        (403, b"<html>forbidden</html>", "AUTH"),
        (429, b'{"error": {"message": "Rate limit reached"}}', "RATE_LIMIT"),
        (400, b'{"error": {"message": "maximum context length is 8192 tokens"}}', "CONTEXT_WINDOW_EXCEEDED"),
        (400, b'{"error": {"message": "temperature is out of range"}}', "INVALID_REQUEST"),
        (404, b'{"detail": "Not Found"}', "HTTP_404"),
        (422, b'{"detail": [{"msg": "extra fields"}]}', "HTTP_422"),
        (500, b"boom", "SERVER"),
        (503, b"", "SERVER"),
        (307, b"", "HTTP_307"),
    ],
)
async def test_a_refusal_by_status(status: int, body: bytes, code: str) -> None:
    text, reason = await outcome(body, status=status, content_type="application/json")
    assert text == ""
    failure = reason["failure"]
    assert (failure["code"], failure["status"]) == (code, status)
    assert str(status) in failure["message"]
    assert "<" not in failure["message"]


async def test_a_rate_limit_says_how_long_to_wait_and_which_request_it_was() -> None:
    _, reason = await outcome(
        b'{"error": {"message": "slow down"}}', status=429, **{"retry-after": "3", "x-request-id": "req-7"}
    )
    assert reason["failure"]["providerRetryAfterMs"] == 3000
    assert reason["failure"]["requestId"] == "req-7"


async def test_an_endless_error_page_is_read_only_so_far() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=500)
        await response.prepare(request)
        while True:
            await response.write(b"error " * 10_000)

    async with serve(answer) as server:
        chunks = await asyncio.wait_for(run(adapter(server.url)), 10)
    failure = reason_of(chunks)["failure"]
    assert failure["code"] == "SERVER"
    assert len(failure["message"]) < 600


async def test_a_key_that_the_server_repeats_is_not_passed_on() -> None:
    body = dumps({"error": {"message": f"Incorrect API key provided: {KEY}; org secret-header-value"}})
    _, reason = await outcome(body, status=401, settings={"headers": {"x-org": "secret-header-value"}})
    assert KEY not in reason["failure"]["message"]
    assert "secret-header-value" not in reason["failure"]["message"]
    assert "[secret]" in reason["failure"]["message"]


# -- silence, slowness and stops -----------------------------------------------------------------


async def hanging(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits a minute for this")


async def hanging_in_the_middle(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(part("Hel"))
    await asyncio.sleep(60)
    raise AssertionError("nobody waits a minute for this")


@pytest.mark.parametrize(("answer", "text"), [(hanging, ""), (hanging_in_the_middle, "Hel")])
async def test_a_server_that_falls_silent_runs_into_the_watchdog(answer: Any, text: str) -> None:
    async with serve(answer) as server:
        chunks = await asyncio.wait_for(run(adapter(server.url, idle_timeout_s=0.5)), 5)
        assert text_of(chunks) == text
        assert reason_of(chunks)["failure"]["code"] == "TIMEOUT"
        await asyncio.wait_for(server.gone.wait(), 5)


@pytest.mark.parametrize(("answer", "text"), [(hanging, ""), (hanging_in_the_middle, "Hel")])
async def test_a_stop_closes_the_connection_at_once_though_the_server_hangs(answer: Any, text: str) -> None:
    async with serve(answer) as server:
        token, heard = CancelToken(), asyncio.Event()
        call = asyncio.create_task(run(adapter(server.url), token=token, heard=heard))
        await asyncio.wait_for(heard.wait() if text else server.asked.wait(), 5)
        token.cancel(USER)
        chunks = await asyncio.wait_for(call, 2)
        assert text_of(chunks) == text
        assert reason_of(chunks)["kind"] == "aborted"
        assert reason_of(chunks)["failure"]["code"] == "ABORTED"
        await asyncio.wait_for(server.gone.wait(), 5)  # the server saw its socket close


async def test_a_stop_before_the_start_sends_nothing() -> None:
    async with serve(replies(*HELLO)) as server:
        token = CancelToken()
        token.cancel(USER)
        chunks = await run(adapter(server.url), token=token)
        assert [chunk["type"] for chunk in chunks] == ["finish"]
        assert reason_of(chunks)["kind"] == "aborted"
        assert server.bodies == []


async def test_a_slow_but_living_stream_outlasts_the_watchdog() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        stream = b": thinking\n" + part("Hello") + part(finish="stop") + DONE
        for start in range(0, len(stream), 4):
            await response.write(stream[start : start + 4])
            await asyncio.sleep(0.05)
        return response

    async with serve(answer) as server:
        # given an idle limit that is far shorter than the whole answer (about 2 seconds)
        chunks = await asyncio.wait_for(run(adapter(server.url, idle_timeout_s=1.0)), 30)
    assert (text_of(chunks), reason_of(chunks)) == ("Hello", {"kind": "stop"})


@pytest.mark.parametrize("noise", [b": keep-alive\n\n", b" ", b"\n"])
async def test_keep_alives_without_an_answer_end_at_last(noise: bytes) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(noise)
            await asyncio.sleep(0.01)

    async with serve(answer) as server:
        chunks = await asyncio.wait_for(run(adapter(server.url, progress_timeout_s=0.2)), 5)
        assert reason_of(chunks)["failure"]["code"] == "TIMEOUT"
        await asyncio.wait_for(server.gone.wait(), 5)


async def test_a_head_that_drips_ends_at_last() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for byte in b"HTTP/1.1 200 OK\r\n" + b"x-slow: loris\r\n" * 1000:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        target = adapter(f"http://127.0.0.1:{port}/v1", progress_timeout_s=0.2)
        chunks = await asyncio.wait_for(run(target), 5)
        assert reason_of(chunks)["failure"]["code"] == "TIMEOUT"


async def test_a_server_that_speaks_something_else_is_a_transport_failure() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 smtp ready\r\n")
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        chunks = await run(adapter(f"http://127.0.0.1:{port}/v1"))
        assert reason_of(chunks)["failure"]["code"] == "TRANSPORT"


async def test_a_refused_connection_names_the_server_and_nothing_else() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    chunks = await run(adapter(f"http://127.0.0.1:{port}/v1?token=abc"))
    failure = reason_of(chunks)["failure"]
    assert failure["code"] == "TRANSPORT"
    assert f"http://127.0.0.1:{port}" in failure["message"]
    assert "abc" not in failure["message"]


async def test_a_server_that_does_not_accept_in_time() -> None:
    # A listening socket whose queue is full answers no further connection.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(3)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(address)
        target = adapter(f"http://127.0.0.1:{address[1]}/v1", connect_timeout_s=0.1)
        failure = reason_of(await asyncio.wait_for(run(target), 5))["failure"]
        for client in waiting:
            client.close()
    assert failure["code"] == "TRANSPORT"
    assert "in time" in failure["message"]


async def test_a_consumer_that_leaves_early_closes_the_connection() -> None:
    async with serve(hanging_in_the_middle) as server:
        target = adapter(server.url)
        stream = target.stream(ask(), CancelToken())
        first = await anext(stream)
        assert first["type"] == "block-start"
        await stream.aclose()
        await asyncio.wait_for(server.gone.wait(), 5)
        await target.aclose()


async def test_a_cancelled_task_closes_the_connection() -> None:
    async with serve(hanging_in_the_middle) as server:
        task = asyncio.create_task(run(adapter(server.url)))
        await asyncio.wait_for(server.asked.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.gone.wait(), 5)


@pytest.mark.parametrize("after", [1, 2, 3, 7, 20, 21, 22])
async def test_a_stop_after_any_chunk_ends_the_stream_and_leaves_no_socket_open(after: int) -> None:
    pieces = [part("word ") for _ in range(20)]
    async with serve(replies(*pieces, part(finish="stop"), DONE)) as server:
        token = CancelToken()
        target = adapter(server.url)
        chunks: list[Chunk] = []
        async for chunk in guarded(target.stream(ask(), token), token, provider="openai"):
            chunks.append(chunk)
            if len(chunks) == after:
                token.cancel(USER)
        # a stop that comes when only the finish is left may find the finish
        assert reason_of(chunks)["kind"] in ("aborted", "stop")
        assert len(chunks) <= after + 1
        await target.aclose()
        gc.collect()  # an unclosed socket would warn here, and warnings are errors


# -- settings ------------------------------------------------------------------------------------


def test_secrets_never_show() -> None:
    settings = ServerSettings(
        "https://models.example/v1",
        api_key=KEY,
        headers={"x-key": "hidden-value"},
        proxy="http://u:pass@proxy",
    )
    target = OpenAiAdapter("openai", settings, Catalogue())
    shown = repr(settings) + repr(target)
    assert KEY not in shown
    assert "hidden-value" not in shown
    assert "pass" not in shown
    assert "models.example" in shown


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"base_url": "models.example/v1"}, "LLM_BASE_URL"),
        ({"base_url": "ftp://models.example/v1"}, "LLM_BASE_URL"),
        ({"base_url": "http://"}, "LLM_BASE_URL"),
        ({"base_url": "http://localhost:port/v1"}, "LLM_BASE_URL"),
        ({"base_url": "http://models example/v1"}, "LLM_BASE_URL"),
        ({"base_url": "http://[broken"}, "LLM_BASE_URL"),
        ({"base_url": "https://user:secretword@models.example/v1"}, "LLM_BASE_URL"),
        ({"base_url": "http://localhost", "api_key": "sk-ключ-secretword"}, "INVALID_CREDENTIAL"),
        ({"base_url": "http://localhost", "api_key": "secretword\r\nx: y"}, "INVALID_CREDENTIAL"),
        ({"base_url": "http://localhost", "headers": {"x-key": "secretword\n"}}, "INVALID_CREDENTIAL"),
        ({"base_url": "http://localhost", "headers": {"x key": "secretword"}}, "INVALID_CREDENTIAL"),
    ],
)
def test_settings_that_cannot_work_are_refused_without_their_secret(settings: Any, code: str) -> None:
    with pytest.raises(InputError) as caught:
        OpenAiAdapter("openai", ServerSettings(**settings))
    assert caught.value.error_code == code
    assert "secretword" not in str(caught.value)


@pytest.fixture
async def remote() -> AsyncIterator[OpenAiAdapter]:
    target = OpenAiAdapter("openai", ServerSettings("https://models.example/v1"))
    yield target
    await target.aclose()


async def test_the_switch_forbids_every_other_machine(remote: OpenAiAdapter) -> None:
    with pytest.raises(LlmFailure, match=r"models\.example") as caught:
        _ = [chunk async for chunk in remote.stream(ask(), CancelToken())]
    assert caught.value.failure.code == "REMOTE_FORBIDDEN"


async def test_a_remote_proxy_is_another_machine_too() -> None:
    target = adapter("http://127.0.0.1:9/v1", proxy="http://proxy.example:3128")
    assert reason_of(await run(target))["failure"]["code"] == "REMOTE_FORBIDDEN"
