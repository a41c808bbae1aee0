"""Slots and depths: a strategy of the advanced back end, applied, played with and looked at afterwards."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.sandbox.limits import Upload
from bot.sandbox.screen import Shown
from bot.sandbox.wire import WireDiscord
from bot.settings import AssemblySettings
from engine.assembler import built_in_strategies
from tests.e2e.scene import Scene, Story, labels_of, set_scene
from tests.e2e.test_show_prompt import file_of

LORE = "The bridge is out."
ON = AssemblySettings(advanced=True)


@pytest.fixture
async def sandbox(wire: WireDiscord, data_dir: Path) -> AsyncIterator[Scene]:
    """A bot as the sandbox runs it: its answers are the narrator's, and the advanced back end is on."""
    async with set_scene(wire, data_dir, narrator=True, assembly=ON) as made:
        yield made


@pytest.fixture
async def plain(wire: WireDiscord, data_dir: Path) -> AsyncIterator[Scene]:
    """A model server that takes instructions only in front of the conversation."""
    async with set_scene(wire, data_dir, assembly=ON) as made:
        yield made


async def bridge(scene: Scene) -> Story:
    """A story whose world book has an entry for one message before the end, in the user's role."""
    entry = {"uid": 0, "key": [], "constant": True, "content": LORE, "comment": "Bridge"}
    entry |= {"position": 4, "depth": 1, "role": 1}
    data = json.dumps({"name": "Crossing", "entries": {"0": entry}}).encode()
    book = await scene.bot.engine.library.import_book(scene.owner, data, "Crossing.json", "test")
    story = await scene.open_story()
    await scene.human("Ana").slash(story.thread, "world bind", world=book.id)
    return story


async def talk(story: Story, text: str) -> Shown:
    """Say something, and wait for the narrator to have answered it."""
    said = await story.say("Ana", text)
    return await story.eyes.sees(
        story.thread, lambda m: m.webhook and int(m.id) > int(said.id) and "⟳" in labels_of(m)
    )


async def test_a_depth_entry_stands_between_the_messages_that_were_sent(sandbox: Scene) -> None:
    # given a story whose lore wants to stand one message before the end
    story = await bridge(sandbox)
    ana = sandbox.human("Ana")

    # when Ana applies the strategy that can do it, and plays
    applied = await ana.slash(story.thread, "strategy apply", strategy="Slots and depths (advanced)")
    assert (
        applied.text
        == "From the next answer on this story uses the strategy **Slots and depths (advanced)**."
    )
    await talk(story, "I look at the water.")
    answer = await talk(story, "I go on.")

    # then what was sent has it between the last answer and her new words, and nowhere else
    (panel,) = (await story.menu(answer, "Show prompt")).ephemeral
    prompt = file_of(sandbox, panel)
    assert prompt.count(LORE) == 1
    assert prompt.index("I look at the water.") < prompt.index(LORE) < prompt.index("I go on.")
    assert "Bridge" in prompt and "placed by the strategy" in prompt
    # and the thread shows nothing of it
    assert not any(LORE in line for line in story.lines())
    # a restart changes nothing of that
    await sandbox.running.restart()
    (again,) = (await story.menu(answer, "Show prompt")).ephemeral
    assert file_of(sandbox, again) == prompt
    await talk(story, "And on.")


async def test_where_the_model_takes_no_later_instructions_the_player_reads_what_to_do(plain: Scene) -> None:
    # given a strategy that puts the preset's last words behind the conversation
    story = await bridge(plain)
    ana = plain.human("Ana")
    await ana.slash(story.thread, "strategy apply", strategy="Slots and depths (advanced)")

    # when Ana plays
    await story.say("Ana", "I look at the water.")

    # then one line says what happened and what helps, and nothing was sent
    told = await story.sees("puts instructions behind the conversation")
    assert "Your message is kept." in told.text and "`/strategy apply`" in told.text
    assert labels_of(told) == ["Retry"]
    assert plain.model.calls == []

    # and with another strategy the same words are answered
    await ana.slash(story.thread, "strategy apply", strategy="Preset's slots first")
    await story.press("Retry", who="Ana")
    call = await plain.model.call()
    assert call.heard == ["Ana: I look at the water."]
    await call.say("It is high.")
    await story.answered("It is high.", "1/1")


async def test_what_only_the_next_words_would_be_refused_for_is_foretold(sandbox: Scene) -> None:
    # given a strategy that has the new message before the program's instructions, which is not to be
    wire = built_in_strategies()["builtin-st"].to_wire()
    rules = sorted(wire["rules"], key=lambda rule: rule["kind"] != "input")
    wire = {key: value for key, value in wire.items() if key != "layout"}
    body = json.dumps({**wire, "name": "Order", "placement": "modules", "rules": rules}).encode()
    story = await sandbox.open_story()
    ana = sandbox.human("Ana")
    await ana.slash("general", "strategy import", file=Upload("x.json", body))

    # when it is applied, looked at or edited, though nothing is said yet, then it is told
    why = "⚠️ **Nothing could be sent like this.** "
    for command in ("apply", "preview", "edit"):
        told = await ana.slash(story.thread, f"strategy {command}", strategy="Order")
        assert why in told.text, command
    # and so it is
    await story.say("Ana", "Hello.")
    await story.sees("Your message is kept")
