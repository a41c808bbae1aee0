"""Strategies of the advanced back end in the loop: each request is its own, and nothing of it stays."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.agent import ASSEMBLY
from engine.assembler import ASSEMBLER_KIND, Strategy, built_in_strategies, read_strategy
from engine.codec import canonical
from engine.errors import AssemblyError
from engine.session import message_text
from tests.engine.play.table import OWNER, Pause, Table, breaking, fails, utterance
from tests.engine.strategies.test_steps import book, sent, story

SLOTS = (
    {"identifier": "main", "content": "HEAD {{user}}"},
    {"identifier": "charDescription", "marker": True},
    {"identifier": "worldInfoBefore", "marker": True},
    {"identifier": "chatHistory", "marker": True},
)
"""A preset that has a place for everything of the card, so that nothing comes out behind the conversation."""

DEEP = {
    "identifier": "deep",
    "name": "Deep",
    "content": "DEEP",
    "role": "user",
    "injection_position": 1,
    "injection_depth": 1,
}


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    table = Table(tmp_path)
    await table.open(advanced_assembly=True)
    yield table
    await table.close()


async def use(table: Table, play: str, change: Callable[[dict[str, Any]], None]) -> Strategy:
    """Change a copy of the built-in strategy of the advanced back end, keep it, and let the story use it."""
    wire = json.loads(json.dumps(built_in_strategies()["builtin-st"].to_wire())) | {"name": "Mine"}
    change(wire)
    kept = await table.engine.strategies.store.create(OWNER, read_strategy(wire), "ana")
    await table.plays.use_strategy(play, kept.id)
    return kept.strategy


async def log_of(table: Table, play: str) -> list[Any]:
    return list(await table.log((await table.head(play)).session_id))


async def assemblies(table: Table, play: str) -> list[Any]:
    return [event for event in await log_of(table, play) if event.type == ASSEMBLY]


async def test_a_text_at_a_depth_stands_in_the_request_and_not_in_the_history(table: Table) -> None:
    play = await story(table, *SLOTS, DEEP)
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "One", "Two")
    (_, system), *rest = sent(table)
    assert system.split("\n\n")[1:] == ["HEAD Ana", "A SMITH"]
    assert rest == [
        ("user", "Ana: One"),
        ("assistant", "Answer 1."),
        ("user", "DEEP"),
        ("user", "Ana: Two"),
    ]
    assert await table.history(play) == ["Ana: One", "Answer 1.", "Ana: Two", "Answer 2."]
    agent = await table.engine.agents.open((await table.head(play)).session_id)
    durable = [message_text(message) for message in agent.session.derive()]
    assert durable[0].startswith("Character: Ada\nPlayers: Ana") and "HEAD" not in durable[0]
    record = (await assemblies(table, play))[-1]
    assert record.ignorable and record.surface_op is None
    assert [message_text(m) for m in record.data["messages"]] == [text for _, text in sent(table)]
    assert record.data["metadata"]["owner"] == ASSEMBLER_KIND


def heard(lifetime: str = "snapshot") -> Callable[[dict[str, Any]], None]:
    """A text of the strategy's own, behind the input, that changes with what was said last."""

    def change(wire: dict[str, Any]) -> None:
        wire["rules"].append(
            {
                "id": "heard",
                "kind": "custom",
                "role": "user",
                "lifetime": lifetime,
                "text": "HEARD {{lastUserMessage}}",
            }
        )

    return change


def talk(table: Table, index: int = -1) -> list[str]:
    """What a request said behind its system text."""
    return [text for role, text in sent(table, index) if role != "system"]


async def test_a_text_that_stays_stands_where_it_was_said_first(table: Table) -> None:
    play = await story(table, *SLOTS)
    await use(table, play, heard())
    await table.tell(play, "hotel", "dock")
    await table.plays.say(play, utterance("dock", "discord:1:dock again"))
    await table.settle(play)
    at_dock = [
        "Ana: hotel",
        "HEARD hotel",
        "Answer 1.",
        "Ana: dock",
        "HEARD dock",
        "Answer 2.",
        "Ana: dock",
    ]
    assert talk(table, 0) == at_dock[:2]
    assert talk(table, 1) == at_dock[:5]
    assert talk(table, 2) == at_dock
    # a new process finds it in the log, where the story was put away meanwhile
    await table.restart()
    await table.tell(play, "sea")
    assert talk(table) == [*at_dock, "Answer 3.", "Ana: sea", "HEARD sea"]


async def test_a_continuation_has_the_texts_that_stayed_up_to_its_cut(table: Table) -> None:
    play = await story(table, *SLOTS)
    await use(table, play, heard())
    await table.tell(play, "hotel", "dock")
    await table.swipe(play)
    assert talk(table) == ["Ana: hotel", "HEARD hotel", "Answer 1.", "Ana: dock", "HEARD dock"]
    await table.plays.rewind(play, (await table.nodes(play))[0].id, await table.head(play))
    await table.tell(play, "sea")
    assert talk(table) == ["Ana: hotel", "HEARD hotel", "Answer 1.", "Ana: sea", "HEARD sea"]
    await table.crash()
    await table.swipe(play)
    assert talk(table) == ["Ana: hotel", "HEARD hotel", "Answer 1.", "Ana: sea", "HEARD sea"]


async def test_a_text_of_the_request_is_made_anew_each_time(table: Table) -> None:
    play = await story(table, *SLOTS)
    await use(table, play, heard("request"))
    await table.tell(play, "hotel", "dock")
    assert talk(table) == ["Ana: hotel", "Answer 1.", "Ana: dock", "HEARD dock"]


async def test_instructions_behind_the_conversation_are_refused_where_the_model_takes_none(
    table: Table,
) -> None:
    play = await story(table, *SLOTS[:1], SLOTS[3])  # no place for the card: it comes out behind
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "One")
    assert table.voice.requests == []
    assert table.ended[-1].reason["error"]["code"] == "ASSEMBLY_SYSTEM_UPDATES_UNSUPPORTED"
    assert await assemblies(table, play) == []
    assert await table.history(play) == ["Ana: One"]
    # nothing is lost: another strategy, or another model, answers the same words
    await table.plays.use_strategy(play, "builtin-native-slots")
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert await table.path(play) == [(["One"], "Answer 1.")]


async def test_a_model_that_takes_later_instructions_gets_all_that_holds_there(table: Table) -> None:
    table.voice.system_prompt_update = "in-history"
    play = await story(table, *SLOTS[:1], SLOTS[3])
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "One")
    (_, first), said, (role, last) = sent(table)
    assert said == ("user", "Ana: One") and role == "system"
    assert last == f"{first}\n\nA SMITH"
    await table.tell(play, "Two")
    assert [role for role, _ in sent(table)] == ["system", "user", "assistant", "user", "system"]
    projection = (await assemblies(table, play))[-1].data["metadata"]["systemProjection"]
    assert (projection["capability"], projection["semantics"]) == ("in-history", "complete-snapshots")


async def test_a_strategy_that_leaves_nothing_sends_nothing_and_keeps_the_words(table: Table) -> None:
    play = await story(table, *SLOTS)

    def nothing(wire: dict[str, Any]) -> None:
        for rule in wire["rules"]:
            rule["enabled"] = False

    await use(table, play, nothing)
    await table.tell(play, "One")
    assert table.voice.requests == []
    assert table.ended[-1].reason["error"]["code"] == "ASSEMBLY_EMPTY"
    await table.plays.use_strategy(play, "builtin-native-slots")
    await table.tell(play, "Two")
    assert talk(table)[:2] == ["Ana: One", "Ana: Two"]


async def test_only_own_words_are_sent_where_everything_else_is_switched_off(table: Table) -> None:
    play = await story(table, *SLOTS)

    def alone(wire: dict[str, Any]) -> None:
        for rule in wire["rules"]:
            rule["enabled"] = False
        wire["rules"].append({"id": "own", "kind": "custom", "text": "ONLY {{char}}"})

    await use(table, play, alone)
    await table.tell(play, "One")
    assert sent(table) == [("user", "ONLY Ada")]
    assert await table.history(play) == ["Ana: One", "Answer 1."]


async def test_a_retry_puts_the_request_together_again_and_counts_nothing_twice(table: Table) -> None:
    play = await story(table, {"identifier": "main", "content": "DAY {{incvar::day}}"}, *SLOTS[1:])
    await table.plays.use_strategy(play, "builtin-st")
    table.voice.will(fails("SERVER", "half"), fails("RATE_LIMIT"))
    await table.tell(play, "One")
    assert len(table.voice.requests) == 3
    made = await assemblies(table, play)
    assert len(made) == 3
    assert all("DAY 1" in message_text(event.data["messages"][0]) for event in made)
    types = [event.type for event in await log_of(table, play)]
    assert types.count("user/message") == 1
    await table.tell(play, "Two")
    assert "DAY 2" in sent(table)[0][1]
    await table.swipe(play)
    assert "DAY 2" in sent(table)[0][1]


async def test_after_a_crash_the_request_is_on_disk_and_the_words_are_answered_once(table: Table) -> None:
    play = await story(table, *SLOTS)
    await use(table, play, heard())
    await table.tell(play, "hotel")
    pause = Pause()
    table.voice.will(breaking(pause, "An answer."))
    await table.say(play, "dock")
    await pause.reached.wait()
    await table.crash()
    record = (await assemblies(table, play))[-1]
    assert message_text(record.data["messages"][-1]) == "HEARD dock"
    await table.engine.reconciler.recover(60_000)
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert talk(table) == ["Ana: hotel", "HEARD hotel", "Answer 1.", "Ana: dock", "HEARD dock"]
    assert [said for said, _ in await table.path(play)] == [["hotel"], ["dock"]]


async def test_where_it_is_not_switched_on_it_is_refused_at_each_step(table: Table) -> None:
    play = await story(table, *SLOTS)
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "One")
    await table.engine.aclose()
    await table.open(advanced_assembly=False)
    await table.tell(play, "Two")
    assert len(table.voice.requests) == 1
    assert table.ended[-1].reason["error"]["code"] == "REQUEST_ASSEMBLY_CORE_REQUIRED"
    with pytest.raises(AssemblyError) as refused:
        await table.plays.use_strategy(play, "builtin-st")
    assert refused.value.error_code == "REQUEST_ASSEMBLY_CORE_REQUIRED"
    # what was played goes on under another strategy, with the words that waited
    await table.plays.use_strategy(play, None)
    await table.tell(play, "Three")
    assert table.voice.heard() == ["Ana: One", "Answer 1.", "Ana: Two", "Ana: Three"]


async def test_the_greeting_is_the_models_first_words_until_it_has_answered(table: Table) -> None:
    play = await story(table, *SLOTS, greeting="{{random::Come in, says {{char}}.::Sit down.}} {{ {")
    await table.plays.use_strategy(play, "builtin-st")
    (shown,), _ = await table.engine.greetings(play)
    await table.tell(play, "One")
    assert sent(table)[1:] == [("assistant", shown), ("user", "Ana: One")]
    await table.tell(play, "Two")
    assert talk(table) == ["Ana: One", "Answer 1.", "Ana: Two"]
    await table.swipe(play, (await table.nodes(play))[0].id)
    assert sent(table)[1:] == [("assistant", shown), ("user", "Ana: One")]


async def test_another_revision_begins_a_new_series(table: Table) -> None:
    play = await story(table, *SLOTS)
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "One", "Two")
    await use(table, play, heard("request"))
    await table.tell(play, "Three", "Four")
    headers = [e.data["reason"] for e in await log_of(table, play) if e.type == "request/header"]
    assert headers == ["initial", "series"]


async def test_lore_and_an_answering_role_keep_their_places(table: Table) -> None:
    play = await story(
        table,
        *SLOTS,
        {**DEEP, "role": "assistant", "injection_depth": 2},
        book_ids=(await book(table, comment="Wet", position=4, depth=0, role=1),),
    )
    await table.plays.use_strategy(play, "builtin-st")
    await table.tell(play, "One", "The rain")
    assert sent(table)[1:] == [
        ("user", "Ana: One"),
        ("assistant", "DEEP"),
        ("assistant", "Answer 1."),
        ("user", "Ana: The rain"),
        ("user", "WET"),
    ]
    made = table.engine.profiles.last((await table.head(play)).session_id)
    assert made is not None and [active.text for active in made.profile.lore] == ["WET"]


async def test_a_record_holds_the_conversation_once_and_nothing_else_holds_it_again(table: Table) -> None:
    word = "Xylophonwerkstatt"
    play = await story(table, *SLOTS)
    await use(table, play, heard("request"))
    await table.plays.say(play, utterance(f"Where is the {word}?", "discord:1:1"))
    await table.settle(play)
    await table.tell(play, "And now?", "And then?")
    events = await log_of(table, play)
    bodies = {event.seq: canonical(event.to_wire()).decode() for event in events}
    first, *later = [bodies[event.seq] for event in events if event.type == ASSEMBLY]
    # a message has its words twice, as it is read and as it was said; so has what the strategy makes of them,
    # as its message and as its part
    assert first.count(word) == 2 + 2
    assert [body.count(word) for body in later] == [2, 2]
    # elsewhere: where it waited, was said, and what its sources keep of it
    others = [body.count(word) for seq, body in bodies.items() if events[seq].type != ASSEMBLY]
    assert sum(others) == sum(
        bodies[event.seq].count(word)
        for event in events
        if event.type in ("agent/inbox/spliced", "user/message")
    )
