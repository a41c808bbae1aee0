"""The surface: append, replace, provenance, protection (session spec 3; seed 002, 2.2 and 3)."""

from typing import Any

import pytest

from engine.session import Session, is_append_event, is_replacement_event, transcript
from tests.engine.session.build import (
    exchange,
    ids,
    live,
    nodes,
    open_step,
    prompt,
    refused,
    replace,
    reply,
    result,
    say,
)

# After `exchange` twice: sys=2 u1=3 a1=4 | u2=9 a2=10.


@pytest.fixture
def session() -> Session:
    session = live()
    exchange(session, 1)
    exchange(session, 2)
    assert nodes(session) == [2, 3, 4, 9, 10]
    return session


def generations(session: Session) -> tuple[int, int]:
    return session.surface.replace_generation, session.surface.content_generation


def test_an_append_extends_the_tail_and_no_generation(session: Session) -> None:
    event = say(session, "u3")

    assert nodes(session) == [2, 3, 4, 9, 10, event.seq]
    assert generations(session) == (0, 0)


def test_a_replacement_takes_the_place_of_its_range(session: Session) -> None:
    summary = say(session, "sum", surface_op=replace(3, 4), source_event_seqs=[3, 4])

    assert nodes(session) == [2, summary.seq, 9, 10]
    assert generations(session) == (1, 1)
    assert session.event(3).data["id"] == "u1"


def test_the_order_of_the_surface_counts_not_the_numbers(session: Session) -> None:
    summary = say(session, "sum", surface_op=replace(3, 4), source_event_seqs=[3, 4])

    again = say(session, "sum2", surface_op=replace(summary.seq, 9), source_event_seqs=[9, summary.seq])

    assert summary.seq > 9
    assert nodes(session) == [2, again.seq, 10]


def test_both_ends_must_be_current_nodes(session: Session) -> None:
    say(session, "sum", surface_op=replace(3, 4), source_event_seqs=[3, 4])

    for start, end in ((3, 3), (9, 4), (0, 0), (9, 6)):
        with refused(session, "replace-endpoint-not-current"):
            say(session, "x", surface_op=replace(start, end), source_event_seqs=[9])


def test_both_ends_must_be_earlier(session: Session) -> None:
    for start, end in ((session.seq, session.seq), (3, 99)):
        with refused(session, "replace-endpoint-not-earlier"):
            say(session, "x", surface_op=replace(start, end), source_event_seqs=[3])


def test_the_ends_must_stand_in_order(session: Session) -> None:
    with refused(session, "replace-reversed"):
        say(session, "x", surface_op=replace(4, 3), source_event_seqs=[3, 4])


@pytest.mark.parametrize("sources", [[3, 9], [3, 4], None], ids=str)
def test_every_shadowed_node_must_be_cited(session: Session, sources: Any) -> None:
    with refused(session, "replace-coverage"):
        say(session, "x", surface_op=replace(3, 9), source_event_seqs=sources)


def test_more_may_be_cited_in_any_order(session: Session) -> None:
    event = say(session, "x", surface_op=replace(3, 4), source_event_seqs=[0, 4, 3])

    assert nodes(session) == [2, event.seq, 9, 10]


@pytest.mark.parametrize(
    ("sources", "category"),
    [
        ([], "sources-empty"),
        ([3, 3], "sources-duplicate"),
        ([13], "sources-not-earlier"),
        ([99], "sources-not-earlier"),
        ([-1], "sources-shape"),
        ([1.5], "sources-shape"),
        (["3"], "sources-shape"),
        ([None], "sources-shape"),
        ([True], "sources-shape"),
        (3, "sources-shape"),
    ],
    ids=str,
)
def test_sources_are_distinct_earlier_seqs(session: Session, sources: Any, category: str) -> None:
    assert session.seq == 13
    with refused(session, category):
        say(session, "x", source_event_seqs=sources)


def test_sources_may_be_log_only_events(session: Session) -> None:
    assert say(session, "x", source_event_seqs=[0, 5]).source_event_seqs == (0, 5)


@pytest.mark.parametrize("sources", [[3], []], ids=str)
def test_an_assistant_message_cites_nothing_and_replaces_nothing(
    session: Session, sources: list[int]
) -> None:
    data = session.event(10).data

    with refused(session, "sources-forbidden-assistant"):
        session.append("assistant/message", data, surface_op="append", source_event_seqs=sources)
    with refused(session, "replace-coverage"):
        session.append("assistant/message", data, surface_op=replace(10, 10))


def test_a_user_message_may_replace_an_answer(session: Session) -> None:
    event = say(session, "x", surface_op=replace(4, 4), source_event_seqs=[4])

    assert nodes(session) == [2, 3, event.seq, 9, 10]


# -- the system head ----------------------------------------------------------------------------------


def test_only_a_system_message_over_exactly_the_head_replaces_it(session: Session) -> None:
    with refused(session, "system-head-protected"):
        say(session, "x", surface_op=replace(2, 2), source_event_seqs=[2])
    with refused(session, "system-head-protected"):
        say(session, "x", surface_op=replace(2, 4), source_event_seqs=[2, 3, 4])
    with refused(session, "system-head-protected"):
        prompt(session, "sys2", surface_op=replace(2, 3), source_event_seqs=[2, 3])

    event = prompt(session, "sys2", surface_op=replace(2, 2), source_event_seqs=[2])

    assert nodes(session) == [event.seq, 3, 4, 9, 10]


def test_a_later_system_message_is_not_protected(session: Session) -> None:
    late = prompt(session, "late", turn=2)

    event = say(session, "x", surface_op=replace(late.seq, late.seq), source_event_seqs=[late.seq])

    assert nodes(session)[-1] == event.seq


def test_without_a_system_head_no_system_message_is_protected() -> None:
    session = live()
    say(session, "u")
    prompt(session)

    event = say(session, "x", surface_op=replace(0, 1), source_event_seqs=[0, 1])

    assert nodes(session) == [event.seq]


def test_an_empty_head_is_protected_too() -> None:
    session = live()
    prompt(session, text="")
    say(session, "u")

    with refused(session, "system-head-protected"):
        say(session, "x", surface_op=replace(0, 1), source_event_seqs=[0, 1])
    assert ids(session) == ["u"]


# -- tool results -------------------------------------------------------------------------------------


@pytest.fixture
def rolled() -> Session:
    """a=2 with two calls, r1=3, r2=4."""
    session = live()
    open_step(session)
    reply(session, "a", calls=["c1", "c2"])
    result(session, "r1", "c1", "a long result")
    result(session, "r2", "c2")
    return session


def test_a_result_is_rewritten_in_its_content_only(rolled: Session) -> None:
    def rewrite(message_id: str = "r1", start: int = 3, end: int = 3, **more: Any) -> None:
        sources = [seq for seq in (2, 3, 4) if start <= seq <= end]
        result(
            rolled,
            message_id,
            "c1",
            "short",
            surface_op=replace(start, end),
            source_event_seqs=sources,
            **more,
        )

    with refused(rolled, "tool-rewrite"):
        rewrite("another id")
    with refused(rolled, "tool-rewrite"):
        rewrite(step=2)
    with refused(rolled, "tool-rewrite"):
        rewrite(end=4)
    with refused(rolled, "tool-rewrite"):
        rewrite(start=2, end=2)
    rewrite()

    assert nodes(rolled) == [2, 5, 4]


def test_a_rewrite_keeps_the_meta_data(rolled: Session) -> None:
    data = {**rolled.event(3).data, "meta": 1}

    with refused(rolled, "tool-rewrite"):
        rolled.append("tool/result", data, surface_op=replace(3, 3), source_event_seqs=[3])


# -- what people see ----------------------------------------------------------------------------------


def test_the_transcript_keeps_what_was_said_and_leaves_copies_out(session: Session) -> None:
    summary = say(session, "sum", surface_op=replace(3, 10), source_event_seqs=[3, 4, 9, 10])

    assert [event.seq for event in transcript(session.events())] == [2, 3, 4, 9, 10]
    assert ids(session) == ["sys", "sum"]
    assert is_replacement_event(summary)
    assert not is_append_event(summary)


def test_a_view_of_the_nodes_does_not_change(session: Session) -> None:
    held = session.surface.nodes

    say(session, "u3")
    say(session, "sum", surface_op=replace(3, 4), source_event_seqs=[3, 4])

    assert list(held) == [2, 3, 4, 9, 10]
