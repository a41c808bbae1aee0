"""The history policy in the loop, on a real engine: what earlier turns were told leaves the conversation.

Source: assembler spec 7, 10 and cases 63 and 64; seed 001.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.agent import Decision, PreStep
from engine.agent.step import RequestProposal
from engine.agent.tools import CONTEXT
from engine.assembler import (
    ASSEMBLER_KIND,
    DEFAULT_POLICY,
    Applied,
    HistoryPolicy,
    built_in_strategies,
    is_tombstone,
    read_strategy,
)
from engine.cancel import CancelToken
from engine.codec import canonical, digest
from engine.errors import AssemblyError
from engine.hooks import Hooks, Next, Scope
from engine.llm import CallConfig
from engine.session import (
    Event,
    Message,
    Session,
    Sessions,
    StrictValidator,
    check_log,
    message_text,
    offload_images,
    select,
    thaw,
    user_message,
)
from engine.strategies import APPLIED, REPEATED, HistoryPolicies, foreseen
from engine.tavern.conversation import conversation
from tests.engine.agent.toolbench import asks
from tests.engine.play.conftest import table
from tests.engine.play.table import Pause, Table, breaking, fails, says, utterance
from tests.engine.session.build import close_turn, open_step, prompt, reply, say
from tests.engine.strategies.test_steps import SPINE, book, keep, sent, shown, story

__all__ = ["table"]

ON = {**DEFAULT_POLICY.to_wire(), "enabled": True}
TAIL = ("user", "TAIL Ada")


def tidy(wire: dict[str, Any]) -> None:
    wire["historyPolicy"] = ON


def facts(wire: dict[str, Any]) -> None:
    tidy(wire)
    wire["rules"].append({"id": "fact", "kind": "custom", "role": "user", "text": "FACT {{lastUserMessage}}"})


def excluding(*kinds: str) -> dict[str, Any]:
    return {**ON, "sources": [{"kind": kind, "include": False} for kind in kinds]}


async def session(table: Table, play: str) -> Session:
    agent = await table.engine.agents.open((await table.head(play)).session_id)
    return agent.session


async def graves(table: Table, play: str) -> list[Event]:
    log = await table.log((await table.head(play)).session_id)
    return [e for e in log if e.type == "developer/message" and is_tombstone(e.data["message"])]


def injected(messages: Sequence[Message], kind: str = ASSEMBLER_KIND) -> list[str]:
    return [message_text(m) for m in messages if m["source"].get("kind") == kind]


def said_by_others(messages: Sequence[Message]) -> list[Message]:
    """What people, the model and its tools said."""
    return [m for m in messages if m["source"].get("kind") in ("user", "model", "tool")]


# -- what the model reads ----------------------------------------------------------------------------


async def test_a_text_behind_the_input_is_read_once_however_long_the_story_is(table: Table) -> None:
    # given a story whose strategy tidies up, and one whose strategy does not
    tidied, usual = await story(table), await story(table)
    await keep(table, tidied, tidy)

    # when five turns are told in each
    told: dict[str, list[int]] = {tidied: [], usual: []}
    for play, counts in told.items():
        for words in ("One", "Two", "Three", "Four", "Five"):
            await table.tell(play, words)
            counts.append(sent(table).count(TAIL))

    # then it is read once in every request of the one, and piles up in the other
    assert told == {tidied: [1, 1, 1, 1, 1], usual: [1, 2, 3, 4, 5]}
    last = table.voice.requests[4].messages
    assert [message_text(m) for m in last if m["role"] != "system"] == [
        "Ana: One",
        "Answer 1.",
        "Ana: Two",
        "Answer 2.",
        "Ana: Three",
        "Answer 3.",
        "Ana: Four",
        "Answer 4.",
        "Ana: Five",
        "TAIL Ada",
    ]
    assert [answer for _, answer in await table.path(tidied)] == [f"Answer {n}." for n in range(1, 6)]


async def test_what_left_stands_in_the_log_with_all_it_takes_to_come_back(table: Table) -> None:
    play = await story(table)
    strategy = await keep(table, play, tidy)
    await table.tell(play, "One", "Two")
    (grave,) = await graves(table, play)
    log = await table.log((await table.head(play)).session_id)
    original = next(e for e in log if e.type == "user/message" and e.data["source"]["kind"] == ASSEMBLER_KIND)
    assert grave.surface_op == {"op": "replace", "startSeq": original.seq, "endSeq": original.seq}
    assert grave.source_event_seqs == (original.seq,)
    assert (grave.data["turn"], grave.data["step"]) == (2, 1)
    message = grave.data["message"]
    assert (message["role"], message["content"]) == ("developer", ())
    assert strategy.history_policy is not None
    assert message["source"] == {
        "kind": "history-policy",
        "form": "tombstone",
        "original": original.data,
        "originalHash": digest(canonical(thaw(original.data))).hex(),
        "policyRevision": strategy.history_policy.revision,
    }
    # it says nothing to a model, and a request that lacks something is the first of a new series
    assert all(m["role"] != "developer" for m in table.voice.requests[-1].messages)
    headers = [e.data for e in log if e.type == "request/header"]
    assert [(h["reason"], h.get("startsSeries", False)) for h in headers] == [
        ("initial", False),
        ("series", False),
    ]


async def test_a_first_request_after_a_restart_begins_a_series_too(table: Table) -> None:
    play = await story(table)
    await keep(table, play, tidy)
    await table.tell(play, "One")
    await table.restart()
    await table.tell(play, "Two")
    log = await table.log((await table.head(play)).session_id)
    assert [e.data for e in log if e.type == "request/header"][-1]["startsSeries"] is True
    assert sent(table).count(TAIL) == 1


async def test_nothing_changes_where_the_policy_is_off_or_finds_nothing(table: Table) -> None:
    play = await story(table, {"identifier": "main", "content": "HEAD"})
    await keep(table, play, tidy)
    await table.tell(play, "One", "Two", "Three")
    assert await graves(table, play) == []
    other = await story(table)
    await table.tell(other, "One", "Two", "Three")
    assert await graves(table, other) == []


async def test_only_facts_that_are_in_force_are_told(table: Table) -> None:
    play = await story(table)

    await keep(table, play, facts)
    await table.tell(play, "One", "Two", "Three", "Four")
    told = injected(table.voice.requests[-1].messages, "runtime-context")
    # the newest, and the one that was in force until this step
    assert ["FACT" in text for text in told] == [True, True]
    assert told[-1].endswith("FACT Four")
    assert injected((await session(table, play)).derive(), "runtime-context") == told


async def test_a_step_after_a_tool_is_told_once_what_the_step_before_was(table: Table) -> None:
    play = await story(table, tools=("dice",))
    await keep(table, play, tidy)
    table.voice.will(asks(("c1", "dice", '{"expression":"d1"}')), says("You slip past."))
    await table.tell(play, "I sneak")
    roles = [m["role"] for m in table.voice.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert sent(table).count(TAIL) == 1


# -- attempts, stops and crashes ---------------------------------------------------------------------


async def test_a_second_attempt_reads_what_the_first_did(table: Table) -> None:
    play = await story(table)
    await keep(table, play, facts)
    await table.tell(play, "One")
    table.voice.will(fails("SERVER"), says("At last."))
    await table.tell(play, "Two")
    first, second = table.voice.requests[-2:]
    # the facts that were in force before are of the history only from the next step on
    assert list(first.messages) == list(second.messages)
    assert [m["source"]["kind"] for m in first.messages].count("runtime-context") == 2
    assert len(await graves(table, play)) == 1


async def test_a_stop_before_the_request_leaves_the_history_as_it_was(table: Table) -> None:
    # given a step whose request is still being settled
    play = await story(table)
    await keep(table, play, tidy)
    await table.tell(play, "One")
    before = list((await session(table, play)).derive())
    pause = Pause()

    async def hold(payload: RequestProposal, proceed: Next) -> Any:
        pause.reached.set()
        await payload.token.race(pause.opened.wait())
        return await proceed()

    dispose = table.engine.hooks.on("agent/request", hold, owner=table._owner)

    # when it is stopped
    await table.say(play, "Two")
    await pause.reached.wait()
    await table.plays.stop(play)
    await table.settle(play)
    dispose()

    # then nothing has left, and the next step goes on as if nothing had been
    assert list((await session(table, play)).derive()) == before
    assert await graves(table, play) == []
    await table.tell(play, "Three")
    assert sent(table).count(TAIL) == 1


async def test_a_crash_between_what_left_and_what_was_admitted_loses_nothing(table: Table) -> None:
    # given a process that ends when the old text has left and the words are not admitted yet
    play = await story(table)
    await keep(table, play, tidy)
    await table.tell(play, "One")
    session_id = (await table.head(play)).session_id
    pause = Pause()

    async def hold(payload: Any, proceed: Next) -> Any:
        config = await proceed()
        await table.engine.journal.secure(session_id)
        pause.reached.set()
        await payload.token.race(pause.opened.wait())
        return config

    table.engine.hooks.on("agent/request", hold, owner=table._owner, prepend=True)
    await table.say(play, "Two")
    await pause.reached.wait()
    await table.crash()

    # when the next one looks after its stories
    assert len(await graves(table, play)) == 1
    await table.engine.reconciler.recover(24 * 60 * 60 * 1000)
    await table.settle(play)

    # then the words are answered, the text is told once, and it has left once
    assert [said for said, _ in await table.path(play)] == [["One"], ["Two"]]
    assert sent(table).count(TAIL) == 1
    assert len(await graves(table, play)) == 1


# -- choosing otherwise ------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [None, "builtin-native-slots", "switched off"])
async def test_what_left_comes_back_at_its_place_when_the_rule_is_gone(table: Table, other: Any) -> None:
    # given a story that was tidied for three turns
    play = await story(table)
    await keep(table, play, tidy)
    await table.tell(play, "One", "Two", "Three")
    log = await table.log((await table.head(play)).session_id)
    as_said = [e.data for e in log if e.type == "user/message" and e.surface_op == "append"]

    # when its strategy is taken away, or has the rule no more
    if other == "switched off":
        await keep(table, play, lambda wire: wire.update(historyPolicy={**ON, "enabled": False}))
    else:
        await table.plays.use_strategy(play, other)
    await table.tell(play, "Four")

    # then all that was said stands where it stood, as the same messages
    users = [m for m in table.voice.requests[-1].messages if m["role"] == "user"]
    assert users[: len(as_said)] == as_said
    assert [message_text(m) for m in as_said] == [
        "Ana: One", "TAIL Ada", "Ana: Two", "TAIL Ada", "Ana: Three", "TAIL Ada",
    ]  # fmt: skip
    log = await table.log((await table.head(play)).session_id)
    headers = [e.data for e in log if e.type == "request/header"]
    assert headers[-1]["reason"] == "series"

    # and leaves again with the rule
    await keep(table, play, tidy)
    await table.tell(play, "Five")
    assert sent(table).count(TAIL) == 1


async def test_a_strategy_of_the_advanced_back_end_finds_the_whole_conversation(table: Table) -> None:
    # given a story that was tidied, at a table that has both back ends
    await table.engine.aclose()
    await table.open(advanced_assembly=True)
    play = await story(table, *SPINE[:-1], {**SPINE[-1], "role": "user"})
    await keep(table, play, tidy)
    await table.tell(play, "One", "Two")

    # when a strategy of the advanced back end is applied, that leaves nothing out
    await table.plays.use_strategy(play, "builtin-st")
    preview = await table.engine.preview(play, utterance("Three"))
    await table.tell(play, "Three")

    # then what had left is in its requests, and leaves again with the first strategy
    assert shown(preview) == sent(table)
    assert injected((await session(table, play)).derive()) == ["TAIL Ada", "TAIL Ada"]
    assert sent(table).count(TAIL) == 3  # and its own, which stays in no history
    await keep(table, play, tidy)
    await table.tell(play, "Four")
    assert sent(table).count(TAIL) == 1


async def test_on_and_off_and_on_again_is_never_seen_in_what_was_said(table: Table) -> None:
    play = await story(table)
    for number in range(6):
        await keep(table, play, tidy if number % 2 else lambda wire: None)
        await table.tell(play, f"Words {number}")
    await table.restart()
    await table.plays.use_strategy(play, None)
    await table.tell(play, "The last")
    assert [said for said, _ in await table.path(play)] == [[f"Words {n}"] for n in range(6)] + [["The last"]]
    assert len([m for m in table.voice.requests[-1].messages if m["source"]["kind"] == ASSEMBLER_KIND]) == 6


async def test_what_the_advanced_back_end_would_do_is_refused_with_the_reason(table: Table) -> None:
    play = await story(table)
    cut = {"id": "f", "sourceKind": "model", "start": "<a>", "end": "</a>", "mode": "lines", "enabled": True}
    for policy in (
        {**ON, "fragments": [cut]},
        {**ON, "contentTypes": {**ON["contentTypes"], "image": False}},
    ):
        with pytest.raises(AssemblyError) as refused:
            await keep(table, play, lambda wire, policy=policy: wire.update(historyPolicy=policy))
        assert (refused.value.error_code, refused.value.status) == ("HISTORY_ADVANCED_REQUIRED", 409)
    assert (await table.plays.strategy(play)).id == "builtin-native-slots"
    wire = built_in_strategies()["builtin-native-slots"].to_wire() | {
        "historyPolicy": {**ON, "fragments": [cut]}
    }
    with pytest.raises(AssemblyError) as unseen:
        await table.engine.preview(play, utterance("One"), strategy=read_strategy(wire))
    assert unseen.value.error_code == "HISTORY_ADVANCED_REQUIRED"


# -- branches ----------------------------------------------------------------------------------------


async def test_branches_are_tidied_as_the_story_is_from_wherever_they_begin(table: Table) -> None:
    # given five turns
    play = await story(table)
    await keep(table, play, tidy)
    await table.tell(play, "One", "Two", "Three", "Four", "Five")
    nodes = await table.nodes(play)
    asked = {words: list(table.voice.requests[n].messages) for n, words in enumerate(("One", "Two", "Three"))}

    def words(messages: Sequence[Message]) -> list[str]:
        return [message_text(m) for m in messages]

    # when the third is answered again, the story goes back to the first, and is opened from the disk
    await table.swipe(play, nodes[2].id)
    assert words(table.voice.requests[-1].messages) == words(asked["Three"])
    await table.plays.rewind(play, nodes[0].id, await table.head(play))
    # the branch begins before anything had left: it stands there again until the next step
    assert injected((await session(table, play)).derive()) == ["TAIL Ada"]
    await table.restart()
    await table.tell(play, "Two again")

    # then each was told as the story was at that place
    assert words(table.voice.requests[-1].messages)[1:] == [
        "Ana: One",
        "Answer 1.",
        "Ana: Two again",
        "TAIL Ada",
    ]
    assert (await table.plays.strategy(play)).strategy.history_policy == HistoryPolicy(enabled=True)
    await table.engine.agents.fork((await table.head(play)).session_id, None, "child")
    child = await table.engine.agents.open("child")
    child.followup(utterance_message("Three, elsewhere"))
    await child.when_idle()
    assert injected(table.voice.requests[-1].messages) == ["TAIL Ada"]


def utterance_message(text: str) -> Message:
    return user_message(f"m-{text}", text)


async def test_a_log_with_what_left_is_read_as_strictly_as_any(table: Table) -> None:
    play = await story(table)
    await keep(table, play, tidy)
    await table.tell(play, "One", "Two", "Three")
    await table.plays.use_strategy(play, None)
    await table.tell(play, "Four")
    await keep(table, play, tidy)
    await table.tell(play, "Five")
    session_id = (await table.head(play)).session_id
    before = list((await session(table, play)).derive())
    await table.restart()
    view = await table.engine.journal.read(session_id)
    stored = check_log(session_id, view.header.to_wire(), 0, [thaw(e.to_wire()) for e in view.events])
    again = Session.restore(stored.header, stored.events, 0, validators=[StrictValidator])
    assert list(again.derive()) == before
    assert list((await session(table, play)).derive()) == before


# -- summaries ---------------------------------------------------------------------------------------


async def test_a_summary_is_made_of_what_was_said_and_no_policy_takes_it_away(table: Table) -> None:
    # given a story whose strategy would leave out every kind of message that it can name
    play = await story(table)
    kinds = (ASSEMBLER_KIND, "compact-checkpoint", "user", "model", "tool", "runtime-context")
    await keep(table, play, lambda wire: wire.update(historyPolicy=excluding(*kinds)))
    long = "It rained on the harbour town, and nobody was on the quay. " * 10
    await table.tell(play, f"a {long}", f"b {long}", f"c {long}")

    # when a request is too long, so that the story is summed up in the middle of a step
    table.voice.will(fails("CONTEXT_WINDOW_EXCEEDED"), says("NOTES"))
    await table.tell(play, "d", "e")

    # then the summary stands, was made without what had left, and people's words are told
    asked = next(r for r in table.voice.requests if r.purpose == "compaction")
    assert injected(asked.messages) == ["TAIL Ada"]  # of the step itself
    heard = [message_text(m) for m in table.voice.requests[-1].messages[1:]]
    assert "NOTES" in heard[0] and heard[-2:] == ["Ana: e", "TAIL Ada"]
    assert heard.count("TAIL Ada") == 1
    assert [answer for _, answer in await table.path(play)][:3] == ["Answer 1.", "Answer 2.", "Answer 3."]
    await table.plays.use_strategy(play, None)
    await table.tell(play, "f")
    assert "NOTES" in message_text(table.voice.requests[-1].messages[1])


async def test_summing_up_by_hand_counts_only_what_was_said(table: Table) -> None:
    play = await story(table)
    await keep(table, play, tidy)
    long = "It rained on the harbour town, and nobody was on the quay. " * 40
    await table.tell(play, *(f"{n} {long}" for n in range(4)))
    await table.restart()
    table.voice.will(says("NOTES"))
    done = await table.engine.sum_up(play)
    assert done is not None
    # three words and three answers: what was told beside them has left, and is not counted
    assert done.messages == 6


def test_where_nothing_but_what_left_could_be_summed_up_nothing_is() -> None:
    live = Sessions(validators=[StrictValidator]).create("s")
    open_step(live, 1)
    prompt(live)
    live.append("user/message", said("i1", ASSEMBLER_KIND), surface_op="append")
    say(live, "u1")
    reply(live, "a1")
    close_turn(live)
    bench = Bench(live)
    bench.run(HistoryPolicy(enabled=True))
    assert injected(live.derive()) == []
    assert select(live, keep_tokens=16) is None
    assert select(live, keep_tokens=0) is not None


# -- what others read --------------------------------------------------------------------------------


async def test_lore_macros_and_searches_see_the_story_as_it_is(table: Table) -> None:
    # given two stories that differ in nothing but the policy
    lore = await book(table, key=["one"], content="FIRST", scanDepth=20)
    plays = [await story(table, book_ids=(lore,)), await story(table, book_ids=(lore,))]
    await keep(table, plays[0], tidy)
    for play in plays:
        await table.tell(play, "One", "Two", "Three")

    # when they are looked at
    seen = []
    for play in plays:
        live = await session(table, play)
        found = conversation(live)
        seen.append(
            {
                "said": [message_text(m) for m, _ in found.said],
                "history": [message_text(m) for m in found.history],
                "turn": (found.turn, found.count, found.speakers),
                "path": await table.path(play),
                "words": [message_text(m) for m in said_by_others(live.derive())],
                "speakers": await table.plays.speakers(play),
                "after": [u.text for u in (await table.plays.after(play, None))[1]],
                "told": await table.plays.told(play, "discord:1:One"),
                "lore": [lore.text for lore in table.engine.profiles.last(live.id).profile.lore],
            }
        )

    # then nothing tells them apart but the numbers of the answers
    first, second = (repr(each).replace("Answer ", "") for each in seen)
    for number in (4, 5, 6):
        second = second.replace(f"{number}.'", f"{number - 3}.'")
    assert first == second
    assert seen[0]["lore"] == ["FIRST"]


async def test_the_table_s_search_finds_what_was_said_and_no_text_that_left_or_came_back(
    table: Table,
) -> None:
    play = await story(table, tools=("recall",))
    await keep(table, play, tidy)
    await table.tell(play, "One", "Two")
    await table.plays.use_strategy(play, None)
    for query, found in (("TAIL", "Nothing was found for “TAIL”."), ("Two", "[story, turn 2, Ana] Two")):
        table.voice.will(asks((f"c-{query}", "recall", f'{{"query":"{query}"}}')), says("Hm."))
        await table.tell(play, f"Do you remember {len(query)}?")
        assert found in message_text(table.voice.requests[-1].messages[-1])


async def test_what_was_sent_is_proven_and_what_is_left_is_counted(table: Table) -> None:
    play = await story(table)
    await keep(table, play, tidy)
    await table.tell(play, "One", "Two", "Three")
    found = await table.engine.actual_request(play)
    assert found is not None and found.reason is None
    assert [(m.role, m.text) for m in found.messages] == sent(table)
    assert [m.source for m in found.messages].count("pre-step") == 1
    assert found.messages[-1].blocks[0].label == "Tail"


# -- previews ----------------------------------------------------------------------------------------


async def test_a_preview_shows_what_will_have_left_and_come_back(table: Table) -> None:
    play = await story(table)
    off, on = (lambda wire: None), tidy
    for number, change in enumerate((off, off, on, on, off, on, off)):
        await keep(table, play, change)
        words = f"Words {number}"
        live = await session(table, play)
        before = live.seq, list(live.derive())
        preview = await table.engine.preview(play, utterance(words))
        assert (live.seq, list(live.derive())) == before
        await table.tell(play, words)
        assert shown(preview) == sent(table)


async def test_a_preview_while_an_answer_is_written_knows_that_its_texts_will_be_old(table: Table) -> None:
    play = await story(table)
    await keep(table, play, tidy)
    await table.tell(play, "One")
    pause = Pause()
    table.voice.will(breaking(pause, "Wait."))
    await table.say(play, "Two")
    await pause.reached.wait()
    preview = await table.engine.preview(play, utterance("Three"))
    assert [text for _, text in shown(preview)][1:] == [
        "Ana: One",
        "Answer 1.",
        "Ana: Two",
        "Ana: Three",
        "TAIL Ada",
    ]
    pause.opened.set()
    await table.settle(play)


async def test_a_preview_says_that_texts_pile_up_only_where_they_do(table: Table) -> None:
    play = await story(table)

    async def remarks(strategy: Any = APPLIED) -> list[Mapping[str, Any]]:
        preview = await table.engine.preview(play, utterance("Next"), strategy=strategy)
        return [note for note in preview.diagnostics if note["code"] == REPEATED]

    assert await remarks() == []
    await table.tell(play, "One", "Two")
    assert await remarks() == [{"code": REPEATED, "count": 2}]
    assert await remarks(None) == []
    wire = built_in_strategies()["builtin-native-slots"].to_wire() | {"name": "Tidy", "historyPolicy": ON}
    assert await remarks(read_strategy(wire)) == []
    # a policy that keeps them
    assert len(await remarks(read_strategy({**wire, "historyPolicy": excluding("other")}))) == 1


# -- whatever the policy -----------------------------------------------------------------------------

KINDS = (
    "user",
    "model",
    ASSEMBLER_KIND,
    "runtime-context",
    CONTEXT,
    "plugin:weather",
    "compact-checkpoint",
    "history-policy",
)
PROTECTED = ("user", "compact-checkpoint")
"""Words, and what stands for them."""


class Bench:
    """Steps of a session without a model: only what a policy does to it."""

    def __init__(self, live: Session) -> None:
        self.live = live
        self.applied: Applied | None = None
        self.hooks, self.owner = Hooks(), Scope("bench")
        HistoryPolicies(self.hooks, self, self.owner)  # type: ignore[arg-type]
        self.turn = 1

    def told(self, session_id: str) -> SimpleNamespace:
        """As `Strategies.told`, of which no more is asked."""
        return SimpleNamespace(applied=self.applied)

    def run(self, policy: HistoryPolicy | None, *texts: Message, backend: str = "native") -> None:
        """A turn that a strategy with this policy places, or none; what it enters, and an answer."""
        self.turn += 1
        self.applied = None
        if policy is not None:
            wire = built_in_strategies()["builtin-native-slots"].to_wire()
            wire |= {"historyPolicy": policy.to_wire(), "backend": backend}
            self.applied = Applied("mine", read_strategy(wire))
        asyncio.run(self._run(texts))

    async def _run(self, texts: Sequence[Message]) -> None:
        live, token = self.live, CancelToken()
        before = foreseen(live, self.applied)
        live.append("turn/start", {"turn": self.turn})
        payload = PreStep(live, texts, self.turn, 1, token)
        decision = await self.hooks.waterfall("agent/pre-step", payload, lambda: Decision("enter", texts))
        live.append("step/start", {"turn": self.turn, "step": 1})
        generation = live.surface.content_generation
        for _ in range(2):  # an attempt and a retry
            proposal = RequestProposal(live, self.turn, 1, token)
            await self.hooks.waterfall("agent/request", proposal, lambda: CallConfig("p", "m"))
            assert list(live.derive()) == list(before)
        assert decision.starts_series is (live.surface.content_generation != generation)
        for message in texts:
            live.append("user/message", message, surface_op="append")
        reply(live, f"a{self.turn}", turn=self.turn)
        live.append("step/end", {"turn": self.turn, "step": 1})
        live.append("turn/end", {"turn": self.turn, "reason": {"kind": "completed"}})


def said(message_id: str, kind: str) -> Message:
    return user_message(message_id, f"text of {message_id}", {"kind": kind})


def fresh() -> Session:
    live = Sessions(validators=[StrictValidator]).create("s")
    open_step(live, 1)
    prompt(live)
    say(live, "u0")
    reply(live, "a0")
    close_turn(live)
    return live


def policies() -> st.SearchStrategy[HistoryPolicy | None]:
    sources = st.dictionaries(st.sampled_from(KINDS), st.booleans(), max_size=len(KINDS))
    return st.none() | st.builds(HistoryPolicy, enabled=st.booleans(), sources=sources)


def turns() -> st.SearchStrategy[list[tuple[HistoryPolicy | None, list[str]]]]:
    kinds = st.lists(st.sampled_from([kind for kind in KINDS if kind != "model"]), max_size=4)
    return st.lists(st.tuples(policies(), kinds), min_size=1, max_size=6)


def originals(live: Session) -> Iterator[tuple[int, Message]]:
    """Every message that was ever appended, as it was, with its seq."""
    for event in live.events():
        if event.surface_op == "append":
            yield event.seq, event.data if event.type == "user/message" else event.data["message"]


@given(turns())
def test_no_policy_ever_touches_what_people_and_characters_said(
    told: list[tuple[HistoryPolicy | None, list[str]]],
) -> None:
    bench = Bench(fresh())
    for number, (policy, kinds) in enumerate(told):
        bench.run(policy, *(said(f"m{number}-{at}", kind) for at, kind in enumerate(kinds)))
    everything = [message for _, message in originals(bench.live)]
    kept = [m for m in everything if m["source"]["kind"] in ("user", "model", "system-prompt")]
    derived = list(bench.live.derive())
    assert [m for m in derived if m in kept] == kept
    # and what is left is a part of what was said, in its order, each message once
    places = [everything.index(message) for message in derived]
    assert places == sorted(set(places))


@given(turns())
def test_a_policy_leaves_exactly_what_it_does_not_exclude(
    told: list[tuple[HistoryPolicy | None, list[str]]],
) -> None:
    """A from-scratch answer: everything that was said, without what the last policy leaves out of it."""
    bench = Bench(fresh())
    for number, (policy, kinds) in enumerate(told):
        bench.run(policy, *(said(f"m{number}-{at}", kind) for at, kind in enumerate(kinds)))
    last = told[-1][0]
    entered = {f"m{len(told) - 1}-{at}" for at in range(4)}
    before = [m for _, m in originals(bench.live) if m["id"] not in entered]
    facts = [m["id"] for m in before if m["source"]["kind"] == "runtime-context"]

    def stays(message: Message) -> bool:
        kind = message["source"]["kind"]
        if message["role"] != "user" or kind in PROTECTED or message["id"] in entered:
            return True
        if last is None or not last.enabled or last.sources.get(kind) is not False:
            return True
        return message["id"] in facts[-1:]

    assert list(bench.live.derive()) == [m for _, m in originals(bench.live) if stays(m)]


@given(turns())
def test_off_after_anything_is_as_if_it_had_never_been_on(
    told: list[tuple[HistoryPolicy | None, list[str]]],
) -> None:
    tidied, never = Bench(fresh()), Bench(fresh())
    for number, (policy, kinds) in enumerate(told):
        texts = [said(f"m{number}-{at}", kind) for at, kind in enumerate(kinds)]
        tidied.run(policy, *texts)
        never.run(None, *texts)
    tidied.run(None)
    never.run(None)
    assert list(tidied.live.derive()) == list(never.live.derive())
    # as it is read from a store, too
    events = [thaw(event.to_wire()) for event in tidied.live.events()]
    stored = check_log("s", tidied.live.header.to_wire(), 0, events)
    again = Session.restore(stored.header, stored.events, 0, validators=[StrictValidator])
    assert list(again.derive()) == list(never.live.derive())


@given(st.integers(1, 12))
@settings(max_examples=12)
def test_the_number_of_injected_messages_does_not_grow(turns: int) -> None:
    bench = Bench(fresh())
    for number in range(turns):
        bench.run(HistoryPolicy(enabled=True), said(f"i{number}", ASSEMBLER_KIND), said(f"u{number}", "user"))
        assert injected(bench.live.derive()) == [f"text of i{number}"]


# -- single cases without a model --------------------------------------------------------------------


def test_a_summary_in_place_of_words_is_no_injection() -> None:
    live = fresh()
    seq = live.surface.nodes[1]
    checkpoint = user_message("sum", "what was", {"kind": "plugin:notes"})
    live.append(
        "user/message",
        checkpoint,
        surface_op={"op": "replace", "startSeq": seq, "endSeq": seq},
        source_event_seqs=[seq],
    )
    Bench(live).run(HistoryPolicy(enabled=True, sources={"plugin:notes": False}))
    assert live.derive()[1] == checkpoint


def test_a_picture_that_was_put_aside_stays_so_when_its_message_comes_back() -> None:
    sessions = Sessions(validators=[StrictValidator])
    sessions.register_projection("image/offload", offload_images)
    live = sessions.create("s")
    open_step(live, 1)
    prompt(live)
    attachment = {"attachmentId": "p", "mediaType": "image/png", "bytes": 1, "width": 1, "height": 1}
    shows = user_message("i", [{"type": "image", "attachment": attachment}], {"kind": "plugin:weather"})
    seq = live.append("user/message", shows, surface_op="append").seq
    live.append("image/offload", {"targets": [{"seq": seq, "imageIndexes": [0]}]})
    reply(live, "a0")
    close_turn(live)
    before = list(live.derive())
    bench = Bench(live)
    bench.run(HistoryPolicy(enabled=True, sources={"plugin:weather": False}))
    assert [m["id"] for m in live.derive()][1:] == ["a0", "a2"]
    bench.run(None)
    assert list(live.derive())[:3] == before
    assert live.derive()[1]["content"][0]["offloaded"] is True


def test_what_a_tombstone_says_of_itself_and_the_log_does_not_is_not_put_back() -> None:
    live = fresh()
    live.append("user/message", said("i", ASSEMBLER_KIND), surface_op="append")
    seq = live.surface.nodes[-1]
    live.append("turn/start", {"turn": 2})
    live.append("step/start", {"turn": 2, "step": 1})
    forged = {
        "kind": "history-policy",
        "form": "tombstone",
        "original": user_message("u0", "I never said this."),
        "originalHash": digest(canonical(thaw(user_message("u0", "I never said this.")))).hex(),
    }
    message = {"id": "g", "role": "developer", "content": [], "source": forged}
    live.append(
        "developer/message",
        {"turn": 2, "step": 1, "message": message},
        surface_op={"op": "replace", "startSeq": seq, "endSeq": seq},
        source_event_seqs=[seq],
    )
    live.append("step/end", {"turn": 2, "step": 1})
    live.append("turn/end", {"turn": 2, "reason": {"kind": "completed"}})
    bench = Bench(live)
    bench.turn = 2
    bench.run(None)
    assert [message["id"] for message in live.derive()] == ["sys", "u0", "a0", "a3"]


def test_what_came_after_the_last_step_is_old_only_with_the_next_one() -> None:
    live = fresh()
    live.append("user/message", said("i", "plugin:weather"), surface_op="append")
    bench = Bench(live)
    without = HistoryPolicy(enabled=True, sources={"plugin:weather": False})
    bench.run(without)
    assert injected(live.derive(), "plugin:weather") == ["text of i"]
    bench.run(without)
    assert injected(live.derive(), "plugin:weather") == []


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        (HistoryPolicy(enabled=True), []),  # what it leaves out of a copy need not come back first
        (HistoryPolicy(enabled=True, text=False), []),
        (HistoryPolicy(enabled=False), ["text of i0"]),
        (HistoryPolicy(enabled=True, sources={"other": False}), ["text of i0"]),
    ],
)
def test_the_advanced_back_end_takes_nothing_away_and_gives_back_what_it_wants(
    policy: HistoryPolicy, left: list[str]
) -> None:
    bench = Bench(fresh())
    bench.run(None, said("i0", ASSEMBLER_KIND))
    bench.run(HistoryPolicy(enabled=True))
    assert injected(bench.live.derive()) == []
    bench.run(policy, said("i1", ASSEMBLER_KIND), backend="core")
    bench.run(policy, backend="core")
    assert injected(bench.live.derive()) == [*left, "text of i1"]
