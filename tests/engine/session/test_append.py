"""Append: its checks in their order, what it freezes, whom it tells (session spec 2; seed 002, 1)."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine.errors import AppendRefused
from engine.session import NULL, Event, Session, Sessions
from engine.session.log import Validator
from tests.engine.session.build import live, nodes, prompt, refused, reply, say, state


def test_the_first_event_has_seq_0_and_makes_no_node() -> None:
    session = live()

    event = session.append("turn/start", {"turn": 1})

    assert (event.seq, event.time, event.data) == (0, 1001, {"turn": 1})
    assert session.seq == 1
    assert session.event(0) is event
    assert nodes(session) == []


def test_the_callers_object_may_change_afterwards() -> None:
    session = live()
    data = {
        "id": "m",
        "role": "user",
        "content": [{"type": "text", "text": "hi"}],
        "source": {"kind": "user"},
    }

    session.append("user/message", data, surface_op="append")
    data["content"][0]["text"] = "something else"  # type: ignore[index]

    assert session.event(0).data["content"][0]["text"] == "hi"
    assert session.derive()[0]["content"][0]["text"] == "hi"


def test_a_logged_event_cannot_be_changed() -> None:
    session = live()
    event: Any = say(session, "m")

    with pytest.raises(TypeError):
        event.data["content"][0]["text"] = "x"
    with pytest.raises(AttributeError):
        event.seq = 7


@pytest.mark.parametrize("data", [float("nan"), {"a": -0.0}, {"a": object()}])
def test_data_that_is_not_json_is_refused_first(data: object) -> None:
    session = live()
    seen: list[Event] = []
    session.observe(seen.append)

    with refused(session, "json-data"):
        session.append("user/message", data, surface_op={"op": object()})
    assert seen == []


def test_metadata_that_is_not_json_is_refused_second() -> None:
    session = live()

    with refused(session, "json-metadata"):
        session.append("turn/start", {}, surface_op={"op": "replace", "startSeq": float("nan")})
    with refused(session, "json-metadata"):
        session.append("turn/start", {}, source_event_seqs=[object()])


def test_contradictions_in_the_data_come_before_the_surface_rules() -> None:
    session = live()
    failed = {"name": "E", "code": "E"}
    message = {"id": "r", "role": "tool", "toolCallId": "c", "isError": False, "content": []}

    with refused(session, "tool-error-consistency"):
        session.append("tool/result", {"turn": 1, "step": 1, "message": message, "error": failed})
    with refused(session, "surface-op-required"):
        session.append("tool/result", {"turn": 1, "step": 1, "message": message})


@pytest.mark.parametrize(
    "kind", ["system/message", "developer/message", "user/message", "assistant/message", "tool/result"]
)
def test_a_message_needs_its_place(kind: str) -> None:
    role = "developer" if kind == "developer/message" else "user"
    data = {"id": "m", "role": role, "message": {"role": role}}

    with refused(session := live(), "surface-op-required"):
        session.append(kind, data)


def test_a_log_only_event_has_no_place_and_no_sources() -> None:
    session = live()
    session.append("turn/start", {"turn": 1})

    with refused(session, "surface-op-forbidden"):
        session.append("step/start", {"turn": 1, "step": 1}, surface_op="append")
    with refused(session, "sources-forbidden-log-only"):
        session.append("step/start", {"turn": 1, "step": 1}, source_event_seqs=[0])
    with refused(session, "surface-op-forbidden"):
        session.append("tavern/unknown", {}, surface_op="append")


@pytest.mark.parametrize(
    "op",
    [
        "prepend",
        NULL,
        3,
        [],
        {"op": "replace", "startSeq": 0},
        {"op": "replace", "startSeq": 0, "endSeq": 0, "extra": 1},
        {"op": "insert", "startSeq": 0, "endSeq": 0},
        {"op": "replace", "start": 0, "end": 0},
        {"op": "replace", "startSeq": "0", "endSeq": 0},
        {"op": "replace", "startSeq": -1, "endSeq": 0},
        {"op": "replace", "startSeq": 0.5, "endSeq": 0},
        {"op": "replace", "startSeq": True, "endSeq": 0},
    ],
    ids=str,
)
def test_a_surface_op_has_exactly_its_form(op: object) -> None:
    session = live()
    say(session, "m")

    with refused(session, "surface-op-shape"):
        say(session, "n", surface_op=op, source_event_seqs=[0])


def test_what_nobody_interprets_may_carry_anything() -> None:
    session = live()

    event = session.append("future/thing", {}, surface_op="append", source_event_seqs=NULL, ignorable=True)

    assert event.to_wire() == {
        "type": "future/thing",
        "seq": 0,
        "time": 1001,
        "data": {},
        "ignorable": True,
        "surfaceOp": "append",
        "sourceEventSeqs": None,
    }
    assert nodes(session) == []


def test_ignorable_relaxes_nothing_for_a_known_type() -> None:
    with refused(session := live(), "surface-op-forbidden"):
        session.append("turn/start", {"turn": 1}, surface_op="append", ignorable=True)


def test_developer_messages_and_tool_changes_belong_together() -> None:
    session = live()
    removal = {"type": "tool-removal", "toolName": "dice"}
    user = {"id": "m", "role": "user", "content": [removal], "source": {"kind": "user"}}
    developer = {"id": "d", "role": "developer", "content": [removal], "source": {"kind": "tool-registry"}}

    with refused(session, "developer-role"):
        session.append("user/message", user, surface_op="append")
    with refused(session, "developer-role"):
        session.append("user/message", developer, surface_op="append")
    with refused(session, "developer-role"):
        session.append("developer/message", {"turn": 1, "step": 1, "message": user}, surface_op="append")
    session.append("developer/message", {"turn": 1, "step": 1, "message": developer}, surface_op="append")

    assert nodes(session) == [0]


def test_added_tools_must_be_those_of_the_header_they_name() -> None:
    session = live()
    config = {"provider": "p", "model": "m"}
    session.append(
        "request/header", {"header": {"config": config, "tools": [{"name": "dice"}]}, "reason": "initial"}
    )

    def add(tool: str, **header: int) -> None:
        content = [{"type": "tool-addition", "toolName": tool}]
        message = {"id": "d", "role": "developer", "content": content, "source": {"kind": "tool-registry"}}
        session.append(
            "developer/message", {"turn": 1, "step": 1, "message": message, **header}, surface_op="append"
        )

    with refused(session, "developer-header-seq"):
        add("dice")
    with refused(session, "developer-header-seq"):
        add("dice", headerSeq=1)
    with refused(session, "developer-header-seq"):
        add("sword", headerSeq=0)
    add("dice", headerSeq=0)

    assert nodes(session) == [1]


@pytest.mark.parametrize("extra", [{"system": "x"}, {"tools": []}, {"adapterDefaults": {}}], ids=str)
def test_a_request_header_leaves_out_what_is_empty_or_retired(extra: dict[str, Any]) -> None:
    config = {"provider": "p", "model": "m"}

    with refused(session := live(), "request-header-canonical"):
        session.append("request/header", {"header": {"config": config, **extra}, "reason": "initial"})


def test_the_last_header_and_context_are_remembered() -> None:
    session = live()
    assert (session.request_header(), session.request_context()) == (None, None)

    for model in ("m1", "m2"):
        config = {"provider": "p", "model": model}
        session.append("request/header", {"header": {"config": config}, "reason": "change"})
    session.append("request/context", {"provider": "p", "model": "m2"})

    assert session.request_header() == {
        "header": {"config": {"provider": "p", "model": "m2"}},
        "reason": "change",
    }
    assert session.request_context() == {"provider": "p", "model": "m2"}


@pytest.mark.parametrize(
    "kind", ["tavern/mvu", "plugin:Tavern", "plugin:a//b", "plugin:", "plugin:-a", "plugin:a/"]
)
def test_a_plugin_record_stays_in_its_namespace(kind: str) -> None:
    with refused(session := live(), "plugin-record-type"):
        session.append_plugin_record(kind, {})


def test_a_plugin_record_is_ignorable_and_log_only() -> None:
    session = live()

    event = session.append_plugin_record("plugin:tavern/mvu", {"hp": 3})

    assert event.ignorable
    assert nodes(session) == []


# -- observers --------------------------------------------------------------------------------------


def test_observers_are_told_after_the_commit() -> None:
    session = live()
    seen: list[tuple[int, int]] = []
    session.observe(lambda event: seen.append((event.seq, session.seq)))

    say(session, "m")

    assert seen == [(0, 1)]


def test_a_failing_observer_starves_nobody_and_undoes_nothing() -> None:
    session = live()
    seen: list[int] = []

    def failing(event: Event) -> None:
        raise RuntimeError("listener failed")

    session.observe(failing)
    session.observe(lambda event: seen.append(event.seq))

    with capture_logs() as logs:
        session.append("turn/start", {"turn": 1})

    assert session.seq == 1
    assert seen == [0]
    assert [entry["event"] for entry in logs] == ["session.observer_failed"]


async def test_an_observer_that_fails_later_is_logged() -> None:
    session = live()

    async def rejecting(event: Event) -> None:
        raise RuntimeError("listener rejected")

    session.observe(rejecting)
    with capture_logs() as logs:
        session.append("turn/start", {"turn": 1})
        await asyncio.sleep(0.01)

    assert [entry["event"] for entry in logs] == ["session.observer_failed"]


def test_an_observer_cannot_append_to_the_session_it_observes() -> None:
    session = live()
    refusals: list[str] = []

    def reentrant(event: Event) -> None:
        with pytest.raises(AppendRefused) as refusal:
            session.append("turn/end", {"turn": 1})
        refusals.append(refusal.value.category)

    session.observe(reentrant)
    session.append("turn/start", {"turn": 1})

    assert refusals == ["reentrant"]
    assert session.seq == 1


def test_an_observer_may_append_to_another_session() -> None:
    sessions = Sessions()
    one, other = sessions.create("one"), sessions.create("other")
    one.observe(lambda event: other.append("turn/start", {"turn": 1}))

    one.append("turn/start", {"turn": 1})

    assert (one.seq, other.seq) == (1, 1)


def test_a_disposed_observer_hears_nothing_more() -> None:
    session = live()
    seen: list[int] = []
    stop = session.observe(lambda event: seen.append(event.seq))

    session.append("turn/start", {"turn": 1})
    stop()
    session.append("turn/end", {"turn": 1})

    assert seen == [0]


def test_a_detached_session_publishes_nothing() -> None:
    sessions = Sessions()
    session = sessions.create("s")
    seen: list[int] = []
    session.observe(lambda event: seen.append(event.seq))

    sessions.detach(session)
    session.append("turn/start", {"turn": 1})

    assert seen == []
    assert session.seq == 1


def test_a_detach_during_a_publication_waits_for_its_end() -> None:
    sessions = Sessions()
    session = sessions.create("s")
    attached: list[bool] = []
    session.observe(lambda event: sessions.detach(session))
    session.observe(lambda event: attached.append(session.attached))

    session.append("turn/start", {"turn": 1})

    assert attached == [True]
    assert not session.attached
    assert sessions.get("s") is None


# -- validators -------------------------------------------------------------------------------------


class Recorder(Validator):
    """Writes down what it is asked, and vetoes turn/end."""

    def __init__(self, *_: object) -> None:
        self.asked: list[tuple[str, str]] = []

    def check(self, event: Event) -> None:
        self.asked.append(("check", event.type))
        if event.type == "turn/end":
            raise AppendRefused(category="vetoed")

    def accept(self, event: Event) -> None:
        self.asked.append(("accept", event.type))


def test_a_validator_is_asked_after_the_surface_and_told_after_the_commit() -> None:
    made: list[Recorder] = []

    def make(*_: object) -> Recorder:
        made.append(Recorder())
        return made[-1]

    session = Sessions(validators=[make]).create("s")
    with refused(session, "surface-op-required"):
        session.append("user/message", {"id": "m", "role": "user"})
    session.append("turn/start", {"turn": 1})
    with refused(session, "vetoed"):
        session.append("turn/end", {"turn": 1})

    assert made[0].asked == [("check", "turn/start"), ("accept", "turn/start"), ("check", "turn/end")]


# -- windows ----------------------------------------------------------------------------------------


def test_a_window_on_the_events_never_grows() -> None:
    session = live()
    say(session, "a")
    held = session.events()

    say(session, "b")

    assert [event.seq for event in held] == [0]
    assert [event.seq for event in session.events()] == [0, 1]
    assert [event.seq for event in session.events(1)] == [1]
    assert [event.seq for event in session.events(0, 99)] == [0, 1]
    assert list(session.events(5)) == []


@pytest.mark.parametrize("seq", [-1, 1.0, True, "0"])
def test_a_position_must_be_a_seq(seq: Any) -> None:
    session = live()
    say(session, "a")

    with pytest.raises(TypeError):
        session.event(seq)


def test_a_position_beyond_the_log_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        live().event(0)


def test_a_refusal_leaves_everything_as_it_was() -> None:
    session: Session = live()
    prompt(session)
    say(session, "u")
    reply(session, "a")
    before = state(session)

    with pytest.raises(AppendRefused):
        say(session, "x", surface_op={"op": "replace", "startSeq": 1, "endSeq": 2}, source_event_seqs=[1])

    assert state(session) == before
