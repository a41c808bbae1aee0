"""Create, fork, restore: markers, cuts, lineage, refusals (session spec 5; seed 002, 5)."""

from typing import Any

import pytest

from engine.errors import AppendRefused, NotFound, SessionError, SessionForkError
from engine.session import Event, Header, Session, Sessions, freeze
from tests.engine.session.build import (
    Ticks,
    call,
    close_turn,
    event,
    exchange,
    header,
    ids,
    open_step,
    reply,
    result,
    say,
)

INHERITED = {"inherited": True}


@pytest.fixture
def sessions() -> Sessions:
    minted = iter(f"session-{number}" for number in range(1, 100))
    return Sessions(clock=Ticks(), mint=lambda: next(minted))


@pytest.fixture
def source(sessions: Sessions) -> Session:
    session = sessions.create("s", cwd="/w")
    exchange(session)
    return session


def types(session: Session, start: int = 0) -> list[str]:
    return [event.type for event in session.events(start)]


# -- fork ---------------------------------------------------------------------------------------------


def test_a_fork_starts_from_the_whole_source_and_marks_its_cut(sessions: Sessions, source: Session) -> None:
    child = sessions.fork(source, child_id="c")

    assert list(child.events(0, 7)) == list(source.events())
    assert child.event(7).to_wire() == {
        "type": "session/end-seed",
        "seq": 7,
        "time": source.event(6).time,
        "data": INHERITED,
    }
    assert child.header == Header("c", child.header.created_at, is_seeded=True, parent_session="s", cwd="/w")
    assert (child.inherited_event_count, child.first_live_seq, child.first_lifecycle_seq) == (7, 8, 7)
    assert [own.seq for own in child.own_events()] == [7]
    assert [child.is_own(seq) for seq in (6, 7, 8)] == [False, True, False]
    assert child.derive() == source.derive()


def test_parent_and_child_go_on_apart(sessions: Sessions, source: Session) -> None:
    child = sessions.fork(source, child_id="c")

    say(source, "only parent")
    say(child, "only child")

    assert "only child" not in ids(source)
    assert "only parent" not in ids(child)


def test_a_fork_in_a_step_closes_it_in_the_child(sessions: Sessions) -> None:
    source = sessions.create("s")
    open_step(source)
    reply(source, "a", calls=["c1", "c2", "c3"])
    call(source, "c1")
    result(source, "r1", "c1")
    started = call(source, "c2")

    child = sessions.fork(source, child_id="c")

    assert types(child, 6) == ["session/end-seed", "tool/result", "tool/result", "step/end", "turn/end"]
    outcomes = [(e.data["error"]["code"], e.source_event_seqs) for e in child.events(7, 9)]
    assert outcomes == [("TOOL_OUTCOME_UNKNOWN", (started.seq,)), ("TOOL_NOT_STARTED", None)]
    assert child.event(10).data["reason"] == {"kind": "forked"}
    assert {e.time for e in child.events(6)} == {started.time}
    assert types(source)[-1] == "tool/call"


def test_a_fork_of_a_fork_has_a_marker_for_each(sessions: Sessions, source: Session) -> None:
    child = sessions.fork(source, child_id="c")
    grandchild = sessions.fork(child, child_id="g")
    say(child, "u2")
    later = sessions.fork(child, child_id="later")

    assert [e.seq for e in grandchild.events() if e.type == "session/end-seed"] == [7, 8]
    assert grandchild.inherited_event_count == 8
    assert [e.seq for e in later.events() if e.type == "session/end-seed"] == [7, 9]
    assert [own.seq for own in later.own_events()] == [9]


def test_a_fork_of_nothing_is_a_marker(sessions: Sessions) -> None:
    empty = sessions.create("s")

    child = sessions.fork(empty, child_id="c")

    assert [(e.seq, e.data) for e in child.events()] == [(0, INHERITED)]
    assert (child.first_live_seq, child.first_lifecycle_seq) == (0, 0)
    with pytest.raises(SessionForkError) as error:
        sessions.fork(empty, 0, "d")
    assert error.value.error_code == "INVALID_BOUNDARY"


@pytest.mark.parametrize("boundary", [99, -1, 1.5, float("nan"), "3", True], ids=repr)
def test_a_boundary_must_be_a_seq_of_the_source(sessions: Sessions, source: Session, boundary: Any) -> None:
    with pytest.raises(SessionForkError) as error:
        sessions.fork(source, boundary, "c")
    assert error.value.error_code == "INVALID_BOUNDARY"
    assert sessions.get("c") is None


def test_minus_zero_is_a_boundary(sessions: Sessions, source: Session) -> None:
    boundary: Any = -0.0

    assert sessions.fork(source, boundary, "c").inherited_event_count == 1


def test_a_fork_says_what_is_wrong_in_order(sessions: Sessions, source: Session) -> None:
    stranger = sessions.detached(Header("s", 1))

    def code(origin: Session | str, boundary: int | None, child: str) -> str:
        with pytest.raises(SessionForkError) as error:
            sessions.fork(origin, boundary, child)
        return error.value.error_code

    assert code("missing", 99, "s") == "SESSION_ALREADY_EXISTS"
    assert code("missing", 99, "c") == "SESSION_NOT_FOUND"
    assert code(sessions.detached(Header("x", 1)), 99, "c") == "SESSION_NOT_FOUND"
    assert code(stranger, 99, "c") == "SESSION_NOT_LIVE"
    assert code(source, 99, "c") == "INVALID_BOUNDARY"


def test_ids_are_minted_for_those_that_have_none(sessions: Sessions, source: Session) -> None:
    assert [sessions.fork(source).id, sessions.fork(source).id] == ["session-1", "session-2"]
    assert [session.id for session in sessions.list()] == ["s", "session-1", "session-2"]


def test_a_fork_inherits_no_role_of_its_parent(sessions: Sessions) -> None:
    source = sessions.create("s", cwd="/w", origin="subagent", delegation_depth=2, agent_preset="code")

    child = sessions.fork(source, child_id="c")

    assert child.header.to_wire() == {
        "version": 4,
        "id": "c",
        "createdAt": child.header.created_at,
        "isSeeded": True,
        "parentSession": "s",
        "cwd": "/w",
    }


# -- create -------------------------------------------------------------------------------------------


def whole_turn() -> list[Event]:
    session = Sessions(clock=Ticks()).create("x")
    exchange(session)
    return list(session.events())


def test_a_replayed_seed_is_closed_by_a_plain_marker(sessions: Sessions) -> None:
    session = sessions.create("s", seed=whole_turn())

    assert (session.event(7).type, session.event(7).data) == ("session/end-seed", {})
    assert (session.first_live_seq, session.seq) == (7, 8)


def test_a_seed_that_ends_in_a_marker_gets_no_second(sessions: Sessions) -> None:
    session = sessions.create("s", seed=[*whole_turn(), event(7, "session/end-seed", {})])

    assert session.seq == 8


def test_an_empty_seed_is_marked_and_no_seed_is_not(sessions: Sessions) -> None:
    assert types(sessions.create("empty", seed=[])) == ["session/end-seed"]
    assert types(sessions.create("none")) == []


def test_the_constructors_events_are_not_published(sessions: Sessions) -> None:
    told: list[int] = []
    sessions.on_created(lambda session: session.observe(lambda event: told.append(event.seq)))

    session = sessions.create("s", seed=whole_turn())
    session.append("turn/start", {"turn": 2})

    assert told == [8]


@pytest.mark.parametrize(
    ("seed", "count", "seeded"),
    [
        (None, None, True),
        (7, None, True),
        (7, 2, False),
        (7, 9, True),
        (7, 4, True),
        (7, -1, True),
    ],
)
def test_header_seed_and_count_must_agree(
    sessions: Sessions, seed: int | None, count: int | None, seeded: bool
) -> None:
    events = None if seed is None else whole_turn()[:seed]

    with pytest.raises(SessionError) as error:
        sessions.create("s", seed=events, inherited_event_count=count, is_seeded=seeded)
    assert error.value.data["category"] == "seed-cut"
    assert sessions.get("s") is None


def test_a_seeded_session_of_exactly_its_prefix_is_marked_as_inherited(sessions: Sessions) -> None:
    session = sessions.create(
        "s", seed=whole_turn(), inherited_event_count=7, is_seeded=True, parent_session="p"
    )

    assert session.event(7).data == INHERITED


@pytest.mark.parametrize(
    "fields",
    [
        {"cwd": "relative"},
        {"delegation_depth": -1},
        {"created_at": 1.5},
        {"created_at": -1},
        {"origin": "x"},
        {"parent_session": ""},
        {"agent_preset": ""},
        {"is_seeded": 1},
        {"version": 3},
        {"version": 5},
    ],
    ids=str,
)
def test_a_header_has_sound_fields(sessions: Sessions, fields: dict[str, Any]) -> None:
    with pytest.raises(SessionError) as error:
        sessions.create("s", **fields)
    assert error.value.data["category"] == "header"


@pytest.mark.parametrize(
    "wire",
    [
        None,
        {"version": 4, "id": "s", "createdAt": 5},
        {"version": 4, "id": "other", "createdAt": 5, "isSeeded": False},
        {"version": 4, "id": "s", "createdAt": 5, "isSeeded": False, "seedLength": 1},
        {"version": 4, "id": "s", "createdAt": 5, "isSeeded": False, "cwd": None},
    ],
    ids=str,
)
def test_a_header_on_the_wire_is_exact(wire: object) -> None:
    with pytest.raises(SessionError) as error:
        Header.from_wire(wire, "s")
    assert error.value.data["category"] == "header"


def test_a_header_survives_the_wire() -> None:
    whole = header(
        is_seeded=True,
        parent_session="p",
        cwd="C:\\w",
        origin="subagent",
        delegation_depth=0,
        agent_preset="a",
    )

    assert Header.from_wire(whole.to_wire(), "s") == whole


def test_an_id_is_live_once(sessions: Sessions, source: Session) -> None:
    with pytest.raises(SessionError) as error:
        sessions.create("s")
    assert error.value.data["category"] == "already-exists"


def test_a_listener_may_veto_a_creation(sessions: Sessions) -> None:
    def veto(session: Session) -> None:
        raise RuntimeError("not this one")

    stop = sessions.on_created(veto)
    with pytest.raises(RuntimeError):
        sessions.create("s")
    assert sessions.get("s") is None

    stop()
    assert sessions.create("s").attached


# -- restore ------------------------------------------------------------------------------------------


def test_a_restored_log_is_taken_over_and_marked(sessions: Sessions) -> None:
    stored = whole_turn()

    session = sessions.restore(header(), stored, 0)

    assert [session.event(seq) is stored[seq] for seq in range(7)] == [True] * 7
    assert (session.event(7).data, session.first_live_seq, session.first_lifecycle_seq) == ({}, 7, 7)
    assert ids(session) == ["sys", "u1", "a1"]


def test_a_marker_is_written_once_for_a_lifecycle_with_work() -> None:
    first = Session.restore(header(), whole_turn(), 0)
    second = Session.restore(header(), first.events(), 0)
    say(second, "u2")
    third = Session.restore(header(), second.events(), 0)

    assert (first.seq, second.seq - 1, third.seq) == (8, 8, 10)


def test_a_restored_fork_keeps_its_cut(sessions: Sessions, source: Session) -> None:
    child = sessions.fork(source, child_id="c")
    say(child, "u2")

    again = Session.restore(child.header, child.events(), 7)

    assert again.inherited_event_count == 7
    assert [own.seq for own in again.own_events()] == [7, 8, 9]
    assert again.event(9).data == {}


def test_the_cut_must_be_the_last_inherited_marker() -> None:
    log = [
        event(0, "turn/start", {"turn": 1}),
        event(1, "session/end-seed", INHERITED),
        event(2, "turn/end", {"turn": 1, "reason": {"kind": "forked"}}),
        event(3, "session/end-seed", INHERITED),
    ]

    with pytest.raises(SessionError) as error:
        Session.restore(header(is_seeded=True), log, 1)
    assert error.value.data["category"] == "seed-cut"
    assert Session.restore(header(is_seeded=True), log, 3).inherited_event_count == 3


def test_an_open_turn_may_be_restored() -> None:
    log = [event(0, "turn/start", {"turn": 1}), event(1, "step/start", {"turn": 1, "step": 1})]

    assert types(Session.restore(header(), log, 0)) == ["turn/start", "step/start", "session/end-seed"]


MESSAGE = {"id": "u", "role": "user", "content": [], "source": {"kind": "user"}}
CONFIG = {"provider": "p", "model": "m"}


@pytest.mark.parametrize(
    ("type", "data", "category"),
    [
        ("user/message", {**MESSAGE, "id": ""}, "message-id"),
        ("user/message", {**MESSAGE, "role": "assistant"}, "message-role"),
        ("user/message", {**MESSAGE, "content": "text"}, "message-content"),
        ("user/message", {**MESSAGE, "source": {}}, "message-source"),
        ("system/message", {"message": {**MESSAGE, "role": "system"}}, "message-source"),
        ("assistant/message", {"message": {**MESSAGE, "role": "assistant"}}, "message-source"),
        (
            "assistant/message",
            {"message": {**MESSAGE, "role": "assistant", "source": {"kind": "model", **CONFIG}}},
            "stream-shape",
        ),
        ("tool/result", {"message": {**MESSAGE, "role": "tool"}}, "message-source"),
        (
            "tool/result",
            {
                "message": {
                    **MESSAGE,
                    "role": "tool",
                    "source": {"kind": "tool", "callId": "a"},
                    "toolCallId": "b",
                }
            },
            "tool-call-id",
        ),
    ],
)
def test_a_restored_message_must_be_whole(type: str, data: dict[str, Any], category: str) -> None:
    with pytest.raises(AppendRefused) as error:
        Session.restore(header(), [event(0, type, data, surface_op="append")], 0)
    assert error.value.category == category


@pytest.mark.parametrize(
    ("head", "more", "category"),
    [
        ({"config": {"provider": "p"}}, {}, "request-header-shape"),
        ({"config": CONFIG}, {"reason": "fallback"}, "request-header-shape"),
        ({"config": CONFIG, "system": "x"}, {}, "request-header-canonical"),
        ({"config": CONFIG, "tools": []}, {}, "request-header-canonical"),
        ({"config": {**CONFIG, "reasoningEffort": ""}}, {}, "request-header-shape"),
        ({"config": {**CONFIG, "temperature": "hot"}}, {}, "request-header-shape"),
        ({"config": {**CONFIG, "maxTokens": -1}}, {}, "request-header-shape"),
        ({"config": {**CONFIG, "stop": [1]}}, {}, "request-header-shape"),
        ({"config": CONFIG, "tools": {}}, {}, "request-header-shape"),
        ({"config": CONFIG, "adapterDefaults": {"maxTokens": True}}, {}, "request-header-shape"),
        ({"config": CONFIG}, {"startsSeries": False}, "request-header-shape"),
    ],
)
def test_a_restored_request_header_must_be_whole(
    head: dict[str, Any], more: dict[str, Any], category: str
) -> None:
    data = {"header": head, "reason": "initial", **more}

    with pytest.raises(AppendRefused) as error:
        Session.restore(header(), [event(0, "request/header", data)], 0)
    assert error.value.category == category


@pytest.mark.parametrize("seqs", [[0, 2], [0, 0], [1]], ids=str)
def test_a_restored_log_has_every_seq_once(seqs: list[int]) -> None:
    with pytest.raises(AppendRefused) as error:
        Session.restore(header(), [event(seq, "tavern/x", {}) for seq in seqs], 0)
    assert error.value.category == "seq"


WIRE = {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"ignorable": False},
        {"seq": -1},
        {"seq": 1.0},
        {"time": 1.5},
        {"type": 3},
    ],
    ids=str,
)
def test_an_envelope_is_exact(change: dict[str, Any]) -> None:
    with pytest.raises(AppendRefused) as error:
        Event.from_wire(freeze({**WIRE, **change}))
    assert error.value.category == "envelope"


@pytest.mark.parametrize("missing", ["type", "seq", "time", "data"])
def test_an_envelope_is_complete(missing: str) -> None:
    with pytest.raises(AppendRefused):
        Event.from_wire({key: value for key, value in WIRE.items() if key != missing})


def test_an_event_survives_the_wire_and_time_may_be_negative() -> None:
    wire = {**WIRE, "time": -5, "ignorable": True}

    assert Event.from_wire(freeze(wire)).to_wire() == wire


def test_unknown_events_stay_in_the_log_and_out_of_the_history() -> None:
    log = [
        event(0, "user/message", MESSAGE, surface_op="append"),
        event(1, "future/thing", {}, ignorable=True, surface_op="append", source_event_seqs=(0,)),
        event(2, "future/required", {}),
    ]

    session = Session.restore(header(), log, 0)

    assert session.seq == 4
    assert ids(session) == ["u"]


def test_a_fork_closes_only_the_open_turn(sessions: Sessions) -> None:
    source = sessions.create("s")
    open_step(source)
    close_turn(source)
    open_step(source, turn=2)

    child = sessions.fork(source, child_id="c")

    assert [e.data for e in child.events() if e.type == "turn/end"] == [
        {"turn": 1, "reason": {"kind": "completed"}},
        {"turn": 2, "reason": {"kind": "forked"}},
    ]


# -- flush ------------------------------------------------------------------------------------------


async def test_a_flush_that_nobody_takes_part_in_says_so(sessions: Sessions, source: Session) -> None:
    assert await sessions.flush(source) is False

    async def stored(session: Session) -> None:
        """A durability listener that has nothing to do."""

    sessions.on_flush(stored)
    assert await sessions.flush(source) is True
    sessions.detach(source)
    with pytest.raises(NotFound):
        await sessions.flush(source)
