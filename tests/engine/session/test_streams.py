"""Stream records and block assembly (session spec 1.5, 11)."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.session import BlockAssembler, StreamRecorder, expand, record

Chunks = list[tuple[int, dict[str, Any]]]


def text(delta: str, index: int = 0) -> dict[str, Any]:
    return {"type": "text-delta", "index": index, "text": delta}


def thought(delta: str, index: int = 0) -> dict[str, Any]:
    return {"type": "reasoning-delta", "index": index, "text": delta}


def tool(call_id: str, arguments: str, index: int = 0, **name: str) -> dict[str, Any]:
    return {"type": "tool-call-delta", "index": index, "id": call_id, **name, "argumentsDelta": arguments}


def start(kind: str, index: int = 0) -> dict[str, Any]:
    return {"type": "block-start", "index": index, "blockType": kind}


def end(block: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": "block-end", "index": index, "block": block}


def finish(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "finish", "reason": {"kind": kind}, **more}


def assembled(*chunks: dict[str, Any]) -> BlockAssembler:
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.add(chunk)
    return assembler


words = st.text(max_size=3)
indexes = st.integers(0, 2)
chunks = st.one_of(
    st.builds(text, words, indexes),
    st.builds(thought, words, indexes),
    st.builds(tool, words, words, indexes),
    st.builds(lambda c, a, i, n: tool(c, a, i, name=n), words, words, indexes, words),
    st.builds(lambda d, i: {**text(d, i), "extra": 1}, words, indexes),
    st.builds(start, st.sampled_from(["text", "reasoning", "tool-call", "image"]), indexes),
    st.builds(lambda d, i: end({"type": "text", "text": d}, i), words, indexes),
    st.just({"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2}}),
    st.builds(finish, st.sampled_from(["stop", "max-tokens"])),
)


@given(st.lists(st.tuples(st.integers(-5, 5), chunks)))
def test_expanding_gives_back_exactly_what_was_recorded(stream: Chunks) -> None:
    assert list(expand(record(stream))) == stream


@given(st.lists(st.tuples(st.integers(-5, 5), chunks)))
def test_no_two_neighbouring_runs_could_be_one(stream: Chunks) -> None:
    records = record(stream)

    for earlier, later in pairwise(records):
        if later["type"] != "chunk":
            key = ("type", "index", "id", "name")
            assert [earlier.get(k) for k in key] != [later.get(k) for k in key]


def test_adjacent_deltas_become_a_run_with_their_gaps() -> None:
    records = record([(10, text("He")), (12, text("llo")), (11, text("")), (20, text("x", 1))])

    assert records == [
        {"type": "text-chunks", "time0": 10, "index": 0, "dt": [2, -1], "texts": ["He", "llo", ""]},
        {"type": "text-chunks", "time0": 20, "index": 1, "dt": [], "texts": ["x"]},
    ]


def test_records_taken_early_do_not_grow() -> None:
    recorder = StreamRecorder()
    recorder.add(1, text("a"))
    early = recorder.records()

    recorder.add(2, text("b"))

    assert early[0]["texts"] == ["a"]
    assert recorder.records()[0]["texts"] == ["a", "b"]


def test_blocks_stand_in_the_order_they_began() -> None:
    assembler = assembled(text("second", 1), thought("first?", 0), text(" more", 1))

    assert [block["text"] for block in assembler.blocks()] == ["second more", "first?"]


def test_the_end_of_a_block_is_final() -> None:
    final = {"type": "text", "text": "final"}

    assembler = assembled(text("par"), end(final), text("late"), end({"type": "text", "text": "other"}))

    assert assembler.blocks() == [final]


def test_the_first_kind_stays() -> None:
    assert assembled(text("a"), thought("b"), text("c")).blocks() == [{"type": "text", "text": "ac"}]


@pytest.mark.parametrize(
    ("stream", "block"),
    [
        ([start("tool-call", 2)], ("call-2", "", "")),
        ([tool("c1", "{", name="dice"), tool("c2", "}", name="")], ("c2", "dice", "{}")),
        ([tool("c1", "{}", name="dice"), tool("c1", "", name="sword")], ("c1", "sword", "{}")),
    ],
)
def test_the_last_id_and_the_last_name_of_a_call_win(
    stream: list[dict[str, Any]], block: tuple[str, str, str]
) -> None:
    (found,) = assembled(*stream).blocks()

    assert (found["id"], found["name"], found["arguments"]) == block


def test_a_cut_answer_loses_its_calls_and_what_the_adapter_said_of_them() -> None:
    whole = assembled(text("a"), tool("c", "{", 1), finish("tool-calls", replayState={"k": 1}))
    cut = assembled(text("a"), tool("c", "{", 1), finish("max-tokens", replayState={"k": 1}))

    assert (len(whole.blocks()), whole.replay_state) == (2, {"k": 1})
    assert (cut.blocks(), cut.replay_state) == ([{"type": "text", "text": "a"}], None)


def test_an_interrupted_answer_keeps_what_can_be_seen() -> None:
    assembler = assembled(thought("hm"), text(" \n", 1), tool("c", "{}", 2), text("half", 3))

    assert [block["text"] for block in assembler.interrupted_blocks()] == ["hm", "half"]


def test_without_a_finish_the_stream_stopped() -> None:
    assembler = assembled()

    assert (assembler.blocks(), assembler.usage, assembler.finish) == ([], None, {"kind": "stop"})
