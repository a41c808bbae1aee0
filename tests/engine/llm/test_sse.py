"""The SSE reader: what it returns depends on the bytes, never on how they were cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.llm.sse import EventTooLong, ServerEvent, SseParser


def parse(*pieces: bytes) -> list[ServerEvent]:
    parser = SseParser()
    return [event for piece in pieces for event in parser.feed(piece)]


def test_events_end_at_blank_lines() -> None:
    assert parse(b"data: one\n\ndata: two\n\n") == [ServerEvent("one"), ServerEvent("two")]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_all_three_line_ends(end: bytes) -> None:
    assert parse(b"event: ping" + end + b"data: a" + end + b"data: b" + end + end) == [
        ServerEvent("a\nb", "ping")
    ]


def test_a_crlf_cut_in_two_is_one_line_end() -> None:
    assert parse(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [ServerEvent("a\nb")]


def test_a_cr_at_the_end_of_the_bytes_dispatches_at_once() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r\r") == [ServerEvent("a")]
    assert parser.feed(b"\ndata: b\n\n") == [ServerEvent("b")]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1e"])
def test_other_line_separators_stay_in_the_data(character: str) -> None:
    assert parse(f"data: a{character}b\n\n".encode()) == [ServerEvent(f"a{character}b")]


def test_one_byte_order_mark_is_dropped_and_only_at_the_start() -> None:
    assert parse(b"\xef\xbb", b"\xbfdata: a\n\n") == [ServerEvent("a")]
    assert parse(b"data: \xef\xbb\xbfa\n\n") == [ServerEvent("\ufeffa")]


def test_a_field_named_error_is_an_error_event() -> None:
    assert parse(b'error: {"code":500}\n\n') == [ServerEvent('{"code":500}', "error")]


def test_comments_ids_and_retry_are_read_over() -> None:
    assert parse(b": keep-alive\n\nid: 3\nretry: 10\n: x\ndata: a\n\n") == [ServerEvent("a")]


def test_the_space_after_the_colon_is_optional_and_only_one_is_dropped() -> None:
    assert parse(b"data:a\ndata:  b\ndata\n\n") == [ServerEvent("a\n b\n")]


def test_an_unterminated_tail_is_not_an_event() -> None:
    assert parse(b"data: a\n\ndata: b\n") == [ServerEvent("a")]
    assert parse(b"data: a\n\ndata: b") == [ServerEvent("a")]


def test_an_event_name_without_data_names_nothing() -> None:
    assert parse(b"event: ping\n\ndata: a\n\n") == [ServerEvent("a")]


def test_bytes_that_are_not_utf8_do_not_stop_the_stream() -> None:
    assert parse(b"data: a\xffb\n\n") == [ServerEvent("a\ufffdb")]


@pytest.mark.parametrize("endless", [b"data: " + b"x" * 200, b"data: x\n" * 40, b":" + b"x" * 200])
def test_an_event_without_end_is_refused(endless: bytes) -> None:
    parser = SseParser(limit=100)
    with pytest.raises(EventTooLong):
        parser.feed(endless)


def test_many_short_events_and_comments_never_count_together() -> None:
    parser = SseParser(limit=100)
    events = [
        event for _ in range(50) for event in parser.feed(b": comment of some length\ndata: abcdefgh\n\n")
    ]
    assert len(events) == 50


LINES = st.lists(
    st.one_of(
        st.just(""),
        st.text(
            alphabet=st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12
        ).map(lambda text: "data: " + text),
        st.sampled_from(
            [":comment", "event: x", "id: 1", "data", "data:", "nonsense", "data: \u2028鱼🐟\u0085"]
        ),
    ),
    max_size=12,
)


@given(LINES, st.data())
def test_no_cut_changes_the_result(lines: list[str], data: st.DataObject) -> None:
    """Given a stream with any mixture of line ends, when it is cut anywhere (inside characters and CRLF
    too), then the events are those of the uncut stream, and those that a plain reading gives."""
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(lines), max_size=len(lines)))
    stream = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert parse(*pieces) == parse(stream) == plain_reading(lines)


@given(LINES)
def test_byte_by_byte_gives_the_same(lines: list[str]) -> None:
    stream = "".join(line + "\r\n" for line in lines).encode()
    assert parse(*(stream[place : place + 1] for place in range(len(stream)))) == plain_reading(lines)


def plain_reading(lines: list[str]) -> list[ServerEvent]:
    """The oracle: whole lines, read in the plainest way."""
    events: list[ServerEvent] = []
    data: list[str] = []
    name = ""
    lines = [line.removeprefix("\ufeff") if place == 0 else line for place, line in enumerate(lines)]
    for line in lines:
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if line == "":
            if data:
                events.append(ServerEvent("\n".join(data), name))
            data, name = [], ""
        elif field == "data":
            data.append(value)
        elif field == "event":
            name = value
    return events
