"""`/strategy`: what of a story goes where in a request, chosen, looked at and changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import discord
from discord import app_commands
from discord.ext import commands

from bot.browse import Browser, Entry, Source, Spot
from bot.choices import made_apart
from bot.client import Inglenook
from bot.excerpts import plain
from bot.handout import hand_out
from bot.i18n import label, t
from bot.press import Handler, PressCog, button, row
from bot.previewdesk import PreviewDesk
from bot.sheet import DANGER
from bot.stories import library_owner
from bot.strategy.desk import StrategyDesk
from bot.strategy.draft import token_of
from bot.strategy.keeper import DraftKeeper
from bot.strategy.option import StrategyOption, strategy_meant, told_by, twins_among
from bot.strategy.outlook import culprit, undone, with_refusal
from bot.strategy.panel import strategy_line, strategy_name, strategy_panel
from bot.uploads import read_upload, refused
from engine.assembler import DEFAULT_STRATEGY, Applied, KeptStrategy, Strategy, strategy_from_bytes
from engine.assembler.editing import change_strategy
from engine.errors import AssemblyError, Conflict, InputError
from engine.library.shelf import fold

__all__ = ["StrategyCog", "setup"]

_NAME = 120  # characters of a name that a message shows
_FILENAME = re.compile(r"[^\w .()-]+")
_MOST_BYTES = 2 * 1024 * 1024  # of a file: what one strategy may take


class _Strategies(Source[KeptStrategy]):
    """The strategies that came with the program, then those of the library here."""

    noun = "strategy"

    def __init__(self, cog: StrategyCog) -> None:
        self._cog = cog
        self._twins: frozenset[str] = frozenset()

    async def things(self, interaction: discord.Interaction, spot: Spot) -> Sequence[KeptStrategy]:
        kept = await self._cog.store.list(library_owner(interaction))
        locale = str(interaction.locale)
        self._twins = twins_among(kept, locale)
        return [each for each in kept if fold(spot.search) in fold(strategy_name(each, locale))]

    def entry(self, thing: KeptStrategy, locale: str) -> Entry:
        twin, text = thing.id in self._twins, strategy_line(thing, locale)
        if twin:
            text += f" · {made_apart(thing.created_at, thing.id)}"
        return Entry(thing.id, text, told_by(thing, locale, twin=twin))

    async def open(self, interaction: discord.Interaction, spot: Spot, thing_id: str) -> None:
        await self._cog.show_strategy(interaction, thing_id)


class StrategyCog(
    PressCog,
    commands.GroupCog,
    group_name=label("commands.strategy.name"),
    group_description=label("commands.strategy.description"),
):
    """Strategies belong to the library of the server; whoever made one, or manages the server, changes it.
    Which one a story uses is up to whoever began it and to moderators."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses
        engine = bot.engine
        self.store = engine.strategies.store
        self.keeper = DraftKeeper(engine, bot.bindings)
        self.browser: Browser[KeptStrategy] = Browser(_Strategies(self))
        self.previews = PreviewDesk(bot.engine, bot.stories, self.store)
        self.desk = StrategyDesk(self.keeper, self.previews)

    def presses_served(self) -> Mapping[str, Handler]:
        return {
            **self.browser.presses(),
            **self.desk.presses(),
            **self.previews.presses(),
            "strategy-show": self._show_here,
            "strategy-apply": self._apply_here,
            "strategy-export": self._export_here,
            "strategy-delete": self._delete_here,
            "strategy-delete-yes": self._delete_confirmed,
            "strategy-delete-no": self._delete_refused,
        }

    # -- commands ----------------------------------------------------------------------------------

    @app_commands.command(
        name=label("commands.strategy.list.name"), description=label("commands.strategy.list.description")
    )
    async def list(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.browser.send(interaction)

    @app_commands.command(
        name=label("commands.strategy.show.name"), description=label("commands.strategy.show.description")
    )
    @app_commands.rename(strategy=label("commands.strategy.options.strategy.name"))
    @app_commands.describe(strategy=label("commands.strategy.options.mine.description"))
    async def show(self, interaction: discord.Interaction, strategy: StrategyOption | None = None) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self.show_strategy(interaction, await self._meant(interaction, strategy))

    @app_commands.command(
        name=label("commands.strategy.apply.name"), description=label("commands.strategy.apply.description")
    )
    @app_commands.rename(strategy=label("commands.strategy.options.strategy.name"))
    @app_commands.describe(strategy=label("commands.strategy.options.strategy.description"))
    async def apply(self, interaction: discord.Interaction, strategy: StrategyOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._use(interaction, (await strategy_meant(interaction, strategy)).id)

    @app_commands.command(
        name=label("commands.strategy.off.name"), description=label("commands.strategy.off.description")
    )
    async def off(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.led_here(interaction)
        await self.bot.engine.plays.use_strategy(play.id, None)
        await interaction.followup.send(t(interaction.locale, "strategy.none_now"), ephemeral=True)

    @app_commands.command(
        name=label("commands.strategy.preview.name"),
        description=label("commands.strategy.preview.description"),
    )
    @app_commands.rename(strategy=label("commands.strategy.options.strategy.name"))
    @app_commands.describe(strategy=label("commands.strategy.options.mine.description"))
    async def preview(self, interaction: discord.Interaction, strategy: StrategyOption | None = None) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        kept = None if strategy is None else await strategy_meant(interaction, strategy)
        await self.previews.show(interaction, kept)

    @app_commands.command(
        name=label("commands.strategy.edit.name"), description=label("commands.strategy.edit.description")
    )
    @app_commands.rename(strategy=label("commands.strategy.options.strategy.name"))
    @app_commands.describe(strategy=label("commands.strategy.options.mine.description"))
    async def edit(self, interaction: discord.Interaction, strategy: StrategyOption | None = None) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        strategy_id = await self._meant(interaction, strategy)
        view = await self.desk.panel(interaction, await self.keeper.draft(interaction, strategy_id))
        await interaction.followup.send(view=view, ephemeral=True)

    @app_commands.command(
        name=label("commands.strategy.save-as.name"),
        description=label("commands.strategy.save-as.description"),
    )
    @app_commands.rename(
        name=label("commands.strategy.save-as.options.name.name"),
        strategy=label("commands.strategy.options.strategy.name"),
    )
    @app_commands.describe(
        name=label("commands.strategy.save-as.options.name.description"),
        strategy=label("commands.strategy.options.mine.description"),
    )
    async def save_as(
        self,
        interaction: discord.Interaction,
        name: app_commands.Range[str, 1, _NAME],
        strategy: StrategyOption | None = None,
    ) -> None:
        """What somebody has changed and not saved goes into the copy, and is gone from the draft."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        applied = await self._applied(interaction) if strategy is None else None
        changed = False
        if applied is not None and await self._lost(interaction, applied):
            made = await self._create(interaction, change_strategy(applied.strategy, name=name))
        else:
            meant = await self._meant(interaction, strategy)
            made, changed = await self.keeper.copy(interaction, meant, name)
        note = t(interaction.locale, "strategy.copied_draft" if changed else "strategy.copied")
        await self.show_strategy(interaction, made.id, note, t(interaction.locale, "strategy.copied_hint"))

    @app_commands.command(
        name=label("commands.strategy.import.name"), description=label("commands.strategy.import.description")
    )
    @app_commands.rename(file=label("commands.strategy.import.options.file.name"))
    @app_commands.describe(file=label("commands.strategy.import.options.file.description"))
    async def import_(self, interaction: discord.Interaction, file: discord.Attachment) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        upload = await read_upload(file, _MOST_BYTES)
        try:
            strategy = strategy_from_bytes(upload.body)
        except AssemblyError as error:
            if error.error_code not in ("STRATEGY_INVALID", "HISTORY_POLICY_INVALID"):
                raise
            raise await refused(error, upload, "strategy", interaction.locale) from error
        made = await self._create(interaction, strategy)
        note = t(interaction.locale, "strategy.imported")
        try:
            self.bot.engine.strategies.check(strategy)
        except AssemblyError as error:
            note += f"\n{undone(strategy, error, str(interaction.locale))}"
        await self.show_strategy(interaction, made.id, note)

    @app_commands.command(
        name=label("commands.strategy.export.name"), description=label("commands.strategy.export.description")
    )
    @app_commands.rename(strategy=label("commands.strategy.options.strategy.name"))
    @app_commands.describe(strategy=label("commands.strategy.options.strategy.description"))
    async def export(self, interaction: discord.Interaction, strategy: StrategyOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._hand_out(interaction, await strategy_meant(interaction, strategy))

    @app_commands.command(
        name=label("commands.strategy.delete.name"), description=label("commands.strategy.delete.description")
    )
    @app_commands.rename(strategy=label("commands.strategy.options.strategy.name"))
    @app_commands.describe(strategy=label("commands.strategy.options.strategy.description"))
    async def delete(self, interaction: discord.Interaction, strategy: StrategyOption) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._ask_delete(interaction, await strategy_meant(interaction, strategy))

    # -- buttons -----------------------------------------------------------------------------------

    async def _show_here(self, interaction: discord.Interaction, strategy_id: str) -> None:
        await interaction.response.defer()
        kept = await self.store.get(library_owner(interaction), strategy_id)
        view = strategy_panel(kept, await self.keeper.view(interaction, kept))
        await interaction.edit_original_response(view=view, attachments=[])

    async def _apply_here(self, interaction: discord.Interaction, strategy_id: str, token: str = "") -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._use(interaction, strategy_id, token)

    async def _export_here(self, interaction: discord.Interaction, strategy_id: str) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._hand_out(interaction, await self.store.get(library_owner(interaction), strategy_id))

    async def _delete_here(
        self, interaction: discord.Interaction, strategy_id: str, _token: str = ""
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._ask_delete(interaction, await self.store.get(library_owner(interaction), strategy_id))

    async def _delete_confirmed(
        self, interaction: discord.Interaction, strategy_id: str, token: str = ""
    ) -> None:
        await interaction.response.defer()
        kept = _looked_at(await self.keeper.changeable(interaction, strategy_id), token)
        await self.keeper.delete(interaction, kept)
        await self._answered(interaction, "strategy.deleted", kept)

    async def _delete_refused(self, interaction: discord.Interaction, strategy_id: str) -> None:
        await interaction.response.defer()
        kept = await self.store.get(library_owner(interaction), strategy_id)
        await self._answered(interaction, "strategy.kept", kept)

    # -- inside ------------------------------------------------------------------------------------

    async def show_strategy(
        self, interaction: discord.Interaction, strategy_id: str, note: str = "", hint: str = ""
    ) -> None:
        """The panel as a new message."""
        kept = await self.store.get(library_owner(interaction), strategy_id)
        view = strategy_panel(kept, await self.keeper.view(interaction, kept, note, hint))
        await interaction.followup.send(view=view, ephemeral=True)

    async def _meant(self, interaction: discord.Interaction, text: str | None) -> str:
        """The id of a strategy that was named; without a name the one of the story here, else that which
        new stories begin with."""
        if text is not None:
            return (await strategy_meant(interaction, text)).id
        binding = self.bot.bindings.of_channel(interaction.channel_id or 0)
        if binding is not None:
            applied = await self.bot.engine.plays.strategy(binding.play_id)
            if applied is None:
                raise InputError("The story uses no strategy.", code="STRATEGY_NONE_HERE")
            if await self._lost(interaction, applied):
                name = plain(applied.strategy.name, _NAME)
                raise InputError("The story has the only copy.", code="STRATEGY_GONE_HERE", name=name)
            return applied.id
        return DEFAULT_STRATEGY

    async def _applied(self, interaction: discord.Interaction) -> Applied | None:
        """What the story here uses; None where there is no story, or none is used."""
        binding = self.bot.bindings.of_channel(interaction.channel_id or 0)
        return None if binding is None else await self.bot.engine.plays.strategy(binding.play_id)

    async def _lost(self, interaction: discord.Interaction, applied: Applied) -> bool:
        """Whether the story here goes on with what somebody has deleted: it comes by such a one when it goes
        back to an answer of another time."""
        try:
            await self.store.get(library_owner(interaction), applied.id)
        except AssemblyError:
            return True
        return False

    async def _create(self, interaction: discord.Interaction, strategy: Strategy) -> KeptStrategy:
        return await self.store.create(library_owner(interaction), strategy, str(interaction.user.id))

    async def _use(self, interaction: discord.Interaction, strategy_id: str, token: str = "") -> None:
        """Let the story here use it; with a token only the version that somebody looked at."""
        play = await self.bot.stories.led_here(interaction)
        kept = _looked_at(await self.store.get(library_owner(interaction), strategy_id), token)
        expected = kept.strategy.revision if token else None
        try:
            await self.bot.engine.plays.use_strategy(play.id, kept.id, expected=expected)
        except AssemblyError as error:
            if culprit(kept.strategy, error, str(interaction.locale)) is None:
                raise
            why = undone(kept.strategy, error, str(interaction.locale))
            await interaction.followup.send(why, ephemeral=True)
            return
        locale = str(interaction.locale)
        text = t(locale, "strategy.applied", name=strategy_name(kept, locale))
        text = await with_refusal(text, self.bot.engine, play.id, locale)
        again = button("strategy-preview", label=t(locale, "button.preview"))
        await interaction.followup.send(text, view=row(again), ephemeral=True)

    async def _hand_out(self, interaction: discord.Interaction, kept: KeptStrategy) -> None:
        name = _FILENAME.sub("_", kept.strategy.name).strip("_ .")[:60] or kept.id
        await hand_out(interaction, kept.strategy.to_bytes(), f"{name}.json")

    async def _ask_delete(self, interaction: discord.Interaction, kept: KeptStrategy) -> None:
        if kept.built_in:
            raise AssemblyError("Built-in strategies stay.", code="STRATEGY_READ_ONLY")
        found = await self.keeper.changeable(interaction, kept.id)
        await self.keeper.check_unused(found)
        locale, token = interaction.locale, token_of(found.strategy)
        view = row(
            button("strategy-delete-yes", found.id, token, label=t(locale, "button.delete"), style=DANGER),
            button("strategy-delete-no", found.id, label=t(locale, "button.keep")),
        )
        text = t(locale, "strategy.delete_confirm", name=strategy_name(found, str(locale)))
        await interaction.followup.send(text, view=view, ephemeral=True)

    async def _answered(self, interaction: discord.Interaction, key: str, kept: KeptStrategy) -> None:
        text = t(interaction.locale, key, name=strategy_name(kept, str(interaction.locale)))
        await interaction.edit_original_response(content=text, view=None)


def _looked_at(kept: KeptStrategy, token: str) -> KeptStrategy:
    """The strategy, if it is the version that a button was made for. Raises Conflict STRATEGY_CHANGED."""
    if token and token_of(kept.strategy) != token:
        raise Conflict("Somebody saved another version meanwhile.", code="STRATEGY_CHANGED")
    return kept


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(StrategyCog(bot))
