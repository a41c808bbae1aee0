"""Sections and runtime contexts, and when they reach the log. Cases 67 to 79 of spec agent-loop 8."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from engine.agent import AssembleContext, Assembly, Context, Decision, Part, PreStep, Section
from engine.agent.projection import SNAPSHOT_KIND
from engine.cancel import CancelCause
from engine.errors import AgentError
from engine.hooks import Next, Scope
from engine.llm import CallConfig
from engine.session import Message, message_text, system_message
from tests.engine.agent.harness import Pause, World, calls, derived, fails, order, says, u

HEADING = "Current facts; this list replaces every earlier one:"
CLEARED = "There are no current facts; earlier lists no longer apply."


class Facts:
    """Contexts whose text the test changes."""

    def __init__(self, world: World, **texts: str) -> None:
        self.texts = texts
        self.read: list[str] = []
        for name in texts:
            world.services.prompt.context(Context(name, 0, self.provider(name)), owner=world.owner)

    def provider(self, name: str) -> Any:
        def read(context: AssembleContext) -> str:
            self.read.append(name)
            return self.texts[name]

        return read


def snapshots(agent: Any) -> list[str]:
    return [
        message_text(e.data)
        for e in agent.session.events()
        if e.type == "user/message" and e.data["source"]["kind"] == SNAPSHOT_KIND
    ]


async def turn(agent: Any, text: str) -> None:
    agent.followup(u(text))
    await agent.when_idle()


# -- runtime facts -------------------------------------------------------------------------------


async def test_facts_are_sent_once_and_again_when_they_change() -> None:
    world = World(says("ok"))
    facts = Facts(world, weather="rain", place="inn")
    agent = await world.agents.create("s")
    for text in "abc":
        await turn(agent, text)
    assert snapshots(agent) == [f"{HEADING}\n\ninn\n\nrain"]
    # after the prompt that they came with
    assert world.adapter.requests[0] == ["system:You are Ada.", "user:a", f"user:{HEADING}\n\ninn\n\nrain"]
    facts.texts["weather"] = "sun"
    await turn(agent, "d")
    assert snapshots(agent)[1:] == [f"{HEADING}\n\ninn\n\nsun"]
    source = [e.data for e in agent.session.events() if e.type == "user/message"][-1]["source"]
    assert source["sections"] == ({"name": "place", "text": "inn"}, {"name": "weather", "text": "sun"})


async def test_facts_that_ended_are_cleared_once() -> None:
    world = World(says("ok"))
    facts = Facts(world, weather="rain")
    agent = await world.agents.create("s")
    await turn(agent, "a")
    facts.texts["weather"] = ""
    for text in "bc":
        await turn(agent, text)
    assert snapshots(agent) == [f"{HEADING}\n\nrain", CLEARED]
    facts.texts["weather"] = "rain"
    await turn(agent, "d")
    assert snapshots(agent)[2:] == [f"{HEADING}\n\nrain"]


async def test_without_facts_nothing_is_said_of_them() -> None:
    world = World(says("ok"))
    Facts(world, weather="")
    agent = await world.agents.create("s")
    await turn(agent, "a")
    assert snapshots(agent) == []


async def test_facts_that_a_compaction_took_away_are_sent_again() -> None:
    world = World(says("ok"))
    Facts(world, weather="rain")
    agent = await world.agents.create("s")
    await turn(agent, "a")
    # when everything after the head is replaced by a summary
    nodes = list(agent.session.surface.nodes)[1:]
    data = dict(u("It rained.", "sum")) | {"source": {"kind": "summary"}}
    agent.session.append(
        "user/message",
        data,
        surface_op={"op": "replace", "startSeq": nodes[0], "endSeq": nodes[-1]},
        source_event_seqs=nodes,
    )
    assert derived(agent.session)[1:] == ["user:It rained."]
    await turn(agent, "b")
    assert snapshots(agent) == [f"{HEADING}\n\nrain"] * 2
    # an unchanged system text is not
    assert order(agent.session).count("system/message") == 1


async def test_facts_are_those_of_the_moment_of_admission() -> None:
    world = World(says("ok"))
    facts = Facts(world, weather="rain")

    async def change(proposal: object, proceed: Next) -> Any:
        facts.texts["weather"] = "sun"
        return await proceed()

    world.on("agent/request", change)
    agent = await world.agents.create("s")
    await turn(agent, "a")
    # what was proposed before never was in the log
    assert snapshots(agent) == [f"{HEADING}\n\nsun"]


async def test_facts_that_appear_or_vanish_before_admission() -> None:
    world = World(says("ok"))
    facts = Facts(world, weather="", place="inn")
    flips = iter([("storm", ""), ("", "")])

    async def change(proposal: object, proceed: Next) -> Any:
        facts.texts["weather"], facts.texts["place"] = next(flips)
        return await proceed()

    world.on("agent/request", change)
    agent = await world.agents.create("s")
    # (a context that was empty at assembly is not part of the step)
    await turn(agent, "a")
    assert snapshots(agent) == []
    await turn(agent, "b")
    assert snapshots(agent) == []


async def test_a_retry_repeats_facts_only_when_they_changed() -> None:
    world = World(fails("SERVER"), fails("SERVER"), says("ok"))
    facts = Facts(world, weather="rain")
    attempts = iter(["rain", "rain", "sun"])

    async def change(proposal: object, proceed: Next) -> Any:
        facts.texts["weather"] = next(attempts)
        return await proceed()

    world.on("agent/request", change)
    agent = await world.agents.create("s")
    await turn(agent, "a")
    assert snapshots(agent) == [f"{HEADING}\n\nrain", f"{HEADING}\n\nsun"]
    assert order(agent.session).count("user a") == 1


def edits(world: World, edit: Callable[[Sequence[Message]], Sequence[Message]]) -> None:
    """Pre-step lets in what `edit` makes of the proposed messages."""

    async def listen(payload: PreStep, proceed: Next) -> Decision:
        decision: Decision = await proceed()
        return replace(decision, messages=edit(decision.messages))

    world.on("agent/pre-step", listen)


def is_facts(message: Message) -> bool:
    return message["source"]["kind"] == SNAPSHOT_KIND


async def test_facts_stay_where_pre_step_put_them_and_are_of_the_moment_of_admission() -> None:
    world = World(says("ok"))
    facts = Facts(world, weather="rain")
    edits(world, lambda messages: sorted(messages, key=lambda m: not is_facts(m)))

    changes = ["sun"]

    async def change(proposal: object, proceed: Next) -> Any:
        facts.texts["weather"] = changes[-1]
        return await proceed()

    proposed: list[str] = []

    def look(payload: PreStep, proceed: Next) -> Any:
        proposed.extend(message["id"] for message in payload.messages)
        return proceed()

    world.on("agent/pre-step", look)
    agent = await world.agents.create("s")
    await turn(agent, "a")
    assert world.adapter.requests[0][1:] == [f"user:{HEADING}\n\nrain", "user:a"]
    # unchanged facts are the very message that was proposed
    assert [e.data["id"] for e in agent.session.events() if e.type == "user/message"] == proposed[::-1]
    # changed ones are another one in its place
    world.on("agent/request", change)
    facts.texts["weather"] = "snow"
    await turn(agent, "b")
    assert world.adapter.requests[1][-2:] == [f"user:{HEADING}\n\nsun", "user:b"]
    # and where nothing was proposed, they come last
    changes.append("fog")
    await turn(agent, "c")
    assert world.adapter.requests[2][-2:] == ["user:c", f"user:{HEADING}\n\nfog"]


async def test_facts_that_pre_step_left_out_stay_out_also_on_a_retry() -> None:
    world = World(fails("SERVER"), says("ok"))
    Facts(world, weather="rain")
    edits(world, lambda messages: [m for m in messages if not is_facts(m)])
    agent = await world.agents.create("s")
    await turn(agent, "a")
    assert (snapshots(agent), len(world.adapter.requests)) == ([], 2)


async def test_required_facts_come_back_though_pre_step_left_them_out() -> None:
    world = World(says("ok"))
    facts = Facts(world, weather="rain")
    world.services.prompt.context(Context("place", 1, "inn", required=True), owner=world.owner)
    edits(world, lambda messages: [m for m in messages if not is_facts(m)])
    agent = await world.agents.create("s")
    await turn(agent, "a")
    assert snapshots(agent) == [f"{HEADING}\n\nrain\n\ninn"]
    assert world.adapter.requests[0][-1].endswith("inn")
    # while the required ones are known, the others may be left out
    facts.texts["weather"] = "sun"
    await turn(agent, "b")
    assert len(snapshots(agent)) == 1


async def test_facts_that_pre_step_rewrote_are_the_real_ones_again() -> None:
    world = World(says("ok"))
    Facts(world, weather="rain")
    edits(world, lambda messages: [u("lies", m["id"]) if is_facts(m) else m for m in messages])
    agent = await world.agents.create("s")
    await turn(agent, "a")
    assert world.adapter.requests[0][1:] == ["user:a", f"user:{HEADING}\n\nrain"]


async def test_facts_that_come_up_only_at_admission_are_appended() -> None:
    world = World(says("ok"))
    agent = await world.agents.create("s")

    async def change(proposal: object, proceed: Next) -> Any:
        world.services.prompt.context(Context("place", 1, "inn", required=True), owner=world.owner)
        return await proceed()

    world.on("agent/request", change)
    await turn(agent, "a")
    assert world.adapter.requests[0][1:] == ["user:a", f"user:{HEADING}\n\ninn"]


async def test_a_retry_sends_facts_again_that_a_compaction_took_away() -> None:
    world = World(says("ok"), fails("SERVER"), says("ok"))
    Facts(world, weather="rain")
    agent = await world.agents.create("s")
    await turn(agent, "a")

    async def compacted(payload: Any, proceed: Next) -> str:
        nodes = list(agent.session.surface.nodes)[1:]
        agent.session.append(
            "user/message",
            dict(u("It rained.", "sum")) | {"source": {"kind": "summary"}},
            surface_op={"op": "replace", "startSeq": nodes[0], "endSeq": nodes[-1]},
            source_event_seqs=nodes,
        )
        return "retry"

    world.on("agent/request-error", compacted)
    await turn(agent, "b")
    assert world.adapter.requests[2][1:] == ["user:It rained.", f"user:{HEADING}\n\nrain"]


async def test_changed_facts_alone_spend_no_call() -> None:
    # (decision 12)
    world = World(says("ok"))
    Facts(world, weather="rain")
    agent = await world.agents.create("s")
    agent.wake()
    await agent.when_idle()
    assert (world.adapter.requests, snapshots(agent)) == ([], [])
    assert order(agent.session) == ["turn/start", "turn/end completed"]


async def test_a_tool_round_does_not_repeat_facts() -> None:
    world = World(calls("nope", "{}"), says("ok"))
    Facts(world, weather="rain")
    agent = await world.agents.create("s")
    await turn(agent, "a")
    assert snapshots(agent) == [f"{HEADING}\n\nrain"]
    assert len(world.adapter.requests) == 2


# -- transforming the assembly -------------------------------------------------------------------


async def test_a_transformation_removes_optional_facts_for_good_and_required_ones_never() -> None:
    world = World(says("ok"))
    Facts(world, mood="grim")
    world.services.prompt.context(Context("place", 1, "inn", required=True), owner=world.owner)

    async def strip(payload: tuple[Assembly, AssembleContext], proceed: Next) -> Assembly:
        return replace(await proceed(), contexts=(Part("place", "nowhere"), Part("extra", "dusk")))

    world.on("system-prompt/assemble", strip)
    agent = await world.agents.create("s")
    await turn(agent, "a")
    # what it added stays
    assert snapshots(agent) == [f"{HEADING}\n\ninn\n\ndusk"]


async def test_a_transformation_of_the_sections_is_what_the_model_reads() -> None:
    world = World(says("ok"))

    async def add(payload: tuple[Assembly, AssembleContext], proceed: Next) -> Assembly:
        assembly: Assembly = await proceed()
        return replace(assembly, sections=(*assembly.sections, Part("more", "Be brief."), Part("none", "")))

    world.on("system-prompt/assemble", add)
    agent = await world.agents.create("s")
    await turn(agent, "a")
    assert world.adapter.requests[0][0] == "system:You are Ada.\n\nBe brief."


# -- sections ------------------------------------------------------------------------------------


async def test_sections_stand_by_order_and_name_and_are_literal() -> None:
    world = World(says("ok"))

    async def late(context: AssembleContext) -> str:
        await asyncio.sleep(0)
        return "{{user}} said " + " and ".join(m["id"] for m in context.claimed)

    for name, place, text in (("z", 1, late), ("b", -1, "second"), ("a", -1, "first")):
        world.services.prompt.section(Section(name, place, text), owner=world.owner)  # type: ignore[arg-type]
    agent = await world.agents.create("s")
    agent.inject(u("aside"))
    await turn(agent, "hi")
    # (a text is never interpolated here; and the batch is known before it is in the history)
    assert world.adapter.requests[0][0] == (
        "system:first\n\nsecond\n\nYou are Ada.\n\n{{user}} said aside and hi"
    )


async def test_names_are_unique_and_go_with_their_owner() -> None:
    world = World(says("ok"))
    owner = Scope("card")
    world.services.prompt.section(Section("lore", 1, "It rains."), owner=owner)
    world.services.prompt.context(Context("lore", 1, "noon"), owner=owner)
    for register, item in (
        (world.services.prompt.section, Section("lore", 2, "")),
        (world.services.prompt.context, Context("lore", 2, "")),
    ):
        with pytest.raises(AgentError) as refused:
            register(item, owner=world.owner)  # type: ignore[arg-type]
        assert refused.value.error_code == "PROMPT_DUPLICATE"
    agent = await world.agents.create("s")
    await turn(agent, "a")
    await owner.aclose()
    await turn(agent, "b")
    texts = [message_text(e.data["message"]) for e in agent.session.events() if e.type == "system/message"]
    assert texts == ["You are Ada.\n\nIt rains.", "You are Ada."]
    assert snapshots(agent) == [f"{HEADING}\n\nnoon", CLEARED]


async def test_a_section_that_fails_ends_its_turn_only() -> None:
    world = World(says("ok"))
    broken = True

    def text(context: AssembleContext) -> str:
        if broken:
            raise ValueError("the book is torn")
        return "It rains."

    world.services.prompt.section(Section("lore", 1, text), owner=world.owner)
    agent = await world.agents.create("s")
    await turn(agent, "a")
    assert agent.session.events()[-1].data["reason"] == {
        "kind": "error",
        "error": {"message": "the book is torn", "code": "UNKNOWN"},
    }
    assert order(agent.session) == ["insert", "turn/start", "claim", "turn/end error"]
    broken = False
    await turn(agent, "b")
    assert order(agent.session)[-1] == "turn/end completed"


async def test_a_stop_while_a_section_is_written_is_obeyed() -> None:
    world = World(says("never"))
    pause = Pause()

    async def text(context: AssembleContext) -> str:
        pause.reached.set()
        await context.token.race(pause.opened.wait())
        return "never"

    world.services.prompt.section(Section("slow", 1, text), owner=world.owner)
    agent = await world.agents.create("s")
    agent.followup(u("a"))
    await pause.reached.wait()
    agent.cancel(CancelCause("user"))
    await agent.when_idle()
    assert order(agent.session) == ["insert", "turn/start", "claim", "turn/end aborted"]


# -- the head of the history ---------------------------------------------------------------------


async def test_a_prompt_that_becomes_empty_and_comes_back_is_one_head() -> None:
    world = World(says("ok"))
    agent = await world.agents.create("s")
    await turn(agent, "a")
    for text in ("", "You are Bob."):
        world.prompt_text = text
        await turn(agent, text or "b")
    assert [request[0] for request in world.adapter.requests] == [
        "system:You are Ada.",
        "user:a",
        "system:You are Bob.",
    ]


async def test_a_head_of_an_earlier_time_with_two_parts_becomes_one() -> None:
    # given a log that another route wrote, with a second system message in its history
    world = World(says("ok"))
    agent = await world.agents.create("s")
    await turn(agent, "a")
    agent.session.append("turn/start", {"turn": 2})
    agent.session.append("step/start", {"turn": 2, "step": 1})
    data = {"turn": 2, "step": 1, "message": system_message("sys2", "Whisper.")}
    agent.session.append("system/message", data, surface_op="append")
    agent.session.append("step/end", {"turn": 2, "step": 1})
    agent.session.append("turn/end", {"turn": 2, "reason": {"kind": "completed"}})
    await world.services.journal.flush("s")
    again = await world.crash(says("ok"))
    agent = await again.agents.open("s")
    await turn(agent, "b")
    assert again.adapter.requests[0] == ["system:You are Ada.", "user:a", "assistant:ok", "user:b"]


# -- the header ----------------------------------------------------------------------------------


async def test_a_header_is_written_when_it_changes() -> None:
    world = World(says("ok"))
    wanted: list[float | None] = [None, None, 0.5, 0.5, None]
    seen = iter(wanted)

    async def temperature(proposal: object, proceed: Next) -> CallConfig:
        return replace(await proceed(), temperature=next(seen))

    world.on("agent/request", temperature)
    agent = await world.agents.create("s")
    for text in "abcde":
        await turn(agent, text)
    headers = [e.data for e in agent.session.events() if e.type == "request/header"]
    assert [(h["reason"], h["header"]["config"].get("temperature")) for h in headers] == [
        ("initial", None),
        ("change", 0.5),
        ("change", None),
    ]
    assert order(agent.session).count("request/context") == 1


async def test_stop_strings_that_stay_are_no_change() -> None:
    world = World(says("ok"))
    world.services.defaults = CallConfig("scripted", "m1", stop=("Ben:", "Ana:"))
    agent = await world.agents.create("s")
    for text in "abc":
        await turn(agent, text)
    headers = [e.data for e in agent.session.events() if e.type == "request/header"]
    assert [(h["reason"], h["header"]["config"]["stop"]) for h in headers] == [("initial", ("Ben:", "Ana:"))]


async def test_a_tool_that_comes_later_changes_the_header() -> None:
    world = World(says("ok"))
    agent = await world.agents.create("s")
    await turn(agent, "a")

    async def body(arguments: str, token: object) -> str:
        return ""

    for name in ("z", "a"):
        world.tool(name, body)
    await turn(agent, "b")
    await turn(agent, "c")
    headers = [e.data for e in agent.session.events() if e.type == "request/header"]
    assert [h["reason"] for h in headers] == ["initial", "change"]
    assert [tool["name"] for tool in headers[-1]["header"]["tools"]] == ["a", "z"]
