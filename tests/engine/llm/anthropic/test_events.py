"""Anthropic's stream events: what servers send, and what they send wrong."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.codec import dumps
from engine.llm import Chunk, LlmFailure
from engine.llm.anthropic.events import MessageReader, read_usage
from engine.llm.boundary import StreamGrammar


def reader(**options: Any) -> MessageReader:
    numbers = itertools.count(1)
    return MessageReader(new_call_id=lambda: f"new-{next(numbers)}", **options)


def read(*payloads: Any, stopped: bool = True, **options: Any) -> list[Chunk]:
    """Feed the payloads (JSON values or raw texts), then message_stop, then the end."""
    target = reader(**options)
    out: list[Chunk] = []
    for payload in [*payloads, *([{"type": "message_stop"}] if stopped else [])]:
        out += target.feed(payload if isinstance(payload, str) else dumps(payload).decode())
    return out + target.close()


def start(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str | None, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def said(index: int, words: str) -> list[dict[str, Any]]:
    return [start(index, "text", text=""), delta(index, "text", text=words), stop(index)]


def blocks(chunks: list[Chunk]) -> list[Any]:
    return [chunk["block"] for chunk in chunks if chunk["type"] == "block-end"]


def finish(chunks: list[Chunk]) -> Any:
    return chunks[-1]["reason"]


def test_text_streams_and_ends_with_usage_before_the_finish() -> None:
    assert read(
        {"type": "message_start", "message": {"usage": {"input_tokens": 12, "output_tokens": 1}}},
        start(0, "text", text=""),
        {"type": "ping"},
        delta(0, "text", text="He"),
        delta(0, "text", text="llo"),
        stop(0),
        end("end_turn", output_tokens=2),
    ) == [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": "He"},
        {"type": "text-delta", "index": 0, "text": "llo"},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "Hello"}},
        {"type": "usage", "usage": {"inputTokens": 12, "outputTokens": 2}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]


def test_counts_of_start_and_end_are_merged_and_none_is_overwritten_by_less() -> None:
    first = {
        "input_tokens": 25,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 7,
        "output_tokens": 1,
    }
    chunks = read(
        {"type": "message_start", "message": {"usage": first}},
        *said(0, "Hi"),
        end(None, output_tokens=3),
        end("end_turn", input_tokens=0, cache_read_input_tokens=None, output_tokens=9, odd=True),
    )
    assert chunks[-2]["usage"] == {"inputTokens": 35, "outputTokens": 9, "cachedInputTokens": 7}
    assert read_usage({}) == {"inputTokens": 0, "outputTokens": 0}


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "max-tokens"),
        ("model_context_window_exceeded", "max-tokens"),
        ("tool_use", "stop"),  # the blocks decide: there was no call
    ],
)
def test_stop_reasons(reason: str, kind: str) -> None:
    assert finish(read(*said(0, "Hi"), end(reason)))["kind"] == kind


@pytest.mark.parametrize(("reason", "code"), [("refusal", "REFUSAL"), ("new_reason", "NEW_REASON")])
def test_other_stop_reasons_are_errors(reason: str, code: str) -> None:
    assert finish(read(*said(0, "Hi"), end(reason)))["failure"]["code"] == code


def test_a_call_in_fragments_and_one_without_arguments() -> None:
    chunks = read(
        start(0, "tool_use", id="t1", name="dice", input={}),
        delta(0, "input_json", partial_json=""),
        delta(0, "input_json", partial_json='{"si'),
        delta(0, "input_json", partial_json='des":6}'),
        stop(0),
        start(1, "tool_use", id="t2", name="look", input={}),
        stop(1),
        end("tool_use"),
    )
    assert [(block["id"], block["name"], block["arguments"]) for block in blocks(chunks)] == [
        ("t1", "dice", '{"sides":6}'),
        ("t2", "look", "{}"),
    ]
    assert [chunk for chunk in chunks if chunk["type"] == "tool-call-delta"][:2] == [
        {"type": "tool-call-delta", "index": 0, "id": "t1", "name": "dice", "argumentsDelta": ""},
        {"type": "tool-call-delta", "index": 0, "id": "t1", "argumentsDelta": '{"si'},
    ]
    assert finish(chunks)["kind"] == "tool-calls"


def test_arguments_that_come_whole_with_the_start() -> None:
    chunks = read(start(0, "tool_use", id="t", name="dice", input={"sides": 6}), stop(0), end("tool_use"))
    assert blocks(chunks)[0]["arguments"] == '{"sides":6}'


def test_calls_without_an_id_or_with_the_same_get_ids_of_their_own() -> None:
    chunks = read(
        start(0, "tool_use", name="dice"), start(1, "tool_use", id="t"), start(2, "tool_use", id="t"),
        stop(0), stop(1), stop(2), end("tool_use"),
    )  # fmt: skip
    assert [block["id"] for block in blocks(chunks)] == ["new-1", "t", "new-2"]


def test_a_signature_is_kept_for_the_next_call() -> None:
    chunks = read(
        start(0, "thinking", thinking="", signature=""),
        delta(0, "thinking", thinking="hm "),
        delta(0, "signature", signature="c2"),
        delta(0, "signature", signature="ln"),
        stop(0),
        *said(1, "Yes."),
        end("end_turn"),
    )
    assert blocks(chunks) == [{"type": "reasoning", "text": "hm "}, {"type": "text", "text": "Yes."}]
    assert chunks[-1]["replayState"] == {"adapter": "anthropic", "blocks": [{"signature": "c2ln"}, {}]}


def test_thinking_that_nobody_may_read_is_kept_opaque_in_its_place() -> None:
    chunks = read(
        start(0, "redacted_thinking", data="eHg="), stop(0),
        start(1, "thinking", thinking=""), delta(1, "signature", signature="b21pdA=="), stop(1),
        *said(2, "Yes."),
        end("end_turn"),
    )  # fmt: skip
    assert blocks(chunks) == [{"type": "text", "text": "Yes."}]
    assert chunks[-1]["replayState"]["blocks"] == [
        {"opaque": {"type": "redacted_thinking", "data": "eHg="}},
        {"opaque": {"type": "thinking", "thinking": "", "signature": "b21pdA=="}},
        {},
    ]


def test_an_answer_without_thinking_keeps_nothing() -> None:
    assert "replayState" not in read(*said(0, "Hi"), end("end_turn"))[-1]


def test_blocks_that_overlap_are_kept_apart() -> None:
    chunks = read(
        start(0, "thinking", thinking=""), delta(0, "thinking", thinking="hm"),
        start(1, "text", text=""), delta(1, "text", text="Yes"),
        delta(0, "signature", signature="c2ln"),
        delta(1, "text", text="."),
        stop(0), stop(1), end("end_turn"),
    )  # fmt: skip
    assert blocks(chunks) == [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Yes."}]
    assert chunks[-1]["replayState"]["blocks"] == [{"signature": "c2ln"}, {}]


def test_text_of_white_space_alone_is_no_block_and_before_words_it_stays() -> None:
    assert blocks(read(*said(0, "\n\n"), *said(1, "Hi"), end("end_turn"))) == [{"type": "text", "text": "Hi"}]
    chunks = read(
        start(0, "text", text=""), delta(0, "text", text="\n"), delta(0, "text", text="Hi"), stop(0),
        end("end_turn"),
    )  # fmt: skip
    assert blocks(chunks) == [{"type": "text", "text": "\nHi"}]


@pytest.mark.parametrize("payloads", [[], said(0, ""), [start(0, "redacted_thinking", data="eHg=")]])
def test_an_answer_of_nothing_is_an_error(payloads: list[Any]) -> None:
    assert finish(read(*payloads, end("end_turn")))["failure"]["code"] == "EMPTY_RESPONSE"


def test_a_stop_reason_makes_up_for_a_missing_end_and_the_other_way_round() -> None:
    assert finish(read(*said(0, "Hi"), end("end_turn"), stopped=False))["kind"] == "stop"
    assert finish(read(*said(0, "Hi")))["kind"] == "stop"
    assert finish(read(*said(0, "Hi"), "[DONE]", stopped=False))["kind"] == "stop"


def test_without_both_the_answer_is_truncated_and_what_was_counted_counts() -> None:
    chunks = read(
        {"type": "message_start", "message": {"usage": {"input_tokens": 12}}},
        start(0, "text", text=""),
        delta(0, "text", text="Hi"),
        stopped=False,
    )
    assert finish(chunks)["failure"]["code"] == "TRANSPORT"
    assert chunks[-2]["usage"] == {"inputTokens": 12, "outputTokens": 0}
    assert blocks(chunks) == []


def test_a_block_that_nobody_ended_ends_with_the_answer() -> None:
    chunks = read(start(0, "text", text="H"), delta(0, "text", text="i"), end("end_turn"))
    assert blocks(chunks) == [{"type": "text", "text": "Hi"}]


def test_a_block_that_starts_again_ends_the_one_before() -> None:
    chunks = read(start(0, "text", text="a"), start(0, "text", text="b"), stop(0), end("end_turn"))
    assert blocks(chunks) == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


def test_what_is_not_known_is_read_over() -> None:
    chunks = read(
        {"type": "novelty"},
        {"type": "message_start", "message": None},
        start(7, "server_tool_use", id="s", name="search"),
        delta(7, "input_json", partial_json="{}"),
        stop(7),
        {"type": "content_block_start", "index": "x", "content_block": {"type": "text"}},
        {"type": "content_block_start", "index": 0},
        start(0, "text"),
        {"type": "content_block_delta", "index": 0, "delta": None},
        delta(0, "thinking", thinking="not here"),
        delta(0, "citations", citation={}),
        delta(0, "text", text=3),
        delta(0, "text", text="Hi"),
        delta(5, "text", text="nowhere"),
        stop(0),
        stop(0),
        {"type": "message_delta", "delta": None, "usage": None},
        end("end_turn"),
    )
    assert blocks(chunks) == [{"type": "text", "text": "Hi"}]
    assert finish(chunks)["kind"] == "stop"


@pytest.mark.parametrize("text", ['{"type": ', "upstream timed out", "[1]", "null"])
def test_a_garbled_payload_is_a_transport_failure(text: str) -> None:
    with pytest.raises(LlmFailure) as caught:
        reader().feed(text)
    assert caught.value.failure.code == "TRANSPORT"


@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        ("overloaded_error", "Overloaded", "SERVER"),
        ("api_error", "Internal server error", "SERVER"),
        ("rate_limit_error", "Number of request tokens has exceeded your limit", "RATE_LIMIT"),
        ("authentication_error", "invalid x-api-key", "AUTH"),
        ("billing_error", "There is an issue with your account", "QUOTA"),
        ("invalid_request_error", "prompt is too long: 208310 tokens > 200000", "CONTEXT_WINDOW_EXCEEDED"),
        ("invalid_request_error", "messages: field required", "INVALID_REQUEST"),
    ],
)
def test_an_error_event_is_classified_like_an_answer(kind: str, text: str, code: str) -> None:
    with pytest.raises(LlmFailure) as caught:
        reader().feed(dumps({"type": "error", "error": {"type": kind, "message": text}}).decode(), "error")
    assert caught.value.failure.code == code


def test_an_event_named_error_is_one_whatever_is_in_it() -> None:
    with pytest.raises(LlmFailure):
        reader().feed('{"message": "Overloaded"}', "error")


def test_a_whole_message() -> None:
    payload = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "I roll."},
            {"type": "tool_use", "id": "t", "name": "dice", "input": {"sides": 6}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    target = reader()
    chunks = target.feed_whole(payload)
    assert chunks is not None and target.done
    chunks += target.close()
    assert [block["type"] for block in blocks(chunks)] == ["reasoning", "text", "tool-call"]
    assert chunks[-2]["usage"] == {"inputTokens": 3, "outputTokens": 4}
    assert chunks[-1]["replayState"]["blocks"] == [{"signature": "c2ln"}, {}, {}]
    assert finish(chunks) == {"kind": "tool-calls"}
    assert reader().feed_whole({"ok": True}) is None
    with pytest.raises(LlmFailure):
        reader().feed_whole({"type": "error", "error": {"type": "api_error", "message": "no"}})


def test_nothing_is_read_after_the_end() -> None:
    target = reader()
    target.feed('{"type": "message_stop"}')
    assert target.done
    assert target.feed("proxy error: not json") == []


def test_a_runaway_answer_is_cut_like_one_that_hit_its_limit() -> None:
    target = reader(limit=10)
    chunks = target.feed(dumps(start(0, "text", text="123456789012345")).decode())
    assert target.done
    chunks += target.close()
    assert blocks(chunks) == [{"type": "text", "text": "1234567890"}]
    assert finish(chunks)["kind"] == "max-tokens"


INDEX = st.integers(0, 2)
WORDS = st.sampled_from(["", " ", "x", "{}"])
PAYLOAD = st.one_of(
    st.builds(
        lambda index, kind, words: start(
            index, kind, text=words, thinking=words, signature=words, data=words, id=words, name=words
        ),
        INDEX,
        st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "novelty"]),
        WORDS,
    ),
    st.builds(
        lambda index, kind, words: delta(
            index, kind, text=words, thinking=words, signature=words, partial_json=words
        ),
        INDEX,
        st.sampled_from(["text", "thinking", "signature", "input_json", "novelty"]),
        WORDS,
    ),
    st.builds(stop, INDEX),
    st.builds(end, st.sampled_from([None, "end_turn", "tool_use", "max_tokens", "x"])),
    st.just({"type": "ping"}),
)


@given(st.lists(PAYLOAD, max_size=12), st.booleans())
def test_whatever_comes_the_stream_keeps_the_grammar(payloads: list[Any], stopped: bool) -> None:
    """Always: one finish, at the end; deltas only in open blocks; ids of calls all different; the end of a
    block holds what its deltas brought; the replay state fits the blocks."""
    chunks = read(*payloads, stopped=stopped)
    grammar = StreamGrammar()
    for chunk in chunks:
        grammar.check(chunk)
    assert grammar.finished
    assert [chunk["type"] for chunk in chunks].count("finish") == 1
    ids = [block["id"] for block in blocks(chunks) if block["type"] == "tool-call"]
    assert len(ids) == len(set(ids))
    for chunk in chunks:
        if chunk["type"] == "block-end" and chunk["block"]["type"] != "tool-call":
            parts = [c["text"] for c in chunks if c.get("index") == chunk["index"] and "text" in c]
            assert chunk["block"]["text"] == "".join(parts)
    if state := chunks[-1].get("replayState"):
        assert sum("opaque" not in entry for entry in state["blocks"]) == len(blocks(chunks))
