"""Message builders (session spec 1.4)."""

import pytest

from engine.errors import AppendRefused
from engine.session import (
    FrozenDict,
    assistant_message,
    message_text,
    reasoning_block,
    system_message,
    text_block,
    tool_call_block,
    tool_message,
    user_message,
)


def test_text_becomes_one_block() -> None:
    assert user_message("u", "hi", {"kind": "user", "author": "7"}) == {
        "id": "u",
        "role": "user",
        "content": ({"type": "text", "text": "hi"},),
        "source": {"kind": "user", "author": "7"},
    }


def test_an_empty_prompt_has_no_block() -> None:
    assert system_message("s", "")["content"] == ()


def test_an_answer_names_its_model_and_keeps_what_the_adapter_wants_back() -> None:
    plain = assistant_message("a", [reasoning_block("hm"), text_block("yes")], provider="p", model="m")
    replayed = assistant_message("a", "yes", provider="p", model="m", replay_state={"k": [1]})

    assert plain["source"] == {"kind": "model", "provider": "p", "model": "m"}
    assert replayed["source"]["replayState"] == {"k": (1,)}


def test_a_result_names_its_call_twice() -> None:
    message = tool_message("r", "c", "6", is_error=True)

    assert (message["toolCallId"], message["source"]) == ("c", {"kind": "tool", "callId": "c"})
    assert message["isError"] is True


def test_only_text_is_text() -> None:
    content = [reasoning_block("hm"), text_block("a"), tool_call_block("c", "n", "{}"), text_block("b")]

    assert message_text(assistant_message("a", content, provider="p", model="m")) == "ab"


def test_messages_are_frozen_and_hold_nothing_that_cannot_be_stored() -> None:
    assert type(user_message("u", "hi")) is FrozenDict
    with pytest.raises(AppendRefused):
        text_block("\ud800")
