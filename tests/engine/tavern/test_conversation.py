"""What of a session's log counts as said, and which claim a step was made by."""

from typing import Any

from engine.agent.inbox import Inbox
from engine.session import Session, Sessions, assistant_message, user_message
from engine.tavern.conversation import conversation
from tests.engine.tavern.stage import Stage, said


def session() -> Session:
    return Sessions(clock=lambda: 0).create("s")


def inbox_of(session: Session) -> Inbox:
    return Inbox(session, lambda kind, message: None)


def admit(session: Session, *messages: Any) -> None:
    for message in messages:
        session.append("user/message", message, surface_op="append")


def answer(session: Session, content: Any) -> None:
    message = assistant_message(f"a{session.seq}", content, provider="p", model="m")
    session.append("assistant/message", {"turn": 1, "step": 1, "message": message}, surface_op="append")


def test_a_claim_is_named_once_and_a_later_step_reads_history_only() -> None:
    log = session()
    inbox = inbox_of(log)
    log.append("turn/start", {"turn": 1})
    inbox.insert(said("steer"), "next-step")
    inbox.insert(said("prompt"), "next-turn")
    batch = inbox.claim(first=True)
    first = conversation(log, batch)
    # steering first, both in order
    assert first.activation().texts == ("Mira: steer", "Mira: prompt")
    assert len(first.claim_seqs) == 2
    metadata = first.activation().metadata
    assert metadata["claimEventSeqs"] == list(first.claim_seqs)
    assert "steer" not in str(metadata)
    log.append("step/start", {"turn": 1, "step": 1})
    admit(log, *batch)
    log.append("step/end", {"turn": 1, "step": 1})
    second = conversation(log, inbox.claim(first=False))
    assert (second.claim_seqs, second.claimed) == ((), ())
    assert second.activation().texts == ("Mira: steer", "Mira: prompt")
    # and if it is handed the same words again, they are found once
    third = conversation(log, batch)
    assert third.activation().metadata["duplicatePendingMessageCount"] == 2
    assert third.activation().texts == second.activation().texts


def test_what_was_taken_back_or_changed_while_it_waited_is_not_read() -> None:
    log = session()
    inbox = inbox_of(log)
    inbox.insert(said("old keyword", "m1"), "next-turn")
    inbox.insert(said("gone", "m2"), "next-turn")
    inbox.replace("m1", said("clocktower", "m1"))
    inbox.remove("m2")
    log.append("turn/start", {"turn": 1})
    batch = inbox.claim(first=True)
    found = conversation(log, batch)
    assert found.activation().texts == ("Mira: clocktower",)
    assert len(found.claim_seqs) == 1
    assert inbox.claim(first=False) == []


def test_a_queue_that_is_built_again_has_claimed_nothing() -> None:
    log = session()
    inbox_of(log).insert(said("waiting"), "next-turn")
    again = inbox_of(log)
    assert [message["id"] for message in again.next_turn] == ["m-waiting"]
    found = conversation(log)
    assert (found.claim_seqs, found.activation().texts) == ((), ())


def test_after_a_turn_ended_with_an_error_nothing_of_its_claim_is_left() -> None:
    log = session()
    inbox = inbox_of(log)
    inbox.insert(said("lost words"), "next-turn")
    log.append("turn/start", {"turn": 1})
    inbox.claim(first=True)
    log.append("turn/end", {"turn": 1, "reason": {"kind": "error", "error": {"message": "x", "code": "Y"}}})
    found = conversation(log)
    assert (found.claim_seqs, found.activation().texts) == ((), ())


def test_a_fork_reads_nothing_of_its_parents_queue() -> None:
    sessions = Sessions(clock=lambda: 0)
    parent = sessions.create("parent")
    inbox = inbox_of(parent)
    inbox.insert(said("the parent's"), "next-turn")
    parent.append("turn/start", {"turn": 1})
    inbox.claim(first=True)
    child = sessions.fork("parent", 1, "child")
    assert conversation(child).claim_seqs == ()
    assert inbox_of(child).has_pending is False


def test_facts_and_calls_are_nobodys_words() -> None:
    log = session()
    admit(log, said("Hello"))
    facts = {"kind": "runtime-context", "form": "snapshot", "sections": []}
    admit(log, user_message("f", "Current facts: the lantern is lit.", facts))
    admit(log, user_message("t", "left by a tool", {"kind": "tool-context", "tool": "x", "callId": "c"}))
    answer(log, [{"type": "tool-call", "id": "c1", "name": "dice", "arguments": "{}"}])
    found = conversation(log)
    assert (found.count, found.answers) == (1, 0)  # so the greeting still stands
    assert found.activation().texts == ("Mira: Hello",)
    answer(log, "It falls on six.")
    assert (conversation(log).count, conversation(log).answers) == (2, 1)


def test_who_plays_comes_in_the_order_in_which_they_spoke() -> None:
    log = session()
    admit(log, said("a", who="Ben"), said("b", who="Ana"), said("c", who="Ben"))
    assert [speaker.name for speaker in conversation(log, [said("d", who="Cy")]).speakers] == [
        "Ben",
        "Ana",
        "Cy",
    ]


def test_two_messages_of_the_same_text_are_two_and_a_file_stands_on_its_own_line() -> None:
    log = session()
    blocks = [{"type": "text", "text": "Mira: look"}, {"type": "text", "text": "map.txt: rivers"}]
    claimed = [said("x", "m1"), said("x", "m2"), user_message("m3", blocks, {"kind": "user"})]
    assert conversation(log, claimed).activation().texts == (
        "Mira: x",
        "Mira: x",
        "Mira: look\nmap.txt: rivers",
    )


async def test_sessions_do_not_see_each_others_claims(stage: Stage) -> None:
    book = await stage.book("b", {"key": ["moon"], "content": "MOON"})
    one, two = await stage.story("one", book_ids=(book,)), await stage.story("two", book_ids=(book,))
    assert "MOON" in (await stage.compiled(one, "The moon")).system_text
    assert "MOON" not in (await stage.compiled(two, "The sun")).system_text
    # nor does the next step see what was compiled and never admitted
    assert "MOON" not in (await stage.compiled(one, "And?")).system_text
