"""After a restart: what was cut off is closed honestly, and what waits is told, once.

Nothing is said where nothing waits (`ux` 4).
"""

from __future__ import annotations

import structlog

from bot import rows
from bot.bindings import Bindings
from bot.i18n import t
from bot.outbox import Outbox, Place
from bot.settings import PlaySettings
from bot.stage import Stage
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
        for found in await self._engine.reconciler.recover(window):
            await self._show(found)
        # Messages that never got their last text: what stands in the log is shown there instead.
        for play_id, node_id in dict.fromkeys(
            (post.play_id, post.node_id) for post in unfinished if post.node_id
        ):
            timeline = await self._engine.plays.timeline(play_id)
            last = timeline.head.node_id == node_id
            if timeline.node(node_id) is not None:
                await self._stage.show_node(play_id, node_id, buttons=last)
        for post in unfinished:
            if post.node_id is None and post.kind == "answer":
                await self._close(post.play_id, post.session_id, post.turn, post.channel_id)

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
        channel_id, locale = binding.channel_id, self._stage.locale(binding.channel_id)
        if found.swipe_of is not None:
            await self._stage.show_node(found.play_id, found.swipe_of, buttons=True)
            return
        if found.resumed:
            return
        if found.interrupted:
            text = t(locale, "restart.unfinished")
        else:
            text = t(locale, "restart.waiting", n=found.waiting)
        await self._outbox.notice(
            channel_id,
            text,
            buttons=lambda: rows.waiting_row(found.play_id, locale),
            key=f"restart:{found.session_id}",
            play_id=found.play_id,
        )
