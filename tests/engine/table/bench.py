"""A session whose model calls the table's tools, with dice that fall as the test says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.agent import Agent
from engine.codec import dumps
from engine.host import shelves
from engine.library import Library, Selection
from engine.play.exchange import spoken_message
from engine.play.model import Utterance
from engine.resources import Preset
from engine.table import TOOLS, Toolbox
from engine.tavern import ProfileLoader
from tests.engine.agent.harness import World, says
from tests.engine.agent.toolbench import answers, asks, results

__all__ = ["Falling", "Table"]

OWNER = "guild"


class Falling:
    """Dice that fall in the given order, and then always on their lowest face."""

    def __init__(self, *faces: int) -> None:
        self.faces = list(faces)
        self.asked: list[tuple[int, int]] = []

    def randint(self, low: int, high: int, /) -> int:
        self.asked.append((low, high))
        face = self.faces.pop(0) if self.faces else low
        assert low <= face <= high
        return face


class Table:
    """One agent, its library, and its dice."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.world = World(says("ok"))
        self.dice = Falling()
        services = self.world.services
        profiles = ProfileLoader(library, Preset("P", (), {}), self.world.owner)
        shelf_of = shelves(profiles, services.journal.sessions)
        self.toolbox = Toolbox(services.tools, services.hooks, library, self.world.owner, shelf_of, self.dice)
        self._calls = 0

    async def card(self, entries: Sequence[Mapping[str, Any]] = ()) -> str:
        """A card with a book of its own."""
        data: dict[str, Any] = {"name": "Mira", "first_mes": "Hello."}
        if entries:
            data["character_book"] = {"name": "Mira's book", "entries": [*map(_card_entry, entries)]}
        wire = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
        return (await self.library.import_card(OWNER, dumps(wire), "mira.json", "ana")).id

    async def book(self, name: str, entries: Iterable[Mapping[str, Any]]) -> str:
        """A world book of the library."""
        wire = {
            "name": name,
            "entries": {
                str(uid): {"uid": uid, "key": [], "comment": "", "disable": False, **entry}
                for uid, entry in enumerate(entries)
            },
        }
        return (await self.library.import_book(OWNER, dumps(wire), f"{name}.json", "ana")).id

    async def sit_down(self, *tools: str, session_id: str = "s", **selection: Any) -> Agent:
        """An agent that has these tools on, all of them when none is named."""
        chosen = Selection(tools=tools or TOOLS, **selection)
        await self.library.selections.set(session_id, chosen)
        return await self.world.agents.create(session_id)

    async def call(self, agent: Agent, tool: str, **arguments: Any) -> str:
        """What the model reads when it calls the tool; an error begins with `Error: `."""
        self._calls += 1
        call_id = f"call-{self._calls}"
        plan = [asks((call_id, tool, dumps(arguments).decode())), says("ok")]
        self.world.adapter.answers = plan
        self.world.adapter.requests.clear()
        await self.say(agent, f"(turn {self._calls})")
        return results(agent.session)[call_id]

    async def say(self, agent: Agent, text: str, who: str = "Ana", *, answer: str | None = None) -> None:
        """Somebody says something, and it is answered."""
        if answer is not None:
            self.world.adapter.answers = [says(answer)]
        words = Utterance(text, text, f"id-{who}", who, who)
        agent.followup(spoken_message(words, f"m-{agent.session.id}-{agent.session.seq}"))
        await agent.when_idle()

    @staticmethod
    def codes(agent: Agent) -> list[str | None]:
        return list(answers(agent.session).values())


def _card_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"keys": [], "insertion_order": 1, "enabled": True, "extensions": {}, **entry}
