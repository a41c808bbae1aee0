"""What servers and those between us send that is wrong, over real connections, where `test_openai` and
`test_recorded` do not have it: lies in the head, bombs, and characters cut at every byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine.codec import dumps
from engine.llm import Chunk
from engine.session import BlockAssembler
from tests.engine.llm.server import (
    DONE,
    adapter,
    ask,
    claude,
    part,
    reason_of,
    replies,
    run,
    serve,
    text_of,
)

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CLOSE = b"connection: close\r\n\r\n"
HELLO = part("Hello") + part(finish="stop") + DONE

Talk = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def answered(talk: bytes | Talk) -> list[Chunk]:
    """The chunks of a call to a server that says exactly this, byte for byte, and hangs up."""
    async with raw(talk) as url:
        return await asyncio.wait_for(run(adapter(url, idle_timeout_s=2.0, progress_timeout_s=2.0)), 20)


@asynccontextmanager
async def raw(talk: bytes | Talk) -> Any:
    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            if isinstance(talk, bytes):
                writer.write(talk)
                await writer.drain()
            else:
                await talk(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


# -- characters ----------------------------------------------------------------------------------


async def test_a_character_cut_at_every_byte() -> None:
    text = "鱼🐟é\u2028\u0085."
    stream = part(text) + part(finish="stop") + DONE
    first = stream.index("鱼".encode())
    for cut in range(first, first + len(text.encode()) + 1):
        chunks = await cut_in_two(stream, cut)
        assert (text_of(chunks), reason_of(chunks)) == (text, {"kind": "stop"})


async def cut_in_two(stream: bytes, cut: int) -> list[Chunk]:
    async def talk(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + CLOSE + stream[:cut])
        await writer.drain()
        await asyncio.sleep(0.01)  # so that they are two reads
        writer.write(stream[cut:])
        await writer.drain()

    return await answered(talk)


async def test_bytes_that_are_no_text() -> None:
    pieces = part("Hello \x00").replace(b"\\u0000", b"\xff\xc3") + part(finish="stop") + DONE
    async with serve(replies(pieces)) as server:
        chunks = await run(adapter(server.url))
    assert (text_of(chunks), reason_of(chunks)) == ("Hello \ufffd\ufffd", {"kind": "stop"})


# -- lies in the head ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "text", "reason"),
    [
        (b"content-encoding: gzip\r\n", "", "TRANSPORT"),  # it is not
        (b"content-encoding: rot13\r\n", "Hello", "stop"),
        (b"content-length: 5\r\n", "", "TRANSPORT"),  # it is longer
        (b"content-length: 100000\r\n", "Hello", "stop"),  # it is shorter, but whole
        (b"transfer-encoding: chunked\r\n", "", "TRANSPORT"),  # it is not
        (b"content-type: text/event-stream; charset=latin-1\r\n", "Hello", "stop"),
        (b"content-type: \r\n", "Hello", "stop"),
    ],
)
async def test_a_head_that_is_wrong(head: bytes, text: str, reason: str) -> None:
    chunks = await answered(HEAD + head + CLOSE + HELLO)
    finish = reason_of(chunks)
    assert text_of(chunks) == text
    assert (finish["failure"]["code"] if finish["kind"] == "error" else finish["kind"]) == reason


@pytest.mark.parametrize("status", [204, 301, 302, 307])
async def test_an_answer_that_is_somewhere_else(status: int) -> None:
    """Nobody is followed: the key was meant for this server."""
    chunks = await answered(
        b"HTTP/1.1 %d Elsewhere\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n" % status + CLOSE
    )
    assert reason_of(chunks)["kind"] == "error"
    assert reason_of(chunks)["failure"]["code"] == ("TRANSPORT" if status == 204 else f"HTTP_{status}")


async def test_a_head_without_end() -> None:
    async def talk(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while True:
            writer.write(b"x-more: " + b"y" * 65_536 + b"\r\n")
            await writer.drain()

    chunks = await answered(talk)
    assert reason_of(chunks)["failure"]["code"] in ("TRANSPORT", "TIMEOUT")


# -- bombs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"choices":' * 20_000,
        b'{"choices": [{"delta": {"content": ' + b"9" * 400_000 + b"}}]}",
        b'{"choices": [{"index": 1e400, "delta": {"content": "a"}}]}',
    ],
)
async def test_json_that_is_meant_to_break_the_reader(data: bytes) -> None:
    chunks = await answered(HEAD + CLOSE + b"data: " + data + b"\n\n")
    assert reason_of(chunks)["failure"]["code"] == "TRANSPORT"


async def test_a_million_events_of_nothing_do_not_stop_the_answer() -> None:
    noise = b": ping\n\n" * 100_000 + b"data: \n\n" * 100_000 + b'data: {"choices": []}\n\n' * 20_000
    chunks = await answered(HEAD + CLOSE + noise + HELLO)
    assert (text_of(chunks), reason_of(chunks)) == ("Hello", {"kind": "stop"})


@pytest.mark.parametrize("at_once", [True, False])
async def test_ten_thousand_tool_calls(at_once: bool) -> None:
    """Text that came before them stands; none of the calls does, as in an answer that was cut off."""
    calls = [
        {"index": number, "id": f"c{number}", "function": {"name": "dice", "arguments": "{}"}}
        for number in range(10_000)
    ]
    pieces = part(tool_calls=calls) if at_once else b"".join(part(tool_calls=[call]) for call in calls)
    chunks = await answered(HEAD + CLOSE + part("Look: ") + pieces + part(finish="tool_calls") + DONE)
    assert reason_of(chunks) == {"kind": "max-tokens"}
    blocks = BlockAssembler()
    for chunk in chunks:
        blocks.add(chunk)
    assert blocks.blocks() == [{"type": "text", "text": "Look: "}]
    assert len(chunks) < 1000


async def test_a_whole_answer_of_ten_thousand_tool_calls() -> None:
    calls = [{"id": f"c{n}", "function": {"name": "dice", "arguments": "{}"}} for n in range(10_000)]
    message = {"role": "assistant", "content": "Look: ", "tool_calls": calls}
    body = dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    chunks = await answered(HEAD + CLOSE + body)
    assert reason_of(chunks) == {"kind": "max-tokens"}
    assert len(chunks) < 1000


async def test_ten_thousand_tool_calls_in_the_other_protocol() -> None:
    def event(kind: str, **fields: Any) -> bytes:
        return b"data: " + dumps({"type": kind, **fields}) + b"\n\n"

    pieces = event("message_start", message={"usage": {"input_tokens": 1}})
    for number in range(10_000):
        block = {"type": "tool_use", "id": f"c{number}", "name": "dice", "input": {}}
        pieces += event("content_block_start", index=number, content_block=block)
        pieces += event("content_block_stop", index=number)
    pieces += event("message_delta", delta={"stop_reason": "tool_use"}) + event("message_stop")
    async with serve(replies(pieces)) as server:
        chunks = await run(claude(server.url), ask(provider="anthropic", max_tokens=100))
    assert reason_of(chunks)["kind"] == "max-tokens"
    assert len(chunks) < 1000
