"""Closers for a crash or a fork in the middle of a turn (session spec 5.1, 11)."""

import pytest

from engine.session import Event, Header, Session, StrictValidator, closers, fork_seed, recovery_results
from tests.engine.session.build import call, close_turn, exchange, live, open_step, reply, result


def shapes(events: list[Event]) -> list[tuple[str, int]]:
    return [(event.type, event.seq) for event in events]


def test_a_log_without_an_open_turn_needs_nothing() -> None:
    session = live()
    assert closers(session.events()) == []

    exchange(session)
    assert closers(session.events()) == []


def test_an_open_turn_is_ended_at_the_time_of_the_last_event() -> None:
    session = live()
    session.append("turn/start", {"turn": 1})

    (end,) = closers(session.events())

    assert end.to_wire() == {
        "type": "turn/end",
        "seq": 1,
        "time": session.event(0).time,
        "data": {"turn": 1, "reason": {"kind": "interrupted"}},
    }


def test_an_open_step_is_ended_before_its_turn() -> None:
    session = live()
    exchange(session)
    open_step(session, turn=2)

    assert shapes(closers(session.events())) == [("step/end", 9), ("turn/end", 10)]


def unanswered(*started: str, calls: tuple[str, ...] = ("c1", "c2")) -> Session:
    session = live()
    open_step(session)
    reply(session, "a", calls=calls)
    for call_id in started:
        call(session, call_id)
    return session


def test_a_call_that_never_ran_says_so_and_cites_nothing() -> None:
    session = unanswered(calls=("c1",))

    repair = closers(session.events())[0]

    assert repair.data["error"] == {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
    assert repair.data["message"]["id"] == "interrupted-tool-result-c1-3"
    assert repair.data["message"]["isError"] is True
    assert (repair.surface_op, repair.source_event_seqs) == ("append", None)


def test_a_call_that_ran_cites_its_start() -> None:
    session = unanswered("c1", calls=("c1",))

    repair = closers(session.events())[0]

    assert repair.data["error"] == {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
    assert repair.source_event_seqs == (3,)


def test_answers_come_in_the_order_of_the_model() -> None:
    session = unanswered("c2")

    ids = [event.data["message"]["toolCallId"] for event in closers(session.events())[:2]]

    assert ids == ["c1", "c2"]


def test_an_answered_call_needs_no_other_answer() -> None:
    session = unanswered("c1", "c2")
    result(session, "r", "c1")

    assert [event.type for event in closers(session.events())] == ["tool/result", "step/end", "turn/end"]


def test_only_a_result_of_the_same_step_answers() -> None:
    session = unanswered("c1", calls=("c1",))
    result(session, "r", "c1", step=2)

    assert closers(session.events())[0].data["message"]["toolCallId"] == "c1"


def test_a_closed_step_is_left_as_it_is() -> None:
    session = unanswered("c1")
    session.append("step/end", {"turn": 1, "step": 1})

    assert shapes(closers(session.events())) == [("turn/end", 5)]


def test_calls_are_answered_even_if_no_step_was_opened() -> None:
    session = live()
    session.append("turn/start", {"turn": 1})
    reply(session, "a", calls=["c1"])

    assert shapes(closers(session.events())) == [("tool/result", 2), ("turn/end", 3)]


def test_an_end_seed_closes_no_turn() -> None:
    session = live()
    open_step(session)
    session.append("session/end-seed", {})

    assert shapes(closers(session.events())) == [("step/end", 3), ("turn/end", 4)]


def test_the_same_log_gives_the_same_closers() -> None:
    session = unanswered("c1")

    assert closers(session.events()) == closers(session.events())


@pytest.mark.parametrize("boundary", range(7))
def test_a_fork_seed_is_a_valid_log_at_every_boundary(boundary: int) -> None:
    session = unanswered("c1")
    result(session, "r", "c1")
    call(session, "c2")
    result(session, "r2", "c2")

    seed = fork_seed(session.events(), boundary)

    child = Session(
        Header("c", 1, is_seeded=True), seed, inherited_event_count=boundary + 1, validators=[StrictValidator]
    )
    assert [event.seq for event in child.events()] == list(range(len(seed)))
    assert child.event(boundary + 1).data == {"inherited": True}
    assert closers(child.events()) == []


def test_a_failed_step_gets_its_results_while_it_lives() -> None:
    session = unanswered("c1")

    found = recovery_results(session.events(), 1, 1)

    assert [event.data["message"]["toolCallId"] for event in found] == ["c1", "c2"]
    assert recovery_results(session.events(), 1, 2) == []
    close_turn(session)
    assert recovery_results(session.events(), 1, 1) == []
