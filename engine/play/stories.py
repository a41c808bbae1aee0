"""Where stories stand: reading them, and the guards that every change goes through.

A story's channel never knows its session; it asks here, and the head decides. One lock a
story keeps its changes in order; a running turn holds none, so writing never blocks saying.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from weakref import WeakValueDictionary

import structlog

from engine.agent import Agents
from engine.errors import PlayError, SessionCorrupt
from engine.hooks import Hooks
from engine.library import Selection, Selections
from engine.play.carry import end_of
from engine.play.exchange import exchange_text, is_human, user_text, words_since
from engine.play.model import ExchangeText, Head, Node, Playthrough, Timeline, UserText, Variant
from engine.play.tables import PlayTable
from engine.session import Event, Message
from engine.storage import Store
from engine.strategies import Strategies

__all__ = ["Stories"]

log = structlog.get_logger(__name__)


class Stories:
    """All stories of one engine, as they stand. `clock` gives epoch ms."""

    def __init__(
        self,
        store: Store,
        agents: Agents,
        selections: Selections,
        hooks: Hooks,
        clock: Callable[[], int],
        strategies: Strategies,
    ) -> None:
        self.agents = agents
        self.hooks = hooks
        self.clock = clock
        self.strategies = strategies
        self.table = PlayTable(store)
        self._selections = selections
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def get(self, play_id: str) -> Playthrough:
        """Raises NotFound PLAY_PLAYTHROUGH_NOT_FOUND."""
        return await self.table.get(play_id)

    async def stories(self, owner: str, *, include_ended: bool = False) -> Sequence[Playthrough]:
        """The stories of a library, newest first."""
        return await self.table.of_owner(owner, include_ended)

    async def timeline(self, play_id: str) -> Timeline:
        return await self.table.timeline(await self.table.get(play_id))

    async def selection(self, play_id: str) -> Selection:
        """Which resources the story's head uses."""
        return await self._selected((await self.table.get(play_id)).head.session_id)

    async def variant(self, play_id: str, node_id: str, variant_id: str | None = None) -> Variant:
        """One answer to an exchange, on whatever branch; without `variant_id` the one that stands.

        Raises PlayError PLAY_NODE_UNKNOWN, PLAY_VARIANT_UNKNOWN.
        """
        node = self._node(await self.timeline(play_id), node_id)
        if variant_id is None:
            return node.adopted
        found = next((variant for variant in node.variants if variant.id == variant_id), None)
        if found is None:
            raise PlayError("There is no such answer.", code="PLAY_VARIANT_UNKNOWN")
        return found

    async def text(self, variant: Variant) -> ExchangeText:
        """What one answer and its exchange say."""
        return exchange_text(await self._events(variant))

    async def turn_of(self, variant: Variant) -> int:
        """The number of the turn that brought this answer."""
        return next(
            int(event.data["turn"])
            for event in reversed(await self._events(variant))
            if event.type == "turn/start"
        )

    async def node_of_words(self, play_id: str, key: str) -> Node | None:
        """The exchange on the active path in which these words were said."""
        play = await self.table.get(play_id)
        view = await self.agents.services.journal.read(play.head.session_id)
        seq = next(
            (
                event.seq
                for event in view.events
                if event.type == "user/message" and event.data["source"].get("key") == key
            ),
            None,
        )
        timeline = await self.table.timeline(play)
        if seq is None:
            return None
        return next((n for n in timeline.path() if n.adopted.start_seq <= seq <= n.adopted.end_seq), None)

    async def begun(self, play_id: str) -> bool:
        """Whether anything was said in the story: its greeting stands then."""
        return await self._begun(await self.table.get(play_id))

    async def speakers(self, play_id: str) -> Mapping[str, str]:
        """Who has spoken on the active path: names they spoke under, and whose each is (author ids)."""
        view = await self.agents.services.journal.read(
            await self.current_session(await self.table.get(play_id))
        )
        said = [event.data["source"] for event in view.events if event.type == "user/message"]
        return {
            source["persona"]: source.get("authorId", "")
            for source in said
            if source.get("kind") == "user" and source.get("persona")
        }

    async def told(self, play_id: str, key: str) -> bool:
        """Whether a turn has taken these words up, and no rewind has set them aside since."""
        play = await self.table.get(play_id)
        view = await self.agents.services.journal.read(await self.current_session(play))
        return any(
            event.type == "user/message" and event.data["source"].get("key") == key for event in view.events
        )

    async def after(self, play_id: str, node_id: str | None) -> tuple[Sequence[Node], Sequence[UserText]]:
        """What a rewind to `node_id` would set aside: exchanges, and all words said since."""
        play = await self._open(play_id)
        timeline = await self.table.timeline(play)
        return await self._after(play, timeline, self._on_path(timeline, node_id))

    async def swiping(self, play_id: str) -> str | None:
        """The exchange that another answer is being written to."""
        swipe = await self.table.swipe(play_id)
        return swipe[1] if swipe else None

    # -- guards ----------------------------------------------------------------------------------

    def lock(self, play_id: str) -> asyncio.Lock:
        return self._locks.setdefault(play_id, asyncio.Lock())

    async def current_session(self, play: Playthrough) -> str:
        """Where words go now: into the answer being written beside the standing one, else the head."""
        swipe = await self.table.swipe(play.id)
        return swipe[0] if swipe else play.head.session_id

    async def _selected(self, session_id: str) -> Selection:
        return await self._selections.get(session_id) or Selection()

    async def _open(self, play_id: str) -> Playthrough:
        play = await self.table.get(play_id)
        if play.ended_at is not None:
            raise PlayError("This story has ended.", code="PLAY_ENDED")
        return play

    async def _movable(self, play_id: str, expected: Head) -> tuple[Playthrough, Timeline]:
        play = await self._open(play_id)
        if play.head != expected:
            raise PlayError("The story has moved on meanwhile.", code="PLAY_HEAD_MOVED", head=play.head)
        await self._refuse_busy(play)
        return play, await self.table.timeline(play)

    async def _busy(self, play: Playthrough) -> bool:
        agent = self.agents.get(play.head.session_id)
        running = agent is not None and agent.status == "running"
        return running or await self.table.swipe(play.id) is not None

    async def _refuse_busy(self, play: Playthrough) -> None:
        if await self._busy(play):
            raise PlayError("An answer is being written.", code="PLAY_BUSY")

    async def _begun(self, play: Playthrough) -> bool:
        """Whether anything was said: the greeting stands then."""
        agent = await self.agents.open(play.head.session_id)
        return (
            play.head.node_id is not None
            or agent.status == "running"
            or agent.inbox.has_pending
            or any(event.type == "user/message" for event in agent.session.events())
        )

    @staticmethod
    def _node(timeline: Timeline, node_id: str) -> Node:
        node = timeline.node(node_id)
        if node is None:
            raise PlayError("This exchange is not part of the story.", code="PLAY_NODE_UNKNOWN")
        return node

    def _on_path(self, timeline: Timeline, node_id: str | None) -> Node | None:
        if node_id is None:
            return None
        node = self._node(timeline, node_id)
        if node not in timeline.path():
            raise PlayError("That is on another branch.", code="PLAY_NOT_ON_PATH")
        return node

    async def _after(
        self, play: Playthrough, timeline: Timeline, node: Node | None
    ) -> tuple[Sequence[Node], Sequence[UserText]]:
        path = timeline.path()
        kept = path.index(node) + 1 if node is not None else 0
        said: Sequence[Message] = ()
        try:
            view = await self.agents.services.journal.read(play.head.session_id)
            said = words_since(view.events, view.inherited, end_of(node))
        except SessionCorrupt:
            # A way back from a broken log has to stay open; what was said in it cannot be told.
            log.exception("play.head_broken", play=play.id, session=play.head.session_id)
        agent = self.agents.get(play.head.session_id)
        waiting = (*agent.inbox.next_step, *agent.inbox.next_turn) if agent is not None else ()
        words = {message["id"]: message for message in (*said, *waiting) if is_human(message)}
        return path[kept:], [user_text(message) for message in words.values()]

    @staticmethod
    def _parent(timeline: Timeline, node: Node) -> Variant | None:
        if node.parent_variant_id is None:
            return None
        owner = timeline.owner_of(node.parent_variant_id)
        assert owner is not None  # a parent always exists: it was committed before its child
        return next(v for v in owner.variants if v.id == node.parent_variant_id)

    async def _head_at(self, play: Playthrough, timeline: Timeline, node: Node, variant: Variant) -> Head:
        """Where the story stands when `variant` stands: where it had gone on from it, if it had."""
        remembered = await self.table.branch_head(play.id, variant.id)
        if remembered is not None and remembered.variant_id is not None:
            nodes = timeline.path_to(remembered.variant_id)
            if any(n.id == node.id for n in nodes):
                return remembered
        return Head(variant.session_id, node.id, variant.id)

    async def _inputs(self, variant: Variant) -> list[Message]:
        return [
            event.data
            for event in await self._events(variant)
            if event.type == "user/message" and is_human(event.data)
        ]

    async def _events(self, variant: Variant) -> Sequence[Event]:
        """The log of one exchange; of a story that rests, nothing but that is read."""
        journal = self.agents.services.journal
        return await journal.stretch(variant.session_id, variant.start_seq, variant.end_seq + 1)
