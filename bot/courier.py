"""Carries one message to Discord: sends, edits, deletes, finds. Knows its errors, decides nothing.

Whatever Discord answers becomes one of three things: it worked; `Undelivered` with a typed
trouble (the channel, or Discord itself, does not take it); `MessageLost` (this message cannot be
edited any more, another one has to take its place). Nobody is ever pinged.
"""

from __future__ import annotations

import asyncio
import datetime
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import aiohttp
import discord
import structlog
from discord.utils import MISSING

from bot.pacing import Pace, Priority, Window
from bot.personas import Face, Hooks, webhook_name
from bot.posts import Post
from bot.trouble import HookGone, MessageLost, Trouble, Undelivered, meaning

__all__ = ["ANYBODY", "KEEP", "Courier", "Letter", "Sent", "search_start"]

log = structlog.get_logger(__name__)
T = TypeVar("T")
View: TypeAlias = discord.ui.View | None
Room: TypeAlias = (
    discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread | discord.DMChannel
)

KEEP: Any = MISSING
"""For a view: leave the buttons as they are."""

ANYBODY = Face("")
"""For a search where it does not matter who spoke."""

_NOBODY = discord.AllowedMentions.none()
_REQUEST_TIMEOUT = 40.0  # seconds; discord.py itself tries five times over 25 s when Discord answers 5xx
_HEADER_NAME = 40  # a plain message names its speaker in its first line; more would not fit with the text
_MARKUP = re.compile(r"[*_~`|\\<>\[\]\n]")
_CLOCK_SKEW_MS = 30_000  # how far our clock may be from Discord's when we look for what we sent
_SEARCH_WINDOW_MS = 180_000
_ROOMS_KEPT = 512  # threads that discord.py does not cache: archived ones


@dataclass(frozen=True, slots=True)
class Letter:
    """One message to send. Without a face the bot itself speaks. `part` 0 is the first of its spot."""

    channel_id: int
    face: Face | None
    text: str
    nonce: str
    part: int = 0
    view: View = None
    reply_to: int | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """Where it stands now. No `webhook_id`: the bot itself spoke."""

    message_id: int
    webhook_id: int | None


class Courier:
    """One per process. Waiting for one's turn is `turn`; the other verbs speak at once."""

    def __init__(self, client: discord.Client, hooks: Hooks, pace: Pace) -> None:
        self._client = client
        self.hooks = hooks
        self._pace = pace
        self._windows: dict[int, Window] = {}
        self._rooms: dict[int, Room] = {}

    async def turn(self, channel_id: int, priority: Priority) -> None:
        """Wait until one more request fits into the budget of the channel and of its webhook."""
        room = self._client.get_channel(channel_id) or self._rooms.get(channel_id)
        parent = room.parent_id if isinstance(room, discord.Thread) else channel_id
        pace = self._pace
        await self._window(channel_id, pace.channel_size, pace.channel_seconds).take(priority)
        # One hook serves all threads of a channel, so they share its budget.
        await self._window(-parent, pace.hook_size, pace.hook_seconds).take(priority)

    async def send(self, letter: Letter) -> Sent:
        """Send it: through the webhook for a face, else as the bot. Chunks after the first are silent.

        A webhook that is gone is looked up or made again, once.
        """
        room = await self._room(letter.channel_id)
        if letter.face is not None:
            for last in (False, True):
                hook = await self._hook(room)
                if hook is None:
                    break
                try:
                    return await self._send_as(hook, room, letter, letter.face)
                except HookGone:
                    self.hooks.forget(room)
                except Undelivered as error:
                    if error.trouble is not Trouble.GONE or last:
                        raise
                    self.hooks.forget(room)  # a hook that was moved does not know our threads
        return await self._send_plainly(room, letter)

    async def edit(self, post: Post, face: Face | None, text: str | None, view: View = KEEP) -> None:
        """Change what stands. `text` None leaves the text. Raises MessageLost, Undelivered."""
        assert post.message_id is not None  # only what was sent is edited
        room = await self._room(post.channel_id)
        content: Any = MISSING if text is None else text
        message_id = post.message_id
        if post.webhook_id is None:
            if text is not None:
                content = _plain(face, post.part, text)
            partial = room.get_partial_message(message_id)
            await self._ask(room, lambda: partial.edit(content=content, view=view, allowed_mentions=_NOBODY))
            return
        for _ in range(2):
            hook = await self._hook(room)
            if hook is None or hook.id != post.webhook_id:
                raise MessageLost(remains=True)
            try:
                await self._edit_as(hook, room, message_id, content, view)
            except HookGone:
                self.hooks.forget(room)
                raise MessageLost(remains=True) from None
            except Undelivered as error:
                if error.trouble is not Trouble.GONE:
                    raise
                self.hooks.forget(room)  # a hook that was moved does not know our threads
            else:
                return
        raise Undelivered(Trouble.GONE, "the channel does not exist")

    async def delete(self, post: Post) -> None:
        """Delete what stands; it is no error when it is gone. Raises Undelivered when we may not."""
        if post.message_id is None:
            return
        room = await self._room(post.channel_id)
        message_id = post.message_id
        hook = await self._hook(room) if post.webhook_id is not None else None
        try:
            if hook is not None and hook.id == post.webhook_id:
                thread: Any = room if isinstance(room, discord.Thread) else MISSING
                await self._ask(room, lambda: hook.delete_message(message_id, thread=thread))
            else:
                await self._ask(room, room.get_partial_message(message_id).delete)
        except MessageLost:
            return
        except HookGone:
            self.hooks.forget(room)
            await self.delete_any(post.channel_id, message_id)

    async def delete_any(self, channel_id: int, message_id: int) -> None:
        """Delete anybody's message as the bot. Raises Undelivered when we may not."""
        room = await self._room(channel_id)
        try:
            await self._ask(room, room.get_partial_message(message_id).delete)
        except MessageLost as lost:
            if lost.remains:
                raise Undelivered(Trouble.FORBIDDEN, "not ours to delete") from None

    async def delete_bulk(self, channel_id: int, message_ids: list[int]) -> bool:
        """Delete 2 to 100 messages younger than two weeks in one request; False when we may not."""
        room = await self._room(channel_id)
        if isinstance(room, discord.DMChannel) or not self._may(room, "manage_messages"):
            return False
        await self._ask(room, lambda: room.delete_messages([discord.Object(each) for each in message_ids]))
        return True

    async def find(self, post: Post, face: Face | None, known: set[int], text: str) -> Sent | None:
        """Look in the recent history for a message that was sent and never recorded (spec storage C2).

        `known` are the ids that are recorded. It was sent at about the time when it was planned, by
        our hook under this name; or by the bot, with the planned nonce or, where Discord does not
        tell it, as a message of this character (or with this `text`).
        """
        room = await self._room(post.channel_id)
        hook = await self._hook(room) if face is not None else None
        after = discord.Object(search_start(post))
        last = _snowflake(post.planned_at + _SEARCH_WINDOW_MS)

        async def look() -> Sent | None:
            async for message in room.history(limit=100, after=after, oldest_first=True):
                if message.id in known or message.id > last:
                    continue
                if face is not None and hook is not None:
                    named = face is ANYBODY or message.author.name == webhook_name(face.name)
                    if message.webhook_id == hook.id and named:
                        return Sent(message.id, hook.id)
                elif message.author == self._client.user and message.webhook_id is None:
                    head = _plain(face, post.part, "") or text
                    alike = message.content.startswith(head) and message.interaction_metadata is None
                    if alike if message.nonce is None else str(message.nonce) == post.nonce:
                        return Sent(message.id, None)
            return None

        return await self._ask(room, look)

    async def twin(self, post: Post, sent: Sent, known: set[int], text: str) -> int | None:
        """The id of a second copy of what was sent just now, if a repeated request has left one.

        discord.py repeats a request that Discord answered with an error, and webhooks know no nonce.
        """
        room = await self._room(post.channel_id)
        after = discord.Object(search_start(post))

        async def look() -> int | None:
            async for message in room.history(limit=100, after=after, oldest_first=True):
                alike = message.webhook_id == sent.webhook_id and message.content == text
                if alike and message.id != sent.message_id and message.id not in known:
                    return message.id
            return None

        return await self._ask(room, look)

    async def fetch(self, channel_id: int, message_id: int) -> None:
        """Look at a message. Raises MessageLost when it is gone, Undelivered when we cannot."""
        room = await self._room(channel_id)
        await self._ask(room, room.get_partial_message(message_id).fetch)

    async def react(self, channel_id: int, message_id: int, emoji: str, *, add: bool) -> None:
        """Put our reaction on a message or take it off. Raises MessageLost, Undelivered."""
        assert self._client.user is not None
        room = await self._room(channel_id)
        message = room.get_partial_message(message_id)
        me = self._client.user
        if add:
            await self._ask(room, lambda: message.add_reaction(emoji))
        else:
            await self._ask(room, lambda: message.remove_reaction(emoji, me))

    async def typing(self, channel_id: int) -> None:
        """Show for ten seconds that something is being written."""
        room = await self._room(channel_id)
        await self._ask(room, lambda: _once(room))

    # -- inside ----------------------------------------------------------------------------------

    async def _send_as(self, hook: discord.Webhook, room: Room, letter: Letter, face: Face) -> Sent:
        in_thread = isinstance(room, discord.Thread)
        message = await self._ask(
            room,
            lambda: hook.send(
                letter.text,
                username=webhook_name(face.name),
                avatar_url=face.avatar_url or self._own_face(),
                allowed_mentions=_NOBODY,
                view=letter.view or MISSING,
                thread=room if in_thread else MISSING,
                suppress_embeds=True,
                silent=letter.part > 0,
                wait=True,
            ),
        )
        if not in_thread and message.channel.id != room.id:
            # Somebody moved the hook: the words must not stand in that other channel.
            await self._ask(room, lambda: hook.delete_message(message.id))
            raise HookGone
        return Sent(message.id, hook.id)

    def _own_face(self) -> Any:
        # Without any address Discord has shown the picture of whoever spoke before (api-docs 7743).
        return self._client.user.display_avatar.url if self._client.user is not None else MISSING

    async def _edit_as(
        self, hook: discord.Webhook, room: Room, message_id: int, content: Any, view: View
    ) -> None:
        thread: Any = room if isinstance(room, discord.Thread) else MISSING
        await self._ask(
            room,
            lambda: hook.edit_message(
                message_id, content=content, view=view, allowed_mentions=_NOBODY, thread=thread
            ),
        )

    async def _send_plainly(self, room: Room, letter: Letter) -> Sent:
        reference: Any = None
        if letter.reply_to is not None:
            reference = discord.MessageReference(
                message_id=letter.reply_to, channel_id=room.id, fail_if_not_exists=False
            )
        message = await self._ask(
            room,
            lambda: room.send(
                _plain(letter.face, letter.part, letter.text),
                nonce=letter.nonce,
                view=letter.view,  # type: ignore[arg-type]  # None is the default
                reference=reference,
                mention_author=False,
                allowed_mentions=_NOBODY,
                suppress_embeds=True,
                silent=letter.part > 0,
            ),
        )
        return Sent(message.id, None)

    async def _room(self, channel_id: int) -> Room:
        found = self._client.get_channel(channel_id) or self._rooms.get(channel_id)
        if found is None:
            found = await self._translated(lambda: self._client.fetch_channel(channel_id))
            if isinstance(found, Room):
                while len(self._rooms) >= _ROOMS_KEPT:
                    self._rooms.pop(next(iter(self._rooms)))
                self._rooms[channel_id] = found
        if not isinstance(found, Room):
            raise Undelivered(Trouble.REFUSED, "messages cannot be written there")
        return found

    async def _hook(self, room: Room) -> discord.Webhook | None:
        return await self._translated(lambda: self.hooks.of(room))

    async def _ask(self, room: Room, request: Callable[[], Awaitable[T]]) -> T:
        """One request; a thread that was archived meanwhile is opened first, a dead one forgotten."""
        try:
            return await self._translated(request)
        except Undelivered as error:
            if error.trouble is Trouble.GONE:
                self._rooms.pop(room.id, None)
            if error.trouble is not Trouble.LOCKED or not isinstance(room, discord.Thread):
                raise
        thread = room
        try:
            await self._translated(lambda: thread.edit(archived=False))
        except Undelivered as error:
            raise Undelivered(Trouble.LOCKED, error.detail) from error
        return await self._translated(request)

    async def _translated(self, request: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT):
                return await request()
        except discord.RateLimited as error:
            raise Undelivered(Trouble.UNREACHABLE, str(error), limited=True) from error
        except discord.HTTPException as error:
            raise meaning(error) from error
        except (TimeoutError, OSError, aiohttp.ClientError) as error:
            raise Undelivered(Trouble.UNREACHABLE, repr(error)) from error
        except RuntimeError as error:
            # What aiohttp raises once the client was closed under us.
            if self._client.is_closed():
                raise Undelivered(Trouble.UNREACHABLE, "the bot is shutting down") from error
            raise

    def _window(self, key: int, size: int, seconds: float) -> Window:
        window = self._windows.get(key)
        if window is None:
            for idle in [other for other, found in self._windows.items() if found.idle]:
                del self._windows[idle]
            window = self._windows[key] = Window(size, seconds)
        return window

    @staticmethod
    def _may(room: discord.abc.GuildChannel | discord.Thread, permission: str) -> bool:
        return bool(getattr(room.permissions_for(room.guild.me), permission))


def _plain(face: Face | None, part: int, text: str) -> str:
    if face is None or part > 0:
        return text
    name = _MARKUP.sub("", face.name)[:_HEADER_NAME].strip() or "…"
    return f"**{name}**\n{text}"


def search_start(post: Post) -> int:
    """The id from which on a planned message may stand in its channel."""
    return _snowflake(post.planned_at - _CLOCK_SKEW_MS)


def _snowflake(ms: int) -> int:
    return discord.utils.time_snowflake(datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC))


async def _once(room: Room) -> None:
    await room.typing()
