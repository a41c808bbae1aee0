"""Requests to Anthropic's messages API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.llm import CallConfig, Dialect, LlmFailure, LlmRequest, ModelInfo
from engine.llm.anthropic.request import BEGINNING, request_body
from engine.llm.content import EMPTY_RESULT
from engine.session import freeze
from tests.engine.llm.server import message

CONFIG = CallConfig("anthropic", "claude", max_tokens=300)
INFO = ModelInfo("anthropic", "claude", modalities=frozenset({"text", "image"}))
USER = message("user", "Ana: Hi.")
PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = {
    "type": "image",
    "attachment": {"attachmentId": "a1", "mediaType": "image/jpeg", "bytes": 8, "width": 2, "height": 1},
}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "tool-call", "id": call_id, "name": "dice", "arguments": arguments}


def answer(*content: dict[str, Any], blocks: Any = None, **source: Any) -> dict[str, Any]:
    source = {"kind": "model", "provider": "anthropic", "model": "claude"} | source
    if blocks is not None:
        source["replayState"] = {"adapter": "anthropic", "blocks": blocks}
    return {"id": "m", "role": "assistant", "content": list(content), "source": source}


def result(call_id: str, words: str, **fields: Any) -> dict[str, Any]:
    return message("tool", words, toolCallId=call_id, **fields)


def body(*messages: Any, config: CallConfig = CONFIG, info: ModelInfo = INFO, **fields: Any) -> Any:
    return request_body(LlmRequest(config, messages, **fields), info)


def turns(*messages: Any, **options: Any) -> Any:
    return body(*messages, **options)["messages"]


# -- the body ------------------------------------------------------------------------------------


def test_the_system_prompt_stands_apart() -> None:
    assert body(message("system", "You are Mara."), USER) == {
        "model": "claude",
        "max_tokens": 300,
        "stream": True,
        "system": [{"type": "text", "text": "You are Mara."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Ana: Hi."}]}],
    }


def test_an_empty_system_prompt_is_not_sent() -> None:
    assert "system" not in body(message("system", ""), USER)


def test_a_system_message_in_mid_history_keeps_its_place_as_words_of_the_user() -> None:
    late = message("system", "Night falls.")
    request = body(message("system", "You are Mara."), USER, answer(text("Hello.")), late, USER)
    assert request["system"] == [{"type": "text", "text": "You are Mara."}]
    assert request["messages"][2] == {"role": "user", "content": [text("Night falls."), text("Ana: Hi.")]}


def test_every_parameter_has_its_name() -> None:
    config = replace(CONFIG, temperature=0.5, stop=("\nAna:", "\n\n", "Ben:"))
    tool = {"name": "dice", "description": "Roll.", "parameters": {"type": "object", "properties": {}}}
    sent = body(USER, config=config, tools=(tool, {"name": "look"}))
    assert sent["temperature"] == 0.5
    assert sent["stop_sequences"] == ["\nAna:", "Ben:"]  # white space alone is refused by the server
    assert sent["tools"] == [
        {"name": "dice", "description": "Roll.", "input_schema": {"type": "object", "properties": {}}},
        {"name": "look", "input_schema": {"type": "object", "properties": {}}},
    ]


@pytest.mark.parametrize("stop", [None, (), ("\n",)])
def test_without_stop_strings_there_is_no_field(stop: Any) -> None:
    assert "stop_sequences" not in body(USER, config=replace(CONFIG, stop=stop))


def test_the_longest_answer_comes_from_the_info_or_must_be_named() -> None:
    open_config = replace(CONFIG, max_tokens=None)
    assert body(USER, config=open_config, info=replace(INFO, default_max_tokens=77))["max_tokens"] == 77
    with pytest.raises(LlmFailure) as caught:
        body(USER, config=open_config)
    assert caught.value.failure.code == "INVALID_REQUEST"


@pytest.mark.parametrize("messages", [(), (message("system", "You are Mara."),), (answer(text("Hi.")),)])
def test_a_request_needs_something_of_the_user(messages: tuple[Any, ...]) -> None:
    with pytest.raises(LlmFailure) as caught:
        body(*messages)
    assert caught.value.failure.code == "INVALID_REQUEST"


# -- turns ---------------------------------------------------------------------------------------


def test_runs_of_one_role_become_one_turn() -> None:
    assert turns(USER, message("user", "Ben: Hey."), answer(text("a")), answer(text("b")), USER) == [
        {"role": "user", "content": [text("Ana: Hi."), text("Ben: Hey.")]},
        {"role": "assistant", "content": [text("a"), text("b")]},
        {"role": "user", "content": [text("Ana: Hi.")]},
    ]


def test_a_history_that_begins_with_an_answer_gets_a_turn_before_it() -> None:
    assert turns(answer(text("Once upon a time.")), USER)[:2] == [
        {"role": "user", "content": [text(BEGINNING)]},
        {"role": "assistant", "content": [text("Once upon a time.")]},
    ]


def test_empty_texts_are_left_out_and_a_turn_of_nothing_too() -> None:
    blank = message("user", " \n")
    empty = answer({"type": "reasoning", "text": "hm"}, text(""), {"type": "novelty"})
    assert turns(USER, empty, blank, USER) == [{"role": "user", "content": [text("Ana: Hi.")] * 2}]


def test_results_of_one_answer_stand_together_at_the_head_of_the_next_turn() -> None:
    assert turns(
        USER,
        answer(text("I roll."), call("c1", '{"sides":6}'), call("c2")),
        result("c1", "4"),
        message("user", "Ben: Wait!"),
        result("c2", "", isError=True),
    )[1:] == [
        {
            "role": "assistant",
            "content": [
                text("I roll."),
                {"type": "tool_use", "id": "c1", "name": "dice", "input": {"sides": 6}},
                {"type": "tool_use", "id": "c2", "name": "dice", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "4"},
                {"type": "tool_result", "tool_use_id": "c2", "content": EMPTY_RESULT, "is_error": True},
                text("Ben: Wait!"),
            ],
        },
    ]


def test_ids_of_other_servers_are_made_fit_on_both_sides() -> None:
    sent = turns(
        USER,
        answer(call("functions.dice:0"), call("functions_dice_0")),
        result("functions.dice:0", "4"),
        result("functions_dice_0", "5"),
    )
    called = [block["id"] for block in sent[1]["content"]]
    answered = [block["tool_use_id"] for block in sent[2]["content"]]
    assert called == answered
    assert called[1] == "functions_dice_0"
    assert called[0].startswith("functions_dice_0_") and called[0].isascii()


@pytest.mark.parametrize("arguments", ["{broken", "[1]", '"x"', ""])
def test_arguments_that_are_no_object_are_kept_as_text_in_one(arguments: str) -> None:
    sent = turns(USER, answer(call("c", arguments)), result("c", "no"))
    assert sent[1]["content"][0]["input"] == {"unreadable": arguments}


# -- thinking ------------------------------------------------------------------------------------

THOUGHT = {"type": "reasoning", "text": "He asks\nfor luck. "}
SIGNED = [{"signature": "c2ln"}, {}]
HIDDEN = {"opaque": {"type": "redacted_thinking", "data": "eHg="}}


def test_thinking_goes_back_unchanged_with_its_signature() -> None:
    sent = turns(USER, answer(THOUGHT, text("Yes."), blocks=SIGNED), USER)
    assert sent[1]["content"] == [
        {"type": "thinking", "thinking": "He asks\nfor luck. ", "signature": "c2ln"},
        text("Yes."),
    ]


def test_opaque_blocks_go_back_where_they_were() -> None:
    blocks = [HIDDEN, {"signature": "c2ln"}, HIDDEN, {}]
    sent = turns(USER, answer(THOUGHT, text("Yes."), blocks=blocks), USER)
    kinds = [block["type"] for block in sent[1]["content"]]
    assert kinds == ["redacted_thinking", "thinking", "redacted_thinking", "text"]
    assert sent[1]["content"][0] == {"type": "redacted_thinking", "data": "eHg="}


def test_a_frozen_message_of_the_log_goes_back_just_so() -> None:
    logged: Any = freeze(answer(THOUGHT, text("Yes."), blocks=[HIDDEN, *SIGNED]))
    sent = turns(USER, logged, USER)
    assert [block["type"] for block in sent[1]["content"]] == ["redacted_thinking", "thinking", "text"]


@pytest.mark.parametrize(
    "thinker",
    [
        answer(THOUGHT, text("Yes.")),  # never signed: the answer was interrupted
        answer(THOUGHT, text("Yes."), blocks=[{}, {}]),
        answer(THOUGHT, text("Yes."), blocks=[{"signature": "c2ln"}]),  # a block was lost since
        answer(THOUGHT, text("Yes."), blocks=SIGNED, model="claude-older"),
        answer(THOUGHT, text("Yes."), blocks=SIGNED, provider="deepseek"),
        answer(THOUGHT, text("Yes."), replayState={"adapter": "openai", "reasoningDetails": []}),
    ],
)
def test_thinking_that_is_not_this_models_own_stays_out(thinker: Any) -> None:
    assert turns(USER, thinker, USER)[1]["content"] == [text("Yes.")]


BUDGETS = replace(INFO, dialect=Dialect(thinking_budgets={"low": 2048, "high": 8192}), max_output=9000)


@pytest.mark.parametrize(
    ("info", "effort", "fields"),
    [
        (INFO, None, {}),
        (INFO, "off", {"thinking": {"type": "disabled"}}),
        (INFO, "max", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
        (BUDGETS, "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 2348}),
        (BUDGETS, "high", {"thinking": {"type": "enabled", "budget_tokens": 8192}, "max_tokens": 8492}),
        (replace(BUDGETS, max_output=8300), "high", {
            "thinking": {"type": "enabled", "budget_tokens": 8192}, "max_tokens": 8300,
        }),
        (replace(BUDGETS, max_output=None), "high", {
            "thinking": {"type": "enabled", "budget_tokens": 8192}, "max_tokens": 8492,
        }),
    ],
)  # fmt: skip
def test_an_effort_in_the_words_of_the_model(
    info: ModelInfo, effort: str | None, fields: dict[str, Any]
) -> None:
    asked = body(USER, config=replace(CONFIG, reasoning_effort=effort), info=info)
    assert asked == body(USER, info=info) | fields


def test_thinking_is_not_turned_on_amid_calls_that_began_without_it() -> None:
    config = replace(CONFIG, reasoning_effort="low")
    loop = (answer(call("c1")), result("c1", "4"), answer(call("c2")), result("c2", "5"))
    assert "thinking" not in body(USER, *loop, config=config, info=BUDGETS)
    # once the answer is through, it may
    assert "thinking" in body(USER, *loop, answer(text("A nine.")), USER, config=config, info=BUDGETS)
    # and an answer that began with thinking goes on with it, though not every step of it thought
    thought = answer(THOUGHT, call("c1"), blocks=[{"signature": "c2ln"}, {}])
    assert "thinking" in body(USER, thought, *loop[1:], config=config, info=BUDGETS)
    # a model that chooses by itself does not mind
    assert "thinking" in body(USER, *loop, config=config)


# -- pictures and the cache ----------------------------------------------------------------------


def test_a_picture_is_sent_with_the_type_that_it_has() -> None:
    shown = {**USER, "content": [text("Ana: Look."), IMAGE]}
    assert turns(shown, images={"a1": PNG})[0]["content"] == [
        text("Ana: Look."),
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
        },
    ]
    assert turns(shown)[0]["content"][1] == text("[image: without a name, 2×1]")


def test_the_cache_is_marked_only_where_the_catalogue_says_so() -> None:
    history = (message("system", "You are Mara."), USER, answer(text("Hello.")), USER)
    assert "cache_control" not in str(body(*history))
    marked = body(*history, info=replace(INFO, dialect=Dialect(prompt_cache=True)))
    mark = {"cache_control": {"type": "ephemeral"}}
    assert marked["system"] == [text("You are Mara.") | mark]
    assert marked["messages"][-1]["content"] == [text("Ana: Hi.") | mark]
    assert str(marked).count("cache_control") == 2


# -- whatever stands in the log ------------------------------------------------------------------

BLOCKS = st.lists(
    st.one_of(
        st.builds(text, st.sampled_from(["", " ", "Hi."])),
        st.just({"type": "reasoning", "text": "hm"}),
        st.just({"type": "novelty"}),
        st.just(IMAGE),
    ),
    max_size=3,
)
STEPS = st.lists(
    st.one_of(
        st.builds(lambda blocks: [{**USER, "content": blocks}], BLOCKS),
        st.builds(lambda blocks: [answer(*blocks)], BLOCKS),
        st.builds(lambda blocks: [answer(*blocks, call("c")), result("c", ""), USER], BLOCKS),
        st.just([message("system", "More.")]),
    ),
    max_size=8,
)


@given(STEPS)
def test_whatever_the_log_holds_the_api_takes_it(steps: list[list[Mapping[str, Any]]]) -> None:
    """Always: turns alternate and begin with the user; none is empty; no text is blank; every call is
    answered at the head of the next turn."""
    sent = turns(*(message for step in steps for message in step), USER)
    assert [turn["role"] for turn in sent] == [("user", "assistant")[n % 2] for n in range(len(sent))]
    for turn, following in zip(sent, [*sent[1:], None], strict=True):
        assert turn["content"]
        assert all(block["text"].strip() for block in turn["content"] if block["type"] == "text")
        calls = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
        if calls:
            head = following["content"][: len(calls)]
            assert [block.get("tool_use_id") for block in head] == calls
