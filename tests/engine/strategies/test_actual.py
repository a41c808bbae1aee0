"""What was sent, out of the log alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.session import Sessions
from engine.strategies import REQUEST_RECORD, ActualRequest
from tests.engine.play.conftest import table
from tests.engine.play.table import Table
from tests.engine.strategies.test_steps import SPINE, book, keep, sent, story

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
        [("native-context-framing", "runtime-context"), ("custom", "A fact")],
        [("preset", "Tail")],
    ]
    assert [m.source for m in found.messages] == ["system", "history", "context", "pre-step"]
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
    assert blocks(found)[0][1:] == [("preset", "main"), ("character", "description"), ("preset", "tail")]


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
