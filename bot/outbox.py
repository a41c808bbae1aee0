"""The only door out to Discord: streams, shows, says and removes; one budget per channel.

Discord is a projection of the log: nothing in here raises into a story. What could not be
shown is told by the `Delivery` (`.trouble`), and `render` shows it again at any later time.

    outbox = Outbox(client, store)            # usable once the client is logged in
    place  = Place(channel_id, play_id, session_id, turn, kind="answer", node_id=None, variant_id=None)
    face   = Face(name, avatar_url)

    reply = outbox.reply(place, face, stop=make_stop_row)     # at once; typing, then the stream
    reply.write(delta); reply.restart()
    delivery = await reply.finish(buttons=make_row, footer=None, node_id=…, variant_id=…)
    delivery = await reply.fail(line, buttons=make_row)
    delivery = await reply.abandon()

    delivery = await outbox.render(place, face, text, buttons=make_row)     # a stored answer or greeting
    delivery = await outbox.notice(channel_id, text, buttons=make_row, reply_to=message_id, key="…")
    delivery = await outbox.notice(channel_id, text, play_id=…, passing=True)   # until the next reply
    await outbox.unbutton(place); await outbox.bare(place); await outbox.discard(place)
    removal = await outbox.remove(channel_id, message_ids)
    outbox.mark(channel_id, message_id, "👀"); outbox.unmark(channel_id, message_id, "👀")
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import discord
import structlog

from bot.canvas import Buttons, Canvas, Row
from bot.courier import ANYBODY, Courier
from bot.delivery import Delivery, converge, final_looks
from bot.pacing import Pace, Priority
from bot.personas import Face, Hooks
from bot.posts import Place, Post, Posts
from bot.reply import Desk, Reply
from bot.spots import Spots
from bot.trouble import MessageLost, Trouble, Undelivered
from engine.storage import Store

__all__ = [
    "Buttons",
    "Delivery",
    "Face",
    "Outbox",
    "Pace",
    "Place",
    "Post",
    "Removal",
    "Reply",
    "Trouble",
]

log = structlog.get_logger(__name__)

_BULK = 100
_BULK_AGE = 13 * 24 * 3600  # seconds; Discord's own border is two weeks
_OUTLIVED = ("answer", "failure", "greeting")  # whose buttons mean nothing once there is a newer answer


@dataclass(frozen=True, slots=True)
class Removal:
    """Which messages are gone now, and which still stand because the bot may not delete them."""

    removed: tuple[int, ...]
    kept: tuple[int, ...]


class Outbox:
    """Everything that leaves for Discord but answers to interactions."""

    def __init__(self, client: discord.Client, store: Store, *, pace: Pace | None = None) -> None:
        self.posts = Posts(store)
        self.hooks = Hooks(client)
        pace = pace if pace is not None else Pace()
        self._courier = Courier(client, self.hooks, pace)
        self._desk = Desk(self._courier, self.posts, Spots(), pace)
        self._replies: set[Reply] = set()
        self._chores: set[asyncio.Task[None]] = set()
        self._signs: dict[tuple[int, int], asyncio.Lock] = {}
        self._closed = False

    def owns(self, webhook_id: int) -> bool:
        """True for a webhook that is ours."""
        return self.hooks.owns(webhook_id)

    # -- answers ---------------------------------------------------------------------------------

    def reply(self, place: Place, face: Face, *, stop: Buttons | None = None) -> Reply:
        """Open a streaming answer. Messages that show this place already (a swipe, or `place.over`)
        are written over; a failure that stood for the story in this channel goes away.

        `stop` builds the row under the last message while it writes.
        """
        self._chore(self.pass_on(place.channel_id, place.play_id))
        reply = Reply(self._desk, place, face, stop)
        self._replies.add(reply)
        reply.on_done(lambda: self._replies.discard(reply))
        return reply

    async def render(
        self,
        place: Place,
        face: Face,
        text: str,
        *,
        buttons: Buttons | None = None,
        footer: str | None = None,
    ) -> Delivery:
        """Show a stored text at its place, in the messages that are there: edits what differs, posts
        what is missing, deletes what is too much. The newest call for a place wins."""
        splitter = self._desk.splitter()
        splitter.feed(text)
        texts = [chunk.text for chunk in splitter.finish(close=footer is not None)]
        return await self._show(place, face, texts, buttons=buttons, footer=footer)

    async def notice(
        self,
        channel_id: int,
        text: str,
        *,
        buttons: Buttons | None = None,
        reply_to: int | None = None,
        key: str | None = None,
        play_id: str = "",
        passing: bool = False,
    ) -> Delivery:
        """The bot itself says something. With `key` it is said once per channel, however often it
        is called: a later call edits it. A `passing` notice of a story goes away, as a failure does,
        when the story's next reply in the channel opens."""
        node = key if key is not None else secrets.token_hex(8)
        kind = "failure" if passing else "notice"
        place = Place(channel_id, play_id, "", 0, kind=kind, node_id=node)
        return await self._show(place, None, [text[:2000]], buttons=buttons, footer=None, reply_to=reply_to)

    # -- what stands -------------------------------------------------------------------------------

    async def unbutton(self, place: Place) -> None:
        """Take the buttons from everything older in the channel than what stands at `place`. Best effort."""
        spot = await self.posts.spot_of(place)
        if spot is None:
            return
        newest = max((post.planned_at for post in await self.posts.at_spot(spot)), default=0)
        for post in await self.posts.buttoned(place.channel_id, but=spot):
            if post.kind in _OUTLIVED and post.planned_at <= newest:
                await self._strip(post)

    async def bare(self, place: Place) -> None:
        """Take the buttons from what stands at `place`. Best effort."""
        spot = await self.posts.spot_of(place)
        for post in await self.posts.at_spot(spot) if spot is not None else ():
            if post.buttons:
                await self._strip(post)

    async def discard(self, place: Place) -> Delivery:
        """Delete the messages at `place`."""
        return await self._show(place, ANYBODY, [], buttons=None, footer=None)

    async def pass_on(self, channel_id: int, play_id: str) -> None:
        """The story goes on: take away its failures and passing notices in the channel. Best effort."""
        posts = await self.posts.of_kind(play_id, channel_id, "failure")
        for post in {post.spot: post for post in posts}.values():
            place = Place(channel_id, play_id, post.session_id, post.turn, "failure", post.node_id)
            if (await self.discard(place)).trouble is not None:
                await self.posts.deleted(*(each for each in posts if each.spot == post.spot))

    async def stands(self, channel_id: int, message_id: int) -> bool:
        """Whether a message of anybody stands in the channel. True when that cannot be found out."""
        try:
            await self._courier.fetch(channel_id, message_id)
        except MessageLost:
            return False
        except Undelivered as error:
            log.info("outbox.not_looked", channel=channel_id, trouble=error.trouble)
        return True

    async def standing(self, place: Place) -> list[int]:
        """The messages that stand at `place`."""
        spot = await self.posts.spot_of(place)
        found = await self.posts.at_spot(spot) if spot is not None else []
        return [post.message_id for post in found if post.message_id is not None]

    async def remove(self, channel_id: int, message_ids: Sequence[int]) -> Removal:
        """Delete messages of anybody: in one request where the bot may, else those that it may."""
        kept: list[int] = []
        left = list(dict.fromkeys(message_ids))
        try:
            left = await self._remove_bulk(channel_id, left)
        except (Undelivered, MessageLost) as error:
            log.info("outbox.no_bulk_delete", channel=channel_id, error=str(error))
        for message_id in left:
            post = await self.posts.by_message(message_id)
            try:
                await self._courier.turn(channel_id, Priority.CHORE)
                if post is not None:
                    await self._courier.delete(post)
                else:
                    await self._courier.delete_any(channel_id, message_id)
            except Undelivered as error:
                kept.append(message_id)
                log.info("outbox.not_removed", channel=channel_id, trouble=error.trouble)
        removed = tuple(each for each in dict.fromkeys(message_ids) if each not in kept)
        await self.posts.message_deleted(*removed)
        return Removal(removed, tuple(kept))

    def mark(self, channel_id: int, message_id: int, emoji: str) -> None:
        """Put a reaction on a message, some time soon, if the bot may."""
        self._chore(self._sign(channel_id, message_id, emoji, add=True))

    def unmark(self, channel_id: int, message_id: int, emoji: str) -> None:
        """Take our reaction off again, after what was asked for before."""
        self._chore(self._sign(channel_id, message_id, emoji, add=False))

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that nobody waits for, such as taking old buttons away."""
        self._chore(work)

    async def aclose(self, patience: float = 10.0) -> None:
        """Let answers that are at their end finish, let go of the others, then stop. Seconds."""
        self._closed = True
        waiting = [asyncio.ensure_future(reply.abandon()) for reply in self._replies]
        waiting += [asyncio.ensure_future(_settled(chore)) for chore in self._chores]
        if waiting:
            await asyncio.wait(waiting, timeout=patience)
        for task in [*waiting, *self._chores, *(reply.task for reply in self._replies)]:
            task.cancel()
        await asyncio.gather(*waiting, *self._chores, return_exceptions=True)

    # -- inside ----------------------------------------------------------------------------------

    async def _show(
        self,
        place: Place,
        face: Face | None,
        texts: Sequence[str],
        *,
        buttons: Buttons | None,
        footer: str | None,
        reply_to: int | None = None,
    ) -> Delivery:
        canvas: Canvas | None = None
        rows: Mapping[Row, Buttons] = {} if buttons is None else {Row.FINAL: buttons}
        looks = final_looks(texts, footer, buttons=buttons is not None and buttons() is not None)
        try:
            spot = await self.posts.spot_of(place) or self.posts.new_spot(place)
            async with self._desk.spots.claim(spot) as claim:
                if not claim.current:
                    return Delivery(superseded=True)
                canvas = Canvas(self._courier, self.posts, place, face, spot)
                canvas.reply_to = reply_to
                await canvas.load()
                canvas.recognize(looks)
                if canvas.touched and (canvas.next_step(looks) is not None or not looks):
                    await canvas.reopen()
                channel_id = place.channel_id
                await converge(canvas, self._courier, channel_id, looks, rows, lambda: claim.current)
                return _delivery(canvas, face, superseded=not claim.current)
        except Undelivered as error:
            log.warning("outbox.undelivered", channel=place.channel_id, trouble=error.trouble)
            posts = canvas.posts if canvas is not None else ()
            return Delivery(posts, error.trouble, error.detail)

    async def _strip(self, post: Post) -> None:
        try:
            await self._courier.turn(post.channel_id, Priority.CHORE)
            await self._courier.edit(post, None, None, view=None)
        except (Undelivered, MessageLost) as error:
            log.info("outbox.buttons_stay", channel=post.channel_id, error=str(error))
        # Asked for once: a click on a button that stays gets a polite answer.
        await self.posts.bare(post)

    async def _remove_bulk(self, channel_id: int, message_ids: list[int]) -> list[int]:
        """What is left to delete one by one."""
        border = discord.utils.utcnow().timestamp() - _BULK_AGE
        young = [each for each in message_ids if discord.utils.snowflake_time(each).timestamp() > border]
        left = [each for each in message_ids if each not in young]
        for start in range(0, len(young), _BULK):
            batch = young[start : start + _BULK]
            if len(batch) < 2:
                left += batch
                continue
            await self._courier.turn(channel_id, Priority.CHORE)
            if not await self._courier.delete_bulk(channel_id, batch):
                return message_ids
        return left

    async def _sign(self, channel_id: int, message_id: int, emoji: str, *, add: bool) -> None:
        # In the order asked for: 👀 must not come after it was taken off.
        lock = self._signs.setdefault((channel_id, message_id), asyncio.Lock())
        async with lock:
            try:
                await self._courier.react(channel_id, message_id, emoji, add=add)
            except (Undelivered, MessageLost) as error:
                log.debug("outbox.no_reaction", channel=channel_id, error=str(error))
        if not lock.locked():
            self._signs.pop((channel_id, message_id), None)

    def _chore(self, work: Coroutine[Any, Any, None]) -> None:
        if self._closed:
            work.close()
            return
        task = asyncio.ensure_future(_logged(work))
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception:
        log.exception("outbox.chore_failed")


async def _settled(task: asyncio.Task[None]) -> Delivery:
    await asyncio.wait({task})
    return Delivery()


def _delivery(canvas: Canvas, face: Face | None, *, superseded: bool) -> Delivery:
    posts = canvas.posts
    plain = face is not None and any(post.webhook_id is None for post in posts)
    return Delivery(posts, plain=plain, superseded=superseded)
