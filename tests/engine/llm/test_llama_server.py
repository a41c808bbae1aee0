"""Both protocols against a server that we did not write: llama.cpp's, with a model built here.

The last character of the last message chooses the answer.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.cancel import CancelCause, CancelToken
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
from engine.session import BlockAssembler, assistant_message
from tests.engine.llm.server import message, reason_of, text_of
from tests.engine.llm.tiny_model import build

ROOT = Path(__file__).parents[3]
SHIPPED = Catalogue.load(ROOT / "config" / "models.toml")
CONTEXT = 2048

ANSWERS: dict[str, tuple[str | bytes, ...]] = {
    ".": ("The sea says ", "鱼".encode(), "🌊".encode(), "\u2028".encode(), "and no more"),
    "?": ("<think>", "She wonders", "</think>", "Yes, indeed"),
    "!": ("I roll.", "<tool_call>", '\n{"name": "dice", "arguments": {"sides":', " 20}}\n", "</tool_call>"),
    "7": ("Seventeen, no less",),
    ";": ("again and ", "once more ", "again and "),
}  # fmt: skip

DICE = {
    "name": "dice",
    "description": "Roll.",
    "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}, "required": ["sides"]},
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("llama")
    build(folder / "tiny.gguf", ANSWERS, context=CONTEXT)
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "tests.engine.llm.llama_server", str(folder / "tiny.gguf")]
        server = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert server.stdin is not None and server.stdout is not None
    with server.stdin, server.stdout:
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), (folder / "log").read_text()
        yield address + "/v1"
    server.wait(timeout=30)


@pytest.fixture(params=["llama.cpp", "anthropic"])
async def target(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Adapter]:
    """An adapter of either protocol at the same server."""
    kind = AnthropicAdapter if request.param == "anthropic" else OpenAiAdapter
    adapter: Adapter = kind(request.param, ServerSettings(url), SHIPPED)
    yield adapter
    await adapter.aclose()


async def run(
    target: Adapter, request: LlmRequest, token: CancelToken | None = None, stop_after: int = 0
) -> list[Chunk]:
    """The stream of one call; the token is cancelled after so many chunks."""
    llm = Llm()
    llm.register(target)
    call = llm.prepare_call(request.config)
    chunks = []
    async for chunk in call.stream(replace(request, config=call.config), token or CancelToken()):
        chunks.append(chunk)
        if token is not None and len(chunks) == stop_after:
            token.cancel(CancelCause("user"))
    return chunks


def ask(target: Adapter, *messages: Any, tools: Any = (DICE,), **config: Any) -> LlmRequest:
    wanted = {"temperature": 0.0, "max_tokens": 100} | config
    return LlmRequest(CallConfig(target.provider, "tiny", **wanted), messages, tools)


def blocks(chunks: list[Chunk]) -> list[Any]:
    return [chunk["block"] for chunk in chunks if chunk["type"] == "block-end"]


async def test_letters_that_are_several_tokens_arrive_whole(target: Adapter) -> None:
    request = ask(target, message("system", "You are the sea."), message("user", "Ana: Speak."))
    chunks = await run(target, request)
    assert text_of(chunks) == "The sea says 鱼🌊\u2028and no more"
    assert reason_of(chunks) == {"kind": "stop"}


async def test_reasoning_stands_in_a_block_of_its_own(target: Adapter) -> None:
    chunks = await run(target, ask(target, message("user", "Ana: Shall we?")))
    assert blocks(chunks) == [
        {"type": "reasoning", "text": "She wonders"},
        {"type": "text", "text": "Yes, indeed"},
    ]
    assert reason_of(chunks) == {"kind": "stop"}


async def test_an_effort_is_taken(target: Adapter) -> None:
    request = ask(target, message("user", "Ana: Shall we?"), reasoning_effort="low", temperature=None)
    assert reason_of(await run(target, request)) == {"kind": "stop"}


async def test_tokens_are_counted_apart_from_those_in_the_cache(target: Adapter) -> None:
    request = ask(target, message("user", f"Ana, to {target.provider}: Speak."))
    counts = [(await run(target, request))[-2]["usage"] for _ in range(2)]
    assert counts[0]["outputTokens"] == counts[1]["outputTokens"] == 13
    sums = [count["inputTokens"] + count.get("cachedInputTokens", 0) for count in counts]
    assert sums[0] == sums[1] > 20
    # the second time only the end of the prompt had to be read
    assert counts[1]["inputTokens"] < counts[0]["inputTokens"]
    assert counts[1]["cachedInputTokens"] > 0


async def test_a_tool_is_called_and_answered(target: Adapter) -> None:
    request = ask(target, message("user", "Ana: I jump!"))
    first = await run(target, request)
    assert reason_of(first) == {"kind": "tool-calls"}
    assembled = BlockAssembler()
    for chunk in first:
        assembled.add(chunk)
    text, call = assembled.blocks()
    assert text == {"type": "text", "text": "I roll."}
    assert (call["name"], call["arguments"]) == ("dice", '{"sides": 20}')
    answer = assistant_message("m2", [text, call], provider=target.provider, model="tiny")
    result = message("tool", "17", toolCallId=call["id"])
    second = await run(target, replace(request, messages=(*request.messages, answer, result)))
    assert (text_of(second), reason_of(second)) == ("Seventeen, no less", {"kind": "stop"})


async def test_an_answer_ends_where_it_must(target: Adapter) -> None:
    chunks = await run(target, ask(target, message("user", "Ana: Sing;"), max_tokens=5))
    assert reason_of(chunks) == {"kind": "max-tokens"}
    assert text_of(chunks).startswith("again and once more again and ")


async def test_an_answer_ends_before_a_stop_string(target: Adapter) -> None:
    chunks = await run(target, ask(target, message("user", "Ana: Speak."), stop=("no more",)))
    assert text_of(chunks) == "The sea says 鱼🌊\u2028and "
    assert reason_of(chunks) == {"kind": "stop"}


async def test_a_request_that_is_too_long_is_told_by_its_code(target: Adapter) -> None:
    chunks = await run(target, ask(target, message("user", "long " * CONTEXT)))
    failure = reason_of(chunks)["failure"]
    assert (failure["code"], failure["status"]) == ("CONTEXT_WINDOW_EXCEEDED", 400)


async def test_a_picture_for_a_model_without_eyes_is_no_passing_trouble(url: str) -> None:
    # given a catalogue that is wrong about the model
    catalogue = Catalogue.parse('[[model]]\nmodel = "tiny"\nmodalities = ["text", "image"]')
    adapter = OpenAiAdapter("llama.cpp", ServerSettings(url), catalogue)
    attachment = {"attachmentId": "a", "mediaType": "image/png", "bytes": 8, "width": 1, "height": 1}
    shown = message("user", "") | {"content": [{"type": "image", "attachment": attachment}]}
    request = replace(ask(adapter, shown), images={"a": b"\x89PNG\r\n\x1a\n"})
    assert reason_of(await run(adapter, request))["failure"]["code"] == "UNSUPPORTED_CONTENT"
    await adapter.aclose()


async def test_a_stop_in_mid_answer_leaves_the_server_free_for_the_next(target: Adapter) -> None:
    endless = ask(target, message("user", "Ana: Sing;"), max_tokens=1500)
    chunks = await run(target, endless, CancelToken(), stop_after=3)
    assert reason_of(chunks)["kind"] == "aborted"
    assert len(chunks) == 4
    # the server has one slot: it answers because the first call is over
    again = await run(target, ask(target, message("user", "Ana: Speak.")))
    assert reason_of(again) == {"kind": "stop"}
