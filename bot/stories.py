"""Opening a story in Discord, and ending it: the thread, its top post, its binding.

What can fail at Discord is done before what cannot be undone; a story whose thread could
not be opened is closed again, so that nothing half made stays.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import discord
import structlog

from bot import permissions
from bot.beginnings import Beginnings
from bot.bindings import Bindings
from bot.excerpts import plain
from bot.faces import Faces
from bot.i18n import t
from bot.outbox import Outbox
from bot.stage import Stage
from engine.errors import EngineError, InputError, PlayError
from engine.host import Engine
from engine.library import ResourceRow
from engine.play import Playthrough
from engine.storage import Store, Write

__all__ = ["Opened", "Stories", "StoryParent", "check_owner", "leads", "library_owner", "owner_of"]

log = structlog.get_logger(__name__)

StoryParent: TypeAlias = discord.TextChannel | discord.ForumChannel
_TITLE_LIMIT = 100  # Discord's limit for the name of a thread
_NAME = 100  # characters of a name in the top post; a card may bring one of any length, and markup


@dataclass(frozen=True, slots=True)
class Opened:
    """A story and where it is told."""

    play: Playthrough
    thread: discord.Thread


def owner_of(guild: discord.Guild | None, user_id: int) -> str:
    """Whose library is used here: the server's, or in a direct message the person's."""
    return f"guild:{guild.id}" if guild is not None else f"user:{user_id}"


def library_owner(interaction: discord.Interaction) -> str:
    """The same, where somebody pressed or typed something."""
    return owner_of(interaction.guild, interaction.user.id)


def leads(interaction: discord.Interaction, play: Playthrough) -> bool:
    """Whether somebody began the story, or is a moderator where they are."""
    return str(interaction.user.id) == play.created_by or interaction.permissions.manage_messages


def check_owner(interaction: discord.Interaction, play: Playthrough) -> None:
    """Whoever began the story, or a moderator. Raises PlayError PLAY_OWNER_ONLY for others."""
    if not leads(interaction, play):
        raise PlayError("Only whoever began the story may do that.", code="PLAY_OWNER_ONLY")


class Stories:
    """Opens and ends stories."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        outbox: Outbox,
        bindings: Bindings,
        faces: Faces,
        stage: Stage,
        clock: Callable[[], int],
    ) -> None:
        self._engine = engine
        self._store = store
        self._outbox = outbox
        self._bindings = bindings
        self.beginnings = Beginnings(engine.library, bindings)
        self._faces = faces
        self._stage = stage
        self._clock = clock

    async def open(
        self,
        parent: StoryParent,
        card: ResourceRow,
        *,
        user_id: int,
        user_name: str,
        title: str | None = None,
        plays: bool = True,
        book_ids: tuple[str, ...] = (),
    ) -> Opened:
        """A thread (or forum post) with the card's greeting in it.

        `{{user}}` is the persona of whoever opens it, or without `plays` whoever speaks first.

        Raises InputError MISSING_PERMISSION (data: needs), NSFW_CHANNEL, SESSION_CONFIGURATION_UNAVAILABLE
        for a template that misses something, or PlayError SESSION_SELECTION_LIMIT_REACHED before anything
        is made, and what Discord raises when it refuses the thread; the story is closed again then.
        """
        self._check(parent, card)
        guild_id = parent.guild.id
        chosen = await self.beginnings.selection(card, guild_id, parent.id, user_id=user_id)
        play = await self._engine.plays.create(
            owner=card.owner,
            created_by=str(user_id),
            selection=replace(
                chosen,
                user_name=await self._engine.persona_name(user_id, user_name) if plays else "",
                book_ids=(*chosen.book_ids, *book_ids),
            ),
            title=(title or card.name)[:_TITLE_LIMIT],
        )
        try:
            thread, top = await self._open_thread(parent, play, card, user_name)
        except (discord.HTTPException, EngineError):
            await self._engine.plays.end(play.id)
            raise
        await self._bindings.bind(thread.id, play.id, guild_id)
        if top is not None:
            await self._faces.avatars.remember(play.id, top)
        await self._store.commit(
            Write(
                "cursor_advance",
                {"channel_id": thread.id, "last_seen": top.id if top else thread.id, "now": self._clock()},
            )
        )
        await self._engine.library.touch(card.id)
        await self._stage.show_greeting(play.id)
        return Opened(play, thread)

    async def end(self, channel_id: int) -> Playthrough:
        """Close the story of a channel. Raises PlayError PLAY_NONE_HERE."""
        play = await self.here(channel_id)
        await self._engine.plays.end(play.id)
        return play

    async def here(self, channel_id: int | None, meant: str | None = None) -> Playthrough:
        """The story of a channel; where one is `meant` it has to be that. Raises PlayError PLAY_NONE_HERE."""
        binding = self._bindings.of_channel(channel_id or 0)
        if binding is None:
            raise PlayError("No story is being played here.", code="PLAY_NONE_HERE")
        if meant not in (None, binding.play_id):
            raise PlayError("That story is not played here.", code="PLAY_NONE_HERE")
        return await self._engine.plays.get(binding.play_id)

    async def led_here(self, interaction: discord.Interaction, meant: str | None = None) -> Playthrough:
        """The same, for whoever began it and for moderators. Raises also PlayError PLAY_OWNER_ONLY."""
        play = await self.here(interaction.channel_id, meant)
        check_owner(interaction, play)
        return play

    async def channel_gone(self, channel_id: int) -> None:
        """The thread or channel was deleted: nothing can be shown there; the story itself is kept.

        An answer that is being written is stopped: nobody would read it.
        """
        binding = self._bindings.of_channel(channel_id)
        if binding is not None:
            log.info("story.channel_gone", channel=channel_id)
            await self._bindings.unbind(channel_id)
            await self._engine.plays.stop(binding.play_id)

    # -- inside ----------------------------------------------------------------------------------

    @staticmethod
    def _check(parent: StoryParent, card: ResourceRow) -> None:
        lacking = permissions.missing(parent.permissions_for(parent.guild.me), "parent", vital_only=True)
        if lacking:
            raise InputError(
                "I lack permissions here.", code="MISSING_PERMISSION", needs=[need.name for need in lacking]
            )
        if card.nsfw and not parent.is_nsfw():
            raise InputError(
                "This card needs an age-restricted channel.", code="NSFW_CHANNEL", name=card.name
            )

    async def _open_thread(
        self, parent: StoryParent, play: Playthrough, card: ResourceRow, user_name: str
    ) -> tuple[discord.Thread, discord.Message | None]:
        text = self._top_text(parent, play, card, user_name)
        picture = await self._engine.library.avatar(card.id)
        if isinstance(parent, discord.ForumChannel):
            # Where a forum wants a tag, any of its own is better than no story.
            tags = parent.available_tags[:1] if parent.flags.require_tag else []
            made = await parent.create_thread(
                name=play.title, content=text, files=_files(picture), applied_tags=tags
            )
            return made.thread, made.message
        thread = await parent.create_thread(name=play.title, type=discord.ChannelType.public_thread)
        try:
            top = await thread.send(text, files=_files(picture), silent=True)
        except discord.HTTPException as error:
            # The story can be told without its top post.
            log.warning("story.no_top_post", channel=thread.id, status=error.status)
            return thread, None
        return thread, top

    def _top_text(self, parent: StoryParent, play: Playthrough, card: ResourceRow, user_name: str) -> str:
        locale = str(parent.guild.preferred_locale)
        creator = card.summary.get("creator")
        cast = t(locale, "play.info_cast", name=f"**{plain(card.name, _NAME)}**")
        lines = [f"## {plain(play.title, _NAME)}", cast]
        if creator:
            lines[-1] += " · " + t(locale, "card.by", creator=plain(str(creator), _NAME))
        if self._engine.defaults.provider == "narrator":
            lines.append("-# " + t(locale, "play.info_offline"))
        else:
            lines.append("-# " + t(locale, "play.info_model", name=self._engine.defaults.model))
        lines.append("-# " + t(locale, "play.info_owner", name=plain(user_name, _NAME)))
        if card.summary.get("greetings", 0) > 1:
            lines.append("-# " + t(locale, "play.greeting_hint"))
        return "\n".join(lines)


def _files(picture: bytes | None) -> list[discord.File]:
    return [discord.File(io.BytesIO(picture), "portrait.png")] if picture is not None else []
