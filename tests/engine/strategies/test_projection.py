"""What a request of the advanced back end is made of, before it is sent and long after."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from engine.agent import ASSEMBLY
from engine.assembler import ASSEMBLER_KIND, built_in_strategies, read_strategy
from engine.codec import dumps
from engine.errors import AssemblyError
from engine.strategies import REQUEST_RECORD, ActualRequest, Preview
from tests.engine.agent.toolbench import asks
from tests.engine.play.table import OWNER, Table, fails, says, utterance
from tests.engine.strategies.test_actual import actual, blocks
from tests.engine.strategies.test_advanced import DEEP, SLOTS, assemblies, heard, log_of, table, talk, use
from tests.engine.strategies.test_steps import book, sent, shown, story

__all__ = ["table"]


def policy(**changes: Any) -> dict[str, Any]:
    kinds = ("dsh-prompt-assembler", "runtime-context", "system-prompt", "ptc-mode", "tool")
    return {
        "version": 1,
        "enabled": True,
        "sources": [{"kind": kind, "include": False} for kind in kinds],
        "contentTypes": {"text": True, "image": True, "reasoning": False},
        "fragments": [],
    } | changes


# -- previews and what was sent ----------------------------------------------------------------------


async def test_a_preview_shows_each_message_with_its_parts_and_writes_nothing(table: Table) -> None:
    play = await story(table, *SLOTS, DEEP, book_ids=(await book(table, comment="The weather"),))
    await use(table, play, heard())
    await table.tell(play, "One")
    before = await log_of(table, play), len(table.voice.requests)
    preview = await table.engine.preview(play, utterance("The rain"))
    assert (await log_of(table, play), len(table.voice.requests)) == before
    assert shown(preview)[1:] == [
        ("user", "Ana: One"),
        ("user", "HEARD One"),
        ("assistant", "Answer 1."),
        ("user", "DEEP"),
        ("user", "Ana: The rain"),
        ("user", "HEARD The rain"),
    ]
    assert [message.source for message in preview.messages] == [
        *("system", "history", "pre-step", "history", "pre-step", "input", "pre-step")
    ]
    assert [(block.module, block.label) for block in preview.messages[0].blocks] == [
        ("cast", "cast"),
        ("preset", "main"),
        ("character", "description"),
        ("worldbook", "The weather"),
    ]
    assert "\n\n".join(block.text for block in preview.messages[0].blocks) == preview.messages[0].text
    assert preview.messages[4].blocks[0].label == "Deep"
    assert 0 < preview.added_bytes < preview.max_bytes
    # and it was right
    await table.tell(play, "The rain")
    assert shown(preview) == sent(table)


async def test_a_preview_says_where_the_model_may_refuse(table: Table) -> None:
    play = await story(table, *SLOTS[:1], SLOTS[3])
    st = built_in_strategies()["builtin-st"]
    preview = await table.engine.preview(play, utterance("One"), strategy=st)
    assert "SYSTEM_UPDATE_CAPABILITY_UNVERIFIED" in {note["code"] for note in preview.diagnostics}
    assert [message.role for message in preview.messages] == ["system", "user", "system"]
    assert table.engine.strategies.last((await table.head(play)).session_id) is None


async def test_what_was_sent_is_read_from_its_record_with_names_of_that_time(table: Table) -> None:
    play = await story(table, *SLOTS, DEEP)
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "One", "Two")
    library, preset = table.engine.library, (await table.plays.selection(play)).preset_id
    row = await library.get(preset)

    def renamed(raw: Any) -> Any:
        return raw | {"prompts": [prompt | {"name": "New", "content": "NEW"} for prompt in raw["prompts"]]}

    await library.edit(preset, renamed, expected_revision=row.revision)
    await table.plays.use_strategy(play, None)
    await table.restart()
    found = await actual(table, play)
    assert [(m.role, m.text) for m in found.messages] == sent(table)
    assert found.strategy is not None and found.strategy["id"] == "builtin-st"
    assert found.config["model"] == "m1" and found.reason is None
    assert blocks(found) == [
        [("cast", "cast"), ("preset", "main"), ("character", "description")],
        [("native", "Ana")],
        [("native", "model")],
        [("preset", "Deep")],
        [("native", "Ana")],
    ]
    # each answer has its own, and bodies stand in their one place
    first = await table.engine.actual_request(play, (await table.nodes(play))[0].id)
    assert first is not None and [m.text for m in first.messages] == [text for _, text in sent(table, 0)]
    evidence = [e for e in await log_of(table, play) if e.type == REQUEST_RECORD]
    assert len(evidence) == 2 and not any(b"DEEP" in dumps(dict(e.data)) for e in evidence)


async def test_a_request_whose_sending_nobody_lived_to_record_is_shown_all_the_same(table: Table) -> None:
    play = await story(table, *SLOTS)
    await table.tell(play, "One")
    await use(table, play, heard())

    def gone(*_: Any) -> Any:
        raise RuntimeError("the line is cut before anybody can say so")

    table.engine.hooks.on("llm/stream", gone, owner=table._owner, prepend=True)
    await table.tell(play, "Two")
    types = [event.type for event in await log_of(table, play)]
    assert types.index(ASSEMBLY) > types.index(REQUEST_RECORD)
    found = await actual(table, play)
    assert found.messages[-1].text == "HEARD Two"
    assert found.strategy is not None and found.strategy["name"] == "Mine"


async def test_a_record_that_was_changed_proves_nothing(table: Table) -> None:
    play = await story(table, *SLOTS)
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "One")
    session_id = (await table.head(play)).session_id
    await table.plays.rest(-1)
    stored = await table.engine.journal.read(session_id)
    events = [
        replace(event, data=event.data | {"messages": event.data["messages"][:-1]})
        if event.type == ASSEMBLY
        else event
        for event in stored.events
    ]

    async def read(_: str) -> Any:
        sessions = table.engine.journal.sessions
        return sessions.detached(stored.header, events, inherited_event_count=stored.inherited, restored=True)

    table.engine.journal.look = read  # type: ignore[method-assign]
    found = await actual(table, play)
    assert (found.reason, found.messages) == ("hash-mismatch", ())


# -- the history in the request ------------------------------------------------------------------------


async def test_scripts_for_the_prompt_act_on_earlier_answers_in_the_request_alone(table: Table) -> None:
    script = {
        "id": "think",
        "scriptName": "think",
        "findRegex": "/<think>.*?<\\/think>/gs",
        "replaceString": "",
        "placement": [2],
        "promptOnly": True,
    }
    late = script | {"id": "late", "scriptName": "late", "findRegex": "/gate/g", "replaceString": "GATE"}
    late |= {"maxDepth": 1}
    row = await table.engine.library.import_regex(OWNER, dumps([script, late]), "s.json", "ana")
    play = await story(table, *SLOTS, regex_ids=(row.id,), greeting="<think>x</think>At the gate.")
    table.voice.will(says("<think>why</think>The gate opens."), says("<think>nothing but this</think>"))
    await table.tell(play, "One")
    raw = "<think>why</think>The gate opens."
    await table.tell(play, "Two")
    assert talk(table) == ["Ana: One", raw, "Ana: Two"]  # without such a strategy: as it was written
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "Three")
    # the older gate is too far back, and of the second answer nothing is left
    assert talk(table) == ["Ana: One", "The gate opens.", "Ana: Two", "Ana: Three"]
    assert (await table.history(play))[1] == raw
    preview = await table.engine.preview(play, utterance("Four"))
    await table.tell(play, "Four")
    assert shown(preview) == sent(table)
    # the greeting too, while the model is shown it
    await table.swipe(play, (await table.nodes(play))[0].id)
    assert talk(table) == ["At the GATE.", "Ana: One"]


async def test_a_history_policy_cuts_the_copy_and_says_what_it_did(table: Table) -> None:
    cut = {
        "id": "status",
        "sourceKind": "model",
        "start": "<status>",
        "end": "</status>",
        "mode": "lines",
        "enabled": True,
    }
    sources = [{"kind": "user", "include": False}, {"kind": "model", "include": True}]
    play = await story(table, *SLOTS)

    def policed(wire: dict[str, Any]) -> None:
        wire["historyPolicy"] = policy(fragments=[cut], sources=sources)

    await use(table, play, policed)
    table.voice.will(says("She nods.\n<status>\n🎲 HP 3\n</status>\nThe door is open."))
    await table.tell(play, "One", "Two")
    assert talk(table) == ["She nods.\nThe door is open.", "Ana: Two"]
    assert (await table.history(play))[:2] == [
        "Ana: One",
        "She nods.\n<status>\n🎲 HP 3\n</status>\nThe door is open.",
    ]
    record = (await assemblies(table, play))[-1]
    metadata = record.data["metadata"]
    audit = metadata["historyPolicy"]
    by_action = {decision["action"]: decision for decision in audit["decisions"]}
    assert set(by_action) == {"exclude", "edit"}
    assert by_action["exclude"]["reasons"] == ("SOURCE_EXCLUDED",)
    (block,) = by_action["edit"]["blocks"]
    assert block["ranges"] == ({"start": 10, "end": 37, "ruleIds": ("status",)},)
    assert by_action["edit"]["hash"] != by_action["edit"]["resultHash"]
    history = next(node for node in metadata["nodes"] if node["module"] == "history")
    assert [history["count"], len(history["requestMessageIds"])] == [1, 1]
    assert history["requestMessageIds"][0] == record.data["messages"][1]["id"]
    preview = await table.engine.preview(play, utterance("Three"))
    await table.tell(play, "Three")
    assert shown(preview) == sent(table)


async def test_a_policy_that_leaves_nothing_refuses_and_the_words_stay(table: Table) -> None:
    play = await story(table, *SLOTS)

    def policed(wire: dict[str, Any]) -> None:
        wire["historyPolicy"] = policy(
            sources=[{"kind": "user", "include": False}, {"kind": "model", "include": False}]
        )
        for rule in wire["rules"]:
            rule["enabled"] = rule["kind"] == "history"

    await table.tell(play, "One")
    await use(table, play, policed)
    await table.tell(play, "Two")
    assert table.ended[-1].reason["error"]["code"] == "HISTORY_POLICY_EMPTY"
    assert (await table.history(play))[-1] == "Ana: Two"


# -- tools -------------------------------------------------------------------------------------------


async def test_nothing_stands_inside_a_tool_transaction(table: Table) -> None:
    play = await story(
        table,
        *SLOTS,
        DEEP,
        {**DEEP, "identifier": "deeper", "content": "DEEPER", "injection_depth": 2},
        tools=("dice",),
    )
    await table.plays.use_strategy(play, "builtin-st")
    table.voice.will(
        asks(("c1", "dice", '{"expression":"d20"}'), ("c2", "dice", '{"expression":"d6"}')), says("Done.")
    )
    await table.tell(play, "I sneak")
    first, second = [[m["role"] for m in request.messages] for request in table.voice.requests]
    assert first == ["system", "user", "user", "user"]
    assert second == ["system", "user", "assistant", "tool", "tool", "user", "user"]
    assert [text for _, text in sent(table)][-2:] == ["DEEP", "DEEPER"]
    assert len(await assemblies(table, play)) == 2


# -- always ------------------------------------------------------------------------------------------

TEXTS = ("OWN {{char}}", "HEARD {{lastUserMessage}}", "{{incvar::n}} times", "{{random::a::b::c}}", "")


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A strategy of either back end; not all of them can be carried out."""
    advanced = draw(st.booleans())
    base = (
        "builtin-st" if advanced else draw(st.sampled_from(["builtin-native-slots", "builtin-native-roles"]))
    )
    wire = json.loads(json.dumps(built_in_strategies()[base].to_wire())) | {"name": "Drawn"}
    wire["rules"] = draw(st.permutations(wire["rules"])) if draw(st.booleans()) else wire["rules"]
    for rule in wire["rules"]:
        keeps = rule["kind"] in ("history", "input") and (not advanced or draw(st.booleans()))
        rule["enabled"] = keeps or draw(st.integers(0, 4)) > 0
    for number in range(draw(st.integers(0, 3))):
        own = {
            "id": f"own{number}",
            "kind": "custom",
            "text": draw(st.sampled_from(TEXTS)),
            "role": draw(
                st.sampled_from(["user", "system", "assistant"] if advanced else ["user", "system"])
            ),
        }
        if advanced:
            own["lifetime"] = draw(st.sampled_from(["request", "snapshot"]))
            own["depth"] = draw(st.none() | st.integers(0, 4))
        wire["rules"].insert(draw(st.integers(0, len(wire["rules"]))), own)
    if advanced and draw(st.booleans()):
        wire["historyPolicy"] = policy()
    return wire


turns = st.lists(
    st.tuples(st.none() | documents(), st.sampled_from(["say", "roll", "fail"])), min_size=1, max_size=4
)


def check_native(table: Table, history: list[str], kinds: set[str]) -> None:
    """Of the conversation everything that the strategy takes is there once, in order, with whole tools."""
    messages = table.voice.requests[-1].messages
    ids = [message["id"] for message in messages if message["id"] in history]
    assert len(ids) == len(set(ids))
    if {"history", "input"} <= kinds:
        assert sorted(ids, key=history.index) == sorted(history, key=history.index)
    places = [history.index(message_id) for message_id in ids]
    assert sum(late < early for early, late in pairwise(places)) <= 1  # the two blocks
    opened: set[str] = set()
    for message in messages:
        if opened:
            assert message["role"] == "tool"
            opened.discard(message["toolCallId"])
        else:
            assert message["role"] != "tool"
        if message["role"] == "assistant":
            opened |= {block["id"] for block in message["content"] if block["type"] == "tool-call"}
    assert not opened


async def play_out(folder: Path, capable: bool, plan: list[tuple[dict[str, Any] | None, str]]) -> None:
    table = Table(folder)
    table.voice.system_prompt_update = "in-history" if capable else "none"
    await table.open(advanced_assembly=True)
    try:
        play = await story(
            table, *SLOTS, DEEP, tools=("dice",), greeting="Come in.", book_ids=(await book(table),)
        )
        for number, (wire, deed) in enumerate(plan):
            if wire is not None:
                try:
                    strategy = await table.engine.strategies.store.create(OWNER, read_strategy(wire), "ana")
                    await table.plays.use_strategy(play, strategy.id)
                except AssemblyError as refused:
                    assert refused.error_code == "ASSEMBLY_NATIVE_UNSUPPORTED"
            await one_turn(table, play, f"rain {number}", deed, capable)
    finally:
        await table.close()


async def one_turn(table: Table, play: str, words: str, deed: str, capable: bool) -> None:
    applied = await table.plays.strategy(play)
    before = len(table.voice.requests)
    refused: str | None = None
    preview: Preview | None = None
    try:
        preview = await table.engine.preview(play, utterance(words))
    except AssemblyError as error:
        refused = error.error_code
    # what waits from a turn that was refused before anything of it was admitted is not part of a preview
    clean = not await left_over(table, play)
    if deed == "roll":
        table.voice.will(asks(("c", "dice", '{"expression":"d20"}')), says("Rolled."))
    elif deed == "fail":
        table.voice.will(fails("SERVER"), says("At last."))
    await table.tell(play, words)
    table.voice.plans.clear()
    if len(table.voice.requests) == before:
        code = table.ended[-1].reason["error"]["code"]
        unverified = preview is not None and any(
            note["code"] == "SYSTEM_UPDATE_CAPABILITY_UNVERIFIED" for note in preview.diagnostics
        )
        nothing = preview is not None and not preview.messages
        assert (
            code == refused
            or (code == "ASSEMBLY_SYSTEM_UPDATES_UNSUPPORTED" and unverified and not capable)
            or (code == "ASSEMBLY_EMPTY" and nothing)
            or not clean
        )
        return
    if clean:
        assert preview is not None and shown(preview) == sent(table, before)
    found = await table.engine.actual_request(play)
    assert isinstance(found, ActualRequest) and [(m.role, m.text) for m in found.messages] == sent(table)
    if table.ended[-1].reason["kind"] != "completed":
        return  # its second step was refused: the first one's request is not the newest history
    agent = await table.engine.agents.open((await table.head(play)).session_id)
    said = [m for m in agent.session.derive() if m["role"] != "system"][:-1]
    if (
        applied.strategy.history_policy is not None
    ):  # of what stands beside people's words the newest facts stay
        facts = [m for m in said if m["source"].get("kind") == "runtime-context"][-1:]
        beside = (ASSEMBLER_KIND, "runtime-context")
        said = [m for m in said if m in facts or m["source"].get("kind") not in beside]
    history = [m["id"] for m in said]
    if not applied.strategy.standard:
        kinds = {rule.kind for rule in applied.strategy.rules if rule.enabled}
        check_native(table, history, kinds)
        assert not any(m["source"].get("form") == "projection" for m in agent.session.derive())


async def left_over(table: Table, play: str) -> bool:
    """Whether words of a turn that failed enter with the next one."""
    return bool(table.ended) and table.ended[-1].reason["kind"] == "error"


@given(st.booleans(), turns)
@settings(max_examples=25)
def test_whatever_is_applied_a_preview_is_what_is_sent_and_what_is_sent_is_on_record(
    capable: bool, plan: list[tuple[dict[str, Any] | None, str]]
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        capture_logs(),
    ):  # refusals are many, and each has a traceback
        asyncio.run(play_out(Path(folder), capable, plan))


async def test_a_preview_knows_that_a_model_keeps_what_instructed_it_before(table: Table) -> None:
    # given a model that takes later instructions, and a story without a strategy whose lore comes and goes
    table.voice.system_prompt_update = "in-history"
    play = await story(table, *SLOTS, book_ids=(await book(table),))
    await table.plays.use_strategy(play, None)
    for words in ("One", "The rain", "rain again", "Dry"):
        preview = await table.engine.preview(play, utterance(words))
        await table.tell(play, words)
        assert shown(preview) == sent(table)
    assert [role for role, _ in sent(table)].count("system") == 3
    # and it names what they are made of, as the request does
    told = [[block.module for block in m.blocks] for m in preview.messages if m.role == "system"]
    bare = ["cast", "preset", "character"]
    assert told == [bare, [*bare, "worldbook"], bare]


@pytest.mark.parametrize("after", ["builtin-native-roles", None])
async def test_what_an_advanced_strategy_leaves_behind_is_followed_by_no_second_instructions(
    table: Table, after: str | None
) -> None:
    # given a model that takes later instructions, and a story under an advanced strategy
    table.voice.system_prompt_update = "in-history"
    play = await story(table, *SLOTS)
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "One")
    # when the story goes on under another, or none
    await table.plays.use_strategy(play, after)
    preview = await table.engine.preview(play, utterance("Two"))
    await table.tell(play, "Two")
    # then all that instructs the model stands before the conversation, as the preview has it
    assert shown(preview) == sent(table)
    assert [role for role, _ in sent(table)] == ["system", "user", "assistant", "user"]
    assert sent(table)[0][1].endswith("HEAD Ana\n\nA SMITH")
    found = await table.engine.actual_request(play)
    assert found is not None
    assert "source-unrecorded" not in {block.module for message in found.messages for block in message.blocks}
    # and once it does, it stays: the next turn is of the same series
    await table.tell(play, "Three")
    headers = [e.data["reason"] for e in await log_of(table, play) if e.type == "request/header"]
    assert headers == ["initial", "series"]


@pytest.mark.parametrize("after", ["builtin-native-slots", None])
async def test_what_a_refused_strategy_left_behind_is_followed_by_no_second_instructions_either(
    table: Table, after: str | None
) -> None:
    # given a story that goes on after an advanced strategy could send nothing
    table.voice.system_prompt_update = "in-history"
    play = await story(table, *SLOTS)
    await table.plays.use_strategy(play, after)
    await table.tell(play, "One")

    def nothing(wire: dict[str, Any]) -> None:
        wire["rules"] = [rule | {"enabled": False} for rule in wire["rules"]]

    await use(table, play, nothing)
    await table.tell(play, "Two")
    assert len(table.voice.requests) == 1
    await table.plays.use_strategy(play, after)
    preview = await table.engine.preview(play, utterance("Three"))
    await table.tell(play, "Three")
    # then its bare instructions are not in front of the conversation, with all of them behind it
    assert shown(preview) == sent(table)
    assert [role for role, _ in sent(table)].count("system") == 1
    assert sent(table)[0][1].endswith("HEAD Ana\n\nA SMITH")
    found = await table.engine.actual_request(play)
    assert found is not None
    assert "source-unrecorded" not in {block.module for message in found.messages for block in message.blocks}


@pytest.mark.parametrize("how", ["tools", "summary", "summary and restart"])
@pytest.mark.parametrize("strategy", ["builtin-native-slots", "builtin-st", None])
async def test_a_preview_knows_when_a_request_begins_anew(
    table: Table, strategy: str | None, how: str
) -> None:
    # given a model that takes later instructions, and has been told some
    table.voice.system_prompt_update = "in-history"
    play = await story(table, *SLOTS, book_ids=(await book(table),))
    await table.plays.use_strategy(play, strategy)
    await table.tell(play, "One " * 50, "The rain", "Three")
    # when tools are switched on, or the story is summed up
    if how == "tools":
        await table.plays.select(play, lambda selection: replace(selection, tools=("dice",)))
    else:
        table.voice.will(says("They met."))
        await table.engine.sum_up(play)
    if how.endswith("restart"):
        await table.restart()
    preview = await table.engine.preview(play, utterance("The rain again"))
    await table.tell(play, "The rain again")
    assert shown(preview) == sent(table)


async def test_another_answer_is_told_what_the_first_one_was(table: Table) -> None:
    # given such a model, and lore that woke with the words that are answered again
    table.voice.system_prompt_update = "in-history"
    play = await story(table, *SLOTS, book_ids=(await book(table),))
    await table.plays.use_strategy(play, None)
    await table.tell(play, "One", "The rain")
    await table.swipe(play)
    assert sent(table, 1) == sent(table, 2)


async def test_the_program_s_own_instructions_change_behind_the_conversation_where_that_can_be(
    table: Table,
) -> None:
    # given such a model and an advanced strategy, while somebody else comes to the table
    table.voice.system_prompt_update = "in-history"
    play = await story(table, *SLOTS)
    await table.plays.use_strategy(play, "builtin-st")
    for number, who in enumerate(("Ana", "Ben", "Ana")):
        words = utterance(f"Words {number}", who=who)
        preview = await table.engine.preview(play, words)
        await table.plays.say(play, words)
        await table.settle(play)
        assert shown(preview) == sent(table)
    system, _, _, later, *_ = sent(table)
    assert system == ("system", "Character: Ada\nPlayers: Ana\n\nHEAD Ana\n\nA SMITH")
    assert later == ("system", "Character: Ada\nPlayers: Ana, Ben\n\nHEAD Ana\n\nA SMITH")
