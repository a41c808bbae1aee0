"""Events that a store has proven are taken over without being read, and nobody can tell
(storage spec B5, D)."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.codec import canonical
from engine.errors import AppendRefused, SessionCorrupt
from engine.session import Event, FrozenDict, Session, Sessions, StoredEvent, StrictValidator, freeze
from engine.session.relations import Relations
from engine.session.surface import Surface
from engine.session.unread import unread
from tests.engine.session.build import (
    Ticks,
    call,
    close_turn,
    event,
    exchange,
    open_step,
    prompt,
    replace,
    reply,
    result,
    say,
)

CONFIG = {"provider": "p", "model": "m"}


def eventful() -> Session:
    """One of nearly everything that leaves something behind for later events."""
    session = Sessions(validators=[StrictValidator], clock=Ticks()).create("s")
    exchange(session)
    session.append("command/run", {"commandId": "k1", "name": "title", "source": "user"})
    session.append("session/title", {"title": "T", "messageSeqs": [3], "source": {"kind": "model"}})
    session.append("command/done", {"commandId": "k1", "kind": "success", "sourceEventSeq": 8})
    session.append("command/run", {"commandId": "k2", "name": "roll", "source": "user"})
    session.append_plugin_record("plugin:tavern/state", {"hp": 1})
    open_step(session, 2)
    session.append("request/header", {"header": {"config": CONFIG}, "reason": "initial"})
    retry = {"retryId": "r", "turn": 2, "step": 1, "retry": 1}
    policy = {"provider": "p", "mode": "auto", "policyKey": "k", "delayMs": 1, "failure": {}}
    session.append("llm/retry", {**retry, **policy})
    session.append("llm/retry-started", retry)
    reply(session, "a2", turn=2, calls=["c1", "c2"])
    call(session, "c1", turn=2)
    result(session, "t1", "c1", turn=2)
    call(session, "c2", turn=2)
    result(session, "t2", "c2", turn=2)
    close_turn(session, 2)
    session.append("compaction/start", {"compactionId": "z", "turn": None})
    shadowed = [3, 4]
    summary = {"compactionId": "z", "summary": [], "shadowedTokenCount": 9, **CONFIG}
    span = {"shadowedRange": {"start": 3, "end": 4}, "shadowedSeqs": shadowed}
    session.append("compaction/summary", {**summary, **span})
    say(session, "sum", surface_op=replace(3, 4), source_event_seqs=shadowed)
    session.append("compaction/end", {"compactionId": "z", "turn": None})
    session.append("turn/start", {"turn": 3})
    session.append("step/start", {"turn": 3, "step": 1})
    reply(session, "a3", turn=3, calls=["c3"])
    call(session, "c3", turn=3)
    return session


def rows(session: Session) -> list[StoredEvent]:
    return [StoredEvent.of(event) for event in session.events()]


def test_the_events_are_the_same() -> None:
    session = eventful()

    found = unread(rows(session))

    assert found == list(session.events())
    assert [one.to_wire() for one in found] == [one.to_wire() for one in session.events()]
    assert all(type(one.data) is FrozenDict for one in found)


def test_the_data_is_decoded_once_and_its_bytes_are_let_go() -> None:
    [row] = rows(eventful())[3:4]
    [found] = unread([row])
    assert found._body is row.body

    data = found.data

    assert found.data is data
    assert found._body == b""


def test_an_unread_event_can_be_copied_and_not_changed() -> None:
    [found] = unread(rows(eventful())[3:4])

    assert copy.copy(found) == copy.deepcopy(found) == found
    with pytest.raises(AttributeError):
        found.seq = 9  # type: ignore[misc]
    with pytest.raises(AttributeError):
        _ = found.colour  # type: ignore[attr-defined]


ROW = StoredEvent.of(event(5, "turn/start", {"turn": 1}))


@pytest.mark.parametrize(
    "row",
    [
        ROW._replace(body=b"no json"),
        ROW._replace(body=b'{"data":{"turn":1},"seq":6,"time":105,"type":"turn/start"}'),
        ROW._replace(body=b'{"data":{"x":{"seq":5,"time":105,"type":"turn/start"}'),
        ROW._replace(body=b'{"data":{"turn":1},"extra":{},"seq":5,"time":105,"type":"turn/start"}'),
        ROW._replace(body=b'{"data":{"turn":1},"seq":7,"x":{},"seq":5,"time":105,"type":"turn/start"}'),
        ROW._replace(
            body=b'{"data":' + b"[" * 400 + b"]" * 400 + b',"seq":5,"time":105,"type":"turn/start"}'
        ),
        ROW._replace(body=b'[{"data":{},"seq":5,"time":105,"type":"turn/start"}'),
        ROW._replace(type="turn/end"),
        ROW._replace(time=1),
        ROW._replace(seq=6),
    ],
    ids=lambda row: repr(row)[:60],
)
def test_a_body_that_is_another_event_never_passes_for_this_one(row: StoredEvent) -> None:
    try:
        [found] = unread([row])
    except (ValueError, AppendRefused):
        return
    if (found.seq, found.type, found.time) != (row.seq, row.type, row.time):
        return  # it was decoded at once, and is what its body says: the log will refuse it
    with pytest.raises(SessionCorrupt):
        _ = found.data


json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["turn/start", "user/message", "tool/result", "plugin:x", 'strange \\ " % d']),
    st.integers(0, 2**53 - 1),
    st.integers(-(2**53) + 1, 2**53 - 1),
    json,
    st.none() | st.just("append") | st.just({"op": "replace", "startSeq": 1, "endSeq": 2}),
    st.none() | st.lists(st.integers(0, 9), min_size=1),
    st.booleans(),
)
def test_whatever_the_event_is(
    kind: str, seq: int, time: int, data: Any, op: Any, sources: Any, ignorable: bool
) -> None:
    original = Event(kind, seq, time, freeze(data), freeze(op), freeze(sources), ignorable)

    [found] = unread([StoredEvent.of(original)])

    assert found == original
    assert canonical(found.to_wire()) == canonical(original.to_wire())


# -- sessions over them ---------------------------------------------------------------------------------


def test_a_session_is_the_same_whether_its_log_was_read_or_taken_over() -> None:
    original = eventful()

    def restored(proven: int) -> Session:
        sessions = Sessions(validators=[StrictValidator], clock=Ticks())
        return sessions.detached(
            original.header, unread(rows(original)), inherited_event_count=0, restored=True, proven=proven
        )

    taken, read = restored(original.seq), restored(0)

    assert list(taken.surface.nodes) == list(read.surface.nodes)
    assert list(taken.derive()) == list(read.derive())
    assert (
        taken.request_header() == read.request_header() == {"header": {"config": CONFIG}, "reason": "initial"}
    )
    assert taken.surface.replace_generation == read.surface.replace_generation


def test_opening_decodes_only_what_was_open() -> None:
    original = eventful()
    events = unread(rows(original))

    Sessions(validators=[StrictValidator]).detached(
        original.header, events, inherited_event_count=0, restored=True, proven=original.seq
    )

    unopened = [one.seq for one in events if one._body]
    assert {0, 1, 2, 3, 4, 5, 6}.issubset(unopened)


def relations(events: list[Event], *, resume: bool) -> Relations:
    log: list[Event] = []
    surface = Surface(log, Sessions().projections)
    found = Relations(surface, events)
    if resume:
        surface.take_over(events)
        found.resume(events)
        return found
    for one in events:
        found.check(one)
        plan = surface.plan(one)
        log.append(one)
        if plan is not None:
            plan()
        found.accept(one)
    return found


def standing(found: Relations) -> Any:
    """Everything that later checks depend on."""
    position, brackets, retries = found._position, found._brackets, found._retries
    return (
        (position.turn, position.step, position.last_turn, position.last_step if position.turn else None),
        {name: (call.name, call.arguments, call.started) for name, call in found._calls.items()},
        None if brackets._open is None else (brackets._open.start, brackets._open.summarised),
        found._commands._done,
        (retries._provider, retries._last, retries._waiting),
    )


@pytest.mark.parametrize("length", range(len(rows(eventful())) + 1))
def test_the_state_that_is_taken_up_is_that_of_a_whole_replay(length: int) -> None:
    events = list(eventful().events())[:length]

    assert standing(relations(events, resume=True)) == standing(relations(events, resume=False))


def test_what_a_resumed_session_takes_is_what_a_replayed_one_takes() -> None:
    original = eventful()
    taken = Sessions(validators=[StrictValidator], clock=Ticks()).detached(
        original.header,
        unread(rows(original)),
        inherited_event_count=0,
        restored=True,
        proven=original.seq,
    )

    for wrong in (
        ("turn/start", {"turn": 4}),
        ("step/end", {"turn": 3, "step": 1}),
        ("command/run", {"commandId": "k2", "name": "x", "source": "user"}),
        ("session/title", {"title": "T", "messageSeqs": [4], "source": {"kind": "model"}}),
    ):
        with pytest.raises(AppendRefused):
            taken.append(*wrong)
    result(taken, "t3", "c3", turn=3)
    close_turn(taken, 3)
    taken.append("command/done", {"commandId": "k2", "kind": "success", "sourceEventSeq": 3})
    taken.append("session/title", {"title": "U", "messageSeqs": [3], "source": {"kind": "model"}})
    prompt_again = taken.surface.nodes[0]
    open_step(taken, 4)
    prompt(
        taken,
        "sys2",
        turn=4,
        surface_op=replace(prompt_again, prompt_again),
        source_event_seqs=[prompt_again],
    )


def test_what_is_not_known_and_may_be_passed_over_is_not_read() -> None:
    kind = "request/assembly"
    known = Event(kind, 3, 5, freeze({"messages": [{"text": "🎲"}], "metadata": {}}), None, None, True)
    body = canonical(known.to_wire())
    (event,) = unread([(3, kind, 5, body)])
    assert event._body == body  # not looked at yet
    assert event == known and event.ignorable and event.surface_op is None
    # what is not of that form is: a flag that says nothing, an array, other facts in the envelope
    others = [
        Event(kind, 3, 5, freeze({"a": 1}), None, None, False),
        Event(kind, 3, 5, freeze(['},"ignorable":true']), None, None, True),
        Event(kind, 3, 5, freeze({"a": 1}), None, (1,), True),
    ]
    for other in others:
        (event,) = unread([(3, kind, 5, canonical(other.to_wire()))])
        assert event == other and not event._body
