"""What people may do with words that wait. Case 13 of spec agent-loop 8, and 1.3."""

from __future__ import annotations

from typing import Any

import pytest

from engine.agent import Agent, Queue
from engine.cancel import CancelCause
from engine.errors import AgentError
from engine.session import message_text, user_message
from tests.engine.agent.harness import Pause, World, order, says, u


async def writing(world: World, pause: Pause) -> Agent:
    """An agent in the middle of its answer to "hi"."""
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    return agent


def ids(agent: Agent) -> tuple[list[str], list[str]]:
    return [m["id"] for m in agent.inbox.next_step], [m["id"] for m in agent.inbox.next_turn]


async def test_what_waits_is_shown_in_the_order_in_which_it_is_taken_up() -> None:
    pause = Pause()
    agent = await writing(World([pause, *says("one")]), pause)
    agent.followup(u("later"))
    agent.steer(u("now"))
    agent.inject(user_message("fact", "It rains.", {"kind": "weather"}))
    assert [(w.kind, w.message["id"]) for w in Queue(agent).waiting()] == [
        ("steering", "now"),
        ("context", "fact"),
        ("queued", "later"),
    ]


async def test_a_queued_prompt_can_be_let_into_the_running_turn() -> None:
    pause = Pause()
    world = World([pause, *says("one")], says("two"))
    agent = await writing(world, pause)
    agent.followup(u("later"))
    agent.followup(u("now"))
    before = len(order(agent.session))
    assert Queue(agent).steer("now") == "done"
    assert order(agent.session)[before:] == ["cancel", "insert"]
    assert ids(agent) == (["now"], ["later"])
    pause.opened.set()
    await agent.when_idle()
    assert [request[-1] for request in world.adapter.requests] == ["user:hi", "user:now", "user:later"]
    assert order(agent.session).count("turn/start") == 2


async def test_without_a_running_turn_nothing_can_be_steered() -> None:
    agent = await World(says("one")).agents.create("s")
    agent.send(u("later"), "next-turn", wake=False)
    assert Queue(agent).steer("later") == "steer-unavailable"
    assert (order(agent.session), ids(agent)) == (["insert"], ([], ["later"]))


async def test_into_a_turn_that_is_being_stopped_nothing_can_be_steered() -> None:
    pause = Pause()
    agent = await writing(World([pause, *says("one")]), pause)
    agent.followup(u("later"))
    agent.cancel(CancelCause("user"), keep_inbox=True)
    assert Queue(agent).steer("later") == "steer-unavailable"
    assert ids(agent) == ([], ["later"])
    await agent.when_idle()


async def test_what_is_no_prompt_cannot_be_steered() -> None:
    pause = Pause()
    agent = await writing(World([pause, *says("one")]), pause)
    agent.inject(u("aside"))
    assert Queue(agent).steer("aside") == "steer-unavailable"


async def test_an_edit_changes_the_words_and_keeps_the_rest() -> None:
    agent = await World(says("one")).agents.create("s")
    picture: Any = {
        "type": "image",
        "attachment": {"attachmentId": "a", "mediaType": "image/png", "bytes": 1, "width": 1, "height": 1},
    }
    words = [{"type": "text", "text": "ol"}, picture, {"type": "text", "text": "d"}]
    agent.send(user_message("m", words, {"kind": "user", "author": "Ana"}), "next-turn", wake=False)
    assert Queue(agent).edit("m", "new") == "done"
    (message,) = agent.inbox.next_turn
    assert (message["id"], message_text(message), message["source"]["author"]) == ("m", "new", "Ana")
    assert message["content"][1] == picture
    with pytest.raises(AgentError) as refused:
        Queue(agent).edit("m", " \n")
    assert refused.value.error_code == "QUEUE_TEXT_EMPTY"


async def test_what_was_taken_up_is_not_found_any_more() -> None:
    pause = Pause()
    agent = await writing(World([pause, *says("one")]), pause)
    queue, before = Queue(agent), len(order(agent.session))
    assert [queue.edit("hi", "ho"), queue.remove("hi"), queue.steer("hi")] == ["queue-item-not-found"] * 3
    assert len(order(agent.session)) == before


async def test_a_prompt_can_be_taken_back() -> None:
    agent = await World(says("never")).agents.create("s")
    agent.send(u("m"), "next-turn", wake=False)
    assert Queue(agent).remove("m") == "done"
    assert order(agent.session) == ["insert", "cancel"]


async def test_people_have_no_hand_in_a_session_that_works_for_another() -> None:
    world = World(says("one"))
    child = await world.agents.create("child", parent=await world.agents.create("s"))
    child.send(u("m"), "next-turn", wake=False)
    queue = Queue(child)
    for change in (lambda: queue.edit("m", "x"), lambda: queue.remove("m"), lambda: queue.steer("m")):
        with pytest.raises(AgentError) as refused:
            change()
        assert refused.value.error_code == "QUEUE_DELEGATED"
    assert [w.message["id"] for w in queue.waiting()] == ["m"]
    # also after a restart, when nobody owns it; but not in a fork of it
    later = await world.crash()
    again = await later.agents.open("child")
    with pytest.raises(AgentError):
        Queue(again).remove("m")
    fork = await later.agents.fork("child", None, "fork")
    assert Queue(fork).remove("m") == "queue-item-not-found"
