"""The network, the disk or the provider goes away in the middle of a turn.

Over a real database file and a real socket: whatever is pulled out, words that were accepted are not
lost, the failure is told, and the session goes on when it is plugged in again.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine.agent import Agent, Agents, Section, Services, SystemPrompt
from engine.cancel import CancelCause
from engine.codec import dumps, loads
from engine.errors import EngineError, StorageError
from engine.hooks import Hooks, Scope
from engine.llm import CallConfig, Catalogue, Llm, OpenAiAdapter, RetryPolicy, ServerSettings
from engine.session import Journal, Sessions, StrictValidator
from engine.storage import EventTable, Store
from tests.engine.agent.harness import derived, order, u
from tests.engine.agent.ledger import Ledger

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def delta(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + dumps({"choices": [choice]}) + b"\n\n"


class Line:
    """One connection of the model's server, held by the test: bytes are sent as they are said."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.heard: list[str] = []

    async def listen(self) -> None:
        head = await self._reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        body = loads(await self._reader.readexactly(int(fields[b"content-length"])))
        self.heard = [f"{message['role']}:{message['content']}" for message in body["messages"]]

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._writer.write(piece)
        await self._writer.drain()

    async def answer(self, text: str) -> None:
        await self.send(HEAD, delta(text), delta("", "stop"), b"data: [DONE]\n\n")
        self._writer.close()

    def cut(self) -> None:
        """Somebody has pulled the cable."""
        self._writer.transport.abort()


class Provider:
    """A model server that can be taken away and come back at the same address."""

    def __init__(self) -> None:
        self.port = 0
        self.always: Callable[[Line], Awaitable[None]] | None = None
        self._server: asyncio.Server | None = None
        self._lines: asyncio.Queue[Line] = asyncio.Queue()
        self._all: list[Line] = []
        self.asked = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """No connection stands any more, and none can be made."""
        assert self._server is not None
        self._server.close()
        for line in self._all:
            line.cut()
        await self._server.wait_closed()

    async def line(self) -> Line:
        async with asyncio.timeout(5):
            return await self._lines.get()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(reader, writer)
        self._all.append(line)
        await line.listen()
        self.asked += 1
        if self.always is not None:
            await self.always(line)
        else:
            self._lines.put_nowait(line)


@dataclass
class Life:
    """One process: agents over the file and the address that stay."""

    agents: Agents
    store: Store
    scope: Scope
    told: list[Any] = field(default_factory=list)
    """What a person would be told of: failures of turns, pauses, words that are given up."""
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the model begins to speak."""

    @property
    def journal(self) -> Journal:
        return self.agents.services.journal

    def hears(self, frame: Any) -> None:
        if frame["kind"] == "chunk" and frame["chunk"]["type"] == "text-delta":
            self.heard.set()

    async def say(self, agent: Agent, text: str) -> None:
        """Accepted when it returns."""
        agent.followup(u(text))
        await self.journal.secure(agent.id)

    @property
    def codes(self) -> list[str]:
        return [told.error_code for told in self.told if isinstance(told, EngineError)]


@asynccontextmanager
async def life(folder: Path, provider: Provider, **patience: Any) -> AsyncIterator[Life]:
    async with await Store.open(folder / "story.db") as store:
        hooks, scope, llm = Hooks(), Scope("test"), Llm()
        settings = ServerSettings(f"http://127.0.0.1:{provider.port}/v1", **patience)
        adapter = OpenAiAdapter("openai", settings, Catalogue.parse(""))
        llm.register(adapter, retry_policy=RetryPolicy(max_retries=2, base_ms=1, cap_ms=2))
        prompt = SystemPrompt(hooks)
        prompt.section(Section("persona", 0, "You are Ada."), owner=scope)
        journal = Journal(Sessions(validators=[StrictValidator]), EventTable(store), drain_after_s=60)
        services = Services(
            hooks=hooks, journal=journal, llm=llm, prompt=prompt, defaults=CallConfig("openai", "m1")
        )
        running = Life(Agents(services), store, scope)
        hooks.on("agent/assistant-stream", lambda _, frame: running.hears(frame), owner=scope)
        hooks.on("agent/error", lambda _, error: running.told.append(error), owner=scope)
        hooks.on("agent/paused", lambda _, waiting: running.told.append(("paused", waiting)), owner=scope)
        hooks.on("agent/dead-letter", lambda _, lost: running.told.append(("dead", lost)), owner=scope)
        try:
            yield running
        finally:
            await running.agents.aclose()
            await journal.aclose()
            await llm.aclose()


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Failures with their whole surroundings are what these tests are made of."""
    with capture_logs():
        yield


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    server = Provider()
    await server.start()
    yield server
    await server.stop()


async def idle(agent: Agent) -> None:
    async with asyncio.timeout(10):
        await agent.when_idle()


def check(agent: Agent, *said: str) -> None:
    """The log is sound, and each of these words was said in it once."""
    states = Ledger.of(agent.session).states()
    assert {word: states.get(word) for word in said} == dict.fromkeys(said, "admitted")


# -- the network ---------------------------------------------------------------------------------


async def test_the_line_breaks_in_mid_answer_and_the_server_is_still_there(
    tmp_path: Path, provider: Provider
) -> None:
    async with life(tmp_path, provider) as here:
        agent = await here.agents.create("s")
        await here.say(agent, "hi")
        line = await provider.line()
        await line.send(HEAD, delta("Well, "))
        line.cut()
        # then the same question is asked again, and nothing of the half answer is kept
        line = await provider.line()
        assert line.heard == ["system:You are Ada.", "user:hi"]
        await line.answer("Good evening.")
        await idle(agent)
        assert derived(agent.session) == ["system:You are Ada.", "user:hi", "assistant:Good evening."]
        assert here.told == []
        check(agent, "hi")


async def test_the_server_goes_away_in_mid_answer_and_comes_back(tmp_path: Path, provider: Provider) -> None:
    async with life(tmp_path, provider) as here:
        agent = await here.agents.create("s")
        await here.say(agent, "hi")
        line = await provider.line()
        await line.send(HEAD, delta("Well, "))
        await provider.stop()
        await idle(agent)
        assert here.codes == ["TRANSPORT"]
        assert order(agent.session)[-1] == "turn/end error"
        # when the network is back, what was said is still there
        await provider.start()
        await here.say(agent, "hello?")
        line = await provider.line()
        assert line.heard == ["system:You are Ada.", "user:hi", "user:hello?"]
        await line.answer("Yes?")
        await idle(agent)
        check(agent, "hi", "hello?")


async def test_the_server_goes_away_for_three_turns(tmp_path: Path, provider: Provider) -> None:
    async with life(tmp_path, provider) as here:
        agent = await here.agents.create("s")
        await provider.stop()
        for text in ("one", "two", "three", "four"):
            agent.followup(u(text))
        await here.journal.secure("s")
        await idle(agent)
        # then the queue pauses instead of being burnt, and says so
        assert here.codes == ["TRANSPORT"] * 3
        assert here.told[-1] == ("paused", 1)
        assert (agent.paused, [m["id"] for m in agent.inbox.next_turn]) == (True, ["four"])
        # and the pause outlives the process, as a queue that waits
    async with life(tmp_path, provider) as here:
        agent = await here.agents.open("s")
        assert [m["id"] for m in agent.inbox.next_turn] == ["four"]
        await provider.start()
        agent.wake()
        line = await provider.line()
        assert line.heard[1:] == ["user:one", "user:two", "user:three", "user:four"]
        await line.answer("All of you.")
        await idle(agent)
        assert not agent.paused
        check(agent, "one", "two", "three", "four")


async def test_a_provider_that_never_answers_a_stop(tmp_path: Path, provider: Provider) -> None:
    async with life(tmp_path, provider) as here:
        agent = await here.agents.create("s")
        await here.say(agent, "hi")
        line = await provider.line()
        await line.send(HEAD, delta("Once upon a time"))
        async with asyncio.timeout(5):
            await here.heard.wait()
        agent.cancel(CancelCause("user"), keep_inbox=True)
        # the server neither reads nor closes, and nobody waits for it
        async with asyncio.timeout(1):
            await agent.when_idle()
        assert derived(agent.session)[-1] == "assistant:Once upon a time"
        await here.say(agent, "go on")
        await (await provider.line()).answer("… there was an inn.")
        await idle(agent)
        check(agent, "hi", "go on")
        line.cut()


@pytest.mark.parametrize("drip", [b"", b": still here\n\n", delta(" ")])
async def test_a_provider_that_drips(tmp_path: Path, provider: Provider, drip: bytes) -> None:
    """Silence, comments, or pieces of nothing: each is given up at last."""

    async def slow(line: Line) -> None:
        try:
            await line.send(HEAD)
            while True:
                await line.send(drip)
                await asyncio.sleep(0.02)
        except ConnectionError:
            pass

    async with life(tmp_path, provider, idle_timeout_s=0.2, progress_timeout_s=0.3) as here:
        provider.always = slow
        agent = await here.agents.create("s")
        await here.say(agent, "hi")
        if drip == delta(" "):  # it does say something; only a person can know that it is nothing
            await asyncio.sleep(0.5)
            assert agent.status == "running"
            agent.cancel(CancelCause("user"), keep_inbox=True)
            await idle(agent)
        else:
            await idle(agent)
            assert here.codes == ["TIMEOUT"]
            assert provider.asked == 3
        provider.always = None
        await here.say(agent, "hello?")
        await (await provider.line()).answer("Yes?")
        await idle(agent)
        check(agent, "hi", "hello?")


# -- the disk ------------------------------------------------------------------------------------


async def full(store: Store, trouble: bool) -> None:
    await store.limit_size(1 if trouble else None)


async def read_only(store: Store, trouble: bool) -> None:
    switch = "ON" if trouble else "OFF"
    await store._connection.db.execute_fetchall(f"PRAGMA query_only = {switch}")


Pull = Callable[[Store, bool], Awaitable[None]]
DISKS = [(full, "DISK_FULL"), (read_only, "READ_ONLY")]

# More than the free pages at the end of a file hold.
LONG = "It was a dark and stormy night. " * 4_000


@pytest.mark.parametrize(("pull", "code"), DISKS)
async def test_words_that_cannot_be_stored_are_not_accepted_and_not_forgotten(
    tmp_path: Path, provider: Provider, pull: Pull, code: str
) -> None:
    async with life(tmp_path, provider) as here:
        agent = await here.agents.create("s")
        await pull(here.store, True)
        with pytest.raises(StorageError) as refused:
            await here.say(agent, LONG)
        assert refused.value.error_code == code
        await idle(agent)
        # nothing was asked that a crash could make us forget
        assert provider.asked == 0
        assert code in here.codes
        await pull(here.store, False)
        await here.say(agent, "hello?")
        line = await provider.line()
        assert line.heard[1:] == [f"user:{LONG}", "user:hello?"]
        await line.answer("Yes?")
        await idle(agent)
        check(agent, LONG, "hello?")


@pytest.mark.parametrize(("pull", "code"), DISKS)
async def test_an_answer_that_cannot_be_stored(
    tmp_path: Path, provider: Provider, pull: Pull, code: str
) -> None:
    async with life(tmp_path, provider) as here:
        agent = await here.agents.create("s")
        await here.say(agent, "hi")
        line = await provider.line()
        # when the disk goes while the model speaks
        await pull(here.store, True)
        await line.answer(LONG)
        await idle(agent)
        assert here.codes == [code]
        # then the answer stands in memory, and is stored with the next words
        await pull(here.store, False)
        await here.say(agent, "hello?")
        line = await provider.line()
        assert line.heard[1:] == ["user:hi", f"assistant:{LONG}", "user:hello?"]
        await line.answer("Yes?")
        await idle(agent)
        check(agent, "hi", "hello?")
        seq = agent.session.seq
    async with life(tmp_path, provider) as here:
        agent = await here.agents.open("s")
        assert agent.session.seq == seq + 1  # and the mark of the new life
        check(agent, "hi", "hello?")


@pytest.mark.parametrize(("pull", "code"), DISKS)
async def test_a_process_that_dies_while_the_disk_is_gone(
    tmp_path: Path, provider: Provider, pull: Pull, code: str
) -> None:
    async with life(tmp_path / "before", provider) as here:
        agent = await here.agents.create("s")
        agent.followup(u("hi"))
        await here.say(agent, "later")
        line = await provider.line()
        await pull(here.store, True)
        await line.answer(LONG)
        await idle(agent)
        assert set(here.codes) == {code}
        # when the process is gone, there is what the disk had
        await asyncio.to_thread(copy_database, tmp_path / "before", tmp_path / "after")
        await pull(here.store, False)
    async with life(tmp_path / "after", provider) as here:
        agent = await here.agents.open("s")
        # then what was accepted is there: said, or waiting
        assert Ledger.of(agent.session).states() == {"hi": "admitted", "later": "pending"}
        agent.wake()
        line = await provider.line()
        assert line.heard[1:] == ["user:hi", "user:later"]
        await line.answer("Yes?")
        await idle(agent)
        check(agent, "hi", "later")


def copy_database(before: Path, after: Path) -> None:
    """The file as it lies on the disk, with its write-ahead log, while somebody still has it open."""
    after.mkdir()
    for name in ("story.db", "story.db-wal"):
        shutil.copyfile(before / name, after / name)


async def test_a_disk_that_is_full_for_a_while_with_people_talking_on(
    tmp_path: Path, provider: Provider
) -> None:
    async with life(tmp_path, provider) as here:
        agent = await here.agents.create("s")
        await full(here.store, True)
        words = [f"{number}: {LONG}" for number in range(8)]
        for text in words:
            with pytest.raises(StorageError):
                await here.say(agent, text)
            await idle(agent)
        assert (provider.asked, agent.inbox.next_turn) == (0, ())
        await full(here.store, False)
        await here.say(agent, "at last")
        line = await provider.line()
        # then everything is in the one question, once and in order
        assert line.heard[1:] == [*(f"user:{text}" for text in words), "user:at last"]
        await line.answer("My!")
        await idle(agent)
        check(agent, *words, "at last")


async def test_the_disk_fails_in_the_background_and_is_well_again(tmp_path: Path, provider: Provider) -> None:
    async with life(tmp_path, provider) as here:
        here.journal._drain_after_s = 0.01
        agent = await here.agents.create("s")
        await read_only(here.store, True)
        agent.inject(u("aside"))
        await asyncio.sleep(0.1)  # written behind, which failed while nobody looked
        await read_only(here.store, False)
        # then whoever speaks next is not told of it
        await here.say(agent, "hi")
        await (await provider.line()).answer("Yes?")
        await idle(agent)
        assert here.told == []
        check(agent, "aside", "hi")
