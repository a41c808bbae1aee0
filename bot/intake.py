"""From a Discord message to words in a story.

A message is written down in the intake ledger before the engine sees it, and the ledger
is how a message that came twice, or while we were away, is told from a new one. Bots,
webhooks and our own faces are dropped before anything else.

One channel's messages are looked at one after the other, in the order in which they were
written. The channel's cursor moves only when a message is safe: whatever ends this process
before that, the next one reads the message again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

import discord
import structlog

from bot.attachments import AttachmentReader, Brought, has_more_than_words, without_pictures
from bot.bindings import Binding, Bindings
from bot.i18n import t
from bot.ledger import Ledger
from bot.markdown import is_blank
from bot.outbox import Outbox
from bot.settings import PlaySettings
from bot.stage import Stage
from engine.cancel import CancelCause, Cancelled, CancelToken
from engine.errors import EngineError, PlayError, StorageError
from engine.host import Engine
from engine.play import Attachment, Utterance
from engine.storage import Store

__all__ = ["Intake"]

T = TypeVar("T")

log = structlog.get_logger(__name__)

# Of a table that wrote more than this while we were away the newest are read; nobody wants
# an answer to the beginning of a talk that has gone on for so long.
_CATCH_UP_LIMIT = 200
_SIGN_AFTER = 1.0  # seconds; files that come sooner need no sign that they are on their way


@dataclass(frozen=True, slots=True)
class _Words:
    """What a message says to the story, or why it says nothing. `more` stands beside the words."""

    text: str
    problem: str | None = None
    more: bool = False

    @property
    def speak(self) -> bool:
        return bool(self.text) or self.more


class Intake:
    """Takes messages in. `take` for live ones, `catch_up` for those that were missed.

    Live ones wait until `open` was called: what a restart cut off is looked after first.
    """

    def __init__(
        self,
        client: discord.Client,
        engine: Engine,
        store: Store,
        bindings: Bindings,
        outbox: Outbox,
        stage: Stage,
        settings: PlaySettings,
        attachments: AttachmentReader,
        clock: Callable[[], int],
    ) -> None:
        self._client = client
        self._engine = engine
        self._ledger = Ledger(store, clock)
        self._bindings = bindings
        self._outbox = outbox
        self._stage = stage
        self._settings = settings
        self._attachments = attachments
        self._clock = clock
        self._opened = asyncio.Event()
        self._closing = CancelToken()
        self._behind: set[int] = set()  # channels in which something may have been missed
        self._order: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    # -- life --------------------------------------------------------------------------------------

    def fall_behind(self) -> None:
        """A new session with Discord has begun: from here on events come, and before it some were missed."""
        self._behind = {binding.channel_id for binding in self._bindings.all()}

    def open(self) -> None:
        """Let live messages in."""
        self._opened.set()

    async def aclose(self) -> None:
        """Take nothing more; what is being taken is finished, except for files that are still coming.

        The rest is caught up by the next start.
        """
        self._closing.cancel(CancelCause("disposed"))
        self._opened.set()
        for lock in list(self._order.values()):
            async with lock:
                pass

    # -- what people write ---------------------------------------------------------------------------

    async def take(self, message: discord.Message) -> None:
        """A live message. Does nothing for channels without a story and for what no person wrote."""
        if self._binding_for(message) is None:
            return
        await self._opened.wait()
        async with self._in_order(message.channel.id):
            binding = self._binding_for(message)
            if binding is None or self._closing.cancelled:
                return
            with suppress(Cancelled):
                await self._catch_up(binding)
                await self._take(binding, message, self._words(message), answer=True)

    async def catch_up(self) -> None:
        """Read what every story's channel got while we were away; answer only what is fresh."""
        for binding in self._bindings.all():
            async with self._in_order(binding.channel_id):
                if self._closing.cancelled:
                    return
                try:
                    await self._catch_up(binding)
                except Cancelled:
                    return
                except EngineError:
                    log.exception("intake.catch_up_failed", channel=binding.channel_id)

    async def edited(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Somebody changed what they wrote: words that still wait change with it (decision 26)."""
        message = payload.message
        if self._binding_for(message) is None or message.edited_at is None:
            return
        async with self._in_order(message.channel.id):
            if self._closing.cancelled:
                return
            binding = self._binding_for(message)
            row = await self._ledger.get(message.id)
            if binding is None or row is None or row["play_id"] != binding.play_id or row["state"] == "done":
                return
            words = self._words(message)
            try:
                if await self._changed(binding.play_id, row["key"], message, words):
                    return
            except Cancelled:
                return
            await self._too_late(binding, message.id, row["key"], "answer.edited_late", message.id)

    async def deleted(self, channel_id: int, message_ids: Sequence[int]) -> None:
        """Messages are gone: words in them that still wait are taken back too."""
        async with self._in_order(channel_id):
            if self._closing.cancelled:
                return
            await self._outbox.posts.message_deleted(*message_ids)
            for message_id in message_ids if self._bindings.of_channel(channel_id) is not None else ():
                binding = self._bindings.of_channel(channel_id)
                row = await self._ledger.get(message_id)
                if binding is None or row is None or row["play_id"] != binding.play_id:
                    continue
                if row["state"] != "done" and not await self._amended(binding.play_id, row["key"], None):
                    await self._too_late(binding, message_id, row["key"], "answer.deleted_late", None)

    # -- inside ----------------------------------------------------------------------------------

    def _binding_for(self, message: discord.Message) -> Binding | None:
        if message.webhook_id is not None or message.author.bot:
            return None
        if message.type not in (discord.MessageType.default, discord.MessageType.reply):
            return None
        return self._bindings.of_channel(message.channel.id)

    def _in_order(self, channel_id: int) -> asyncio.Lock:
        return self._order.setdefault(channel_id, asyncio.Lock())

    async def _take(self, binding: Binding, message: discord.Message, words: _Words, *, answer: bool) -> bool:
        """Write down and say. False when the message was known already, says nothing or cannot be saved."""
        try:
            taken = await self._said(binding, message, words, answer=answer)
            if binding.channel_id not in self._behind:
                await self._ledger.seen(binding.channel_id, message.id)
        except StorageError as error:
            if self._closing.cancelled:
                raise
            await self._not_saved(binding, message, error)
            return False
        return taken

    async def _said(self, binding: Binding, message: discord.Message, words: _Words, *, answer: bool) -> bool:
        channel_id = binding.channel_id
        if words.problem is not None:
            await self._refuse(message, words.problem)
            return False
        if not words.speak or await self._ledger.has_taken(message.id):
            return False
        utterance = await self._utterance(message, words.text)
        brought = await self._brought(binding.play_id, message)
        await self._ledger.take(message.id, channel_id, binding.play_id, utterance.key)
        telling = self._stage.telling(binding.play_id)
        if telling.locked():
            self._stage.mark_taken(channel_id, message.id, waits=True)
        try:
            async with telling:
                receipt, brought = await _with_room(
                    brought,
                    lambda shown: self._engine.plays.say(
                        binding.play_id, replace(utterance, attachments=shown), answer=answer
                    ),
                )
        except PlayError as error:
            await self._ledger.mark(message.id, "done")
            if error.error_code == "PLAY_ENDED":
                await self._ended(binding)
            else:
                await self._refuse(message, "answer.queue_full")
            return False
        if receipt.state == "duplicate":
            return False
        self._stage.mark_taken(channel_id, message.id, waits=receipt.waiting > 0)
        await self._ledger.mark(message.id, "accepted", receipt.session_id)
        await self._tell_unread(message, brought)
        self._outbox.later(self._stage.fix_greeting(binding.play_id))
        return True

    async def _catch_up(self, binding: Binding) -> None:
        """Read what was missed in one channel, if anything may have been."""
        if binding.channel_id not in self._behind:
            return
        try:
            missed = await self._missed(binding)
        except discord.NotFound:
            log.info("story.channel_gone", channel=binding.channel_id)
            await self._bindings.unbind(binding.channel_id)
            return
        except discord.Forbidden as error:
            # Without the right to read the history nothing can be caught up, ever.
            log.warning("intake.no_history", channel=binding.channel_id, code=error.code)
            missed = []
        except discord.HTTPException as error:
            # The channel stays behind: its next message tries again, and until then the cursor stands.
            log.warning("intake.catch_up_failed", channel=binding.channel_id, status=error.status)
            return
        self._behind.discard(binding.channel_id)
        playable = [message for message in missed if self._words(message).speak]
        last = playable[-1] if playable else None
        window_ms = self._settings.catch_up_minutes * 60_000
        fresh = last is not None and self._clock() - last.created_at.timestamp() * 1000 <= window_ms
        waiting = 0
        for message in missed:
            answer = message is last and fresh
            waiting += await self._take(binding, message, self._words(message), answer=answer)
        if waiting:
            log.info("intake.caught_up", channel=binding.channel_id, messages=waiting)
            if not fresh:
                await self._stage.tell_waiting(binding.play_id, "restart.waiting", waiting)

    async def _missed(self, binding: Binding) -> list[discord.Message]:
        """The messages after the cursor that people wrote, oldest first."""
        last_seen = await self._ledger.last_seen(binding.channel_id)
        if last_seen is None:
            return []
        channel = self._client.get_channel(binding.channel_id)
        if channel is None:
            channel = await self._client.fetch_channel(binding.channel_id)
        if not isinstance(channel, discord.abc.Messageable):
            return []
        after = discord.Object(last_seen)
        history = channel.history(limit=_CATCH_UP_LIMIT, after=after, oldest_first=True)
        found = [message async for message in history]
        if len(found) == _CATCH_UP_LIMIT:
            newest = [message async for message in channel.history(limit=_CATCH_UP_LIMIT)]
            found = [message for message in reversed(newest) if message.id > after.id]
        return [message for message in found if self._binding_for(message) is not None]

    def _words(self, message: discord.Message) -> _Words:
        text = message.content.strip()
        if len(text) > self._settings.max_message_length:
            return _Words("", "answer.too_long")
        return _Words("" if is_blank(text) else text, more=has_more_than_words(message))

    async def _brought(
        self, play_id: str, message: discord.Message, known: frozenset[str] = frozenset()
    ) -> Brought:
        """What comes besides the words. Raises Cancelled when we go meanwhile: it is read again later."""
        if not (has_more_than_words(message) or message.embeds):
            return Brought()
        if (await self._engine.plays.get(play_id)).ended_at is not None:
            return Brought()
        sign = partial(self._stage.mark_taken, message.channel.id, message.id, waits=True)
        soon = asyncio.get_running_loop().call_later(_SIGN_AFTER, sign)
        try:
            return await self._closing.race(self._attachments.read(message, known))
        finally:
            soon.cancel()

    async def _changed(self, play_id: str, key: str, message: discord.Message, words: _Words) -> bool:
        """Change words that still wait, and what they show; False when they do not wait any more."""
        if words.problem is not None or not words.speak:
            return False
        known = await self._engine.plays.attached(play_id, key)
        if known is None:
            return False
        utterance = await self._utterance(message, words.text)
        brought = await self._brought(play_id, message, known)
        changed, brought = await _with_room(
            brought,
            lambda shown: self._amended(play_id, key, replace(utterance, attachments=shown)),
        )
        if changed:
            await self._tell_unread(message, brought)
        return changed

    async def _utterance(self, message: discord.Message, text: str) -> Utterance:
        name = message.author.display_name
        persona = await self._engine.persona_name(message.author.id, name)
        return Utterance(
            key=f"discord:{message.channel.id}:{message.id}",
            text=text,
            author_id=str(message.author.id),
            author_name=name,
            persona_name=persona,
            extra={"avatarUrl": message.author.display_avatar.url},
        )

    # -- what people are told ------------------------------------------------------------------------

    async def _refuse(self, message: discord.Message, problem: str) -> None:
        locale = self._stage.locale(message.channel.id)
        line = t(locale, problem, n=len(message.content), limit=self._settings.max_message_length)
        await self._outbox.notice(message.channel.id, line, reply_to=message.id, key=f"refused:{message.id}")

    async def _not_saved(self, binding: Binding, message: discord.Message, error: StorageError) -> None:
        """The disk is in trouble. The channel is behind now: its next message has this one read again."""
        log.error("intake.not_saved", channel=binding.channel_id, exc_info=error)
        self._behind.add(binding.channel_id)
        line = t(self._stage.locale(binding.channel_id), "answer.not_saved")
        # Past the outbox, which writes down what it sends, and so could not send this.
        with suppress(discord.HTTPException):
            await message.reply(line, mention_author=False)

    async def _tell_unread(self, message: discord.Message, brought: Brought) -> None:
        """What was attached and could not be read: the words are safe all the same."""
        if not brought.problems:
            return
        locale = self._stage.locale(message.channel.id)
        lines = [t(locale, problem.text, **dict(problem.facts)) for problem in brought.problems]
        await self._outbox.notice(
            message.channel.id, "\n".join(lines), reply_to=message.id, key=f"unread:{message.id}"
        )

    async def _ended(self, binding: Binding) -> None:
        # Once: people may go on talking in the thread of a story that is over.
        line = t(self._stage.locale(binding.channel_id), "play.ended_here")
        await self._outbox.notice(binding.channel_id, line, key=f"over:{binding.play_id}")

    async def _amended(self, play_id: str, key: str, utterance: Utterance | None) -> bool:
        try:
            return await self._engine.plays.amend(play_id, key, utterance)
        except PlayError as error:
            if error.error_code != "PLAY_ENDED":
                raise
            return True  # there is nothing left to change

    async def _too_late(
        self, binding: Binding, message_id: int, key: str, text: str, reply_to: int | None
    ) -> None:
        """Say that the story has used the words; not for those that a rewind has set aside."""
        if await self._engine.plays.told(binding.play_id, key):
            line = t(self._stage.locale(binding.channel_id), text)
            await self._outbox.notice(binding.channel_id, line, reply_to=reply_to, key=f"late:{message_id}")


async def _with_room(
    brought: Brought, use: Callable[[Sequence[Attachment]], Awaitable[T]]
) -> tuple[T, Brought]:
    """Use what was brought; with its pictures only named when there is no room for them."""
    try:
        return await use(brought.attachments), brought
    except PlayError as error:
        if error.error_code != "PLAY_PICTURES_FULL":
            raise
        brought = without_pictures(brought, error.data["limit"])
    return await use(brought.attachments), brought
