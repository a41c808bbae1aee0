"""Characters that a server has cut in two (spec agent-loop 5.11, and what gateways make of UTF-16)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.codec import loads
from engine.llm.completion import CompletionReader
from engine.llm.halves import PayloadReader
from tests.engine.llm.server import DONE, adapter, part, reason_of, replies, run, serve, text_of

FISH = "🐟"  # U+1F41F: D83D DC1F


def units(text: str) -> list[str]:
    """Its UTF-16 code units, halves by themselves."""
    raw = text.encode("utf-16-le")
    return [raw[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(raw), 2)]


def payload(text: str) -> str:
    """A part of a stream, escaped as servers escape that speak ASCII."""
    return json.dumps({"choices": [{"delta": {"content": text}}]})


@given(
    st.text(st.sampled_from('a"\\u鱼🐟👩‍👩 \n') | st.characters(exclude_categories=["Cs"]), max_size=20),
    st.data(),
)
def test_wherever_the_text_is_cut_it_is_whole_again(text: str, data: st.DataObject) -> None:
    pieces, rest = [], units(text)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        pieces.append("".join(rest[:size]))
        rest = rest[size:]
    reader = PayloadReader()
    read = [reader.read(payload(piece))["choices"][0]["delta"]["content"] for piece in pieces]
    assert "".join(read) == text


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["a\ud83d", "b"], "ab"),  # it ends a string, and nothing comes of it
        (["a\ud83db"], "a\ufffdb"),
        (["\udc1fb"], "\ufffdb"),
        (["\ud83d\ud83d", "\udc1f"], "\ufffd🐟"),
        (["\ud83d", "x\udc1f"], "x\ufffd"),  # not right behind it
        (["\ud83d", "whole", "\udc1f"], "whole\ufffd"),
        (["\ud83d", "\udc1f\udc1f"], "🐟\ufffd"),
    ],
)
def test_halves_that_have_lost_each_other(texts: list[str], said: str) -> None:
    reader = PayloadReader()
    assert "".join(reader.read(json.dumps([text]))[0] for text in texts) == said


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a": \\ud83d}', '"\\u12"', '"\\', "[" * 5000, '{"a": NaN}', '"\ud83d"', "\\ud83d\\udc1f"],
)
def test_what_is_no_json_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        PayloadReader().read(text)


@given(st.recursive(st.none() | st.integers(-9, 9) | st.text(), lambda inner: st.lists(inner), max_leaves=9))
def test_sound_payloads_are_read_as_ever(value: Any) -> None:
    text = json.dumps(value)
    try:
        expected = loads(text)
    except ValueError:
        return
    assert PayloadReader().read(text) == expected


def test_a_cut_emoji_in_reasoning_and_in_text() -> None:
    reader = CompletionReader()
    parts = [
        {"reasoning_content": "hm \ud83d"},
        {"reasoning_content": "\udc1f."},
        {"content": "A \ud83d"},
        {"content": "\udc1f!"},
    ]
    chunks = [chunk for delta in parts for chunk in reader.feed(json.dumps({"choices": [{"delta": delta}]}))]
    chunks += reader.feed("[DONE]") + reader.close()
    blocks = [chunk["block"]["text"] for chunk in chunks if chunk["type"] == "block-end"]
    assert blocks == [f"hm {FISH}.", f"A {FISH}!"]


async def test_over_a_real_connection() -> None:
    pieces = [b"data: " + payload(text).encode() + b"\n\n" for text in ("A \ud83d", "\udc1f", " jumps.")]
    async with serve(replies(*pieces, part(finish="stop"), DONE)) as server:
        chunks = await run(adapter(server.url))
    assert (text_of(chunks), reason_of(chunks)) == ("A 🐟 jumps.", {"kind": "stop"})
