"""Who may change which strategy, what they have changed of it so far, and saving it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import discord

from bot import rights
from bot.bindings import Bindings
from bot.excerpts import bare, one_line
from bot.i18n import t
from bot.stories import leads, library_owner
from bot.strategy.draft import Draft, Drafts
from bot.strategy.outlook import outlook
from bot.strategy.panel import StrategyView, strategy_name
from engine.assembler import Definition, KeptStrategy, Strategy
from engine.assembler.editing import change_strategy
from engine.errors import AssemblyError, InputError
from engine.host import Engine

__all__ = ["DraftKeeper"]


class DraftKeeper:
    """The drafts of all who edit strategies of one bot."""

    def __init__(self, engine: Engine, bindings: Bindings) -> None:
        self._engine = engine
        self._bindings = bindings
        self._store = engine.strategies.store
        self._drafts = Drafts(engine.store, self._store, engine.clock)

    async def draft(self, interaction: discord.Interaction, strategy_id: str, token: str = "") -> Draft:
        """What the person has made of a strategy so far. Raises InputError RESOURCE_CHANGED when it is not
        any more what they look at."""
        draft = await self._drafts.get(library_owner(interaction), interaction.user.id, strategy_id)
        if token and token != draft.token:
            raise InputError("The draft has changed meanwhile.", code="RESOURCE_CHANGED")
        return draft

    async def change(self, interaction: discord.Interaction, draft: Draft, strategy: Strategy) -> Draft:
        """Keep the next state of a draft; one that is as it began is none."""
        owner = library_owner(interaction)
        if strategy.revision == draft.kept.strategy.revision and not draft.gone:
            await self._drafts.drop(owner, interaction.user.id, draft.kept.id)
            return await self.draft(interaction, draft.kept.id)
        return await self._drafts.change(interaction.user.id, owner, draft, strategy)

    async def discard(self, interaction: discord.Interaction, draft: Draft) -> Draft:
        """Back to what is kept."""
        await self._drafts.drop(library_owner(interaction), interaction.user.id, draft.kept.id)
        return await self.draft(interaction, draft.kept.id)

    def sources(self) -> Mapping[str, Definition]:
        """The sources that there are now."""
        return self._engine.strategies.sources.capture()

    def advanced(self) -> bool:
        """Whether the advanced back end is switched on here."""
        return self._engine.strategies.advanced

    async def keep(
        self, interaction: discord.Interaction, draft: Draft, *, copy: bool = False
    ) -> tuple[KeptStrategy, bool]:
        """Save a draft, over the strategy or, where that cannot be changed or a `copy` is wanted, as a copy;
        whether it is one. The draft ends in the same unit.

        Raises Conflict STRATEGY_CHANGED when somebody saved another version meanwhile.
        """
        owner, kept = library_owner(interaction), draft.kept
        ends = self._drafts.saved(owner, interaction.user.id, draft)
        if copy or draft.gone or not self.may_change(interaction, kept):
            strategy = self._renamed(interaction, draft)
            return await self._store.create(owner, strategy, str(interaction.user.id), beside=[ends]), True
        made = await self._store.change(owner, kept.id, draft.strategy, expected=draft.base, beside=[ends])
        return made, False

    async def view(
        self,
        interaction: discord.Interaction,
        kept: KeptStrategy,
        note: str = "",
        hint: str = "",
        *,
        trying: Strategy | None = None,
    ) -> StrategyView:
        """Who looks at it, and where; with `trying` also what would happen with that."""
        binding = self._bindings.of_channel(interaction.channel_id or 0)
        applied, mine = None, False
        if binding is not None:
            play = await self._engine.plays.get(binding.play_id)
            applied = await self._engine.plays.strategy(binding.play_id)
            mine = leads(interaction, play)
        ahead, locale = "", str(interaction.locale)
        if trying is not None:
            play_id = binding.play_id if binding is not None and mine else None
            ahead = await outlook(self._engine, play_id, trying, locale)
        return StrategyView(
            locale,
            can_apply=mine,
            in_use=applied is not None and applied.id == kept.id,
            earlier=applied is not None and applied.strategy.revision != kept.strategy.revision,
            can_change=self.may_change(interaction, kept),
            note=note,
            hint=hint,
            outlook=ahead,
            sources=self._engine.strategies.sources.capture(),
        )

    async def changeable(self, interaction: discord.Interaction, strategy_id: str) -> KeptStrategy:
        """The strategy, if the person may change it. Raises InputError IMPORTER_ONLY."""
        kept = await self._store.get(library_owner(interaction), strategy_id)
        if not kept.built_in and not self.may_change(interaction, kept):
            raise InputError("Only whoever made it may do that.", code="IMPORTER_ONLY")
        return kept

    @staticmethod
    def may_change(interaction: discord.Interaction, kept: KeptStrategy) -> bool:
        """Whoever made it, and whoever looks after the library; nobody what came with the program."""
        mine = str(interaction.user.id) == kept.created_by
        return not kept.built_in and (mine or rights.manages(interaction))

    async def copy(
        self, interaction: discord.Interaction, strategy_id: str, name: str
    ) -> tuple[KeptStrategy, bool]:
        """A copy with what somebody has changed and not saved, which is gone from the draft then; whether
        there was such."""
        draft = await self.draft(interaction, strategy_id)
        owner, by = library_owner(interaction), interaction.user.id
        ends = self._drafts.saved(owner, by, draft)
        strategy = change_strategy(draft.strategy, name=name)
        return await self._store.create(owner, strategy, str(by), beside=[ends]), draft.unsaved

    async def delete(self, interaction: discord.Interaction, kept: KeptStrategy) -> None:
        """Delete it as it was looked at. What others have changed about it and not saved stays theirs.

        Raises as the store, with InputError STRATEGY_IN_USE_THERE where a channel can be named that uses it.
        """
        owner = library_owner(interaction)
        with self._told_where():
            await self._store.delete(owner, kept.id, expected=kept.strategy.revision)
        await self._drafts.drop(owner, interaction.user.id, kept.id)

    async def check_unused(self, kept: KeptStrategy) -> None:
        """Raises as `delete` where a story uses it."""
        with self._told_where():
            await self._store.check_unused(kept.id)

    @contextmanager
    def _told_where(self) -> Iterator[None]:
        try:
            yield
        except AssemblyError as error:
            bindings = [self._bindings.of_play(play_id) for play_id in error.data.get("stories", ())]
            places = ", ".join(f"<#{binding.channel_id}>" for binding in bindings if binding is not None)
            if not places:
                raise
            raise InputError("Stories use it.", code="STRATEGY_IN_USE_THERE", places=places) from error

    @staticmethod
    def _renamed(interaction: discord.Interaction, draft: Draft) -> Strategy:
        """A copy is told apart by its name, unless somebody gave it another one already."""
        strategy, kept = draft.strategy, draft.kept
        if draft.gone or strategy.name != kept.strategy.name:
            return strategy
        name = bare(strategy_name(kept, str(interaction.locale)))
        name = t(interaction.locale, "strategy.copy_of", name=one_line(name, 150))
        return change_strategy(strategy, name=name)
