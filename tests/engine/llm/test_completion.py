"""Completion payloads: what servers send, and what they send wrong."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.codec import dumps
from engine.llm import Chunk, LlmFailure
from engine.llm.boundary import StreamGrammar
from engine.llm.completion import CompletionReader


def reader(**options: Any) -> CompletionReader:
    numbers = itertools.count(1)
    return CompletionReader(new_call_id=lambda: f"new-{next(numbers)}", **options)


def read(*payloads: Any, done: bool = True, **options: Any) -> list[Chunk]:
    """Feed the payloads (JSON values or raw texts), then the end marker, then the end."""
    target = reader(**options)
    texts = [payload if isinstance(payload, str) else dumps(payload).decode() for payload in payloads]
    chunks = [chunk for text in [*texts, *(["[DONE]"] if done else [])] for chunk in target.feed(text)]
    return chunks + target.close()


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(index: int | None, call_id: str | None = None, name: str | None = None, arguments: Any = "") -> Any:
    fragment: dict[str, Any] = {"function": {"arguments": arguments}}
    if index is not None:
        fragment["index"] = index
    if call_id is not None:
        fragment["id"] = call_id
    if name is not None:
        fragment["function"]["name"] = name
    return delta(tool_calls=[fragment])


def blocks(chunks: list[Chunk]) -> list[Any]:
    return [chunk["block"] for chunk in chunks if chunk["type"] == "block-end"]


def end(chunks: list[Chunk]) -> Any:
    return chunks[-1]["reason"]


def test_text_streams_and_ends_with_usage_before_the_finish() -> None:
    chunks = read(
        delta(role="assistant", content=""),
        delta(content="He"),
        delta(content="llo"),
        delta(finish="stop"),
        {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 2}},
    )
    assert chunks == [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": "He"},
        {"type": "text-delta", "index": 0, "text": "llo"},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "Hello"}},
        {"type": "usage", "usage": {"inputTokens": 12, "outputTokens": 2}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_comes_before_the_text_in_a_block_of_its_own(field: str) -> None:
    chunks = read(delta(**{field: ""}), delta(**{field: "hm"}), delta(content="Yes."), delta(finish="stop"))
    assert blocks(chunks) == [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Yes."}]
    assert [chunk["index"] for chunk in chunks if chunk["type"] == "block-start"] == [0, 1]


def test_content_in_typed_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    chunks = read(delta(content=[thinking]), delta(content=[{"type": "text", "text": "Yes."}]), delta("stop"))
    assert blocks(chunks) == [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Yes."}]


def test_parts_that_cannot_be_read_are_left_out() -> None:
    parts = [
        "nonsense",
        {"type": "thinking", "thinking": "hm"},
        {"type": "thinking", "thinking": [3, {"text": 4}]},
    ]
    chunks = read(delta(content=parts), delta("stop", content=[{"text": "Yes."}]))
    assert blocks(chunks) == [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Yes."}]


def test_the_old_form_with_text_in_the_choice() -> None:
    chunks = read({"choices": [{"text": "Hel"}]}, {"choices": [{"text": "lo", "finish_reason": "stop"}]})
    assert blocks(chunks) == [{"type": "text", "text": "Hello"}]


def test_reasoning_details_are_kept_whole_for_the_next_call() -> None:
    def details(*pieces: Any) -> Any:
        return delta(content="", reasoning_details=list(pieces))

    chunks = read(
        details({"type": "reasoning.text", "index": 0, "text": "She ", "format": "f1"}),
        details({"type": "reasoning.text", "index": 0, "text": "lies.", "signature": None}),
        details({"type": "reasoning.text", "index": 0, "text": "", "signature": "s1g"}, "nonsense"),
        details({"type": "reasoning.encrypted", "index": 1, "data": "x1", "id": "r"}),
        delta("stop", content="Yes.", reasoning_details="nonsense"),
    )
    assert chunks[-1]["replayState"] == {
        "adapter": "openai",
        "reasoningDetails": [
            {"type": "reasoning.text", "index": 0, "text": "She lies.", "format": "f1", "signature": "s1g"},
            {"type": "reasoning.encrypted", "index": 1, "data": "x1", "id": "r"},
        ],
    }
    assert "replayState" not in read(delta("stop", content="Yes."))[-1]
    cut = read(details({"type": "reasoning.text", "index": 0, "text": "She "}), done=False)
    assert "replayState" not in cut[-1]


def test_endless_reasoning_details_are_cut_too() -> None:
    target = reader(limit=10)
    target.feed(dumps(delta(reasoning_details=[{"type": "t", "index": 0, "text": "x" * 11}])).decode())
    assert target.done


def test_cached_and_reasoning_tokens_are_counted_apart() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    chunks = read(delta(content="a"), {"choices": [{"delta": None, "finish_reason": "stop"}], "usage": usage})
    assert chunks[-2]["usage"] == {
        "inputTokens": 36,
        "outputTokens": 30,
        "cachedInputTokens": 64,
        "reasoningTokens": 20,
    }


def test_deepseeks_cache_field_counts_and_nonsense_counts_nothing() -> None:
    chunks = read(
        delta(content="a", finish="stop"), {"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}}
    )
    assert chunks[-2]["usage"] == {"inputTokens": 5, "outputTokens": 0, "cachedInputTokens": 4}
    chunks = read(delta("stop", content="a"), {"usage": {"prompt_tokens": None, "completion_tokens": "many"}})
    assert chunks[-2]["usage"] == {"inputTokens": 0, "outputTokens": 0}


def test_usage_with_every_part_is_reported_once() -> None:
    chunks = read(
        {**delta(content="a"), "usage": {"prompt_tokens": 5, "completion_tokens": 1}},
        {**delta("stop", content="b"), "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
    )
    assert [chunk["usage"]["outputTokens"] for chunk in chunks if chunk["type"] == "usage"] == [2]


def test_odd_payloads_without_choices_are_read_over() -> None:
    chunks = read(
        {"prompt_filter_results": [], "choices": []},
        {"choices": None},
        {"choices": [{"index": 1, "delta": {"content": "other choice"}}]},
        {"choices": ["nonsense", {"delta": None}]},
        {"object": "ping"},
        delta("stop", content="a"),
    )
    assert blocks(chunks) == [{"type": "text", "text": "a"}]


def test_a_finish_reason_makes_up_for_a_missing_end_marker() -> None:
    assert end(read(delta("stop", content="a"), done=False)) == {"kind": "stop"}


def test_an_end_marker_makes_up_for_a_missing_finish_reason() -> None:
    assert end(read(delta(content="a"))) == {"kind": "stop"}


def test_without_both_the_answer_is_truncated_and_usage_still_counts() -> None:
    chunks = read({**delta(content="a"), "usage": {"prompt_tokens": 5}}, done=False)
    assert end(chunks)["kind"] == "error"
    assert end(chunks)["failure"]["code"] == "TRANSPORT"
    assert chunks[-2]["usage"] == {"inputTokens": 5, "outputTokens": 0}


@pytest.mark.parametrize("reason", ["length", "max_tokens", "LENGTH"])
def test_length_is_max_tokens(reason: str) -> None:
    assert end(read(delta(reason, content="a"))) == {"kind": "max-tokens"}


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("content_filter", "CONTENT_FILTER"),
        ("insufficient_system_resource", "SERVER"),
        ("error", "SERVER"),
        ("something_new", "SOMETHING_NEW"),
    ],
)
def test_other_finish_reasons_are_errors(reason: str, code: str) -> None:
    chunks = read(delta(reason, content="a"))
    assert end(chunks)["kind"] == "error"
    assert end(chunks)["failure"]["code"] == code


@pytest.mark.parametrize(
    "payloads", [[delta("stop")], [delta("stop", content="")], [delta("stop", content=" \n\n")], []]
)
def test_an_answer_of_nothing_is_an_error(payloads: list[Any]) -> None:
    assert end(read(*payloads))["failure"]["code"] == "EMPTY_RESPONSE"


def test_white_space_before_the_text_is_kept() -> None:
    assert blocks(read(delta(content="\n"), delta(content="\n"), delta("stop", content="Hi"))) == [
        {"type": "text", "text": "\n\nHi"}
    ]


@pytest.mark.parametrize("text", ['{"choices": [', "upstream timed out", "[1, 2]", "null"])
def test_a_garbled_payload_is_a_transport_failure(text: str) -> None:
    with pytest.raises(LlmFailure) as caught:
        reader().feed(text)
    assert caught.value.failure.code == "TRANSPORT"


@pytest.mark.parametrize(
    ("payload", "code", "status"),
    [
        ({"error": {"message": "Rate limit exceeded", "code": 429}}, "RATE_LIMIT", 429),
        ({"error": {"message": "slow down", "type": "rate_limit_error"}}, "RATE_LIMIT", None),
        ({"error": {"message": "Insufficient Balance", "code": "invalid_request_error"}}, "QUOTA", None),
        ({"error": {"message": "maximum context length is 4096 tokens"}}, "CONTEXT_WINDOW_EXCEEDED", None),
        ({"error": "overloaded"}, "SERVER", None),
        ({"error": "image input is not supported"}, "UNSUPPORTED_CONTENT", None),
        ({"error": {"message": "Provider returned error", "code": 502}, "choices": []}, "SERVER", 502),
        ({"object": "error", "message": "bad temperature", "code": 400}, "INVALID_REQUEST", 400),
        ({"choices": [{"delta": {}, "error": {"message": "gone", "code": 503}}]}, "SERVER", 503),
        ({"error": {"message": "who knows"}}, "SERVER", None),
    ],
)  # fmt: skip
def test_an_error_inside_the_stream_is_classified_like_an_answer(
    payload: Any, code: str, status: Any
) -> None:
    with pytest.raises(LlmFailure) as caught:
        reader().feed(dumps(payload).decode())
    assert caught.value.failure.code == code
    assert caught.value.failure.status == status


def test_an_event_named_error_is_an_error() -> None:
    with pytest.raises(LlmFailure) as caught:
        reader().feed('{"message": "invalid api key"}', "error")
    assert caught.value.failure.code == "AUTH"


def test_nothing_is_read_after_the_end_marker() -> None:
    target = reader()
    target.feed(dumps(delta("stop", content="a")).decode())
    target.feed("[DONE]")
    assert target.done
    assert target.feed("proxy error: not json") == []


def test_a_tool_call_in_fragments() -> None:
    chunks = read(
        delta(content="I roll."),
        call(0, "c1", "dice", ""),
        call(0, arguments='{"expr'),
        call(0, arguments='ession":"2d6"}'),
        delta("tool_calls"),
    )
    assert blocks(chunks)[1] == {
        "type": "tool-call",
        "id": "c1",
        "name": "dice",
        "arguments": '{"expression":"2d6"}',
    }
    assert [chunk for chunk in chunks if chunk["type"] == "tool-call-delta"][:2] == [
        {"type": "tool-call-delta", "index": 1, "id": "c1", "name": "dice", "argumentsDelta": ""},
        {"type": "tool-call-delta", "index": 1, "id": "c1", "argumentsDelta": '{"expr'},
    ]
    assert end(chunks) == {"kind": "tool-calls"}


def test_interleaved_calls_are_kept_apart_by_index() -> None:
    chunks = read(
        call(0, "a", "dice", '{"x":'), call(1, "b", "recall", '{"y":'),
        call(0, arguments="1}"), call(1, arguments="2}"),
        delta("tool_calls"),
    )  # fmt: skip
    assert [(block["id"], block["name"], block["arguments"]) for block in blocks(chunks)] == [
        ("a", "dice", '{"x":1}'),
        ("b", "recall", '{"y":2}'),
    ]


def test_calls_that_all_have_index_0_are_told_apart_by_id() -> None:
    chunks = read(call(0, "a", "dice", '{"x":1}'), call(0, "b", "dice", '{"x":2}'), delta("tool_calls"))
    assert [(block["id"], block["arguments"]) for block in blocks(chunks)] == [
        ("a", '{"x":1}'),
        ("b", '{"x":2}'),
    ]


def test_calls_without_index_follow_their_ids() -> None:
    chunks = read(
        call(None, "a", "dice", '{"x":'), call(None, "a", arguments="1}"), call(None, "b", "dice", "{}"),
        delta("tool_calls"),
    )  # fmt: skip
    assert [(block["id"], block["arguments"]) for block in blocks(chunks)] == [("a", '{"x":1}'), ("b", "{}")]


def test_whole_calls_without_index_and_id_get_ids_of_their_own() -> None:
    chunks = read(
        call(None, name="dice", arguments={"x": 1}),
        call(None, name="dice", arguments={"x": 2}),
        delta("stop"),
    )
    assert [(block["id"], block["arguments"]) for block in blocks(chunks)] == [
        ("new-1", '{"x":1}'),
        ("new-2", '{"x":2}'),
    ]
    assert end(chunks) == {"kind": "tool-calls"}  # the blocks decide, not the word "stop"


def test_a_call_with_an_id_after_one_without_is_another_one() -> None:
    chunks = read(
        call(None, name="dice", arguments='{"x":1'), call(None, "b", "dice", '{"x":2}'), delta("tool_calls")
    )
    assert [(block["id"], block["arguments"]) for block in blocks(chunks)] == [
        ("new-1", '{"x":1'),
        ("b", '{"x":2}'),
    ]


def test_a_late_id_and_a_repeated_name_belong_to_the_same_call() -> None:
    chunks = read(
        call(0, name="dice", arguments='{"x"'), call(0, "late", "dice", ":1"), call(0, "late", "dice", "}"),
        delta("tool_calls"),
    )  # fmt: skip
    assert blocks(chunks) == [{"type": "tool-call", "id": "late", "name": "dice", "arguments": '{"x":1}'}]


def test_two_calls_with_one_id_get_two_ids() -> None:
    chunks = read(call(0, "same", "dice", "{}"), call(1, "same", "dice", "{}"), delta("tool_calls"))
    assert [block["id"] for block in blocks(chunks)] == ["same", "new-1"]


def test_a_call_without_arguments_gets_an_empty_object() -> None:
    assert blocks(read(call(0, "a", "look"), delta("tool_calls")))[0]["arguments"] == "{}"


def test_tool_calls_announced_but_not_sent_are_a_plain_stop() -> None:
    assert end(read(delta("tool_calls", content="a"))) == {"kind": "stop"}


def test_a_runaway_answer_is_cut_like_one_that_hit_its_limit() -> None:
    target = reader(limit=10)
    chunks = list(target.feed(dumps(delta(content="123456789012345")).decode()))
    assert target.done
    chunks += target.close()
    assert blocks(chunks) == [{"type": "text", "text": "1234567890"}]
    assert end(chunks) == {"kind": "max-tokens"}


FRAGMENT = st.fixed_dictionaries(
    {},
    optional={
        "index": st.one_of(st.none(), st.integers(0, 2)),
        "id": st.one_of(st.none(), st.sampled_from(["", "a", "b"])),
        "function": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["", "dice"]),
                "arguments": st.sampled_from(["", "{}", '{"x"', ":1}"]),
            },
        ),
    },
)  # fmt: skip
DELTA = st.fixed_dictionaries(
    {},
    optional={
        "content": st.one_of(st.none(), st.text(max_size=3), st.just([{"text": "x"}, 3])),
        "reasoning_content": st.one_of(st.none(), st.text(max_size=3)),
        "tool_calls": st.one_of(st.none(), st.lists(FRAGMENT, max_size=2)),
    },
)
PAYLOAD = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "delta": st.one_of(st.none(), DELTA),
                    "finish_reason": st.sampled_from([None, "", "stop", "length", "x"]),
                },
            ),
            max_size=2,
        ),
        "usage": st.one_of(st.none(), st.just({"prompt_tokens": 1})),
    },
)  # fmt: skip


@given(st.lists(PAYLOAD, max_size=8), st.booleans())
def test_whatever_comes_the_stream_keeps_the_grammar(payloads: list[Any], done: bool) -> None:
    """Always: one finish, at the end; deltas only in open blocks; ids of calls all different; the end of a
    block holds exactly what its deltas brought."""
    chunks = read(*payloads, done=done)
    grammar = StreamGrammar()
    for chunk in chunks:
        grammar.check(chunk)
    assert grammar.finished
    calls = [block["id"] for block in blocks(chunks) if block["type"] == "tool-call"]
    assert len(set(calls)) == len(calls)
    for ended in (chunk for chunk in chunks if chunk["type"] == "block-end"):
        deltas = [c for c in chunks if c.get("index") == ended["index"] and c["type"].endswith("-delta")]
        streamed = "".join(c.get("text", "") + c.get("argumentsDelta", "") for c in deltas)
        block = ended["block"]
        assert block.get("text", block.get("arguments")) == (
            streamed if "text" in block else streamed.strip() or "{}"
        )
