"""Strategies in the agent loop, on a real engine: what the model reads, and when."""

from __future__ import annotations

import asyncio
import gc
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from engine.agent import Section
from engine.assembler import ASSEMBLER_KIND, Output, Strategy, TextBlock, built_in_strategies, read_strategy
from engine.assembler.definition import Definition
from engine.errors import AssemblyError
from engine.hooks import Next
from engine.resources import edit_preset
from engine.session import message_text
from engine.strategies import APPLIED
from tests.engine.play.conftest import table
from tests.engine.play.table import OWNER, Pause, Table, breaking, utterance

__all__ = ["table"]

SPINE = (
    {"identifier": "main", "content": "HEAD {{user}}"},
    {"identifier": "charDescription", "marker": True},
    {"identifier": "worldInfoBefore", "marker": True},
    {"identifier": "chatHistory", "marker": True},
    {"identifier": "tail", "name": "Tail", "content": "TAIL {{char}}", "role": "system"},
)


async def story(table: Table, *prompts: dict[str, Any], greeting: str = "", **selection: Any) -> str:
    """A story of a plain card with a preset of these prompts, or of the spine."""
    preset = {"prompts": [{"enabled": True, **prompt} for prompt in prompts or SPINE]}
    data = {"name": "Ada", "description": "A SMITH", "first_mes": greeting}
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    library = table.engine.library
    held = await library.import_preset(OWNER, json.dumps(preset).encode(), "p.json", "ana")
    ada = await library.import_card(OWNER, json.dumps(card).encode(), "ada.json", "ana")
    return await table.begin(card_id=ada.id, preset_id=held.id, **selection)


async def book(table: Table, **entry: Any) -> str:
    entry = {"uid": 0, "key": ["rain"], "content": "WET", **entry}
    body = json.dumps({"name": "b", "entries": {"0": entry}}).encode()
    return (await table.engine.library.import_book(OWNER, body, "b.json", "ana")).id


def sent(table: Table, index: int = -1) -> list[tuple[str, str]]:
    """A request as it went out."""
    return [(m["role"], message_text(m)) for m in table.voice.requests[index].messages]


async def keep(table: Table, play: str, change: Callable[[dict[str, Any]], None]) -> Strategy:
    """Change a copy of the built-in strategy, keep it, and let the story use it."""
    wire = built_in_strategies()["builtin-native-slots"].to_wire() | {"name": "Mine"}
    wire = json.loads(json.dumps(wire))
    change(wire)
    kept = await table.engine.strategies.store.create(OWNER, read_strategy(wire), "ana")
    await table.plays.use_strategy(play, kept.id)
    return kept.strategy


async def test_a_new_story_is_told_by_the_slots_of_its_preset(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")
    applied = await table.plays.strategy(play)
    assert applied.id == "builtin-native-slots"
    (_, system), *rest = sent(table)
    assert system.split("\n\n")[1:] == ["HEAD Ana", "A SMITH"]
    assert system.startswith("Character: Ada\nPlayers: Ana")
    assert rest == [("user", "Ana: One"), ("user", "TAIL Ada")]
    # what was said beside the input stays in the history, and the next step says it again
    await table.tell(play, "Two")
    assert sent(table)[1:] == [
        ("user", "Ana: One"),
        ("user", "TAIL Ada"),
        ("assistant", "Answer 1."),
        ("user", "Ana: Two"),
        ("user", "TAIL Ada"),
    ]
    head = (await table.head(play)).session_id
    extra = [e.data for e in await table.log(head) if e.type == "user/message"]
    extra = [m for m in extra if m["source"]["kind"] == ASSEMBLER_KIND]
    assert len({m["id"] for m in extra}) == 2
    assert dict(extra[0]["source"]) == {
        "kind": ASSEMBLER_KIND,
        "form": "instructions",
        "delivery": "pre-step",
        "ruleId": "preset",
        "blockId": "preset:preset:tail",
    }


async def test_the_parts_are_named_and_the_last_assembly_is_there_for_panels(table: Table) -> None:
    play = await story(table, book_ids=(await book(table),))
    seen: list[Any] = []

    async def look(payload: Any, proceed: Next) -> Any:
        accepted = await proceed()
        seen.append(accepted)
        return accepted

    table.engine.hooks.on("system-prompt/assemble", look, owner=table._owner, prepend=True)
    await table.tell(play, "The rain falls")
    names = [part.name for part in seen[-1].sections]
    assert names == [
        "tavern:part:0000:cast:cast",
        "tavern:part:0000:preset:main",
        "tavern:part:0001:preset:description",
        "tavern:part:0002:worldbook:" + names[-1].split(":", 4)[4],
    ]
    head = (await table.head(play)).session_id
    last = table.engine.strategies.last(head)
    assert last is not None and last.strategy.id == "builtin-native-slots"
    assert "NATIVE_ROLE_ADJUSTED" in {note["code"] for note in last.diagnostics}
    # the records of the step and its panels are of the same compilation
    made = table.engine.profiles.last(head)
    assert made is not None
    assert made.system_text.split("\n\n") == ["HEAD Ana", "A SMITH", "WET", "TAIL Ada"]
    assert [active.text for active in made.profile.lore] == ["WET"]


async def test_lore_is_said_as_it_woke_and_never_read_again(table: Table) -> None:
    play = await story(table, book_ids=(await book(table, content="{{char}} heard {{lastUserMessage}}"),))
    await table.tell(play, "rain {{setvar::a::b}}")
    assert "Ada heard rain {{setvar::a::b}}" in sent(table)[0][1]


async def test_off_is_the_profile_as_it_renders_itself(table: Table) -> None:
    play = await story(table)
    assert await table.plays.use_strategy(play, None) is None
    await table.tell(play, "One")
    assert await table.plays.strategy(play) is None
    assert sent(table)[1:] == [("user", "Ana: One")]
    assert sent(table)[0][1].endswith("HEAD Ana\n\nA SMITH\n\nTAIL Ada")
    assert table.engine.strategies.last((await table.head(play)).session_id) is None
    # an explicit none goes on through every continuation, and a restart
    await table.swipe(play)
    assert await table.plays.strategy(play) is None
    await table.restart()
    assert await table.plays.strategy(play) is None


async def test_continuations_use_what_the_story_did_and_nothing_links_them(table: Table) -> None:
    play = await story(table)
    await table.plays.use_strategy(play, "builtin-native-roles")
    await table.tell(play, "One", "Two")
    first = (await table.head(play)).session_id
    await table.plays.rewind(play, (await table.nodes(play))[0].id, await table.head(play))
    assert (await table.plays.strategy(play)).id == "builtin-native-roles"
    await table.plays.use_strategy(play, None)
    assert (await table.engine.strategies.current(first)).id == "builtin-native-roles"
    await table.engine.agents.fork(first, None, "child")
    assert (await table.engine.strategies.current("child")).id == "builtin-native-roles"


async def test_while_an_answer_is_written_the_strategy_stays(table: Table) -> None:  # case 65
    play = await story(table)
    pause = Pause()
    table.voice.will(breaking(pause, "An answer."))
    await table.say(play, "One")
    await pause.reached.wait()
    with pytest.raises(AssemblyError) as refused:
        await table.plays.use_strategy(play, "builtin-native-roles")
    assert (refused.value.error_code, refused.value.status) == ("STRATEGY_RUNNING", 409)
    assert (await table.plays.strategy(play)).id == "builtin-native-slots"
    pause.opened.set()
    await table.settle(play)
    await table.plays.use_strategy(play, "builtin-native-roles")


async def test_what_cannot_be_carried_out_is_refused_when_it_is_applied(table: Table) -> None:
    play = await story(table)
    with pytest.raises(AssemblyError) as refused:
        await table.plays.use_strategy(play, "builtin-st")
    assert refused.value.error_code == "REQUEST_ASSEMBLY_CORE_REQUIRED"

    def without_history(wire: dict[str, Any]) -> None:
        next(rule for rule in wire["rules"] if rule["kind"] == "history")["enabled"] = False

    with pytest.raises(AssemblyError) as unsupported:
        await keep(table, play, without_history)
    assert unsupported.value.error_code == "ASSEMBLY_NATIVE_UNSUPPORTED"
    assert (await table.plays.strategy(play)).id == "builtin-native-slots"


async def test_a_step_that_cannot_be_placed_ends_its_turn_with_the_code(table: Table) -> None:
    play = await story(table, {"identifier": "main", "content": "A", "role": "assistant"})
    await table.tell(play, "One")
    assert table.voice.requests == []
    assert table.ended[-1].reason["error"]["code"] == "ASSEMBLY_NATIVE_UNSUPPORTED"


async def test_lore_can_be_moved_behind_the_history(table: Table) -> None:
    play = await story(table, *SPINE[:2], *SPINE[3:], book_ids=(await book(table),))

    def behind(wire: dict[str, Any]) -> None:
        wire["layout"]["positions"] = [
            {
                "sourceId": "worldbook",
                "positionId": "before",
                "enabled": True,
                "placement": "list",
                "anchor": "end",
            }
        ]

    await keep(table, play, behind)
    await table.tell(play, "The rain")
    assert sent(table)[1:] == [("user", "Ana: The rain"), ("user", "TAIL Ada"), ("user", "WET")]


async def test_a_context_is_told_once_and_a_pre_step_text_each_time(table: Table) -> None:
    play = await story(table)

    def texts(wire: dict[str, Any]) -> None:
        wire["rules"] += [
            {"id": "fact", "kind": "custom", "role": "user", "text": "FACT", "inputMode": "text"},
            {
                "id": "remind",
                "kind": "custom",
                "role": "user",
                "text": "REMIND",
                "inputMode": "text",
                "delivery": "pre-step",
            },
        ]

    await keep(table, play, texts)
    await table.tell(play, "One", "Two")
    said = [text for _, text in sent(table)[1:]]
    assert sum("FACT" in text for text in said) == 1
    assert said.count("REMIND") == 2
    # facts come before what is said with every step
    assert "FACT" in said[1] and said[2:4] == ["TAIL Ada", "REMIND"]


async def test_the_greeting_is_told_until_the_model_has_answered(table: Table) -> None:
    play = await story(table, greeting="Come in, {{user}}.")
    await table.tell(play, "One")
    system = sent(table)[0][1]
    assert system.endswith("Come in, Ana.") and system.index("A SMITH") < system.index("Come in")
    assert all(role != "assistant" for role, _ in sent(table))
    await table.tell(play, "Two")
    assert "Come in" not in sent(table)[0][1]
    await table.swipe(play, (await table.nodes(play))[0].id)
    assert "Come in" in sent(table)[0][1]


async def test_a_preset_that_wants_to_be_alone_leaves_nothing_of_the_program(table: Table) -> None:
    play = await story(table)
    prompt = table.engine.agents.services.prompt
    prompt.section(Section("identity", -1000, "A PROGRAM"), owner=table._owner)
    await table.tell(play, "One")
    assert "A PROGRAM" in sent(table)[0][1]
    preset = (await table.plays.selection(play)).preset_id
    row = await table.engine.library.get(preset)
    await table.engine.library.edit(
        preset,
        lambda raw: edit_preset(raw, {"system_prompt_mode": "replace"}),
        expected_revision=row.revision,
    )
    await table.tell(play, "Two")
    assert "A PROGRAM" not in sent(table)[0][1]
    assert "HEAD Ana" in sent(table)[0][1]


async def test_variables_are_remembered_and_each_text_counts_once(table: Table) -> None:
    play = await story(
        table,
        {"identifier": "main", "content": "DAY {{incvar::day}} {{getvar::wet}}"},
        {"identifier": "charDescription", "marker": True},
        {"identifier": "chatHistory", "marker": True},
        {"identifier": "tail", "content": "IT IS {{getvar::day}}"},
        book_ids=(await book(table, content="{{setvar::wet::soaked}}W", constant=True),),
    )
    await table.tell(play, "One", "Two")
    assert "DAY 2 soaked" in sent(table)[0][1]
    assert sent(table)[-1] == ("user", "IT IS 2")
    await table.swipe(play)
    assert "DAY 2 soaked" in sent(table)[0][1]


async def test_call_parameters_are_those_of_the_compilation_that_was_placed(table: Table) -> None:
    play = await story(table)
    preset = {"temperature": 0.25, "prompts": [{"identifier": "main", "content": "COLD", "enabled": True}]}
    cold = await table.engine.library.import_preset(OWNER, json.dumps(preset).encode(), "c.json", "ana")
    await table.plays.select(play, lambda old: replace(old, preset_id=cold.id))
    await table.tell(play, "One")
    assert table.voice.requests[-1].config.temperature == 0.25
    assert "COLD" in sent(table)[0][1]


async def test_a_source_that_goes_while_it_is_asked_is_in_this_request_and_not_in_the_next(
    table: Table,
) -> None:  # case 70
    play = await story(table)
    pause = Pause()

    async def resolve(context: Any, rule: Any) -> Output:
        pause.reached.set()
        await pause.opened.wait()
        return Output((TextBlock("memory", "RECALLED"),))

    dispose = table.engine.strategies.sources.register(
        Definition(id="example.memory/recalled", plugin_id="example", name="Memory", resolve=resolve)
    )

    def recalled(wire: dict[str, Any]) -> None:
        wire["rules"].insert(1, {"id": "memory", "kind": "example.memory/recalled"})

    await keep(table, play, recalled)
    await table.say(play, "One")
    await pause.reached.wait()
    dispose()
    pause.opened.set()
    await table.settle(play)
    assert "RECALLED" in sent(table)[0][1]
    await table.tell(play, "Two")
    assert "RECALLED" not in sent(table)[0][1]
    last = table.engine.strategies.last((await table.head(play)).session_id)
    assert "ASSEMBLY_SOURCE_UNAVAILABLE" in {note["code"] for note in last.diagnostics}


async def test_nothing_is_contributed_to_a_step_that_has_nothing_to_say(table: Table) -> None:  # case 71
    play = await story(table)
    await table.tell(play, "One")
    agent = await table.engine.agents.open((await table.head(play)).session_id)
    before = len(agent.session.derive())
    agent.wake()
    await agent.when_idle()
    assert len(table.voice.requests) == 1
    assert len(agent.session.derive()) == before


async def test_a_strategy_that_was_applied_stays_as_it_was_when_the_library_changes(table: Table) -> None:
    play = await story(table)

    def named(wire: dict[str, Any]) -> None:
        wire["rules"].append({"id": "own", "kind": "custom", "role": "system", "text": "OWN WORDS"})

    strategy = await keep(table, play, named)
    applied = await table.plays.strategy(play)
    changed = replace(strategy, rules=strategy.rules[:-1])
    await table.engine.strategies.store.change(OWNER, applied.id, changed, expected=strategy.revision)
    await table.restart()
    await table.tell(play, "One")
    assert any("OWN WORDS" in text for _, text in sent(table))


# -- previews --------------------------------------------------------------------------------------


def shown(preview: Any) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in preview.messages]


async def test_a_preview_is_what_the_send_is_and_leaves_nothing_behind(table: Table) -> None:
    play = await story(table, book_ids=(await book(table),), greeting="Come in.")

    def texts(wire: dict[str, Any]) -> None:
        wire["rules"] += [
            {"id": "fact", "kind": "custom", "role": "user", "text": "FACT {{roll::1d20}}"},
            {
                "id": "r",
                "kind": "custom",
                "role": "user",
                "text": "REMIND {{lastUserMessage}}",
                "delivery": "pre-step",
            },
        ]

    await keep(table, play, texts)
    for words in ("The rain", "It stops", "rain again"):
        session_id = (await table.head(play)).session_id
        before = len(await table.log(session_id)), len(table.voice.requests)
        preview = await table.engine.preview(play, utterance(words))
        assert (len(await table.log(session_id)), len(table.voice.requests)) == before
        await table.tell(play, words)
        assert shown(preview) == sent(table)
        config = table.voice.requests[-1].config
        assert preview.parameters == config
        assert preview.tokens == sum(message.tokens for message in preview.messages)


async def test_a_preview_starts_no_agent_and_tries_what_is_not_applied(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")
    await table.plays.rest(-1)
    session_id = (await table.head(play)).session_id
    assert table.engine.agents.get(session_id) is None
    roles = built_in_strategies()["builtin-native-roles"]
    preview = await table.engine.preview(play, utterance("Two"), strategy=roles)
    assert preview.strategy is not None and preview.strategy.id == ""
    assert shown(preview)[0][1].endswith("TAIL Ada")
    off = await table.engine.preview(play, utterance("Two"), strategy=None)
    assert off.strategy is None and off.messages[-1].source == "input"
    assert (await table.engine.preview(play, strategy=APPLIED)).strategy.id == "builtin-native-slots"
    assert table.engine.agents.get(session_id) is None
    assert table.engine.strategies.last(session_id).strategy.id == "builtin-native-slots"


async def test_a_preview_says_what_each_part_is(table: Table) -> None:
    play = await story(table, book_ids=(await book(table, comment="The weather"),))
    preview = await table.engine.preview(play, utterance("The rain"))
    system, said, tail = preview.messages
    assert [(block.module, block.label) for block in system.blocks] == [
        ("cast", "cast"),
        ("preset", "main"),
        ("character", "description"),
        ("worldbook", "The weather"),
    ]
    assert "\n\n".join(block.text for block in system.blocks) == system.text
    assert (said.source, said.blocks[0].label) == ("input", "Ana")
    assert (tail.source, tail.blocks[0].label, tail.blocks[0].changed_role) == ("pre-step", "Tail", "system")
    assert 0 < preview.added_bytes < preview.max_bytes == 512 * 1024
    assert preview.text.startswith("[system]\nCharacter: Ada")


async def test_a_preview_refuses_as_the_step_would(table: Table) -> None:
    play = await story(table, {"identifier": "main", "content": "A", "role": "assistant"})
    with pytest.raises(AssemblyError) as refused:
        await table.engine.preview(play, utterance("One"))
    assert refused.value.error_code == "ASSEMBLY_NATIVE_UNSUPPORTED"


@pytest.mark.parametrize("seed", range(4))
async def test_a_preview_of_whatever_is_applied_is_what_the_send_is(table: Table, seed: int) -> None:
    rng = random.Random(seed)
    deep = {"identifier": "deep", "content": "DEEP", "injection_position": 1, "injection_depth": 2}
    play = await story(
        table, *SPINE, deep, greeting="Come in.", book_ids=(await book(table, position=rng.randrange(2)),)
    )
    told = 0
    for turn in range(4):

        def mixed(wire: dict[str, Any], turn: int = turn) -> None:
            if rng.random() < 0.4:
                wire["placement"] = "native-roles"
                del wire["layout"]
            rng.shuffle(wire["rules"])
            for rule in wire["rules"]:
                rule["enabled"] = rule["kind"] in ("history", "input") or rng.random() < 0.8
            wire["rules"].append(
                {
                    "id": "own",
                    "kind": "custom",
                    "text": f"OWN {turn} {{{{random::a::b::c}}}}",
                    "role": rng.choice(["system", "user"]),
                    "delivery": rng.choice(["context", "pre-step"]),
                }
            )

        try:
            await keep(table, play, mixed)
            preview = await table.engine.preview(play, utterance(f"rain {turn}"))
        except AssemblyError as error:
            assert error.error_code == "ASSEMBLY_NATIVE_UNSUPPORTED"
            continue
        await table.tell(play, f"rain {turn}")
        assert shown(preview) == sent(table)
        found = await table.engine.actual_request(play)
        assert found is not None
        assert [(message.role, message.text) for message in found.messages] == sent(table)
        told += 1
    assert told


async def test_looks_at_one_story_at_the_same_moment_do_not_mix(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")
    built_in = built_in_strategies()
    wanted = [built_in["builtin-native-slots"], built_in["builtin-native-roles"], None] * 3
    alone = [shown(await table.engine.preview(play, utterance("Two"), strategy=one)) for one in wanted]
    looks = [table.engine.preview(play, utterance("Two"), strategy=one) for one in wanted]
    assert [shown(preview) for preview in await asyncio.gather(*looks)] == alone
    assert alone[0] != alone[1]


async def test_what_belongs_to_one_assembly_goes_with_it(table: Table) -> None:
    play = await story(table)
    for words in ("One", "Two", "Three"):
        await table.tell(play, words)
        await table.engine.preview(play, utterance("What if"))
    gc.collect()
    held = table.engine.strategies._choices, table.engine.previews._profiles._snapshots
    assert [len(kept) for kept in held] == [0, 0]
