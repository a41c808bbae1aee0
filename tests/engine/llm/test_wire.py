"""Requests in wire form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.llm import CallConfig, Dialect, LlmFailure, LlmRequest, ModelInfo
from engine.llm.content import EMPTY_RESULT
from engine.llm.images import visible_pictures
from engine.llm.wire import chat_messages, request_body
from tests.engine.llm.server import message

USER = message("user", "Ana: Hi.")
PLAIN = Dialect()
PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = {
    "type": "image",
    "attachment": {
        "attachmentId": "a1",
        "mediaType": "image/png",
        "bytes": 3,
        "width": 640,
        "height": 480,
        "name": "map.png",
    },
}


def wire(
    *messages: Any, dialect: Dialect = PLAIN, images: dict[str, bytes] | None = None
) -> list[dict[str, Any]]:
    request = LlmRequest(CallConfig("p", "m"), messages, images=images or {})
    eyes = ModelInfo("p", "m", modalities=frozenset({"text", "image"}))
    return chat_messages(request, dialect, visible_pictures(request, eyes))


def assistant(*content: dict[str, Any]) -> dict[str, Any]:
    return {"id": "m", "role": "assistant", "content": list(content), "source": {"kind": "model"}}


def test_each_role_in_its_wire_form_and_in_order() -> None:
    call = {"type": "tool-call", "id": "c1", "name": "dice", "arguments": '{"expression":"2d6"}'}
    assert wire(
        message("system", "You are Mara."),
        USER,
        assistant({"type": "text", "text": "I roll."}, call),
        message("tool", "7", toolCallId="c1"),
    ) == [
        {"role": "system", "content": "You are Mara."},
        {"role": "user", "content": "Ana: Hi."},
        {
            "role": "assistant",
            "content": "I roll.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "dice", "arguments": '{"expression":"2d6"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
    ]


@pytest.mark.parametrize(
    "content", [[], [{"type": "reasoning", "text": "hm"}], [{"type": "novelty", "x": 1}]]
)
def test_assistant_content_is_never_null(content: list[Any]) -> None:
    assert wire(USER, assistant(*content))[1] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize("content", [[], [{"type": "text", "text": ""}]])
def test_a_tool_result_is_never_empty(content: list[Any]) -> None:
    result = {"id": "m", "role": "tool", "content": content, "source": {"kind": "tool"}, "toolCallId": "c"}
    assert wire(USER, result)[1]["content"] == EMPTY_RESULT


def test_reasoning_goes_back_only_where_the_model_wants_it() -> None:
    thinking = assistant({"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Yes."})
    assert wire(USER, thinking)[1] == {"role": "assistant", "content": "Yes."}
    assert wire(USER, thinking, dialect=Dialect(reasoning_history=True))[1] == {
        "role": "assistant",
        "content": "Yes.",
        "reasoning_content": "hm",
    }
    without = assistant({"type": "text", "text": "Yes."})
    assert "reasoning_content" not in wire(USER, without, dialect=Dialect(reasoning_history=True))[1]


def test_an_image_that_cannot_be_shown_is_named() -> None:
    shown = {**USER, "content": [{"type": "text", "text": "Ana: Look."}, IMAGE]}
    assert wire(shown)[0]["content"] == "Ana: Look.\n\n[image: map.png, 640×480]"
    bare = {**USER, "content": [{"type": "image", "attachment": {"attachmentId": "a1"}}]}
    assert wire(bare)[0]["content"] == "[image: without a name]"


def test_an_image_whose_bytes_are_here_is_sent() -> None:
    shown = {**USER, "content": [{"type": "text", "text": "Ana: Look."}, IMAGE]}
    assert wire(shown, images={"a1": PNG})[0]["content"] == [
        {"type": "text", "text": "Ana: Look."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]
    gone = {**USER, "content": [{**IMAGE, "offloaded": True}]}
    assert wire(gone, images={"a1": PNG})[0]["content"] == "[image: map.png, 640×480]"


def test_a_model_without_eyes_gets_no_bytes() -> None:
    request = LlmRequest(CallConfig("p", "m"), ({**USER, "content": [IMAGE]},), images={"a1": PNG})
    blind = request_body(request, ModelInfo("p", "m"))
    assert blind["messages"][0]["content"] == "[image: map.png, 640×480]"
    seeing = request_body(request, ModelInfo("p", "m", modalities=frozenset({"text", "image"})))
    assert seeing["messages"][0]["content"][0]["type"] == "image_url"


def test_a_developer_message_without_text_is_left_out() -> None:
    change = {
        "id": "m",
        "role": "developer",
        "content": [{"type": "tool-addition", "toolName": "dice"}],
        "source": {},
    }
    assert wire(change, USER) == [{"role": "user", "content": "Ana: Hi."}]


@pytest.mark.parametrize("messages", [(), (message("system", "You are Mara."),)])
def test_a_request_needs_a_user_message(messages: tuple[Any, ...]) -> None:
    with pytest.raises(LlmFailure) as caught:
        wire(*messages)
    assert caught.value.failure.code == "INVALID_REQUEST"


def test_the_body_holds_what_the_config_names_and_nothing_more() -> None:
    config = CallConfig("p", "m")
    info = ModelInfo("p", "m")
    assert request_body(LlmRequest(config, (USER,)), info) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Ana: Hi."}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    full = replace(config, temperature=0.0, max_tokens=9, stop=("\nAna:",), reasoning_effort="low")
    tool = {"name": "dice", "description": "Roll.", "parameters": {"type": "object"}}
    body = request_body(LlmRequest(full, (USER,), tools=(tool,)), info, include_usage=False)
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Ana: Hi."}],
        "stream": True,
        "temperature": 0.0,
        "max_tokens": 9,
        "stop": ["\nAna:"],
        "reasoning_effort": "low",
        "tools": [{"type": "function", "function": tool}],
    }
    assert "stop" not in request_body(LlmRequest(replace(config, stop=()), (USER,)), info)


@pytest.mark.parametrize(
    ("effort", "fields"),
    [
        (None, {}),
        ("off", {"thinking": {"type": "disabled"}}),
        ("max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
    ],
)
def test_deepseeks_switch_for_thinking(effort: str | None, fields: dict[str, Any]) -> None:
    info = ModelInfo("p", "m", dialect=Dialect(effort="thinking"))
    body = request_body(LlmRequest(CallConfig("p", "m", reasoning_effort=effort), (USER,)), info)
    assert {name: body[name] for name in ("thinking", "reasoning_effort") if name in body} == fields


@pytest.mark.parametrize(
    ("form", "effort", "fields"),
    [
        ("reasoning_effort", "low", {"reasoning_effort": "low"}),
        ("reasoning_effort", "none", {"reasoning_effort": "none"}),
        ("reasoning", "high", {"reasoning": {"effort": "high"}}),
        ("reasoning", "off", {"reasoning": {"enabled": False}}),
        (
            "template",
            "high",
            {"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "high"}},
        ),
        ("template", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
def test_every_server_is_asked_for_an_effort_in_its_own_way(
    form: Any, effort: str, fields: dict[str, Any]
) -> None:
    info = ModelInfo("p", "m", dialect=Dialect(effort=form))
    plain = request_body(LlmRequest(CallConfig("p", "m"), (USER,)), info)
    asked = request_body(LlmRequest(CallConfig("p", "m", reasoning_effort=effort), (USER,)), info)
    assert asked == plain | fields


def test_no_more_stop_strings_than_the_server_takes() -> None:
    config = CallConfig("p", "m", stop=("Ana:", "Ben:", "Cy:"))
    limited = ModelInfo("p", "m", dialect=Dialect(stop_limit=2))
    assert request_body(LlmRequest(config, (USER,)), limited)["stop"] == ["Ana:", "Ben:"]
    free = request_body(LlmRequest(config, (USER,)), ModelInfo("p", "m"))
    assert free["stop"] == ["Ana:", "Ben:", "Cy:"]


DETAILS = [{"type": "reasoning.encrypted", "index": 0, "data": "x1y2"}]
HINTED = {
    "id": "m",
    "role": "assistant",
    "content": [{"type": "text", "text": "Yes."}],
    "source": {
        "kind": "model",
        "provider": "p",
        "model": "m",
        "replayState": {"adapter": "openai", "reasoningDetails": DETAILS},
    },
}


def test_reasoning_details_go_back_unchanged_to_the_model_that_made_them() -> None:
    dialect = Dialect(reasoning_details=True)
    assert wire(USER, HINTED, dialect=dialect)[1] == {
        "role": "assistant",
        "content": "Yes.",
        "reasoning_details": DETAILS,
    }
    assert "reasoning_details" not in wire(USER, HINTED)[1]


@pytest.mark.parametrize(
    "change",
    [
        {"provider": "q"},
        {"model": "n"},
        {"replayState": {"adapter": "anthropic", "blocks": []}},
        {"replayState": ["odd"]},
    ],
)
def test_reasoning_details_of_another_model_or_protocol_stay_here(change: dict[str, Any]) -> None:
    foreign = {**HINTED, "source": {**HINTED["source"], **change}}  # type: ignore[dict-item]
    dialect = Dialect(reasoning_details=True)
    assert wire(USER, foreign, dialect=dialect)[1] == {"role": "assistant", "content": "Yes."}


def test_the_other_name_for_max_tokens() -> None:
    info = ModelInfo("p", "m", dialect=Dialect(max_tokens_field="max_completion_tokens"))
    body = request_body(LlmRequest(CallConfig("p", "m", max_tokens=9), (USER,)), info)
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body
