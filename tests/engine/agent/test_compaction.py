"""A story that gets too long for its model goes on: with notes where there are some, else as it was
(spec agent-loop 6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine.agent import Agent, Compactor
from engine.cancel import CancelCause, CancelToken
from engine.errors import AgentError
from engine.llm import CallConfig, Llm, LlmRequest, ModelInfo
from engine.session import Event, MemoryEventStore, message_text, transcript
from engine.session.compaction_prompt import checkpoint_text, instruction
from tests.engine.agent.harness import Pause, ScriptedAdapter, World, calls, derived, fails, order, says, u

WINDOW = 1_000
LONG = "It rained on the harbour. " * 20  # 130 tokens
NOTES = "They met on the quay."


class Windowed(ScriptedAdapter):
    """A model with a window that is known, or not. Summaries have answers of their own."""

    window: int | None = WINDOW

    def __init__(self, *answers: Iterable[Any]) -> None:
        super().__init__(*answers)
        self.summaries: list[list[Any]] = [says(NOTES)]
        self.asked: list[LlmRequest] = []

    def model_info(self, model: str) -> ModelInfo:
        return ModelInfo("scripted", model, context_window=self.window)

    async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncIterator[Any]:
        if request.purpose is None:
            async for chunk in super().stream(request, token):
                yield chunk
            return
        self.asked.append(request)
        for entry in self.summaries[min(len(self.asked), len(self.summaries)) - 1]:
            if isinstance(entry, Pause):
                entry.reached.set()
                await token.race(entry.opened.wait())
            else:
                yield entry


class Long(World):
    """A world with a compactor."""

    def __init__(
        self, *answers: Iterable[Any], window: int | None = WINDOW, store: MemoryEventStore | None = None
    ) -> None:
        super().__init__(*answers, store=store)
        self.model = Windowed(*(answers or [counted(LONG)]))
        self.model.window = window
        self.services.llm = Llm()
        self.services.llm.register(self.model)
        self.compactor = Compactor(self.services, self.owner)

    async def told(self, *texts: str) -> Agent:
        agent = await self.agents.create("s1")
        await tell(agent, *texts)
        return agent


def counted(text: str, tokens: int | None = None) -> list[Any]:
    """An answer whose provider reports nothing of its input, or so many tokens."""
    usage = {"type": "usage", "usage": {"inputTokens": tokens or 0, "outputTokens": 1}}
    return [usage if chunk["type"] == "usage" else chunk for chunk in says(text)]


async def tell(agent: Agent, *texts: str) -> None:
    for text in texts:
        agent.followup(u(text + " " + LONG, text))
        await agent.when_idle()


def of(agent: Agent, prefix: str) -> list[Event]:
    return [event for event in agent.session.events() if event.type.startswith(prefix)]


def kinds(agent: Agent) -> list[str]:
    return [event.type.removeprefix("compaction/") for event in of(agent, "compaction/")]


def words(agent: Agent) -> list[str]:
    """The history, each message by its first word or as notes."""
    texts = [line.partition(":")[2] for line in derived(agent.session)]
    return ["NOTES" if text == checkpoint_text(NOTES) else text.split()[0] for text in texts]


def reasons(agent: Agent) -> list[str]:
    return [event.data["reason"]["kind"] for event in of(agent, "turn/end")]


# -- before a step ---------------------------------------------------------------------------------


async def test_a_history_that_presses_on_the_window_is_summed_up_before_the_step() -> None:
    # given exchanges of about 270 tokens, and a window of 1000
    world = Long()
    agent = await world.told("a", "b")
    assert kinds(agent) == []
    # when a fourth one would fill more than four fifths of it
    await tell(agent, "c", "d")
    # then notes stand for the oldest, and the newest stay word for word
    assert kinds(agent) == ["start", "summary", "end"]
    assert words(agent) == ["You", "NOTES", "c", "It", "d", "It"]
    assert world.model.requests[-1][1] == f"user:{checkpoint_text(NOTES)}"
    # in the turn that was opened, and before its step
    log = order(agent.session)
    assert log.index("compaction/end") < len(log) - log[::-1].index("step/start") - 1
    assert of(agent, "compaction/start")[0].data["turn"] == 4
    assert reasons(agent) == ["completed"] * 4
    # and a person still reads all of it
    assert [e.data["id"] for e in transcript(agent.session.events()) if e.type == "user/message"] == [*"abcd"]


async def test_the_summary_is_asked_for_after_the_same_beginning_as_the_story() -> None:
    world = Long()
    world.services.defaults = CallConfig("scripted", "m1", max_tokens=200, temperature=0.5, stop=("Ana:",))
    await world.told(*"abcd")
    (asked,) = world.model.asked
    assert (asked.purpose, asked.session_id) == ("compaction", "s1")
    # an eighth of the window instead of the length of an answer, and no stop strings
    assert asked.config == CallConfig("scripted", "m1", max_tokens=125, temperature=0.5)
    texts = [f"{m['role']}:{message_text(m)}" for m in asked.messages]
    assert texts[:-1] == world.model.requests[1]
    assert texts[-1] == f"user:{instruction()}"


async def test_the_next_request_starts_a_series() -> None:
    world = Long()
    agent = await world.told(*"abcd")
    assert order(agent.session).count("header series") == 1


async def test_a_provider_that_counts_more_makes_it_earlier() -> None:
    # given a provider that reports two and a half times what we estimate
    world = Long(counted(LONG, tokens=350))
    agent = await world.told("a", "b")
    # then two exchanges fill the window
    assert kinds(agent) == ["start", "summary", "end"]


async def test_what_a_provider_had_cached_counts_too() -> None:
    usage = {"type": "usage", "usage": {"inputTokens": 10, "cachedInputTokens": 340, "outputTokens": 1}}
    world = Long([usage if chunk["type"] == "usage" else chunk for chunk in says(LONG)])
    assert kinds(await world.told("a", "b")) == ["start", "summary", "end"]


async def test_oversized_results_are_shortened_first_and_that_may_be_enough() -> None:
    # given a tool whose result is more than the window
    world = Long(calls("look", "{}"), counted("I see."), window=3_000)

    async def body(arguments: str, token: CancelToken) -> str:
        return "x" * 20_000

    world.tool("look", body)
    # when the step after it would be too long
    agent = await world.told("a")
    # then the result is shortened, and nothing is summed up
    assert kinds(agent) == ["prune"]
    assert (reasons(agent), world.model.asked) == (["completed"], [])
    assert "characters were left out" in world.model.requests[-1][-1]


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        (fails("AUTH"), "COMPACTION_SUMMARY"),
        (says("  "), "COMPACTION_SUMMARY"),
        (says(NOTES, finish="max-tokens"), "COMPACTION_SUMMARY"),
        (says(LONG * 20), "COMPACTION_SUMMARY"),
        (calls("dice", "{}"), "COMPACTION_SUMMARY"),
    ],
    ids=["failed", "blank", "cut off", "longer", "a tool call"],
)
async def test_a_summary_that_fails_leaves_the_turn_its_whole_history(summary: Any, code: str) -> None:
    world = Long()
    world.model.summaries = [summary]
    with capture_logs() as logs:
        agent = await world.told(*"abcd")
    assert kinds(agent) == ["start", "end"]
    assert of(agent, "compaction/end")[0].data["error"]["code"] == code
    assert [entry["code"] for entry in logs if entry["event"] == "compaction.failed"] == [code]
    assert words(agent) == ["You", "a", "It", "b", "It", "c", "It", "d", "It"]
    assert reasons(agent) == ["completed"] * 4


async def test_a_stop_ends_the_summary_and_the_turn() -> None:
    world = Long()
    pause = Pause()
    world.model.summaries = [[pause]]
    agent = await world.told(*"abc")
    agent.followup(u("d " + LONG, "d"))
    await pause.reached.wait()
    agent.cancel(CancelCause("user"))
    await agent.when_idle()
    assert kinds(agent) == ["start", "end"]
    assert reasons(agent)[-1] == "aborted"
    # and the next turn can compact
    world.model.summaries = [says(NOTES)]
    await tell(agent, "e")
    assert kinds(agent) == ["start", "end", "start", "summary", "end"]


async def test_an_unknown_window_is_warned_of_once() -> None:
    world = Long(window=None)
    with capture_logs() as logs:
        agent = await world.told(*"abcdef")
    assert [entry["event"] for entry in logs].count("compaction.window_unknown") == 1
    assert kinds(agent) == []


async def test_an_answer_as_long_as_the_window_leaves_room_for_the_story() -> None:
    # given a preset whose answers may take all of the window
    world = Long()
    world.services.defaults = CallConfig("scripted", "m1", max_tokens=WINDOW)
    agent = await world.told("a")
    # then half of it is the story's
    agent.followup(u("b"))
    await agent.when_idle()
    assert kinds(agent) == []


async def test_a_turn_without_a_request_sums_nothing_up() -> None:
    # given a history that presses on the window already
    world = Long()
    agent = await world.told(*"abc")
    # when it is woken with nothing to answer
    agent.wake()
    await agent.when_idle()
    assert (kinds(agent), reasons(agent)) == ([], ["completed"] * 4)
    assert len(world.model.requests) == 3


# -- after a refused request -----------------------------------------------------------------------


async def test_a_request_that_is_too_long_is_sent_again_with_notes() -> None:
    # given a provider whose window is smaller than what is known
    world = Long(counted(LONG), fails("CONTEXT_WINDOW_EXCEEDED"), counted("Go on."), window=None)
    agent = await world.told("a", "b")
    # then everything is summed up, once, and the same step goes on
    assert kinds(agent) == ["start", "summary", "end"]
    assert words(agent) == ["You", "NOTES", "Go"]
    assert reasons(agent) == ["completed", "completed"]
    log = order(agent.session)
    assert log.count("step/start") == 2 and log.count("assistant/attempt") == 1


async def test_that_happens_once_a_step() -> None:
    world = Long(counted(LONG), fails("CONTEXT_WINDOW_EXCEEDED"), window=None)
    agent = await world.told("a", "b")
    assert kinds(agent) == ["start", "summary", "end"]
    assert len(world.model.requests) == 3
    assert of(agent, "turn/end")[-1].data["reason"]["error"]["code"] == "CONTEXT_WINDOW_EXCEEDED"
    # the next turn has a try of its own
    await tell(agent, "c")
    assert kinds(agent).count("start") == 2


async def test_when_the_summary_fails_the_first_error_stays() -> None:
    world = Long(counted(LONG), fails("CONTEXT_WINDOW_EXCEEDED"), window=None)
    world.model.summaries = [fails("AUTH")]
    agent = await world.told("a", "b")
    assert kinds(agent) == ["start", "end"]
    assert len(world.model.requests) == 2
    assert of(agent, "turn/end")[-1].data["reason"]["error"]["code"] == "CONTEXT_WINDOW_EXCEEDED"


async def test_a_summary_that_is_too_long_itself_is_tried_with_less() -> None:
    # given a history for which even the request for notes is too long
    world = Long(*[counted(LONG)] * 3, fails("CONTEXT_WINDOW_EXCEEDED"), counted("Go on."), window=None)
    world.model.summaries = [fails("CONTEXT_WINDOW_EXCEEDED"), says(NOTES)]
    agent = await world.told(*"abcd")
    # then its older half is summed up
    assert kinds(agent) == ["start", "end", "start", "summary", "end"]
    assert len(world.model.asked[1].messages) < len(world.model.asked[0].messages)
    assert words(agent)[:2] == ["You", "NOTES"]
    assert words(agent)[-2:] == ["d", "Go"]


async def test_it_is_not_tried_with_ever_less() -> None:
    world = Long(*[counted(LONG)] * 3, fails("CONTEXT_WINDOW_EXCEEDED"), window=None)
    world.model.summaries = [fails("CONTEXT_WINDOW_EXCEEDED")]
    agent = await world.told(*"abcd")
    assert kinds(agent) == ["start", "end"] * 3
    assert reasons(agent)[-1] == "error"


async def test_other_failures_are_left_to_others() -> None:
    world = Long(counted(LONG), fails("RATE_LIMIT"), counted("Go on."))
    agent = await world.told("a", "b")
    assert kinds(agent) == []
    assert reasons(agent) == ["completed", "completed"]


# -- by hand ---------------------------------------------------------------------------------------


async def test_by_hand_between_turns() -> None:
    world = Long(window=None)
    agent = await world.told("a", "b")
    done = await world.compactor.compact_now(agent)
    assert done is not None
    assert of(agent, "compaction/start")[0].data["turn"] is None
    assert words(agent) == ["You", "NOTES", "It"]
    # durably
    assert await world.store.head("s1") == agent.session.seq
    # and after a restart the story goes on from there
    again = Long(counted("Go on."), store=world.store)
    resumed = await again.agents.open("s1")
    await tell(resumed, "c")
    assert words(resumed) == ["You", "NOTES", "It", "c", "Go"]


async def test_by_hand_there_may_be_nothing_to_sum_up() -> None:
    world = Long()
    agent = await world.agents.create("s1")
    assert await world.compactor.compact_now(agent) is None


async def test_what_is_said_meanwhile_is_answered_afterwards() -> None:
    world = Long(window=None)
    pause = Pause()
    world.model.summaries = [[pause, *says(NOTES)]]
    agent = await world.told("a", "b")
    work = asyncio.ensure_future(world.compactor.compact_now(agent))
    await pause.reached.wait()
    agent.followup(u("c"))
    assert agent.status == "idle"
    pause.opened.set()
    await work
    await agent.when_idle()
    assert words(agent) == ["You", "NOTES", "It", "c", "It"]


async def test_by_hand_not_while_an_answer_is_written() -> None:
    pause = Pause()
    world = Long([pause, *says("one")])
    agent = await world.agents.create("s1")
    agent.followup(u("a"))
    await pause.reached.wait()
    with pytest.raises(AgentError) as caught:
        await world.compactor.compact_now(agent)
    assert caught.value.error_code == "AGENT_RUNNING"
    pause.opened.set()
    await agent.when_idle()


async def test_a_session_that_closes_meanwhile_ends_it() -> None:
    world = Long(window=None)
    pause = Pause()
    world.model.summaries = [[pause]]
    agent = await world.told("a", "b")
    work = asyncio.ensure_future(world.compactor.compact_now(agent))
    await pause.reached.wait()
    await world.agents.close("s1")
    with pytest.raises(AgentError) as caught:
        await work
    assert caught.value.error_code == "AGENT_DISPOSED"
    # the next life of the session can compact
    resumed = await world.agents.open("s1")
    world.model.summaries = [says(NOTES)]
    assert await world.compactor.compact_now(resumed) is not None
    assert words(resumed) == ["You", "NOTES", "It"]
