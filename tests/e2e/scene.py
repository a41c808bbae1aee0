"""A table where a story is played: the people, the bot, the model, and what the thread shows.

story = await scene.open_story()               # Ana opens one with Mira, in #general
await story.say("Ana", "Hello.")
await story.answered("Welcome.")
assert story.lines() == ["Mira: The door is open.", "Ana: Hello.", "Mira: Welcome."]
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.client import Inglenook
from bot.pacing import Pace
from bot.sandbox.human import Human
from bot.sandbox.limits import Upload
from bot.sandbox.screen import InteractionResult, Shown
from bot.sandbox.wire import WireDiscord
from bot.settings import (
    AssemblySettings,
    AttachmentSettings,
    ModelSettings,
    NarratorSettings,
    PlaySettings,
    Settings,
    StorageSettings,
)
from engine.codec import dumps
from engine.play import Head
from tests.e2e.model import Model, serving
from tests.e2e.running import BRISK, Running, running_bot

__all__ = ["GREETINGS", "PEOPLE", "Scene", "Story", "card_json", "labels_of", "set_scene", "until"]

_BUTTON, _COMPONENT = 2, 3  # Discord's numbers for a button, and for an interaction with one
PEOPLE = ("Ana", "Ben", "Chen")
GREETINGS = ("The door is open.", "It rains. The door is shut.", "Mira sits on the roof, {{user}}.")


def card_json(name: str = "Mira", greetings: Sequence[str] = GREETINGS, **fields: Any) -> bytes:
    """A character card (V2) as people share them."""
    data: dict[str, Any] = {
        "name": name,
        "description": f"{name} keeps the inn at the crossing.",
        "personality": "dry, kind",
        "scenario": "A wet evening.",
        "first_mes": greetings[0],
        "alternate_greetings": list(greetings[1:]),
        "mes_example": "",
        "creator": "the tests",
        "tags": [],
        **fields,
    }
    return dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data})


class Scene:
    """Wire, bot and model of one test."""

    def __init__(self, wire: WireDiscord, running: Running, model: Model) -> None:
        self.wire = wire
        self.running = running
        self.model = model

    @property
    def bot(self) -> Inglenook:
        return self.running.bot

    def human(self, name: str) -> Human:
        return Human(self.wire, name)

    @property
    def owner(self) -> str:
        """The library of the server."""
        return f"guild:{next(iter(self.wire.world.guilds))}"

    async def card(self, name: str = "Mira", greetings: Sequence[str] = GREETINGS, **fields: Any) -> str:
        """A card in the server's library; its id."""
        data = card_json(name, greetings, **fields)
        row = await self.bot.engine.library.import_card(self.owner, data, f"{name}.json", "test")
        return row.id

    async def open_story(
        self, name: str = "Mira", *, who: str = "Ana", channel: str = "general", **fields: Any
    ) -> Story:
        """A story with a fresh card, opened by `/play new`."""
        await self.card(name, **fields)
        opened = await self.human(who).slash(channel, "play new", card=name)
        return self.story(opened)

    async def waits(self, story: Story, *texts: str) -> None:
        """Wait until exactly these words wait in the story, and are on disk."""
        binding = self.bot.bindings.of_channel(int(story.thread))
        assert binding is not None
        plays = self.bot.engine.plays

        async def wait() -> bool:
            session_id = await plays.current_session(await plays.get(binding.play_id))
            agents = self.bot.engine.agents
            agent = agents.get(session_id)
            if agent is None or texts != tuple(m["source"]["text"] for m in agent.inbox.next_turn):
                return False
            await agents.services.journal.secure(session_id)
            return True

        await until(wait)

    async def head(self) -> Head:
        """Where the only story stands."""
        (binding,) = self.bot.bindings.all()
        return (await self.bot.engine.plays.get(binding.play_id)).head

    async def asked(self, calls: int) -> None:
        """Wait until the model has been called so many times."""
        await until(lambda: len(self.model.calls) >= calls)

    async def known(self, play_id: str, exchanges: int) -> None:
        """Wait until the story's tree holds so many exchanges."""

        async def grown() -> bool:
            return len((await self.bot.engine.plays.timeline(play_id)).nodes) == exchanges

        await until(grown)

    async def quiet(self, story: Story) -> None:
        """Wait until the bot has looked at everything that was written in the story so far."""
        store = self.bot.engine.store
        people = [m for m in story.eyes.screen(story.thread) if not m.webhook and m.author in PEOPLE]
        last = max(int(m.id) for m in people)

        async def read() -> bool:
            row = await store.fetch_one("cursor_get", channel_id=int(story.thread))
            return row is not None and row["last_seen"] >= last

        await until(read)

    async def press_stale(self, who: str, message: Shown, custom_id: str) -> Shown:
        """Press a button of a message as it was shown once; a screen can be behind.

        Returns what the bot tells this person, and only this person.
        """
        person = self.human(who)
        place = self.wire.world.channels[message.channel_id]
        world = self.wire.world
        stands = world.messages.get(message.id) or world.ephemeral[message.id]
        record = {**stands, "components": message.raw["components"]}
        told = {shown.id for shown in person.screen(message.channel_id) if shown.ephemeral}
        data = {"component_type": _BUTTON, "custom_id": custom_id, "id": 1}
        self.wire.interactions.open(_COMPONENT, person.id, place, data, message=record)
        return await person.sees(message.channel_id, lambda m: m.ephemeral and m.id not in told)

    async def found_story(self, channel: str) -> Story:
        """The story that somebody else has opened in a channel."""
        world = self.wire.world
        parent = world.channel(channel)["id"]
        await until(lambda: world.threads_of(parent), timeout=20)
        story = Story(self, world.threads_of(parent)[0]["id"])
        await until(lambda: len(story.eyes.screen(story.thread)) >= 2, timeout=20)
        return story

    def story(self, opened: InteractionResult) -> Story:
        """The story that an answer of `/play new` names."""
        found = re.search(r"<#(\d+)>", opened.text)
        assert found is not None, f"no story was opened: {opened.text!r}"
        return Story(self, found[1])


class Story:
    """One story's thread."""

    def __init__(self, scene: Scene, thread: str) -> None:
        self.scene = scene
        self.thread = thread
        self.eyes = scene.human("Ana")

    # -- what stands there -------------------------------------------------------------------

    def messages(self) -> list[Shown]:
        """What everybody sees, without the top post, oldest first."""
        shown = [m for m in self.eyes.screen(self.thread) if m.kind in (0, 19) and not m.ephemeral]
        return shown[1:]

    def lines(self) -> list[str]:
        """The same as `Name: text`."""
        return [f"{m.author}: {m.text}" for m in self.messages()]

    def find(self, text: str) -> Shown:
        """The newest message with this text in it."""
        return next(m for m in reversed(self.messages()) if text in m.text)

    async def reads(self, *lines: str, timeout: float = 10.0) -> None:
        """Wait until the thread shows exactly these lines."""
        try:
            await self.eyes.wait_for(lambda: self.lines() == list(lines), timeout=timeout)
        except TimeoutError:
            assert self.lines() == list(lines)

    async def sees(self, text: str, timeout: float = 10.0) -> Shown:
        """Wait until a message with this text stands."""
        return await self.eyes.sees(self.thread, text, timeout=timeout)

    async def answered(self, text: str, count: str | None = None, timeout: float = 10.0) -> Shown:
        """Wait until an answer that contains the text is complete: its row stands under it."""

        def complete(message: Shown) -> bool:
            labels = labels_of(message)
            right = count is None or count in labels
            return text in message.text and "⟳" in labels and right and "▌" not in message.text

        return await self.eyes.sees(self.thread, complete, timeout=timeout)

    # -- what people do ------------------------------------------------------------------------

    async def say(self, who: str, text: str, *files: Upload) -> Shown:
        return await self.scene.human(who).say(self.thread, text, files)

    async def exchange(self, who: str, text: str, answer: str) -> Shown:
        """Somebody speaks and the model answers; the complete answer."""
        self.scene.model.will_say(answer)
        await self.say(who, text)
        return await self.answered(answer)

    async def press(self, which: str, *, on: Shown | None = None, who: str = "Ana") -> InteractionResult:
        """Press a button: on a message, or on the newest that has it, as soon as it is there."""
        if on is None:
            on = await self.eyes.sees(self.thread, lambda m: not m.ephemeral and which in labels_of(m))
        return await self.scene.human(who).click(on.id, which)

    async def menu(self, message: Shown, name: str, *, who: str = "Ana") -> InteractionResult:
        # People are slower than the disk: what they see has been written down by then.
        posts = self.scene.bot.outbox.posts
        await until(lambda: posts.by_message(int(message.id)) if message.webhook else True)
        return await self.scene.human(who).menu(message.id, name)


async def until(holds: Callable[[], Any], timeout: float = 10.0) -> None:
    """Wait until it holds; for what no event tells. An awaitable answer is awaited."""
    async with asyncio.timeout(timeout):
        while True:
            found = holds()
            if await found if inspect.isawaitable(found) else found:
                return
            await asyncio.sleep(0.01)


def labels_of(message: Shown) -> list[str]:
    """The labels of a message's buttons, the sign where there is no label."""
    return [button.label or button.emoji for button in message.buttons]


@asynccontextmanager
async def set_scene(
    wire: WireDiscord,
    folder: Path,
    *,
    pace: Pace = BRISK,
    narrator: bool = False,
    start: bool = True,
    play: PlaySettings | None = None,
    attachments: AttachmentSettings | None = None,
    assembly: AssemblySettings | None = None,
    **model_settings: Any,
) -> AsyncIterator[Scene]:
    """A running bot whose answers come from a scripted model server, or with `narrator` from that."""
    async with serving() as model:
        chosen = ModelSettings() if narrator else model.settings.model_copy(update=model_settings)
        settings = Settings(
            storage=StorageSettings(path=folder / "inglenook.db"),
            model=chosen,
            narrator=NarratorSettings(words_per_second=0),
            play=play or PlaySettings(),
            attachments=attachments or AttachmentSettings(),
            assembly=assembly or AssemblySettings(),
        )
        async with running_bot(wire, settings, pace=pace, start=start) as running:
            yield Scene(wire, running, model)
