"""What was sent, out of the log alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import PlayError
from engine.session import Event, Sessions, text_block, thaw, user_message
from engine.strategies import REQUEST_RECORD, ActualRequest, description_hash, telling
from engine.strategies.privacy import private_places, private_words
from tests.engine.agent.toolbench import asks
from tests.engine.play.conftest import table
from tests.engine.play.table import Table, fails, says, utterance
from tests.engine.strategies.test_steps import SPINE, book, keep, sent, story

ROLL = asks(("c1", "dice", '{"expression":"d20"}'))

__all__ = ["table"]


async def actual(table: Table, play: str) -> ActualRequest:
    found = await table.engine.actual_request(play)
    assert found is not None
    return found


def blocks(found: ActualRequest) -> list[list[tuple[str, str]]]:
    return [[(block.module, block.label) for block in message.blocks] for message in found.messages]


async def test_a_story_that_has_sent_nothing_has_no_request(table: Table) -> None:
    assert await table.engine.actual_request(await story(table)) is None


async def test_the_request_is_what_was_sent_with_its_sources(table: Table) -> None:
    play = await story(table, book_ids=(await book(table, comment="The weather"),))

    def fact(wire: dict[str, Any]) -> None:
        wire["rules"].append(
            {"id": "fact", "kind": "custom", "role": "user", "text": "FACT 🎲 {{user}}", "name": "A fact"}
        )

    await keep(table, play, fact)
    await table.tell(play, "The rain")
    found = await actual(table, play)
    assert [(m.role, m.text) for m in found.messages] == sent(table)
    assert found.config["model"] == "m1" and found.strategy is not None
    assert found.strategy["name"] == "Mine"
    assert blocks(found) == [
        [
            ("cast", "cast"),
            ("preset", "main"),
            ("character", "description"),
            ("worldbook", "The weather"),
        ],
        [("native", "Ana")],
        [("native-context-framing", ""), ("custom", "A fact")],
        [("preset", "Tail")],
    ]
    assert [m.source for m in found.messages] == ["system", "input", "context", "pre-step"]
    assert found.tokens > 0 and found.text.startswith("[system]\n")


async def test_what_came_later_is_not_in_it_and_names_are_those_of_then(table: Table) -> None:  # case 67
    play = await story(table)
    await table.tell(play, "One")
    library = table.engine.library
    preset = (await table.plays.selection(play)).preset_id
    row = await library.get(preset)

    def renamed(raw: Any) -> Any:
        return raw | {"prompts": [prompt | {"name": "New", "content": "NEW"} for prompt in raw["prompts"]]}

    await library.edit(preset, renamed, expected_revision=row.revision)
    await table.restart()
    found = await actual(table, play)
    assert [m.text for m in found.messages][1:] == ["Ana: One", "TAIL Ada"]
    assert found.messages[-1].blocks[0].label == "Tail"
    # reading has not opened the story
    assert table.engine.agents.get((await table.head(play)).session_id) is None


async def test_without_a_strategy_the_parts_of_the_profile_are_named(table: Table) -> None:
    play = await story(table)
    await table.plays.use_strategy(play, None)
    await table.tell(play, "One")
    found = await actual(table, play)
    assert found.strategy is None
    assert blocks(found)[0][1:] == [("preset", "main"), ("character", "description"), ("preset", "Tail")]


async def test_instructions_behind_the_conversation_are_named_and_so_are_those_before_them(
    table: Table,
) -> None:
    # given a model that takes later instructions, no strategy, and lore that comes and goes
    table.voice.system_prompt_update = "in-history"
    play = await story(table, book_ids=(await book(table, comment="The weather"),))
    await table.plays.use_strategy(play, None)
    await table.tell(play, "Dry", "The rain")
    found = await actual(table, play)
    systems = [
        named
        for message, named in zip(found.messages, blocks(found), strict=True)
        if message.role == "system"
    ]
    parts = [("cast", "cast"), ("preset", "main"), ("character", "description"), ("preset", "Tail")]
    assert systems == [parts, [*parts[:3], ("worldbook", "before"), parts[3]]]


async def test_a_log_that_was_tampered_with_proves_nothing(table: Table) -> None:  # case 68
    play = await story(table)
    await table.tell(play, "One")
    session_id = (await table.head(play)).session_id
    await table.plays.rest(-1)
    stored = await table.engine.journal.read(session_id)
    events = [
        replace(event, data=event.data | {"content": ({"type": "text", "text": "Ana: Two"},)})
        if event.type == "user/message" and event.data["source"]["kind"] == "user"
        else event
        for event in stored.events
    ]

    async def read(_: str) -> Any:
        sessions: Sessions = table.engine.journal.sessions
        return sessions.detached(stored.header, events, inherited_event_count=stored.inherited, restored=True)

    table.engine.journal.look = read  # type: ignore[method-assign]
    found = await actual(table, play)
    assert (found.reason, found.messages) == ("hash-mismatch", ())


async def test_words_that_stand_where_the_record_does_not_say_are_nobodys(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")
    session_id = (await table.head(play)).session_id
    agent = await table.engine.agents.open(session_id)
    record = next(e for e in reversed(agent.session.events()) if e.type == REQUEST_RECORD)
    sources = list(record.data["sources"])
    # two claim the same words, and one has other words than it says
    doubled = sources[1] | {"id": "again"}
    wrong = sources[2] | {"hash": "0" * 64}
    data = dict(record.data) | {"sources": [sources[0], sources[1], doubled, wrong, *sources[3:]]}
    agent.session.append(REQUEST_RECORD, data, ignorable=True)
    found = await actual(table, play)
    assert [module for module, _ in blocks(found)[0]] == ["cast", "source-unrecorded"]


async def test_ranges_are_cut_exactly_behind_characters_of_two_units(table: Table) -> None:  # case 69
    play = await story(
        table,
        {"identifier": "main", "content": "🎲🎲 first {{user}}"},
        {"identifier": "second", "name": "Second", "content": "second 🎲"},
        *SPINE[3:],
    )
    await table.tell(play, "One")
    texts = [block.text for block in (await actual(table, play)).messages[0].blocks]
    assert texts[1:3] == ["🎲🎲 first Ana", "second 🎲"]


# --- what a given answer was written to


async def answered(table: Table, play: str, at: int, variant: int = -1) -> ActualRequest:
    """What one answer of one exchange was written to."""
    node = (await table.nodes(play))[at]
    found = await table.engine.actual_request(play, node.id, node.variants[variant].id)
    assert found is not None
    return found


def said(found: ActualRequest) -> list[str]:
    """The conversation in it, and what it was to answer."""
    return [message.text for message in found.messages if message.source in ("history", "input")]


async def test_an_older_answer_has_its_own_request_after_everything_that_came_later(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")
    await table.tell(play, "Two")
    await table.tell(play, "Three")
    await table.plays.use_strategy(play, None)
    first, second = await answered(table, play, 0), await answered(table, play, 1)
    assert [(m.role, m.text) for m in first.messages] == sent(table, 0)
    assert [(m.role, m.text) for m in second.messages] == sent(table, 1)
    assert (first.reason, second.reason) == (None, None)
    assert [m.text for m in second.messages if m.source == "input"] == ["Ana: Two"]
    assert first.strategy is not None and first.strategy["id"] == "builtin-native-slots"
    # and from the disk, without opening the story
    await table.restart()
    assert await answered(table, play, 0) == first
    assert table.engine.agents.get((await table.head(play)).session_id) is None


async def test_each_swipe_has_its_own_and_the_standing_one_is_meant_without_a_name(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")
    await table.tell(play, "Two")
    await table.plays.use_strategy(play, None)
    await table.swipe(play)
    old, new = await answered(table, play, 1, 0), await answered(table, play, 1, 1)
    assert [(m.role, m.text) for m in old.messages] == sent(table, 1)
    assert [(m.role, m.text) for m in new.messages] == sent(table, 2)
    assert old.strategy is not None and new.strategy is None
    node = (await table.nodes(play))[1]
    assert await table.engine.actual_request(play, node.id) == new
    # the exchange before stands in the part of the log that the swipe has from its parent
    assert said(await answered(table, play, 0)) == ["Ana: One"]
    # and what was set aside keeps its own too
    timeline = await table.plays.timeline(play)
    await table.plays.rewind(play, timeline.nodes[0].id, timeline.head)
    assert await table.engine.actual_request(play, node.id, node.variants[0].id) == old


async def test_a_turn_with_tools_has_a_request_for_each_step(table: Table) -> None:
    play = await story(table, tools=("dice",))
    table.voice.will(ROLL, ROLL, says("You slip past."))
    await table.tell(play, "I sneak")
    newest = await answered(table, play, 0)
    assert [(step.number, step.tools) for step in newest.steps] == [(1, ("dice",)), (2, ("dice",)), (3, ())]
    assert newest.step == 3
    for number in (1, 2, 3):
        found = await table.engine.requests.of_answer(*newest.place, number)
        assert [(m.role, m.text) for m in found.messages] == sent(table, number - 1)
        assert (found.step, found.steps) == (number, newest.steps)
    assert [message.role for message in newest.messages].count("tool") == 2
    # the calls are in no text of a message, and what each step put in is named by its own evidence
    assert [[(b.module, b.label, b.text) for b in m.blocks] for m in newest.messages[1:4]] == [
        [("native", "Ana", "Ana: I sneak")],
        [("preset", "Tail", "TAIL Ada")],
        [("tool-call", "dice", '{"expression":"d20"}')],
    ]
    assert [m.blocks[0].module for m in newest.messages if m.text == "TAIL Ada"] == ["preset"] * 3
    with pytest.raises(PlayError) as refused:
        await table.engine.requests.of_answer(*newest.place, 4)
    assert refused.value.error_code == "PLAY_STEP_UNKNOWN"
    # and the newest request of the story leads to the others of its turn as well
    last = await actual(table, play)
    assert (last.step, last.steps) == (3, newest.steps)
    assert await table.engine.requests.of_answer(*last.place, 1) == replace(
        await table.engine.requests.of_answer(*newest.place, 1), place=last.place
    )


async def test_a_preview_names_what_earlier_steps_said_as_the_request_will(table: Table) -> None:
    # given an answer for which dice were rolled, with a text of the strategy before each request
    play = await story(table, tools=("dice",))
    table.voice.will(ROLL, says("You slip past."))
    await table.tell(play, "I sneak")
    # when the next request is looked at, and sent
    preview = await table.engine.preview(play, utterance("I run"))
    await table.tell(play, "I run")
    # then the preview had all messages with their parts, the call of the tool too
    found = await actual(table, play)
    named = [[(b.module, b.label, b.text) for b in m.blocks] for m in preview.messages]
    assert named[1:4] == [
        [("native", "Ana", "Ana: I sneak")],
        [("preset", "Tail", "TAIL Ada")],
        [("tool-call", "dice", '{"expression":"d20"}')],
    ]
    assert named[5:7] == [[("preset", "Tail", "TAIL Ada")], [("native", "model", "You slip past.")]]
    assert named[:7] == [[(b.module, b.label, b.text) for b in m.blocks] for m in found.messages[:7]]
    assert [m.source for m in preview.messages] == [m.source for m in found.messages]


async def test_a_step_that_was_tried_again_was_answered_to_its_last_request(table: Table) -> None:
    play = await story(table)
    table.voice.will(fails("SERVER"), says("Here I am."))
    await table.tell(play, "One")
    found = await answered(table, play, 0)
    assert len(table.voice.requests) == 2
    assert [step.number for step in found.steps] == [1]
    assert found.seq == max(
        e.seq for e in await table.log((await table.head(play)).session_id) if e.type == REQUEST_RECORD
    )


async def test_words_that_got_no_answer_belong_to_the_request_that_did(table: Table) -> None:
    play = await story(table)
    table.voice.will(fails("AUTH"))
    await table.tell(play, "One")
    await table.tell(play, "Two")
    found = await answered(table, play, 0)
    assert [step.number for step in found.steps] == [1]
    assert said(found) == ["Ana: One", "Ana: Two"]


async def test_unknown_exchanges_and_answers_are_refused(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")
    node = (await table.nodes(play))[0]
    for asked, code in (
        (("n_nowhere", None), "PLAY_NODE_UNKNOWN"),
        ((node.id, "v_nowhere"), "PLAY_VARIANT_UNKNOWN"),
    ):
        with pytest.raises(PlayError) as refused:
            await table.engine.actual_request(play, *asked)
        assert refused.value.error_code == code


async def reread(table: Table, play: str, change: Callable[[Event], Event | None]) -> ActualRequest:
    """The only answer's request, from a log that holds something else in places; None takes an event out."""
    session_id = (await table.head(play)).session_id
    await table.plays.rest(-1)
    stored = await table.engine.journal.read(session_id)
    events = [changed for event in stored.events if (changed := change(event)) is not None]
    events = [replace(event, seq=seq) for seq, event in enumerate(events)]

    async def read(_: str) -> Any:
        sessions: Sessions = table.engine.journal.sessions
        return sessions.detached(stored.header, events, inherited_event_count=stored.inherited, restored=True)

    table.engine.journal.look = read  # type: ignore[method-assign]
    found = await table.engine.requests.of_answer(session_id, 0, len(events) - 1)
    assert (found.messages, found.text) == ((), "\n")
    return found


async def test_a_changed_message_is_found_out_and_nothing_of_it_is_shown(table: Table) -> None:  # case 68
    play = await story(table)
    await table.tell(play, "One")

    def forged(event: Event) -> Event:
        if event.type == "user/message" and event.data["source"]["kind"] == "user":
            return replace(event, data=event.data | {"content": ({"type": "text", "text": "Ana: Two"},)})
        return event

    assert (await reread(table, play, forged)).reason == "hash-mismatch"


async def test_an_answer_of_an_older_version_says_so(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")
    found = await reread(table, play, lambda event: None if event.type == REQUEST_RECORD else event)
    assert (found.reason, found.steps, found.step) == ("not-recorded", (), 0)


async def test_an_answer_that_came_from_elsewhere_says_so(table: Table) -> None:
    play = await story(table)
    session = table.engine.journal.sessions.detached(
        (await table.engine.journal.read((await table.head(play)).session_id)).header, []
    )
    session.append("turn/start", {"turn": 1})
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})

    async def read(_: str) -> Any:
        return session

    table.engine.journal.look = read  # type: ignore[method-assign]
    found = await table.engine.requests.of_answer(session.id, 0, session.seq - 1)
    assert found.reason == "imported"


async def test_an_answer_of_a_later_version_says_so(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")

    def later(event: Event) -> Event:
        if event.type == REQUEST_RECORD:
            return replace(event, data=event.data | {"version": 2})
        return event

    assert (await reread(table, play, later)).reason == "version-unknown"


# --- what is private in it


async def test_the_words_of_personas_are_known_as_they_were_and_are_not_kept_twice(table: Table) -> None:
    personas = table.engine.library.personas
    vale = await personas.play("id-Ana", "Ana", "Ana hides 🎲 a key.\nShe fears {{char}} most of all.")
    play = await story(table, {"identifier": "main", "content": "🎲 Of {{user}}: {{persona}}"}, *SPINE[3:])
    await table.tell(play, "One")
    key = description_hash(vale.persona.description)
    await personas.change("id-Ana", vale.id, expected_revision=vale.revision, description="Nothing to see.")
    found = await answered(table, play, 0)
    assert found.private == {key: frozenset({"Ana hides 🎲 a key.", "She fears", "most of all."})}
    record = next(e for e in await table.log((await table.head(play)).session_id) if e.type == REQUEST_RECORD)
    assert "hides" not in json.dumps(thaw(record.data))
    # what stands in the conversation since then stays known when the persona says something else
    await table.tell(play, "Two")
    later = await answered(table, play, 1)
    assert later.private is not None
    assert later.private[description_hash("Nothing to see.")] == {"Nothing to see."}
    # and so do the words of all that was ever sent
    ever = await table.engine.requests.private((await table.head(play)).session_id)
    assert ever == {**found.private, **later.private}


async def test_nobody_knows_what_is_private_in_a_log_of_an_older_version(table: Table) -> None:
    play = await story(table)
    await table.tell(play, "One")
    agent = await table.engine.agents.open((await table.head(play)).session_id)
    record = next(e for e in agent.session.events() if e.type == REQUEST_RECORD)
    older = {key: value for key, value in record.data.items() if key != "private"}
    agent.session.append(REQUEST_RECORD, older, ignorable=True)
    assert (await actual(table, play)).private is None
    # nor in what was sent after it
    await table.tell(play, "Two")
    assert (await answered(table, play, 1)).private is None
    assert await table.engine.requests.private((await table.head(play)).session_id) is None
    # what was sent before is as it was
    assert (await answered(table, play, 0)).private == {}


@given(st.text(), st.lists(st.text(max_size=8), max_size=4))
def test_no_telling_piece_of_a_description_is_overlooked(text: str, descriptions: list[str]) -> None:
    message = user_message("m1", [text_block(text)], {"kind": "runtime-context"})
    places = private_places([message], descriptions)
    found = private_words([message], [{"private": places}])
    assert found is not None
    left = text
    for word in sorted({word for words in found.values() for word in words}, key=len, reverse=True):
        left = left.replace(word, "\n")
    assert not any(piece in left for piece in telling(descriptions))


def test_what_people_and_characters_said_is_nobodys_secret() -> None:
    spoken = user_message("m1", [text_block("Ana: a silver key")], {"kind": "user"})
    fact = user_message("m2", [text_block("Ana has a silver key")], {"kind": "runtime-context"})
    assert private_places([spoken, fact], ["a silver key"]) == [
        {
            "hash": description_hash("a silver key"),
            "messageId": "m2",
            "startUtf16": 8,
            "endUtf16": 20,
        }
    ]
    assert private_places([fact], ["{{char}} x\n"]) == []
