"""Streams in the shape that each server sends, cut wherever a network may cut them.

The files in `recorded/` were written from the servers' published formats, except llama.cpp's, which
were taken from the program itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.llm import Chunk, LlmFailure
from engine.llm import chunks as make
from engine.llm.anthropic.events import MessageReader
from engine.llm.boundary import StreamGrammar
from engine.llm.completion import CompletionReader
from engine.llm.server import AnswerReader
from engine.llm.sse import SseParser
from tests.engine.llm.server import adapter, claude, replies, run, serve

FOLDER = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class Outcome:
    """What a recording must come to."""

    blocks: Sequence[dict[str, Any]]
    usage: dict[str, int] | None
    finish: str  # kind, or the failure's code
    replay_state: Any = None


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def reasoning(words: str) -> dict[str, Any]:
    return {"type": "reasoning", "text": words}


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}


OUTCOMES = {
    "openai": Outcome(
        [text("“Come in,” she says. 🌊")],
        {"inputTokens": 176, "outputTokens": 9, "cachedInputTokens": 1024},
        "stop",
    ),
    "openai_tools": Outcome(
        [
            call("call_one", "dice", '{"expression":"2d6"}'),
            call("call_two", "recall", '{"query":"the ferryman’s name"}'),
        ],
        {"inputTokens": 88, "outputTokens": 41},
        "tool-calls",
    ),
    "deepseek": Outcome(
        [reasoning("潮水要来了。"), text("“快走！”")],
        {"inputTokens": 128, "outputTokens": 17, "cachedInputTokens": 512, "reasoningTokens": 9},
        "stop",
    ),
    "openrouter": Outcome(
        [reasoning("He lies."), text("“Of course,” he smiles.")],
        {"inputTokens": 50, "outputTokens": 20, "reasoningTokens": 6},
        "stop",
        {
            "adapter": "openai",
            "reasoningDetails": [
                {
                    "type": "reasoning.text",
                    "text": "He lies.",
                    "signature": "c2lnbmVk",
                    "format": "anthropic-claude-v1",
                    "index": 0,
                }
            ],
        },
    ),
    "openrouter_error": Outcome([], None, "SERVER"),
    "ollama_tools": Outcome(
        [
            reasoning("A roll, then."),
            call("call_a", "dice", '{"expression":"1d20"}'),
            call("call_b", "dice", '{"expression":"1d4"}'),
        ],
        {"inputTokens": 30, "outputTokens": 22},
        "tool-calls",
    ),
    "vllm": Outcome(
        [reasoning("Hm"), text("\n\nRain.")], {"inputTokens": 12, "outputTokens": 4}, "max-tokens"
    ),
    "koboldcpp": Outcome([text("The ferry waits\u2028here.")], None, "stop"),
    "llamacpp_error": Outcome([], None, "SERVER"),
    "anthropic": Outcome(
        [text("“Come in,” she says. 🌊")],
        {"inputTokens": 125, "outputTokens": 15, "cachedInputTokens": 2048},
        "stop",
    ),
    "anthropic_thinking": Outcome(
        [
            reasoning("He asks\nfor luck. "),
            text("Let fate decide."),
            call("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "dice", '{"expression": "1d20"}'),
            call("toolu_02", "look", "{}"),
        ],
        {"inputTokens": 472, "outputTokens": 89},
        "tool-calls",
        {
            "adapter": "anthropic",
            "blocks": [
                {"signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},
                {"opaque": {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"}},
                {},
                {},
                {},
            ],
        },
    ),
    "anthropic_error": Outcome([], None, "SERVER"),
    "anthropic_llamacpp": Outcome(
        [reasoning("She wonders"), text("Yes, indeed")],
        {"inputTokens": 1, "outputTokens": 5, "cachedInputTokens": 269},
        "stop",
    ),
}
NAMES = sorted(OUTCOMES)


def recording(name: str) -> bytes:
    return (FOLDER / f"{name}.sse").read_bytes()


def read(name: str, pieces: Sequence[bytes]) -> list[Chunk]:
    """The chunks of a recording that arrives in `pieces`."""
    reader: AnswerReader = MessageReader() if name.startswith("anthropic") else CompletionReader()
    parser, out = SseParser(), []
    try:
        for piece in pieces:
            for event in parser.feed(piece):
                out += reader.feed(event.data, event.event)
        return out + reader.close()
    except LlmFailure as error:
        return [*out, make.failed(error.failure)]


def outcome(chunks: list[Chunk]) -> Outcome:
    usages = [chunk["usage"] for chunk in chunks if chunk["type"] == "usage"]
    reason = chunks[-1]["reason"]
    return Outcome(
        [chunk["block"] for chunk in sorted(chunks, key=lambda c: c.get("index", -1)) if "block" in chunk],
        usages[0] if usages else None,
        reason["failure"]["code"] if "failure" in reason else reason["kind"],
        chunks[-1].get("replayState"),
    )


def test_every_recording_is_tested() -> None:
    assert sorted(file.stem for file in FOLDER.glob("*.sse")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_comes_to_what_it_says(name: str) -> None:
    chunks = read(name, [recording(name)])
    assert outcome(chunks) == OUTCOMES[name]
    grammar = StreamGrammar()
    for chunk in chunks:
        grammar.check(chunk)


@pytest.mark.parametrize("name", NAMES)
def test_one_cut_at_any_byte_changes_nothing(name: str) -> None:
    whole = recording(name)
    expected = read(name, [whole])
    for at in range(1, len(whole)):
        assert read(name, [whole[:at], whole[at:]]) == expected, at


@pytest.mark.parametrize("ending", [b"\r\n", b"\r"])
@pytest.mark.parametrize("name", NAMES)
def test_other_line_ends_change_nothing(name: str, ending: bytes) -> None:
    whole = recording(name)
    other = whole.replace(b"\n", ending)
    assert read(name, [bytes([byte]) for byte in other]) == read(name, [whole])


@given(st.sampled_from(NAMES), st.lists(st.floats(0, 1), max_size=12))
def test_any_cuts_change_nothing(name: str, cuts: list[float]) -> None:
    whole = recording(name)
    places = sorted({0, len(whole), *(int(cut * len(whole)) for cut in cuts)})
    pieces = [whole[start:end] for start, end in itertools.pairwise(places)]
    assert read(name, pieces) == read(name, [whole])


@given(st.sampled_from(NAMES), st.floats(0, 1))
def test_a_stream_that_ends_early_is_never_a_whole_answer_without_its_finish(name: str, cut: float) -> None:
    """Always: a prefix ends in an error, unless the server's own finish is in it; and what it brought
    is a prefix of what the whole brings."""
    whole = recording(name)
    begun = whole[: int(cut * len(whole))]
    chunks = read(name, [begun])
    words = [chunk for chunk in chunks if chunk["type"].endswith("-delta")]
    all_words = [chunk for chunk in read(name, [whole]) if chunk["type"].endswith("-delta")]
    assert words == all_words[: len(words)]
    ends = (b'"finish_reason":"', b'"finish_reason": "', b'"stop_reason":"')
    if not any(mark in begun for mark in ends):
        assert outcome(chunks).finish in ("TRANSPORT", "SERVER")


@pytest.mark.parametrize("name", NAMES)
async def test_byte_by_byte_over_a_real_connection(name: str) -> None:
    whole = recording(name)
    async with serve(replies(*(bytes([byte]) for byte in whole))) as server:
        target = claude(server.url) if name.startswith("anthropic") else adapter(server.url)
        chunks = await run(target)
    assert outcome(chunks) == OUTCOMES[name]
