"""The moves that people make in a story, and what the channel shows of them.

Each one: find where the story stands, let the engine move the head by compare-and-swap,
show the outcome. What was pressed too late is refused by the engine, not guessed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot import rows
from bot.bindings import Bindings
from bot.echoes import Echoes
from bot.excerpts import plain
from bot.i18n import t
from bot.outbox import Outbox, Place
from bot.stage import ANSWER, GREETING, Stage
from engine.errors import PlayError
from engine.host import Engine
from engine.play import Head, Node, Playthrough, UserText
from engine.storage import Store

__all__ = ["Moves", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """What a message shows: an exchange of a story, or with `node_id` None its beginning."""

    play_id: str
    node_id: str | None


class Moves:
    """Swipe, regenerate, rewind, undo, retry."""

    def __init__(
        self, engine: Engine, store: Store, outbox: Outbox, bindings: Bindings, stage: Stage
    ) -> None:
        self._engine = engine
        self._store = store
        self._outbox = outbox
        self._bindings = bindings
        self._stage = stage

    async def target(self, channel_id: int, message_id: int) -> Target:
        """What a message of a channel belongs to. Raises PlayError PLAY_NONE_HERE or PLAY_NOT_ON_PATH."""
        binding = self._bindings.of_channel(channel_id)
        if binding is None:
            raise PlayError("No story is being played here.", code="PLAY_NONE_HERE")
        post = await self._outbox.posts.by_message(message_id)
        if post is not None and post.play_id == binding.play_id:
            if post.kind == GREETING:
                return Target(binding.play_id, None)
            if post.node_id is not None and (post.kind == ANSWER or Echoes.of_exchange(post.kind)):
                return Target(binding.play_id, post.node_id)
        row = await self._store.fetch_one("intake_get", message_id=message_id)
        if row is not None and row["play_id"] == binding.play_id:
            node = await self._engine.plays.node_of_words(binding.play_id, row["key"])
            if node is not None:
                return Target(binding.play_id, node.id)
        raise PlayError("This message is not part of the story.", code="PLAY_NOT_ON_PATH")

    async def turn_page(self, play_id: str, node_id: str, variant_id: str, step: int) -> None:
        """◀ and ▶: the answer before or after; ▶ on the last one writes a new one."""
        node, head = await self._standing(play_id, node_id, variant_id)
        index = node.position + step
        if index == len(node.variants):
            await self._engine.plays.swipe(play_id, node_id, head)
        else:
            async with self._stage.telling(play_id):
                await self._stage.about_to_move(play_id, [node])
                await self._engine.plays.adopt(play_id, node_id, index, head)
                await self._stage.show_adopted(play_id, node_id)

    async def again(self, play_id: str, node_id: str, variant_id: str) -> None:
        """⟳: another answer to the newest exchange."""
        _, head = await self._standing(play_id, node_id, variant_id)
        await self._engine.plays.swipe(play_id, node_id, head)

    async def regenerate(self, target: Target, who: str) -> None:
        """Another answer to any exchange; what came after it is set aside first."""
        self.check_answer(target)
        assert target.node_id is not None  # checked on the line above
        play = await self._engine.plays.get(target.play_id)
        head = play.head
        if head.node_id != target.node_id:
            head = await self.rewind(target, who)
        await self._engine.plays.swipe(target.play_id, target.node_id, head)

    @staticmethod
    def check_answer(target: Target) -> None:
        """Raises PlayError PLAY_NODE_UNKNOWN for a greeting, which has no other answer to it."""
        if target.node_id is None:
            raise PlayError("A greeting is not an answer.", code="PLAY_NODE_UNKNOWN")

    async def stop(self, play_id: str) -> bool:
        """Stop the answer that is being written. False when none is."""
        if not await self._writing(play_id):
            return False
        await self._engine.plays.stop(play_id)
        return True

    async def concerns_others(self, target: Target, user_id: int) -> tuple[int, Sequence[UserText]]:
        """How many exchanges a rewind would set aside, and the words in them that others said.

        Raises PlayError PLAY_BUSY while an answer is being written.
        """
        if await self._writing(target.play_id):
            raise PlayError("An answer is being written.", code="PLAY_BUSY")
        nodes, words = await self._engine.plays.after(target.play_id, target.node_id)
        # Words that were never answered are an exchange to whoever said them.
        return max(len(nodes), 1), [word for word in words if word.author_id != str(user_id)]

    async def rewind(self, target: Target, who: str) -> Head:
        """Go on from an earlier exchange. Says so in the channel, with a way back. Returns the new head."""
        async with self._stage.telling(target.play_id):
            return await self._rewind(target, who)

    async def _rewind(self, target: Target, who: str) -> Head:
        play = await self._engine.plays.get(target.play_id)
        nodes, words = await self._engine.plays.after(target.play_id, target.node_id)
        if not nodes and not words:
            raise PlayError("This is where the story is already.", code="PLAY_ALREADY_THERE")
        timeline = await self._engine.plays.timeline(target.play_id)
        kept = timeline.node(target.node_id) if target.node_id is not None else None
        await self._stage.about_to_move(target.play_id, [*nodes, *([kept] if kept is not None else [])])
        rewound = await self._engine.plays.rewind(target.play_id, target.node_id, play.head)
        await self._stage.set_aside(target.play_id, rewound.set_aside, rewound.words, kept)
        binding = self._bindings.of_play(target.play_id)
        if binding is not None:
            # One way back at a time: that of the rewind before would lead somewhere else now.
            earlier = _notice_place(binding.channel_id, target.play_id, play.head.session_id)
            await self._outbox.discard(earlier)
            locale = self._stage.locale(binding.channel_id)
            line = t(locale, "rewind.done" if kept is not None else "rewind.done_start", who=plain(who, 100))
            await self._outbox.notice(
                binding.channel_id,
                f"-# {line}",
                buttons=lambda: rows.undo_row(target.play_id, rewound.previous, rewound.head, locale),
                key=_notice(rewound.head.session_id),
                play_id=target.play_id,
            )
        return rewound.head

    async def undo(self, play_id: str, previous: Head, session_id: str) -> None:
        """Take a rewind back: the story stands where it stood, and the channel tells it again."""
        async with self._stage.telling(play_id):
            await self._undo(play_id, previous, session_id)

    async def _undo(self, play_id: str, previous: Head, session_id: str) -> None:
        play = await self._engine.plays.get(play_id)
        standing = (await self._engine.plays.timeline(play_id)).path()
        before = [node.id for node in standing]
        if not await self._leads_back(play, standing, previous):
            raise PlayError("The story has gone on since.", code="PLAY_CANNOT_UNDO")
        await self._stage.about_to_move(play_id, standing[-1:])
        await self._engine.plays.restore_head(play_id, previous, play.head)
        path = [node.id for node in (await self._engine.plays.timeline(play_id)).path()]
        binding = self._bindings.of_play(play_id)
        if binding is not None:
            await self._outbox.discard(_notice_place(binding.channel_id, play_id, session_id))
        back = path[len(before) :]
        if back and before:
            await self._stage.show_node(play_id, before[-1], buttons=False)
        elif back:
            await self._stage.fix_greeting(play_id)
        await self._stage.show_again(play_id, back)
        await self._stage.show_unanswered(play_id)

    async def retry(self, play_id: str) -> None:
        """Say the unanswered words again."""
        play = await self._engine.plays.get(play_id)
        await self._engine.plays.retry(play_id, play.head)

    async def _writing(self, play_id: str) -> bool:
        play = await self._engine.plays.get(play_id)
        agent = self._engine.agents.get(await self._engine.plays.current_session(play))
        return agent is not None and agent.status == "running"

    async def _leads_back(self, play: Playthrough, standing: Sequence[Node], previous: Head) -> bool:
        """Whether the way to `previous` only goes on from what stands: nothing new would be left behind.

        Another answer to an exchange on that way (a regeneration) stays reachable beside the old one.
        """
        timeline = await self._engine.plays.timeline(play.id)
        way = {node.id for node in timeline.path_to(previous.variant_id)}
        _, words = await self._engine.plays.after(play.id, play.head.node_id)
        return not words and all(node.id in way for node in standing)

    async def _standing(self, play_id: str, node_id: str, variant_id: str) -> tuple[Node, Head]:
        timeline = await self._engine.plays.timeline(play_id)
        node = timeline.node(node_id)
        head = timeline.head
        if node is None or head.node_id != node_id or head.variant_id != variant_id:
            raise PlayError("The story has moved on meanwhile.", code="PLAY_HEAD_MOVED")
        return node, head


def _notice(session_id: str) -> str:
    return f"rewind:{session_id}"


def _notice_place(channel_id: int, play_id: str, session_id: str) -> Place:
    return Place(channel_id, play_id, "", 0, kind="notice", node_id=_notice(session_id))
