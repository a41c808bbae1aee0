"""A model server on loopback whose every answer is written by the test, byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from aiohttp import web

from engine.cancel import CancelToken
from engine.codec import dumps
from engine.llm import (
    Adapter,
    AnthropicAdapter,
    CallConfig,
    Catalogue,
    Chunk,
    Llm,
    LlmRequest,
    OpenAiAdapter,
    ServerSettings,
)

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

KEY = "sk-test-0123456789abcdef"


class ModelServer:
    """Serves `/v1/chat/completions` and `/v1/messages` with `answer`; remembers bodies and headers."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.asked = asyncio.Event()  # a request has arrived whole
        self.gone = asyncio.Event()  # a client went away before its answer was complete
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            self.bodies.append(await request.json())
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
            self.asked.set()
            return await self._answer(request)
        except (asyncio.CancelledError, ConnectionError):
            self.gone.set()
            raise


@asynccontextmanager
async def serve(answer: Answer) -> AsyncIterator[ModelServer]:
    server = ModelServer(answer)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.handle)
    app.router.add_post("/v1/messages", server.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()


def adapter(url: str, catalogue: str = "", **settings: Any) -> OpenAiAdapter:
    return OpenAiAdapter(
        "openai", ServerSettings(base_url=url, **({"api_key": KEY} | settings)), Catalogue.parse(catalogue)
    )


def claude(url: str, catalogue: str = "", **settings: Any) -> AnthropicAdapter:
    return AnthropicAdapter(
        "anthropic",
        ServerSettings(base_url=url, **({"api_key": KEY} | settings)),
        Catalogue.parse(catalogue),
    )


def message(role: str, text: str, **fields: Any) -> dict[str, Any]:
    kinds = {"system": "system-prompt", "assistant": "model", "user": "user", "tool": "tool"}
    return {
        "id": f"m_{role}",
        "role": role,
        "content": [{"type": "text", "text": text}],
        "source": {"kind": kinds[role]},
        **fields,
    }


def ask(model: str = "test-model", provider: str = "openai", **config: Any) -> LlmRequest:
    return LlmRequest(
        CallConfig(provider, model, **config), (message("user", "Ana: Hello."),), session_id="s"
    )


async def run(
    target: Adapter,
    request: LlmRequest | None = None,
    token: CancelToken | None = None,
    heard: asyncio.Event | None = None,
) -> list[Chunk]:
    """The whole stream of one call, through the registry and its runtime boundary. `heard` is set when the
    first words have come."""
    llm = Llm()
    llm.register(target)
    request = request or ask(provider=target.provider)
    try:
        call = llm.prepare_call(request.config)
        request = replace(request, config=call.config)
        chunks = []
        async for chunk in call.stream(request, token or CancelToken()):
            chunks.append(chunk)
            if heard is not None and chunk["type"] == "text-delta":
                heard.set()
        return chunks
    finally:
        await llm.aclose()


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk["text"] for chunk in chunks if chunk["type"] == "text-delta")


def reason_of(chunks: list[Chunk]) -> dict[str, Any]:
    assert chunks[-1]["type"] == "finish"
    reason: dict[str, Any] = chunks[-1]["reason"]
    return reason


def part(text: str | None = None, finish: str | None = None, **delta: Any) -> bytes:
    """One SSE event with a streamed completion part."""
    if text is not None:
        delta["content"] = text
    payload = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + dumps(payload) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def replies(
    *pieces: bytes, content_type: str = "text/event-stream", status: int = 200, **headers: str
) -> Answer:
    """An answer that sends `pieces` one by one and ends properly."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"content-type": content_type, **headers})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0)
        await response.write_eof()
        return response

    return answer
