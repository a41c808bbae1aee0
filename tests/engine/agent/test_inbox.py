"""The two queues: what goes in, in which order it comes out, and what the log says of it.

Cases 1 to 18 of spec agent-loop 8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agent import Inbox, TurnResult
from engine.agent.inbox import SPLICED
from engine.cancel import CancelCause, CancelToken
from engine.errors import AgentError, AppendRefused, SessionCorrupt
from engine.session import Header, Journal, Session, Sessions, user_message
from tests.engine.agent.harness import Pause, World, calls, derived, order, says, u


def quiet(text: str) -> Any:
    return user_message(text, text, {"kind": "user", "quiet": True})


def inbox() -> tuple[Inbox, Session, list[tuple[str, str]]]:
    """An inbox on a session of its own, and what it tells."""
    told: list[tuple[str, str]] = []
    session = Session(Header("s", 0))
    return Inbox(session, lambda kind, message: told.append((kind, message["id"]))), session, told


def ids(box: Inbox) -> tuple[list[str], list[str]]:
    return [m["id"] for m in box.next_step], [m["id"] for m in box.next_turn]


def splices(session: Session) -> list[dict[str, Any]]:
    """The splice events, with messages as ids."""
    return [
        dict(e.data) | {"inserted": [m["id"] for m in e.data["inserted"]]}
        for e in session.events()
        if e.type == SPLICED
    ]


# -- in which order things are answered ----------------------------------------------------------


async def test_status_goes_to_running_in_the_call_and_to_idle_once() -> None:
    world = World(says("one"))
    seen: list[str] = []
    world.on("agent/status", lambda _, status: seen.append(status))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    assert (seen, agent.status, agent.open_turn) == (["running"], "running", 1)
    await agent.when_idle()
    assert (seen, agent.status, agent.open_turn) == (["running", "idle"], "idle", None)


async def test_each_prompt_gets_a_turn_of_its_own() -> None:
    world = World(says("one"), says("two"), says("three"))
    agent = await world.agents.create("s")
    for text in "abc":
        agent.followup(u(text))
    assert ids(agent.inbox) == ([], ["b", "c"])
    await agent.when_idle()
    assert derived(agent.session)[1:] == [
        *("user:a", "assistant:one"),
        *("user:b", "assistant:two"),
        *("user:c", "assistant:three"),
    ]
    assert order(agent.session).count("turn/end completed") == 3


async def test_steering_during_a_tool_is_in_the_next_request() -> None:
    world = World(calls("look", "{}"), says("done"))
    agent = await world.agents.create("s")

    async def look(arguments: str, token: CancelToken) -> str:
        agent.steer(u("S"))
        return "a door"

    world.tool("look", look)
    agent.followup(u("hi"))
    await agent.when_idle()
    assert world.adapter.requests[0][-1] == "user:hi"
    assert world.adapter.requests[1][-2:] == ["tool:a door", "user:S"]
    assert order(agent.session).count("turn/start") == 1


async def test_steering_during_the_last_answer_keeps_the_turn_open() -> None:
    pause = Pause()
    world = World([pause, *says("one")], says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    agent.steer(u("S"))
    pause.opened.set()
    await agent.when_idle()
    assert order(agent.session)[8:] == [
        *("insert", "assistant one", "step/end"),
        *("claim", "step/start", "user S", "assistant two", "step/end", "turn/end completed"),
    ]


async def test_injected_context_wakes_nobody_and_stands_before_the_next_prompt() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    agent.inject(u("C"))
    assert (agent.status, order(agent.session)) == ("idle", ["insert"])
    agent.followup(u("hi"))
    await agent.when_idle()
    assert world.adapter.requests == [["system:You are Ada.", "user:C", "user:hi"]]


async def test_two_steers_into_an_idle_agent_are_two_steps() -> None:
    # (decision 3: the first is claimed before `steer` returns)
    world = World(says("one"), says("two"))
    agent = await world.agents.create("s")
    agent.steer(u("S1"))
    agent.steer(u("S2"))
    await agent.when_idle()
    assert [request[-1] for request in world.adapter.requests] == ["user:S1", "user:S2"]
    assert order(agent.session).count("turn/start") == 1


async def test_a_batch_is_all_of_next_step_and_one_prompt() -> None:
    box, session, told = inbox()
    for message_id, target in (("S1", "next-step"), ("U1", "next-turn"), ("U2", "next-turn")):
        box.insert(u(message_id), target)  # type: ignore[arg-type]
    box.insert(u("S2"), "next-step")
    told.clear()
    assert [m["id"] for m in box.claim(first=True)] == ["S1", "S2", "U1"]
    assert ids(box) == ([], ["U2"])
    # two splices, neither of them a cancellation, and then one notice each
    assert splices(session)[4:] == [
        {"target": "next-step", "start": 0, "removedCount": 2, "inserted": []},
        {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []},
    ]
    assert told == [("claimed", "S1"), ("claimed", "S2"), ("claimed", "U1")]
    # at a later boundary no prompt is taken
    box.insert(u("S3"), "next-step")
    assert [m["id"] for m in box.claim(first=False)] == ["S3"]
    assert box.claim(first=False) == []


async def test_a_wake_with_nothing_to_answer_is_a_turn_without_a_step() -> None:
    world = World(says("never"))
    agent = await world.agents.create("s")
    agent.wake()
    await agent.when_idle()
    assert order(agent.session) == ["turn/start", "turn/end completed"]
    assert world.adapter.requests == []


async def test_words_that_are_taken_back_before_the_claim_leave_a_turn_without_a_step() -> None:
    world = World(says("never"))
    agent = await world.agents.create("s")
    world.on("agent/inbox/inserted", lambda _, message: agent.inbox.remove(message["id"]))
    agent.followup(u("hi"))
    await agent.when_idle()
    assert order(agent.session) == ["insert", "cancel", "turn/start", "turn/end completed"]
    assert world.adapter.requests == []


# -- changing what waits -------------------------------------------------------------------------


def test_an_id_that_is_pending_is_not_taken_again_by_either_queue() -> None:
    box, session, told = inbox()
    box.insert(u("X"), "next-turn")
    told.clear()
    for target in ("next-step", "next-turn"):
        with pytest.raises(AgentError) as refused:
            box.insert(u("X"), target)  # type: ignore[arg-type]
        assert refused.value.error_code == "INBOX_DUPLICATE"
    assert (ids(box), told, len(session.events())) == (([], ["X"]), [], 1)
    with pytest.raises(AgentError):
        box.splice("next-step", 0, 0, [u("Y"), u("Y")])
    assert ids(box) == ([], ["X"])


def test_replacing_keeps_the_place_and_is_an_edit_in_the_log() -> None:
    box, session, told = inbox()
    for message_id in "AXB":
        box.insert(u(message_id), "next-turn")
    told.clear()
    assert box.replace("X", u("Y"))
    assert splices(session)[-1] == {
        "target": "next-turn",
        "start": 1,
        "removedCount": 1,
        "inserted": ["Y"],
        "outcome": "canceled",
    }
    assert (ids(box), told) == (([], ["A", "Y", "B"]), [("discarded", "X"), ("inserted", "Y")])
    # under its own id too
    assert box.replace("Y", u("other words", "Y"))
    assert ids(box) == ([], ["A", "Y", "B"])


def test_what_was_claimed_can_be_neither_replaced_nor_removed() -> None:
    box, session, _ = inbox()
    box.insert(u("X"), "next-turn")
    box.claim(first=True)
    before = len(session.events())
    assert not box.replace("X", u("Y"))
    assert not box.remove("X")
    assert len(session.events()) == before


def test_clearing_takes_next_step_first() -> None:
    box, session, told = inbox()
    box.insert(u("U"), "next-turn")
    box.insert(u("S"), "next-step")
    told.clear()
    assert [m["id"] for m in box.clear()] == ["S", "U"]
    assert told == [("discarded", "S"), ("discarded", "U")]
    assert [splice["target"] for splice in splices(session)[2:]] == ["next-step", "next-turn"]
    assert box.clear() == []
    assert len(splices(session)) == 4


def test_what_was_removed_may_come_back_in_another_queue() -> None:
    # (a queued prompt that becomes steering keeps its id)
    box, _, _ = inbox()
    box.insert(u("X"), "next-turn")
    assert box.remove("X")
    box.insert(u("X"), "next-step")
    assert ids(box) == (["X"], [])


@pytest.mark.parametrize(
    ("start", "removed", "written"),
    [
        (-1, 1, (2, 1)),
        (-99, 1, (0, 1)),
        (99, 5, (3, 0)),
        (1, 99, (1, 2)),
        (1, -5, (1, 0)),
    ],
)
def test_positions_are_written_as_they_are_meant(start: int, removed: int, written: tuple[int, int]) -> None:
    box, session, _ = inbox()
    for message_id in "ABC":
        box.insert(u(message_id), "next-turn")
    box.splice("next-turn", start, removed, [u("N")])
    last = splices(session)[-1]
    assert (last["start"], last.get("removedCount", 0)) == written


def test_a_splice_that_changes_nothing_is_not_written() -> None:
    box, session, _ = inbox()
    assert box.splice("next-turn", 0, 5, []) == []
    assert session.events()[:] == ()


# -- when the log refuses ------------------------------------------------------------------------


async def test_an_observer_of_the_log_cannot_send_and_is_told_so() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    refused: list[str] = []

    def greedy(event: object) -> None:
        try:
            agent.followup(u("mine"))
        except AppendRefused as error:
            refused.append(error.category)

    agent.session.observe(greedy)
    agent.followup(u("hi"))
    await agent.when_idle()
    # nothing of it is half in
    assert set(refused) == {"reentrant"}
    assert (ids(agent.inbox), agent.inbox.knows("mine")) == (([], []), False)
    assert derived(agent.session)[1:] == ["user:hi", "assistant:one"]


def test_what_the_log_refuses_is_not_queued() -> None:
    box, session, told = inbox()
    with pytest.raises(AppendRefused):
        box.insert({"id": "X", "role": "user", "content": [], "source": {"n": float("nan")}}, "next-turn")
    assert (ids(box), told, len(session.events())) == (([], []), [], 0)
    assert not box.knows("X")


@pytest.mark.parametrize(
    "impossible",
    [
        {"target": "next-turn", "start": 1, "inserted": []},
        {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []},
        {"target": "elsewhere", "start": 0, "inserted": []},
        {"target": "next-turn", "start": "0", "inserted": []},
        {"target": "next-turn", "start": True, "inserted": []},
        {"target": "next-turn", "inserted": []},
        {"target": "next-turn", "start": 0, "inserted": [{"role": "user"}]},
        {"target": "next-turn", "start": 0, "inserted": [u("A"), u("A")]},
    ],
)
async def test_a_log_with_an_impossible_splice_does_not_open_and_names_it(
    impossible: dict[str, Any],
) -> None:
    # given a log from a writer that did not look
    world = World(says("one"))
    careless = Journal(Sessions(), world.store)
    session = await careless.create("s")
    session.append(SPLICED, {"target": "next-turn", "start": 0, "inserted": [u("hi")]})
    session.append(SPLICED, {"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []})
    at = session.append(SPLICED, impossible).seq
    await careless.aclose()
    with pytest.raises(SessionCorrupt) as caught:
        await world.agents.open("s")
    assert caught.value.data == {"session": "s", "seq": at}
    # and nothing of it stays live
    assert (world.agents.get("s"), world.services.journal.sessions.get("s")) == (None, None)


# -- forks and second deliveries -----------------------------------------------------------------


async def test_a_fork_inherits_no_queue() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await agent.when_idle()
    agent.inject(u("C"))
    agent.send(u("U"), "next-turn", wake=False)
    child = await world.agents.fork("s", None, "child")
    assert (ids(child.inbox), ids(agent.inbox)) == (([], []), (["C"], ["U"]))
    child.followup(u("new"))
    await child.when_idle()
    assert world.adapter.requests[-1][1:] == ["user:hi", "assistant:one", "user:new"]
    # and it is so after it was stored and opened again
    await world.agents.close("child")
    assert ids((await world.agents.open("child")).inbox) == ([], [])


async def test_the_log_knows_every_id_that_it_ever_held() -> None:
    pause = Pause()
    world = World([pause, *says("one")])
    agent = await world.agents.create("s")
    agent.followup(u("claimed"))
    agent.followup(u("pending"))
    agent.followup(u("canceled"))
    agent.inbox.remove("canceled")
    await pause.reached.wait()
    known = ("claimed", "pending", "canceled")
    assert all(agent.inbox.knows(message_id) for message_id in known)
    assert not agent.inbox.knows("never")
    pause.opened.set()
    await world.agents.close("s")
    again = await world.agents.open("s")
    assert all(again.inbox.knows(message_id) for message_id in known)
    # a fork knows what it inherits
    child = await world.agents.fork("s", None, "child")
    assert child.inbox.knows("claimed")


# -- what waits for others -----------------------------------------------------------------------


async def test_quiet_words_do_not_keep_a_turn_open_and_open_none() -> None:
    pause = Pause()
    world = World([pause, *says("one")], says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    agent.inject(quiet("Q"))
    pause.opened.set()
    await agent.when_idle()
    assert (len(world.adapter.requests), ids(agent.inbox)) == (1, (["Q"], []))
    assert (agent.inbox.has_pending, agent.inbox.wants_turn) == (True, False)
    # they go in with whatever comes next
    agent.followup(u("go on"))
    await agent.when_idle()
    assert world.adapter.requests[1][-2:] == ["user:Q", "user:go on"]


async def test_quiet_words_go_along_with_steering() -> None:
    pause = Pause()
    world = World([pause, *says("one")], says("two"))
    agent = await world.agents.create("s")
    agent.followup(u("hi"))
    await pause.reached.wait()
    agent.inject(quiet("Q"))
    agent.steer(u("S"))
    assert agent.inbox.wants_step
    pause.opened.set()
    await agent.when_idle()
    assert world.adapter.requests[1][-2:] == ["user:Q", "user:S"]


async def test_a_wake_answers_quiet_words_too() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")
    agent.inject(quiet("Q"))
    agent.wake()
    await agent.when_idle()
    assert derived(agent.session)[1:] == ["user:Q", "assistant:one"]


# -- any order -----------------------------------------------------------------------------------

TARGETS = st.sampled_from(["next-turn", "next-step"])
PLACES = st.integers(-6, 6)


@given(st.data())
def test_the_live_queues_are_a_fold_of_the_log(data: st.DataObject) -> None:
    box, session, _ = inbox()
    model: dict[str, list[str]] = {"next-step": [], "next-turn": []}
    fresh = (f"m{number}" for number in range(1000))

    def insert() -> None:
        target, new = data.draw(TARGETS), next(fresh)
        box.insert(u(new), target)
        model[target].append(new)

    def prepend() -> None:
        target, new = data.draw(TARGETS), [next(fresh), next(fresh)]
        box.prepend(target, [u(message_id) for message_id in new])
        model[target][:0] = new

    def change() -> None:
        known = [*model["next-step"], *model["next-turn"], "gone"]
        old, new = data.draw(st.sampled_from(known)), data.draw(st.sampled_from(["", next(fresh)]))
        changed = box.replace(old, u(new)) if new else box.remove(old)
        assert changed is (old != "gone")
        for queue in model.values():
            if old in queue:
                queue[queue.index(old) : queue.index(old) + 1] = [new] if new else []

    def splice() -> None:
        target, start, count = data.draw(TARGETS), data.draw(PLACES), data.draw(st.integers(0, 6))
        new = [next(fresh)] if data.draw(st.booleans()) else []
        queue = model[target]
        # a list slice starts where JavaScript's splice does
        at = max(0, len(queue) + start) if start < 0 else start
        gone = queue[at : at + count]
        queue[at : at + count] = new
        assert [m["id"] for m in box.splice(target, start, count, [u(m) for m in new])] == gone

    def claim() -> None:
        first = data.draw(st.booleans())
        taken = model["next-step"] + (model["next-turn"][:1] if first else [])
        assert [m["id"] for m in box.claim(first=first)] == taken
        model["next-step"] = []
        if first:
            del model["next-turn"][:1]

    def clear() -> None:
        assert [m["id"] for m in box.clear()] == [*model["next-step"], *model["next-turn"]]
        model.update({"next-step": [], "next-turn": []})

    steps: list[Callable[[], None]] = [insert, insert, prepend, change, splice, claim, clear]
    for step in data.draw(st.lists(st.sampled_from(steps), max_size=25)):
        step()
        assert ids(box) == (model["next-step"], model["next-turn"])
        assert ids(Inbox(session, lambda *_: None)) == ids(box)


async def test_a_cancel_without_keeping_cancels_the_queue() -> None:
    pause = Pause()
    world = World([pause, *says("never")])
    agent = await world.agents.create("s")
    for text in "abc":
        agent.followup(u(text))
    await pause.reached.wait()
    assert agent.cancel(CancelCause("user")) == 0
    await agent.when_idle()
    assert order(agent.session)[-4:] == ["cancel", "assistant/attempt", "step/end", "turn/end aborted"]
    assert len(world.adapter.requests) == 1


async def test_words_that_come_while_an_empty_turn_ends_are_answered() -> None:
    world = World(says("one"))
    agent = await world.agents.create("s")

    async def speak(session_id: str, result: TurnResult) -> None:
        if result.turn == 1:
            agent.followup(u("hi"))

    world.on("agent/turn-ended", speak)
    agent.wake()
    await agent.when_idle()
    assert world.adapter.requests == [["system:You are Ada.", "user:hi"]]
