"""Pictures on the wire, byte by byte, for each kind of server, as the shipped catalogue asks for it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from engine.llm import AnthropicAdapter, Catalogue, LlmRequest, OpenAiAdapter, ServerSettings
from tests.engine.llm.server import DONE, ask, message, part, replies, run, serve

SHIPPED = Path(__file__).parents[3] / "config" / "models.toml"
OWN = """
[[model]]
model = "eyes*"
modalities = ["text", "image"]
"""

# Pixels are nobody's business here; the first bytes are.
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(7))
JPEG = b"\xff\xd8\xff\xe0" + bytes(range(9))
WEBP = b"RIFF\x10\0\0\0WEBPVP8 "
PNG_64, JPEG_64 = base64.b64encode(PNG), base64.b64encode(JPEG)

TURN = (
    b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1}}}\n\n'
    b"event: content_block_start\n"
    b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Yes."}}\n\n'
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    b"event: message_delta\n"
    b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)


def image(key: str, data: bytes, kind: str) -> dict[str, Any]:
    attachment = {"attachmentId": key, "mediaType": kind, "bytes": len(data), "width": 3, "height": 2}
    return {"type": "image", "attachment": attachment | {"name": f"{key}.x"}}


def looking(provider: str, model: str) -> LlmRequest:
    """Ana shows two pictures, Ben a third one whose bytes are gone."""
    one = message("user", "Ana: Look.")
    one["content"] += [image("a", PNG, "image/png"), image("b", JPEG, "image/jpeg")]
    two = message("user", "Ben:")
    two["content"] += [image("c", PNG, "image/png")]
    request = ask(model, provider)
    return replace(request, messages=(one, two), images={"a": PNG, "b": JPEG})


async def sent(provider: str, model: str, request: LlmRequest | None = None) -> bytes:
    """The body of the call, as it left."""
    raw: list[bytes] = []
    claude = provider == "anthropic"
    reply = replies(TURN) if claude else replies(part("Yes."), part(finish="stop"), DONE)

    async def answer(asked: web.Request) -> web.StreamResponse:
        raw.append(await asked.read())
        return await reply(asked)

    async with serve(answer) as server:
        catalogue = Catalogue.load(SHIPPED).extended(Catalogue.parse(OWN))
        kind = AnthropicAdapter if claude else OpenAiAdapter
        adapter = kind(provider, ServerSettings(base_url=server.url, api_key="k"), catalogue)
        chunks = await run(adapter, request or looking(provider, model))
        assert chunks[-1]["reason"] == {"kind": "stop"}
    (body,) = raw
    return body


OPENAI = (
    b'[{"role":"user","content":[{"type":"text","text":"Ana: Look."},'
    b'{"type":"image_url","image_url":{"url":"data:image/png;base64,' + PNG_64 + b'"}},'
    b'{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,'
    + JPEG_64
    + b'"}}]},'
    + '{"role":"user","content":"Ben:\\n\\n[image: c.x, 3×2]"}]'.encode()
)
NAMED = (
    '[{"role":"user","content":"Ana: Look.\\n\\n[image: a.x, 3×2]\\n\\n[image: b.x, 3×2]"},'
    '{"role":"user","content":"Ben:\\n\\n[image: c.x, 3×2]"}]'
).encode()


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-4.1-mini"),
        ("openai", "gpt-5.2"),
        ("openrouter", "google/gemini-2.5-flash"),
        ("openrouter", "anthropic/claude-sonnet-4.5"),
        ("llama.cpp", "eyes"),
        ("koboldcpp", "eyes"),
        ("vllm", "eyes"),
        ("ollama", "eyes"),
    ],
)
async def test_a_server_of_openais_kind_gets_data_addresses(provider: str, model: str) -> None:
    assert b'"messages":' + OPENAI in await sent(provider, model)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("deepseek", "deepseek-chat"),
        ("openai", "deepseek-reasoner"),
        ("openrouter", "deepseek/deepseek-chat"),
        ("openrouter", "openai/gpt-oss-120b"),
        ("openai", "o3-mini"),
        ("llama.cpp", "mistral-small"),
    ],
)
async def test_a_model_without_eyes_gets_the_names_and_plain_strings(provider: str, model: str) -> None:
    body = await sent(provider, model)
    assert b'"messages":' + NAMED in body
    assert b"image_url" not in body
    assert PNG_64 not in body


async def test_anthropic_gets_sources_and_one_turn_for_both_speakers() -> None:
    assert (
        b'"messages":[{"role":"user","content":[{"type":"text","text":"Ana: Look."},'
        b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"' + PNG_64 + b'"}},'
        b'{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"'
        + JPEG_64
        + b'"}},'
        + '{"type":"text","text":"Ben:"},{"type":"text","text":"[image: c.x, 3×2]"}]}]'.encode()
    ) in await sent("anthropic", "claude-haiku-4-5")


@pytest.mark.parametrize(
    ("provider", "kind"),
    [("llama.cpp", "named"), ("ollama", "named"), ("vllm", "shown")],
)
async def test_a_format_that_a_program_does_not_read_is_named_to_it(provider: str, kind: str) -> None:
    shown = message("user", "Ana:")
    shown["content"] += [image("w", WEBP, "image/webp")]
    request = replace(ask("eyes", provider), messages=(shown,), images={"w": WEBP})
    body = await sent(provider, "eyes", request)
    assert (b"data:image/webp;base64," in body) is (kind == "shown")
    assert ("[image: w.x, 3×2]".encode() in body) is (kind == "named")


async def test_a_label_that_lies_about_the_bytes_is_not_believed() -> None:
    shown = message("user", "Ana:")
    shown["content"] += [image("a", JPEG, "image/png")]
    images: Mapping[str, bytes] = {"a": JPEG}
    body = await sent("openai", "gpt-4.1", replace(ask("gpt-4.1"), messages=(shown,), images=images))
    assert b'"url":"data:image/jpeg;base64,' in body
