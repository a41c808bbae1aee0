"""Agent rows: what the loop takes of a turn, beside a bare echo of the same shape.

The echo asks the same model for the same answer and keeps nothing: no log, no inbox, no disk.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import islice
from pathlib import Path

from engine.agent import Agent, Agents, Compactor, Section, Services, SystemPrompt
from engine.cancel import CancelToken
from engine.hooks import Hooks, Scope
from engine.llm import CallConfig, Chunk, Llm, LlmRequest, ModelInfo, Narrator
from engine.session import Journal, Message, Sessions, StrictValidator, system_message, user_message
from engine.session.store import StoredEvent
from engine.storage import EventTable, Store
from tests.perf.measure import Row
from tests.perf.session import tell
from tests.perf.storage import bare, event

__all__ = ["measure"]

TABLES = 200  # sessions that play at once
STORY = 1_000  # events of the story whose next request is timed
TURNS = 150  # requests that are timed
ROUNDS = 5
WORDS = "Ana: I look at the door and wait."
CHARACTER = "Character: Mira\n\n" + "She keeps the inn at the ford, and knows everybody who crosses. " * 30


async def measure() -> list[Row]:
    """All agent rows, on a real database in a temporary folder."""
    with tempfile.TemporaryDirectory() as name, bare(Path(name)) as db:
        async with await Store.open(Path(name) / "ours.db") as store:
            return [await _many_tables(store), *await _one_long_story(store, db)]


def _agents(store: Store, llm: Llm, config: CallConfig) -> Agents:
    hooks, owner = Hooks(), Scope("perf")
    prompt = SystemPrompt(hooks)
    prompt.section(Section("character", 0, CHARACTER), owner=owner)
    journal = Journal(Sessions(validators=[StrictValidator]), EventTable(store))
    services = Services(hooks=hooks, journal=journal, llm=llm, prompt=prompt, defaults=config)
    Compactor(services, owner)
    return Agents(services)


async def _leave(agents: Agents) -> None:
    await agents.aclose()
    await agents.services.journal.aclose()


# -- many at once ------------------------------------------------------------------------------------


async def _many_tables(store: Store) -> Row:
    llm, config = Llm(), CallConfig("narrator", "offline", max_tokens=120)
    llm.register(Narrator(words_per_second=0))
    agents = _agents(store, llm, config)
    tables = [await agents.create(f"table{number}") for number in range(TABLES)]
    history = (system_message("sys", CHARACTER), user_message("w", WORDS))
    ours: list[float] = []
    echoes: list[float] = []
    for number in range(ROUNDS + 1):
        echoes.append(await _timed([_echo(llm, config, history, table.id) for table in tables]))
        ours.append(await _timed([_exchange(table, number) for table in tables]))
    await _leave(agents)
    # the first round warms files and statements up
    turn_s, echo_s = (statistics.median(seconds[1:]) / TABLES for seconds in (ours, echoes))
    name = f"turn of {TABLES} at once ({1 / turn_s:.0f}/s)"
    return Row(name, turn_s, f"bare echo ({1 / echo_s:.0f}/s)", echo_s, 4.0)


async def _timed(work: list[Awaitable[object]]) -> float:
    begin = time.perf_counter()
    await asyncio.gather(*work)
    return time.perf_counter() - begin


async def _exchange(agent: Agent, number: int) -> None:
    """Words that are durable before anybody is told so, and their answer."""
    agent.followup(user_message(f"{agent.id}-{number}", WORDS))
    await agent.when_idle()


async def _echo(llm: Llm, config: CallConfig, history: tuple[Message, ...], session_id: str) -> str:
    call = llm.prepare_call(config)
    request = LlmRequest(call.config, history, session_id=session_id)
    chunks = [chunk async for chunk in call.stream(request, CancelToken())]
    return "".join(chunk["text"] for chunk in chunks if chunk["type"] == "text-delta")


# -- one request of a long story ---------------------------------------------------------------------


class _Clocked:
    """A model that says at once, and notes when it was asked."""

    provider = "clocked"

    def __init__(self) -> None:
        self.asked = 0.0

    def model_info(self, model: str) -> ModelInfo:
        return ModelInfo("clocked", model, context_window=1_000_000)

    async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncIterator[Chunk]:
        self.asked = time.perf_counter()
        yield {"type": "block-start", "index": 0, "blockType": "text"}
        yield {"type": "text-delta", "index": 0, "text": "Yes."}
        yield {"type": "block-end", "index": 0, "block": {"type": "text", "text": "Yes."}}
        yield {"type": "finish", "reason": {"kind": "stop"}}

    async def aclose(self) -> None:
        pass


async def _one_long_story(store: Store, db: sqlite3.Connection) -> list[Row]:
    llm, model = Llm(), _Clocked()
    llm.register(model)
    agents = _agents(store, llm, CallConfig("clocked", "m"))
    tell((await agents.create("long")).session, STORY)
    await agents.close("long")
    agent = await agents.open("long")
    rows = iter(event(seq) for seq in range(10**6))
    loop_s: list[float] = []
    echo_s: list[float] = []
    commit_s: list[float] = []
    for number in range(TURNS + 10):
        commit_s.append(_clock(lambda: _commit_twice(db, rows)))
        begin = time.perf_counter()
        await _echo(llm, CallConfig("clocked", "m"), tuple(agent.session.derive()), "echo")
        echo_s.append(model.asked - begin)
        agent.send(user_message(f"long-{number}", WORDS), "next-turn", wake=False)
        await agents.services.journal.flush("long")
        begin = time.perf_counter()
        agent.wake()
        await agent.when_idle()
        loop_s.append(model.asked - begin)
    await _leave(agents)
    loop_s, echo_s, commit_s = loop_s[10:], echo_s[10:], commit_s[10:]
    p50, echo = statistics.median(loop_s), statistics.median(echo_s)
    # Another program on the machine meets some rounds and not all: the quietest one says what is ours.
    rounds = [loop_s[at : at + TURNS // ROUNDS] for at in range(0, TURNS, TURNS // ROUNDS)]
    p95 = min(statistics.quantiles(seconds, n=20)[-1] for seconds in rounds)
    story = f"words to request, {STORY} events"
    return [
        Row(f"{story}, p95", p95, "5 ms", 0.005, 1.0),
        # The loop has two barriers before a request: the claim, and what enters the history.
        Row(f"{story}, p50", p50, "echo and two bare commits", echo + statistics.median(commit_s), 4.0),
    ]


def _commit_twice(db: sqlite3.Connection, rows: Iterator[StoredEvent]) -> None:
    for row in islice(rows, 2):
        db.execute("INSERT INTO event VALUES (1, ?, ?, ?, ?)", (row.seq, row.type, row.time, row.body))


def _clock(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
