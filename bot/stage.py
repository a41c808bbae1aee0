"""Where stories meet their channels: shows what the engine did, and nothing else changes the story.

Follows the engine's hooks for answers on their way, and shows the moves that people make
(swipe, rewind, undo). Everything that it shows is read from the log; a message that is
missing or cannot be sent never changes a story.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

import discord
import structlog

from bot import failures, rows
from bot.answers import tool_line
from bot.bindings import Bindings
from bot.echoes import Echoes, message_id_of
from bot.faces import Faces
from bot.i18n import t
from bot.outbox import Outbox, Place, Reply
from bot.showing import Showing
from bot.writing import Writing
from engine.agent.tools import ToolResult
from engine.hooks import Scope
from engine.host import Engine
from engine.play import ExchangeEnded, ExchangeStarted, Node, Playthrough, Timeline, UserText
from engine.session import Message
from engine.table import SHOWN

__all__ = ["ANSWER", "GREETING", "Stage"]

log = structlog.get_logger(__name__)

GREETING, ANSWER = "greeting", "answer"
TAKEN, WAITING = "👀", "⏳"
_LONGEST_END = 60.0  # seconds; a Discord that is down is given up before that
_BEGUN_KEPT = 1000  # messages; between being answered and being marked lie seconds


def _answered_messages(inputs: Iterable[Message]) -> list[int]:
    """The messages of what is answered for the first time: words that are said again have other ids."""
    keys = [
        message["source"].get("key", "")
        for message in inputs
        if message["id"] == message["source"].get("key")
    ]
    return [message_id for key in keys if (message_id := message_id_of(key)) is not None]


def _stopped(ended: ExchangeEnded) -> bool:
    """Whether a person stopped it."""
    return bool(ended.reason["kind"] == "aborted" and ended.reason["reason"]["kind"] == "user")


class Stage:
    """Shows every story of one bot."""

    def __init__(
        self, client: discord.Client, engine: Engine, outbox: Outbox, bindings: Bindings, faces: Faces
    ) -> None:
        self._client = client
        self._engine = engine
        self._outbox = outbox
        self._bindings = bindings
        self._faces = faces
        self._showing = Showing(engine)
        self._echoes = Echoes(outbox, faces, self._showing)
        self._writings: dict[str, Writing] = {}  # by session
        self._telling: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._newest: dict[int, Writing] = {}  # by channel
        self._begun: dict[int, None] = {}  # messages whose answer has begun, the newest of them

    def attach(self, owner: Scope) -> None:
        """Follow the engine from now on."""
        on = self._engine.hooks.on
        on("play/exchange-started", self._started, owner=owner)
        on("agent/assistant-stream", self._frame, owner=owner)
        on("tools/result", self._result, owner=owner)
        on("play/exchange-ended", self._ended, owner=owner)
        on("agent/paused", self._paused, owner=owner)
        on("agent/dead-letter", self._dead_letter, owner=owner)

    # -- an answer on its way ------------------------------------------------------------------

    def _started(self, started: ExchangeStarted) -> None:
        binding = self._bindings.of_play(started.play_id)
        if binding is None:
            return
        channel_id = binding.channel_id
        before = self._newest.get(channel_id)
        speaker: dict[str, Any] = {"name": "", "veiled": False}

        async def open_reply() -> Any:
            await self._over(before)  # messages stand in the order in which they were written
            face = await self._faces.of_play(started.play_id)
            speaker["name"] = face.name
            speaker["veiled"] = await self._showing.veils(started.play_id)
            place = self._place(
                channel_id, started.play_id, started.session_id, started.turn, started.swipe_of
            )
            locale = self.locale(channel_id)
            return self._outbox.reply(place, face, stop=lambda: rows.stop_row(started.play_id, locale))

        writing = Writing(lambda: speaker["name"], open_reply, lambda: speaker["veiled"])
        self._writings[started.session_id] = self._newest[channel_id] = writing
        self._mark_begun(channel_id, started.inputs)

    def _frame(self, session_id: str, frame: Any) -> None:
        writing = self._writings.get(session_id)
        if writing is not None:
            writing.frame(frame)

    def _result(self, result: ToolResult) -> None:
        writing = self._writings.get(result.call.session_id)
        if writing is not None and result.call.name in SHOWN and not result.outcome.is_error:
            writing.remark(tool_line(result.outcome.text))

    async def _ended(self, ended: ExchangeEnded) -> None:
        writing = self._writings.pop(ended.session_id, None)
        if writing is None:
            return
        try:
            reply = await writing.reply()
            binding = self._bindings.of_play(ended.play_id)
            if binding is not None:
                await self._conclude(ended, reply, binding.channel_id)
            elif reply is not None:
                await reply.abandon()  # the channel is gone
        finally:
            writing.over.set()
            for channel_id in [each for each, newest in self._newest.items() if newest is writing]:
                del self._newest[channel_id]

    async def _conclude(self, ended: ExchangeEnded, reply: Reply | None, channel_id: int) -> None:
        locale = self.locale(channel_id)
        for message_id in {*_answered_messages(ended.inputs), *await self._left_by_a_crash(ended)}:
            self._outbox.unmark(channel_id, message_id, TAKEN)
        if ended.variant_id is not None and ended.node_id is not None:
            await self._answered(ended, ended.node_id, reply, channel_id)
        elif ended.swipe_of is not None:
            if reply is not None:
                await reply.abandon()
            await self._swipe_failed(ended, channel_id, locale)
        elif reply is not None:
            if (line := self._failure_line(ended, locale)) is not None:
                await reply.fail(line, buttons=lambda: rows.failure_row(ended.play_id, locale))
            else:
                await reply.abandon()
        if ended.waiting and ended.swipe_of is None and _stopped(ended):
            await self.tell_waiting(ended.play_id, "answer.stopped_waiting", ended.waiting)

    async def _left_by_a_crash(self, ended: ExchangeEnded) -> list[int]:
        """Messages that an earlier turn took and left unanswered, and that this answer answers too."""
        if ended.variant_id is None or ended.node_id is None or ended.swipe_of is not None:
            return []
        _, _, node = await self._node(ended.play_id, ended.node_id)
        return await self._answered_by(node)

    async def unmark_answered(self, channel_id: int, node: Node) -> None:
        """The words of an exchange are answered: no sign of their waiting stays, also none of a process that
        is dead."""
        for message_id in await self._answered_by(node):
            self._outbox.unmark(channel_id, message_id, TAKEN)

    async def _answered_by(self, node: Node) -> list[int]:
        said = (await self._engine.plays.text(node.adopted)).inputs
        return [message_id for words in said if (message_id := message_id_of(words.key)) is not None]

    async def _answered(
        self, ended: ExchangeEnded, node_id: str, reply: Reply | None, channel_id: int
    ) -> None:
        play, _, node = await self._node(ended.play_id, node_id)
        place = self._node_place(channel_id, play.id, node)
        if reply is not None:
            face = await self._faces.of_play(play.id)
            text = await self._engine.plays.text(node.adopted)
            locale = self.locale(channel_id)
            footer = t(locale, "answer.stopped") if node.adopted.interrupted else None
            if ended.reason["kind"] == "error":  # some of it was said before a tool was called
                footer = self._failure_line(ended, locale)
            await reply.finish(
                await self._showing.answer(play, node, text, face.name, locale),
                buttons=lambda: self._answer_row(play.id, node),
                footer=footer,
                node_id=node.id,
                variant_id=node.adopted.id,
            )
        await self._outbox.unbutton(place)

    async def _swipe_failed(self, ended: ExchangeEnded, channel_id: int, locale: str) -> None:
        """The old answer stands in the tree; show it again, and say why there is no new one.

        What waited behind the old answer is told again: its own line went when the swipe began.
        """
        assert ended.swipe_of is not None
        play_id, waiting = ended.play_id, await self._unanswered(ended.play_id)
        await self.show_node(play_id, ended.swipe_of, buttons=True)
        line = self._failure_line(ended, locale)
        if line is not None and ended.reason["kind"] == "error":
            buttons = (lambda: rows.failure_row(play_id, locale)) if waiting else None
            await self._outbox.notice(channel_id, line, buttons=buttons, play_id=play_id, passing=True)
        elif waiting:
            await self.tell_waiting(play_id, "answer.stopped_waiting", waiting)

    async def _unanswered(self, play_id: str) -> int:
        """How many messages stand unanswered after the story's head, if nobody is answering them now."""
        play = await self._engine.plays.get(play_id)
        agent = self._engine.agents.get(play.head.session_id)
        if agent is not None and agent.status == "running":
            return 0
        _, words = await self._engine.plays.after(play_id, play.head.node_id)
        return len(words)

    async def tell_waiting(self, play_id: str, text: str, waiting: int) -> None:
        """Say that words wait, with a button to have them answered. Goes away with the next answer."""
        binding = self._bindings.of_play(play_id)
        if binding is None:
            return
        locale = self.locale(binding.channel_id)
        await self._outbox.notice(
            binding.channel_id,
            t(locale, text, n=waiting),
            buttons=lambda: rows.waiting_row(play_id, locale),
            key=f"waiting:{play_id}",
            play_id=play_id,
            passing=True,
        )

    @staticmethod
    def _failure_line(ended: ExchangeEnded, locale: str) -> str | None:
        kind = ended.reason["kind"]
        if kind == "error":
            return failures.unanswered(locale, ended.reason["error"]["code"])
        if _stopped(ended):
            return t(locale, "answer.stopped")
        if kind in ("completed", "max-tokens") and ended.inputs:
            return t(locale, "failure.EMPTY_RESPONSE")
        return None

    async def _paused(self, session_id: str, waiting: int) -> None:
        found = await self._channel_of_session(session_id)
        if found is not None:
            await self.tell_waiting(found[0], "failure.paused", waiting)

    async def _dead_letter(self, session_id: str, messages: Sequence[Message]) -> None:
        found = await self._channel_of_session(session_id)
        if found is not None:
            _, channel_id = found
            line = t(self.locale(channel_id), "failure.dead_letter", n=len(messages))
            await self._outbox.notice(channel_id, line)

    # -- showing what stands ---------------------------------------------------------------------

    async def show_greeting(self, play_id: str) -> None:
        """The draft's greeting, in the character's name, with ◀ ▶ over the alternates."""
        binding = self._bindings.of_play(play_id)
        if binding is None:
            return
        play = await self._engine.plays.get(play_id)
        face = await self._faces.of_play(play_id)
        greetings, index = await self._engine.greetings(play_id)
        locale = self.locale(binding.channel_id)
        text = t(locale, "play.no_greeting", name=face.name)
        if greetings:
            text = await self._showing.greeting(play, greetings[index], index, locale)
        draft = play.head.node_id is None
        await self._outbox.render(
            self._place(binding.channel_id, play_id, play.head.session_id, 0, None, kind=GREETING),
            face,
            text,
            buttons=(lambda: rows.greeting_row(play_id, index, len(greetings))) if draft else None,
        )

    async def fix_greeting(self, play_id: str) -> None:
        """The story has begun: its greeting keeps no buttons."""
        binding = self._bindings.of_play(play_id)
        if binding is not None:
            place = self._place(binding.channel_id, play_id, "", 0, None, kind=GREETING)
            await self._outbox.bare(place)

    async def show_node(self, play_id: str, node_id: str, *, buttons: bool) -> None:
        """The standing answer of an exchange, in the messages that show this exchange."""
        binding = self._bindings.of_play(play_id)
        if binding is None:
            return
        play, _, node = await self._node(play_id, node_id)
        face = await self._faces.of_play(play_id)
        text = await self._engine.plays.text(node.adopted)
        locale = self.locale(binding.channel_id)
        await self._outbox.render(
            self._node_place(binding.channel_id, play.id, node),
            face,
            await self._showing.answer(play, node, text, face.name, locale),
            buttons=(lambda: self._answer_row(play_id, node)) if buttons else None,
            footer=t(locale, "answer.stopped") if node.adopted.interrupted else None,
        )

    async def show_adopted(self, play_id: str, node_id: str) -> None:
        """After a swipe to an existing answer: show it, and what had followed it, if anything had."""
        timeline = await self._engine.plays.timeline(play_id)
        path = [node.id for node in timeline.path()]
        following = path[path.index(node_id) + 1 :] if node_id in path else []
        await self.show_node(play_id, node_id, buttons=not following)
        await self.show_again(play_id, following)

    async def show_again(self, play_id: str, node_ids: Sequence[str]) -> None:
        """Tell exchanges again that were set aside: people's words under their names, then the answers."""
        binding = self._bindings.of_play(play_id)
        if binding is None:
            return
        for node_id in node_ids:
            play, _, node = await self._node(play_id, node_id)
            text = await self._engine.plays.text(node.adopted)
            await self._echoes.tell(binding.channel_id, play.id, node, text.inputs)
            await self.show_node(play_id, node_id, buttons=node_id == node_ids[-1])

    async def show_unanswered(self, play_id: str) -> None:
        """Tell again what was said after the last exchange, and that it waits."""
        binding = self._bindings.of_play(play_id)
        play = await self._engine.plays.get(play_id)
        _, words = await self._engine.plays.after(play_id, play.head.node_id)
        if binding is not None and words:
            await self._echoes.tell_unanswered(binding.channel_id, play_id, words)
            await self.tell_waiting(play_id, "answer.waits", len(words))

    async def about_to_move(self, play_id: str, nodes: Iterable[Node]) -> None:
        """Before the head moves: what the channel shows of these exchanges will not hold any more."""
        binding = self._bindings.of_play(play_id)
        if binding is not None:
            places = [self._node_place(binding.channel_id, play_id, node) for node in nodes]
            await self._outbox.posts.unsettle(*places)

    async def set_aside(
        self,
        play_id: str,
        nodes: Iterable[Node],
        words: Sequence[UserText],
        kept: Node | None,
    ) -> None:
        """Take away what a rewind left behind, and give the buttons back to where the story stands."""
        binding = self._bindings.of_play(play_id)
        if binding is None:
            return
        channel_id = binding.channel_id
        places = self._echoes.places_of_unanswered(channel_id, play_id, words)
        for node in nodes:
            places.append(self._node_place(channel_id, play_id, node))
            said = (await self._engine.plays.text(node.adopted)).inputs
            places += self._echoes.places(channel_id, play_id, node, len(said))
        ids = [found for word in words if (found := message_id_of(word.key)) is not None]
        for place in places:
            ids += await self._outbox.standing(place)
        # At once where the bot may: a long story goes in one request, not in one per message.
        await self._outbox.remove(channel_id, ids)
        await self._outbox.pass_on(channel_id, play_id)
        if kept is not None:
            await self.show_node(play_id, kept.id, buttons=True)
        else:
            await self.show_greeting(play_id)

    def telling(self, play_id: str) -> asyncio.Lock:
        """Held while the channel is told what a move changed; new words wait, so that order stays order."""
        return self._telling.setdefault(play_id, asyncio.Lock())

    async def close(self, play_id: str) -> None:
        """The story has ended: no button of it works any more, so none stands."""
        binding = self._bindings.of_play(play_id)
        if binding is None:
            return
        await self._over(self._newest.get(binding.channel_id))  # or its row would come after this
        await self.fix_greeting(play_id)
        for node in (await self._engine.plays.timeline(play_id)).path()[-1:]:
            await self._outbox.bare(self._node_place(binding.channel_id, play_id, node))

    # -- inside ----------------------------------------------------------------------------------

    def locale(self, channel_id: int) -> str:
        """The language of what everybody in a channel sees: that of its server."""
        channel = self._client.get_channel(channel_id)
        guild = getattr(channel, "guild", None)
        return str(guild.preferred_locale) if guild is not None else "en"

    def mark_taken(self, channel_id: int, message_id: int, *, waits: bool) -> None:
        """👀 on words that are safe, ⏳ when others stand before them; nothing if they are being
        answered already, or were: saving them can take longer than that."""
        if message_id not in self._begun:
            self._outbox.mark(channel_id, message_id, WAITING if waits else TAKEN)

    def _mark_begun(self, channel_id: int, messages: Iterable[Message]) -> None:
        for message_id in _answered_messages(messages):
            self._begun[message_id] = None
            self._outbox.unmark(channel_id, message_id, WAITING)
            self._outbox.mark(channel_id, message_id, TAKEN)
        while len(self._begun) > _BEGUN_KEPT:
            del self._begun[next(iter(self._begun))]

    @staticmethod
    async def _over(writing: Writing | None) -> None:
        """Wait until all that there is to show of an answer is shown."""
        if writing is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LONGEST_END):
                    await writing.over.wait()

    @staticmethod
    def _answer_row(play_id: str, node: Node) -> discord.ui.View:
        return rows.answer_row(play_id, node.id, node.adopted.id, node.position, len(node.variants))

    @staticmethod
    def _place(
        channel_id: int, play_id: str, session_id: str, turn: int, node_id: str | None, kind: str = "answer"
    ) -> Place:
        return Place(channel_id, play_id, session_id, turn, kind=kind, node_id=node_id)

    def _node_place(self, channel_id: int, play_id: str, node: Node) -> Place:
        variant = node.adopted
        return Place(channel_id, play_id, variant.session_id, 0, node_id=node.id, variant_id=variant.id)

    async def _node(self, play_id: str, node_id: str) -> tuple[Playthrough, Timeline, Node]:
        play = await self._engine.plays.get(play_id)
        timeline = await self._engine.plays.timeline(play_id)
        node = timeline.node(node_id)
        assert node is not None  # nodes are never deleted
        return play, timeline, node

    async def _channel_of_session(self, session_id: str) -> tuple[str, int] | None:
        owner = await self._engine.plays.table.owner_of_session(session_id)
        binding = self._bindings.of_play(owner[0]) if owner else None
        return (binding.play_id, binding.channel_id) if binding is not None else None
