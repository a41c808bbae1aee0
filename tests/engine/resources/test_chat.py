"""Chats as files: read whatever broke in them, and written again as they were."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ResourceError
from engine.resources import iso_of, moment_of, read_chats, write_chat

SAMPLES = Path(__file__).parents[2] / "vectors" / "chats"


def read(name: str) -> Any:
    (chat,) = read_chats((SAMPLES / name).read_bytes())
    return chat


def test_one_broken_line_is_reported_and_the_rest_is_read() -> None:
    chat = read("sample_broken_line_crlf.jsonl")
    assert [line.text for line in chat.lines] == ["Hello"]
    (remark,) = chat.warnings
    assert (remark.code, remark.data) == ("chat-lines-broken", {"count": 1, "line": 2})


def test_a_chat_without_a_header_is_read() -> None:
    chat = read("sample_no_header.jsonl")
    assert chat.header == {}
    assert [(line.name, line.is_user, line.hidden) for line in chat.lines] == [
        ("Alice", False, False),
        ("Bob", True, False),
        ("Note", False, True),
        ("Cara", False, False),
    ]
    assert chat.character_name == "Alice"
    assert "chat-header-missing" in {remark.code for remark in chat.warnings}


def test_swipes_without_their_facts_are_legal() -> None:
    (line,) = read("sample_swipes_no_info.jsonl").lines
    assert (line.swipes, line.swipe, line.text) == (("a", "b"), 1, "b")


def test_what_a_full_chat_says() -> None:
    chat = read("sample_full.jsonl")
    assert chat.metadata["chat_id_hash"] == 123
    first, second, note, cara = chat.lines
    assert (first.swipes, first.swipe) == (("Hi", "Hello"), 1)
    assert second.sent_at == moment_of("2024-03-05T13:30:00Z")
    assert (note.hidden, note.sent_at) == (True, 1709645400000)
    assert (cara.speaker, cara.reasoning) == ("Cara.png", "think")


@pytest.mark.parametrize(
    "name", ["sample_full.jsonl", "sample_no_header.jsonl", "sample_swipes_no_info.jsonl"]
)
def test_what_is_written_again_is_what_was_read(name: str) -> None:
    chat = read(name)
    again = write_chat(chat.header, [line.raw for line in chat.lines])
    if chat.header:
        assert [json.loads(row) for row in again.splitlines()] == [
            json.loads(row) for row in (SAMPLES / name).read_bytes().splitlines()
        ]
    (second,) = read_chats(again)
    assert (second.lines, second.metadata) == (chat.lines, chat.metadata)


def test_a_swipe_beyond_the_end_was_being_written() -> None:
    (chat,) = read_chats(b'{"name":"A","mes":"b","swipes":["a","b"],"swipe_id":2}')
    assert (chat.lines[0].swipe, chat.lines[0].text) == (1, "b")


def test_the_shown_text_counts_where_the_swipe_says_otherwise() -> None:
    (chat,) = read_chats(b'{"name":"A","mes":"edited","swipes":["a","b"],"swipe_id":0}')
    assert chat.lines[0].swipes == ("edited", "b")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2024-03-05T13:00:00.000Z", "2024-03-05T13:00:00.000Z"),
        (1709645400000, "2024-03-05T13:30:00.000Z"),
        ("1709645400000", "2024-03-05T13:30:00.000Z"),
        ("June 19, 2023 2:20pm", "2023-06-19T14:20:00.000Z"),
        ("2024-7-12@01h31m37s", "2024-07-12T01:31:37.000Z"),
        ("2024-7-12@01h31m37s123ms", "2024-07-12T01:31:37.123Z"),
        ("2024-6-5 @14h 56m 50s 682ms", "2024-06-05T14:56:50.682Z"),
        ("2024-03-05T15:00:00+02:00", "2024-03-05T13:00:00.000Z"),
    ],
)
def test_dates_in_all_their_forms_are_utc(written: Any, meant: str) -> None:
    moment = moment_of(written)
    assert moment is not None
    assert iso_of(moment) == meant


@pytest.mark.parametrize(
    "written", [None, True, "", "soon", "2024-13-41@99h99m99s", -5, 1e300, "9" * 40, [], {}]
)
def test_what_is_no_date_is_none(written: Any) -> None:
    assert moment_of(written) is None


@given(st.one_of(st.text(), st.integers(), st.floats()))
def test_no_date_breaks_the_reader(written: Any) -> None:
    moment = moment_of(written)
    assert moment is None or iso_of(moment).endswith("Z")


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"[1,2]", b"{}", b'{"user_name":"A"}', b"\x00\xff\xfe", b"null\n1"]
)
def test_what_is_no_chat_is_refused(data: bytes) -> None:
    with pytest.raises(ResourceError) as refused:
        read_chats(data)
    assert refused.value.error_code == "CHAT_INVALID"


def test_a_line_of_two_hundred_thousand_brackets_is_a_broken_line() -> None:
    deep = b'{"mes":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    (chat,) = read_chats(b'{"mes":"a"}\n' + deep)
    assert [line.text for line in chat.lines] == ["a"]


def test_several_chats_of_one_export_are_several() -> None:
    history = {"msgs": [{"src": {"is_human": False}, "text": "Hey"}]}
    chats = read_chats(json.dumps({"histories": {"histories": [history, history]}}).encode())
    assert [[line.text for line in chat.lines] for chat in chats] == [["Hey"], ["Hey"]]


def test_a_document_of_another_program_may_be_written_over_many_lines() -> None:
    document = {"messages": [{"msg": "Hi", "userId": "u"}]}
    (chat,) = read_chats(json.dumps(document, indent=2).encode(), user="Bob")
    assert [(line.name, line.text) for line in chat.lines] == [("Bob", "Hi")]


@given(
    st.dictionaries(
        st.sampled_from(["mes", "swipes", "swipe_id", "extra", "send_date", "name"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3),
        ),
    )
)
def test_a_line_of_any_values_is_read_or_refused(line: dict[str, Any]) -> None:
    try:
        (chat,) = read_chats(json.dumps(line).encode())
    except ResourceError as error:
        assert error.error_code == "CHAT_INVALID"
    else:
        assert len(chat.lines) == 1
