"""`/play`: open a story, look at it, end it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import discord
from discord import app_commands
from discord.ext import commands

from bot import failures, rows
from bot.choices import CardOption, choice_name, resolve
from bot.client import Inglenook
from bot.excerpts import one_line, plain
from bot.i18n import label, t
from bot.press import Handler, PressCog
from bot.stories import StoryParent, check_owner, owner_of
from bot.venues import story_parent
from engine.errors import EngineError, PlayError
from engine.library import ResourceRow
from engine.play import Playthrough

__all__ = ["Play", "setup"]

_CHOICES = 25  # what Discord shows in one list
_DESCRIPTION = 100  # characters of a line under a choice
_NAME = 100  # characters of a name in our lines


class Play(
    PressCog,
    commands.GroupCog,
    group_name=label("commands.play.name"),
    group_description=label("commands.play.description"),
):
    """Stories."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot
        self.presses = bot.presses

    def presses_served(self) -> Mapping[str, Handler]:
        return {"end-yes": self._end_confirmed, "sum-stop": self._summary_stopped}

    @app_commands.command(
        name=label("commands.play.new.name"), description=label("commands.play.new.description")
    )
    @app_commands.rename(
        card=label("commands.play.new.options.card.name"),
        title=label("commands.play.new.options.title.name"),
    )
    @app_commands.describe(
        card=label("commands.play.new.options.card.description"),
        title=label("commands.play.new.options.title.description"),
    )
    @app_commands.guild_only()
    async def new(
        self, interaction: discord.Interaction, card: CardOption | None = None, title: str | None = None
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        parent = story_parent(interaction)
        if card is not None:
            meant: ResourceRow | None = await resolve(interaction, "card", card)
        else:
            meant = await self._default_card(parent)
        if meant is not None:
            await self.open(interaction, parent, meant, title)
            return
        cards = await self.bot.engine.library.search(owner_of(parent.guild, 0), "card", limit=_CHOICES)
        if not cards:
            await interaction.followup.send(t(interaction.locale, "card.list_empty"), ephemeral=True)
            return
        view = _Gallery(self, parent, cards, title, str(interaction.locale))
        await interaction.followup.send(t(interaction.locale, "play.choose_card"), view=view, ephemeral=True)

    async def _default_card(self, parent: StoryParent) -> ResourceRow | None:
        """The card that stories in this channel start with, unless it has left the library."""
        guild = parent.guild
        return await self.bot.stories.beginnings.card(owner_of(guild, 0), guild.id, parent.id)

    @app_commands.command(
        name=label("commands.play.info.name"), description=label("commands.play.info.description")
    )
    async def info(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.here(interaction.channel_id)
        text = await self._info(play, str(interaction.locale))
        await interaction.followup.send(text, ephemeral=True)

    @app_commands.command(
        name=label("commands.play.summarize.name"), description=label("commands.play.summarize.description")
    )
    async def summarize(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.led_here(interaction)
        locale = interaction.locale
        # A model may take a minute over it; whoever waits sees that, and can stop it.
        await interaction.edit_original_response(
            content=t(locale, "play.summarizing"), view=rows.stop_row(play.id, str(locale), op="sum-stop")
        )
        try:
            done = await self.bot.engine.sum_up(play.id)
        except EngineError:
            await failures.dismiss(interaction)
            raise
        text = t(locale, "play.summarize_nothing")
        if done is not None:
            text = t(locale, "play.summarized", n=done.messages, before=done.before, after=done.after)
        await interaction.edit_original_response(content=text, view=None)

    async def _summary_stopped(self, interaction: discord.Interaction, play_id: str) -> None:
        await interaction.response.defer()
        play = await self.bot.engine.plays.get(play_id)
        check_owner(interaction, play)
        await self.bot.engine.plays.stop(play_id)

    @app_commands.command(
        name=label("commands.play.end.name"), description=label("commands.play.end.description")
    )
    async def end(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.led_here(interaction)
        await interaction.followup.send(
            t(interaction.locale, "play.end_confirm", title=plain(play.title, _NAME)),
            view=rows.confirm_row("end-yes", (play.id,), str(interaction.locale)),
            ephemeral=True,
        )

    async def _end_confirmed(self, interaction: discord.Interaction, play_id: str) -> None:
        await interaction.response.defer()
        channel_id = _channel_id(interaction)
        play = await self.bot.stories.here(channel_id)
        if play.id != play_id:
            raise PlayError("The story has moved on meanwhile.", code="PLAY_HEAD_MOVED")
        check_owner(interaction, play)
        await self.bot.stories.end(channel_id)
        await self.bot.stage.close(play_id)
        locale = self.bot.stage.locale(channel_id)
        await self.bot.outbox.notice(
            channel_id,
            t(locale, "play.ended", title=plain(play.title, _NAME)),
            key=f"end:{play.id}",
            play_id=play.id,
        )
        await failures.dismiss(interaction)

    async def open(
        self,
        interaction: discord.Interaction,
        parent: StoryParent,
        card: ResourceRow,
        title: str | None,
    ) -> None:
        """Open the story and say where it is. The interaction has been deferred."""
        opened = await self.bot.stories.open(
            parent,
            card,
            user_id=interaction.user.id,
            user_name=interaction.user.display_name,
            title=title,
        )
        await interaction.edit_original_response(
            content=t(interaction.locale, "play.opened", thread=opened.thread.mention), view=None
        )

    async def _info(self, play: Playthrough, locale: str) -> str:
        engine = self.bot.engine
        timeline = await engine.plays.timeline(play.id)
        selection = await engine.plays.selection(play.id)
        face = await self.bot.faces.of_play(play.id)
        preset = t(locale, "preset.builtin")
        if selection.preset_id is not None:
            preset = (await engine.library.preset(selection.preset_id)).name
        path = timeline.path()
        players: dict[str, None] = {}
        for node in path:
            for words in (await engine.plays.text(node.adopted)).inputs:
                players.setdefault(words.persona_name)
        agent = engine.agents.get(await engine.plays.current_session(play))
        waiting = len(agent.inbox.next_turn) if agent is not None else 0
        lines = [
            f"### {t(locale, 'play.info_title', title=plain(play.title, _NAME))}",
            t(locale, "play.info_cast", name=plain(face.name, _NAME)),
            t(locale, "play.info_preset", name=plain(preset, _NAME)),
            t(locale, "play.info_offline")
            if engine.defaults.provider == "narrator"
            else t(locale, "play.info_model", name=engine.defaults.model),
            t(locale, "play.info_exchanges", n=len(path)),
        ]
        if players:
            lines.append(
                t(locale, "play.info_players", names=", ".join(plain(name, _NAME) for name in players))
            )
        if waiting:
            lines.append(t(locale, "play.info_waiting", n=waiting))
        if play.ended_at is not None:
            lines.append(t(locale, "play.ended_here"))
        lines.append("-# " + t(locale, "play.info_session", id=play.head.session_id))
        return "\n".join(lines)


class _Gallery(discord.ui.View):
    """Choose a card. Only for the person who asked, so it need not outlive a restart."""

    def __init__(self, cog: Play, parent: StoryParent, cards: Any, title: str | None, locale: str) -> None:
        super().__init__(timeout=600)
        self._cog = cog
        self._parent = parent
        self._title = title
        self._cards: dict[str, ResourceRow] = {row.id: row for row in cards}
        select: discord.ui.Select[Any] = discord.ui.Select(
            placeholder=t(locale, "play.choose_card_placeholder"),
            options=[
                discord.SelectOption(
                    label=choice_name(row, locale),
                    value=row.id,
                    description=one_line(str(row.summary.get("line", "")), _DESCRIPTION) or None,
                )
                for row in cards
            ],
        )
        select.callback = self._chosen  # type: ignore[method-assign]
        self._select = select
        self.add_item(select)

    async def _chosen(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        card = self._cards[self._select.values[0]]
        await self._cog.open(interaction, self._parent, card, self._title)

    async def on_error(
        self, interaction: discord.Interaction, error: Exception, item: discord.ui.Item[Any]
    ) -> None:
        await failures.tell(interaction, error)


def _channel_id(interaction: discord.Interaction) -> int:
    if interaction.channel_id is None:
        raise PlayError("No story is being played here.", code="PLAY_NONE_HERE")
    return interaction.channel_id


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Play(bot))
