"""One engine, built from its settings: the only place that wires parts together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from engine.agent import Agents, Compactor, PictureFallback, Services, SystemPrompt, now_ms
from engine.assembler import AssemblyStore, Strategy
from engine.errors import NotFound
from engine.hooks import Hooks, Scope
from engine.library import Library, LibraryLimits, Selection
from engine.llm import Adapter, CallConfig, Llm, RetryPolicy
from engine.play import Attachments, Inheritance, Plays, Reconciler, SummedUp, Utterance, sum_up
from engine.play.exchange import spoken_message
from engine.resources import Preset
from engine.session import Journal, Sessions, StrictValidator, offload_images
from engine.storage import EventTable, Store
from engine.strategies import (
    APPLIED,
    ActualRequest,
    ActualRequests,
    Comparisons,
    HistoryPolicies,
    Preview,
    Previews,
    Strategies,
    Wanted,
)
from engine.table import Shelf, ShelfSource, Toolbox
from engine.tavern import (
    LoreTrial,
    LoreTrials,
    ModelFacts,
    PresetParameters,
    ProfileLoader,
    ProfileSection,
    ScriptRunner,
    Watches,
    greeting_text,
)

__all__ = ["Engine", "EngineSettings", "shelves"]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine needs to know. `defaults` is the call configuration before any preset speaks;
    `max_waiting` is how many messages may wait in one story; `picture_bytes` what the pictures of all
    stories of one library may take; `max_stories` how many stories of one library are open at a time;
    `advanced_assembly` allows strategies of the advanced back end."""

    database: Path
    adapter: Adapter
    defaults: CallConfig
    builtin_preset: Preset
    limits: LibraryLimits
    retry: RetryPolicy | None = None
    max_waiting: int = 32
    picture_bytes: int = 1024 * 1024 * 1024
    max_stories: int = 2_048
    advanced_assembly: bool = False


@dataclass(slots=True)
class Engine:
    """Everything that the floors above call. `async with` it, or `aclose` it."""

    store: Store
    hooks: Hooks
    agents: Agents
    library: Library
    plays: Plays
    reconciler: Reconciler
    compactor: Compactor
    journal: Journal
    llm: Llm
    watches: Watches
    scripts: ScriptRunner
    profiles: ProfileLoader
    trials: LoreTrials
    strategies: Strategies
    previews: Previews
    comparisons: Comparisons
    requests: ActualRequests
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
            sessions.register_projection("image/offload", offload_images)
            journal = Journal(sessions, EventTable(store), clock=clock)
            stack.push_async_callback(journal.aclose)
            prompt = SystemPrompt(hooks)
            library = Library(store, settings.limits)
            attachments = Attachments(store, settings.picture_bytes)
            parameters = PresetParameters(hooks, llm, settings.defaults, owner)
            watches = Watches(hooks)
            scripts = ScriptRunner(library, hooks, watches, owner)
            called = settings.defaults

            def model() -> ModelFacts:
                info = llm.model_info(called.provider, called.model)
                return ModelFacts(
                    called.model,
                    info.context_window,
                    called.max_tokens or info.max_output,
                    info.system_prompt_update == "in-history",
                    info.tool_update == "in-history",
                )

            profiles = ProfileLoader(
                library, settings.builtin_preset, owner, watches=watches, scripts=scripts, model=model
            )
            strategies = Strategies(
                AssemblyStore(store, clock),
                hooks,
                owner,
                scripts=scripts,
                advanced=settings.advanced_assembly,
            )
            sections = ProfileSection(
                profiles, hooks, prompt, parameters, library.variables, owner, strategies.placed
            )
            strategies.bind(sections)
            HistoryPolicies(hooks, strategies, owner)
            services = Services(hooks, journal, llm, prompt, settings.defaults, clock=clock)
            services.pictures = attachments.read
            Toolbox(services.tools, hooks, library, owner, shelves(profiles, sessions))
            agents = Agents(services)
            stack.push_async_callback(agents.aclose)
            PictureFallback(hooks, owner)
            compactor = Compactor(agents.services, owner)
            Inheritance(hooks, library.selections, strategies, owner)
            plays = Plays(
                store,
                agents,
                library.selections,
                hooks,
                clock,
                settings.max_waiting,
                attachments,
                strategies,
                settings.max_stories,
            )
            return cls(
                store=store,
                hooks=hooks,
                agents=agents,
                library=library,
                plays=plays,
                reconciler=Reconciler(plays, owner),
                compactor=compactor,
                journal=journal,
                llm=llm,
                watches=watches,
                scripts=scripts,
                profiles=profiles,
                trials=LoreTrials(journal, profiles),
                strategies=strategies,
                requests=ActualRequests(journal, hooks, strategies, owner),
                previews=Previews(services, strategies, sections, parameters, scripts, model),
                comparisons=Comparisons(journal, profiles, parameters, scripts, model),
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
            greeting_text(card, index, await self.user_name(selection) or "you", seed=selection.seed)
            for index in range(len(card.greetings))
        ]
        return texts, min(selection.greeting_index, max(0, len(texts) - 1))

    async def sum_up(self, play_id: str) -> SummedUp | None:
        """Sum up all but the newest of a story. As `engine.play.sum_up`."""
        return await sum_up(self.plays, self.compactor, play_id)

    async def user_name(self, selection: Selection) -> str:
        """Whom `{{user}}` names: the persona that is bound to the story, else who opened it."""
        bound = selection.persona_id
        stored = await self.library.personas.find(bound) if bound is not None else None
        return selection.user_name if stored is None else stored.persona.name

    async def try_lore(self, play_id: str, words: Utterance, *, history: bool = True) -> LoreTrial:
        """What of its world books these words would wake in a story if they were said now. None are said."""
        play = await self.plays.get(play_id)
        message = spoken_message(words, "trial")
        return await self.trials.in_session(play.head.session_id, message, history=history)

    async def preview(
        self,
        play_id: str,
        words: Utterance | None = None,
        *,
        strategy: Strategy | Wanted | None = APPLIED,
    ) -> Preview:
        """What would be sent in a story if these words were said now. None are said. As `Previews.of`."""
        play = await self.plays.get(play_id)
        said = [spoken_message(words, "preview")] if words is not None else []
        return await self.previews.of(play.head.session_id, said, strategy)

    async def check_sendable(self, play_id: str, *, strategy: Strategy | Wanted | None = APPLIED) -> None:
        """Raises what would end the next step of a story, whatever is said then: some refusals hang on there
        being new words, which a preview of the story as it stands has none of."""
        words = Utterance(key="probe", text="…", author_id="0", author_name="…", persona_name="…")
        await self.preview(play_id, words, strategy=strategy)

    async def as_sillytavern(self, play_id: str, words: Utterance | None = None) -> Preview:
        """What SillyTavern would send in a story if these words were said now. As `Comparisons.of`."""
        play = await self.plays.get(play_id)
        said = [spoken_message(words, "preview")] if words is not None else []
        return await self.comparisons.of(play.head.session_id, said)

    async def actual_request(
        self,
        play_id: str,
        node_id: str | None = None,
        variant_id: str | None = None,
    ) -> ActualRequest | None:
        """What an answer was written to, as its log proves it: the last request of its turn. Without
        `variant_id` it is the answer that stands in the exchange; without `node_id` the newest request of the
        story's head, None when it has sent none. `requests.of_answer` tells the other requests at its place.

        Raises PlayError PLAY_NODE_UNKNOWN, PLAY_VARIANT_UNKNOWN.
        """
        if node_id is None:
            play = await self.plays.get(play_id)
            return await self.requests.of(play.head.session_id)
        answer = await self.plays.variant(play_id, node_id, variant_id)
        return await self.requests.of_answer(answer.session_id, answer.start_seq, answer.end_seq)

    async def persona_name(self, user_id: int | str, fallback: str) -> str:
        """Who a person plays: the name of their persona, else `fallback`."""
        stored = await self.library.personas.active(str(user_id))
        return stored.persona.name if stored is not None else fallback


def shelves(profiles: ProfileLoader, sessions: Sessions) -> ShelfSource:
    """The books of live sessions for the table's tools: those that the profile of each is made of."""

    async def shelf_of(session_id: str) -> Shelf:
        session = sessions.get(session_id)
        if session is None:
            return Shelf(())
        request = await profiles.request(session)
        books = tuple(book.book for book in request.books)
        card = request.card
        if card is not None and card.book is not None:
            books = (*books, card.book)
        usual = Shelf(())
        return Shelf(
            books,
            request.persona.name if request.persona is not None else usual.user,
            card.speaker if card is not None else usual.char,
        )

    return shelf_of
