"""The derived history and message projections (session spec 4; seed 002, 4)."""

from collections.abc import Mapping
from typing import Any

import pytest

from engine.errors import SessionError
from engine.session import (
    Event,
    History,
    Message,
    Session,
    Sessions,
    balance,
    message_text,
    offload_images,
    text_block,
    user_message,
)
from tests.engine.session.build import (
    call,
    exchange,
    ids,
    live,
    nodes,
    prompt,
    refused,
    replace,
    reply,
    result,
    say,
)


def test_messages_come_in_the_order_of_the_surface_as_they_were_logged() -> None:
    session = live()
    exchange(session, 1)

    assert [(m["role"], message_text(m)) for m in session.derive()] == [
        ("system", "P"),
        ("user", "question 1"),
        ("assistant", "answer 1"),
    ]
    assert session.derive()[1] is session.event(3).data


def test_empty_messages_of_system_and_model_say_nothing_and_keep_their_nodes() -> None:
    session = live()
    prompt(session, text="")
    say(session, "u", text="")
    reply(session, "a", text="")
    session.append(
        "assistant/message", {"turn": 1, "step": 1, "message": {"content": []}}, surface_op="append"
    )
    result(session, "t", "c", text="")
    empty = {"id": "d", "role": "developer", "content": [], "source": {"kind": "tool-registry"}}
    session.append("developer/message", {"turn": 1, "step": 1, "message": empty}, surface_op="append")

    # An empty text block is a block: only a message without any block is silent.
    assert ids(session) == ["u", "a", "t"]
    assert len(nodes(session)) == 6
    assert session.derive_event(0) is None


def test_log_only_events_and_attempts_say_nothing() -> None:
    session = live()
    say(session, "u")
    session.append("assistant/attempt", {"turn": 1, "step": 1, "stream": []})
    reply(session, "a")

    assert ids(session) == ["u", "a"]
    assert session.derive_event(1) is None


def test_an_interrupted_answer_is_part_of_the_history() -> None:
    session = live()
    reply(session, "a", "half an ans", interrupted=True)

    assert message_text(session.derive()[0]) == "half an ans"


def test_ids_are_not_made_unique() -> None:
    session = live()
    say(session, "u", "one")
    say(session, "u", "two")

    assert ids(session) == ["u", "u"]


def test_a_held_history_does_not_grow_and_shares_its_messages() -> None:
    session = live()
    say(session, "a")
    held = session.derive()

    say(session, "b")
    now = session.derive()

    assert [m["id"] for m in held] == ["a"]
    assert [m["id"] for m in now] == ["a", "b"]
    assert now[0] is held[0]


def test_unchanged_messages_keep_their_identity_through_a_replacement() -> None:
    session = live()
    for name in ("a", "b", "c"):
        say(session, name)
    held = session.derive()

    say(session, "ab", surface_op=replace(0, 1), source_event_seqs=[0, 1])

    assert ids(session) == ["ab", "c"]
    assert session.derive()[1] is held[2]
    assert [m["id"] for m in held] == ["a", "b", "c"]


def test_a_history_can_be_sliced_indexed_and_compared() -> None:
    session = live()
    for name in ("a", "b", "c"):
        say(session, name)
    history = session.derive()

    assert history[-1]["id"] == "c"
    assert [m["id"] for m in history[1:]] == ["b", "c"]
    assert [m["id"] for m in history[::2]] == ["a", "c"]
    assert history == list(session.derive())
    assert history[:1] != history
    with pytest.raises(IndexError):
        history[3]


def test_calls_and_results_balance_along_the_surface() -> None:
    session = live()
    say(session, "u1")
    reply(session, "a", calls=["c1", "c2"])
    result(session, "r1", "c1")
    result(session, "r2", "c2")
    say(session, "u2")

    around = [(balance(session, seq).before, balance(session, seq).after) for seq in range(5)]

    assert around == [(True, True), (True, False), (False, False), (False, True), (True, True)]
    with pytest.raises(SessionError):
        balance(session, 9)


# -- projections --------------------------------------------------------------------------------------


def edit(event: Event, history: History) -> Mapping[int, Message]:
    """`test/edit` {seq, text}: that message now says the text; an empty one nothing."""
    text = event.data["text"]
    if text == "reject":
        raise ValueError("no")
    message = history.messages[event.data["seq"]]
    assert message is not None
    return {event.data["seq"]: {**message, "content": [text_block(text)] if text else []}}


@pytest.fixture
def sessions() -> Sessions:
    sessions = Sessions()
    sessions.register_projection("test/edit", edit)
    return sessions


def test_a_projection_changes_what_is_read_and_nothing_else(sessions: Sessions) -> None:
    session = sessions.create("s")
    say(session, "u1", "original")
    say(session, "u2", "second")
    held = session.derive()

    session.append("test/edit", {"seq": 0, "text": "edited"})

    assert [message_text(m) for m in session.derive()] == ["edited", "second"]
    assert session.derive()[0]["id"] == "u1"
    assert session.derive()[1] is held[1]
    assert message_text(held[0]) == "original"
    assert message_text(session.event(0).data) == "original"
    assert message_text(session.derive_event(0) or {}) == "edited"
    assert nodes(session) == [0, 1]
    assert (session.surface.replace_generation, session.surface.content_generation) == (0, 1)


def test_a_later_projection_sees_the_earlier_one(sessions: Sessions) -> None:
    def double(event: Event, history: History) -> Mapping[int, Message]:
        message = history.messages[0]
        assert message is not None
        return {0: {**message, "content": [text_block(message_text(message) * 2)]}}

    sessions.register_projection("test/double", double)
    session = sessions.create("s")
    say(session, "u", "a")
    session.append("test/double", {})
    session.append("test/double", {})

    assert message_text(session.derive()[0]) == "aaaa"
    assert session.surface.content_generation == 2


@pytest.mark.parametrize("data", [{"seq": 0, "text": "reject"}, {"seq": 7, "text": "x"}], ids=str)
def test_a_rejected_projection_changes_nothing(sessions: Sessions, data: dict[str, Any]) -> None:
    session = sessions.create("s")
    say(session, "u")

    with refused(session, "projection-rejected"):
        session.append("test/edit", data)


def test_a_projection_may_only_change_current_nodes() -> None:
    sessions = Sessions()
    sessions.register_projection("test/any", lambda event, history: {0: user_message("u", "x")})
    session = sessions.create("s")
    say(session, "u")
    say(session, "v", surface_op=replace(0, 0), source_event_seqs=[0])

    with refused(session, "projection-rejected"):
        session.append("test/any", {})


def test_a_projection_to_nothing_is_still_a_message(sessions: Sessions) -> None:
    session = sessions.create("s")
    reply(session, "a", "y")

    session.append("test/edit", {"seq": 0, "text": ""})

    assert [(m["id"], m["content"]) for m in session.derive()] == [("a", ())]


def test_a_declared_projection_needs_its_interpreter() -> None:
    with refused(session := live(), "projection-missing"):
        session.append("image/offload", {"targets": []})


def test_a_type_that_nobody_declared_or_registered_is_a_plain_record() -> None:
    session = live()
    say(session, "u", "x")

    session.append("test/edit", {"seq": 0, "text": "edited"})

    assert message_text(session.derive()[0]) == "x"


def test_without_its_interpreter_a_session_that_used_it_cannot_be_read() -> None:
    sessions = Sessions()
    dispose = sessions.register_projection("test/edit", edit)
    used, unused = sessions.create("used"), sessions.create("unused")
    for session in (used, unused):
        say(session, "u")
    used.append("test/edit", {"seq": 0, "text": "edited"})

    dispose()

    for read in (used.derive, lambda: used.derive_event(0), lambda: used.surface.nodes):
        with pytest.raises(SessionError) as error:
            read()
        assert error.value.data["category"] == "projection-unloaded"
    with pytest.raises(SessionError):
        used.append("turn/start", {"turn": 1})
    assert used.seq == 2
    assert ids(unused) == ["u"]

    sessions.register_projection("test/edit", edit)
    with pytest.raises(SessionError):
        used.derive()  # another registration is another interpreter


def test_a_candidate_that_was_refused_pins_nothing() -> None:
    sessions = Sessions()
    dispose = sessions.register_projection("test/edit", edit)
    session = sessions.create("s")
    say(session, "u")
    with refused(session, "projection-rejected"):
        session.append("test/edit", {"seq": 0, "text": "reject"})

    dispose()

    assert ids(session) == ["u"]


def test_a_type_has_one_interpreter(sessions: Sessions) -> None:
    with pytest.raises(SessionError) as error:
        sessions.register_projection("test/edit", edit)
    assert error.value.data["category"] == "projection-duplicate"


def test_a_fork_replays_the_decisions_before_its_cut(sessions: Sessions) -> None:
    session = sessions.create("s")
    say(session, "u", "original")
    session.append("test/edit", {"seq": 0, "text": "edited"})

    after, before = sessions.fork(session, None, "after"), sessions.fork(session, 0, "before")

    assert message_text(after.derive()[0]) == "edited"
    assert message_text(before.derive()[0]) == "original"


def picture(name: str) -> dict[str, Any]:
    attachment = {"attachmentId": name, "mediaType": "image/png", "bytes": 1, "width": 1, "height": 1}
    return {"type": "image", "attachment": attachment}


def test_offloading_marks_the_named_images() -> None:
    sessions = Sessions()
    sessions.register_projection("image/offload", offload_images)
    session = sessions.create("s")
    message = user_message("u", [text_block("look"), picture("one"), picture("two")])
    session.append("user/message", message, surface_op="append")

    session.append("image/offload", {"targets": [{"seq": 0, "imageIndexes": [1]}]})

    assert [block.get("offloaded") for block in session.derive()[0]["content"]] == [None, None, True]
    for index in (1, 2):  # offloaded already; not there
        with refused(session, "projection-rejected"):
            session.append("image/offload", {"targets": [{"seq": 0, "imageIndexes": [index]}]})


def test_a_call_without_its_result_is_out_of_balance() -> None:
    session: Session = live()
    reply(session, "a", calls=["c"])
    call(session, "c")

    assert not balance(session, 0).after
