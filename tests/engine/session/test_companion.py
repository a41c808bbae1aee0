"""The companion: turns, steps and what they enclose (session spec 6.1)."""

from typing import Any

import pytest

from engine.session import Companion, Session, Sessions
from tests.engine.session.build import (
    COMPLETED,
    call,
    close_turn,
    exchange,
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


@pytest.fixture
def session() -> Session:
    return live(validators=[Companion])


def test_turns_count_from_1_one_at_a_time(session: Session) -> None:
    with refused(session, "invariant"):
        session.append("turn/start", {"turn": 2})
    session.append("turn/start", {"turn": 1})
    with refused(session, "invariant"):
        session.append("turn/start", {"turn": 2})
    with refused(session, "invariant"):
        session.append("turn/end", {"turn": 2, "reason": COMPLETED})
    session.append("turn/end", {"turn": 1, "reason": COMPLETED})
    with refused(session, "invariant"):
        session.append("turn/end", {"turn": 1, "reason": COMPLETED})
    session.append("turn/start", {"turn": 2})


def test_steps_count_from_1_in_each_turn(session: Session) -> None:
    with refused(session, "invariant"):
        session.append("step/start", {"turn": 1, "step": 1})
    session.append("turn/start", {"turn": 1})
    with refused(session, "invariant"):
        session.append("step/start", {"turn": 1, "step": 2})
    session.append("step/start", {"turn": 1, "step": 1})
    with refused(session, "invariant"):
        session.append("step/start", {"turn": 1, "step": 2})
    with refused(session, "invariant"):
        session.append("turn/end", {"turn": 1, "reason": COMPLETED})
    with refused(session, "invariant"):
        session.append("step/end", {"turn": 1, "step": 2})
    close_turn(session)
    open_step(session, turn=2)


@pytest.mark.parametrize("where", [(1, 2), (2, 1)], ids=str)
def test_what_a_step_encloses_names_it(session: Session, where: tuple[int, int]) -> None:
    turn, step = where
    open_step(session)

    with refused(session, "invariant"):
        prompt(session, turn=turn, step=step)
    with refused(session, "invariant"):
        reply(session, "a", turn=turn, step=step)
    with refused(session, "invariant"):
        session.append("assistant/attempt", {"turn": turn, "step": step, "stream": []})
    with refused(session, "invariant"):
        call(session, "c", turn=turn, step=step)
    reply(session, "a")


@pytest.mark.parametrize("data", [3, {}, {"turn": "1"}, {"turn": True}], ids=str)
def test_numbers_must_be_numbers(session: Session, data: Any) -> None:
    with refused(session, "invariant"):
        session.append("turn/start", data)


def test_requests_need_an_open_turn(session: Session) -> None:
    header = {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "initial"}

    with refused(session, "invariant"):
        session.append("request/header", header)
    with refused(session, "invariant"):
        session.append("request/context", {"provider": "p", "model": "m"})
    session.append("turn/start", {"turn": 1})
    session.append("request/header", header)


def test_a_result_follows_its_call_in_the_same_step(session: Session) -> None:
    open_step(session)
    with refused(session, "invariant"):
        result(session, "r", "ghost")
    call(session, "c1")
    result(session, "r", "c1")
    with refused(session, "invariant"):
        result(session, "r", "c1")
    call(session, "c2")
    session.append("step/end", {"turn": 1, "step": 1})
    open_step(session, step=2)
    with refused(session, "invariant"):
        result(session, "r", "c2", step=2)


def test_a_step_may_end_with_a_call_unanswered(session: Session) -> None:
    open_step(session)
    call(session, "c1")

    session.append("step/end", {"turn": 1, "step": 1})

    open_step(session, step=2)
    with refused(session, "invariant"):
        result(session, "r", "c1", step=2)


def test_a_call_that_never_started_may_be_answered(session: Session) -> None:
    open_step(session)
    source = {"kind": "tool", "callId": "c"}
    message = {"id": "r", "role": "tool", "toolCallId": "c", "isError": True, "content": [], "source": source}
    error = {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}

    session.append(
        "tool/result", {"turn": 1, "step": 1, "message": message, "error": error}, surface_op="append"
    )

    assert nodes(session) == [2]


def test_a_rewrite_needs_any_open_turn(session: Session) -> None:
    open_step(session)
    call(session, "c")
    answer = result(session, "r", "c", "long")
    close_turn(session)
    rewrite: dict[str, Any] = {
        "surface_op": replace(answer.seq, answer.seq),
        "source_event_seqs": [answer.seq],
    }

    with refused(session, "invariant"):
        result(session, "r", "c", "short", **rewrite)
    session.append("turn/start", {"turn": 2})
    result(session, "r", "c", "short", **rewrite)


def test_the_rest_may_stand_anywhere(session: Session) -> None:
    say(session, "u")
    session.append("session/end-seed", {})
    session.append("todo/write", {"todos": []})
    session.append_plugin_record("plugin:tavern/mvu", {})

    assert session.seq == 4


def test_a_fork_goes_on_where_its_history_stands() -> None:
    sessions = Sessions(validators=[Companion])
    source = sessions.create("s")
    exchange(source)
    open_step(source, turn=2)

    child = sessions.fork(source, child_id="c")

    with refused(child, "invariant"):
        child.append("turn/start", {"turn": 2})
    child.append("turn/start", {"turn": 3})
