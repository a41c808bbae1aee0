"""The strict validator: what can be written can be read back (session spec 6.2, 11; decision 2)."""

from typing import Any

import pytest

from engine.errors import AppendRefused, FormatUnsupported, SessionCorrupt
from engine.session import Event, Session, Sessions, StrictValidator, check_log, closers, parse, thaw
from engine.session.payloads import AssistantData
from engine.session.shapes import UserMessage
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

RELATION = "stored-relationship"


@pytest.fixture
def session() -> Session:
    return live(validators=[StrictValidator])


def rejected(session: Session) -> refused:
    return refused(session, RELATION)


def test_a_whole_turn_passes(session: Session) -> None:
    exchange(session)
    open_step(session, turn=2)
    reply(session, "a", turn=2, calls=["c"])
    call(session, "c", turn=2)
    result(session, "r", "c", turn=2)
    close_turn(session, turn=2)

    assert nodes(session) == [2, 3, 4, 9, 11]


def test_the_companions_rules_hold_here_too(session: Session) -> None:
    with rejected(session):
        session.append("turn/start", {"turn": 2})
    open_step(session)
    with rejected(session):
        session.append("turn/end", {"turn": 1, "reason": COMPLETED})


def test_a_system_message_needs_an_empty_surface_or_a_system_head(session: Session) -> None:
    open_step(session)
    say(session, "u")

    with rejected(session):
        prompt(session)


# -- tool calls ---------------------------------------------------------------------------------------


def test_a_call_is_advertised_once_and_starts_once(session: Session) -> None:
    open_step(session)
    with rejected(session):
        call(session, "c")
    with rejected(session):
        reply(session, "a", calls=["c", "c"])
    reply(session, "a", calls=["c"])
    with rejected(session):
        reply(session, "b", calls=["c"])
    call(session, "c")
    with rejected(session):
        call(session, "c")


def test_a_call_starts_as_it_was_advertised(session: Session) -> None:
    open_step(session)
    reply(session, "a", calls=["c"])
    data = {"turn": 1, "step": 1, "callId": "c", "name": "dice", "arguments": "{}"}

    with rejected(session):
        session.append("tool/call", {**data, "name": "sword"})
    with rejected(session):
        session.append("tool/call", {**data, "arguments": "{ }"})


def test_a_call_is_answered_once_before_its_step_ends(session: Session) -> None:
    open_step(session)
    reply(session, "a", calls=["c"])
    with rejected(session):
        result(session, "r", "c")
    call(session, "c")
    with rejected(session):
        session.append("step/end", {"turn": 1, "step": 1})
    result(session, "r", "c")
    with rejected(session):
        result(session, "r", "c")
    close_turn(session)


@pytest.mark.parametrize("started", [False, True])
def test_the_exact_repair_answers_a_call_that_never_ran(session: Session, started: bool) -> None:
    open_step(session)
    reply(session, "a", calls=["c"])
    if started:
        call(session, "c")

    for closer in closers(session.events()):
        session.append(
            closer.type,
            thaw(closer.data),
            surface_op=closer.surface_op,
            source_event_seqs=closer.source_event_seqs,
        )

    assert session.event(session.seq - 1).type == "turn/end"


def test_a_repair_with_other_words_is_no_repair(session: Session) -> None:
    open_step(session)
    reply(session, "a", calls=["c"])
    data = thaw(closers(session.events())[0].data)
    data["message"]["content"][0]["text"] = "other"

    with rejected(session):
        session.append("tool/result", data, surface_op="append")
    data["message"]["id"] = "forked-tool-result-c-anything"
    session.append("tool/result", data, surface_op="append")


# -- compaction ---------------------------------------------------------------------------------------


@pytest.fixture
def compacting(session: Session) -> Session:
    """After one exchange (sys=2 u1=3 a1=4), idle, with the bracket `k` open at 7."""
    exchange(session)
    session.append("compaction/start", {"compactionId": "k", "turn": None})
    return session


def summary(*seqs: int, bracket: str = "k") -> dict[str, Any]:
    return {
        "compactionId": bracket,
        "summary": [{"type": "text", "text": "S"}],
        "shadowedRange": {"start": seqs[0], "end": seqs[-1]},
        "shadowedSeqs": list(seqs),
        "shadowedTokenCount": 10,
        "provider": "p",
        "model": "m",
    }


def checkpoint(session: Session, bracket: str = "k") -> Event:
    message = {
        "id": "ck",
        "role": "user",
        "content": [{"type": "text", "text": "S"}],
        "source": {"kind": "compact-checkpoint", "compactionId": bracket},
    }
    return session.append("user/message", message, surface_op=replace(3, 4), source_event_seqs=[7, 8, 3, 4])


def test_a_compaction_is_a_bracket_of_start_summary_checkpoint_end(compacting: Session) -> None:
    compacting.append("compaction/summary", summary(3, 4))
    event = checkpoint(compacting)
    compacting.append("compaction/end", {"compactionId": "k", "turn": None})

    assert nodes(compacting) == [2, event.seq]


def test_brackets_do_not_overlap_nor_cross_turns(compacting: Session) -> None:
    with rejected(compacting):
        compacting.append("compaction/start", {"compactionId": "l", "turn": None})
    with rejected(compacting):
        compacting.append("turn/start", {"turn": 2})


def test_a_bracket_belongs_to_the_open_turn(session: Session) -> None:
    open_step(session)

    with rejected(session):
        session.append("compaction/start", {"compactionId": "k", "turn": None})
    session.append("compaction/start", {"compactionId": "k", "turn": 1})
    with rejected(session):
        session.append("compaction/end", {"compactionId": "k", "turn": None, "error": "x"})


@pytest.mark.parametrize(
    "data",
    [summary(3, 5), summary(4, 3), summary(2, 3, 4), summary(3, 4, bracket="l")],
    ids=["no node", "reversed", "with the head", "another bracket"],
)
def test_a_summary_names_an_exact_span_of_its_bracket(compacting: Session, data: dict[str, Any]) -> None:
    with rejected(compacting):
        compacting.append("compaction/summary", data)


def test_success_needs_exactly_one_summary_and_failure_none(compacting: Session) -> None:
    end = {"compactionId": "k", "turn": None}
    with rejected(compacting):
        compacting.append("compaction/end", end)
    compacting.append("compaction/end", {**end, "error": "boom"})
    compacting.append("compaction/start", {"compactionId": "k", "turn": None})
    compacting.append("compaction/summary", summary(3, 4))
    with rejected(compacting):
        compacting.append("compaction/summary", summary(3, 4))
    compacting.append("compaction/end", end)


def test_a_checkpoint_belongs_to_the_open_bracket(compacting: Session) -> None:
    compacting.append("compaction/summary", summary(3, 4))
    with rejected(compacting):
        checkpoint(compacting, "another")


def test_an_end_seed_drops_an_open_bracket(compacting: Session) -> None:
    again = Sessions(validators=[StrictValidator]).restore(compacting.header, compacting.events(), 0)

    again.append("turn/start", {"turn": 2})

    assert again.event(8).type == "session/end-seed"


def test_a_turn_that_a_crash_closed_may_cross_the_bracket_it_orphaned(session: Session) -> None:
    open_step(session)
    session.append("compaction/start", {"compactionId": "k", "turn": 1})
    stored = [*session.events(), *closers(session.events())]

    again = Sessions(validators=[StrictValidator]).restore(session.header, stored, 0)

    assert again.event(again.seq - 1).type == "session/end-seed"


def test_a_prune_names_what_is_there(session: Session) -> None:
    exchange(session)
    prune = {"shadowedRange": {"start": 3, "end": 3}, "shadowedSeqs": [3], "shadowedTokenCount": 1}

    session.append("compaction/prune", prune)
    with rejected(session):
        session.append("compaction/prune", {**prune, "shadowedSeqs": [3, 4]})


# -- families -----------------------------------------------------------------------------------------


def test_a_title_cites_human_messages_unless_a_person_wrote_it(session: Session) -> None:
    exchange(session)

    def title(kind: str, *seqs: int) -> None:
        session.append("session/title", {"title": "t", "messageSeqs": list(seqs), "source": {"kind": kind}})

    title("user")
    title("provider", 3)
    for kind, seqs in (("user", (3,)), ("provider", ()), ("provider", (4,)), ("provider", (3, 3))):
        with rejected(session):
            title(kind, *seqs)


def test_a_command_runs_once_and_is_done_once(session: Session) -> None:
    def done(kind: str = "success", **source: int) -> None:
        session.append("command/done", {"commandId": "c", "kind": kind, **source})

    with rejected(session):
        done()
    session.append("command/run", {"commandId": "c", "name": "n", "source": "user"})
    with rejected(session):
        session.append("command/run", {"commandId": "c", "name": "n", "source": "user"})
    for source in (0, 1, -1):  # the command itself; not earlier; no seq
        with rejected(session):
            done(sourceEventSeq=source)
    done()
    with rejected(session):
        done()


def test_retries_count_up_and_stay_with_their_provider(session: Session) -> None:
    open_step(session)
    session.append(
        "request/header", {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "initial"}
    )

    def retry(number: int, provider: str = "p") -> None:
        data = {"retryId": f"r{number}", "turn": 1, "step": 1, "provider": provider, "mode": "normal"}
        more = {"policyKey": "p", "retry": number, "delayMs": 500, "failure": {"code": "SERVER"}}
        session.append("llm/retry", {**data, **more})

    def started(number: int) -> None:
        data = {"retryId": f"r{number}", "turn": 1, "step": 1, "retry": number}
        session.append("llm/retry-started", data)

    with rejected(session):
        retry(2)
    with rejected(session):
        retry(1, "another")
    retry(1)
    with rejected(session):
        started(2)
    started(1)
    with rejected(session):
        started(1)
    session.append("step/end", {"turn": 1, "step": 1})
    retry(2)


# -- vocabulary and shapes ----------------------------------------------------------------------------


def test_an_unknown_type_must_be_ignorable(session: Session) -> None:
    with refused(session, "unknown-required-type"):
        session.append("future/thing", {})
    session.append("future/thing", {}, ignorable=True)


@pytest.mark.parametrize(
    ("type", "data"),
    [
        ("turn/start", {"turn": 0}),
        ("turn/start", {"turn": "1"}),
        ("turn/end", {"turn": 1, "reason": {"kind": "tired"}}),
        ("turn/end", {"turn": 1, "reason": {"kind": "aborted"}}),
        ("turn/end", {"turn": 1, "reason": {"kind": "completed", "error": {}}}),
        ("assistant/attempt", {"turn": 1, "step": 1}),
        ("agent/inbox/spliced", {"target": "next-week", "start": 0, "inserted": []}),
        ("agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": [{"id": "x"}]}),
        ("request/context", {"provider": "", "model": "m"}),
        (
            "request/header",
            {
                "header": {"config": {"provider": "p", "model": "m"}, "adapterDefaults": {"maxTokens": True}},
                "reason": "initial",
            },
        ),
    ],
    ids=str,
)
def test_data_has_the_shape_of_its_type(session: Session, type: str, data: dict[str, Any]) -> None:
    with refused(session, "shape"):
        session.append(type, data)


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"role": "assistant"},
        {"content": "text"},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "tool-call", "id": "", "name": "n", "arguments": "{}"}]},
        {"content": [None]},
        {"source": {}},
    ],
    ids=str,
)
def test_a_message_has_its_shape(session: Session, change: dict[str, Any]) -> None:
    message = {"id": "u", "role": "user", "content": [], "source": {"kind": "user"}, **change}

    with refused(session, "shape"):
        session.append("user/message", message, surface_op="append")


def test_a_block_of_an_unknown_type_passes(session: Session) -> None:
    content = [{"type": "plugin:hologram", "anything": [1]}]
    message = {"id": "u", "role": "user", "content": content, "source": {"kind": "user"}}

    session.append("user/message", message, surface_op="append")

    assert session.derive()[0]["content"][0]["anything"] == (1,)


def test_the_retired_source_kind_is_refused(session: Session) -> None:
    message = {"id": "u", "role": "user", "content": [], "source": {"kind": "plugin"}}

    with rejected(session):
        session.append("user/message", message, surface_op="append")


def test_typed_data_is_there_for_who_wants_it(session: Session) -> None:
    exchange(session)

    user, assistant = parse(session.event(3)), parse(session.event(4))

    assert isinstance(user, UserMessage)
    assert user.source.kind == "user"
    assert isinstance(assistant, AssistantData)
    assert (assistant.message.source.provider, assistant.interrupted) == ("p", None)


def test_what_the_validator_took_the_reader_takes() -> None:
    session = live(validators=[StrictValidator])
    exchange(session)
    session.append_plugin_record("plugin:tavern/mvu", {"hp": 1})

    wires = [thaw(event.to_wire()) for event in session.events()]
    log = check_log("s", session.header.to_wire(), 0, wires)

    assert list(log.events) == list(session.events())


# -- the read boundary --------------------------------------------------------------------------------

HEADER = {"version": 4, "id": "s", "createdAt": 5, "isSeeded": False}


@pytest.mark.parametrize("version", [3, 5])
def test_another_version_is_unsupported(version: int) -> None:
    with pytest.raises(FormatUnsupported):
        check_log("s", {**HEADER, "version": version}, 0, [])


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"type": "future/thing", "data": {}}, FormatUnsupported),
        ({"type": "request/header", "data": {"reason": "fallback"}}, FormatUnsupported),
        ({"type": "turn/start", "data": {"turn": 2}}, SessionCorrupt),
        ({"type": "turn/start", "data": 3}, SessionCorrupt),
        ({"type": "turn/start"}, SessionCorrupt),
        ({"type": "session/end-seed", "data": {"inherited": True}}, SessionCorrupt),
    ],
    ids=str,
)
def test_unsupported_and_corrupt_are_told_apart(event: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        check_log("s", HEADER, 0, [{"seq": 0, "time": 1, **event}])


def test_a_compaction_that_no_marker_orphans_cannot_be_crossed() -> None:
    types: list[tuple[str, dict[str, Any]]] = [
        ("turn/start", {"turn": 1}),
        ("compaction/start", {"compactionId": "k", "turn": 1}),
        ("turn/end", {"turn": 1, "reason": {"kind": "interrupted"}}),
    ]
    log: list[Any] = [
        {"type": kind, "seq": seq, "time": 1, "data": data} for seq, (kind, data) in enumerate(types)
    ]

    with pytest.raises(SessionCorrupt):
        check_log("s", HEADER, 0, log)
    marker = {"type": "session/end-seed", "seq": 3, "time": 1, "data": {}}
    assert len(check_log("s", HEADER, 0, [*log, marker]).events) == 4


def test_malformed_data_of_a_relation_is_a_refusal_not_a_crash() -> None:
    session = live(validators=[StrictValidator])

    with pytest.raises(AppendRefused):
        session.append("command/run", {})
    with pytest.raises(AppendRefused):
        session.append("command/run", {"commandId": {"un": "hashable"}})
