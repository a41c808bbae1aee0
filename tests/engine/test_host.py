"""One engine from its settings: what it opens, what it leaves behind, and what it answers by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import HandleClosed, NotFound, StorageError
from engine.hooks import Scope
from engine.host import Engine, EngineSettings
from engine.library import LibraryLimits, Selection
from engine.llm import CallConfig, Narrator
from engine.play import Utterance
from engine.resources import read_preset

SAMPLES = Path(__file__).parents[2] / "config" / "samples"
WORDS = Utterance("k1", "I open the door.", "1", "Ana", "Ana")


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., EngineSettings]:
    def make(**changes: Any) -> EngineSettings:
        values: dict[str, Any] = {
            "database": tmp_path / "story.db",
            "adapter": Narrator(words_per_second=0),
            "defaults": CallConfig("narrator", "offline"),
            "builtin_preset": read_preset((SAMPLES / "fireside.json").read_bytes(), "fireside.json"),
            "limits": LibraryLimits(),
        }
        return EngineSettings(**(values | changes))

    return make


async def begin(engine: Engine, **selection: Any) -> str:
    data = (SAMPLES / "maren.json").read_bytes()
    card = await engine.library.import_card("guild", data, "maren.json", "ana")
    chosen = Selection(card_id=card.id, **selection)
    play = await engine.plays.create(owner="guild", created_by="1", selection=chosen, title="Rain")
    return play.id


async def test_a_story_is_told_by_the_narrator_from_end_to_end(
    settings: Callable[..., EngineSettings],
) -> None:
    async with await Engine.open(settings()) as engine:
        play_id = await begin(engine)
        receipt = await engine.plays.say(play_id, WORDS)
        agent = engine.agents.get(receipt.session_id)
        assert agent is not None
        await agent.when_idle()
        (node,) = (await engine.plays.timeline(play_id)).path()
        first = (await engine.plays.text(node.adopted)).answer
        assert first
        # another answer is another text, and neither is lost with the process
        head = (await engine.plays.get(play_id)).head
        swiped = await engine.plays.swipe(play_id, node.id, head)
        swiping = engine.agents.get(swiped.session_id)
        assert swiping is not None
        await swiping.when_idle()
    async with await Engine.open(settings()) as engine:
        (node,) = (await engine.plays.timeline(play_id)).path()
        texts = [(await engine.plays.text(variant)).answer for variant in node.variants]
        assert texts[0] == first
        assert texts[1] not in ("", first)
        assert node.position == 1


async def test_an_engine_that_does_not_open_leaves_nothing_open(
    settings: Callable[..., EngineSettings], tmp_path: Path
) -> None:
    class Twice(Narrator):
        closed = 0

        async def aclose(self) -> None:
            Twice.closed += 1

    # given a database that another engine has
    async with await Engine.open(settings()) as first:
        with pytest.raises(StorageError) as refused:
            await Engine.open(settings(adapter=Twice()))
        assert refused.value.error_code == "DATABASE_IN_USE"
        assert await first.store.check() == ()
    # and settings of which a later part fails
    with pytest.raises(AttributeError):
        await Engine.open(settings(adapter=object()))
    # then it can be opened
    async with await Engine.open(settings(adapter=Twice())):
        pass
    assert Twice.closed == 1


async def test_a_closed_engine_takes_nothing(settings: Callable[..., EngineSettings]) -> None:
    engine = await Engine.open(settings())
    play_id = await begin(engine)
    await engine.aclose()
    await engine.aclose()
    with pytest.raises(HandleClosed):
        await engine.plays.say(play_id, WORDS)


async def test_closing_ends_what_runs_and_keeps_what_was_said(
    settings: Callable[..., EngineSettings],
) -> None:
    slow = settings(adapter=Narrator(words_per_second=20))
    async with await Engine.open(slow) as engine:
        play_id = await begin(engine)
        started = asyncio.Event()
        engine.hooks.on(
            "agent/assistant-stream",
            lambda _, frame: started.set() if frame["kind"] == "chunk" else None,
            owner=Scope("test"),
        )
        await engine.plays.say(play_id, WORDS)
        await started.wait()
        await asyncio.sleep(0.2)
    async with await Engine.open(settings()) as engine:
        (node,) = (await engine.plays.timeline(play_id)).path()
        text = await engine.plays.text(node.adopted)
        assert (node.adopted.interrupted, [words.key for words in text.inputs]) == (True, ["k1"])


async def test_everything_goes_by_the_clock_that_was_given(
    settings: Callable[..., EngineSettings],
) -> None:
    async with await Engine.open(settings(), clock=lambda: 1_700_000_000_000) as engine:
        play_id = await begin(engine)
        receipt = await engine.plays.say(play_id, WORDS)
        agent = engine.agents.get(receipt.session_id)
        assert agent is not None
        await agent.when_idle()
        assert {event.time for event in agent.session.events()} == {1_700_000_000_000}
        assert agent.session.header.created_at == 1_700_000_000_000
        assert (await engine.plays.get(play_id)).created_at == 1_700_000_000_000


# -- greetings and names -------------------------------------------------------------------------


async def test_greetings_are_shown_with_the_players_name(settings: Callable[..., EngineSettings]) -> None:
    async with await Engine.open(settings()) as engine:
        named, unnamed = await begin(engine, user_name="Ana"), await begin(engine)
        texts, chosen = await engine.greetings(named)
        assert (len(texts), chosen) == (4, 0)
        assert all("Ana" in text and "{{" not in text for text in texts)
        assert "Ana" not in (await engine.greetings(unnamed))[0][0]
        with pytest.raises(NotFound):
            await engine.greetings("p_unknown")


async def test_who_a_person_plays(settings: Callable[..., EngineSettings]) -> None:
    async with await Engine.open(settings()) as engine:
        assert await engine.persona_name(7, "Ana") == "Ana"
        await engine.library.personas.play("7", "Captain Reed")
        assert await engine.persona_name(7, "Ana") == "Captain Reed"
        assert await engine.persona_name("7", "Ana") == "Captain Reed"
