"""`/play`: open a story, look at it, end it."""

from __future__ import annotations

from typing import Any

import discord
from discord import app_commands
from discord.ext import commands

from bot import failures, rows
from bot.client import Inglenook
from bot.i18n import label, t
from bot.stories import StoryParent, owner_of
from engine.errors import InputError, PlayError
from engine.library import ResourceRow
from engine.play import Playthrough

__all__ = ["Play", "setup"]

_CHOICES = 25  # what Discord shows in one list
_CHOICE_NAME = 100


class Play(
    commands.GroupCog,
    group_name=label("commands.play.name"),
    group_description=label("commands.play.description"),
):
    """Stories."""

    def __init__(self, bot: Inglenook) -> None:
        self.bot = bot

    async def cog_load(self) -> None:
        self.bot.presses.on("end-yes", self._end_confirmed)

    async def cog_unload(self) -> None:
        self.bot.presses.off("end-yes")

    @app_commands.command(
        name=label("commands.play.new.name"), description=label("commands.play.new.description")
    )
    @app_commands.describe(
        card=label("commands.play.new.options.card.description"),
        title=label("commands.play.new.options.title.description"),
    )
    @app_commands.guild_only()
    async def new(
        self, interaction: discord.Interaction, card: str | None = None, title: str | None = None
    ) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        parent = _parent(interaction)
        library = self.bot.engine.library
        owner = owner_of(interaction.guild, interaction.user.id)
        if card is not None:
            await self.open(interaction, parent, await library.resolve(owner, "card", card), title)
            return
        defaults = await self.bot.bindings.defaults(parent.guild.id, parent.id)
        if defaults.card_id is not None:
            chosen = await library.get(defaults.card_id, owner=owner)
            await self.open(interaction, parent, chosen, title)
            return
        cards = await library.search(owner, "card")
        if not cards:
            await interaction.followup.send(t(interaction.locale, "card.list_empty"), ephemeral=True)
            return
        view = _Gallery(self, parent, cards, title, str(interaction.locale))
        await interaction.followup.send(t(interaction.locale, "play.choose_card"), view=view, ephemeral=True)

    @new.autocomplete("card")
    async def _cards(self, interaction: discord.Interaction, current: str) -> list[app_commands.Choice[str]]:
        owner = owner_of(interaction.guild, interaction.user.id)
        found = await self.bot.engine.library.search(owner, "card", current, _CHOICES)
        return [app_commands.Choice(name=_named(row)[:_CHOICE_NAME], value=row.id) for row in found]

    @app_commands.command(
        name=label("commands.play.info.name"), description=label("commands.play.info.description")
    )
    async def info(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.here(_channel_id(interaction))
        text = await self._info(play, str(interaction.locale))
        await interaction.followup.send(text, ephemeral=True)

    @app_commands.command(
        name=label("commands.play.end.name"), description=label("commands.play.end.description")
    )
    async def end(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        play = await self.bot.stories.here(_channel_id(interaction))
        _check_owner(interaction, play)
        await interaction.followup.send(
            t(interaction.locale, "play.end_confirm", title=play.title),
            view=rows.confirm_row("end-yes", (play.id,), str(interaction.locale)),
            ephemeral=True,
        )

    async def _end_confirmed(self, interaction: discord.Interaction, play_id: str) -> None:
        await interaction.response.defer()
        channel_id = _channel_id(interaction)
        play = await self.bot.stories.here(channel_id)
        if play.id != play_id:
            raise PlayError("The story has moved on meanwhile.", code="PLAY_HEAD_MOVED")
        _check_owner(interaction, play)
        await self.bot.stories.end(channel_id)
        locale = self.bot.stage.locale(channel_id)
        await self.bot.outbox.notice(
            channel_id, t(locale, "play.ended", title=play.title), key=f"end:{play.id}", play_id=play.id
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
            preset = (await engine.library.get(selection.preset_id)).name
        path = timeline.path()
        players: dict[str, None] = {}
        for node in path:
            for words in (await engine.plays.text(node.adopted)).inputs:
                players.setdefault(words.persona_name)
        agent = engine.agents.get(await engine.plays.current_session(play))
        waiting = len(agent.inbox.next_turn) if agent is not None else 0
        lines = [
            f"### {t(locale, 'play.info_title', title=play.title)}",
            t(locale, "play.info_cast", name=face.name),
            t(locale, "play.info_preset", name=preset),
            t(locale, "play.info_offline")
            if engine.defaults.provider == "narrator"
            else t(locale, "play.info_model", name=engine.defaults.model),
            t(locale, "play.info_exchanges", n=len(path)),
        ]
        if players:
            lines.append(t(locale, "play.info_players", names=", ".join(players)))
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
                    label=_named(row)[:_CHOICE_NAME],
                    value=row.id,
                    description=str(row.summary.get("line", ""))[:_CHOICE_NAME] or None,
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


def _named(row: ResourceRow) -> str:
    return f"{row.name} 🔞" if row.nsfw else row.name


def _channel_id(interaction: discord.Interaction) -> int:
    if interaction.channel_id is None:
        raise PlayError("No story is being played here.", code="PLAY_NONE_HERE")
    return interaction.channel_id


def _parent(interaction: discord.Interaction) -> StoryParent:
    """Where a story can be opened: this channel, or the one that this thread is in."""
    channel = interaction.channel
    if isinstance(channel, discord.Thread):
        channel = channel.parent
    if not isinstance(channel, discord.TextChannel | discord.ForumChannel):
        raise InputError("Stories cannot be opened here.", code="NOT_HERE")
    return channel


def _check_owner(interaction: discord.Interaction, play: Playthrough) -> None:
    """Whoever began the story, or a moderator."""
    if str(interaction.user.id) != play.created_by and not interaction.permissions.manage_messages:
        raise PlayError("Only whoever began the story may do that.", code="PLAY_OWNER_ONLY")


async def setup(bot: Inglenook) -> None:
    await bot.add_cog(Play(bot))
