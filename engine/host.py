"""One engine, built from its settings: the only place that wires parts together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from engine.agent import Agents, Compactor, Services, SystemPrompt, now_ms
from engine.errors import NotFound
from engine.hooks import Hooks, Scope
from engine.library import Library, LibraryLimits
from engine.llm import Adapter, CallConfig, Llm, RetryPolicy
from engine.play import Plays, Reconciler
from engine.resources import Preset
from engine.session import Journal, Sessions, StrictValidator
from engine.storage import EventTable, Store
from engine.tavern import PresetParameters, ProfileLoader, greeting_text

__all__ = ["Engine", "EngineSettings"]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine needs to know. `defaults` is the call configuration before any preset speaks;
    `max_waiting` is how many messages may wait in one story."""

    database: Path
    adapter: Adapter
    defaults: CallConfig
    builtin_preset: Preset
    limits: LibraryLimits
    retry: RetryPolicy | None = None
    max_waiting: int = 32


@dataclass(slots=True)
class Engine:
    """Everything that the floors above call. `async with` it, or `aclose` it."""

    store: Store
    hooks: Hooks
    agents: Agents
    library: Library
    plays: Plays
    reconciler: Reconciler
    journal: Journal
    llm: Llm
    defaults: CallConfig
    clock: Callable[[], int]
    _closing: AsyncExitStack

    @classmethod
    async def open(cls, settings: EngineSettings, *, clock: Callable[[], int] = now_ms) -> Engine:
        """Open the database and build what stands on it. Raises StorageError; then nothing stays open."""
        async with AsyncExitStack() as stack:
            owner = Scope("engine")
            stack.push_async_callback(owner.aclose)
            store = await Store.open(settings.database)
            stack.push_async_callback(store.aclose)
            llm = Llm()
            stack.push_async_callback(llm.aclose)
            llm.register(settings.adapter, retry_policy=settings.retry)
            hooks = Hooks()
            sessions = Sessions(validators=[StrictValidator], clock=clock)
            journal = Journal(sessions, EventTable(store), clock=clock)
            stack.push_async_callback(journal.aclose)
            prompt = SystemPrompt(hooks)
            library = Library(store, settings.limits)
            parameters = PresetParameters(hooks, llm, settings.defaults, owner)
            ProfileLoader(library, prompt, parameters, settings.builtin_preset, owner)
            agents = Agents(Services(hooks, journal, llm, prompt, settings.defaults, clock=clock))
            stack.push_async_callback(agents.aclose)
            Compactor(agents.services, owner)
            plays = Plays(store, agents, library.selections, hooks, clock, settings.max_waiting)
            return cls(
                store=store,
                hooks=hooks,
                agents=agents,
                library=library,
                plays=plays,
                reconciler=Reconciler(plays, owner),
                journal=journal,
                llm=llm,
                defaults=settings.defaults,
                clock=clock,
                _closing=stack.pop_all(),
            )

    async def aclose(self) -> None:
        """Stop every agent, write what is pending, close the database. What runs ends as disposed."""
        await self._closing.aclose()

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def greetings(self, play_id: str) -> tuple[Sequence[str], int]:
        """The card's greetings as they are shown, and which one is chosen. Empty when the card is gone."""
        play = await self.plays.get(play_id)
        selection = await self.plays.selection(play_id)
        try:
            card = await self.library.card(play.card_id)
        except NotFound:
            return (), 0
        texts = [
            greeting_text(card, index, selection.user_name or "you", seed=selection.seed)
            for index in range(len(card.greetings))
        ]
        return texts, min(selection.greeting_index, max(0, len(texts) - 1))

    async def persona_name(self, user_id: int | str, fallback: str) -> str:
        """Who a person plays: the name of their persona, else `fallback`."""
        stored = await self.library.persona_get(str(user_id))
        return stored.persona.name if stored is not None else fallback
