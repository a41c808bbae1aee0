"""A table at a real engine: a database file, a sample card, and a model that says what it is told to."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

from engine.assembler import ASSEMBLER_KIND
from engine.cancel import CancelToken
from engine.hooks import Next, Scope
from engine.host import Engine, EngineSettings
from engine.library import LibraryLimits, Selection
from engine.llm import CallConfig, LlmRequest, ModelInfo, RetryPolicy
from engine.llm.model import SystemPromptUpdate
from engine.play import ExchangeEnded, ExchangeStarted, Head, Node, Receipt, Utterance
from engine.resources import read_preset
from engine.session import Event, message_text
from tests.engine.agent.harness import Pause, fails, says

__all__ = ["SAMPLES", "Pause", "Table", "Voice", "breaking", "fails", "says", "utterance"]

SAMPLES = Path(__file__).parents[3] / "config" / "samples"
OWNER = "guild-1"


class Voice:
    """A provider. Says what was planned, one plan a request; without a plan "Answer 1.", "Answer 2." …"""

    provider = "scripted"

    def __init__(self, system_prompt_update: SystemPromptUpdate = "none") -> None:
        self.system_prompt_update = system_prompt_update
        self.plans: deque[list[Any]] = deque()
        self.requests: list[LlmRequest] = []
        self.said = 0

    def will(self, *plan: Iterable[Any]) -> None:
        """The next requests get these answers, one each."""
        self.plans.extend(list(entries) for entries in plan)

    def heard(self, index: int = -1) -> list[str]:
        """What a request was told, without the system text and what a strategy said beside the input."""
        return _spoken(self.requests[index].messages)

    def model_info(self, model: str) -> ModelInfo:
        return ModelInfo("scripted", model, system_prompt_update=self.system_prompt_update)

    async def stream(self, request: LlmRequest, token: CancelToken) -> AsyncIterator[Any]:
        self.requests.append(request)
        if self.plans:
            plan = self.plans.popleft()
        else:
            self.said += 1
            plan = says(f"Answer {self.said}.")
        for entry in plan:
            if isinstance(entry, Pause):
                entry.reached.set()
                await token.race(entry.opened.wait())
            else:
                yield entry

    async def aclose(self) -> None:
        pass


def breaking(pause: Pause, text: str, before: str = "") -> list[Any]:
    """An answer that stops to wait after `before`, and then goes on to `text` as a whole."""
    whole = says(before, text.removeprefix(before))
    shown = 2 if before else 0
    return [*whole[:shown], pause, *whole[shown:]]


def utterance(text: str, key: str | None = None, who: str = "Ana", **extra: Any) -> Utterance:
    return Utterance(key or f"discord:1:{text}", text, f"id-{who}", who, who, extra)


def _spoken(messages: Iterable[Any]) -> list[str]:
    return [
        message_text(message)
        for message in messages
        if message["role"] != "system" and message["source"].get("kind") != ASSEMBLER_KIND
    ]


class Table:
    """One engine over one file, and what it told about its exchanges."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "story.db"
        self.voice = Voice()
        self.started: list[ExchangeStarted] = []
        self.ended: list[ExchangeEnded] = []
        self.dead: list[str] = []
        self.card_id = ""
        self._engine: Engine | None = None
        self._gone: list[Engine] = []
        self._life = 0
        self._owner = Scope("table")
        self.now: int | None = None
        self._settings: dict[str, Any] = {}

    @property
    def engine(self) -> Engine:
        assert self._engine is not None
        return self._engine

    @property
    def plays(self) -> Any:
        return self.engine.plays

    # -- lives of the process ----------------------------------------------------------------------

    async def open(self, **settings: Any) -> None:
        """Come up. The settings hold for the lives after this one too."""
        self._settings |= settings
        values: dict[str, Any] = {
            "database": self.file,
            "adapter": self.voice,
            "defaults": CallConfig("scripted", "m1"),
            "builtin_preset": read_preset((SAMPLES / "fireside.json").read_bytes(), "fireside.json"),
            "limits": LibraryLimits(),
            "retry": RetryPolicy(base_ms=1, cap_ms=2),
        }
        clock = {} if self.now is None else {"clock": lambda: self.now}
        self._engine = await Engine.open(EngineSettings(**(values | self._settings)), **clock)
        hooks = self._engine.hooks
        hooks.on("play/exchange-started", self.started.append, owner=self._owner)
        hooks.on("play/exchange-ended", self.ended.append, owner=self._owner)
        hooks.on(
            "agent/dead-letter", lambda _, lost: self.dead.extend(m["id"] for m in lost), owner=self._owner
        )
        if not self.card_id:
            data = (SAMPLES / "maren.json").read_bytes()
            self.card_id = (await self._engine.library.import_card(OWNER, data, "maren.json", "ana")).id

    async def restart(self) -> None:
        """The process ends in order, and another one opens the file. Nothing is recovered yet."""
        await self.engine.aclose()
        await self.open()

    async def crash(self) -> None:
        """The process is gone; another one opens what was on the disk at that moment.

        The old engine lives on over a file of its own until the test ends, where nobody sees it.
        """
        self._life += 1
        moved = self.folder / f"life-{self._life}" / self.file.name
        moved.parent.mkdir()
        for suffix in ("", "-wal"):
            source = self.file.with_name(self.file.name + suffix)
            if source.exists():
                shutil.copy(source, moved.with_name(moved.name + suffix))
        self._gone.append(self.engine)
        self.file = moved
        self.voice = Voice(self.voice.system_prompt_update)
        self.voice.said = 1000 * self._life
        self._owner.active = False
        self._owner = Scope("table")
        await self.open()

    async def close(self) -> None:
        for engine in (*self._gone, self._engine):
            if engine is not None:
                await engine.aclose()
        self._gone.clear()

    # -- playing -----------------------------------------------------------------------------------

    async def begin(self, **selection: Any) -> str:
        """A new story with the sample card; its id."""
        chosen = Selection(**{"card_id": self.card_id, **selection})
        play = await self.plays.create(owner=OWNER, created_by="ana", selection=chosen, title="Rain")
        play_id: str = play.id
        return play_id

    async def say(self, play_id: str, text: str, **options: Any) -> Receipt:
        receipt: Receipt = await self.plays.say(play_id, utterance(text), **options)
        return receipt

    async def tell(self, play_id: str, *texts: str) -> None:
        """Say each, and wait for its answer."""
        for text in texts:
            await self.say(play_id, text)
            await self.settle(play_id)

    async def settle(self, play_id: str) -> None:
        """Wait until nothing is being written for the story."""
        while True:
            play = await self.plays.get(play_id)
            ids = {play.head.session_id, await self.plays.current_session(play)}
            agents = [agent for id in ids if (agent := self.engine.agents.get(id)) is not None]
            running = [agent for agent in agents if agent.status == "running"]
            if not running:
                return
            for agent in running:
                await agent.when_idle()

    async def swipe(self, play_id: str, node_id: str | None = None) -> None:
        """Another answer to an exchange (the newest), written to its end."""
        head = await self.head(play_id)
        await self.plays.swipe(play_id, node_id or head.node_id, head)
        await self.settle(play_id)

    def hold_assembly(self) -> Pause:
        """The next prompt is not assembled before the pause is opened: what was claimed is not admitted."""
        pause = Pause()

        async def hold(payload: object, proceed: Next) -> Any:
            dispose()
            pause.reached.set()
            await pause.opened.wait()
            return await proceed()

        dispose = self.engine.hooks.on("system-prompt/assemble", hold, owner=self._owner)
        return pause

    # -- looking -----------------------------------------------------------------------------------

    async def head(self, play_id: str) -> Head:
        head: Head = (await self.plays.get(play_id)).head
        return head

    async def nodes(self, play_id: str) -> Sequence[Node]:
        """The exchanges on the active path."""
        nodes: Sequence[Node] = (await self.plays.timeline(play_id)).path()
        return nodes

    async def path(self, play_id: str) -> list[tuple[list[str], str]]:
        """The active path in words: what was said, and what was answered."""
        texts = [await self.plays.text(node.adopted) for node in await self.nodes(play_id)]
        return [([words.text for words in text.inputs], text.answer) for text in texts]

    async def history(self, play_id: str) -> list[str]:
        """What the model would be told next, as `Voice.heard`."""
        agent = await self.engine.agents.open((await self.head(play_id)).session_id)
        return _spoken(agent.session.derive())

    async def waiting(self, play_id: str) -> list[str]:
        """The words that wait in the session where the story takes words now."""
        session_id = await self.plays.current_session(await self.plays.get(play_id))
        inbox = (await self.engine.agents.open(session_id)).inbox
        return [m["source"]["text"] for m in (*inbox.next_step, *inbox.next_turn)]

    async def log(self, session_id: str) -> Sequence[Event]:
        return (await self.engine.journal.read(session_id)).events
