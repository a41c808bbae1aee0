"""From a Discord message to words in a story.

A message is written down in the intake ledger before the engine sees it, and the ledger
is how a message that came twice, or while we were away, is told from a new one. Bots,
webhooks and our own faces are dropped before anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import discord
import structlog

from bot.bindings import Binding, Bindings
from bot.i18n import t
from bot.outbox import Outbox
from bot.settings import PlaySettings
from bot.stage import Stage
from engine.errors import EngineError, PlayError
from engine.host import Engine
from engine.play import Utterance
from engine.storage import Store, Write

__all__ = ["Intake"]

log = structlog.get_logger(__name__)

# A table that wrote more than this while we were away reads a summary in its channel
# anyway; answering into the middle of it helps nobody.
_CATCH_UP_LIMIT = 200


@dataclass(frozen=True, slots=True)
class _Words:
    """What a message says to the story, or why it says nothing."""

    text: str
    problem: str | None = None


class Intake:
    """Takes messages in. `take` for live ones, `catch_up` for those that were missed."""

    def __init__(
        self,
        client: discord.Client,
        engine: Engine,
        store: Store,
        bindings: Bindings,
        outbox: Outbox,
        stage: Stage,
        settings: PlaySettings,
        clock: Callable[[], int],
    ) -> None:
        self._client = client
        self._engine = engine
        self._store = store
        self._bindings = bindings
        self._outbox = outbox
        self._stage = stage
        self._settings = settings
        self._clock = clock
        self._catching_up: dict[int, asyncio.Lock] = {}

    async def take(self, message: discord.Message) -> None:
        """A live message. Does nothing for channels without a story and for what no person wrote."""
        binding = self._binding_for(message)
        if binding is None:
            return
        lock = self._catching_up.get(message.channel.id)
        if lock is not None:
            async with lock:  # what was written before this one is taken first
                pass
        await self._take(binding, message, answer=True)

    async def catch_up(self) -> None:
        """Read what every story's channel got while we were away; answer only what is fresh."""
        for binding in self._bindings.all():
            lock = self._catching_up.setdefault(binding.channel_id, asyncio.Lock())
            try:
                async with lock:
                    await self._catch_up_one(binding)
            except discord.HTTPException as error:
                log.warning("intake.catch_up_failed", channel=binding.channel_id, status=error.status)
            except EngineError:
                log.exception("intake.catch_up_failed", channel=binding.channel_id)
            finally:
                if self._catching_up.get(binding.channel_id) is lock:
                    del self._catching_up[binding.channel_id]

    async def edited(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Somebody changed what they wrote: words that still wait change with it (decision 26)."""
        message = payload.message
        binding = self._binding_for(message)
        if binding is None or message.edited_at is None:
            return
        row = await self._store.fetch_one("intake_get", message_id=message.id)
        if row is None or row["state"] == "done":
            return
        words = self._words(message)
        if words.problem is None and words.text:
            utterance = await self._utterance(message, words.text)
            if await self._engine.plays.amend(binding.play_id, utterance.key, utterance):
                return
        locale = self._stage.locale(message.channel.id)
        await self._outbox.notice(
            message.channel.id,
            t(locale, "answer.edited_late"),
            reply_to=message.id,
            key=f"late:{message.id}",
        )

    async def deleted(self, channel_id: int, message_id: int) -> None:
        """Somebody took back what they wrote: words that still wait are taken back too."""
        await self._outbox.posts.message_deleted(message_id)
        row = await self._store.fetch_one("intake_get", message_id=message_id)
        binding = self._bindings.of_channel(channel_id)
        if row is not None and binding is not None and row["play_id"] == binding.play_id:
            await self._engine.plays.amend(binding.play_id, row["key"], None)

    # -- inside ----------------------------------------------------------------------------------

    def _binding_for(self, message: discord.Message) -> Binding | None:
        if message.webhook_id is not None or message.author.bot:
            return None
        if message.type not in (discord.MessageType.default, discord.MessageType.reply):
            return None
        return self._bindings.of_channel(message.channel.id)

    async def _take(self, binding: Binding, message: discord.Message, *, answer: bool) -> bool:
        """Write down and say. False when the message was known already or says nothing."""
        channel_id, locale = message.channel.id, self._stage.locale(message.channel.id)
        await self._seen(channel_id, message.id)
        words = self._words(message)
        if words.problem is not None:
            await self._outbox.notice(
                channel_id,
                t(locale, words.problem, n=len(message.content), limit=self._settings.max_message_length),
                reply_to=message.id,
                key=f"refused:{message.id}",
            )
            return False
        if not words.text:
            return False
        utterance = await self._utterance(message, words.text)
        await self._store.commit(
            Write(
                "intake_take",
                {
                    "message_id": message.id,
                    "channel_id": channel_id,
                    "play_id": binding.play_id,
                    "session_id": None,
                    "key": utterance.key,
                    "now": self._clock(),
                },
            )
        )
        try:
            receipt = await self._engine.plays.say(binding.play_id, utterance, answer=answer)
        except PlayError as error:
            await self._state(message.id, "done", None)
            key = "play.ended_here" if error.error_code == "PLAY_ENDED" else "answer.queue_full"
            await self._outbox.notice(
                channel_id, t(locale, key), reply_to=message.id, key=f"refused:{message.id}"
            )
            return False
        if receipt.state == "duplicate":
            return False
        await self._state(message.id, "accepted", receipt.session_id)
        await self._stage.fix_greeting(binding.play_id)
        self._stage.mark_taken(channel_id, message.id, waits=receipt.waiting > 0)
        return True

    async def _catch_up_one(self, binding: Binding) -> None:
        channel = self._client.get_channel(binding.channel_id)
        if channel is None:
            channel = await self._client.fetch_channel(binding.channel_id)
        if not isinstance(channel, discord.abc.Messageable):
            return
        row = await self._store.fetch_one("cursor_get", channel_id=binding.channel_id)
        if row is None:
            return
        after = discord.Object(row["last_seen"])
        missed = [
            message
            async for message in channel.history(limit=_CATCH_UP_LIMIT, after=after, oldest_first=True)
            if self._binding_for(message) is not None
        ]
        window_ms = self._settings.catch_up_minutes * 60_000
        for message in missed:
            fresh = self._clock() - message.created_at.timestamp() * 1000 <= window_ms
            last = message is missed[-1]
            await self._take(binding, message, answer=last and fresh)
        if missed:
            log.info("intake.caught_up", channel=binding.channel_id, messages=len(missed))

    def _words(self, message: discord.Message) -> _Words:
        text = message.content.strip()
        for attachment in message.attachments:
            # Named to the model, not read (decision 36).
            text += f"\n[{attachment.filename}]"
        if len(text) > self._settings.max_message_length:
            return _Words("", "answer.too_long")
        return _Words(text.strip())

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

    async def _seen(self, channel_id: int, message_id: int) -> None:
        await self._store.commit(
            Write(
                "cursor_advance",
                {"channel_id": channel_id, "last_seen": message_id, "now": self._clock()},
            )
        )

    async def _state(self, message_id: int, state: str, session_id: str | None) -> None:
        await self._store.commit(
            Write(
                "intake_state",
                {
                    "message_id": message_id,
                    "state": state,
                    "session_id": session_id,
                    "now": self._clock(),
                },
            )
        )
