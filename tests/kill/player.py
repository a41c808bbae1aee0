"""A process that plays until it is killed, and says what it was promised.

`python -m tests.kill.player DATABASE LIFE` plays three stories at once, at random: it says things, has
answers written again, goes back and takes that back. It prints a line for each promise, after it was made:
`said <story> <key>`, `answered <story> <variant>`, `moved <story> <session>`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
from dataclasses import dataclass
from pathlib import Path

import structlog

from engine.errors import PlayError
from engine.hooks import Scope
from engine.host import Engine, EngineSettings
from engine.library import LibraryLimits, Selection
from engine.llm import CallConfig, Narrator
from engine.play import ExchangeEnded, Playthrough, Rewound, Utterance
from engine.resources import read_preset

SAMPLES = Path(__file__).parents[2] / "config" / "samples"
OWNER = "guild"
STORIES = 3
HOUR = 60 * 60 * 1000


def settings(database: Path, *, words_per_second: float) -> EngineSettings:
    return EngineSettings(
        database=database,
        adapter=Narrator(words_per_second=words_per_second),
        defaults=CallConfig("narrator", "offline", max_tokens=60),
        builtin_preset=read_preset((SAMPLES / "fireside.json").read_bytes(), "fireside.json"),
        limits=LibraryLimits(),
    )


def promise(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


@dataclass
class Player:
    """Somebody who plays one story. What the story refuses is tried another time."""

    engine: Engine
    play_id: str
    life: str
    chance: random.Random
    said: int = 0
    rewound: Rewound | None = None

    async def play_on(self) -> None:
        words = [self.say, self.say, self.aside]
        moves = [self.swipe, self.adopt, self.rewind, self.undo]
        while True:
            with contextlib.suppress(PlayError):
                if self.chance.random() < 0.6:
                    await self.chance.choice(words)()
                else:
                    await self.rest()
                    await self.chance.choice(moves)()
            await asyncio.sleep(self.chance.uniform(0, 0.06))

    async def rest(self) -> None:
        """The story moves only between answers."""
        play = await self.engine.plays.get(self.play_id)
        agent = self.engine.agents.get(await self.engine.plays.current_session(play))
        if agent is not None:
            await agent.when_idle()

    async def say(self) -> None:
        await self._say(answer=True)

    async def aside(self) -> None:
        await self._say(answer=False)

    async def _say(self, *, answer: bool) -> None:
        self.said += 1
        key = f"{self.life}-{self.said}"
        words = Utterance(key, f"I look at the door, {key}.", "1", "Ana", "Ana")
        receipt = await self.engine.plays.say(self.play_id, words, answer=answer)
        assert receipt.state == "accepted"
        promise("said", self.play_id, key)
        # a second delivery of the same words, as a gateway has them
        if self.chance.random() < 0.2:
            again = await self.engine.plays.say(self.play_id, words, answer=answer)
            assert again.state == "duplicate"

    async def swipe(self) -> None:
        timeline = await self.engine.plays.timeline(self.play_id)
        if path := timeline.path():
            await self.engine.plays.swipe(self.play_id, self.chance.choice(path[-2:]).id, timeline.head)

    async def adopt(self) -> None:
        timeline = await self.engine.plays.timeline(self.play_id)
        if timeline.nodes:
            node = self.chance.choice(timeline.nodes)
            index = self.chance.randrange(len(node.variants))
            swiped = await self.engine.plays.adopt(self.play_id, node.id, index, timeline.head)
            promise("moved", self.play_id, swiped.session_id)

    async def rewind(self) -> None:
        timeline = await self.engine.plays.timeline(self.play_id)
        node = self.chance.choice([None, *timeline.path()[-3:]])
        rewound = await self.engine.plays.rewind(self.play_id, node.id if node else None, timeline.head)
        promise("moved", self.play_id, rewound.head.session_id)
        self.rewound = rewound

    async def undo(self) -> None:
        if self.rewound is not None:
            back, self.rewound = self.rewound, None
            await self.engine.plays.restore_head(self.play_id, back.previous, back.head)
            promise("moved", self.play_id, back.previous.session_id)


async def stories(engine: Engine) -> list[Playthrough]:
    found = list(await engine.plays.stories(OWNER))
    while len(found) < STORIES:
        data = (SAMPLES / "maren.json").read_bytes()
        card = await engine.library.import_card(OWNER, data, "maren.json", "ana")
        chosen = Selection(card_id=card.id)
        found.append(await engine.plays.create(owner=OWNER, created_by="ana", selection=chosen, title="Rain"))
    return found


def answered(ended: ExchangeEnded) -> None:
    if ended.variant_id is not None:
        promise("answered", ended.play_id, ended.variant_id)


async def main(database: Path, life: str) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    async with await Engine.open(settings(database, words_per_second=600)) as engine:
        engine.hooks.on("play/exchange-ended", answered, owner=Scope("player"))
        await engine.reconciler.recover(HOUR)
        players = [
            Player(engine, play.id, f"{life}-{n}", random.Random())
            for n, play in enumerate(await stories(engine))
        ]
        promise("ready")
        await asyncio.gather(*(player.play_on() for player in players))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
