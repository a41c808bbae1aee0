"""Sources that an installed package brings along: found at the start, used by name, missed when they go."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.assembler import Definition, Output, PlugInFailure, TextBlock
from tests.engine.play.table import Pause, Table
from tests.engine.strategies.test_advanced import SLOTS, use
from tests.engine.strategies.test_steps import keep, sent, story

Install = Callable[..., None]

SOURCE = """
from engine.assembler import Definition, Output, TextBlock


async def recall(context, rule):
    said = [message for message in context.native if message["role"] == "user"]
    return Output((TextBlock("memory", f"RECALLED after {len(said)} messages of {context.session_id}"),))


MEMORY = Definition(id="example.memory/recalled", plugin_id="example.memory", name="Memory", resolve=recall)
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a distribution where Python looks for one: a module, and metadata that names its entry point."""
    site = tmp_path / "site-packages"
    site.mkdir()
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(site))

    def into(name: str, body: str, points: str = "") -> None:
        (site / f"{name}.py").write_text(body)
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        points = points or f"[inglenook.sources]\n{name} = {name}:MEMORY\n"
        (info / "entry_points.txt").write_text(points)

    yield into
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    table = Table(tmp_path)
    yield table
    await table.close()


def recalled(wire: dict[str, Any]) -> None:
    wire["rules"].insert(1, {"id": "memory", "kind": "example.memory/recalled"})


@pytest.mark.parametrize("way", [keep, use])
async def test_the_source_of_an_installed_package_stands_in_the_request(
    table: Table, install: Install, way: Any
) -> None:
    install("example_memory", SOURCE)
    await table.open(advanced_assembly=True)
    assert table.engine.strategies.failures == ()
    play = await story(table, *SLOTS)
    await way(table, play, recalled)
    await table.tell(play, "One", "Two")
    session_id = (await table.head(play)).session_id
    assert f"RECALLED after 2 messages of {session_id}" in sent(table)[0][1]


async def test_a_package_that_fails_harms_nobody_and_is_named(table: Table, install: Install) -> None:
    install("example_broken", "raise RuntimeError('no such library')")
    install("example_memory", SOURCE)
    await table.open()
    assert table.engine.strategies.failures == (PlugInFailure("example_broken", "no such library"),)
    assert "example.memory/recalled" in table.engine.strategies.sources.capture()


async def test_a_package_that_is_gone_is_missed_and_its_rule_stays(table: Table, install: Install) -> None:
    await table.open()
    play = await story(table, *SLOTS)
    strategy = await keep(table, play, recalled)
    await table.tell(play, "One")
    assert "RECALLED" not in json.dumps(sent(table))
    last = table.engine.strategies.last((await table.head(play)).session_id)
    assert last is not None
    (note,) = [note for note in last.diagnostics if note["code"] == "ASSEMBLY_SOURCE_UNAVAILABLE"]
    assert (note["sourceId"], note["ruleId"]) == ("example.memory/recalled", "memory")
    # it is installed, and the next process has it
    install("example_memory", SOURCE)
    await table.restart()
    await table.tell(play, "Two")
    assert "RECALLED" in sent(table)[0][1]
    assert (await table.plays.strategy(play)).strategy == strategy


async def test_a_source_that_goes_while_it_is_asked_is_in_this_request_and_not_in_the_next(
    table: Table,
) -> None:  # case 70
    await table.open(advanced_assembly=True)
    pause = Pause()

    async def resolve(context: Any, rule: Any) -> Output:
        pause.reached.set()
        await pause.opened.wait()
        return Output((TextBlock("memory", f"RECALLED in turn {context.turn}, step {context.step}"),))

    dispose = table.engine.strategies.sources.register(
        Definition(id="example.memory/recalled", plugin_id="example", name="Memory", resolve=resolve)
    )
    play = await story(table, *SLOTS)
    await use(table, play, recalled)
    await table.say(play, "One")
    await pause.reached.wait()
    dispose()
    pause.opened.set()
    await table.settle(play)
    assert "RECALLED in turn 1, step 1" in sent(table)[0][1]
    await table.tell(play, "Two")
    assert "RECALLED" not in json.dumps(sent(table))
    last = table.engine.strategies.last((await table.head(play)).session_id)
    assert last is not None and last.advanced is not None
    assert "ASSEMBLY_SOURCE_UNAVAILABLE" in {note["code"] for note in last.diagnostics}


async def test_a_stop_reaches_a_source_that_takes_its_time(table: Table) -> None:
    await table.open(advanced_assembly=True)
    pause = Pause()

    async def resolve(context: Any, rule: Any) -> Output:
        pause.reached.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody waits for this any more")

    table.engine.strategies.sources.register(
        Definition(id="example.memory/recalled", plugin_id="example", name="Memory", resolve=resolve)
    )
    play = await story(table, *SLOTS)
    await use(table, play, recalled)
    await table.say(play, "One")
    await pause.reached.wait()
    await table.plays.stop(play)
    await table.settle(play)
    assert table.voice.requests == []
    assert table.ended[-1].reason["kind"] == "aborted"
    await table.plays.use_strategy(play, "builtin-st")
    await table.plays.retry(play, await table.head(play))
    await table.settle(play)
    assert await table.path(play) == [(["One"], "Answer 1.")]


PLACEMENT = """
from engine.assembler import Choice


def backwards(candidates):
    ids = [candidate.id for candidate in candidates]
    return Choice(ids, ids[::-1])
"""
POINTS = """[inglenook.placements]
example.backwards = example_placement:backwards
example.no = example_placement:GONE
"""


def backwards(wire: dict[str, Any]) -> None:
    wire["layout"]["priority"] = ["example.backwards", "preset", "resource", "default"]
    wire["rules"][1:1] = [
        {"id": name, "kind": "custom", "role": "system", "text": name.upper()} for name in ("one", "two")
    ]


@pytest.mark.parametrize("way", [keep, use])
async def test_the_placement_strategy_of_an_installed_package_places(
    table: Table, install: Install, way: Any
) -> None:
    install("example_placement", PLACEMENT, POINTS)
    await table.open(advanced_assembly=True)
    assert [failure.name for failure in table.engine.strategies.failures] == ["example.no"]
    play = await story(table, *SLOTS)
    await way(table, play, backwards)
    await table.tell(play, "One")
    said = "\n".join(text for _, text in sent(table))
    assert 0 < said.index("TWO") < said.index("ONE")


async def test_a_placement_strategy_that_is_not_here_ends_the_turn_with_its_code(table: Table) -> None:
    await table.open()
    play = await story(table, *SLOTS)
    await keep(table, play, backwards)
    await table.say(play, "One")
    await table.settle(play)
    assert table.voice.requests == []
    assert table.ended[-1].reason["error"]["code"] == "POSITION_STRATEGY_UNAVAILABLE"
