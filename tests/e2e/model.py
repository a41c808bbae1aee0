"""A model server on loopback that says what the test tells it to, piece by piece.

model.will_say("The door opens.")          # the next call is answered by itself
call = await model.call()                  # or: the next call is led by the test
assert call.heard[-1] == "Ana: Hello."
await call.write("The door "); await call.write("opens."); await call.end()
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from aiohttp import web

from bot.settings import ModelSettings
from engine.codec import dumps

__all__ = ["REMINDER", "Call", "Model", "serving"]

Script: TypeAlias = Callable[["Call"], Awaitable[None]]


REMINDER = "Stay in the scene and in "
"""How the last prompt of the built-in preset begins, which its strategy sends behind people's words."""


class Call:
    """One request, and the answer to it as the test gives it."""

    def __init__(self, request: web.Request, body: Any) -> None:
        self.body = body
        self.gone = asyncio.Event()
        """The bot has hung up before the answer was complete."""
        self.over = asyncio.Event()
        self.response: web.StreamResponse | None = None
        self._request = request

    @property
    def system(self) -> str:
        """What the model is told before anything is said."""
        return "\n".join(m["content"] for m in self.body["messages"] if m["role"] == "system")

    @property
    def tools(self) -> list[str]:
        """The tools that the model is offered."""
        return [tool["function"]["name"] for tool in self.body.get("tools", ())]

    @property
    def results(self) -> list[str]:
        """What tools have told it."""
        return [m["content"] for m in self.body["messages"] if m["role"] == "tool"]

    @property
    def heard(self) -> list[str]:
        """What has been said, in order: people's words as the model reads them, and its own; without what the
        built-in preset says behind them."""
        texts = [m["content"] for m in self.body["messages"] if m["role"] in ("user", "assistant")]
        return [text for text in texts if not (isinstance(text, str) and text.startswith(REMINDER))]

    async def write(self, text: str) -> None:
        """More of the answer."""
        await self._send({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})

    async def use(self, tool: str, before: str = "", **arguments: Any) -> None:
        """The answer is a call of a tool, perhaps after some words."""
        if before:
            await self.write(before)
        function = {"name": tool, "arguments": dumps(arguments).decode()}
        calls = [{"index": 0, "id": f"call_{id(self)}", "type": "function", "function": function}]
        await self._send({"choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": None}]})
        await self.end("tool_calls")

    async def end(self, finish: str = "stop") -> None:
        """The answer is complete."""
        await self._send({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        assert self.response is not None
        await self.response.write(b"data: [DONE]\n\n")
        await self.response.write_eof()
        self.over.set()

    async def say(self, text: str) -> None:
        """The whole answer, word by word."""
        for word in _words(text):
            await self.write(word)
        await self.end()

    async def finish(self) -> None:
        """No more bytes; the line ends in order."""
        await (await self._open()).write_eof()
        self.over.set()

    async def raw(self, data: bytes) -> None:
        """Bytes that are no part of any protocol."""
        await (await self._open()).write(data)

    async def cut(self) -> None:
        """The line breaks."""
        assert self._request.transport is not None
        self._request.transport.abort()
        self.over.set()

    def refuse(self, status: int, body: Any = None, **headers: str) -> None:
        """Answer with an error."""
        error = body if body is not None else {"error": {"message": f"no ({status})", "type": "test"}}
        self.response = web.Response(
            status=status, body=dumps(error), content_type="application/json", headers=headers
        )
        self.over.set()

    async def _open(self) -> web.StreamResponse:
        if self.response is None:
            self.response = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await self.response.prepare(self._request)
        return self.response

    async def _send(self, payload: Any) -> None:
        response = await self._open()
        await response.write(b"data: " + dumps(payload) + b"\n\n")


class Model:
    """Speaks OpenAI's chat completions at `url`; remembers every call."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[Call] = []
        self.always: Script | None = None
        """How every call is answered for which nothing else is planned."""
        self._planned: deque[Script] = deque()
        self._arrived: asyncio.Queue[Call] = asyncio.Queue()

    @property
    def settings(self) -> ModelSettings:
        """The settings that name this server."""
        return ModelSettings(provider="openai", base_url=self.url, model="storyteller")

    def will_say(self, *texts: str) -> None:
        """The next calls are answered with these, one each."""
        self._planned.extend(_saying(text) for text in texts)

    def will_use(self, tool: str, before: str = "", **arguments: Any) -> None:
        """The next call is answered with a call of a tool."""

        async def use(call: Call) -> None:
            await call.use(tool, before, **arguments)

        self._planned.append(use)

    def will(self, *scripts: Script) -> None:
        """The next calls are answered by these."""
        self._planned.extend(scripts)

    def will_refuse(self, status: int, times: int = 1, **headers: str) -> None:
        """The next calls are refused."""

        async def refuse(call: Call) -> None:
            call.refuse(status, **headers)

        self._planned.extend([refuse] * times)

    async def call(self, timeout: float = 10.0) -> Call:
        """The next call that nothing is planned for, to be answered by the test."""
        async with asyncio.timeout(timeout):
            return await self._arrived.get()

    def forget(self) -> None:
        """Forget every call so far."""
        self.calls.clear()
        while not self._arrived.empty():
            self._arrived.get_nowait()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The endpoint."""
        call = Call(request, await request.json())
        self.calls.append(call)
        script = self._planned.popleft() if self._planned else self.always
        try:
            if script is not None:
                await script(call)
            else:
                self._arrived.put_nowait(call)
            await call.over.wait()
        except (asyncio.CancelledError, ConnectionError):
            call.gone.set()
            raise
        return call.response if call.response is not None else web.Response(status=500)


def _saying(text: str) -> Script:
    async def say(call: Call) -> None:
        await call.say(text)

    return say


def _words(text: str) -> list[str]:
    parts = text.split(" ")
    return [part + " " for part in parts[:-1]] + parts[-1:]


@asynccontextmanager
async def serving() -> AsyncIterator[Model]:
    """A model server for one test."""
    model = Model()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", model.handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    model.url = f"http://{host}:{port}/v1"
    try:
        yield model
    finally:
        for call in model.calls:
            call.over.set()
        await runner.cleanup()
