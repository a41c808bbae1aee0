"""After a restart: what was cut off is closed honestly, and what waits is told, once.

Nothing is said where nothing waits (`ux` 4).
"""

from __future__ import annotations

import structlog

from bot.bindings import Bindings
from bot.outbox import Outbox, Place, Post
from bot.settings import PlaySettings
from bot.stage import GREETING, Stage
from engine.errors import EngineError
from engine.host import Engine
from engine.play import Recovered

__all__ = ["Recovery"]

log = structlog.get_logger(__name__)

_MINUTE_MS = 60_000


class Recovery:
    """Runs once a process, when Discord is there and before new messages are read."""

    def __init__(
        self,
        engine: Engine,
        bindings: Bindings,
        outbox: Outbox,
        stage: Stage,
        settings: PlaySettings,
    ) -> None:
        self._engine = engine
        self._bindings = bindings
        self._outbox = outbox
        self._stage = stage
        self._settings = settings

    async def run(self) -> None:
        """Bring every story up to date with its log, and its channel with the story."""
        unfinished = await self._outbox.posts.unfinished()
        window = self._settings.catch_up_minutes * _MINUTE_MS
        recovered = await self._engine.reconciler.recover(window)
        # Messages that never got their last text: what stands in the log is shown there instead.
        for post in {post.spot: post for post in unfinished}.values():
            try:
                await self._finish(post)
            except EngineError:
                log.exception("recovery.unfinished", channel=post.channel_id, kind=post.kind)
        for found in recovered:
            await self._show(found)

    async def _finish(self, post: Post) -> None:
        """What a dead process left half shown: shown as it is told now, or taken away."""
        place = Place(post.channel_id, post.play_id, post.session_id, post.turn, post.kind, post.node_id)
        if post.kind == GREETING:
            await self._stage.show_greeting(post.play_id)
            return
        if post.kind in ("notice", "failure"):
            await self._outbox.discard(place)  # what still has to be said is said again
            return
        if post.node_id is None:
            await self._close(post.play_id, post.session_id, post.turn, post.channel_id)
            return
        timeline = await self._engine.plays.timeline(post.play_id)
        path = [node.id for node in timeline.path()]
        node = timeline.node(post.node_id)
        if node is None or node.id not in path:
            await self._outbox.discard(place)
        elif post.kind == "answer":
            await self._stage.show_adopted(post.play_id, node.id)
            await self._stage.unmark_answered(post.channel_id, node)
        else:
            await self._stage.show_again(post.play_id, path[path.index(post.node_id) :])

    async def _close(self, play_id: str, session_id: str, turn: int, channel_id: int) -> None:
        """A half-shown turn: if its answer was settled, show that; else take the pieces away."""
        place = Place(channel_id, play_id, session_id, turn)
        timeline = await self._engine.plays.timeline(play_id)
        node = timeline.node(timeline.head.node_id) if timeline.head.node_id else None
        if node is not None and node.adopted.session_id == session_id:
            shown = await self._engine.plays.turn_of(node.adopted)
            if shown == turn:
                spot = await self._outbox.posts.spot_of(place)
                if spot is not None:
                    await self._outbox.posts.label(spot, node.id, node.adopted.id)
                await self._stage.show_node(play_id, node.id, buttons=True)
                await self._stage.unmark_answered(channel_id, node)
                return
        await self._outbox.discard(place)

    async def _show(self, found: Recovered) -> None:
        binding = self._bindings.of_play(found.play_id)
        log.info(
            "story.recovered",
            play=found.play_id,
            interrupted=found.interrupted,
            waiting=found.waiting,
            resumed=found.resumed,
        )
        if binding is None:
            return
        if found.swipe_of is not None:
            await self._stage.show_node(found.play_id, found.swipe_of, buttons=True)
            return
        if found.resumed:
            return
        text = "restart.unfinished" if found.interrupted else "restart.waiting"
        await self._stage.tell_waiting(found.play_id, text, found.waiting)
